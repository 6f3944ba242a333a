"""Discriminators: multi-period (Kong et al., HiFi-GAN, 2020) and multi-resolution, both as Conv1d.

A period discriminator's Conv2d with kernel (k, 1) is a Conv1d over the folded signal with the period in the batch:
the same function, and some ten times faster on a CPU. A resolution discriminator takes the bins as channels.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from synth.train.losses import magnitude

PERIODS: Final = (2, 3, 5, 7, 11)
RESOLUTIONS: Final = ((1024, 256), (512, 128), (256, 64))
_SLOPE: Final = 0.1


class PeriodDiscriminator(nn.Module):
    """Judges every ``period``-th sample together."""

    def __init__(self, period: int) -> None:
        super().__init__()
        self.period = period
        widths = (1, 16, 32, 64, 128)
        self.layers = nn.ModuleList(
            nn.Conv1d(before, after, 5, stride=3, padding=2) for before, after in pairwise(widths)
        )
        self.last = nn.Conv1d(128, 128, 5, padding=2)
        self.score = nn.Conv1d(128, 1, 3, padding=1)

    def forward(self, signal: Tensor) -> tuple[Tensor, list[Tensor]]:
        rows = signal.shape[1] // self.period
        x = signal[:, : rows * self.period].reshape(-1, rows, self.period)
        x = x.transpose(1, 2).reshape(-1, 1, rows)
        features = []
        for layer in [*self.layers, self.last]:
            x = functional.leaky_relu(layer(x), _SLOPE)
            features.append(x)
        return self.score(x), features


class ResolutionDiscriminator(nn.Module):
    """Judges the log magnitudes of one STFT."""

    hann: Tensor

    def __init__(self, window: int, hop: int) -> None:
        super().__init__()
        self.window, self.hop = window, hop
        self.register_buffer("hann", torch.hann_window(window), persistent=False)
        self.layers = nn.ModuleList(
            [
                nn.Conv1d(window // 2 + 1, 128, 3, padding=1),
                nn.Conv1d(128, 128, 5, padding=2),
                nn.Conv1d(128, 128, 5, padding=4, dilation=2),
            ]
        )
        self.score = nn.Conv1d(128, 1, 3, padding=1)

    def forward(self, signal: Tensor) -> tuple[Tensor, list[Tensor]]:
        # Log magnitudes span about -8 to 5.
        x = (magnitude(signal, self.window, self.hop, self.hann).log().transpose(1, 2) + 2.0) * 0.3
        features = []
        for layer in self.layers:
            x = functional.leaky_relu(layer(x), _SLOPE)
            features.append(x)
        return self.score(x), features


class Discriminators(nn.Module):
    """All of them: (batch, n) -> scores, and features."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            [*(PeriodDiscriminator(p) for p in PERIODS), *(ResolutionDiscriminator(w, h) for w, h in RESOLUTIONS)]
        )

    def forward(self, signal: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        scores, features = [], []
        for part in self.parts:
            score, inner = part(signal)
            scores.append(score)
            features.extend(inner)
        return scores, features

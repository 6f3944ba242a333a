"""The spectral envelope that the mel alone gives: fixed, so that training starts from a vocoder that already speaks.

The envelope has no weights on purpose: its inputs are 240 large
and alike numbers a bin, so that one optimizer step of 8e-4 moved a bin by more than a nat, and training diverged.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import torch
from torch import Tensor

from synth import mel as mels
from synth.bigvgan_layers import State, Stateful, Step
from synth.bigvgan_source import BINS, FFT_SIZE

_HISTORY: Final = 2
_NEAR: Final = 0.75
"""STFT frames stand 400 and 320 samples before the newest, the windows of the last three mels 520, 360 and 200."""


class Envelope(Stateful):
    """Log mel above silence (batch, frames, 80) -> log STFT magnitude (batch, 2 * frames, 161)."""

    spread: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("spread", band_to_bin(), persistent=False)
        # Mel filters have unit area over bins of 31.25 Hz, and their window is 400 long instead of 320.
        bin_hz = mels.SAMPLE_RATE_HZ / mels.FFT_SIZE
        self.level = mels.SILENCE + math.log(bin_hz * FFT_SIZE / mels.WINDOW_SAMPLES)

    def init(self, batch: int, device: torch.device) -> State:
        return {self.name: torch.zeros(batch, _HISTORY, BINS, device=device)}

    def forward(self, loudness: Tensor, step: Step) -> Tensor:
        bins = torch.cat([step.before[self.name], loudness @ self.spread], dim=1)
        step.after[self.name] = bins[:, -_HISTORY:]
        oldest, middle, newest = bins[:, :-2], bins[:, 1:-1], bins[:, 2:]
        first, second = (_NEAR * middle + (1.0 - _NEAR) * other + self.level for other in (oldest, newest))
        return torch.stack([first, second], dim=2).flatten(1, 2)


def band_to_bin() -> Tensor:
    """Weights (80, 161) that interpolate bands to STFT bins along the frequency axis."""
    top_mel = mels.hz_to_mel(mels.SAMPLE_RATE_HZ / 2)
    centres_hz = mels.mel_to_hz(np.linspace(0.0, top_mel, mels.BANDS + 2)[1:-1])
    bins_hz = np.arange(BINS) * mels.SAMPLE_RATE_HZ / FFT_SIZE
    weights = [np.interp(bins_hz, centres_hz, band) for band in np.eye(mels.BANDS)]
    return torch.from_numpy(np.stack(weights).astype(np.float32))

"""Spectral and adversarial losses."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from synth.mel_torch import LogMel

RESOLUTIONS: Final = ((2048, 512), (1024, 256), (512, 128), (256, 64))
"""(window, hop) in samples: the long ones resolve harmonics, the short ones onsets."""
_POWER_FLOOR: Final = 1e-5
"""Magnitude 3e-3: noise of -80 dBFS in the longest window, below which differences do not count."""


class SpectralLoss(nn.Module):
    """Distance of two signals (batch, n) in several STFT resolutions and in the vocoder's own mel.

    By resolution: mean absolute difference of log magnitudes, and spectral convergence (Yamamoto et al., Parallel
    WaveGAN, 2020) by item, so that loud items do not hide quiet ones. Returns a scalar and its named parts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mel = LogMel()
        for window, _ in RESOLUTIONS:
            self.register_buffer(f"hann_{window}", torch.hann_window(window), persistent=False)

    def forward(self, made: Tensor, real: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        logs, shapes = [], []
        for window, hop in RESOLUTIONS:
            hann = getattr(self, f"hann_{window}")
            made_magnitude = magnitude(made, window, hop, hann)
            with torch.no_grad():
                real_magnitude = magnitude(real, window, hop, hann)
            logs.append((made_magnitude.log() - real_magnitude.log()).abs().mean())
            error = torch.linalg.vector_norm(made_magnitude - real_magnitude, dim=(1, 2))
            shapes.append((error / (torch.linalg.vector_norm(real_magnitude, dim=(1, 2)) + 0.1)).mean())
        with torch.no_grad():
            real_mel = self.mel(real)
        mel = functional.l1_loss(self.mel(made), real_mel)
        parts = {
            "log": torch.stack(logs).mean(),
            "convergence": torch.stack(shapes).mean(),
            "mel": mel,
        }
        return parts["log"] + parts["convergence"] + parts["mel"], parts


def magnitude(signal: Tensor, window: int, hop: int, hann: Tensor) -> Tensor:
    """STFT magnitude, (batch, frames, bins), never below 3e-3."""
    frames = functional.pad(signal, (window // 2, window // 2)).unfold(-1, window, hop) * hann
    spectrum = torch.fft.rfft(frames)
    return torch.sqrt(spectrum.real.square() + spectrum.imag.square() + _POWER_FLOOR)


def discriminator_loss(real: list[Tensor], made: list[Tensor]) -> Tensor:
    """Least squares: scores of real speech towards 1, of made speech towards 0."""
    return torch.stack([(1.0 - r).square().mean() + m.square().mean() for r, m in zip(real, made, strict=True)]).mean()


def generator_loss(made: list[Tensor]) -> Tensor:
    """Least squares: scores of made speech towards 1."""
    return torch.stack([(1.0 - m).square().mean() for m in made]).mean()


def feature_loss(real: list[Tensor], made: list[Tensor]) -> Tensor:
    """Mean absolute difference of the discriminators' inner features, each relative to its size."""
    return torch.stack(
        [(r.detach() - m).abs().mean() / (r.detach().abs().mean() + 1e-3) for r, m in zip(real, made, strict=True)]
    ).mean()

"""The mel of :mod:`synth.mel` in PyTorch, differentiable, for training."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from synth import mel


class LogMel(nn.Module):
    """Log mel of whole signals: (batch, n) -> (batch, 80, n // 160), equal to :func:`synth.mel.log_mel`."""

    window: Tensor
    filters: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.from_numpy(mel.hann_window().copy()), persistent=False)
        self.register_buffer("filters", torch.from_numpy(mel.mel_filterbank().copy()), persistent=False)

    def forward(self, pcm: Tensor) -> Tensor:
        padded = functional.pad(pcm, (mel.WINDOW_SAMPLES - mel.HOP_SAMPLES, 0))
        windows = padded.unfold(-1, mel.WINDOW_SAMPLES, mel.HOP_SAMPLES) * self.window
        spectrum = torch.fft.rfft(windows, mel.FFT_SIZE)
        magnitude = torch.sqrt(spectrum.real.square() + spectrum.imag.square() + mel.POWER_OFFSET)
        bands = magnitude @ self.filters.T
        return torch.log(bands.clamp_min(mel.FLOOR)).transpose(-1, -2)

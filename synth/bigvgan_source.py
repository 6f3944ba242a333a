"""The source and the short-time Fourier transform of the vocoder: pulses from F0, analysis, overlap-add synthesis."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from synth.bigvgan_layers import State, Stateful, Step, pad_time
from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ

FFT_SIZE: Final = 320
FFT_HOP: Final = 80
BINS: Final = FFT_SIZE // 2 + 1
FRAMES_PER_MEL: Final = HOP_SAMPLES // FFT_HOP
OVERLAP: Final = FFT_SIZE - FFT_HOP
_BLOCKS: Final = FFT_SIZE // FFT_HOP
_TOP_HZ: Final = 7_800.0
_LOWEST_HZ: Final = 20.0
"""Below this a frame counts as unvoiced."""


class PulseSource(Stateful):
    """Band-limited pulses from F0: (batch, frames) in Hz -> (batch, 160 * frames).

    Every harmonic below 7.8 kHz has amplitude 1. Within a frame F0 goes in a straight line from the last value to
    this one and the phase is carried on, so an octave error bends the pitch instead of breaking the wave; the topmost
    harmonic fades in and out as F0 moves. Where voicing starts or ends, the pulses fade over one frame.
    """

    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.arange(HOP_SAMPLES, dtype=torch.float32), persistent=False)

    def init(self, batch: int, device: torch.device) -> State:
        # The phase is added up over the whole call: in float32 it would drift.
        return {
            f"{self.name}.phase": torch.zeros(batch, 1, dtype=torch.float64, device=device),
            f"{self.name}.f0": torch.zeros(batch, 1, device=device),
        }

    def forward(self, f0_hz: Tensor, step: Step) -> Tensor:
        track = torch.cat([step.before[f"{self.name}.f0"], f0_hz], dim=1)
        step.after[f"{self.name}.f0"] = track[:, -1:]
        old, new = track[:, :-1], track[:, 1:]
        was_voiced, is_voiced = old > _LOWEST_HZ, new > _LOWEST_HZ
        # With one voiced end the pitch is level; with none it does not matter, since the amplitude is 0.
        start = torch.where(was_voiced, old, torch.where(is_voiced, new, _LOWEST_HZ))
        end = torch.where(is_voiced, new, start)
        cycles = (start + end).double() * (0.5 * HOP_SAMPLES / SAMPLE_RATE_HZ)
        ends = step.before[f"{self.name}.phase"] + torch.cumsum(cycles, dim=1)
        step.after[f"{self.name}.phase"] = ends[:, -1:] - torch.floor(ends[:, -1:])
        starts = ends - cycles
        phase = (starts - torch.floor(starts)).float().unsqueeze(-1)

        share = self.steps / HOP_SAMPLES
        start, end = start.unsqueeze(-1), end.unsqueeze(-1)
        f0 = start + (end - start) * share
        turn = phase + (start + (end - start) * (0.5 * share)) * (self.steps / SAMPLE_RATE_HZ)
        amplitude = was_voiced.unsqueeze(-1) * (1.0 - share) + is_voiced.unsqueeze(-1) * share
        return (amplitude * harmonics(turn, f0)).flatten(1)


def harmonics(cycles: Tensor, f0_hz: Tensor) -> Tensor:
    """Sum of cosines of all multiples of F0 up to 7.8 kHz (Dirichlet kernel), continuous in phase and in F0."""
    angle = (cycles - torch.round(cycles)) * (2.0 * math.pi)
    ratio = _TOP_HZ / f0_hz
    count = torch.floor(ratio)
    divisor = 2.0 * torch.sin(0.5 * angle)
    near = divisor.abs() < 1e-3
    kernel = torch.sin((count + 0.5) * angle) / torch.where(near, torch.ones_like(divisor), divisor)
    kernel = torch.where(near, count + 0.5, kernel) - 0.5
    return kernel + (ratio - count) * torch.cos((count + 1.0) * angle)


class Analysis(Stateful):
    """STFT of pulses and noise side by side, Hann 320, hop 80.

    Twice (batch, 160 * frames) -> twice (batch, 2 * frames, 322), real parts first. Scaled so that a harmonic of
    amplitude 1, and the mean power of white noise, are 1 in every bin.
    """

    basis: Tensor

    def __init__(self) -> None:
        super().__init__()
        window, cosine, sine = _tables()
        forward = torch.cat([cosine, -sine], dim=1) * window.unsqueeze(1) * (4.0 / FFT_SIZE)
        self.register_buffer("basis", forward.float(), persistent=False)
        self.noise_scale = FFT_SIZE / 4.0 / math.sqrt(FFT_SIZE * 3.0 / 8.0)

    def init(self, batch: int, device: torch.device) -> State:
        return {self.name: torch.zeros(batch, 2, OVERLAP, device=device)}

    def forward(self, pulses: Tensor, noise: Tensor, step: Step) -> tuple[Tensor, Tensor]:
        signals = torch.stack([pulses, noise * self.noise_scale], dim=1)
        signals = torch.cat([step.before[self.name], signals], dim=2)
        step.after[self.name] = signals[:, :, -OVERLAP:]
        blocks = signals.reshape(signals.shape[0], 2, -1, FFT_HOP)
        ends = [_BLOCKS - 1 - k for k in range(_BLOCKS)]
        windows = torch.cat([blocks[:, :, k : -end if end else None] for k, end in enumerate(ends)], dim=3)
        spectra = windows @ self.basis
        return spectra[:, 0], spectra[:, 1]


class Synthesis(Stateful):
    """Inverse of :class:`Analysis` by windowed overlap-add: (batch, 2 * frames, 322) -> (batch, 160 * frames).

    The output lags the newest frame: a sample leaves when the last frame that covers it is in.
    """

    basis: Tensor

    def __init__(self) -> None:
        super().__init__()
        window, cosine, sine = _tables()
        both_sides = torch.full((BINS, 1), 2.0, dtype=torch.float64)
        both_sides[0] = both_sides[-1] = 1.0
        inverse = torch.cat([both_sides * cosine.T, -both_sides * sine.T]) / FFT_SIZE
        # Four squared Hann windows a quarter apart add up to 1.5.
        self.register_buffer("basis", (inverse * window / 1.5).float(), persistent=False)

    def init(self, batch: int, device: torch.device) -> State:
        return {self.name: torch.zeros(batch, OVERLAP, device=device)}

    def forward(self, spectrum: Tensor, step: Step) -> Tensor:
        frames = spectrum @ self.basis
        blocks = frames.reshape(frames.shape[0], -1, _BLOCKS, FFT_HOP)
        total = sum(pad_time(blocks[:, :, k], k, _BLOCKS - 1 - k) for k in range(_BLOCKS))
        assert isinstance(total, Tensor)
        signal = total.flatten(1)
        signal = signal + functional.pad(step.before[self.name], (0, signal.shape[1] - OVERLAP))
        step.after[self.name] = signal[:, -OVERLAP:]
        return signal[:, :-OVERLAP]


def _tables() -> tuple[Tensor, Tensor, Tensor]:
    n = torch.arange(FFT_SIZE, dtype=torch.float64)
    window = 0.5 - 0.5 * torch.cos(2.0 * math.pi * n / FFT_SIZE)
    angle = 2.0 * math.pi / FFT_SIZE * torch.outer(n, torch.arange(BINS, dtype=torch.float64))
    return window, torch.cos(angle), torch.sin(angle)

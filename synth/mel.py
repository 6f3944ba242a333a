"""Mel analysis, and the one definition that is ours: 80 bands, 16 kHz, a frame every 10 ms, causal.

Frame ``i`` is made of the 400 samples (25 ms) that end with sample ``160 * (i + 1) - 1``; samples before the first
are zeros. A frame therefore exists as soon as its hop has arrived: the analysis adds no delay of its own. Window:
periodic Hann, short enough to follow plosives, because pitch reaches the vocoder as F0 and not through the mel.
Bands: Slaney's mel scale and area normalisation, 0 to 8000 Hz. Scale: natural logarithm of the magnitude
``sqrt(re^2 + im^2 + 1e-9)`` summed by band and limited to 1e-5 from below, as BigVGAN has it: digital silence is
-11.5 in every band, loud speech reaches +2.

:mod:`synth.mel_torch` holds the same for training. Official BigVGAN checkpoints bring definitions of their own, which
differ in :class:`MelDefinition` only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE_HZ: Final = 16_000
HOP_SAMPLES: Final = 160
WINDOW_SAMPLES: Final = 400
FFT_SIZE: Final = 512
BANDS: Final = 80
FLOOR: Final = 1e-5
SILENCE: Final = math.log(FLOOR)
"""Log mel of digital silence."""
POWER_OFFSET: Final = 1e-9
"""Added under the square root: keeps its gradient finite in training."""

Array = NDArray[np.float32]


@dataclass(frozen=True)
class MelDefinition:
    """What distinguishes one mel from another; window shape, scale and floor are the same for all.

    Frame ``i`` is made of the ``window_samples`` samples that end with sample ``hop * (i + 1) + lead_samples - 1``.

    Attributes:
        sample_rate_hz: of the signal.
        hop_samples: from frame to frame.
        window_samples: under the Hann window, at most ``fft_size``.
        fft_size: of the transform.
        bands: of the filterbank.
        low_hz, high_hz: ends of the filterbank.
        lead_samples: how far a frame sees past its hop; 0 is causal.
    """

    sample_rate_hz: int
    hop_samples: int
    window_samples: int
    fft_size: int
    bands: int
    low_hz: float
    high_hz: float
    lead_samples: int


OURS: Final = MelDefinition(SAMPLE_RATE_HZ, HOP_SAMPLES, WINDOW_SAMPLES, FFT_SIZE, BANDS, 0.0, SAMPLE_RATE_HZ / 2, 0)


@dataclass(frozen=True)
class MelState:
    """What the analysis remembers of one stream, or of a batch of streams.

    ``pending`` has shape (..., n): the samples that the next frame shares with the last one, then those that do not
    fill a hop yet.
    """

    pending: Array


def mel_init(*batch: int, definition: MelDefinition = OURS) -> MelState:
    """State before the first sample; ``mel_init()`` for one stream, ``mel_init(8)`` for eight."""
    return MelState(np.zeros((*batch, _kept(definition) - definition.lead_samples), np.float32))


def mel_step(pcm: Array, state: MelState, definition: MelDefinition = OURS) -> tuple[Array, MelState]:
    """Analyse the next samples of a stream.

    Args:
        pcm: float32, shape (..., n), n >= 0 of any size, in [-1, 1]; leading shape as given to :func:`mel_init`.
        state: what the previous call returned.
        definition: as given to :func:`mel_init`.

    Returns:
        Log mel, float32, shape (..., bands, frames), with every frame that is complete; and the new state.

    Raises:
        ValueError: the leading shape is not that of the state.
    """
    if pcm.shape[:-1] != state.pending.shape[:-1]:
        raise ValueError(f"pcm has shape {pcm.shape}, but the state is for {state.pending.shape[:-1]} streams")
    hop, window = definition.hop_samples, definition.window_samples
    samples = np.concatenate([state.pending, pcm.astype(np.float32, copy=False)], axis=-1)
    frames = max(0, (samples.shape[-1] - _kept(definition)) // hop)
    rest = MelState(samples[..., frames * hop :].copy())
    if frames == 0:
        return np.zeros((*pcm.shape[:-1], definition.bands, 0), np.float32), rest
    windows = np.lib.stride_tricks.sliding_window_view(samples, window, axis=-1)
    windows = windows[..., : frames * hop : hop, :] * hann_window(window)
    spectrum = np.fft.rfft(windows, definition.fft_size, axis=-1)
    magnitude = np.sqrt(np.square(spectrum.real) + np.square(spectrum.imag) + np.float32(POWER_OFFSET))
    mel = np.log(np.maximum(magnitude @ mel_filterbank(definition).T, np.float32(FLOOR)))
    return np.ascontiguousarray(np.swapaxes(mel, -1, -2), dtype=np.float32), rest


def log_mel(pcm: Array, definition: MelDefinition = OURS) -> Array:
    """Log mel of a whole signal, (..., n) -> (..., bands, frames), with every frame that is complete at its end."""
    return mel_step(pcm, mel_init(*pcm.shape[:-1], definition=definition), definition)[0]


def _kept(definition: MelDefinition) -> int:
    """Samples that two frames share."""
    return definition.window_samples - definition.hop_samples


@lru_cache(maxsize=8)
def hann_window(samples: int = WINDOW_SAMPLES) -> Array:
    """Periodic Hann window, shape (samples,)."""
    n = np.arange(samples)
    window = (0.5 - 0.5 * np.cos(2 * np.pi * n / samples)).astype(np.float32)
    window.flags.writeable = False
    return window


@lru_cache(maxsize=8)
def mel_filterbank(definition: MelDefinition = OURS) -> Array:
    """Triangular filters of unit area in Hz, shape (bands, fft_size // 2 + 1).

    Slaney's scale (Auditory Toolbox, 1998): linear to 1 kHz at 200/3 Hz a mel, then logarithmic, with 27 mel to a
    factor of 6.4.
    """
    ends = hz_to_mel(definition.low_hz), hz_to_mel(definition.high_hz)
    corners_hz = mel_to_hz(np.linspace(*ends, definition.bands + 2))
    bins_hz = np.arange(definition.fft_size // 2 + 1) * definition.sample_rate_hz / definition.fft_size
    low, centre, high = (corners_hz[k : definition.bands + k, None] for k in range(3))
    rising = (bins_hz - low) / (centre - low)
    falling = (high - bins_hz) / (high - centre)
    filters: Array = (np.maximum(0.0, np.minimum(rising, falling)) * 2.0 / (high - low)).astype(np.float32)
    filters.flags.writeable = False
    return filters


_BREAK_HZ: Final = 1000.0
_HZ_PER_MEL: Final = 200.0 / 3.0
_LOG_STEP: Final = np.log(6.4) / 27.0


def hz_to_mel(hz: float) -> float:
    """Slaney's mel of a frequency in Hz."""
    if hz < _BREAK_HZ:
        return hz / _HZ_PER_MEL
    return float(_BREAK_HZ / _HZ_PER_MEL + np.log(hz / _BREAK_HZ) / _LOG_STEP)


def mel_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frequencies in Hz of Slaney mels."""
    break_mel = _BREAK_HZ / _HZ_PER_MEL
    logarithmic = _BREAK_HZ * np.exp(_LOG_STEP * (np.maximum(mel, break_mel) - break_mel))
    return np.where(mel < break_mel, mel * _HZ_PER_MEL, logarithmic)

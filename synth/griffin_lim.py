"""Griffin-Lim: a signal from mel frames without any training; it needs the whole of them at once."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from synth.mel import OURS, MelDefinition, hann_window, mel_filterbank

Array = NDArray[np.float32]

_ROUNDS: Final = 60
_MOMENTUM: Final = 0.99
_SPREAD_ROUNDS: Final = 30
_TINY: Final = 1e-8


def griffin_lim(mel: Array, definition: MelDefinition = OURS, *, rounds: int = _ROUNDS, seed: int = 0) -> Array:
    """Find a signal whose magnitudes fit (Perraudin, Balazs and Soendergaard, 2013).

    Args:
        mel: log mel, (bands, frames).
        definition: of the mel.
        rounds: of the search.
        seed: of the phases at the start.

    Returns:
        PCM, (hop * frames,), in time with the speech that the mel was made of.
    """
    frames = mel.shape[1]
    samples = frames * definition.hop_samples
    if frames == 0:
        return np.zeros(0, np.float32)
    magnitude = _spread(np.exp(mel.astype(np.float64)), definition).T
    angles = np.random.default_rng(seed).uniform(-np.pi, np.pi, magnitude.shape)
    fitted = accelerated = magnitude * np.exp(1j * angles)
    for _ in range(rounds):
        before = fitted
        fitted = _analysed(_overlapped(_with(magnitude, accelerated), definition), definition)
        accelerated = fitted + _MOMENTUM * (fitted - before)
    signal = _overlapped(_with(magnitude, accelerated), definition)
    # The first frame begins that long before the first sample.
    begin = definition.window_samples - definition.hop_samples - definition.lead_samples
    return signal[max(begin, 0) :][:samples].astype(np.float32)


def _spread(bands: NDArray[np.float64], definition: MelDefinition) -> NDArray[np.float64]:
    """Bins, none negative, that give these bands: Lee and Seung's multiplicative steps."""
    filters = mel_filterbank(definition).astype(np.float64)
    bins = np.maximum(np.linalg.pinv(filters) @ bands, _TINY)
    target, gram = filters.T @ bands, filters.T @ filters
    for _ in range(_SPREAD_ROUNDS):
        bins *= target / (gram @ bins + _TINY)
    return bins


def _with(magnitude: NDArray[np.float64], phases: NDArray[np.complex128]) -> NDArray[np.complex128]:
    rotated: NDArray[np.complex128] = magnitude * phases / (np.abs(phases) + _TINY)
    return rotated


def _overlapped(spectrum: NDArray[np.complex128], definition: MelDefinition) -> NDArray[np.float64]:
    hop, size = definition.hop_samples, definition.window_samples
    window = hann_window(size).astype(np.float64)
    pieces = np.fft.irfft(spectrum, definition.fft_size, axis=1)[:, :size] * window
    signal = np.zeros(size + hop * (len(pieces) - 1))
    weight = np.zeros_like(signal)
    for index, piece in enumerate(pieces):
        signal[index * hop : index * hop + size] += piece
        weight[index * hop : index * hop + size] += window**2
    # Where only the flank of one window reaches, a division would blow rounding up.
    return signal / np.maximum(weight, 0.1)


def _analysed(signal: NDArray[np.float64], definition: MelDefinition) -> NDArray[np.complex128]:
    size = definition.window_samples
    windows = np.lib.stride_tricks.sliding_window_view(signal, size)[:: definition.hop_samples]
    spectrum: NDArray[np.complex128] = np.fft.rfft(windows * hann_window(size), definition.fft_size, axis=1)
    return spectrum

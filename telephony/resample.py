"""Stateful sample-rate conversion between the codec's rate and our 16 kHz.

A polyphase FIR of our own: the packaged streaming converters hold back whole blocks (soxr gives its first
samples after 60-80 ms at these rates), which no call can afford. Here n samples in give n * ratio out, at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from telephony.leg import Pcm

TAPS_PER_PHASE: Final = 32
KAISER_BETA: Final = 7.0
"""About 70 dB of stop band; with 32 taps a phase the pass band ends at 0.86 of the lower Nyquist rate."""


def _low_pass(factor: int) -> NDArray[np.float64]:
    """Linear-phase FIR at the higher rate, cut off at the lower Nyquist frequency; unit gain, shape (32 * factor,)."""
    length = TAPS_PER_PHASE * factor
    at = np.arange(length) - (length - 1) / 2
    taps = np.sinc(at / factor) * np.kaiser(length, KAISER_BETA)
    return np.asarray(taps / taps.sum())


def _windows(held: Pcm, count: int, length: int, *, step: int) -> Pcm:
    """Overlapping views, shape (count, length), ``step`` samples apart; as_strided costs a tenth of numpy's checked
    sliding_window_view, and this runs for every frame of every call."""
    assert (count - 1) * step + length <= len(held)
    size = held.itemsize
    return np.lib.stride_tricks.as_strided(held, (count, length), (step * size, size), writeable=False)


class Resampler:
    """Converts a stream by an integer factor, up or down; one instance a stream and direction.

    Chunked output equals whole output for any chunking. The delay is 16 samples at the lower rate
    (2 ms at 8 kHz, 1 ms at 16 kHz).
    """

    def __init__(self, rate_in_hz: int, rate_out_hz: int) -> None:
        """
        Args:
            rate_in_hz: rate of what comes in.
            rate_out_hz: rate of what goes out; one of the two must be a multiple of the other.

        Raises:
            ValueError: the rates have no integer ratio.
        """
        high, low = max(rate_in_hz, rate_out_hz), min(rate_in_hz, rate_out_hz)
        if low <= 0 or high % low:
            raise ValueError(f"cannot convert {rate_in_hz} Hz to {rate_out_hz} Hz: no integer ratio")
        self._factor = high // low
        self._up = rate_out_hz > rate_in_hz
        self.delay_ms = 1000 * TAPS_PER_PHASE / 2 / low if self._factor > 1 else 0.0
        taps = _low_pass(self._factor)
        if self._up:
            # Column p makes output phase p from the newest 32 inputs, oldest first.
            by_phase = taps.reshape(TAPS_PER_PHASE, self._factor)[::-1] * self._factor
            self._taps = np.ascontiguousarray(by_phase, dtype=np.float32)
            history = TAPS_PER_PHASE - 1
        else:
            self._taps = np.ascontiguousarray(taps[::-1], dtype=np.float32)
            history = len(taps) - 1
        self._tail: Pcm = np.zeros(history, np.float32)

    def push(self, pcm: Pcm) -> Pcm:
        """Convert the next samples.

        Args:
            pcm: float32, shape (n,), any n.

        Returns:
            float32, shape (n * factor,) upward; downward as many as are complete, the rest with the next push.
        """
        if self._factor == 1 or not len(pcm):
            return pcm
        held = np.concatenate((self._tail, pcm))
        if self._up:
            windows = _windows(held, len(pcm), TAPS_PER_PHASE, step=1)
            self._tail = held[len(held) - (TAPS_PER_PHASE - 1) :]
            return np.asarray((windows @ self._taps).reshape(-1))
        count = (len(held) - len(self._taps)) // self._factor + 1
        if count <= 0:
            self._tail = held
            return np.zeros(0, np.float32)
        windows = _windows(held, count, len(self._taps), step=self._factor)
        self._tail = held[count * self._factor :]
        return np.asarray(windows @ self._taps)


def to_float(samples: NDArray[np.int16], channels: int = 1) -> Pcm:
    """int16, shape (n * channels,), interleaved -> mono float32 in [-1, 1], shape (n,)."""
    pcm = samples.astype(np.float32) / 32768.0
    return pcm if channels == 1 else np.asarray(pcm.reshape(-1, channels).mean(axis=1, dtype=np.float32))


def to_int16(pcm: Pcm, channels: int = 1) -> NDArray[np.int16]:
    """Mono float32, shape (n,) -> int16 interleaved, shape (n * channels,); louder than full scale is clipped."""
    scaled = np.rint(pcm * np.float32(32767.0))
    samples = np.minimum(np.maximum(scaled, -32768.0), 32767.0).astype(np.int16)
    return samples if channels == 1 else np.repeat(samples, channels)

"""Stateful sample-rate conversion: between a codec's rate and our 16 kHz, and from a vocoder's rate to it.

A polyphase FIR of our own: the packaged streaming converters hold back whole blocks (soxr gives its first
samples after 60-80 ms at these rates), which no call can afford. Here n samples in give n * ratio out, at once.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Pcm = NDArray[np.float32]

TAPS_PER_PHASE: Final = 32
KAISER_BETA: Final = 7.0
"""About 70 dB of stop band; with 32 taps a phase the pass band ends at 0.86 of the lower Nyquist rate."""


def _low_pass(factor: int) -> NDArray[np.float64]:
    """Linear-phase FIR at the common rate, which is ``factor`` times the lower one, cut off at the lower Nyquist
    frequency; unit gain, shape (32 * factor,)."""
    length = TAPS_PER_PHASE * factor
    at = np.arange(length) - (length - 1) / 2
    taps = np.sinc(at / factor) * np.kaiser(length, KAISER_BETA)
    return np.asarray(taps / taps.sum())


def _by_phase(up: int, down: int) -> Pcm:
    """Taps of each output phase over the newest inputs, oldest first, shape (taps, up)."""
    taps = _low_pass(max(up, down))
    taps = np.concatenate((taps, np.zeros(-len(taps) % up)))
    return np.ascontiguousarray(taps.reshape(-1, up)[::-1] * up, dtype=np.float32)


def _windows(held: Pcm, count: int, length: int, *, step: int) -> Pcm:
    """Overlapping views, shape (count, length), ``step`` samples apart; as_strided costs a tenth of numpy's checked
    sliding_window_view, and this runs for every frame of every call."""
    assert (count - 1) * step + length <= len(held)
    size = held.itemsize
    return np.lib.stride_tricks.as_strided(held, (count, length), (step * size, size), writeable=False)


class Resampler:
    """Converts a stream from one rate to another; one instance a stream and direction.

    Chunked output equals whole output for any chunking, and after n samples in exactly ``ceil(n * ratio)`` are out,
    however long the stream: positions are counted in whole steps of the common rate. The delay is 16 samples at the
    lower rate (2 ms at 8 kHz, 1 ms at 16 kHz).

    Attributes:
        delay_ms: from a sample in to its middle in what comes out.
    """

    def __init__(self, rate_in_hz: int, rate_out_hz: int) -> None:
        """
        Args:
            rate_in_hz: rate of what comes in.
            rate_out_hz: rate of what goes out.

        Raises:
            ValueError: a rate is not above 0.
        """
        if rate_in_hz <= 0 or rate_out_hz <= 0:
            raise ValueError(f"cannot convert {rate_in_hz} Hz to {rate_out_hz} Hz: rates are above 0")
        common = math.gcd(rate_in_hz, rate_out_hz)
        self._up, self._down = rate_out_hz // common, rate_in_hz // common
        self._same = self._up == self._down
        self.delay_ms = 0.0 if self._same else 1000 * TAPS_PER_PHASE / 2 / min(rate_in_hz, rate_out_hz)
        self._taps = _by_phase(self._up, self._down)
        self._tail: Pcm = np.zeros(len(self._taps) - 1, np.float32)
        self._at = 0
        """Of the next output, from the next input, in steps of the common rate."""

    def push(self, pcm: Pcm) -> Pcm:
        """Convert the next samples.

        Args:
            pcm: float32, shape (n,), any n.

        Returns:
            float32, every sample whose newest input is there: (n * ratio,) to within one.
        """
        if self._same or not len(pcm):
            return pcm
        held = np.concatenate((self._tail, pcm))
        end = len(pcm) * self._up
        count = max(0, -((self._at - end) // self._down))
        made = self._filter(held, count) if count else np.zeros(0, np.float32)
        self._at += count * self._down - end
        self._tail = held[len(pcm) :]
        return made

    def _filter(self, held: Pcm, count: int) -> Pcm:
        length = len(self._taps)
        if self._down == 1:
            return np.asarray((_windows(held, count // self._up, length, step=1) @ self._taps).reshape(-1))
        if self._up == 1:
            return np.asarray(_windows(held[self._at :], count, length, step=self._down) @ self._taps[:, 0])
        newest, phases = np.divmod(self._at + self._down * np.arange(count), self._up)
        windows = _windows(held, len(held) - length + 1, length, step=1)
        return np.asarray(np.einsum("nk,kn->n", windows[newest], self._taps[:, phases]))


def to_float(samples: NDArray[np.int16], channels: int = 1) -> Pcm:
    """int16, shape (n * channels,), interleaved -> mono float32 in [-1, 1], shape (n,)."""
    pcm = samples.astype(np.float32) / 32768.0
    return pcm if channels == 1 else np.asarray(pcm.reshape(-1, channels).mean(axis=1, dtype=np.float32))


def to_int16(pcm: Pcm, channels: int = 1) -> NDArray[np.int16]:
    """Mono float32, shape (n,) -> int16 interleaved, shape (n * channels,); louder than full scale is clipped."""
    scaled = np.rint(pcm * np.float32(32767.0))
    samples = np.minimum(np.maximum(scaled, -32768.0), 32767.0).astype(np.int16)
    return samples if channels == 1 else np.repeat(samples, channels)

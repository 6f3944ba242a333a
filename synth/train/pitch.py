"""F0 of recorded speech, offline, on the vocoder's 10 ms grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ

_VOICED: float = 0.5
_MIN_HZ, _MAX_HZ = 50.0, 600.0


def to_grid(times_s: NDArray[np.float64], f0_hz: NDArray[np.float64], samples: int) -> NDArray[np.float32]:
    """Resample an F0 track to frame ``i`` = F0 at sample ``160 * i``.

    Args:
        times_s: ascending times of the track.
        f0_hz: F0 at those times; 0 where unvoiced.
        samples: length of the audio at 16 kHz.

    Returns:
        float32, shape (samples // 160,), in Hz, 0 where unvoiced. Pitch is interpolated in the logarithm and only
        between voiced neighbours; voicing is that of the nearest point.
    """
    grid_s = np.arange(samples // HOP_SAMPLES) * (HOP_SAMPLES / SAMPLE_RATE_HZ)
    voiced = f0_hz > 0
    if not voiced.any():
        return np.zeros(len(grid_s), np.float32)
    log_f0 = np.interp(grid_s, times_s[voiced], np.log(f0_hz[voiced]))
    middles = (times_s[1:] + times_s[:-1]) / 2
    nearest = np.searchsorted(middles, grid_s)
    return np.where(voiced[nearest], np.exp(log_f0), 0.0).astype(np.float32)


class PitchTracker:
    """swift-f0, whole clips at a time."""

    def __init__(self) -> None:
        from swift_f0 import SwiftF0

        self._detector = SwiftF0(threads=1, spin=False)

    def track(self, pcm: NDArray[np.float32]) -> NDArray[np.float32]:
        """F0 in Hz on the 10 ms grid of ``pcm`` (float32, 16 kHz), 0 where unvoiced."""
        found = self._detector.detect(pcm, SAMPLE_RATE_HZ, fmin=_MIN_HZ, fmax=_MAX_HZ)
        f0_hz = np.where(found.confidence >= _VOICED, found.pitch_hz, 0.0)
        return to_grid(found.timestamps, f0_hz, len(pcm))

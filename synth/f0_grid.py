"""F0 tracks of any spacing on the vocoder's 10 ms grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ


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

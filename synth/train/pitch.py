"""F0 of recorded speech, offline, on the vocoder's 10 ms grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.f0_grid import to_grid
from synth.mel import SAMPLE_RATE_HZ

_VOICED: float = 0.5
_MIN_HZ, _MAX_HZ = 50.0, 600.0


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

"""F0 of recordings."""

from __future__ import annotations

import numpy as np
import pytest

from synth.train.pitch import PitchTracker


@pytest.mark.parametrize("hz", [90.0, 200.0])
def test_the_tracker_finds_a_steady_pitch(hz: float) -> None:
    phase = hz * np.arange(16_000) / 16_000
    pcm = 0.05 * sum(np.cos(2 * np.pi * k * phase) for k in range(1, 15))
    track = PitchTracker().track(pcm.astype(np.float32))
    assert track.shape == (100,)
    np.testing.assert_allclose(track[20:80], hz, rtol=0.02)

"""F0 on the 10 ms grid."""

from __future__ import annotations

import numpy as np
import pytest

from synth.train.pitch import PitchTracker, to_grid


def test_pitch_is_interpolated_in_the_logarithm() -> None:
    track = to_grid(np.array([0.0, 0.02]), np.array([100.0, 200.0]), 3 * 160)
    np.testing.assert_allclose(track, [100.0, 100.0 * np.sqrt(2.0), 200.0], rtol=1e-6)


def test_voicing_is_that_of_the_nearest_point() -> None:
    track = to_grid(np.array([0.0, 0.05, 0.1]), np.array([100.0, 0.0, 120.0]), 9 * 160)
    assert (track > 0).tolist() == [True] * 3 + [False] * 5 + [True]
    assert track[track > 0].min() >= 100.0


def test_an_unvoiced_track_is_zero() -> None:
    assert not to_grid(np.array([0.0, 0.1]), np.zeros(2), 1600).any()


@pytest.mark.parametrize("hz", [90.0, 200.0])
def test_the_tracker_finds_a_steady_pitch(hz: float) -> None:
    phase = hz * np.arange(16_000) / 16_000
    pcm = 0.05 * sum(np.cos(2 * np.pi * k * phase) for k in range(1, 15))
    track = PitchTracker().track(pcm.astype(np.float32))
    assert track.shape == (100,)
    np.testing.assert_allclose(track[20:80], hz, rtol=0.02)

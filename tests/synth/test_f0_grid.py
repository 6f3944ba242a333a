"""F0 on the 10 ms grid."""

from __future__ import annotations

import numpy as np

from synth.f0_grid import to_grid


def test_pitch_is_interpolated_in_the_logarithm() -> None:
    track = to_grid(np.array([0.0, 0.02]), np.array([100.0, 200.0]), 3 * 160)
    np.testing.assert_allclose(track, [100.0, 100.0 * np.sqrt(2.0), 200.0], rtol=1e-6)


def test_voicing_is_that_of_the_nearest_point() -> None:
    track = to_grid(np.array([0.0, 0.05, 0.1]), np.array([100.0, 0.0, 120.0]), 9 * 160)
    assert (track > 0).tolist() == [True] * 3 + [False] * 5 + [True]
    assert track[track > 0].min() >= 100.0


def test_an_unvoiced_track_is_zero() -> None:
    assert not to_grid(np.array([0.0, 0.1]), np.zeros(2), 1600).any()

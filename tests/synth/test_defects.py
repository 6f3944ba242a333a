"""Noise in silence and clicks at borders are found where they are, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from synth.defects import borders, silence_dbfs
from tests.synth.fake_vocoder import FakeVocoder, burst


def noise(seconds: int = 20) -> np.ndarray:
    return 0.1 * np.random.default_rng(0).standard_normal(16_000 * seconds).astype(np.float32)


def test_no_clicks_in_noise() -> None:
    check = borders(noise(), 320, 160)
    assert check.median == pytest.approx(1.0, abs=0.1)
    assert check.p99 == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("place", [317, 320, 322])
def test_a_step_at_each_border(place: int) -> None:
    steps = np.zeros(320_000, np.float32)
    steps[place % 320 :: 320] = 0.4
    found = borders(noise() + np.cumsum(steps * np.tile([1, -1], 500).repeat(320)), 320, 160)
    assert (found.median > 1.3) == (place == 320)


def test_a_rare_click() -> None:
    clicking = noise()
    clicking[320 * 5 :: 320 * 25] += 2.0
    check = borders(clicking, 320, 160)
    assert check.p99 > 2.0 > 1.2 > check.median


@pytest.mark.parametrize("signal", [np.zeros(3200, np.float32), noise(1)[:100]])
def test_nothing_to_judge(signal: np.ndarray) -> None:
    with pytest.raises(ValueError, match="no borders to judge"):
        borders(signal, 320, 160)


def test_the_level_in_silence() -> None:
    # The fake's answer to the floor of the mel is 1e-5.
    assert silence_dbfs(FakeVocoder(), burst(4000, 2000), 320) == pytest.approx(-100.0, abs=5.0)

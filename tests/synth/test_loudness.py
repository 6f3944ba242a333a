from __future__ import annotations

import numpy as np
import pytest

from synth.loudness import PEAK, apply_gain, set_edges
from synth.synthesizer import Pcm


def sound(ms: float, level: float = 0.2) -> Pcm:
    seconds = np.arange(int(ms * 16)) / 16000
    return (level * np.sin(2 * np.pi * 400 * seconds)).astype(np.float32)


def quiet(ms: float) -> Pcm:
    return np.zeros(int(ms * 16), np.float32)


def test_the_gain_is_constant_up_to_the_peak() -> None:
    for level in (0.01, 0.2, 0.4):
        louder = apply_gain(sound(100, level), 6.0)
        assert np.abs(louder).max() == pytest.approx(level * 10 ** (6 / 20), rel=1e-3)
        assert louder.dtype == np.float32


def test_a_loud_sound_is_scaled_and_not_clipped() -> None:
    loud = sound(100, 0.9)
    scaled = apply_gain(loud, 6.0)
    assert np.abs(scaled).max() == pytest.approx(PEAK, rel=1e-3)
    assert np.allclose(scaled / PEAK, loud / np.abs(loud).max(), atol=1e-4)


def test_silence_has_no_gain() -> None:
    assert np.array_equal(apply_gain(quiet(10), 10.0), quiet(10))


@pytest.mark.parametrize(("before_ms", "after_ms"), [(300, 400), (0, 0), (5, 50), (1000, 10)])
def test_edges_are_cut_or_filled_to_the_given_silence(before_ms: float, after_ms: float) -> None:
    pcm = np.concatenate((quiet(before_ms), sound(500), quiet(after_ms)))
    trimmed, start = set_edges(pcm, 16_000, lead_ms=10, tail_ms=200)
    assert start / 16 == pytest.approx(before_ms - 10, abs=6)
    loud = np.flatnonzero(np.abs(trimmed) > 0.02) / 16
    assert loud[0] == pytest.approx(10, abs=6)
    assert len(trimmed) / 16 - loud[-1] == pytest.approx(200, abs=6)
    assert trimmed.dtype == np.float32


def test_faint_sounds_at_the_edges_stay() -> None:
    pcm = np.concatenate((quiet(100), sound(60, 0.005), sound(300), sound(60, 0.005), quiet(100)))
    assert len(set_edges(pcm, 16_000, lead_ms=0, tail_ms=0)[0]) / 16 == pytest.approx(420, abs=11)


def test_silence_and_crumbs_are_left_alone() -> None:
    assert np.array_equal(set_edges(quiet(100), 16_000, lead_ms=10, tail_ms=10)[0], quiet(100))
    assert len(set_edges(sound(2), 16_000, lead_ms=10, tail_ms=10)[0]) == 32


@pytest.mark.parametrize("rate_hz", [22_050, 24_000])
def test_edges_at_other_rates(rate_hz: int) -> None:
    pcm = np.zeros(rate_hz, np.float32)
    pcm[rate_hz // 4 : rate_hz // 2] = 0.3
    trimmed, start = set_edges(pcm, rate_hz, lead_ms=20, tail_ms=40)
    assert start / rate_hz == pytest.approx(0.23, abs=0.006)
    assert len(trimmed) / rate_hz == pytest.approx(0.31, abs=0.006)

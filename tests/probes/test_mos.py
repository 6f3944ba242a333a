"""The E-model, simplified."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.mos import BEST_R, estimate_mos, rating

losses = st.floats(0.0, 100.0)
delays = st.floats(0.0, 5000.0)
codecs = st.sampled_from(["PCMU", "PCMA", "G722", "opus", "G729", "something-new"])


def test_a_perfect_call_has_the_models_best_value() -> None:
    assert rating(0.0, 0.0, "PCMU") == BEST_R
    assert estimate_mos(0.0, 0.0, "PCMU") == pytest.approx(4.41, abs=0.005)


def test_known_points_of_the_model() -> None:
    # G.107 with Ie = 11, Bpl = 19 (G.729) at 2 % loss: Ie,eff = 11 + 84 * 2 / 21 = 19.
    assert rating(2.0, 0.0, "G729") == pytest.approx(BEST_R - 19.0)
    # 0.024 * 277.3 + 0.11 * 100
    assert rating(0.0, 277.3, "PCMU") == pytest.approx(BEST_R - 17.655, abs=0.001)
    # R = 70 is a MOS of 3.60 (G.107 Annex B, table B.1).
    assert estimate_mos(0.0, (BEST_R - 70.0 + 0.11 * 177.3) / 0.134, "PCMU") == pytest.approx(3.60, abs=0.005)


def test_concealment_helps_against_loss() -> None:
    assert estimate_mos(3.0, 50.0, "opus") > estimate_mos(3.0, 50.0, "PCMU") + 0.5


@given(losses, delays, codecs)
def test_it_stays_on_the_scale(loss_percent: float, delay_ms: float, codec: str) -> None:
    assert 1.0 <= estimate_mos(loss_percent, delay_ms, codec) <= 4.5


@given(losses, losses, delays, delays, codecs)
def test_more_loss_or_delay_is_never_better(a: float, b: float, c: float, d: float, codec: str) -> None:
    better, worse = rating(min(a, b), min(c, d), codec), rating(max(a, b), max(c, d), codec)
    assert worse <= better + 1e-9


@pytest.mark.parametrize("loss_percent", [-1.0, 100.1, math.nan])
def test_an_impossible_loss_is_refused(loss_percent: float) -> None:
    with pytest.raises(ValueError, match=r"loss_percent must be 0\.\.100"):
        estimate_mos(loss_percent, 0.0, "PCMU")


@pytest.mark.parametrize("delay_ms", [-1.0, math.nan, math.inf])
def test_an_impossible_delay_is_refused(delay_ms: float) -> None:
    with pytest.raises(ValueError, match="one_way_delay_ms must be a finite number"):
        estimate_mos(0.0, delay_ms, "PCMU")

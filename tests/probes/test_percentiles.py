"""Percentiles in bounded memory."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.percentiles import LARGEST_MS, SMALLEST_MS, LatencyHistogram

latencies = st.lists(st.floats(0.0, LARGEST_MS), min_size=1, max_size=200)


def histogram(values: list[float]) -> LatencyHistogram:
    filled = LatencyHistogram()
    for value in values:
        filled.record_ms(value)
    return filled


@given(latencies, st.integers(0, 100))
def test_a_percentile_is_within_one_per_cent_of_the_nearest_rank(values: list[float], percent: int) -> None:
    exact = sorted(values)[max(math.ceil(percent * len(values) / 100), 1) - 1]
    found = histogram(values).percentile(percent)
    assert found is not None
    assert abs(found - exact) <= max(0.01 * exact, SMALLEST_MS)


@given(latencies, latencies)
def test_merging_is_recording_both(left: list[float], right: list[float]) -> None:
    merged = histogram(left)
    merged.merge(histogram(right))
    assert merged.summary() == histogram(left + right).summary()
    assert merged.count == len(left) + len(right)


def test_the_summary_of_known_latencies() -> None:
    summary = histogram([float(ms) for ms in range(1, 1001)]).summary()
    assert summary == {
        "p50": pytest.approx(500, rel=0.01),
        "p95": pytest.approx(950, rel=0.01),
        "p99": pytest.approx(990, rel=0.01),
        "max": 1000.0,
    }


def test_one_latency_is_every_percentile_exactly() -> None:
    assert set(histogram([33.3]).summary().values()) == {33.3}


def test_a_rank_is_not_rounded_up_by_floating_point() -> None:
    values = [1.0] * 999 + [100.0]
    assert histogram(values).percentile(99.9) == pytest.approx(1.0, rel=0.01)


def test_nothing_recorded_is_not_zero() -> None:
    empty = LatencyHistogram()
    assert empty.summary() == {"p50": None, "p95": None, "p99": None, "max": None}
    assert empty.count == 0


def test_memory_is_bounded() -> None:
    filled = histogram([SMALLEST_MS * 1.0007**step for step in range(60_000)])
    assert filled.count == 60_000
    assert len(filled._counts) <= 1164


@pytest.mark.parametrize("latency_ms", [-0.1, math.nan, math.inf])
def test_what_is_no_latency_is_refused(latency_ms: float) -> None:
    with pytest.raises(ValueError, match="a latency must be a finite number"):
        LatencyHistogram().record_ms(latency_ms)


@pytest.mark.parametrize("percent", [-1.0, 100.5, math.nan])
def test_a_percentile_out_of_range_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match=r"a percentile must be 0\.\.100"):
        LatencyHistogram().percentile(percent)

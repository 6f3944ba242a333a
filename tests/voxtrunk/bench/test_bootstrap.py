"""Percentiles and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from voxtrunk.bench.bootstrap import machine, percentiles


def test_percentiles_of_known_samples() -> None:
    p50, p95 = percentiles([list(range(0, 50)), list(range(50, 101))], [50, 95], seed=1, resamples=50)
    assert (p50.value, p95.value) == (50.0, 95.0)
    assert p50.low <= p50.value <= p50.high


def test_the_same_seed_gives_the_same_interval() -> None:
    blocks = np.random.default_rng(3).normal(45, 2, (40, 50)).tolist()
    assert percentiles(blocks, [95], seed=1, resamples=80) == percentiles(blocks, [95], seed=1, resamples=80)


def test_the_interval_covers_the_truth_and_narrows_with_data() -> None:
    rng = np.random.default_rng(4)
    wide = percentiles(rng.normal(45, 2, (10, 20)).tolist(), [50], seed=1, resamples=200)[0]
    narrow = percentiles(rng.normal(45, 2, (400, 20)).tolist(), [50], seed=1, resamples=200)[0]
    assert narrow.low < 45 < narrow.high
    assert narrow.high - narrow.low < (wide.high - wide.low) / 2


def test_no_samples() -> None:
    with pytest.raises(ValueError, match="no samples to take percentiles of"):
        percentiles([[], []], [50], seed=1)


def test_machine_is_described() -> None:
    where = machine()
    assert where["cores"] >= 1 and where["python"].startswith("3.") and where["cpu"]

"""Time that can be set."""

from __future__ import annotations

import time

import pytest

from probes.clock import ManualClock, MonotonicClock, ns_to_ms


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(5)
    assert clock.now_ns() == clock.now_ns() == 5
    clock.advance_ms(1.5)
    assert clock.now_ns() == 1_500_005


def test_a_manual_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match=r"cannot go back by 2 ms"):
        ManualClock().advance_ms(-2)


def test_the_real_clock_is_the_monotonic_one() -> None:
    before = time.monotonic_ns()
    assert before <= MonotonicClock().now_ns() <= time.monotonic_ns()


def test_nanoseconds_as_milliseconds() -> None:
    assert ns_to_ms(2_500_000) == 2.5

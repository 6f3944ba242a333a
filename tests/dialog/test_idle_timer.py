from __future__ import annotations

from dialog.idle_timer import IdleTimer


def test_each_limit_is_reached_once() -> None:
    timer = IdleTimer(1.0, 2.0)
    reached = [(n * 20, count) for n in range(1, 500) if (count := timer.tick(20)) is not None]
    assert reached == [(1000, 1), (2000, 2)]


def test_a_reset_starts_over() -> None:
    timer = IdleTimer(1.0, 2.0)
    assert timer.tick(900) is None
    timer.reset()
    assert timer.tick(900) is None
    assert timer.tick(100) == 1
    timer.reset()
    assert timer.tick(1000) == 1

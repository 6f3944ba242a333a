"""Monotonic time, injected, so that tests decide what time it is."""

from __future__ import annotations

import time
from typing import Final, Protocol

NS_PER_MS: Final = 1_000_000


class Clock(Protocol):
    """A source of time that never runs backwards."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary start; only differences mean anything."""


class MonotonicClock:
    """The system's monotonic clock; NTP steps do not move it."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary start."""
        return time.monotonic_ns()


class ManualClock:
    """A clock for tests: it stands still until it is advanced."""

    def __init__(self, start_ns: int = 0) -> None:
        """
        Args:
            start_ns: the first time shown.
        """
        self._now_ns = start_ns

    def now_ns(self) -> int:
        """The time that was set."""
        return self._now_ns

    def advance_ms(self, elapsed_ms: float) -> None:
        """Let time pass.

        Raises:
            ValueError: ``elapsed_ms`` is negative.
        """
        if elapsed_ms < 0:
            raise ValueError(f"a monotonic clock cannot go back by {-elapsed_ms} ms")
        self._now_ns += round(elapsed_ms * NS_PER_MS)


def ns_to_ms(duration_ns: int) -> float:
    """Nanoseconds as milliseconds."""
    return duration_ns / NS_PER_MS

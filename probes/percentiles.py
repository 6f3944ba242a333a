"""Latency percentiles in bounded memory, however long the call."""

from __future__ import annotations

import math
from typing import Final

SMALLEST_MS: Final = 0.001
LARGEST_MS: Final = 1e7
"""1 us to 2.8 hours: shorter and longer latencies share the first and the last bucket."""

_GROWTH: Final = 1.02
"""Ratio of neighbouring bucket bounds. A bucket's geometric middle is within 1 % of everything in it."""

_LOG_GROWTH: Final = math.log(_GROWTH)
_LAST_BUCKET: Final = int(math.log(LARGEST_MS / SMALLEST_MS) / _LOG_GROWTH)


class LatencyHistogram:
    """Counts of latencies in logarithmic buckets, at most 1164 of them.

    Percentiles are off by at most 1 % or 1 us, whichever is more; count and maximum are exact. Not
    thread-safe: record and read on one thread.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._count = 0
        self._min_ms = math.inf
        self._max_ms = 0.0

    @property
    def count(self) -> int:
        """Latencies recorded."""
        return self._count

    @property
    def max_ms(self) -> float | None:
        """The longest latency, exactly; None before the first."""
        return self._max_ms if self._count else None

    def record_ms(self, latency_ms: float) -> None:
        """Count one latency.

        Raises:
            ValueError: it is negative or not a finite number.
        """
        latency_ms = float(latency_ms)
        if not 0.0 <= latency_ms < math.inf:
            raise ValueError(f"a latency must be a finite number of at least 0 ms, not {latency_ms}")
        bucket = _bucket(latency_ms)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self._count += 1
        self._min_ms = min(self._min_ms, latency_ms)
        self._max_ms = max(self._max_ms, latency_ms)

    def percentile(self, percent: float) -> float | None:
        """The latency in ms that ``percent`` of all latencies do not exceed (nearest rank).

        Args:
            percent: 0..100.

        Returns:
            ms, or None when nothing was recorded.

        Raises:
            ValueError: ``percent`` is out of range.
        """
        if not 0.0 <= percent <= 100.0:
            raise ValueError(f"a percentile must be 0..100, not {percent}")
        if not self._count:
            return None
        # 99.9 * 1000 / 100 is a little over 999 in floating point; that must stay rank 999.
        rank = max(1, math.ceil(percent * self._count / 100.0 - 1e-9))
        if rank >= self._count:
            return self._max_ms
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= rank:
                return min(max(_middle_ms(bucket), self._min_ms), self._max_ms)
        raise AssertionError("the buckets hold fewer latencies than were counted")

    def merge(self, other: LatencyHistogram) -> None:
        """Add everything that ``other`` has recorded."""
        for bucket, count in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + count
        self._count += other._count
        self._min_ms = min(self._min_ms, other._min_ms)
        self._max_ms = max(self._max_ms, other._max_ms)

    def summary(self) -> dict[str, float | None]:
        """``p50``, ``p95``, ``p99`` and ``max``, in ms; None when nothing was recorded."""
        return {
            "p50": self.percentile(50),
            "p95": self.percentile(95),
            "p99": self.percentile(99),
            "max": self.max_ms,
        }


def _bucket(latency_ms: float) -> int:
    if latency_ms <= SMALLEST_MS:
        return 0
    return min(int(math.log(latency_ms / SMALLEST_MS) / _LOG_GROWTH), _LAST_BUCKET)


def _middle_ms(bucket: int) -> float:
    return float(SMALLEST_MS * _GROWTH ** (bucket + 0.5)) if bucket else SMALLEST_MS

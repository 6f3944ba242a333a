"""What the vocoder's engine measures of itself: bounded, and cheap enough to be always on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

_KEPT: Final = 4096
"""Runs and live chunks that percentiles are taken over."""
_NS_PER_MS: Final = 1e6


@dataclass(frozen=True)
class EngineStats:
    """Counts since the start; percentiles over the last 4096.

    Attributes:
        runs: batches.
        chunks: of all streams.
        streams: open now.
        waiting: chunks ready to run now.
        most_waiting: the largest ``waiting`` ever found.
        late_chunks: chunks of live streams that took longer than they last, from the last frame in to the PCM out.
        run_p50_ms, run_p99_ms: one batch.
        live_p50_ms, live_p99_ms, live_max_ms: a live stream's chunk, from the last frame in to the PCM out; 0 if none.
    """

    runs: int
    chunks: int
    streams: int
    waiting: int
    most_waiting: int
    late_chunks: int
    run_p50_ms: float
    run_p99_ms: float
    live_p50_ms: float
    live_p99_ms: float
    live_max_ms: float


class EngineMeter:
    """Collects for :class:`EngineStats`; its user does the locking."""

    def __init__(self, chunk_ns: float) -> None:
        self._chunk_ns = chunk_ns
        self.runs = self.chunks = self.late_chunks = self.most_waiting = 0
        self._run_ns, self._live_ns = _Ring(), _Ring()

    def ran(self, chunks: int, duration_ns: int) -> None:
        """One batch is done."""
        self.runs += 1
        self.chunks += chunks
        self._run_ns.add(duration_ns)

    def waited(self, waiting: int) -> None:
        """So many chunks were found ready."""
        self.most_waiting = max(self.most_waiting, waiting)

    def live(self, duration_ns: int) -> None:
        """A live stream's chunk came out this long after its last frame went in."""
        self._live_ns.add(duration_ns)
        self.late_chunks += duration_ns > self._chunk_ns

    def stats(self, streams: int, waiting: int) -> EngineStats:
        run_p50, run_p99, _ = self._run_ns.percentiles_ms()
        live_p50, live_p99, live_max = self._live_ns.percentiles_ms()
        return EngineStats(
            runs=self.runs,
            chunks=self.chunks,
            streams=streams,
            waiting=waiting,
            most_waiting=self.most_waiting,
            late_chunks=self.late_chunks,
            run_p50_ms=run_p50,
            run_p99_ms=run_p99,
            live_p50_ms=live_p50,
            live_p99_ms=live_p99,
            live_max_ms=live_max,
        )


class _Ring:
    """The last values, in memory that was allocated once."""

    def __init__(self) -> None:
        self._values = np.zeros(_KEPT, np.int64)
        self._count = 0

    def add(self, value: int) -> None:
        self._values[self._count % _KEPT] = value
        self._count += 1

    def percentiles_ms(self) -> tuple[float, float, float]:
        """p50, p99 and maximum."""
        if self._count == 0:
            return 0.0, 0.0, 0.0
        p50, p99, largest = np.percentile(self._values[: self._count], (50, 99, 100)) / _NS_PER_MS
        return float(p50), float(p99), float(largest)

"""The reader behind ``voxtrunk tail``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console

from probes.follow import follow
from probes.log_line import LogLine, parse_line
from probes.percentiles import LatencyHistogram
from probes.tail_view import TailView

__all__ = ["TailSummary", "follow", "tail"]


@dataclass(frozen=True, slots=True)
class TailSummary:
    """What went by.

    Attributes:
        lines: lines read.
        foreign: of these, not events of ours.
        calls_started: ``call.start`` events of the calls that were asked for; the same holds below.
        calls_ended: ``call.end`` events.
        turns: ``turn`` events.
        warnings: events of level warning or worse, and ``call.stats`` with something to complain of.
        turn_p50_ms: of the turns' totals; None without any.
        turn_p95_ms: likewise.
    """

    lines: int
    foreign: int
    calls_started: int
    calls_ended: int
    turns: int
    warnings: int
    turn_p50_ms: float | None
    turn_p95_ms: float | None


def tail(lines: Iterable[str], console: Console, *, call: str | None = None) -> TailSummary:
    """Print the log as it comes: a line for each start and end of a call, each turn, and whatever goes wrong.

    Args:
        lines: e.g. ``sys.stdin`` or :func:`follow`. Lines that are no events of ours are passed on dimmed.
        console: where to print. Colour and block elements on a terminal, else plain ASCII.
        call: show only calls whose id begins with this, and nothing else.

    Returns:
        Counts, when ``lines`` has ended.
    """
    view = TailView(console)
    counts = _Counts()
    for text in lines:
        counts.lines += 1
        line = parse_line(text)
        if line is None:
            counts.foreign += 1
            if call is None:
                view.show_foreign(text.rstrip("\r\n"))
        elif call is None or line.text("call").startswith(call):
            counts.add(line, shown=view.show(line))
    return counts.summary()


class _Counts:
    def __init__(self) -> None:
        self.lines = 0
        self.foreign = 0
        self._calls_started = 0
        self._calls_ended = 0
        self._turns = 0
        self._warnings = 0
        self._turn_ms = LatencyHistogram()

    def add(self, line: LogLine, *, shown: bool) -> None:
        self._calls_started += line.event == "call.start"
        self._calls_ended += line.event == "call.end"
        if line.event == "turn":
            self._turns += 1
            total_ms = line.number("total_ms")
            if total_ms is not None:
                self._turn_ms.record_ms(total_ms)
        if line.text("level") in ("warning", "error", "critical") or (line.event == "call.stats" and shown):
            self._warnings += 1

    def summary(self) -> TailSummary:
        return TailSummary(
            lines=self.lines,
            foreign=self.foreign,
            calls_started=self._calls_started,
            calls_ended=self._calls_ended,
            turns=self._turns,
            warnings=self._warnings,
            turn_p50_ms=self._turn_ms.percentile(50),
            turn_p95_ms=self._turn_ms.percentile(95),
        )

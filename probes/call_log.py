"""The log: one JSON object a line on stdout, written by a thread of its own."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self, TextIO

import structlog

from probes.event_queue import EventQueue, StampedEvent
from probes.events import Event, LogDropped
from probes.line_output import LineOutput
from probes.log_json import plain_fields, timestamp
from probes.settings import Level

LEVELS: Final = logging.getLevelNamesMapping()


def _utc_now() -> datetime:
    return datetime.now(UTC)


class CallLog:
    """Takes events from any thread and writes them in order; :meth:`emit` never waits for the reader.

    What a slow reader has no room for is dropped and counted (:class:`~probes.event_queue.EventQueue`), and a
    ``log.dropped`` line says so. When the reader goes away, that is said once on stderr and calls go on.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        level: Level = "info",
        queue_lines: int = 4096,
        utc_now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """
        Args:
            stream: where to write; default: ``sys.stdout`` as it is now.
            level: least severe events written; tracebacks are written at ``debug`` only.
            queue_lines: events held for a slow reader.
            utc_now: the time of day for ``ts``. Durations are measured elsewhere, on the monotonic clock.
        """
        self.level: Final = level
        self._least = LEVELS[level.upper()]
        self._utc_now = utc_now
        self._queue = EventQueue(queue_lines)
        self._output = LineOutput(stream if stream is not None else sys.stdout)
        self._lines = _Lines()
        self._logger = _json_logger(self._lines)
        self._failing = False
        self._thread = threading.Thread(target=self._write_all, name="call log", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        """Log an event; returns at once and never raises, also after :meth:`close`, when it has no effect."""
        if event.severity >= self._least:
            self._queue.put(StampedEvent(self._utc_now(), event))

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what is left and stop.

        Args:
            timeout_s: for a reader that does not read. What it has not taken by then is lost; stderr says so.
        """
        self._queue.close()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _complain("the reader of the log does not read: the last lines are lost")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_all(self) -> None:
        while (batch := self._queue.take()) is not None:
            for item in batch.items:
                self._render(item)
            if batch.dropped:
                report = LogDropped(lines=batch.dropped.total(), by_event=batch.dropped)
                self._render(StampedEvent(self._utc_now(), report))
            try:
                self._output.write(self._lines.take())
            except BrokenPipeError:
                _complain("the reader of the log has gone: nothing more is logged")
                self._queue.close()
                break
            except (OSError, ValueError) as error:
                self._lost(batch.dropped + Counter(item.event.NAME for item in batch.items), error)
                if not batch.items:
                    break  # closed, and even the report of what was lost cannot be written
            else:
                self._failing = False
        self._output.close()

    def _render(self, item: StampedEvent) -> None:
        values = item.event.values()
        if self.level != "debug":
            values.pop("exception", None)
        self._logger.log(item.event.severity, item.event.NAME, ts=timestamp(item.at), **values)

    def _lost(self, dropped: Counter[str], error: Exception) -> None:
        """A full disk, say: lines are lost until there is room again."""
        self._queue.count_dropped(dropped)
        if not self._failing:
            _complain(f"the log cannot be written: {error}")
        self._failing = True


class _Lines:
    """Stands where structlog expects a logger, and collects its lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def debug(self, line: str) -> None:
        self._lines.append(line + "\n")

    info = warning = error = critical = debug

    def take(self) -> str:
        text = "".join(self._lines)
        self._lines.clear()
        return text


def _json_logger(lines: _Lines) -> Any:
    return structlog.wrap_logger(
        lines,
        # ASCII output: no control or direction character of a caller's name reaches the operator's terminal.
        processors=[structlog.processors.add_log_level, plain_fields, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
        cache_logger_on_first_use=True,
    )


def _complain(message: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"voxtrunk: {message}\n")
        sys.stderr.flush()
    except OSError:
        return  # stderr has gone the same way, so there is nobody left to tell

"""One JSON object a line, whatever the reader does."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from probes.call_log import CallLog
from probes.events import CallError, LogMessage, ServerStopped
from tests.probes.samples import call_start, call_stats, turn

NOW = datetime(2024, 12, 1, 3, 0, 0, 250_000, tzinfo=UTC)


def objects(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n") or not text
    return [json.loads(line) for line in text.splitlines()]


class GatedStream(io.StringIO):
    """A reader that reads only while the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.blocked = threading.Event()

    def write(self, text: str) -> int:
        self.blocked.set()
        assert self.gate.wait(10)
        return super().write(text)


class FullDisk(io.StringIO):
    """Has room again once it is told so."""

    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(text)


@contextmanager
def pipe() -> Iterator[tuple[Any, Any]]:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "r") as reader, os.fdopen(write_end, "w") as writer:
        yield reader, writer


def test_a_line_has_time_level_name_and_the_events_fields() -> None:
    stream = io.StringIO()
    with CallLog(stream, utc_now=lambda: NOW) as log:
        log.emit(ServerStopped(calls_total=3, uptime_s=12.34567))
    assert stream.getvalue() == (
        '{"ts": "2024-12-01T03:00:00.250Z", "level": "info", "event": "server.stopped", '
        '"calls_total": 3, "uptime_s": 12.346}\n'
    )


def test_what_a_caller_can_choose_stays_in_its_line_and_in_ascii() -> None:
    stream = io.StringIO()
    with CallLog(stream) as log:
        log.emit(call_start(sip_call_id='x"}\n{"event": "forged"\x1b[2J\u202e\udcff'))
    assert stream.getvalue().isascii()
    (line,) = objects(stream.getvalue())
    assert line["event"] == "call.start"
    assert line["caller"] == "sip:…0100@pbx.example"


def test_events_less_severe_than_the_level_are_left_out() -> None:
    stream = io.StringIO()
    with CallLog(stream, level="warning") as log:
        log.emit(turn())
        log.emit(CallError(call="c", stage="stt", error_type="E", error="e", fatal=False))
    assert [line["event"] for line in objects(stream.getvalue())] == ["call.error"]


@pytest.mark.parametrize(("level", "present"), [("debug", True), ("info", False)])
def test_tracebacks_are_written_at_debug_only(level: Any, present: bool) -> None:
    stream = io.StringIO()
    with CallLog(stream, level=level) as log:
        log.emit(CallError.from_exception("c", "flow", ValueError("bad"), fatal=True))
    (line,) = objects(stream.getvalue())
    assert ("exception" in line) is present
    assert (line["error_type"], line["error"], line["level"]) == ("ValueError", "bad", "error")


def test_all_threads_lines_are_whole() -> None:
    stream = io.StringIO()
    with CallLog(stream) as log:

        def emit_a_hundred() -> None:
            for number in range(100):
                log.emit(turn(turn=number))

        threads = [threading.Thread(target=emit_a_hundred) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    numbers = [line["turn"] for line in objects(stream.getvalue())]
    assert sorted(numbers) == sorted(list(range(100)) * 4)


def test_a_reader_that_pauses_loses_statistics_first_and_is_told() -> None:
    stream = GatedStream()
    log = CallLog(stream, queue_lines=8)
    log.emit(turn(turn=0))
    assert stream.blocked.wait(5)
    for number in range(1, 7):
        log.emit(call_stats())
        log.emit(turn(turn=number))
    stream.gate.set()
    log.close()
    lines = objects(stream.getvalue())
    assert [line["turn"] for line in lines if line["event"] == "turn"] == list(range(7))
    (dropped,) = [line for line in lines if line["event"] == "log.dropped"]
    assert dropped["level"] == "warning"
    assert dropped["by_event"] == {"call.stats": 4}
    assert dropped["lines"] == 4


def test_emitting_does_not_wait_for_a_reader_that_never_reads(capsys: pytest.CaptureFixture[str]) -> None:
    stream = GatedStream()
    log = CallLog(stream, queue_lines=100)
    started_ns = time.monotonic_ns()
    for _ in range(1000):
        log.emit(turn())
    log.close(timeout_s=0.05)
    assert time.monotonic_ns() - started_ns < 5e9
    assert "the reader of the log does not read" in capsys.readouterr().err
    stream.gate.set()


def test_a_reader_that_goes_away_is_reported_once_and_calls_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pipe() as (reader, writer):
        log = CallLog(writer)
        log.emit(turn())
        assert json.loads(reader.readline())["event"] == "turn"
        reader.close()
        log.emit(turn())
        log._thread.join(5)
        assert not log._thread.is_alive()
        log.emit(turn())
        log.close()
    assert capsys.readouterr().err == "voxtrunk: the reader of the log has gone: nothing more is logged\n"


def test_a_full_disk_is_reported_once_and_what_was_lost_is_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk()
    failed = threading.Event()
    log = CallLog(disk)
    report = log._lost

    def watched(*arguments: Any) -> None:
        report(*arguments)
        failed.set()

    monkeypatch.setattr(log, "_lost", watched)
    for _ in range(2):
        failed.clear()
        log.emit(turn())
        assert failed.wait(5)
    disk.full = False
    log.emit(call_stats())
    log.close()
    first, second = objects(disk.getvalue())
    assert (first["event"], second["event"]) == ("call.stats", "log.dropped")
    assert second["by_event"] == {"turn": 2}
    assert capsys.readouterr().err == "voxtrunk: the log cannot be written: [Errno 28] No space left on device\n"


def test_closing_ends_even_when_nothing_can_be_written() -> None:
    log = CallLog(FullDisk())
    log.emit(turn())
    log.close()
    assert not log._thread.is_alive()


def test_after_closing_nothing_is_written_and_nothing_raised() -> None:
    stream = io.StringIO()
    log = CallLog(stream)
    log.close()
    log.emit(turn())
    log.close()
    assert stream.getvalue() == ""


def test_a_process_can_exit_while_its_reader_does_not_read() -> None:
    program = (
        "from probes.call_log import CallLog\n"
        "from probes.events import ServerStopped\n"
        "log = CallLog(queue_lines=100_000)\n"
        "for number in range(3_000): log.emit(ServerStopped(calls_total=number, uptime_s=1.0))\n"
        "log.close(timeout_s=0.2)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert process.wait(30) == 0
        assert process.stderr.read() == b"voxtrunk: the reader of the log does not read: the last lines are lost\n"
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()


def test_a_librarys_line_has_its_own_level() -> None:
    stream = io.StringIO()
    with CallLog(stream, level="debug") as log:
        log.emit(LogMessage(levelno=50, logger="x", message="m"))
        log.emit(LogMessage(levelno=25, logger="x", message="m"))
        log.emit(LogMessage(levelno=5, logger="x", message="m"))
    assert [line["level"] for line in objects(stream.getvalue())] == ["critical", "info", "debug"]

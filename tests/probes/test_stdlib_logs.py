"""Libraries' lines land in the same log."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from probes.call_log import CallLog
from probes.stdlib_logs import TALKATIVE, configure_logging


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    names = [*TALKATIVE, "baresip.ua"]
    before = (root.handlers[:], root.level, {name: logging.getLogger(name).level for name in names})
    yield
    logging.captureWarnings(False)
    root.handlers[:], levels = before[0], before[2]
    root.setLevel(before[1])
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_librarys_line_is_an_event() -> None:
    stream = io.StringIO()
    with CallLog(stream) as log:
        configure_logging(log)
        logging.getLogger("baresip.ua").warning("no answer from %s", "sip:+15555550100@pbx.example")
        logging.getLogger("baresip.ua").debug("not at this level")
    (line,) = lines(stream)
    del line["ts"]
    assert line == {
        "level": "warning",
        "event": "log.message",
        "logger": "baresip.ua",
        "message": "no answer from sip:…0100@pbx.example",
    }


@pytest.mark.parametrize("level", ["debug", "info"])
def test_an_exception_is_type_and_message_with_the_traceback_at_debug(level: Any) -> None:
    stream = io.StringIO()
    with CallLog(stream, level=level) as log:
        configure_logging(log)
        try:
            raise LookupError("caller +15555550100 is unknown")
        except LookupError:
            logging.getLogger("asyncio").exception("task failed")
    (line,) = lines(stream)
    assert (line["error_type"], line["error"]) == ("LookupError", "caller …0100 is unknown")
    assert ("exception" in line) is (level == "debug")
    assert "15555550100" not in stream.getvalue()


def test_arguments_that_do_not_fit_lose_no_line() -> None:
    stream = io.StringIO()
    with CallLog(stream) as log:
        configure_logging(log)
        # Not through the logger: the test runner's own handlers raise on it.
        record = logging.LogRecord("baresip.ua", logging.INFO, "ua.py", 1, "%d calls", ("many",), None)
        logging.getLogger().handlers[-1].handle(record)
    assert lines(stream)[0]["message"] == "%d calls (its arguments do not fit)"


def test_warnings_are_lines_too() -> None:
    stream = io.StringIO()
    with CallLog(stream) as log:
        configure_logging(log)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(False)
            logging.captureWarnings(True)
            warnings.warn("old habit", DeprecationWarning, stacklevel=1)
    assert "old habit" in lines(stream)[0]["message"]


def test_the_new_log_replaces_the_one_before() -> None:
    old, new = io.StringIO(), io.StringIO()
    with CallLog(old) as first, CallLog(new) as second:
        configure_logging(first)
        configure_logging(second)
        logging.getLogger("baresip.ua").info("hello")
    assert old.getvalue() == ""
    assert len(lines(new)) == 1


@pytest.mark.parametrize("name", TALKATIVE)
def test_libraries_that_log_what_was_said_are_kept_short_even_at_debug(name: str) -> None:
    stream = io.StringIO()
    with CallLog(stream, level="debug") as log:
        configure_logging(log)
        logging.getLogger(f"{name}.client").debug("body: my secret words")
    assert stream.getvalue() == ""

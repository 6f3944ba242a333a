"""Reading lines that went through other programs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.log_line import LogLine, clean, parse_line
from tests.probes.samples import line

TURN = line("turn", turn=2)


@pytest.mark.parametrize(
    "text",
    [
        TURN,
        f"{TURN}\r\n",
        f"Dec 01 03:00:00 host voxtrunk[12]: {TURN}",
        f"<30>Dec  1 03:00:00 host voxtrunk[{{12}}]: {TURN}",
        f"voxtrunk-1  | {TURN}",
        json.dumps({"_PID": "12", "MESSAGE": TURN}),
    ],
)
def test_an_event_is_found_behind_any_prefix(text: str) -> None:
    found = parse_line(text)
    assert found is not None
    assert (found.event, found.number("turn")) == ("turn", 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Traceback (most recent call last):",
        "[1, 2]",
        '{"a": 1}',
        '{"event": 5}',
        TURN[:-1],
        f"{TURN} and more",
        "{" * 100_000,
        '{"event": ' + "[" * 100_000,
        '{"event": "x", "n": ' + "9" * 10_000 + "}",
        json.dumps({"MESSAGE": [1, 2]}),
    ],
)
def test_anything_else_is_foreign(text: str) -> None:
    assert parse_line(text) is None


@pytest.mark.parametrize("value", ["12", True, None, [], {}, -1, float("inf"), float("nan"), 10**400])
def test_a_number_that_is_none_is_absent(value: object) -> None:
    assert LogLine({"n": value}).number("n") is None


def test_time_of_day() -> None:
    assert LogLine({"ts": "2024-12-01T03:00:07.250Z"}).time_of_day == "03:00:07"
    assert LogLine({"ts": "yesterday"}).time_of_day == "--:--:--"
    assert LogLine({}).time_of_day == "--:--:--"


def test_escape_sequences_and_controls_are_removed() -> None:
    assert clean("a\x1b[31;1mb\x1b[0mc\x1b]0;title\x07d\x1b]8;;http://x\x1b\\e", 100) == "abcde"
    assert clean("a\rb\tc\x00d\u202ee\u2028f\ud800g\x9bh", 100) == "a b c d e f g h"


@given(st.text(st.characters(codec=None)), st.integers(1, 50))
def test_clean_text_is_printable_and_short(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert cleaned.isprintable()
    assert len(cleaned) <= limit


def test_fields_without_a_view_are_listed() -> None:
    found = LogLine({"ts": "x", "level": "info", "event": "e", "call": "c", "a": 1, "b": "t\n", "c": ["é"]})
    assert found.rest() == 'a=1 b=t  c=["é"]'

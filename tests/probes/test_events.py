"""The events, and that the documentation lists each of their fields."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from probes.events import EVENTS, CallError, CallRefused, CallStart
from probes.trace import Stage
from tests.probes.samples import call_start, turn

DOCS = Path(__file__).parents[2] / "docs" / "log.md"
UNITS = {"ms": "ms", "s": "s", "hz": "Hz", "mb": "MB"}


def documented() -> list[tuple[str, str, str]]:
    """(event, field, unit) of each row of the table."""
    rows = re.findall(
        r"^\| `([\w.]+)` \| (?:`(\w+)`)? *\| ([^|]*) *\| [^|]+ \|$", DOCS.read_text("utf-8"), re.MULTILINE
    )
    return [(event, name, unit.strip()) for event, name, unit in rows]


def logged() -> list[tuple[str, str]]:
    """(event, field) of everything that can be in the log, in order."""
    return [
        (event, item.name) for event, kind in EVENTS.items() for item in fields(kind) if "unlogged" not in item.metadata
    ]


def test_the_documentation_has_each_field_of_each_event_and_no_other() -> None:
    rows = [(event, name) for event, name, _ in documented() if name]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(logged())


def test_the_documentation_introduces_each_event_once() -> None:
    assert sorted(event for event, name, _ in documented() if not name) == sorted(EVENTS)


def test_a_unit_in_a_name_is_the_documented_unit() -> None:
    for event, name, unit in documented():
        suffix = name.rsplit("_", 1)[-1] if "_" in name else ""
        assert (unit == UNITS[suffix]) if suffix in UNITS else (unit not in UNITS.values()), f"{event} {name}: {unit}"


def test_optional_fields_are_documented_as_such() -> None:
    optional = {
        (event, item.name)
        for event, kind in EVENTS.items()
        for item in fields(kind)
        if "absent_if_none" in item.metadata
    }
    assert {(event, name) for event, name, unit in documented() if "optional" in unit} == optional


def test_a_turn_has_a_field_for_each_stage() -> None:
    assert {f"{stage}_ms" for stage in Stage} <= set(turn().values())


def test_a_transcript_is_absent_unless_given() -> None:
    assert "transcript" not in turn().values()
    assert turn(transcript="hello").values()["transcript"] == "hello"
    assert turn().values()["barge_in_flush_ms"] is None


def test_the_caller_is_masked_whatever_is_passed() -> None:
    start = call_start(caller='"Alice" <sip:+15555550100@pbx.example>', called="+15555550199")
    assert (start.caller, start.called) == ("sip:…0100@pbx.example", "…0199")
    refused = CallRefused(sip_call_id="x", caller="sip:alice@pbx.example", status=486, reason="Busy Here")
    assert refused.caller == "sip:a…@pbx.example"


def test_a_called_flow_keeps_its_name() -> None:
    assert isinstance(start := call_start(called="parrot", flow="parrot"), CallStart)
    assert start.called == "parrot"


def test_an_error_tells_type_message_and_traceback_without_numbers() -> None:
    try:
        try:
            raise RuntimeError("transfer to sip:+15555550100@pbx.example failed")
        except RuntimeError as error:
            raise ExceptionGroup("call", [error]) from None
    except ExceptionGroup as group:
        event = CallError.from_exception("a1b2c3d4", "transfer", group, fatal=True)
    assert event.error_type == "RuntimeError"
    assert event.error == "transfer to sip:…0100@pbx.example failed"
    assert event.exception is not None
    assert "Traceback" in event.exception
    assert "15555550100" not in event.exception


@pytest.mark.parametrize(("fatal", "level"), [(True, 40), (False, 30)])
def test_a_fatal_error_is_more_severe(fatal: bool, level: int) -> None:
    assert CallError(call="c", stage="stt", error_type="E", error="e", fatal=fatal).severity == level

"""What the operator sees."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from probes.call_log import CallLog
from probes.events import EVENTS, CallError, Event, ServerWarning
from probes.tail import TailSummary, tail
from tests.probes.samples import CALL, call_end, call_start, call_stats, line, turn

ESCAPE = "\x1b"


def logged(*events: Event) -> list[str]:
    stream = io.StringIO()
    with CallLog(stream) as log:
        for event in events:
            log.emit(event)
    return stream.getvalue().splitlines()


def shown(
    lines: Iterable[str], *, call: str | None = None, terminal: bool = False, width: int = 140
) -> tuple[str, TailSummary]:
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=terminal, color_system="truecolor" if terminal else None, width=width, no_color=False
    )
    summary = tail(lines, console, call=call)
    return file.getvalue(), summary


def one(lines: Iterable[str], **options: Any) -> str:
    (text,) = shown(lines, **options)[0].splitlines()
    return text.split(maxsplit=1)[1] if not options.get("terminal") else text


def test_a_turn_is_one_line_with_a_bar_and_the_stages() -> None:
    assert one(logged(turn(turn=2))) == (
        f"{CALL} turn 2     750 ms EEEEEEEEEESSSSV           eot 500 net 10 stt 180 voice 40 play 20"
    )


def test_a_barge_in_is_marked() -> None:
    assert " barge-in 34 ms " in one(logged(turn(barge_in=True, barge_in_flush_ms=34.0)))
    assert " barge-in " in one(logged(turn(barge_in=True)))
    assert "barge-in" not in one(logged(turn()))


def test_a_slow_turn_is_squeezed_into_the_bar_and_marked() -> None:
    text = one(logged(turn(stt_ms=2430.0, total_ms=3000.0)))
    assert "EEEESSSSSSSSSSSSSSSSSSSS+ " in text


def test_a_call_from_start_to_end() -> None:
    text, summary = shown(
        logged(
            call_start(),
            turn(),
            call_stats(),
            call_stats(frames_lost=9, mos=3.2),
            CallError(call=CALL, stage="stt", error_type="SttError", error="overloaded", fatal=False),
            call_end(),
        )
    )
    rows = [row.split(maxsplit=1)[1] for row in text.splitlines()]
    assert rows[0] == f"{CALL} call     sip:...0100@pbx.example to parrot  inbound PCMU/8000 udp answered in 41 ms"
    assert rows[2] == f"{CALL} audio    9 lost, MOS 3.2  jitter 1 ms, chunk p95 7 ms"
    assert rows[3] == f"{CALL} call.error stage=stt error_type=SttError error=overloaded fatal=false"
    assert rows[4] == (
        f"{CALL} end      caller_hung_up  after 42.1 s, 3 turns, p50 740 ms, p95 910 ms, 0 lost, 0 underruns, MOS 4.4"
    )
    assert len(rows) == 5
    assert summary == TailSummary(
        lines=6, foreign=0, calls_started=1, calls_ended=1, turns=1, warnings=2, turn_p50_ms=750, turn_p95_ms=750
    )


def test_one_call_can_be_picked_by_the_beginning_of_its_id() -> None:
    lines = [*logged(turn(), turn(call="ffff0000", turn=7), ServerWarning(warning="w")), "foreign"]
    text, summary = shown(lines, call="ffff")
    assert "turn 7" in text
    assert len(text.splitlines()) == 1
    assert (summary.lines, summary.turns, summary.foreign) == (4, 1, 1)


def test_foreign_lines_are_passed_on() -> None:
    text, summary = shown(["Traceback (most recent call last):\n", '  File "x.py"\n', "\n"])
    assert text == 'Traceback (most recent call last):\n  File "x.py"\n\n'
    assert summary.foreign == 3


def test_on_a_terminal_it_is_coloured_and_a_row_each() -> None:
    text = one(logged(turn(transcript="long " * 100)), terminal=True, width=80)
    assert "░" in text
    assert f"{ESCAPE}[1;32m" in text
    assert text.rstrip(f"{ESCAPE}[0m").endswith("…")
    assert f"{ESCAPE}[2mforeign" in shown(["foreign"], terminal=True)[0]


def test_piped_it_is_ascii_without_escapes_and_uncut() -> None:
    text, _ = shown([*logged(call_start(), turn(transcript="é" * 200)), "caf\xe9"], width=40)
    assert text.isascii()
    assert ESCAPE not in text
    assert len(text.splitlines()) == 3
    assert "\\xe9" * 200 in text


@pytest.mark.parametrize("terminal", [True, False])
def test_markup_is_text(terminal: bool) -> None:
    assert "[red]x[/red]" in shown(logged(turn(transcript="[red]x[/red]")), terminal=terminal)[0]
    assert "[blink]x" in shown(["[blink]x"], terminal=terminal)[0]


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_hostile_reaches_the_terminal(terminal: bool) -> None:
    evil = "x\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202e\ud800"
    text, _ = shown(
        [
            line(event, **dict.fromkeys(("call", "caller", "cause", "transcript", "warning", "ts"), evil))
            for event in EVENTS
        ]
        + [evil],
        terminal=terminal,
    )
    for bad in ("\x1b[2J", "\x1b]", "\x07", "\r", "\x9b", "\u202e", "\ud800", "owned"):
        assert bad not in text
    text.encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
field_names = st.sampled_from(
    sorted({name for event in EVENTS.values() for name in event.__dataclass_fields__} | {"ts", "level"})
)


@given(st.sampled_from([*EVENTS, "of.the.future"]), st.dictionaries(field_names, json_values))
def test_missing_and_wrong_fields_break_nothing(event: str, fields: dict[str, object]) -> None:
    for terminal in (True, False):
        text, summary = shown([json.dumps({"event": event, **fields})], terminal=terminal)
        assert summary.foreign == 0
        assert len(text.splitlines()) <= 1


def test_each_event_but_good_statistics_is_one_line() -> None:
    for event in EVENTS:
        assert len(shown([line(event)])[0].splitlines()) == (0 if event == "call.stats" else 1)

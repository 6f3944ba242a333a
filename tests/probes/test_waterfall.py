"""Bars for the stages of a turn."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from probes.trace import Stage
from probes.waterfall import PAINT, coloured_waterfall, render_waterfall, waterfall
from tests.probes.samples import turn

stages = st.dictionaries(st.sampled_from(list(Stage)), st.floats(0, 1e9))


def test_a_stage_is_as_long_as_its_share() -> None:
    assert waterfall({"end_of_turn": 500, "stt": 300, "synthesis": 200}, 10) == "░░░░░▓▓▓▞▞"
    assert waterfall({"end_of_turn": 500, "stt": 300, "synthesis": 200}, 10, ascii_only=True) == "EEEEESSSVV"


@pytest.mark.parametrize("stages_ms", [{}, {"stt": 0.0}, {"other": 5.0}, {"stt": math.nan}, {"stt": -1.0}])
def test_nothing_to_draw_is_blank(stages_ms: dict[str, float]) -> None:
    assert waterfall(stages_ms, 5) == "     "


@given(stages, st.integers(-1, 60))
def test_it_is_exactly_as_wide_as_asked(stages_ms: dict[Stage, float], width: int) -> None:
    for line in (waterfall(stages_ms, width), coloured_waterfall(stages_ms, width).plain):
        assert cell_len(line) == max(width, 0)
    assert waterfall(stages_ms, width, ascii_only=True).isascii()


def test_each_stage_looks_different_in_one_column() -> None:
    for marks in ({paint.glyph for paint in PAINT.values()}, {paint.letter for paint in PAINT.values()}):
        assert len(marks) == len(Stage)
        assert all(cell_len(mark) == 1 for mark in marks)


def printed(terminal: bool, **fields: object) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, color_system=None, width=100)
    console.print(render_waterfall(turn(**fields)))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_cascade_has_a_row_a_stage_and_the_total() -> None:
    rows = printed(terminal=True)
    assert len(rows) == len(Stage) + 1
    assert rows[0] == "end of turn         500 ms  " + "█" * 27
    assert rows[2] == "speech recognition  180 ms  " + " " * 27 + "█" * 10
    assert rows[-1].split() == ["total", "750", "ms"]


def test_the_cascade_shows_the_parts_of_the_synthesis() -> None:
    rows = printed(terminal=True, acoustic_ms=31.0, vocoder_ms=9.0)
    assert [row.split() for row in rows[6:8]] == [["acoustic", "model", "31", "ms"], ["vocoder", "9", "ms"]]


def test_the_cascade_is_ascii_when_piped() -> None:
    rows = printed(terminal=False, stt_ms=None, barge_in=True, barge_in_flush_ms=34.0, first_sentence_ms=0.1)
    assert "".join(rows).isascii()
    assert rows[2] == "speech recognition       -"
    assert rows[4].endswith("|")
    assert rows[-1].endswith("caller interrupted, silent after 34 ms")

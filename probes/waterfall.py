"""Draws where the latency of a turn went."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from probes.events import Turn
from probes.trace import Stage


@dataclass(frozen=True, slots=True)
class Paint:
    """How a stage is drawn: glyph where the terminal has block elements, letter elsewhere."""

    label: str
    words: str
    glyph: str
    letter: str
    colour: str


PAINT: Final[Mapping[Stage, Paint]] = {
    Stage.END_OF_TURN: Paint("eot", "end of turn", "░", "E", "bright_black"),
    Stage.NETWORK: Paint("net", "network", "▒", "N", "blue"),
    Stage.STT: Paint("stt", "speech recognition", "▓", "S", "cyan"),
    Stage.LLM_FIRST_TOKEN: Paint("llm", "language model", "█", "L", "magenta"),
    Stage.FIRST_SENTENCE: Paint("first", "first sentence", "▚", "F", "yellow"),
    Stage.SYNTHESIS: Paint("voice", "synthesis", "▞", "V", "green"),
    Stage.PLAYOUT: Paint("play", "playout", "▙", "P", "red"),
}

CASCADE_COLUMNS: Final = 40

StagesMs = Mapping[str, float] | Mapping[Stage, float]
"""Stage name -> ms."""


def waterfall(stages_ms: StagesMs, width: int, *, ascii_only: bool = False) -> str:
    """One line in which every stage is as long as its share of the total.

    Args:
        stages_ms: by stage name (:class:`~probes.trace.Stage`); others are ignored, missing ones are 0.
        width: columns; the result has exactly as many, blank when there is nothing to draw.
        ascii_only: letters instead of block elements.
    """
    columns = list(_spans(stages_ms, width))
    line = "".join(
        (PAINT[stage].letter if ascii_only else PAINT[stage].glyph) * (end - start) for stage, start, end in columns
    )
    return line.ljust(max(width, 0))


def coloured_waterfall(stages_ms: StagesMs, width: int) -> Text:
    """:func:`waterfall` in the stages' colours."""
    line = Text()
    for stage, start, end in _spans(stages_ms, width):
        line.append(PAINT[stage].glyph * (end - start), style=PAINT[stage].colour)
    line.pad_right(max(width, 0) - len(line))
    return line


def render_waterfall(turn: Turn) -> RenderableType:
    """A turn's stages one below the other, each beginning where the one before ends, with its time in ms."""
    return _Cascade(turn)


class _Cascade:
    """Chooses between block elements and ASCII when it is known where it is printed."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        ascii_only = options.ascii_only or not console.is_terminal
        stages_ms = {stage: _duration_ms(getattr(self._turn, f"{stage}_ms")) for stage in Stage}
        known_ms = {stage: duration_ms for stage, duration_ms in stages_ms.items() if duration_ms is not None}
        spans = {stage: (start, end) for stage, start, end in _spans(known_ms, CASCADE_COLUMNS)}
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True)
        for stage, duration_ms in stages_ms.items():
            table.add_row(PAINT[stage].words, _ms(duration_ms), _bar(stage, spans.get(stage), ascii_only))
            if stage is Stage.SYNTHESIS and self._turn.acoustic_ms is not None:
                table.add_row("  acoustic model", _ms(_duration_ms(self._turn.acoustic_ms)), "", style="dim")
                table.add_row("  vocoder", _ms(_duration_ms(self._turn.vocoder_ms)), "", style="dim")
        note = ""
        if self._turn.barge_in:
            flush_ms = _duration_ms(self._turn.barge_in_flush_ms)
            note = "caller interrupted" + ("" if flush_ms is None else f", silent after {_ms(flush_ms)}")
        table.add_row("total", _ms(_duration_ms(self._turn.total_ms)), note, style="bold")
        yield table


def _bar(stage: Stage, span: tuple[int, int] | None, ascii_only: bool) -> Text:
    if span is None:
        return Text("")
    start, end = span
    paint = PAINT[stage]
    if start == end:
        # Too short for a column, but it was there.
        return Text(" " * min(start, CASCADE_COLUMNS - 1) + ("|" if ascii_only else "▏"), style=paint.colour)
    return Text(" " * start + ("#" if ascii_only else "█") * (end - start), style=paint.colour)


def _spans(stages_ms: StagesMs, width: int) -> Iterator[tuple[Stage, int, int]]:
    """First and last-but-one column of each stage that took time; neighbours touch, the last ends at ``width``."""
    known_ms = {stage: duration for stage in Stage if (duration := _duration_ms(stages_ms.get(stage)))}
    total_ms = sum(known_ms.values())
    if width <= 0 or not 0.0 < total_ms < math.inf:
        return
    start, elapsed_ms = 0, 0.0
    for stage, duration_ms in known_ms.items():
        elapsed_ms += duration_ms
        end = min(round(width * (elapsed_ms / total_ms)), width)
        yield stage, start, end
        start = end


def _duration_ms(value: float | None) -> float | None:
    return value if value is not None and 0.0 <= value < math.inf else None


def _ms(duration_ms: float | None) -> str:
    return "-" if duration_ms is None else f"{duration_ms:.0f} ms"

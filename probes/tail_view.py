"""What ``voxtrunk tail`` shows of each event: one line, or nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.segment import Segments
from rich.text import Text

from probes.log_line import MAX_LINE_CHARS, LogLine, clean
from probes.mask import ELLIPSIS
from probes.quality import QualityWatch
from probes.trace import Stage
from probes.waterfall import PAINT, coloured_waterfall, waterfall

BAR_COLUMNS: Final = 24
MS_PER_COLUMN: Final = 50
"""The bar of a turn of 1.2 s fills its field; longer ones are squeezed into it and marked."""

GOOD_TOTAL_MS: Final = 800
SLOW_TOTAL_MS: Final = 1500
"""Up to the first a reply feels prompt; beyond the second callers begin to say "hello?"."""

_CALL_COLOURS: Final = ("cyan", "magenta", "blue", "bright_green", "bright_yellow", "bright_red")
_LEVEL_STYLES: Final = {"warning": "yellow", "error": "red", "critical": "bold red"}
_MAX_SHOWN: Final = 99_999_999


class TailView:
    """Prints lines on a console: with colour and block elements on a terminal, else in ASCII."""

    def __init__(self, console: Console) -> None:
        """
        Args:
            console: where to print.
        """
        self._console = console
        self._ascii_only = not console.is_terminal or console.options.ascii_only
        self._quality = QualityWatch()
        self._views: dict[str, Callable[[LogLine], Text | None]] = {
            "call.start": self._call_start,
            "call.stats": self._call_stats,
            "call.end": self._call_end,
            "turn": self._turn,
        }

    def show(self, line: LogLine) -> bool:
        """Print an event; False when there was nothing to say about it."""
        text = self._views.get(line.event, self._any)(line)
        if text is None:
            return False
        text.rstrip()
        self._print(text, one_row=self._console.is_terminal)
        return True

    def show_foreign(self, line: str) -> None:
        """Print a line that is not ours, dimmed."""
        self._print(Text().append(clean(line, MAX_LINE_CHARS), style="dim"), one_row=False)

    def _print(self, text: Text, *, one_row: bool) -> None:
        if one_row:
            text.truncate(self._console.width, overflow="crop" if self._ascii_only else "ellipsis")
        if self._ascii_only:
            plain = text.plain.replace(ELLIPSIS, "...").encode("ascii", "backslashreplace").decode("ascii")
            self._console.out(plain, highlight=False)
        else:
            # Segments skip rich's own wrapping, which would take more time than everything else together.
            row = Segments(text.render(self._console, end="\n"))
            self._console.print(row, soft_wrap=True, end="")

    def _call_start(self, line: LogLine) -> Text:
        text = self._begin(line, "call")
        text.append(f"{line.text('caller') or '?'} to {line.text('called') or '?'}", style="bold")
        flow, direction = line.text("flow"), line.text("direction")
        if flow and flow != line.text("called"):
            text.append(f" ({flow})")
        rate_hz = line.number("codec_rate_hz")
        encryption = line.text("media_encryption")
        details = [
            direction,
            line.text("codec") + (f"/{_count(rate_hz)}" if rate_hz is not None else ""),
            line.text("transport"),
            encryption if encryption != "none" else "",
            _unit(line.number("setup_ms"), "answered in {:.0f} ms"),
        ]
        return text.append("  " + " ".join(filter(None, details)))

    def _call_end(self, line: LogLine) -> Text:
        self._quality.forget(line.text("call"))
        text = self._begin(line, "end")
        text.append(line.text("cause") or "ended", style="bold")
        details = [
            _unit(line.number("duration_s"), "after {:.1f} s"),
            _unit(line.number("turns"), "{:.0f} turns"),
            _unit(line.number("turn_p50_ms"), "p50 {:.0f} ms"),
            _unit(line.number("turn_p95_ms"), "p95 {:.0f} ms"),
            _unit(line.number("frames_lost"), "{:.0f} lost"),
            _unit(line.number("underruns"), "{:.0f} underruns"),
            _unit(line.number("mos"), "MOS {:.1f}"),
        ]
        return text.append("  " + ", ".join(filter(None, details)))

    def _call_stats(self, line: LogLine) -> Text | None:
        complaint = self._quality.complaint(line)
        if complaint is None:
            return None
        text = self._begin(line, "audio")
        text.append(complaint, style="yellow")
        details = [
            _unit(line.number("jitter_ms"), "jitter {:.0f} ms"),
            _unit(line.number("chunk_p95_ms"), "chunk p95 {:.0f} ms"),
        ]
        return text.append("  " + ", ".join(filter(None, details)))

    def _turn(self, line: LogLine) -> Text:
        stages_ms = {stage: line.number(f"{stage}_ms") or 0.0 for stage in Stage}
        total_ms = line.number("total_ms")
        text = self._begin(line, f"turn {_count(line.number('turn'))}")
        text.append(f"{_count(total_ms):>5} ms ", style=_total_style(total_ms))
        drawn_ms = total_ms if total_ms is not None else sum(stages_ms.values())
        wanted = max(round(min(drawn_ms, _MAX_SHOWN) / MS_PER_COLUMN), 1)
        columns = min(wanted, BAR_COLUMNS)
        if self._ascii_only:
            text.append(waterfall(stages_ms, columns, ascii_only=True))
        else:
            text.append_text(coloured_waterfall(stages_ms, columns))
        text.append(("+" if wanted > BAR_COLUMNS else "").ljust(BAR_COLUMNS - columns + 1))
        if line.flag("barge_in"):
            flushed = _unit(line.number("barge_in_flush_ms"), " {:.0f} ms")
            text.append(f" barge-in{flushed}", style="bold yellow")
        for stage, duration_ms in stages_ms.items():
            if duration_ms >= 0.5:
                text.append(f" {PAINT[stage].label} {_count(duration_ms)}", style=PAINT[stage].colour)
        if transcript := line.text("transcript"):
            text.append(f'  "{transcript}"', style="italic")
        return text

    def _any(self, line: LogLine) -> Text:
        text = self._begin(line, line.event)
        return text.append(line.rest(), style=_LEVEL_STYLES.get(line.text("level"), ""))

    def _begin(self, line: LogLine, what: str) -> Text:
        call = line.text("call")
        text = Text(f"{line.time_of_day} ", style="")
        text.append(f"{call[:12]:<8} ", style=_CALL_COLOURS[zlib.crc32(call.encode()) % len(_CALL_COLOURS)])
        return text.append(f"{what:<8} ")


def _count(number: float | None) -> str:
    return "-" if number is None else f"{min(number, _MAX_SHOWN):.0f}"


def _unit(number: float | None, words: str) -> str:
    """``words`` with the number in it, or nothing."""
    return "" if number is None else words.format(min(number, _MAX_SHOWN))


def _total_style(total_ms: float | None) -> str:
    if total_ms is None or total_ms <= GOOD_TOTAL_MS:
        return "bold green" if total_ms is not None else "dim"
    return "bold yellow" if total_ms <= SLOW_TOTAL_MS else "bold red"

"""``voxtrunk tail``: the log from a file or from stdin, on this terminal."""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from probes.tail import TailSummary, follow, tail


def show(file: Path | None, call: str | None) -> None:
    """Show the log until it ends, or Ctrl-C, or nobody reads it; a file is followed as it grows.

    Args:
        file: log file; None reads stdin.
        call: only the call whose id begins with this.

    Raises:
        OSError: the file cannot be read.
    """
    console = Console()
    try:
        console.print(in_words(tail(_lines(file), console, call=call)), style="dim", highlight=False)
    except KeyboardInterrupt:
        return


def _lines(file: Path | None) -> Iterable[str]:
    if file is None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # a bad byte in the log is no reason to stop showing it
        return sys.stdin
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())  # Ctrl-C ends the file, so that the summary is shown
    return follow(file, stop=stop)


def in_words(summary: TailSummary) -> str:
    """What went by, in one line."""
    words = f"{summary.calls_started} calls, {summary.turns} turns, {summary.warnings} warnings"
    if summary.turn_p50_ms is not None:
        words += f", turn p50 {summary.turn_p50_ms:.0f} ms, p95 {summary.turn_p95_ms:.0f} ms"
    return words

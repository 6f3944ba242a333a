"""Bench results for people: a table on a terminal, Markdown for a document."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from voxtrunk.bench.calls import CallsBenchResult


def rows(result: CallsBenchResult) -> list[tuple[str, str]]:
    """Name and value of each line of the report."""
    lines = [
        (f"{result.unit} {name} (95 % interval)", f"{item.value:.1f} ms ({item.low:.1f}..{item.high:.1f})")
        for name, item in result.percentiles.items()
    ]
    lines.append((f"{result.unit} max", f"{result.maximum:.1f} ms"))
    lines.append((f"{result.unit}s measured", str(result.samples)))
    if result.unit == "turn":
        lines.append(("questions without an answer", str(result.missing_turns)))
        lines.append(("greeting after answer, worst", f"{_worst(result, 'greeting_ms'):.0f} ms"))
    else:
        lines.append(("frames lost", str(result.lost_frames)))
        lines.append(("gaps", str(result.gaps)))
        lines.append(("longest space between packets", f"{_worst(result, 'longest_space_ms'):.1f} ms"))
    lines.append(("INVITE to 200, worst", f"{_worst(result, 'setup_ms'):.0f} ms"))
    lines.append(("calls that ended early", str(sum(bool(call["ended_early"]) for call in result.calls))))
    lines.append(("caller's own worst lateness", f"{_worst(result, 'caller_worst_lateness_ms'):.1f} ms"))
    return lines


def _worst(result: CallsBenchResult, key: str) -> float:
    return max((float(call[key]) for call in result.calls), default=0.0)


def title(result: CallsBenchResult) -> str:
    """What was run, on what."""
    options, where = result.options, result.machine
    busy = ", GIL kept busy" if options["busy_gil"] else ""
    return (
        f"{options['calls']} calls of {options['flow']}, {options['codec']}{busy}; "
        f"{where['cpu']}, {where['cores']} cores, Python {where['python']}, load {where['load_1min']}"
    )


def markdown(result: CallsBenchResult) -> str:
    """A Markdown table with its title."""
    lines = [title(result), "", "| what | measured |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {name} | {value} |" for name, value in rows(result))]) + "\n"


def print_result(result: CallsBenchResult, *, as_json: bool = False, file: Any = None) -> None:
    """Print to a text stream, stdout by default.

    Args:
        result: of ``run_calls_bench``.
        as_json: one JSON document with the raw samples.
        file: text stream.
    """
    console = Console(file=file)
    if as_json:
        console.file.write(result.to_json() + "\n")
    elif console.is_terminal:
        table = Table(title=title(result))
        table.add_column("what")
        table.add_column("measured", justify="right")
        for name, value in rows(result):
            table.add_row(name, value)
        console.print(table)
    else:
        console.file.write(markdown(result))

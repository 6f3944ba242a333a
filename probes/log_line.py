"""Reads one line of the log back, whatever became of it on the way. Nothing in it is trusted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Final

MAX_FIELD_CHARS: Final = 400
MAX_LINE_CHARS: Final = 4000
"""What is shown of a line that is not ours."""

_MAX_OBJECT_STARTS: Final = 4
"""A prefix may hold braces of its own; more of them than this is no prefix."""

_ESCAPE_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
"""ECMA-48 control sequences (colours, cursor) and OSC strings (titles, links)."""


class LogLine:
    """The fields of an event. A field that is missing or of another type reads as absent."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        """
        Args:
            fields: an object of JSON.
        """
        self._fields = fields

    @property
    def event(self) -> str:
        """The event's name."""
        return self.text("event")

    @property
    def time_of_day(self) -> str:
        """``HH:MM:SS`` of ``ts``, UTC; dashes when it is not there."""
        match = re.match(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)", self.text("ts"), re.ASCII)
        return match.group(1) if match else "--:--:--"

    def number(self, name: str) -> float | None:
        """A finite number of at least 0, as every number of the log is; else None."""
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if 0.0 <= number < math.inf else None

    def flag(self, name: str) -> bool:
        """True only when it says so."""
        return self._fields.get(name) is True

    def text(self, name: str) -> str:
        """Text that is safe to show; empty when it is not there."""
        value = self._fields.get(name)
        return clean(value, MAX_FIELD_CHARS) if isinstance(value, str) else ""

    def rest(self) -> str:
        """All fields but time, level, name and call, as ``name=value``, for events that have no view of their own."""
        shown = {name: value for name, value in self._fields.items() if name not in ("ts", "level", "event", "call")}
        return clean(" ".join(f"{name}={_shown(value)}" for name, value in shown.items()), MAX_FIELD_CHARS)


def parse_line(line: str) -> LogLine | None:
    """The event in a line, or None when there is none.

    Finds it behind the prefix of journald, syslog or a container runtime, and inside the ``MESSAGE`` of
    ``journalctl -o json``.
    """
    fields = _find_object(line)
    if fields is not None and "event" not in fields and isinstance(message := fields.get("MESSAGE"), str):
        fields = _find_object(message)
    if fields is None or not isinstance(fields.get("event"), str):
        return None
    return LogLine(fields)


def clean(text: str, limit: int) -> str:
    """Text without escape sequences, control, direction and line-breaking characters, cut at ``limit``."""
    text = text[: 4 * limit]
    if not text.isprintable():
        text = _ESCAPE_SEQUENCE.sub("", text)
        text = "".join(character if character.isprintable() else " " for character in text).rstrip()
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _find_object(line: str) -> dict[str, object] | None:
    start = line.find("{")
    for _ in range(_MAX_OBJECT_STARTS):
        if start < 0:
            return None
        try:
            value = json.loads(line[start:])
        except (ValueError, RecursionError):
            start = line.find("{", start + 1)
        else:
            return value if isinstance(value, dict) else None
    return None


def _shown(value: object) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"

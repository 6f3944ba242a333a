"""Makes any field's value fit for one line of JSON."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Final

MAX_TEXT_CHARS: Final = 4000
"""At most 48,000 bytes when all of it is escaped: journald splits lines at 48 KiB (journald.conf, LineMax)."""

FLOAT_DIGITS: Final = 3
"""Microseconds, where the unit is ms."""

_LEADING: Final = ("ts", "level", "event")


def timestamp(at: datetime) -> str:
    """UTC, ISO 8601, in ms: ``2024-12-01T03:00:00.000Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain(value: object) -> object:
    """The value in JSON's own types. Never fails: the log must not be what breaks a call.

    Floats are rounded, NaN and infinity become null, text is cut at ``MAX_TEXT_CHARS``; of an unknown object
    only the type's name is left, because its ``repr`` may hold anything.
    """
    match value:
        case None | bool():
            return value
        case str():
            return value if len(value) <= MAX_TEXT_CHARS else _cut(value)
        case numbers.Integral():
            return int(value)
        case numbers.Real():
            number = float(value)
            return round(number, FLOAT_DIGITS) if math.isfinite(number) else None
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case PurePath():
            return str(value)
        case _:
            return f"<{type(value).__name__}>"


def plain_fields(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> dict[str, object]:
    """structlog processor: plain values, with time, level and event name first."""
    ordered = {name: fields.pop(name) for name in _LEADING if name in fields} | dict(fields)
    return {name: plain(value) for name, value in ordered.items()}


def _cut(text: str) -> str:
    """Both ends: a message begins with what failed, a traceback ends with it."""
    half = (MAX_TEXT_CHARS - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"

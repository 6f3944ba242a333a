"""What a configuration key takes, in words, read from its pydantic field."""

from __future__ import annotations

import types
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import SecretStr
from pydantic.fields import FieldInfo

_TYPE_NAMES: Final[dict[object, str]] = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    Path: "path of a file",
    SecretStr: "text",
    IPv4Network: "network such as 192.0.2.0/24",
    IPv6Network: "network such as 192.0.2.0/24",
}


def is_list(field: FieldInfo) -> bool:
    """Whether the key takes a list."""
    return get_origin(field.annotation) is tuple


def is_optional(field: FieldInfo) -> bool:
    """Whether the key may be left unset."""
    return type(None) in get_args(field.annotation)


def is_secret(field: FieldInfo) -> bool:
    """Whether the value must never be shown."""
    return field.annotation is SecretStr


def allowed_values(field: FieldInfo) -> str:
    """E.g. ``whole number 1..65534`` or ``list of opus, G722, not empty``."""
    annotation = field.annotation
    kind = f"list of {_words(get_args(annotation)[0])}" if is_list(field) else _words(annotation)
    return " ".join((kind, *_bounds(field)))


def _words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(arguments[0])
    if origin is Literal:
        return ", ".join(str(value) for value in arguments)
    if origin in (Union, types.UnionType):
        kinds = (_words(kind) for kind in arguments if kind is not type(None))
        return " or ".join(dict.fromkeys(kinds))
    return _TYPE_NAMES[annotation]


def _bounds(field: FieldInfo) -> list[str]:
    low: Any = ""
    high: Any = ""
    lengths: list[str] = []
    for limit in field.metadata:
        if isinstance(limit, annotated_types.Ge):
            low = limit.ge
        elif isinstance(limit, annotated_types.Le):
            high = limit.le
        elif isinstance(limit, annotated_types.MinLen):
            lengths.append("(not empty)" if limit.min_length == 1 else f"(at least {limit.min_length})")
        elif isinstance(limit, annotated_types.MaxLen):
            lengths.append(f"(at most {limit.max_length})")
    return ([f"{low}..{high}"] if (low, high) != ("", "") else []) + lengths

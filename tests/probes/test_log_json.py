"""Any value becomes JSON."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.log_json import MAX_TEXT_CHARS, plain, timestamp
from telephony.leg import EndCause


@pytest.mark.parametrize(
    ("value", "logged"),
    [
        (None, None),
        (True, True),
        (12.34567, 12.346),
        (math.nan, None),
        (math.inf, None),
        (np.float32(0.5), 0.5),
        (np.float64("nan"), None),
        (np.int64(7), 7),
        (EndCause.CALLER_HUNG_UP, "caller_hung_up"),
        (Path("a/b"), "a/b"),
        ((1, [2.00001, {"x": math.nan}]), [1, [2.0, {"x": None}]]),
        (object(), "<object>"),
    ],
)
def test_values(value: object, logged: object) -> None:
    assert plain(value) == logged
    json.dumps(plain(value), allow_nan=False)


def test_long_text_keeps_both_ends() -> None:
    text = str(plain("begin" + "x" * 10_000 + "end"))
    assert len(text) <= MAX_TEXT_CHARS
    assert text.startswith("begin")
    assert text.endswith("end")


@given(st.text())
def test_no_text_makes_more_than_one_line_or_leaves_ascii(text: str) -> None:
    line = json.dumps(plain(text))
    assert line.isascii()
    assert line.isprintable()


def test_time_is_utc_in_milliseconds() -> None:
    at = datetime(2024, 12, 1, 4, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=1)))
    assert timestamp(at) == "2024-12-01T03:00:00.123Z"
    assert timestamp(datetime(2024, 12, 1, tzinfo=UTC)) == "2024-12-01T00:00:00.000Z"

"""Errors in words, and exit codes."""

from __future__ import annotations

import pytest

from dialog.recogniser import RecogniserError
from synth.synthesizer import SynthesisError
from telephony.leg import TelephonyError
from voxtrunk.config import ConfigError
from voxtrunk.failures import exit_code, failure_event, first_error, for_stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (TelephonyError("x"), 1),
        (RecogniserError("x"), 1),
        (SynthesisError("x"), 1),
        (OSError("x"), 1),
        (ZeroDivisionError("x"), 1),
    ],
)
def test_exit_codes(error: Exception, code: int) -> None:
    assert exit_code(error) == code


def test_the_first_error_of_groups_in_groups() -> None:
    inner = TelephonyError("a")
    assert first_error(ExceptionGroup("g", [ExceptionGroup("h", [inner]), ValueError("b")])) is inner
    assert first_error(inner) is inner


def test_lines_for_stderr() -> None:
    assert for_stderr(ConfigError("one\ntwo")) == "voxtrunk: one\nvoxtrunk: two\n"
    assert for_stderr(ZeroDivisionError("division by zero")) == "voxtrunk: ZeroDivisionError: division by zero\n"


def test_the_event_masks_numbers_and_has_a_trace_only_for_defects() -> None:
    expected = failure_event(TelephonyError("cannot call sip:+15555550100@pbx.example"))
    assert expected.values() == {"error_type": "TelephonyError", "error": "cannot call sip:…0100@pbx.example"}
    try:
        raise ZeroDivisionError("division by zero")
    except ZeroDivisionError as error:
        defect = failure_event(error)
    assert defect.exception is not None and "test_failures.py" in defect.exception

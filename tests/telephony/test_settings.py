"""Contradictions in ``[sip]`` are refused with a sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from telephony.settings import SipSettings


def test_defaults_are_consistent_and_local() -> None:
    assert SipSettings().interface == "127.0.0.1"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"transports": ["tls"]}, "sip.tls_certificate must name a PEM file"),
        ({"tls_certificate": "/nowhere.pem"}, "no such file: /nowhere.pem"),
        ({"rtp_port_min": 20000, "rtp_port_max": 20010}, "8 calls need 17"),
        ({"codecs": ["PCMU", "PCMU"]}, "names a codec twice"),
        ({"codecs": ["AMR"]}, "Input should be 'opus', 'G722', 'PCMU' or 'PCMA'"),
        ({"max_call": 3}, "Extra inputs are not permitted"),
    ],
)
def test_bad_values_are_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SipSettings.model_validate(values)


def test_password_never_shows(tmp_path: Path) -> None:
    assert "hunter2" not in repr(SipSettings.model_validate({"password": "hunter2"}))

"""Bounds in words."""

from __future__ import annotations

import pytest

from voxtrunk.allowed_values import allowed_values, is_list, is_optional, is_secret
from voxtrunk.config import SECTIONS


@pytest.mark.parametrize(
    ("section", "key", "words"),
    [
        ("sip", "port", "whole number 1..65534"),
        ("sip", "tls_verify", "true or false"),
        ("sip", "tls_certificate", "path of a file"),
        ("sip", "busy_status", "486, 503"),
        ("sip", "expose_headers", "list of text (at most 12)"),
        ("sip", "max_new_calls_per_s", "number 0.1..1000"),
        ("flow", "greeting", "text (not empty)"),
        ("synth", "seed", "whole number 0.."),
        ("synth", "vocoder_cpus", "list of whole number"),
    ],
)
def test_in_words(section: str, key: str, words: str) -> None:
    assert allowed_values(SECTIONS[section][key]) == words


def test_every_key_can_be_described() -> None:
    for section, fields in SECTIONS.items():
        for key, field in fields.items():
            assert allowed_values(field), f"{section}.{key}"
            assert field.description, f"{section}.{key} has no description"


def test_kinds() -> None:
    sip = SECTIONS["sip"]
    assert is_list(sip["codecs"]) and not is_list(sip["port"])
    assert is_optional(sip["registrar"]) and not is_optional(sip["user"])
    assert is_secret(sip["password"]) and not is_secret(sip["user"])

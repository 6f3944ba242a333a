"""Nobody can be called or named from a log."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.mask import mask_number, mask_uri, scrub


@pytest.mark.parametrize(
    ("number", "masked"),
    [
        ("+15555550100", "…0100"),
        ("+1 (555) 555-0100", "…0100"),
        ("%2B15555550100", "…0100"),
        ("5550100", "…100"),
        ("101", "…1"),
        ("7", "…"),
        ("alice", "a…"),
        ("alice1985", "a…"),
        ("al", "…"),
        ("anonymous", "anonymous"),
        ("", ""),
    ],
)
def test_numbers_and_names(number: str, masked: str) -> None:
    assert mask_number(number) == masked


@pytest.mark.parametrize(
    ("uri", "masked"),
    [
        ("sip:+15555550100@pbx.example", "sip:…0100@pbx.example"),
        ('"Alice Doe" <sip:+15555550100:secret@pbx.example;user=phone>;tag=1', "sip:…0100@pbx.example"),
        ("SIPS:alice@pbx.example:5061;transport=tls", "sips:a…@pbx.example:5061"),
        ("tel:+1-555-555-0100;phone-context=example", "tel:…0100"),
        ("sip:+15555550100;npdi=yes@10.0.0.1", "sip:…0100@10.0.0.1"),
        ("sip:alice@+15555550100", "sip:a…@…0100"),
        ("sip:15555550100", "sip:…0100"),
        ("sip:192.168.100.200:5060", "sip:192.168.100.200:5060"),
        ("sip:200@[2001:db8::1]:5060", "sip:…0@[2001:db8::1]:5060"),
        ("sip:anonymous@anonymous.invalid", "sip:anonymous@anonymous.invalid"),
        ("+15555550100", "…0100"),
        ("", ""),
    ],
)
def test_addresses(uri: str, masked: str) -> None:
    assert mask_uri(uri) == masked
    assert mask_uri(masked) == masked


def test_free_text_keeps_its_sense() -> None:
    text = "transfer of sip:+15555550100@pbx.example to (555) 555-0100 failed: 503 at 192.168.100.200:20000-20999"
    assert scrub(text) == "transfer of sip:…0100@pbx.example to …0100 failed: 503 at 192.168.100.200:20000-20999"
    assert scrub("2024-12-01 03:00:00 took 1234 ms") == "2024-12-01 03:00:00 took 1234 ms"


def digits(text: str) -> list[str]:
    return re.findall(r"\d", text)


grouped_numbers = st.from_regex(r"\+?[1-9](?:[ .\-()]{0,2}[0-9]){6,14}", fullmatch=True)


@given(st.from_regex(r"\+?[0-9]([0-9 .\-()]{0,20}[0-9])?", fullmatch=True))
def test_never_more_than_half_of_a_number_nor_four_digits_are_left(number: str) -> None:
    kept = digits(mask_number(number))
    assert len(kept) <= min(4, len(digits(number)) // 2)
    assert "".join(digits(number)).endswith("".join(kept))


@given(grouped_numbers, st.sampled_from(["sip:{}@h.example", "<sip:{}@h.example;a=b>", "tel:{}", "{}", "{}@h.example"]))
def test_no_address_lets_a_number_through(number: str, form: str) -> None:
    assert len(digits(mask_uri(form.format(number.replace(" ", ""))))) <= 4


@given(st.text(st.characters(codec="utf-8")))
def test_masking_twice_is_masking_once(text: str) -> None:
    for mask in (mask_number, mask_uri, scrub):
        assert mask(mask(text)) == mask(text)


@given(st.text(max_size=30), st.integers(10**6, 10**15), st.text(max_size=30))
def test_no_long_run_of_digits_survives_in_free_text(before: str, number: int, after: str) -> None:
    assert re.search(r"\d{7}", scrub(f"{before}{number}{after}")) is None

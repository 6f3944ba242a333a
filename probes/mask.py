"""Hides who called: numbers, names and addresses, before they reach a log."""

from __future__ import annotations

import re
from typing import Final

ELLIPSIS: Final = "\N{HORIZONTAL ELLIPSIS}"

KEPT_DIGITS: Final = 4
"""Enough to find a call again in a carrier's records, too few to call somebody."""

_MASKED: Final = re.compile(rf"\w?{ELLIPSIS}\d{{0,{KEPT_DIGITS}}}")
_URI: Final = re.compile(r"\b(?:sips?|tel):[^\s<>\"',]+", re.IGNORECASE)
_PHONE_NUMBER: Final = re.compile(
    r"\+\d[\d\-(). ]{4,}\d"  # international, grouped in any way
    r"|\(?\d{3}\)?[\-. ]{1,2}\d{3}[\-. ]\d{4}"  # North American
    r"|(?:\d{2}[\-. ]){4}\d{2}"  # pairs, as in France
    r"|\d{7,}"
)


def mask_number(number: str) -> str:
    """A telephone number or user name of which only the end, or the first letter, is left.

    Keeps the last four digits of a number, fewer of a short one, never more than half; of a name the first
    letter. Masking twice changes nothing. ``anonymous`` is nobody's name and stays (RFC 3323 s4.1.1.3).

    >>> mask_number("+15555550100"), mask_number("101"), mask_number("alice")
    ('…0100', '…1', 'a…')
    """
    if not number or number == "anonymous" or _MASKED.fullmatch(number):
        return number
    digits = [character for character in number if character.isdecimal()]
    letters = sum(character.isalpha() for character in number)
    if digits and len(digits) >= letters:
        kept = min(KEPT_DIGITS, len(digits) // 2)
        return ELLIPSIS + "".join(digits[len(digits) - kept :])
    first = number[0] if len(number) > 2 and number[0].isalpha() else ""
    return first + ELLIPSIS


def mask_uri(uri: str) -> str:
    """A SIP or tel URI, or a From/To header's value, with its user masked (RFC 3261 s19.1, RFC 3966).

    The host stays: it is the trunk's or the PBX's. Display name, password and parameters go. Text without a
    scheme and without a host is masked as a user.

    >>> mask_uri('"Alice" <sip:+15555550100:secret@pbx.example;user=phone>')
    'sip:…0100@pbx.example'
    """
    bracketed = re.search(r"<([^>]*)", uri)
    scheme, user, host = _split(bracketed.group(1) if bracketed else uri.strip())
    if host:
        return f"{scheme}{mask_number(user)}@{_mask_phone_numbers(host)}"
    if scheme in ("sip:", "sips:") and re.search(r"[.:\[]", user):
        return scheme + _mask_phone_numbers(user)  # a host without a user
    return scheme + mask_number(user)


def scrub(text: str) -> str:
    """Free text, e.g. an exception's message, with the URIs and telephone numbers in it masked.

    Errs on the side of hiding: any run of seven digits or more counts as a number.
    """
    text = _URI.sub(lambda match: mask_uri(match.group()), text)
    return _mask_phone_numbers(text)


def _mask_phone_numbers(text: str) -> str:
    return _PHONE_NUMBER.sub(lambda match: mask_number(match.group()), text)


def _split(address: str) -> tuple[str, str, str]:
    """Scheme with its colon, user without password and parameters, host with port; each may be empty."""
    match = re.match(r"(sips?:|tel:)?([^@<>\s]*)(?:@([^@;?<>\s]*))?", address, re.IGNORECASE)
    scheme, user, host = match.groups() if match else ("", "", "")
    ends_user = r"[:;?]" if host else r"[;?]"
    return (scheme or "").lower(), re.split(ends_user, user, maxsplit=1)[0], host or ""

"""Writes a sentence so that the pronunciation rules read it as a person would."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(r"(?<![\w$£€.,:/-])\+?(?:\d[\d -]{3,}\d)(?![\w.,:/%-]*\d)(?!\s?%)")
_LONGEST_COUNTED: Final = 4
"""Up to four digits in a row are a number or a year; more, or groups of digits, are read one by one."""

_FINAL_STOP: Final = re.compile(r"(?:^|[\s\"'(])[^\W\d_]+\.$")


def spell_numbers(text: str) -> str:
    """Phone numbers and codes digit by digit, with a small pause between groups: "555-1234" -> "5 5 5, 1 2 3 4".

    Counted numbers, amounts, dates, times and years stay as they are.
    """
    return _NUMBER.sub(_spell, text)


def without_full_stop(sentence: str) -> tuple[str, str]:
    """The sentence and its full stop, apart where the last word is followed by one.

    "No." at the end of a sentence would be read as "number", "Sat." as "Saturday".
    """
    return (sentence[:-1], ".") if _FINAL_STOP.search(sentence) else (sentence, "")


def _spell(match: re.Match[str]) -> str:
    groups = re.findall(r"\d+", match.group())
    if len(groups) == 1 and len(groups[0]) <= _LONGEST_COUNTED:
        return match.group()
    if len(groups) == 3 and [len(group) for group in groups] == [4, 2, 2]:
        return match.group()
    return ", ".join(" ".join(group) for group in groups)

"""Cuts text into the pieces that are spoken one after another."""

from __future__ import annotations

import re
from typing import Final

_END: Final = re.compile(r"""[.!?…]+["'”’)\]]*\s+(?=\S)|\n+""")
_TITLES: Final = frozenset({"dr", "mr", "mrs", "ms", "prof", "st", "vs", "etc", "e.g", "i.e", "approx"})


def split_sentences(text: str) -> list[str]:
    """Sentences of ``text`` in order, stripped; pieces without a letter or digit are left out.

    A full stop after a title ("Dr. Smith"), an initial ("J. K.") or "No." with a number, or before a small
    letter, ends nothing.
    """
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match.group().startswith(".") and not _ends(text, match):
            continue
        pieces.append(text[start : match.end()])
        start = match.end()
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if speakable(piece)]


def speakable(text: str) -> bool:
    """Whether there is anything to say: at least one letter or digit."""
    return any(character.isalnum() for character in text)


def _ends(text: str, stop: re.Match[str]) -> bool:
    following = text[stop.end()]
    if following.islower():
        return False
    if stop.group().rstrip() != ".":
        return True
    words = text[: stop.start()].split()
    word = words[-1].lstrip("(\"“'‘") if words else ""
    if word == "No" and following.isdigit():
        return False
    return word.lower() not in _TITLES and not (len(word) == 1 and word.isupper() and word != "I")

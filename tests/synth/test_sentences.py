from __future__ import annotations

import pytest

from synth.sentences import speakable, split_sentences


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Hello there. How are you? Fine!", ["Hello there.", "How are you?", "Fine!"]),
        ("You said: yes.", ["You said: yes."]),
        ("Dr. Smith met J. K. Rowling. They talked.", ["Dr. Smith met J. K. Rowling.", "They talked."]),
        ("It costs 3.50 today. Is that e.g. too much?", ["It costs 3.50 today.", "Is that e.g. too much?"]),
        ('She said "no." Then she left.', ['She said "no."', "Then she left."]),
        ("So did I. You too?", ["So did I.", "You too?"]),
        ("First line\nsecond line", ["First line", "second line"]),
        ("Well... maybe. Or not", ["Well... maybe.", "Or not"]),
        ("No. No.", ["No.", "No."]),
        ("It is No. 5 of ten.", ["It is No. 5 of ten."]),
        ("?! ... -", []),
        ("", []),
        ("   \n ", []),
        ("no full stop", ["no full stop"]),
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    assert split_sentences(text) == pieces


def test_nothing_is_lost() -> None:
    text = "One two. Three, four? Five six seven! Eight."
    assert " ".join(split_sentences(text)) == text


def test_punctuation_cannot_be_spoken() -> None:
    assert not speakable("... ?!")
    assert speakable("7")
    assert speakable("é")

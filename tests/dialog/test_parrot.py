from __future__ import annotations

import pytest

from dialog.parrot import is_farewell


@pytest.mark.parametrize(
    "text", ["Goodbye.", "goodbye", "Bye!", "Bye-bye.", "bye bye", "Okay, thanks, bye.", "Good bye...", "Good-bye"]
)
def test_farewells(text: str) -> None:
    assert is_farewell(text)


@pytest.mark.parametrize(
    "text", ["Goodbye is a word.", "I will buy", "a rugby", "Bye for now we talk", "", "passerby", "hello"]
)
def test_other_words(text: str) -> None:
    assert not is_farewell(text)

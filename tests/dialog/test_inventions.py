from __future__ import annotations

import pytest

from dialog.inventions import is_invention


@pytest.mark.parametrize("text", ["Thank you.", "you", "Thanks for watching!", "Bye.", "I'm gonna go get the"])
def test_what_is_heard_in_noise_was_not_said(text: str) -> None:
    assert is_invention(text, 0.8, -0.4)


@pytest.mark.parametrize("text", ["Thank you.", "You", "bye!", "Thanks for watching."])
def test_known_inventions_need_a_clear_voice(text: str) -> None:
    assert is_invention(text, 0.5, -0.5)
    assert not is_invention(text, 0.1, -0.9)


def test_doubtful_words_in_doubtful_sound_were_not_said() -> None:
    assert is_invention("I like trains", 0.5, -1.8)
    assert not is_invention("I like trains", 0.5, -0.8)
    assert not is_invention("Yes.", 0.1, -1.8)


@pytest.mark.parametrize("text", ["", ".", "...", "?!"])
def test_punctuation_is_nothing(text: str) -> None:
    assert is_invention(text, 0.0, 0.0)

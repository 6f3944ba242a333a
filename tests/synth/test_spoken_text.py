from __future__ import annotations

import pytest

from synth.spoken_text import spell_numbers, without_full_stop


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("My number is 555-1234.", "My number is 5 5 5, 1 2 3 4."),
        ("Call 5551234 now", "Call 5 5 5 1 2 3 4 now"),
        ("It is 415-555-0199", "It is 4 1 5, 5 5 5, 0 1 9 9"),
        ("code 94103", "code 9 4 1 0 3"),
        ("in 2024", "in 2024"),
        ("on 2024-05-13", "on 2024-05-13"),
        ("at 12:30", "at 12:30"),
        ("$12500", "$12500"),
        ("12,500 people", "12,500 people"),
        ("3.14159", "3.14159"),
        ("five", "five"),
    ],
)
def test_numbers(written: str, spoken: str) -> None:
    assert spell_numbers(written) == spoken


@pytest.mark.parametrize("sentence", ["I said no.", "No.", "You said: yes or no.", "We meet on Sat.", "The sun."])
def test_a_final_full_stop_is_taken_off(sentence: str) -> None:
    assert without_full_stop(sentence) == (sentence[:-1], ".")


@pytest.mark.parametrize("sentence", ["At 5 p.m.", "Is it?", "Well...", "It costs 5.", "no stop", ""])
def test_other_ends_stay(sentence: str) -> None:
    assert without_full_stop(sentence) == (sentence, "")

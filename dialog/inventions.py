"""What Whisper says when nobody spoke."""

from __future__ import annotations

import re
from typing import Final

_NOISE_PROBABILITY: Final = 0.65
_DOUBT_PROBABILITY: Final = 0.4
_DOUBT_LOGPROB: Final = -1.4
"""No-speech probability of the embedded model over G.711: 200 recorded prompts reach 0.43, speech 10 dB above
noise 0.58; tones, silence and noises begin at 0.71."""

_PHRASES: Final = frozenset(
    {
        "you",
        "thank you",
        "thanks",
        "thanks for watching",
        "thank you for watching",
        "thank you very much",
        "please subscribe",
        "subscribe",
        "bye",
        "i'm sorry",
        "so",
        "oh",
        "the end",
        "silence",
        "music",
        "applause",
        "beep",
    }
)
"""Subtitles of silence in the training data."""


def is_invention(text: str, no_speech_probability: float, avg_logprob: float) -> bool:
    """Whether nobody said this: noise, or a phrase that the model is known to make up."""
    if no_speech_probability >= _NOISE_PROBABILITY:
        return True
    words = re.sub(r"[^\w' ]+", " ", text).split()
    if not any(character.isalnum() for character in text):
        return True
    doubtful = no_speech_probability >= _DOUBT_PROBABILITY
    return doubtful and (" ".join(words).lower() in _PHRASES or avg_logprob < _DOUBT_LOGPROB)

"""What a speech recogniser is to everyone else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from telephony.leg import Pcm


class RecogniserError(Exception):
    """Speech could not be recognised; the message says what to do about it."""


class RecogniserBusy(RecogniserError):
    """Too many utterances are waiting: this one was refused at once."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was heard.

    Attributes:
        text: the words; empty means that nobody said anything.
        no_speech_probability: in [0, 1], by the model.
        avg_logprob: mean log probability of a token; under -1 the text is a guess.
        stt_ms: time from the request to the result, waiting included.
    """

    text: str
    no_speech_probability: float
    avg_logprob: float
    stt_ms: float


class Recogniser(Protocol):
    """Turns an utterance into text. Shared by all calls; methods run on the event loop's thread."""

    async def transcribe(self, audio: Pcm) -> Transcript:
        """Recognise one utterance.

        Args:
            audio: float32, shape (n,), mono, 16 kHz, in [-1, 1]; up to 30 s.

        Raises:
            RecogniserBusy: overload; nothing was done.
            RecogniserError: the engine failed.

        Cancelling gives up the result; work that has not begun is not done.
        """

    async def warm_up(self) -> None:
        """Load the model and recognise once, so that the first caller does not wait.

        Raises:
            RecogniserError: the model cannot be loaded.
        """

    async def close(self) -> None:
        """Stop the engine's threads."""

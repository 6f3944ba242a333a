"""What the listener reports about the caller; all times are monotonic nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

from telephony.leg import Pcm


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak at ``started_ns``, which was noticed a little later."""

    started_ns: int


@dataclass(frozen=True, slots=True)
class BargeInSpeech:
    """The caller has said enough to interrupt; ``decided_ns`` is the capture time of the deciding frame."""

    decided_ns: int


@dataclass(frozen=True, slots=True)
class Pause:
    """The caller may have finished: time to start recognising, on trial.

    ``audio`` is float32 at 16 kHz, shape (n,), from the pre-roll to now.
    """

    audio: Pcm
    last_voiced_ns: int


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """The caller goes on after a :class:`Pause`; what was started then is worthless."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The caller has finished, or was cut (``cut``) because a monologue filled the buffer.

    ``audio`` is float32 at 16 kHz, shape (n,), from the pre-roll to now; ``speech_ms`` of it are voiced.
    """

    audio: Pcm
    started_ns: int
    last_voiced_ns: int
    ended_ns: int
    speech_ms: float
    cut: bool


ListenEvent = SpeechStarted | BargeInSpeech | Pause | SpeechResumed | TurnEnded

"""Every line of the log: one dataclass an event, one attribute a field. ``docs/log.md`` says what they mean.

Field names are an interface: add new ones, never change the meaning of an old one.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Self

from probes.mask import mask_uri, scrub

_UNLOGGED: Final = {"unlogged": True}
_ABSENT_IF_NONE: Final = {"absent_if_none": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have in common."""

    NAME: ClassVar[str]
    """The ``event`` field."""

    DROPPABLE: ClassVar[bool] = False
    """True when a line may be dropped early, because the next one of its kind says more."""

    @property
    def severity(self) -> int:
        """A level of :mod:`logging`."""
        return logging.INFO

    def values(self) -> dict[str, object]:
        """The fields as they are logged, in order."""
        return {
            item.name: value
            for item in fields(self)
            if "unlogged" not in item.metadata
            and ((value := getattr(self, item.name)) is not None or "absent_if_none" not in item.metadata)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReady(Event):
    """The first call can come."""

    NAME = "server.ready"
    version: str
    listen: Sequence[str]
    flows: Sequence[str]
    startup_ms: float
    rss_mb: float
    models: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDraining(Event):
    """No new calls are taken; the live ones may go on for a while."""

    NAME = "server.draining"
    live_calls: int
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStopped(Event):
    """The last line."""

    NAME = "server.stopped"
    calls_total: int
    uptime_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFailed(Event):
    """The server could not start or go on; the process ends. Numbers and addresses in the message are masked."""

    NAME = "server.failed"
    error_type: str
    error: str
    exception: str | None = field(default=None, metadata={"absent_if_none": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", scrub(self.error))

    @property
    def severity(self) -> int:
        return logging.CRITICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWarning(Event):
    """Something that the operator should know or change; the server goes on."""

    NAME = "server.warning"
    warning: str

    @property
    def severity(self) -> int:
        return logging.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefused(Event):
    """A call that was not answered. The caller is masked here, whatever is passed."""

    NAME = "call.refused"
    sip_call_id: str
    caller: str
    status: int
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "caller", mask_uri(self.caller))

    @property
    def severity(self) -> int:
        return logging.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStart(Event):
    """A call was answered. The caller is masked here, and the called party unless it is the flow's name."""

    NAME = "call.start"
    call: str
    sip_call_id: str
    direction: str
    flow: str
    caller: str
    called: str
    codec: str
    codec_rate_hz: int
    transport: str
    media_encryption: str
    setup_ms: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "caller", mask_uri(self.caller))
        if self.called != self.flow:
            object.__setattr__(self, "called", mask_uri(self.called))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Event):
    """The caller said something, and the flow has answered it. A stage that was not reached is None.

    ``acoustic_ms`` and ``vocoder_ms`` are the parts of ``synthesis_ms``; None where the speech was kept ready.
    """

    NAME = "turn"
    call: str
    turn: int
    end_of_turn_ms: float | None
    network_ms: float | None
    stt_ms: float | None
    llm_first_token_ms: float | None
    first_sentence_ms: float | None
    synthesis_ms: float | None
    acoustic_ms: float | None = None
    vocoder_ms: float | None = None
    playout_ms: float | None
    total_ms: float | None
    heard_chars: int
    said_chars: int
    heard_ms: float
    barge_in: bool
    barge_in_flush_ms: float | None = None
    transcript: str | None = field(default=None, metadata=_ABSENT_IF_NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStats(Event):
    """How the call's audio fares, all counters since its start."""

    NAME = "call.stats"
    DROPPABLE = True
    call: str
    elapsed_s: float
    frames_in: int
    frames_out: int
    frames_late: int
    frames_lost: int
    frames_dropped: int
    underruns: int
    jitter_ms: float
    jitter_buffer_ms: float
    round_trip_ms: float
    chunk_p50_ms: float | None
    chunk_p95_ms: float | None
    chunk_p99_ms: float | None
    mos: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd(Event):
    """The call is over; its totals."""

    NAME = "call.end"
    call: str
    cause: str
    duration_s: float
    turns: int
    frames_in: int
    frames_out: int
    frames_lost: int
    underruns: int
    mos: float | None
    turn_p50_ms: float | None
    turn_p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError(Event):
    """Something failed in one call. Numbers and addresses in the message are masked here."""

    NAME = "call.error"
    call: str
    stage: str
    error_type: str
    error: str
    fatal: bool
    exception: str | None = field(default=None, metadata=_ABSENT_IF_NONE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", scrub(self.error))
        if self.exception is not None:
            object.__setattr__(self, "exception", scrub(self.exception))

    @classmethod
    def from_exception(cls, call: str, stage: str, error: BaseException, *, fatal: bool) -> Self:
        """The event for an exception, with its traceback, which is written at level debug only.

        Args:
            call: the call's short id.
            stage: what was being done, e.g. ``stt``.
            error: a group that holds a single exception counts as that exception.
            fatal: True when the call ends because of it.
        """
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        return cls(
            call=call,
            stage=stage,
            error_type=type(error).__name__,
            error=str(error),
            fatal=fatal,
            exception="".join(traceback.format_exception(error)),
        )

    @property
    def severity(self) -> int:
        return logging.ERROR if self.fatal else logging.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDropped(Event):
    """Lines that the log's reader was too slow for, or that could not be written."""

    NAME = "log.dropped"
    lines: int
    by_event: Mapping[str, int]

    @property
    def severity(self) -> int:
        return logging.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMessage(Event):
    """A line of a library that uses :mod:`logging`. Numbers and addresses in it are masked here."""

    NAME = "log.message"
    DROPPABLE = True
    levelno: int = field(metadata=_UNLOGGED)
    logger: str
    message: str
    error_type: str | None = field(default=None, metadata=_ABSENT_IF_NONE)
    error: str | None = field(default=None, metadata=_ABSENT_IF_NONE)
    exception: str | None = field(default=None, metadata=_ABSENT_IF_NONE)

    def __post_init__(self) -> None:
        for name in ("message", "error", "exception"):
            text = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, scrub(text))

    @property
    def severity(self) -> int:
        """The standard level at or below the library's own."""
        return min(max(self.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)


EVENTS: Final[Mapping[str, type[Event]]] = {event.NAME: event for event in Event.__subclasses__()}
"""Event name -> its class."""

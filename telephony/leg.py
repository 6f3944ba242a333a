"""What a call is to everyone else: 20 ms frames in, PCM out, digits, transfer, hang up.

Two implementations share this contract: the SIP leg (:mod:`telephony.baresip_leg`) and the WAV leg
(:mod:`telephony.wav_leg`), so that every other part is tested without a network.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE_HZ: Final = 16_000
FRAME_MS: Final = 20
FRAME_SAMPLES: Final = SAMPLE_RATE_HZ * FRAME_MS // 1000

Pcm = NDArray[np.float32]


class TelephonyError(Exception):
    """Anything the phone side could not do; the message says what to do about it."""


class LegClosed(TelephonyError):
    """The call is over: nothing more can be read from it or written to it."""


class TransferFailed(TelephonyError):
    """The peer refused the transfer, or it did not complete; the call goes on."""


@dataclass(frozen=True, slots=True)
class Frame:
    """20 ms of the caller.

    Attributes:
        pcm: float32, shape (320,), mono, 16 kHz, in [-1, 1]. Read-only by contract.
        captured_ns: monotonic time in ns at which the frame was taken from the SIP stack.
    """

    pcm: Pcm
    captured_ns: int


class EndCause(StrEnum):
    """Why a leg ended; the values appear in the log as ``cause``."""

    CALLER_HUNG_UP = "caller_hung_up"
    WE_HUNG_UP = "we_hung_up"
    TRANSFERRED = "transferred"
    CANCELLED = "cancelled"
    MEDIA_TIMEOUT = "media_timeout"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LegInfo:
    """What is known of a call when it starts.

    Attributes:
        call_id: SIP Call-ID (RFC 3261 s8.1.1.4), or the file name of a WAV leg.
        inbound: True when the peer called us.
        remote_uri: the peer's address, in full. Mask it before it reaches a log.
        called_user: user part of the address that was called; picks the flow.
        codec: codec on the wire, e.g. ``PCMU``.
        codec_rate_hz: sample rate of the decoded audio at the stack.
        transport: ``udp``, ``tcp``, ``tls`` or ``file``.
        media_encryption: ``none`` or the negotiated kind, e.g. ``srtp``.
        setup_ms: from the INVITE to the acknowledged answer.
        headers: the INVITE's headers that the configuration asked for.
    """

    call_id: str
    inbound: bool
    remote_uri: str
    called_user: str
    codec: str
    codec_rate_hz: int
    transport: str
    media_encryption: str = "none"
    setup_ms: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LegStats:
    """Counters of one leg since its start; all times in ms.

    ``frames_late`` arrived after their time, ``frames_lost`` never arrived, ``frames_dropped`` were
    discarded because nobody took them, ``frames_filled`` are silence for a caller who sent nothing (DTX),
    ``underruns`` are gaps in the middle of our own speech,
    ``queued_ms`` is our audio that has not reached the wire yet.
    """

    frames_in: int = 0
    frames_out: int = 0
    frames_late: int = 0
    frames_lost: int = 0
    frames_dropped: int = 0
    frames_filled: int = 0
    underruns: int = 0
    jitter_ms: float = 0.0
    jitter_buffer_ms: float = 0.0
    round_trip_ms: float = 0.0
    queued_ms: float = 0.0


FrameSink = Callable[[Frame], None]
"""Takes a frame and returns at once."""


class Leg(ABC):
    """One call.

    Made by a :class:`~telephony.user_agent.UserAgent` or from a WAV file. All methods are called on the event
    loop's thread, :meth:`write` also from a tap. One reader of :meth:`frames` and one of :meth:`digits` at a time.
    """

    @property
    @abstractmethod
    def info(self) -> LegInfo:
        """What is known of the call."""

    @abstractmethod
    def frames(self) -> AsyncIterator[Frame]:
        """The caller's audio, a frame every 20 ms, until the leg ends.

        A reader that falls a second behind loses the oldest frames (counted in
        ``LegStats.frames_dropped``), never the newest: live audio stays live.
        """

    @abstractmethod
    def tap(self, sink: FrameSink) -> None:
        """Take every frame from now on the moment it is there, instead of :meth:`frames`, for live audio.

        Args:
            sink: called on the media thread, so that no stall of the event loop delays it; must return within a
                millisecond, may call :meth:`write`. An exception ends the call.
        """

    @abstractmethod
    def digits(self) -> AsyncIterator[str]:
        """DTMF keys as the caller presses them (``0-9 A-D * #``, RFC 4733), until the leg ends."""

    @abstractmethod
    def write(self, pcm: Pcm, *, max_ahead_ms: float | None = None) -> int:
        """Queue audio for the caller; never blocks.

        Args:
            pcm: float32, shape (n,), mono, 16 kHz, in [-1, 1]; any n.
            max_ahead_ms: for live audio: keep at most this much queued and drop the oldest beyond.
                None, for speech: queue all of it, up to the leg's bound of two minutes.

        Returns:
            Samples accepted. Fewer than ``len(pcm)`` only when the bound is reached.

        Raises:
            LegClosed: the call is over.
        """

    @abstractmethod
    def flush(self) -> int:
        """Drop what is queued (barge-in). Fades out within 10 ms, so that nobody hears a click.

        Returns:
            Samples that the caller will not hear.
        """

    @abstractmethod
    def queued_ms(self) -> float:
        """Audio accepted by :meth:`write` that has not left for the wire yet, in ms."""

    def until_wire_ms(self) -> float:
        """How long a sample written now takes to leave: what is queued before it, and the stack's own delay."""
        return self.queued_ms()

    @abstractmethod
    async def drained(self) -> None:
        """Wait until everything written has left for the wire, or was flushed, or the leg ended."""

    @abstractmethod
    async def send_digits(self, digits: str) -> None:
        """Press DTMF keys at the caller.

        Raises:
            ValueError: a character is not one of ``0-9 A-D * #``.
            LegClosed: the call is over.
        """

    @abstractmethod
    async def transfer(self, uri: str, *, consult: Leg | None = None) -> None:
        """Hand the caller over (REFER, RFC 3515); returns when the peer reports success.

        Args:
            uri: SIP URI to call. Ignored for an attended transfer.
            consult: an established second leg, for an attended transfer (Replaces, RFC 3891).

        Raises:
            TransferFailed: refused or not completed; the call goes on.
            LegClosed: the call is over.
        """

    @abstractmethod
    async def hangup(self) -> None:
        """End the call after nothing more; write and wait for :meth:`drained` first to be heard."""

    @property
    @abstractmethod
    def on_hold(self) -> bool:
        """True while the peer holds us: its frames pause and ours are not heard."""

    @property
    @abstractmethod
    def ended(self) -> asyncio.Future[EndCause]:
        """Done when the leg has ended, with the cause."""

    @abstractmethod
    def stats(self) -> LegStats:
        """Counters up to now; after the end, the final ones."""

"""Our own caller: places one call through the user agent, plays a recording, records what comes back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from probes.clock import Clock, MonotonicClock, ns_to_ms
from telephony.leg import FRAME_MS, EndCause, Frame, Leg, LegClosed, Pcm
from telephony.settings import SipSettings
from telephony.user_agent import Invitation, Refusal, UserAgent
from telephony.wav_leg import write_wav
from voxtrunk.recording import load_recording

VOICED_DBFS: Final = -45.0
"""A frame at or above this level is somebody speaking; a bot sends digital silence between its sentences."""

PAUSE_MS: Final = 700.0
"""Silence after which the other side has finished speaking."""

FIRST_WORD_TIMEOUT_MS: Final = 5000.0
"""A bot that does not greet is spoken to after this long."""


@dataclass(frozen=True, slots=True)
class CallPlan:
    """What to do in a call.

    Attributes:
        uri: whom to call.
        speech: what to play: float32, shape (n,), 16 kHz; empty to only listen.
        seconds: the call is ended this long after its answer.
        wait_s: start of the speech after the answer; None waits until the other side has spoken and paused.
        end_after_reply: hang up when the other side has replied to the speech and paused.
    """

    uri: str
    speech: Pcm
    seconds: float
    wait_s: float | None = None
    end_after_reply: bool = False


@dataclass(frozen=True, slots=True)
class CallReport:
    """How a call went.

    Attributes:
        heard: what came back: float32, shape (n,), 16 kHz, from the answer on.
        answered_ms: from dialling to the answer.
        first_word_ms: from the answer to the first voiced frame; None if there was none.
        reply_ms: from the end of our speech to the first voiced frame after it; None if there was none.
        codec: on the wire.
        transport: of the signalling.
        media_encryption: of the audio.
        cause: why the call ended.
        frames_lost: of the audio that we should have heard.
    """

    heard: Pcm
    answered_ms: float
    first_word_ms: float | None
    reply_ms: float | None
    codec: str
    transport: str
    media_encryption: str
    cause: EndCause
    frames_lost: int

    def in_words(self) -> str:
        """For a person, one fact a line."""
        heard_s = len(self.heard) / 16_000
        return "\n".join(
            [
                f"answered after {self.answered_ms:.0f} ms: {self.codec} over {self.transport}, "
                f"encryption {self.media_encryption}",
                f"first word after {_ms(self.first_word_ms)}, reply after {_ms(self.reply_ms)}",
                f"heard {heard_s:.1f} s, {self.frames_lost} frames lost, ended: {self.cause}",
            ]
        )


def _ms(value: float | None) -> str:
    return "none" if value is None else f"{value:.0f} ms"


class _Ear:
    """Keeps what is heard and knows when the other side speaks and pauses; time is counted in frames."""

    def __init__(self) -> None:
        self._frames: list[Pcm] = []
        self._voiced: list[bool] = []
        self._changed = asyncio.Condition()

    @property
    def now_ms(self) -> float:
        return float(FRAME_MS * len(self._frames))

    def heard(self) -> Pcm:
        return np.concatenate(self._frames) if self._frames else np.zeros(0, np.float32)

    async def take(self, frame: Frame) -> None:
        level_dbfs = 20 * np.log10(np.sqrt(np.mean(np.square(frame.pcm))) + 1e-9)
        self._frames.append(frame.pcm)
        self._voiced.append(bool(level_dbfs >= VOICED_DBFS))
        async with self._changed:
            self._changed.notify_all()

    def first_voiced_ms(self, since_ms: float = 0.0) -> float | None:
        start = int(since_ms // FRAME_MS)
        voiced = self._voiced[start:]
        return FRAME_MS * (start + voiced.index(True)) if any(voiced) else None

    def has_paused(self, since_ms: float) -> bool:
        first_ms = self.first_voiced_ms(since_ms)
        quiet = not any(self._voiced[-int(PAUSE_MS // FRAME_MS) :])
        return first_ms is not None and self.now_ms - first_ms > PAUSE_MS and quiet

    async def wait_for_pause(self, since_ms: float, first_word_timeout_ms: float) -> None:
        """Until something was said after ``since_ms`` and then PAUSE_MS of silence, or nothing was said at all."""

        def over() -> bool:
            silent = self.first_voiced_ms(since_ms) is None
            return self.has_paused(since_ms) or (silent and self.now_ms - since_ms >= first_word_timeout_ms)

        async with self._changed:
            await self._changed.wait_for(over)


async def place_call(agent: UserAgent, plan: CallPlan, *, clock: Clock | None = None) -> CallReport:
    """Dial, speak, listen, hang up.

    Args:
        agent: started.
        plan: what to do.
        clock: monotonic time.

    Raises:
        TelephonyError: nobody answered; the message says why.
    """
    clock = clock or MonotonicClock()
    dialled_ns = clock.now_ns()
    leg = await agent.dial(plan.uri)
    answered_ms = ns_to_ms(clock.now_ns() - dialled_ns)
    ear = _Ear()
    listening = asyncio.create_task(_listen(leg, ear))
    spoken_ms: float | None = None
    try:
        async with asyncio.timeout(plan.seconds):
            spoken_ms = await _speak(leg, ear, plan)
            if plan.end_after_reply and spoken_ms is not None:
                await ear.wait_for_pause(spoken_ms, plan.seconds * 1000)
            else:
                await asyncio.wait([leg.ended])
    except TimeoutError:
        pass  # the planned end of the call
    finally:
        if not leg.ended.done():
            await leg.hangup()
        await listening
    return CallReport(
        heard=ear.heard(),
        answered_ms=answered_ms,
        first_word_ms=ear.first_voiced_ms(),
        reply_ms=_reply_ms(ear, spoken_ms),
        codec=leg.info.codec,
        transport=leg.info.transport,
        media_encryption=leg.info.media_encryption,
        cause=await leg.ended,
        frames_lost=leg.stats().frames_lost,
    )


async def _listen(leg: Leg, ear: _Ear) -> None:
    async for frame in leg.frames():
        await ear.take(frame)


async def _speak(leg: Leg, ear: _Ear, plan: CallPlan) -> float | None:
    """Play the speech; returns when it ended in what was heard, in ms. None when there was nothing to play."""
    if not len(plan.speech):
        return None
    if plan.wait_s is not None:
        await asyncio.sleep(plan.wait_s)
    else:
        await ear.wait_for_pause(0.0, FIRST_WORD_TIMEOUT_MS)
    try:
        leg.write(plan.speech)
        await leg.drained()
    except LegClosed:
        return None
    return ear.now_ms


def _reply_ms(ear: _Ear, spoken_ms: float | None) -> float | None:
    if spoken_ms is None:
        return None
    first_ms = ear.first_voiced_ms(spoken_ms)
    return None if first_ms is None else first_ms - spoken_ms


def caller_settings(settings: SipSettings, port: int) -> SipSettings:
    """The settings of the bot, for a caller beside it: its own port, no registration of its own."""
    return settings.model_copy(
        update={
            "port": port,
            "domain": settings.domain or settings.registrar,
            "registrar": None,
            "allowed_sources": (),
        }
    )


async def call_from_here(settings: SipSettings, plan: CallPlan, record: Path | None) -> CallReport:
    """Place one call with a user agent of our own that takes no calls.

    Args:
        settings: of the caller.
        plan: what to do.
        record: WAV to write what was heard to.

    Raises:
        TelephonyError: the user agent could not start, or nobody answered.
        OSError: the recording cannot be written.
    """
    from telephony.baresip_agent import BaresipUserAgent

    agent = BaresipUserAgent(settings)
    await agent.start(_nobody_home, _ignore)
    try:
        report = await place_call(agent, plan)
    finally:
        await agent.close()
    if record is not None:
        write_wav(record, report.heard)
    return report


async def _nobody_home(leg: Leg) -> None:
    """A call to the caller: the agent hangs up when this returns."""


def _ignore(invitation: Invitation, refusal: Refusal) -> None:
    """Nobody asks what was refused."""


def speech_of(path: Path | None) -> Pcm:
    """The recording to play; empty for None.

    Raises:
        TelephonyError: not a readable recording.
    """
    return load_recording(path) if path is not None else np.zeros(0, np.float32)

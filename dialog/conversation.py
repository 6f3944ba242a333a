"""Runs a flow's hooks, one at a time, and is the call as the flow sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from dialog.call_meter import CallMeter
from dialog.flow import Flow
from dialog.idle_timer import IdleTimer
from dialog.inbox import CallerTurn, Digit, Happening, Inbox, Silence, TimeUp
from dialog.listen_events import TurnEnded
from dialog.recogniser import RecogniserError, Transcript
from dialog.services import Services
from dialog.settings import FlowSettings
from dialog.speaker import Said, Speaker
from dialog.turn_report import TurnReport
from probes.call_log import CallLog
from probes.events import CallError
from probes.trace import Mark, TurnTrace
from telephony.leg import Leg, LegInfo

MAX_STT_FAILURES: Final = 3
"""Failures of recognition in a row after which the call is given up: asking again for ever helps nobody."""


class FlowStuck(Exception):
    """A hook of the flow does not return while nobody speaks."""


class Conversation:
    """Everything that happens to the caller comes in here; the flow takes it in order.

    All methods run on the event loop's thread. Only :meth:`run` waits.
    """

    def __init__(
        self,
        leg: Leg,
        flow: type[Flow],
        services: Services,
        call_log: CallLog,
        call: str,
        meter: CallMeter,
    ) -> None:
        self._leg = leg
        self._services = services
        self._call_log = call_log
        self._call = call
        self._meter = meter
        self._speaker = Speaker(leg, services.synthesizer, services.clock)
        self._idle = IdleTimer(services.listen.silence_prompt_s, services.listen.silence_hangup_s)
        self._inbox = Inbox()
        self._report: TurnReport | None = None
        self._pending: set[asyncio.Task[Transcript]] = set()
        self._in_hook = False
        self._hook_interrupted = False
        self._caller_has_floor = False
        self._flush_ms: float | None = None
        self._stt_failures = 0
        self._turns = 0
        self._time_up_ns: int | None = None
        self.flow = flow(self)

    # What the flow sees.

    @property
    def info(self) -> LegInfo:
        return self._leg.info

    @property
    def leg(self) -> Leg:
        return self._leg

    @property
    def settings(self) -> FlowSettings:
        return self._services.flow

    async def say(self, text: str, *, interruptible: bool = True) -> Said:
        if interruptible and (self._hook_interrupted or self._caller_has_floor):
            return Said("", 0, 0, interrupted=True)
        trace = None
        if self._report is not None:
            trace = self._report.begin_reply(text)
        return await self._speaker.say(text, interruptible=interruptible, trace=trace)

    async def hangup(self) -> None:
        await self._leg.hangup()

    # What happens to the caller.

    @property
    def speaking(self) -> bool:
        """True while the bot speaks."""
        return self._speaker.speaking

    def barge_in(self, decided_ns: int) -> None:
        """The caller has said enough to interrupt."""
        self._caller_has_floor = True
        self._interrupt(decided_ns)

    def release_floor(self) -> None:
        """The caller has stopped speaking."""
        self._caller_has_floor = False

    def takes_turns_now(self) -> bool:
        """False while the bot speaks on: a sound too short to interrupt it was a "mhm", not a turn."""
        return not self._speaker.interruptible

    def turn_ended(self, turn: TurnEnded, transcript: asyncio.Task[Transcript]) -> None:
        """The caller has finished; the words come with ``transcript``."""
        self._turns += 1
        stats = self._leg.stats()
        trace = TurnTrace(self._turns, stats.round_trip_ms + stats.jitter_buffer_ms)
        trace.mark(Mark.SPEECH_STARTED, turn.started_ns)
        trace.mark(Mark.LAST_VOICED, turn.last_voiced_ns)
        trace.mark(Mark.TURN_ENDED, self._services.clock.now_ns())
        self._pending.add(transcript)
        transcript.add_done_callback(self._pending.discard)
        heard_ms = (turn.last_voiced_ns - turn.started_ns) / 1e6
        self._put(CallerTurn(self._turns, transcript, trace, heard_ms, self._flush_ms))
        self._flush_ms = None

    def press(self, digit: str) -> None:
        """The caller pressed a key."""
        self._idle.reset()
        self._interrupt(self._services.clock.now_ns())
        self._put(Digit(digit))

    def add_silence(self, elapsed_ms: float) -> None:
        """Nobody spoke for this long.

        Raises:
            FlowStuck: the flow is still busy with something when the call should be ended for silence.
        """
        count = self._idle.tick(elapsed_ms)
        if count is None:
            return
        if not self._in_hook:
            self._put(Silence(count))
        elif count > 1:
            raise FlowStuck("the flow has not answered during the caller's whole silence")

    def time_up(self) -> None:
        """The call has lasted too long; call again as long as it goes on.

        Raises:
            FlowStuck: the flow did not end the call in the time of a long silence.
        """
        now_ns = self._services.clock.now_ns()
        if self._time_up_ns is None:
            self._time_up_ns = now_ns
            self._put(TimeUp())
        elif now_ns - self._time_up_ns > self._services.listen.silence_hangup_s * 1e9:
            raise FlowStuck("the flow did not end a call that has reached flow.max_call_s")

    async def run(self) -> None:
        """Start the flow and serve it for ever; ends by being cancelled, or with the flow's exception."""
        await self._hook(self.flow.on_start())
        while True:
            match await self._inbox.get():
                case CallerTurn() as turn:
                    await self._answer(turn)
                case Digit(digit):
                    await self._hook(self.flow.on_dtmf(digit))
                case Silence(count):
                    await self._hook(self.flow.on_silence(count))
                    if count > 1:
                        await self._leg.hangup()
                case TimeUp():
                    await self._hook(self.flow.say_goodbye())
                    await self._leg.hangup()

    def close(self) -> None:
        """Give up recognition that nobody waits for any more."""
        for transcript in tuple(self._pending):
            transcript.cancel()

    def _put(self, item: Happening) -> None:
        self._inbox.put(item)
        self._meter.inbox_dropped = self._inbox.dropped

    def _interrupt(self, decided_ns: int) -> None:
        if self._speaker.speaking and not self._speaker.interruptible:
            return
        self._hook_interrupted = self._in_hook
        flush_ms = self._speaker.interrupt(decided_ns)
        if flush_ms is not None:
            self._flush_ms = flush_ms
            self._meter.barge_ins += 1

    async def _hook(self, hook: Coroutine[Any, Any, None]) -> None:
        self._in_hook = True
        self._hook_interrupted = False
        try:
            await hook
        finally:
            self._in_hook = False

    async def _answer(self, turn: CallerTurn) -> None:
        try:
            heard = await turn.transcript
        except RecogniserError as error:
            await self._not_understood(error)
            return
        self._stt_failures = 0
        if not heard.text:
            self._meter.unheard += 1
            return
        self._idle.reset()
        self._meter.turns += 1
        turn.trace.mark(Mark.TEXT_READY, self._services.clock.now_ns())
        self._report = TurnReport(self._call, turn, heard.text, with_transcript=self._services.log_transcripts)
        try:
            await self._hook(self.flow.on_turn(heard.text))
        finally:
            self._report.emit(self._call_log, self._meter)
            self._report = None

    async def _not_understood(self, error: RecogniserError) -> None:
        self._stt_failures += 1
        self._meter.stt_failures += 1
        if self._stt_failures >= MAX_STT_FAILURES:
            raise error
        self._call_log.emit(CallError.from_exception(self._call, "stt", error, fatal=False))
        await self._hook(self.flow.on_not_understood())

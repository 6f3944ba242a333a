"""One call: the caller's frames, keys and silences on one side, the flow on the other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Final

from dialog.call_meter import CallMeter
from dialog.conversation import Conversation
from dialog.ear import Ear
from dialog.flow import find_flow
from dialog.recogniser import RecogniserError
from dialog.services import Services
from probes.call_log import CallLog
from probes.events import CallError
from synth.synthesizer import SynthesisError
from telephony.leg import EndCause, Frame, Leg, LegClosed

HEARTBEAT_S: Final = 0.25
"""How often it is checked whether the call has lasted too long."""

_APOLOGY_LIMIT_S: Final = 15.0
"""The apology is a few seconds long; a peer that holds the call must not keep it open."""

_END_LIMIT_S: Final = 5.0
"""For a flow's ``on_end``: a call that is over must be forgotten at some time."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call went.

    Attributes:
        cause: why the leg ended.
        failed: True when an error ended the conversation (it was logged and the caller heard an apology).
        meter: counters and latencies, final.
    """

    cause: EndCause
    failed: bool
    meter: CallMeter


class _CallOver(Exception):
    """The leg ended; used to stop the call's tasks."""


async def run_call(
    leg: Leg,
    flow_name: str,
    *,
    services: Services,
    call_log: CallLog,
    call: str,
    meter: CallMeter | None = None,
) -> CallOutcome:
    """Hold one conversation, from the answered leg to its end.

    Args:
        leg: answered, with nobody reading its frames or digits.
        flow_name: a registered flow.
        services: warmed up.
        call_log: gets ``turn`` and ``call.error`` events of this call.
        call: the call's short id in the log.
        meter: filled while the call runs, for whoever reports on it; by default one of its own.

    Raises:
        UnknownFlow: there is no such flow. Nothing else: whatever goes wrong inside ends this call only.
    """
    session = _Session(leg, flow_name, services, call_log, call, meter or CallMeter())
    return await session.run()


class _Session:
    def __init__(
        self, leg: Leg, flow_name: str, services: Services, call_log: CallLog, call: str, meter: CallMeter
    ) -> None:
        self._leg = leg
        self._services = services
        self._call_log = call_log
        self._call = call
        self._meter = meter
        self._conversation = Conversation(leg, find_flow(flow_name), services, call_log, call, meter)
        listens = self._conversation.flow.listens
        self._ear = Ear(self._conversation, services, meter) if listens else None
        self._failure: Exception | None = None
        self._failed = asyncio.Event()
        self._started_ns = services.clock.now_ns()

    async def run(self) -> CallOutcome:
        try:
            async with asyncio.TaskGroup() as tasks:
                talk = tasks.create_task(self._guard(self._conversation.run()), name=f"{self._call} flow")
                tasks.create_task(self._guard(self._hear()), name=f"{self._call} hear")
                tasks.create_task(self._guard(self._press()), name=f"{self._call} digits")
                tasks.create_task(self._guard(self._heartbeat()), name=f"{self._call} heartbeat")
                tasks.create_task(self._apologise_on_failure(talk), name=f"{self._call} apology")
                tasks.create_task(self._until_ended(), name=f"{self._call} end")
        except* _CallOver:
            pass
        finally:
            if self._ear is not None:
                self._ear.close()
            self._conversation.close()
            await self._end_flow()
        return CallOutcome(self._leg.ended.result(), self._failure is not None, self._meter)

    async def _end_flow(self) -> None:
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                await self._conversation.flow.on_end()
        except Exception as error:  # a flow's clean-up must not take the server down: it is reported
            self._report(error, fatal=False)

    async def _until_ended(self) -> None:
        await asyncio.wait([self._leg.ended])
        raise _CallOver

    async def _guard(self, work: Coroutine[None, None, None]) -> None:
        """Run a task of the call; a failure ends the conversation, a closed leg only the task."""
        try:
            await work
        except LegClosed:
            pass
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Only the first failure of a call counts: what follows it is its consequence."""
        if self._failure is None:
            self._failure = error
            self._failed.set()

    async def _apologise_on_failure(self, talk: asyncio.Task[None]) -> None:
        """Meanwhile frames are still taken, and dropped: the call goes on until it is hung up."""
        await self._failed.wait()
        assert self._failure is not None
        talk.cancel()
        self._report(self._failure, fatal=True)
        await self._apologise()

    async def _hear(self) -> None:
        if self._ear is None:
            loop = asyncio.get_running_loop()
            self._leg.tap(lambda frame: self._pass_on(frame, loop))
        async for frame in self._leg.frames():
            if self._ear is None or self._failure is not None:
                continue
            try:
                self._ear.feed(frame)
            except Exception as error:
                self._fail(error)
            self._meter.chunk_ms.record_ms(self._age_ms(frame))

    def _pass_on(self, frame: Frame, loop: asyncio.AbstractEventLoop) -> None:
        """MEDIA THREAD. The frame of a flow that does not listen goes round the event loop."""
        if self._failure is not None:
            return
        try:
            self._conversation.flow.on_frame(frame)
        except LegClosed:
            return
        except Exception as error:  # reported by the loop, where the apology is spoken
            loop.call_soon_threadsafe(self._fail, error)
        self._meter.chunk_ms.record_ms(self._age_ms(frame) + self._leg.until_wire_ms())

    def _age_ms(self, frame: Frame) -> float:
        return max(self._services.clock.now_ns() - frame.captured_ns, 0) / 1e6

    async def _press(self) -> None:
        async for digit in self._leg.digits():
            self._conversation.press(digit)

    async def _heartbeat(self) -> None:
        limit_ns = int(self._services.flow.max_call_s * 1e9)
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            now_ns = self._services.clock.now_ns()
            if now_ns - self._started_ns > limit_ns:
                self._conversation.time_up()

    async def _apologise(self) -> None:
        leg = self._leg
        if leg.ended.done():
            return
        try:
            leg.flush()
            async with asyncio.timeout(_APOLOGY_LIMIT_S):
                leg.write(self._services.apology_pcm)
                await leg.drained()
        except (LegClosed, TimeoutError):
            pass  # the caller has left, or holds us: there is nobody to apologise to
        if not leg.ended.done():
            await leg.hangup()

    def _report(self, error: Exception, *, fatal: bool) -> None:
        self._call_log.emit(CallError.from_exception(self._call, stage_of(error), error, fatal=fatal))


def stage_of(error: Exception) -> str:
    """The part of the call that an error belongs to, for the log."""
    if isinstance(error, SynthesisError):
        return "synthesis"
    return "stt" if isinstance(error, RecogniserError) else "flow"

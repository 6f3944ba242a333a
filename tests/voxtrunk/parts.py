"""The parts of a server for tests: a user agent without a network, engines without models, a log in memory."""

from __future__ import annotations

import asyncio
import io
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dialog.services import Services
from probes.call_log import CallLog
from probes.events import Event
from telephony.leg import Leg, TelephonyError
from telephony.user_agent import CallHandler, Invitation, Refusal, RefusalHandler, Registration, UserAgent
from tests.dialog.engines import ScriptedRecogniser, ToneSynthesizer


class FakeAgent(UserAgent):
    """Takes the legs that a test hands it; dials those that it was prepared with."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.draining = asyncio.Event()
        self.closed = False
        self.start_error: Exception | None = None
        self.close_error: Exception | None = None
        self.to_dial: dict[str, Leg] = {}
        self._legs: list[Leg] = []
        self._calls: list[asyncio.Future[None]] = []
        self._on_call: CallHandler | None = None
        self._on_refused: RefusalHandler | None = None

    async def start(self, on_call: CallHandler, on_refused: RefusalHandler) -> None:
        if self.start_error is not None:
            raise self.start_error
        self._on_call, self._on_refused = on_call, on_refused
        self.started.set()

    def ring(self, leg: Leg) -> asyncio.Future[None]:
        """A call that has been answered; the future is its handler."""
        assert self._on_call is not None
        self._legs.append(leg)
        self._calls.append(asyncio.ensure_future(self._on_call(leg)))
        return self._calls[-1]

    def refuse(self, invitation: Invitation, refusal: Refusal) -> None:
        assert self._on_refused is not None
        self._on_refused(invitation, refusal)

    async def dial(self, uri: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0) -> Leg:
        if uri not in self.to_dial:
            raise TelephonyError(f"cannot call {uri}: 404 Not Found")
        return self.to_dial[uri]

    @property
    def listening(self) -> tuple[str, ...]:
        return ("udp:127.0.0.1:5060",)

    @property
    def registration(self) -> Registration:
        return Registration.OFF

    @property
    def live_calls(self) -> int:
        return sum(not leg.ended.done() for leg in self._legs)

    async def drain(self, limit_s: float) -> int:
        self.draining.set()
        alive = [leg.ended for leg in self._legs if not leg.ended.done()]
        if alive:
            await asyncio.wait(alive, timeout=limit_s)
        return self.live_calls

    async def close(self) -> None:
        self.closed = True
        for leg in self._legs:
            if not leg.ended.done():
                await leg.hangup()
        await asyncio.gather(*self._calls)
        if self.close_error is not None:
            raise self.close_error


class WatchedLog(CallLog):
    """A call log that tells when an event has been emitted."""

    def __init__(self, stream: io.StringIO) -> None:
        self._seen: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        super().__init__(stream)

    def emit(self, event: Event) -> None:
        super().emit(event)
        self._seen[event.NAME].set()

    async def wait_for(self, name: str) -> None:
        """Until an event of that name was emitted; at once if it was."""
        async with asyncio.timeout(10):
            await self._seen[name].wait()


class MemoryLog:
    """A call log and what is in it."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self.log = WatchedLog(self._text)

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """All events, or those of that name. Closes the log: nothing more is taken."""
        self.log.close()
        events = [json.loads(line) for line in self._text.getvalue().splitlines()]
        return [event for event in events if name in (None, event["event"])]

    def names(self) -> list[str]:
        return [event["event"] for event in self.events()]


def fake_services() -> Services:
    """Engines that answer at once."""
    return Services(ToneSynthesizer(), ScriptedRecogniser("hello"))

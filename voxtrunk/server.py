"""The server: starts the parts, answers calls, drains, stops."""

from __future__ import annotations

import asyncio
import gc
import secrets
from collections.abc import Coroutine
from typing import Any

from dialog.flow import FLOWS
from dialog.services import Services
from probes.call_log import CallLog
from probes.events import CallRefused, ServerDraining, ServerReady, ServerStopped, ServerWarning
from telephony.leg import Leg
from telephony.user_agent import Invitation, Refusal, UserAgent
from voxtrunk import __version__, process_info
from voxtrunk.config import Config
from voxtrunk.served_call import ServedCall


class Server:
    """One process's worth of bot: a user agent, the engines, and the calls between them."""

    def __init__(
        self,
        config: Config,
        agent: UserAgent,
        services: Services,
        call_log: CallLog,
    ) -> None:
        """
        Args:
            config: checked.
            agent: not started yet.
            services: not warmed up yet.
            call_log: gets the events of the server and of its calls.
        """
        self._config = config
        self._agent = agent
        self._services = services
        self._call_log = call_log
        self._started_ns = services.clock.now_ns()
        self._first_call_id = secrets.randbits(32)
        self._calls_total = 0
        self._ready = asyncio.Event()
        self._drain_wanted = asyncio.Event()
        self._stop_wanted = asyncio.Event()

    def request_stop(self) -> None:
        """Drain; asked a second time, stop at once."""
        if self._drain_wanted.is_set():
            self._stop_wanted.set()
        self._drain_wanted.set()

    async def run(self) -> None:
        """Serve until :meth:`request_stop`.

        Raises:
            TelephonyError: the user agent could not start (port in use, certificate, registration).
            SynthesisError: the voice cannot be loaded.
            RecogniserError: the speech recognition model cannot be loaded.
        """
        try:
            if await _first_of(self._start(), self._drain_wanted):
                _spare_the_models_from_garbage_collection()
                self._emit_ready()
                self._ready.set()
                await self._drain_wanted.wait()
                await self._drain()
        finally:
            await self._close()
        uptime_s = (self._services.clock.now_ns() - self._started_ns) / 1e9
        self._call_log.emit(ServerStopped(calls_total=self._calls_total, uptime_s=uptime_s))

    async def _start(self) -> None:
        # Side by side: registering may take seconds, and a port in use must not wait for the models to show.
        async with asyncio.TaskGroup() as group:
            group.create_task(self._agent.start(self._serve, self._refused), name="start user agent")
            for _ in range(2):
                await asyncio.sleep(0)  # a port in use shows in its first step: no need to load models for that
            group.create_task(self._services.warm_up(), name="load models")

    def _emit_ready(self) -> None:
        config = self._config
        self._call_log.emit(
            ServerReady(
                version=__version__,
                listen=list(self._agent.listening),
                flows=sorted(FLOWS),
                startup_ms=process_info.age_ms(),
                rss_mb=process_info.rss_mb(),
                models={
                    "voice": config.synth.voice,
                    "vocoder": f"{config.synth.vocoder} {config.synth.vocoder_precision}",
                    "stt": config.stt.model or "tiny.en",
                    "vad": "silero",
                },
            )
        )

    async def _drain(self) -> None:
        limit_s = self._config.sip.drain_limit_s
        self._call_log.emit(ServerDraining(live_calls=self._agent.live_calls, limit_s=limit_s))
        await _first_of(self._agent.drain(limit_s), self._stop_wanted)

    async def _close(self) -> None:
        """Close everything; what fails here is reported, and does not hide why we stop."""
        closing = (self._agent.close(), self._services.close())
        for error in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(error, Exception):
                self._call_log.emit(ServerWarning(warning=f"while stopping: {type(error).__name__}: {error}"))

    async def _serve(self, leg: Leg) -> None:
        self._calls_total += 1
        call = f"{(self._first_call_id + self._calls_total) % 2**32:08x}"
        await self._ready.wait()
        await ServedCall(
            leg,
            call,
            self._config.flow.default,
            self._services,
            self._call_log,
            stats_interval_s=self._config.log.stats_interval_s,
        ).run()

    def _refused(self, invitation: Invitation, refusal: Refusal) -> None:
        self._call_log.emit(
            CallRefused(
                sip_call_id=invitation.call_id,
                caller=invitation.remote_uri,
                status=refusal.status,
                reason=refusal.reason,
            )
        )


def _spare_the_models_from_garbage_collection() -> None:
    """What is loaded stays for the life of the process.

    A full collection looks through all of it and holds the interpreter lock meanwhile: 190 ms with the embedded
    models, in which no call would get audio. Without it, a collection takes microseconds.
    """
    gc.collect()
    gc.freeze()


async def _first_of(work: Coroutine[Any, Any, object], stop: asyncio.Event) -> bool:
    """Run ``work`` until it is done (True) or ``stop`` is set (False; the work is cancelled)."""
    task = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            return True
        return False
    finally:
        stopping.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))

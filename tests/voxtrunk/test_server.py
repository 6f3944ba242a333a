"""The server between its parts: start, calls, drain, stop; no network, no models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from dialog.flow import FLOWS, Flow
from dialog.recogniser import RecogniserError
from dialog.services import Services
from probes.settings import LogSettings
from telephony.leg import EndCause, Frame, TelephonyError
from telephony.settings import SipSettings
from telephony.user_agent import BUSY, Invitation
from telephony.wav_leg import WavLeg
from tests.voxtrunk.parts import FakeAgent, MemoryLog, fake_services
from voxtrunk.config import Config
from voxtrunk.server import Server

SECOND = 16_000


class Bot:
    """A server that is up."""

    def __init__(self, config: Config | None = None, services: Services | None = None) -> None:
        self.agent = FakeAgent()
        self.memory = MemoryLog()
        self.services = services or fake_services()
        self.server = Server(config or Config(), self.agent, self.services, self.memory.log)

    @asynccontextmanager
    async def running(self, *, until: str = "server.ready") -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.server.run())
        await self.agent.started.wait()
        if until:
            await self.memory.log.wait_for(until)
        yield task
        self.server.request_stop()
        await task


def speech(seconds: float) -> np.ndarray:
    return np.full(int(seconds * SECOND), 0.1, np.float32)


@pytest.fixture
def sick_flow() -> AsyncIterator[None]:
    class Sick(Flow):
        listens = False

        def on_frame(self, frame: Frame) -> None:
            raise ZeroDivisionError("the flow is sick")

    FLOWS["sick"] = Sick
    yield
    del FLOWS["sick"]


async def test_a_call_from_ready_to_stopped() -> None:
    bot = Bot()
    leg = WavLeg(speech(0.5), called_user="echo")
    async with bot.running():
        await bot.agent.ring(leg)
    names = bot.memory.names()
    assert names == ["server.ready", "call.start", "call.end", "server.draining", "server.stopped"]
    ready, start, end, _, stopped = bot.memory.events()
    assert ready["listen"] == ["udp:127.0.0.1:5060"] and {"echo", "parrot"} <= set(ready["flows"])
    assert ready["startup_ms"] > 0 and ready["rss_mb"] > 10
    assert (start["flow"], start["called"], start["direction"]) == ("echo", "echo", "inbound")
    assert len(start["call"]) == 8 and start["call"] == end["call"]
    assert (end["cause"], end["frames_in"]) == ("caller_hung_up", 25)
    assert stopped["calls_total"] == 1
    assert bot.agent.closed
    assert np.abs(leg.heard()).max() > 0.05


async def test_the_called_user_picks_the_flow_and_is_masked_when_it_is_none() -> None:
    bot = Bot()
    async with bot.running():
        for user in ("echo", "+15555550100"):
            leg = WavLeg(speech(0.1), called_user=user)
            await bot.agent.ring(leg)
    flows = [(event["flow"], event["called"]) for event in bot.memory.events("call.start")]
    assert flows == [("echo", "echo"), ("parrot", "…0100")]


async def test_call_ids_are_unique() -> None:
    bot = Bot()
    async with bot.running():
        await asyncio.gather(*(bot.agent.ring(WavLeg(speech(0.04), called_user="echo")) for _ in range(50)))
    assert len({event["call"] for event in bot.memory.events("call.start")}) == 50


async def test_a_sick_flow_ends_its_own_call_only(sick_flow: None) -> None:
    bot = Bot()
    well = WavLeg(speech(1.0), called_user="echo")
    sick = WavLeg(speech(30.0), called_user="sick")
    async with bot.running():
        await asyncio.gather(bot.agent.ring(well), bot.agent.ring(sick))
    (error,) = bot.memory.events("call.error")
    assert (error["error_type"], error["fatal"]) == ("ZeroDivisionError", True)
    causes = {event["call"]: event["cause"] for event in bot.memory.events("call.end")}
    assert causes.pop(error["call"]) == EndCause.WE_HUNG_UP
    assert list(causes.values()) == [EndCause.CALLER_HUNG_UP]
    assert well.stats().frames_in == 50


async def test_an_error_outside_the_flow_is_logged_and_stays_in_its_call() -> None:
    class BrokenLeg(WavLeg):
        def digits(self) -> AsyncIterator[str]:
            raise OSError("the leg is broken")

    bot = Bot()
    async with bot.running() as running:
        await bot.agent.ring(BrokenLeg(speech(0.2), called_user="echo"))
        assert not running.done()
    assert [event["fatal"] for event in bot.memory.events("call.error")] == [True]
    assert len(bot.memory.events("call.end")) == 1


async def test_statistics_come_while_the_call_lasts() -> None:
    log = LogSettings.model_construct(**{**LogSettings().model_dump(), "stats_interval_s": 0.02})
    bot = Bot(Config().model_copy(update={"log": log}))
    async with bot.running():
        leg = WavLeg(speech(0.3), called_user="echo", realtime=True)
        await bot.agent.ring(leg)
    stats = bot.memory.events("call.stats")
    assert len(stats) >= 2
    assert stats[-1]["frames_in"] > stats[0]["frames_in"]
    assert stats[-1]["chunk_p95_ms"] is not None and 1.0 <= stats[-1]["mos"] <= 4.5


async def test_a_refused_call_is_logged_masked() -> None:
    bot = Bot()
    async with bot.running():
        bot.agent.refuse(Invitation("id1@x", "sip:+15555550100@192.0.2.1", "echo", "192.0.2.1"), BUSY)
    (refused,) = bot.memory.events("call.refused")
    assert (refused["status"], refused["reason"], refused["sip_call_id"]) == (486, "Busy Here", "id1@x")
    assert "5555550100" not in str(refused)


async def test_draining_waits_for_live_calls() -> None:
    bot = Bot()
    leg = WavLeg(speech(0.4), called_user="echo", realtime=True)
    async with bot.running() as running:
        call = bot.agent.ring(leg)
        await bot.memory.log.wait_for("call.start")
        bot.server.request_stop()
        await bot.agent.draining.wait()
        assert not leg.ended.done() and not running.done()
        await call
        await running
    (draining,) = bot.memory.events("server.draining")
    assert (draining["live_calls"], draining["limit_s"]) == (1, 60.0)
    assert [event["cause"] for event in bot.memory.events("call.end")] == ["caller_hung_up"]


async def test_draining_ends_at_its_limit() -> None:
    bot = Bot(Config(sip=SipSettings(drain_limit_s=0.05)))
    async with bot.running() as running:
        call = bot.agent.ring(WavLeg(speech(60.0), called_user="echo", realtime=True))
        await bot.memory.log.wait_for("call.start")
        bot.server.request_stop()
        async with asyncio.timeout(5):
            await running
            await call
    assert [event["cause"] for event in bot.memory.events("call.end")] == ["we_hung_up"]


async def test_a_second_request_stops_at_once() -> None:
    bot = Bot()
    async with bot.running() as running:
        call = bot.agent.ring(WavLeg(speech(60.0), called_user="echo", realtime=True))
        await bot.memory.log.wait_for("call.start")
        bot.server.request_stop()
        await bot.agent.draining.wait()
        bot.server.request_stop()
        async with asyncio.timeout(5):
            await running
            await call
    assert bot.memory.names()[-1] == "server.stopped"


async def test_a_call_that_comes_before_the_models_are_loaded_waits_for_them() -> None:
    services = fake_services()
    loaded = asyncio.Event()

    class Slow(Services):
        async def warm_up(self) -> None:
            await loaded.wait()

    bot = Bot(services=Slow(services.synthesizer, services.recogniser))
    leg = WavLeg(speech(0.1), called_user="echo")
    async with bot.running(until=""):
        call = bot.agent.ring(leg)
        await asyncio.sleep(0.01)
        assert leg.stats().frames_in == 0
        loaded.set()
        await call
    assert leg.stats().frames_in == 5


async def test_a_start_that_fails_says_why_and_closes_what_was_opened() -> None:
    bot = Bot()
    bot.agent.start_error = TelephonyError("cannot listen on udp:127.0.0.1:5060: Address already in use")
    bot.agent.close_error = RuntimeError("it never ran")
    with pytest.raises(ExceptionGroup) as caught:
        await bot.server.run()
    assert caught.value.subgroup(TelephonyError) is not None
    assert bot.agent.closed
    (warning,) = bot.memory.events("server.warning")
    assert warning["warning"] == "while stopping: RuntimeError: it never ran"


async def test_a_model_that_does_not_load_stops_the_start() -> None:
    class Broken(Services):
        async def warm_up(self) -> None:
            raise RecogniserError("no such model")

    services = fake_services()
    bot = Bot(services=Broken(services.synthesizer, services.recogniser))
    with pytest.raises(ExceptionGroup) as caught:
        await bot.server.run()
    assert caught.value.subgroup(RecogniserError) is not None
    assert bot.agent.closed and bot.memory.names() == []


async def test_a_stop_during_the_start_is_obeyed() -> None:
    class Endless(Services):
        async def warm_up(self) -> None:
            await asyncio.Event().wait()

    services = fake_services()
    bot = Bot(services=Endless(services.synthesizer, services.recogniser))
    async with asyncio.timeout(5), bot.running(until=""):
        pass
    assert bot.memory.names() == ["server.stopped"]


async def test_the_flow_of_the_configuration_is_the_default() -> None:
    config = Config()
    bot = Bot(config.model_copy(update={"flow": config.flow.model_copy(update={"default": "echo"})}))
    async with bot.running():
        await bot.agent.ring(WavLeg(speech(0.1), called_user="7000"))
    assert [event["flow"] for event in bot.memory.events("call.start")] == ["echo"]

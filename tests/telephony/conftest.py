"""A running user agent, and raw peers that call it over loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field

import pytest

from telephony.baresip_agent import BaresipUserAgent
from telephony.leg import Leg
from telephony.settings import SipSettings
from telephony.user_agent import Invitation, Refusal
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.sdp import media_section, parse_sdp, session
from voxtrunk.bench.sip_dialog import Dialog
from voxtrunk.bench.sip_message import Header, SipMessage
from voxtrunk.bench.sip_peer import SipPeer


def free_port() -> int:
    """A port that is free for UDP and TCP, and the next one too (TLS listens there)."""
    while True:
        with ExitStack() as stack:
            try:
                port = 0
                for offset, kind in (
                    (0, socket.SOCK_DGRAM),
                    (0, socket.SOCK_STREAM),
                    (1, socket.SOCK_STREAM),
                ):
                    probe = stack.enter_context(socket.socket(socket.AF_INET, kind))
                    probe.bind(("127.0.0.1", port + offset))
                    port = port or probe.getsockname()[1]
                return port
            except OSError:
                continue


@dataclass
class Bot:
    """A user agent and what happened to it."""

    agent: BaresipUserAgent
    port: int
    legs: asyncio.Queue[Leg] = field(default_factory=asyncio.Queue)
    refused: asyncio.Queue[tuple[Invitation, Refusal]] = field(default_factory=asyncio.Queue)

    async def until_ended(self, leg: Leg) -> None:
        """The call handler: keeps the leg up until the peer or the test ends it."""
        self.legs.put_nowait(leg)
        await asyncio.wait([leg.ended])

    async def next_leg(self) -> Leg:
        async with asyncio.timeout(5):
            return await self.legs.get()


StartBot = Callable[..., Awaitable[Bot]]


@pytest.fixture
async def start_bot() -> AsyncIterator[StartBot]:
    """Starts user agents with the given ``[sip]`` values; closes them after the test."""
    async with AsyncExitStack() as stack:

        async def start(**values: object) -> Bot:
            port = free_port()
            settings = SipSettings.model_validate({"port": port, **values})
            bot = Bot(BaresipUserAgent(settings, flows=("echo", "parrot")), port)
            stack.push_async_callback(bot.agent.close)
            await bot.agent.start(bot.until_ended, lambda who, why: bot.refused.put_nowait((who, why)))
            return bot

        yield start


@dataclass
class Caller:
    """One call of a raw peer."""

    peer: SipPeer
    media: RtpPeer
    dialog: Dialog

    async def call(self, sdp: str | None = None, *, headers: tuple[Header, ...] = ()) -> SipMessage:
        """INVITE; on success media flows to where the answer says. Returns the final response."""
        offer = session([media_section(self.media.port)]) if sdp is None else sdp
        answer = await asyncio.to_thread(self.dialog.call, offer, headers=headers)
        if answer.status == 200:
            media = parse_sdp(answer.body)[0]
            self.media.connect((media.host, media.port))
        return answer

    async def hang_up(self) -> None:
        await asyncio.to_thread(self.dialog.bye)


NewCaller = Callable[..., Caller]


@pytest.fixture
def new_caller() -> Iterator[NewCaller]:
    """Makes raw callers toward a bot; frees their sockets after the test."""
    with ExitStack() as stack:

        def make(bot: Bot, user: str = "echo") -> Caller:
            peer = stack.enter_context(SipPeer(("127.0.0.1", bot.port)))
            return Caller(peer, stack.enter_context(RtpPeer()), peer.dialog(user))

        yield make

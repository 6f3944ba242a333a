"""One bot for most tests; tests that need another configuration start their own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.bots import Agent, Bot, make_certificate, serving, user_agent
from voxtrunk.bench.phone import Phone
from voxtrunk.bench.sdp import media_section, session
from voxtrunk.bench.sip_dialog import Dialog
from voxtrunk.bench.sip_peer import SipPeer


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PEM file with a certificate for 127.0.0.1 and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def bot(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Bot]:
    """The server, with UDP, TCP and TLS; whatever the tests did to it, it logged no error."""
    sip = {"transports": ["udp", "tcp", "tls"], "tls_certificate": str(certificate)}
    with serving(tmp_path_factory.mktemp("bot"), sip=sip) as bot:
        yield bot
    errors = [event for event in bot.process.events() if event.get("level") in ("error", "critical")]
    assert not errors, "\n".join(json.dumps(error) for error in errors)
    started = {event["call"] for event in bot.process.events("call.start")}
    assert started == {event["call"] for event in bot.process.events("call.end")}


@pytest.fixture(scope="session")
def agent() -> Iterator[Agent]:
    """A user agent that tells its digits and dials when told to."""
    with user_agent() as agent:
        yield agent


@pytest.fixture
def phone(bot: Bot) -> Iterator[Phone]:
    """A PCMU phone on UDP."""
    with Phone(bot.address) as phone:
        yield phone


@pytest.fixture
def new_phone(bot: Bot) -> Iterator[Callable[..., Phone]]:
    """Makes phones toward the bot; all hang up after the test."""
    with ExitStack() as stack:

        def make(**options: object) -> Phone:
            return stack.enter_context(Phone(bot.address, **options))  # type: ignore[arg-type]

        yield make


@pytest.fixture
def peer(bot: Bot) -> Iterator[SipPeer]:
    """SIP without media."""
    with SipPeer(bot.address) as peer:
        yield peer


class Unacknowledged:
    """An answered call whose ACK never comes, begun at the start of the session: it takes 32 s to end."""

    def __init__(self, peer: SipPeer, dialog: Dialog) -> None:
        self.peer = peer
        self.dialog = dialog
        self.began = time.monotonic()


@pytest.fixture(scope="session", autouse=True)
def unacknowledged(bot: Bot) -> Iterator[Unacknowledged]:
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog("echo")
        dialog.behaviour.ack = False
        assert dialog.call(session([media_section(9)])).status == 200
        yield Unacknowledged(peer, dialog)

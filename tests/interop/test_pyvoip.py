"""pyVoIP 1.6.8, a Python peer with G.711 and 8-bit audio, calls the bot and is called by it.

As it comes, its ACK has a To tag of its own making and so belongs to no dialog; a peer that keeps to RFC 3261
s13.2.2.4 gives up after 32 s (docs/interop.md). Here the tag is put right.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr

from tests.interop.audio import SPEECH, SPEECH_WORDS, words_of
from tests.interop.bots import HOST, Agent, Bot
from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.server_process import free_rtp_range, free_sip_port

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it imports audioop
    from pyVoIP.VoIP import CallState, VoIPCall, VoIPPhone

pytestmark = pytest.mark.filterwarnings("ignore")  # as errors, its own warnings break it
RATE_HZ = 8000


def start_phone(server_port: int, on_call: Callable[[VoIPCall], None] | None = None) -> VoIPPhone:
    """Without a registrar, as on an IP trunk; starts to read its socket a second later."""
    first, last = free_rtp_range(20)
    port = free_sip_port()
    phone = VoIPPhone(HOST, server_port, "pyvoip", "", HOST, on_call, port, first, last)
    sip: Any = phone.sip
    made = sip.gen_ack

    def gen_ack(response: Any) -> str:
        tag = response.headers["To"]["tag"]
        return re.sub(r"(?m)^(To: .*);tag=\w+", rf"\1;tag={tag}", str(made(response)))

    sip.gen_ack = gen_ack
    sip.register = lambda: True
    phone.start()
    return phone


@pytest.fixture
def phone(bot: Bot) -> Iterator[VoIPPhone]:
    phone = start_phone(bot.port)
    yield phone
    phone.stop()


def wait_state(call: VoIPCall, state: CallState, timeout_s: float = 6.0) -> None:
    deadline = time.monotonic() + timeout_s
    while call.state != state:
        assert time.monotonic() < deadline, f"the call is {call.state}, not {state}"
        time.sleep(0.02)


def unsigned_speech() -> bytes:
    """The recording as it wants it: 8 bit, unsigned."""
    pcm, rate_hz = soundfile.read(SPEECH, dtype="float32")
    codes = np.clip(soxr.resample(pcm, rate_hz, RATE_HZ), -1, 1) * 127 + 128
    return bytes(codes.astype(np.uint8))


def listen(call: VoIPCall, seconds: float) -> Samples:
    """Read at the pace of the call: its blocking read waits for ever while the line is silent."""
    parts = []
    due = time.monotonic()
    for _ in range(round(seconds * 50)):
        due += 0.02
        time.sleep(max(0.0, due - time.monotonic()))
        parts.append(call.read_audio(160, blocking=False))
    codes = np.frombuffer(b"".join(parts), np.uint8).astype(np.int16)
    return ((codes - 128) * 256).astype(np.int16)


def test_echo_of_speech(bot: Bot, phone: VoIPPhone) -> None:
    call = phone.call("echo")
    wait_state(call, CallState.ANSWERED)
    assert bot.start_of(call.call_id)["codec"] == "PCMU"
    call.write_audio(unsigned_speech())
    heard = listen(call, 3.5)
    assert SPEECH_WORDS in words_of(heard, RATE_HZ)
    call.hangup()
    assert bot.end_of(call.call_id)["cause"] == "caller_hung_up"


def test_the_greeting_is_heard(bot: Bot, phone: VoIPPhone) -> None:
    call = phone.call("parrot")
    wait_state(call, CallState.ANSWERED)
    assert "automated voice" in words_of(listen(call, 4.5), RATE_HZ)
    call.hangup()
    bot.end_of(call.call_id)


def test_the_bot_calls_it(agent: Agent) -> None:
    answered: list[VoIPCall] = []

    def answer(call: VoIPCall) -> None:
        call.answer()
        answered.append(call)
        while call.state == CallState.ANSWERED:
            time.sleep(0.05)

    phone = start_phone(agent.port, answer)
    try:
        time.sleep(1.1)
        mark = agent.process.mark
        agent.command(dial=f"sip:pyvoip@{HOST}:{phone.sip.myPort}")
        call_id = agent.process.wait_for_event("call", 8.0, since=mark)["sip_call_id"]
        wait_state(answered[0], CallState.ANSWERED)
        answered[0].write_audio(unsigned_speech())
        assert SPEECH_WORDS in words_of(listen(answered[0], 3.5), RATE_HZ)
        answered[0].hangup()
        assert agent.event("end", sip_call_id=call_id)["cause"] == "caller_hung_up"
    finally:
        phone.stop()

"""Whole calls of our own caller: every codec and transport, who hears whom, what is said, how calls end."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.interop.audio import (
    SPEECH_WORDS,
    assert_echo,
    heard_since,
    speech_for,
    strength_db,
    tone,
    words_of,
)
from tests.interop.bots import Agent, Bot, serving
from voxtrunk.bench import dtmf
from voxtrunk.bench.calls import CallsBenchOptions, run_calls_bench
from voxtrunk.bench.phone import CallRefused, Phone, live_audio
from voxtrunk.bench.rtp_sender import SendOptions
from voxtrunk.bench.voice_activity import packet_levels_dbfs, wait_quiet, wait_voice

NewPhone = Callable[..., Phone]


@pytest.mark.parametrize("codec", ["PCMU", "PCMA", "G722", "opus"])
def test_each_codec_carries_audio_both_ways(bot: Bot, new_phone: NewPhone, codec: str) -> None:
    phone = new_phone(codec=codec)
    answer = phone.dial("echo")
    assert phone.media.codec.rtpmap.lower() in [name.lower() for name in answer.rtpmaps.values()]
    report = assert_echo(phone, 1.0)
    assert np.median([frame.delay_ms for frame in report.frames]) < 150
    assert phone.hang_up().status == 200
    assert phone.dialog is not None
    assert bot.start_of(phone.dialog.call_id)["codec"].lower() == codec.lower()
    assert bot.end_of(phone.dialog.call_id)["cause"] == "caller_hung_up"


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_stream_transports(bot: Bot, certificate: Path, transport: str) -> None:
    context = ssl.create_default_context(cafile=str(certificate))
    target = bot.tls_address if transport == "tls" else bot.address
    with Phone(target, transport=transport, tls=context) as phone:
        phone.dial("echo")
        assert_echo(phone)
        assert phone.hang_up().status == 200
        assert phone.dialog is not None
        assert bot.start_of(phone.dialog.call_id)["transport"] == transport


def test_answer_comes_at_once_and_no_reinvite_follows(phone: Phone) -> None:
    phone.dial("echo")
    dialog = phone.dialog
    assert dialog is not None and dialog.answer is not None
    assert (dialog.answer.received_ns - dialog.invite_sent_ns) / 1e6 < 300
    time.sleep(0.4)  # the stack would send it 100 ms after the answer
    assert dialog.bot_requests("INVITE") == []


def test_the_parrot_greets_hears_and_says_it_back(bot: Bot, phone: Phone) -> None:
    phone.dial("parrot")
    began_ns = time.monotonic_ns()
    first_ns = wait_voice(phone, 0, 3.0)
    assert (first_ns - began_ns) / 1e6 < 1000
    wait_quiet(phone, 700, 15.0)
    greeting = words_of(heard_since(phone, 0).pcm, 8000)
    assert greeting.startswith(("hi", "hello", "hey"))  # the first syllable is not cut
    assert "automated voice" in greeting
    since = phone.media.receiver.count
    phone.media.sender.play(speech_for(phone))
    phone.media.sender.wait_played(10.0)
    wait_voice(phone, time.monotonic_ns() - 500_000_000, 5.0)
    wait_quiet(phone, 700, 10.0)
    assert SPEECH_WORDS in words_of(heard_since(phone, since).pcm, 8000)
    assert phone.dialog is not None
    start = bot.start_of(phone.dialog.call_id)
    turn = bot.process.wait_for_event("turn", 5.0, call=start["call"])
    assert turn["heard_chars"] > 0
    assert phone.dialog.call_id and "15555550100" not in str(bot.process.events())


def test_first_words_right_after_the_answer_are_not_lost(phone: Phone) -> None:
    """The very first packet that we send after the 200 already carries speech."""
    phone.dial("parrot", send=False)
    assert phone.dialog is not None and phone.dialog.answer is not None
    speech = speech_for(phone)
    audio = live_audio(phone.dialog.answer)
    first_sound = int(np.flatnonzero(np.abs(speech) > 500)[0])
    sender = phone.media.connect((audio.host, audio.port))
    sender.play(speech[first_sound // 160 * 160 :])
    sender.wait_played(10.0)
    since = phone.media.receiver.count
    wait_quiet(phone, 1500, 15.0)
    assert SPEECH_WORDS in words_of(heard_since(phone, since).pcm, 8000)


def test_keys_end_the_call_politely(bot: Bot, phone: Phone) -> None:
    phone.dial("echo")
    phone.media.sender.send_event(dtmf.press("#"), 101)
    assert phone.dialog is not None
    phone.dialog.wait_request("BYE", 10.0)
    assert "bye" in words_of(heard_since(phone, 0).pcm, 8000)
    assert bot.end_of(phone.dialog.call_id)["cause"] == "we_hung_up"


def test_eight_callers_hear_only_themselves(new_phone: NewPhone) -> None:
    frequencies = [440.0 + 170.0 * n for n in range(8)]
    phones = [new_phone(options=SendOptions(start_delay_ms=2.5 * n)) for n in range(8)]
    for phone in phones:
        phone.dial("echo")
    for phone, frequency in zip(phones, frequencies, strict=True):
        phone.media.sender.play(tone(frequency, 1.5))
    for phone in phones:
        phone.media.sender.wait_played(5.0)
    time.sleep(0.3)
    for phone, frequency in zip(phones, frequencies, strict=True):
        heard = heard_since(phone, 0)
        assert heard.missing == 0
        loud = np.flatnonzero(np.abs(heard.pcm) > 3000)
        voice = heard.pcm[loud[0] : loud[-1]]
        pieces = [voice[n : n + 800] for n in range(0, len(voice) - 800, 800)]
        levels = {other: float(np.median([strength_db(piece, other) for piece in pieces])) for other in frequencies}
        assert levels[frequency] == pytest.approx(-12.0, abs=1.5)
        assert all(level < -40 for other, level in levels.items() if other != frequency), levels


async def test_eight_calls_at_once_lose_nothing_to_speak_of(bot: Bot) -> None:
    options = CallsBenchOptions(calls=8, seconds=4, warm_up_s=1, target=f"{bot.address[0]}:{bot.port}")
    # The best of three: live audio is never queued, so other work on the machine can make either side lose some.
    allowed = 0.005 * 8 * 4 * 50
    result = await run_calls_bench(options)
    for _ in range(2):
        if result.lost_frames > allowed:
            result = await run_calls_bench(options)
    assert result.lost_frames <= allowed
    assert [call["rtp_missing"] for call in result.calls] == [0] * 8
    assert result.samples >= 8 * 4 * 50 * 0.98
    assert not any(call["ended_early"] for call in result.calls)


def test_both_sides_may_hang_up_at_once(agent: Agent) -> None:
    with Phone(agent.address) as phone:
        phone.dial("echo")
        assert phone.dialog is not None
        agent.event("call", sip_call_id=phone.dialog.call_id)
        agent.command(hangup=True)
        phone.dialog.request("BYE")
        agent.event("end", sip_call_id=phone.dialog.call_id)


def test_the_bot_hangs_up_first(agent: Agent) -> None:
    with Phone(agent.address) as phone:
        phone.dial("echo")
        assert phone.dialog is not None
        agent.event("call", sip_call_id=phone.dialog.call_id)
        agent.command(hangup=True)
        bye = phone.dialog.wait_request("BYE")
        assert bye.uri == phone.sip.contact_uri
        assert agent.event("end", sip_call_id=phone.dialog.call_id)["cause"] == "we_hung_up"


def test_one_call_too_many_is_busy_and_sigterm_drains(tmp_path: Path) -> None:
    with serving(tmp_path, calls=1, sip={"drain_limit_s": 5}) as bot, Phone(bot.address) as phone:
        phone.dial("echo")
        with Phone(bot.address) as second, pytest.raises(CallRefused, match="486 Busy Here"):
            second.dial("echo")
        bot.process.wait_for_event("call.refused", 2.0, status=486)
        bot.process.terminate()
        bot.process.wait_for_event("server.draining", 2.0, live_calls=1)
        with Phone(bot.address) as late, pytest.raises(CallRefused, match="503"):
            late.dial("echo")
        assert_echo(phone)  # the live call goes on
        phone.hang_up()
        assert bot.process.wait(5.0) == 0


def test_a_drain_has_a_limit(tmp_path: Path) -> None:
    with serving(tmp_path, calls=1, sip={"drain_limit_s": 0.5}) as bot, Phone(bot.address) as phone:
        phone.dial("echo")
        bot.process.terminate()
        assert phone.dialog is not None
        phone.dialog.wait_request("BYE", 6.0)
        assert bot.process.wait(5.0) == 0
        assert bot.end_of(phone.dialog.call_id)["cause"] == "we_hung_up"


def test_barge_in_stops_the_greeting(phone: Phone) -> None:
    phone.dial("parrot")
    began_ns = wait_voice(phone, 0, 3.0)
    phone.media.sender.play(np.tile(speech_for(phone), 1))
    last_ns = wait_quiet(phone, 300, 8.0)
    assert (last_ns - began_ns) / 1e9 < 2.5  # whole, it takes over four seconds
    levels = packet_levels_dbfs(heard_since(phone, 0))
    assert levels.max() > -40

"""Odd RTP: packet sizes, moved sources, jumps, silence, wrap-around, pacing (cases C05, C41, C45, C48, C51, C52)."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from tests.interop.audio import assert_echo, echo_report, heard_since, strength_db, tone
from tests.interop.bots import Agent, Bot
from voxtrunk.bench.codecs import Pcmu
from voxtrunk.bench.g711 import encode_mu_law
from voxtrunk.bench.phone import Phone, live_audio
from voxtrunk.bench.rtp import RtpPacket
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.rtp_sender import SendOptions
from voxtrunk.bench.sdp import media_section, session
from voxtrunk.bench.voice_activity import wait_quiet, wait_voice

NewPhone = Callable[..., Phone]


# -- C05: packet sizes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["PCMU", "G722"])
@pytest.mark.parametrize("ptime_ms", [10, 30, 40, 60])
def test_c05_ptime(new_phone: NewPhone, ptime_ms: int, codec: str) -> None:
    phone = new_phone(codec=codec, options=SendOptions(ptime_ms=ptime_ms))
    phone.dial("echo", sdp=phone.offer(ptime_ms=ptime_ms, lines=[f"a=maxptime:{ptime_ms}"]))
    seconds = 1.2
    report = echo_report(phone, seconds)
    sizes = {len(item.packet.payload) for item in phone.media.receiver.packets()[5:]}
    heard_ms = len(report.frames) * min(sizes) / 8
    assert heard_ms >= 700 * seconds, report
    assert sizes == {8 * ptime_ms}  # we send what the peer asked for


def test_c05_a_maxptime_that_is_no_multiple(phone: Phone) -> None:
    phone.dial("echo", sdp=phone.offer(lines=["a=maxptime:150"]))
    assert_echo(phone, 0.4)


def test_c05_sizes_change_without_a_word(phone: Phone) -> None:
    phone.dial("echo")
    sender = phone.media.sender
    for ptime_ms in (10, 40, 30, 20):
        sender.ptime_ms = ptime_ms
        report = echo_report(phone, 0.6)
        assert len(report.frames) >= 15, f"{ptime_ms} ms: {report}"


def test_c05_a_packet_of_1024_octets(phone: Phone) -> None:
    phone.dial("echo", send=False)
    with RtpPeer(options=SendOptions(silence=False)) as media:
        assert phone.dialog is not None and phone.dialog.answer is not None
        audio = live_audio(phone.dialog.answer)
        sender = media.connect((audio.host, audio.port))
        pcm = tone(700, 1024 * 10 / 8000)
        for n in range(10):
            payload = encode_mu_law(pcm[1024 * n : 1024 * (n + 1)])
            sender.send_packet(RtpPacket(0, n, 1024 * n, 5, payload, marker=n == 0))
            time.sleep(0.128)
        time.sleep(0.3)
    heard = phone.media.heard(Pcmu()).pcm
    loud = np.flatnonzero(np.abs(heard) > 3000)
    voice = heard[loud[0] : loud[-1]]
    # The echo keeps 40 ms of what comes in pieces of 128 ms; what it keeps is our tone.
    assert max(strength_db(voice[n : n + 160], 700) for n in range(0, len(voice) - 160, 80)) > -15


# -- C41: symmetric RTP ------------------------------------------------------------------------------------------------


def test_c41_same_port_both_ways(phone: Phone) -> None:
    audio = phone.dial("echo")
    phone.media.receiver.wait_for(10, 3.0)
    assert {item.source for item in phone.media.receiver.packets()} == {(audio.host, audio.port)}


def test_c41_a_peer_that_only_listens_is_sent_to(new_phone: NewPhone) -> None:
    phone = new_phone()
    phone.dial("parrot", send=False)
    packets = phone.media.receiver.wait_for(50, 4.0)
    assert max(abs(Pcmu().decode(item.packet.payload)).max() for item in packets) > 1000


def test_c41_audio_goes_to_the_address_in_the_sdp_only(agent: Agent) -> None:
    """A caller behind NAT is heard, but does not hear: the stack does not follow his packets (docs/interop.md)."""
    with Phone(agent.address) as phone:
        sdp = session([media_section(phone.media.port)]).replace("c=IN IP4 127.0.0.1", "c=IN IP4 127.0.0.99")
        phone.dial("echo", sdp=sdp)
        time.sleep(0.5)
        phone.hang_up()
        assert phone.media.receiver.count == 0
        assert phone.dialog is not None
        assert agent.event("end", sip_call_id=phone.dialog.call_id)["frames_in"] >= 15


def test_c41_a_stray_packet_does_not_take_the_call_over(phone: Phone) -> None:
    audio = phone.dial("echo")
    assert_echo(phone, 0.3, share=0.4)
    with RtpPeer(host="127.0.0.7", options=SendOptions(ssrc=0xBAD)) as stranger:
        before = phone.media.receiver.count
        stranger.connect((audio.host, audio.port)).play(tone(3000, 0.4))
        stranger.sender.wait_played(3.0)
        stranger.sender.stop()
        assert stranger.receiver.count == 0, "the bot sent audio to a stranger"
        assert phone.media.receiver.count - before >= 15
    assert_echo(phone, 0.5, share=0.5)


# -- C45: jumps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "jump",
    [
        {"ssrc": 0x5151, "sequence": 12000, "timestamp": 77},
        {"ssrc": 0x5152, "sequence": 12000},
        {"sequence": 100},
        {"sequence": 40000},
        {"sequence": 100, "timestamp": 4_000_000_000},
    ],
    ids=["new-source", "new-ssrc-same-time", "sequence-back", "sequence-ahead", "both-back"],
)
def test_c45_audio_is_back_at_once_after_a_jump(new_phone: NewPhone, jump: dict[str, int]) -> None:
    phone = new_phone(options=SendOptions(ssrc=0x4141, sequence=21000, timestamp=1_000_000))
    phone.dial("echo")
    before = np.median([frame.delay_ms for frame in assert_echo(phone, 0.4, share=0.5).frames])
    phone.media.sender.renumber(**jump)
    report = assert_echo(phone, 1.0, share=0.7)
    after = np.median([frame.delay_ms for frame in report.frames[-10:]])
    assert report.frames[0].sent_sample / 8 <= 500
    assert after - before < 60, "the delay stays up after the jump"


@pytest.mark.parametrize("minutes", [30, -0.1])
def test_c45_timestamp_jump_alone_is_silence_not_loss(new_phone: NewPhone, minutes: float) -> None:
    phone = new_phone(options=SendOptions(timestamp=1_000_000))
    phone.dial("echo")
    assert_echo(phone, 0.4, share=0.5)
    phone.media.sender.renumber(timestamp=phone.media.sender.stream.timestamp + int(minutes * 60 * 8000))
    assert_echo(phone, 1.0, share=0.7)


# -- C48: silence ------------------------------------------------------------------------------------------------------


def test_c48_a_silent_caller_is_silence_not_nothing(agent: Agent) -> None:
    """No packets for two seconds while the timestamp goes on: the bot fills in frames, then hears us at once."""
    with Phone(agent.address, options=SendOptions(silence=False)) as phone:
        phone.dial("echo")
        assert_echo(phone, 0.5, share=0.5)
        sender = phone.media.sender
        sender.send_packet(RtpPacket(13, sender.stream.sequence, sender.stream.timestamp, sender.stream.ssrc, b"\x40"))
        sender.stream.sequence += 1
        time.sleep(2.0)
        report = assert_echo(phone, 0.6, share=0.6)
        assert report.frames[-1].delay_ms < 150
        phone.hang_up()
        assert phone.dialog is not None
        end = agent.event("end", sip_call_id=phone.dialog.call_id)
        assert end["filled"] * 20 >= 1500


def test_c48_comfort_noise_is_not_decoded_as_audio(phone: Phone) -> None:
    phone.dial("echo")
    assert_echo(phone, 0.3, share=0.4)
    sender = phone.media.sender
    sender.pause()
    time.sleep(0.2)
    since = phone.media.receiver.count
    for _ in range(20):
        stream = sender.stream
        sender.send_packet(RtpPacket(13, stream.sequence, stream.timestamp, stream.ssrc, bytes(range(160))))
        stream.sequence += 1
        stream.timestamp += 160
        time.sleep(0.02)
    assert abs(heard_since(phone, since).pcm).max(initial=0) < 500
    sender.pause(False)
    assert_echo(phone, 0.5, share=0.6)


def test_c48_we_do_not_offer_comfort_noise(phone: Phone) -> None:
    section = media_section(phone.media.port, codecs=["PCMU", (13, "CN/8000")])
    answer = phone.dial("echo", sdp=session([section]))
    assert "13" not in answer.formats


def test_c48_the_bot_sends_every_20_ms_when_it_has_nothing_to_say(phone: Phone) -> None:
    phone.dial("parrot")
    wait_voice(phone, 0, 3.0)
    wait_quiet(phone, 800, 12.0)
    packets = phone.media.receiver.packets()[-40:]
    steps = {(b.packet.timestamp - a.packet.timestamp) % 2**32 for a, b in pairwise(packets)}
    numbers = {(b.packet.sequence - a.packet.sequence) % 65536 for a, b in pairwise(packets)}
    assert (steps, numbers) == ({160}, {1})
    assert (packets[-1].arrival_ns - packets[0].arrival_ns) / 1e6 == pytest.approx(39 * 20, abs=60)


def test_c48_opus_with_a_packet_now_and_then(bot: Bot) -> None:
    with Phone(bot.address, codec="opus", options=SendOptions(silence=False)) as phone:
        phone.dial("echo")
        for _ in range(3):
            phone.media.sender.play(np.zeros(960, np.int16))
            time.sleep(0.4)
        assert_echo(phone, 0.6, share=0.6)


# -- C51: wrap-around --------------------------------------------------------------------------------------------------


def test_c51_our_numbers_wrap_in_the_middle_of_a_sentence(new_phone: NewPhone) -> None:
    phone = new_phone(options=SendOptions(sequence=65_520, timestamp=2**32 - 160 * 20))
    phone.dial("echo")
    report = assert_echo(phone, 1.2, share=0.8)
    assert phone.media.sender.stream.sequence > 65_536
    assert report.skipped_ms <= 40


def test_c51_the_bots_first_numbers_are_random(new_phone: NewPhone) -> None:
    firsts = set()
    for _ in range(3):
        with new_phone() as phone:
            phone.dial("echo")
            packet = phone.media.receiver.wait_for(1, 3.0)[0].packet
            firsts.add((packet.sequence, packet.timestamp, packet.ssrc))
    assert len({first[0] for first in firsts}) == 3
    assert len({first[2] for first in firsts}) == 3


# -- C52: pacing -------------------------------------------------------------------------------------------------------


def test_c52_speech_leaves_every_20_ms(phone: Phone) -> None:
    """Absolute deadlines: what is spaced unevenly by the machine is made up for, and no packet is missing."""
    phone.dial("parrot")
    began = wait_voice(phone, 0, 3.0)
    time.sleep(2.0)
    packets = [item for item in phone.media.receiver.packets() if item.arrival_ns >= began]
    arrivals_ms = np.array([item.arrival_ns for item in packets]) / 1e6
    drift_ms = arrivals_ms - arrivals_ms[0] - 20 * np.arange(len(arrivals_ms))
    assert abs(drift_ms[-1]) < 40
    steps = {(b.packet.timestamp - a.packet.timestamp) % 2**32 for a, b in pairwise(packets)}
    assert steps == {160}
    levels = [abs(Pcmu().decode(item.packet.payload)).max() for item in packets[:80]]
    silent = [n for n, level in enumerate(levels) if level < 4]
    runs = np.split(silent, np.flatnonzero(np.diff(silent) != 1) + 1) if silent else []
    assert all(len(run) != 1 for run in runs), "single silent packets inside of speech: the playout ran dry"


def test_c52_jitter_loss_and_bursts_of_the_caller(new_phone: NewPhone) -> None:
    loss = [n % 25 == 7 for n in range(25)]
    phone = new_phone(options=SendOptions(loss_pattern=loss, jitter_ms_pattern=[0, 6, 2, 9, 0, 4]))
    phone.dial("echo")
    report = assert_echo(phone, 1.5, share=0.8)
    assert np.percentile([frame.delay_ms for frame in report.frames], 95) < 160

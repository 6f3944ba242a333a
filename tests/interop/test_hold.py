"""Hold, resume, and re-INVITEs that move the media (cases C10, C12, C21)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.interop.audio import assert_echo, echo_report, tone
from tests.interop.bots import Bot, serving
from voxtrunk.bench.codecs import Pcma, Pcmu
from voxtrunk.bench.phone import Phone, live_audio
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.sdp import EVENTS, media_section, parse_sdp, session
from voxtrunk.bench.sip_message import SipMessage


def assert_back(phone: Phone) -> None:
    """Audio flows again."""
    report = echo_report(phone, 1.6)
    assert len(report.frames) >= 60, report


def reinvite(phone: Phone, sdp: str) -> SipMessage:
    assert phone.dialog is not None
    response = phone.dialog.call(sdp)
    assert response.status == 200
    return response


# -- C10: hold by direction --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offered", "answered"),
    [("sendonly", "recvonly"), ("recvonly", "sendonly"), ("inactive", "inactive"), ("sendrecv", "sendrecv")],
)
def test_c10_direction_is_mirrored_and_resume_brings_audio_back(phone: Phone, offered: str, answered: str) -> None:
    phone.dial("echo")
    assert_echo(phone, 0.3, share=0.4)
    assert live_audio(reinvite(phone, phone.offer(direction=offered))).direction == answered
    assert live_audio(reinvite(phone, phone.offer(direction=None))).direction == "sendrecv"
    assert_back(phone)


def test_c10_session_level_direction(phone: Phone) -> None:
    phone.dial("echo")
    sdp = phone.offer(direction=None).replace("t=0 0\r\n", "t=0 0\r\na=sendonly\r\n")
    assert live_audio(reinvite(phone, sdp)).direction == "recvonly"
    reinvite(phone, phone.offer())
    assert_back(phone)


def test_c10_hold_by_address_zero(phone: Phone) -> None:
    phone.dial("echo")
    reinvite(phone, phone.offer(direction=None).replace("c=IN IP4 127.0.0.1", "c=IN IP4 0.0.0.0"))
    reinvite(phone, phone.offer())
    assert_back(phone)


def test_c10_nothing_is_sent_to_a_peer_that_is_inactive(phone: Phone) -> None:
    phone.dial("echo")
    assert_echo(phone, 0.3, share=0.4)
    reinvite(phone, phone.offer(direction="inactive"))
    time.sleep(0.1)
    before = phone.media.receiver.count
    time.sleep(0.4)
    assert phone.media.receiver.count - before <= 1
    reinvite(phone, phone.offer())
    assert_back(phone)


@pytest.mark.parametrize("direction", ["sendonly", "inactive"])
def test_c10_next_to_nothing_is_lost_after_resume(phone: Phone, direction: str) -> None:
    """The stack starts its receiver anew; what we say right after the 200 is mostly there (docs/interop.md)."""
    phone.dial("echo")
    reinvite(phone, phone.offer(direction=direction))
    time.sleep(0.5)
    reinvite(phone, phone.offer())
    report = echo_report(phone, 1.8)
    assert report.frames, report
    lost_ms = report.frames[0].sent_sample / 8
    assert lost_ms <= 200, f"{lost_ms:.0f} ms were lost after the resume"


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """A bot that misses RTP after two seconds."""
    with serving(tmp_path_factory.mktemp("impatient"), sip={"rtp_timeout_s": 2}) as bot:
        yield bot


def test_c10_media_timeout_is_suspended_on_hold_and_works_otherwise(impatient: Bot) -> None:
    with Phone(impatient.address) as held, Phone(impatient.address) as vanished:
        held.dial("echo")
        vanished.dial("echo")
        vanished.media.sender.pause()
        reinvite(held, held.offer(direction="inactive"))
        held.media.sender.pause()
        assert held.dialog is not None and vanished.dialog is not None
        vanished.dialog.wait_request("BYE", 6.0)
        assert impatient.end_of(vanished.dialog.call_id)["cause"] == "media_timeout"
        time.sleep(1.5)
        assert held.is_up
        held.media.sender.pause(False)
        reinvite(held, held.offer())
        assert_back(held)


# -- C12: media that moves ---------------------------------------------------------------------------------------------


def test_c12_new_port(phone: Phone) -> None:
    phone.dial("echo")
    assert_echo(phone, 0.3, share=0.4)
    with RtpPeer() as moved:
        audio = live_audio(reinvite(phone, phone.offer(port=moved.port)))
        phone.media.sender.pause()
        before = phone.media.receiver.count
        moved.connect((audio.host, audio.port))
        moved.receiver.wait_for(10, 2.0)
        assert phone.media.receiver.count - before <= 3  # the bot sends to the new port at once
        moved.sender.play(tone(600, 0.3))
        moved.sender.wait_played(2.0)
        time.sleep(0.2)
        assert abs(moved.heard(Pcmu()).pcm).max() > 4000


def test_c12_new_codec_with_old_packets_still_under_way(phone: Phone) -> None:
    phone.dial("echo")
    assert_echo(phone, 0.3, share=0.4)
    sender = phone.media.sender
    phone.codec_name = "PCMA"
    audio = live_audio(reinvite(phone, phone.offer()))
    assert "8" in audio.formats and "0" not in audio.formats
    sender.play(tone(500, 0.1))  # five packets of the old payload type after the answer
    sender.wait_played(2.0)
    phone.media.codec = Pcma()
    sender.codec, sender.payload_type = phone.media.codec, 8
    assert phone.is_up
    assert_echo(phone, 0.5, share=0.7)


def test_c12_opus_renumbered(bot: Bot) -> None:
    with Phone(bot.address, codec="opus") as phone:
        phone.dial("echo")
        assert_echo(phone, 0.3, share=0.7)
        section = media_section(phone.media.port, codecs=[(111, "opus/48000/2")], events=[(110, EVENTS)])
        audio = live_audio(reinvite(phone, session([section], version=9)))
        assert audio.rtpmaps[111] == "opus/48000/2"
        phone.media.sender.payload_type = 111
        assert_echo(phone, 0.5, share=0.7)


def test_c12_reinvite_without_sdp(phone: Phone) -> None:
    phone.dial("echo")
    assert phone.dialog is not None
    phone.dialog.behaviour.ack = False
    offer = phone.dialog.call("")
    assert offer.status == 200
    assert live_audio(offer).port > 0
    phone.dialog.ack(phone.offer())
    phone.dialog.behaviour.ack = True
    assert_echo(phone, 0.5, share=0.7)


def test_c12_unusable_reinvite_does_not_end_the_call(phone: Phone) -> None:
    """The stack declines the stream (port 0, RFC 3264 s6), not the offer (488); the next one brings audio back."""
    phone.dial("echo")
    assert phone.dialog is not None
    sdp = session([media_section(phone.media.port, codecs=[(18, "G729/8000")], events=())], version=5)
    answer = phone.dialog.call(sdp)
    assert answer.status == 488 or [section.port for section in parse_sdp(answer.body)] == [0]
    assert phone.is_up
    phone.version = 6
    phone.connect(live_audio(reinvite(phone, phone.offer())))
    assert_echo(phone, 0.5, share=0.6)


def test_c12_many_reinvites(phone: Phone) -> None:
    phone.dial("echo")
    for _ in range(8):
        reinvite(phone, phone.offer())
    assert_echo(phone, 0.4, share=0.7)


# -- C21: session timers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["90;refresher=uas", "90;refresher=uac", "30", "1800"])
def test_c21_timers_are_not_promised(phone: Phone, value: str) -> None:
    answer = phone.dial("echo", headers=[("Supported", "timer"), ("Session-Expires", value), ("Min-SE", "30")])
    assert answer.port > 0
    assert phone.dialog is not None and phone.dialog.answer is not None
    assert phone.dialog.answer.header("Session-Expires") == ""
    assert "timer" not in phone.dialog.answer.header("Supported")


def test_c21_required_timer_is_refused(phone: Phone) -> None:
    dialog = phone.sip.dialog("echo")
    response = dialog.call(phone.offer(), headers=[("Require", "timer"), ("Session-Expires", "90")])
    assert (response.status, response.header("Unsupported")) == (420, "timer")


def test_c21_refresh_by_update_and_reinvite(phone: Phone) -> None:
    phone.dial("echo", headers=[("Supported", "timer"), ("Session-Expires", "90;refresher=uac")])
    assert phone.dialog is not None
    assert phone.dialog.transact("UPDATE", headers=[("Session-Expires", "90;refresher=uac")]).status in (200, 405)
    assert phone.dialog.call(phone.offer(), headers=[("Session-Expires", "90;refresher=uac")]).status == 200
    assert_echo(phone, 0.4, share=0.7)

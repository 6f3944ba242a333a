"""Odd session descriptions: what is offered, what is answered (cases C01, C02, C03, C08)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.interop.audio import assert_echo
from tests.interop.bots import Agent, Bot
from voxtrunk.bench import dtmf
from voxtrunk.bench.phone import Phone, live_audio
from voxtrunk.bench.sdp import EVENTS, Media, media_section, parse_sdp, session
from voxtrunk.bench.sip_message import SipMessage

NewPhone = Callable[..., Phone]


def offer_and_check(phone: Phone, sdp: str) -> list[Media]:
    """Call with an offer; the audio that is agreed must flow. Returns the sections of the answer."""
    phone.dial("echo", sdp=sdp)
    assert phone.dialog is not None and phone.dialog.answer is not None
    assert_echo(phone, 0.4)
    return parse_sdp(phone.dialog.answer.body)


# -- C01: more m-lines than one ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "video",
    [
        ["m=video 50000 RTP/AVP 96", "a=rtpmap:96 H264/90000", "a=recvonly"],
        ["m=video 0 RTP/AVP 255"],
        ["m=application 50002 UDP/BFCP *"],
        ["m=image 50004 udptl t38"],
    ],
    ids=["video", "video-off-255", "bfcp", "t38"],
)
def test_c01_other_media_are_declined_in_their_place(phone: Phone, video: list[str]) -> None:
    audio = media_section(phone.media.port, codecs=["PCMU"])
    sections = offer_and_check(phone, session([audio, video]))
    assert [section.kind for section in sections] == ["audio", video[0][2:].split()[0]]
    assert sections[0].port > 0 and sections[1].port == 0


def test_c01_video_first(phone: Phone) -> None:
    video = ["m=video 50000 RTP/AVP 96", "a=rtpmap:96 H264/90000"]
    sections = offer_and_check(phone, session([video, media_section(phone.media.port)]))
    assert [(section.kind, section.port > 0) for section in sections] == [("video", False), ("audio", True)]


def test_c01_savp_and_avp_on_the_same_port(phone: Phone) -> None:
    secure = media_section(phone.media.port)
    secure[0] = secure[0].replace("RTP/AVP", "RTP/SAVP")
    secure.append("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + "A" * 40)
    sdp = session([media_section(phone.media.port), secure])
    phone.dial("echo", sdp=sdp)
    assert phone.dialog is not None and phone.dialog.answer is not None
    sections = parse_sdp(phone.dialog.answer.body)
    assert len(sections) == 2
    assert [section.port > 0 for section in sections] == [True, False]
    assert_echo(phone, 0.4)


def test_c01_live_audio_line_behind_a_dead_one_is_refused(phone: Phone) -> None:
    """RFC 3264 s6 allows it; the stack takes the first audio line only (docs/interop.md)."""
    dead = ["m=audio 0 RTP/AVP 8", "c=IN IP4 127.0.0.1"]
    video = ["m=video 0 RTP/AVP 34", "c=IN IP4 127.0.0.1"]
    live = media_section(phone.media.port, codecs=["PCMA"], lines=["c=IN IP4 127.0.0.1"])
    assert phone.sip.dialog("echo").call(session([dead, video, live], c_line=False)).status == 488


# -- C02: lines that simple parsers do not know ------------------------------------------------------------------------

ODD_LINES = [
    "b=TIAS:64000",
    "b=RR:3000",
    "b=RS:1000",
    "b=X-YZ:128",
    "a=maxptime:150",
    "a=silenceSupp:off - - - -",
    "a=foo:bar",
    "a=rtcp-xr",
]


def test_c02_bandwidth_and_unknown_attributes(phone: Phone) -> None:
    section = media_section(phone.media.port)
    section[1:1] = ["i=voice", f"c=IN IP4 {phone.media.host}", *ODD_LINES[:4]]
    offer_and_check(phone, session([[*section, *ODD_LINES[4:]]], c_line=False))


@pytest.mark.parametrize(
    "change",
    [
        lambda sdp: sdp + "\r\n",
        lambda sdp: sdp.replace("\r\n", "\n"),
        lambda sdp: sdp.replace("s=-", "s= "),
        lambda sdp: sdp.replace(
            "t=0 0", "t=0 0\r\nr=604800 3600 0 90000\r\na=group:BUNDLE audio\r\na=msid-semantic: WMS"
        ),
    ],
    ids=["blank-line-at-end", "bare-lf", "empty-subject", "session-attributes"],
)
def test_c02_line_endings_and_session_lines(phone: Phone, change: Callable[[str], str]) -> None:
    phone.dial("echo", sdp=change(phone.offer()))
    assert_echo(phone, 0.4)


def test_c02_sdp_without_a_final_line_end_is_refused(bot: Bot, phone: Phone) -> None:
    """RFC 8866 s5 wants the line end; being lenient is the stack's matter (docs/interop.md). Nothing else suffers."""
    assert phone.sip.dialog("echo").call(phone.offer().removesuffix("\r\n")).status >= 400
    bot.still_answers()


def test_c02_media_level_address_wins(phone: Phone) -> None:
    section = media_section(phone.media.port, lines=[f"c=IN IP4 {phone.media.host}"])
    sdp = session([section]).replace("c=IN IP4 127.0.0.1\r\nt=", "c=IN IP4 127.0.0.9\r\nt=")
    phone.dial("echo", sdp=sdp)
    assert_echo(phone, 0.4)


# -- C03: telephone-event at any payload type, in any place ------------------------------------------------------------


@pytest.mark.parametrize("payload_type", [96, 99, 100, 110, 126, 127])
@pytest.mark.parametrize("first", [True, False], ids=["listed-first", "listed-last"])
def test_c03_events_at_any_payload_type(agent: Agent, payload_type: int, first: bool) -> None:
    with Phone(agent.address) as phone:
        section = media_section(
            phone.media.port, codecs=["PCMU", "PCMA"], events=[(payload_type, EVENTS)], events_first=first
        )
        offer_and_check(phone, session([section]))
        phone.media.sender.send_event(dtmf.press("7", hold_ms=60), payload_type)
        phone.media.sender.wait_played(2.0)
        phone.hang_up()
        assert phone.dialog is not None
        assert agent.digits_of(phone.dialog.call_id) == "7"


@pytest.mark.parametrize("fmtp", ["0-15", "0-16", "0-11", "0-11,16", None])
def test_c03_event_ranges(agent: Agent, fmtp: str | None) -> None:
    with Phone(agent.address) as phone:
        section = [line for line in media_section(phone.media.port) if not line.startswith("a=fmtp")]
        if fmtp is not None:
            section.append(f"a=fmtp:101 {fmtp}")
        phone.dial("echo", sdp=session([section]))
        phone.media.sender.send_event(dtmf.press("3", hold_ms=60), 101)
        phone.media.sender.wait_played(2.0)
        phone.hang_up()
        assert phone.dialog is not None
        assert agent.digits_of(phone.dialog.call_id) == "3"


def test_c03_our_digits_use_the_peers_payload_type(agent: Agent) -> None:
    with Phone(agent.address) as phone:
        section = media_section(phone.media.port, events=[(117, EVENTS)])
        phone.dial("echo", sdp=session([section]))
        assert phone.dialog is not None
        agent.event("call", sip_call_id=phone.dialog.call_id)
        agent.command(send_digits="4#")
        detector = dtmf.DtmfDetector(117)
        seen = 0
        for _ in range(60):
            packets = phone.media.receiver.wait_for(seen + 5, 2.0)[seen:]
            seen += len(packets)
            for item in packets:
                detector.push(item.packet)
            if detector.keys == "4#":
                break
        assert detector.keys == "4#"


def test_no_events_offered_is_fine(phone: Phone) -> None:
    offer_and_check(phone, session([media_section(phone.media.port, events=())]))


def test_nothing_in_common_is_refused(phone: Phone) -> None:
    sdp = session([media_section(phone.media.port, codecs=[(18, "G729/8000")])])
    dialog = phone.sip.dialog("echo")
    assert dialog.call(sdp).status == 488


# -- C08: delayed offer ------------------------------------------------------------------------------------------------


def delayed_offer(phone: Phone) -> SipMessage:
    phone.dialog = phone.sip.dialog("echo")
    phone.dialog.behaviour.ack = False
    return phone.dialog.call("")


def test_c08_offer_in_the_200_and_answer_in_the_ack(bot: Bot, phone: Phone) -> None:
    offer = delayed_offer(phone)
    assert offer.status == 200
    audio = live_audio(offer)
    assert "PCMU/8000" in audio.rtpmaps.values() or "0" in audio.formats
    assert phone.dialog is not None
    phone.dialog.ack(phone.offer())
    phone.connect(audio)
    assert_echo(phone, 0.4)
    assert bot.start_of(phone.dialog.call_id)["codec"] == "PCMU"


def test_c08_an_unusable_answer_ends_the_call(phone: Phone) -> None:
    delayed_offer(phone)
    assert phone.dialog is not None
    phone.dialog.ack(session([media_section(phone.media.port, codecs=[(18, "G729/8000")], events=())]))
    phone.dialog.wait_request("BYE", 5.0)


def test_c08_an_ack_without_sdp_ends_the_call_without_a_bye(bot: Bot, phone: Phone) -> None:
    """RFC 3261 s13.2.1 leaves it open; the stack forgets the call without a word (docs/interop.md)."""
    delayed_offer(phone)
    assert phone.dialog is not None
    phone.dialog.ack("")
    time.sleep(0.3)
    assert phone.dialog.bye().status == 481
    bot.still_answers()

"""Session descriptions: what we write is what we read; odd ones are refused with a sentence."""

from __future__ import annotations

import pytest

from voxtrunk.bench.sdp import media_section, parse_sdp, session


def test_offer_lines() -> None:
    text = session([media_section(4000, codecs=["PCMU", (111, "opus/48000/2")])], version=3)
    assert text.startswith("v=0\r\no=caller 2208988800 3 IN IP4 127.0.0.1\r\n")
    assert "m=audio 4000 RTP/AVP 0 111 101\r\n" in text
    (audio,) = parse_sdp(text)
    assert audio.rtpmaps == {0: "PCMU/8000", 111: "opus/48000/2", 101: "telephone-event/8000"}
    assert (audio.port, audio.host, audio.direction, audio.attribute("ptime")) == (
        4000,
        "127.0.0.1",
        "sendrecv",
        "20",
    )


def test_events_first_and_bare() -> None:
    assert media_section(4000, events_first=True)[0] == "m=audio 4000 RTP/AVP 101 0"
    assert media_section(4000, events=(), ptime_ms=None, direction=None) == [
        "m=audio 4000 RTP/AVP 0",
        "a=rtpmap:0 PCMU/8000",
    ]


def test_media_level_address_and_session_level_direction() -> None:
    text = (
        "v=0\r\nc=IN IP4 10.0.0.1\r\na=sendonly\r\nm=audio 1 RTP/AVP 0\r\nc=IN IP4 10.0.0.2\r\n"
        "m=video 0 RTP/AVP 34\r\na=inactive\r\n"
    )
    audio, video = parse_sdp(text.encode())
    assert (audio.host, audio.direction) == ("10.0.0.2", "sendonly")
    assert (video.host, video.direction, video.attribute("ptime")) == ("10.0.0.1", "inactive", None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("v=0\r\nnonsense\r\n", "SDP line is malformed: 'nonsense'"),
        ("m=audio x RTP/AVP 0\r\n", "SDP media line is malformed: 'audio x RTP/AVP 0'"),
        ("m=audio 1 RTP/AVP\r\n", "SDP media line is malformed: 'audio 1 RTP/AVP'"),
    ],
)
def test_refusals(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_sdp(text)
    assert str(refusal.value) == sentence

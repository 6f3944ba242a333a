"""RTP packets: golden bytes, round trips, exact refusals, wrap-around."""

from __future__ import annotations

import pytest

from voxtrunk.bench.rtp import RtpPacket, sequence_distance, timestamp_distance

GOLDEN = bytes.fromhex("80 e5 1234 89abcdef 01020304 05 8a 00a0".replace(" ", ""))


def test_golden_packet_is_read_field_by_field() -> None:
    packet = RtpPacket.unpack(GOLDEN)
    assert (packet.payload_type, packet.marker, packet.sequence) == (101, True, 0x1234)
    assert (packet.timestamp, packet.ssrc) == (0x89ABCDEF, 0x01020304)
    assert packet.payload == bytes.fromhex("058a00a0")
    assert packet.pack() == GOLDEN


@pytest.mark.parametrize(
    "packet",
    [
        RtpPacket(0, 1, 2, 3, b"x" * 160),
        RtpPacket(8, 1, 2, 3, b"", marker=True),
        RtpPacket(96, 1, 2, 3, b"abc", csrcs=(7, 8, 9)),
        RtpPacket(96, 1, 2, 3, b"abc", extension=(0xBEDE, b"12345678")),
        RtpPacket(96, 1, 2, 3, b"abc", padding_bytes=5),
        RtpPacket(127, 65535, 2**32 - 1, 2**32 - 1, b"z", True, (1,), (1, b""), 255),
    ],
)
def test_round_trip(packet: RtpPacket) -> None:
    assert RtpPacket.unpack(packet.pack()) == packet


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "RTP packet is shorter than its header"),
        (GOLDEN[:11], "RTP packet is shorter than its header"),
        (b"\x40" + GOLDEN[1:], "RTP version is not 2"),
        (b"\x8f" + GOLDEN[1:], "RTP packet has truncated CSRCs"),
        (b"\x90" + GOLDEN[1:12], "RTP packet has a truncated extension header"),
        (b"\x90" + GOLDEN[1:12] + b"\x00\x01\x00\x02" + bytes(4), "RTP packet has truncated extension data"),
        (b"\xa0" + GOLDEN[1:12] + b"\x00", "RTP packet has an invalid padding length"),
        (b"\xa0" + GOLDEN[1:12] + b"\x09", "RTP packet has an invalid padding length"),
    ],
)
def test_broken_packets_are_refused_with_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        RtpPacket.unpack(data)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("packet", "sentence"),
    [
        (RtpPacket(128, 0, 0, 0, b""), "RTP payload type is out of range"),
        (RtpPacket(0, 0, 0, 0, b"", csrcs=(0,) * 16), "RTP packet has too many CSRCs"),
        (
            RtpPacket(0, 0, 0, 0, b"", extension=(1, b"123")),
            "RTP header extension is not a multiple of 4 octets",
        ),
    ],
)
def test_what_cannot_be_packed(packet: RtpPacket, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        packet.pack()
    assert str(refusal.value) == sentence


def test_numbers_wrap_when_packed() -> None:
    packet = RtpPacket.unpack(RtpPacket(0, 65536 + 5, 2**32 + 7, 1, b"").pack())
    assert (packet.sequence, packet.timestamp) == (5, 7)


def test_distances_are_modular() -> None:
    assert sequence_distance(2, 65534) == 4
    assert sequence_distance(65534, 2) == -4
    assert timestamp_distance(160, 2**32 - 160) == 320

"""The receiver: kernel arrival times, junk counted, and audio put together from packets."""

from __future__ import annotations

import socket
import time

import numpy as np

from voxtrunk.bench.codecs import Pcmu
from voxtrunk.bench.g711 import encode_mu_law
from voxtrunk.bench.rtp import RtpPacket
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.rtp_receiver import ReceivedPacket, audio_of


def received(sequence: int, timestamp: int, level: int, *, ssrc: int = 1, payload_type: int = 0) -> ReceivedPacket:
    payload = encode_mu_law(np.full(160, level, np.int16))
    packet = RtpPacket(payload_type, sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc, payload)
    return ReceivedPacket(packet, 1_000_000 * sequence, ("127.0.0.1", 1))


def test_arrival_is_the_kernels_time_not_the_threads() -> None:
    with RtpPeer() as peer, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        before_ns = time.monotonic_ns()
        sender.sendto(RtpPacket(0, 1, 2, 3, b"x").pack(), ("127.0.0.1", peer.port))
        after_ns = time.monotonic_ns()
        (item,) = peer.receiver.wait_for(1, 2.0)
        assert before_ns - 1_000_000 <= item.arrival_ns <= after_ns + 1_000_000
        assert item.source == ("127.0.0.1", sender.getsockname()[1])


def test_junk_is_counted_and_dropped() -> None:
    with RtpPeer() as peer, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"junk", ("127.0.0.1", peer.port))
        sender.sendto(RtpPacket(0, 1, 2, 3, b"x").pack(), ("127.0.0.1", peer.port))
        peer.receiver.wait_for(1, 2.0)
        assert (peer.receiver.malformed, peer.receiver.count) == (1, 1)


def test_a_gap_becomes_silence_of_the_same_length() -> None:
    heard = audio_of([received(1, 160, 1000), received(3, 480, 2000)], Pcmu())
    assert len(heard.pcm) == 480
    assert heard.pcm[0] > 900 and not heard.pcm[160:320].any() and heard.pcm[320] > 1800
    assert heard.first_samples.tolist() == [0, 320]
    assert (heard.missing, heard.duplicates) == (1, 0)


def test_order_duplicates_wrap_and_foreign_streams() -> None:
    start = 2**32 - 160
    packets = [
        received(65535, start, 1000),
        received(65537, start + 320, 3000),
        received(65536, start + 160, 2000),
        received(65536, start + 160, 2000),
        received(9, 9, 7, ssrc=2),
        received(9, 9, 7, payload_type=101),
    ]
    heard = audio_of(packets, Pcmu())
    assert [round(int(value), -3) for value in heard.pcm[::160]] == [1000, 2000, 3000]
    assert (heard.missing, heard.duplicates) == (0, 1)


def test_nothing_heard() -> None:
    heard = audio_of([], Pcmu())
    assert len(heard.pcm) == len(heard.arrivals_ns) == 0

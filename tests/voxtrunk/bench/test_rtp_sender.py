"""The sender: wire numbers, patterns, DTMF plans, pauses; everything as it arrives on a socket."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from voxtrunk.bench import dtmf
from voxtrunk.bench.rtp import RtpPacket
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.rtp_sender import SendOptions


@pytest.fixture
def listener() -> Iterator[RtpPeer]:
    with RtpPeer() as peer:
        yield peer


def stream(listener: RtpPeer, options: SendOptions, seconds: float = 0.2) -> list[RtpPacket]:
    tone = np.full(int(8000 * seconds), 1000, np.int16)
    with RtpPeer(options=options) as caller:
        caller.connect(("127.0.0.1", listener.port)).play(tone)
        caller.sender.wait_played(seconds + 2)
        count = caller.sender.counters.sent
        return [item.packet for item in listener.receiver.wait_for(count, 2.0)][:count]


def test_numbers_wrap_and_the_first_packet_is_marked(listener: RtpPeer) -> None:
    packets = stream(listener, SendOptions(ssrc=7, sequence=65533, timestamp=2**32 - 320))
    assert [packet.sequence for packet in packets[:6]] == [65533, 65534, 65535, 0, 1, 2]
    assert [packet.timestamp for packet in packets[:4]] == [2**32 - 320, 2**32 - 160, 0, 160]
    assert [packet.marker for packet in packets[:3]] == [True, False, False]
    assert {packet.ssrc for packet in packets} == {7}


@pytest.mark.parametrize(("ptime_ms", "octets"), [(10, 80), (20, 160), (30, 240), (60, 480)])
def test_packet_sizes(listener: RtpPeer, ptime_ms: int, octets: int) -> None:
    packets = stream(listener, SendOptions(ptime_ms=ptime_ms))
    assert {len(packet.payload) for packet in packets} == {octets}
    assert packets[1].timestamp - packets[0].timestamp in (octets, octets - 2**32)


def test_deadlines_are_absolute(listener: RtpPeer) -> None:
    stream(listener, SendOptions(), seconds=0.6)
    arrivals = np.array([item.arrival_ns for item in listener.receiver.packets()])
    drift_ms = (arrivals - arrivals[0]) / 1e6 - 20 * np.arange(len(arrivals))
    assert np.median(np.abs(drift_ms - np.median(drift_ms))) < 5


def test_loss_pattern_is_deterministic(listener: RtpPeer) -> None:
    packets = stream(listener, SendOptions(sequence=0, loss_pattern=[False, True, False]))
    assert [packet.sequence for packet in packets[:5]] == [0, 2, 3, 5, 6]


def test_jitter_pattern_delays_but_does_not_drift(listener: RtpPeer) -> None:
    stream(listener, SendOptions(jitter_ms_pattern=[0, 10]), seconds=0.4)
    arrivals = np.array([item.arrival_ns for item in listener.receiver.packets()])[:20]
    spaces_ms = np.diff(arrivals) / 1e6
    assert np.median(spaces_ms[::2]) == pytest.approx(30, abs=4)
    assert np.median(spaces_ms[1::2]) == pytest.approx(10, abs=4)


def test_dtx_goes_on_in_time_and_marks_what_follows(listener: RtpPeer) -> None:
    with RtpPeer(options=SendOptions(silence=False, timestamp=0, sequence=0)) as caller:
        sender = caller.connect(("127.0.0.1", listener.port))
        sender.play(np.ones(160, np.int16))
        listener.receiver.wait_for(1, 2.0)
        while sender.stream.timestamp < 1600:
            time.sleep(0.005)
        sender.play(np.ones(160, np.int16))
        second = listener.receiver.wait_for(2, 2.0)[1].packet
    assert (second.marker, second.sequence) == (True, 1)
    assert second.timestamp >= 1600


def test_event_plan_shares_the_sequence_numbers_with_audio(listener: RtpPeer) -> None:
    with RtpPeer(options=SendOptions(sequence=0, timestamp=0)) as caller:
        sender = caller.connect(("127.0.0.1", listener.port))
        sender.send_event(dtmf.press("#"), 101)
        sender.wait_played(2.0)
        listener.receiver.wait_for(12, 2.0)
    packets = [item.packet for item in listener.receiver.packets()]
    assert [packet.sequence for packet in packets] == list(range(len(packets)))
    events = [packet for packet in packets if packet.payload_type == 101]
    assert len(events) == 8
    assert len({packet.timestamp for packet in events}) == 1
    after = packets[packets.index(events[-1]) + 1]
    assert after.marker
    assert after.timestamp == events[0].timestamp + 8 * 160


def test_raw_packets_and_renumbering(listener: RtpPeer) -> None:
    with RtpPeer(options=SendOptions(silence=False)) as caller:
        sender = caller.connect(("127.0.0.1", listener.port))
        sender.send_packet(RtpPacket(13, 1, 2, 3, b"\x40"))
        assert listener.receiver.wait_for(1, 2.0)[0].packet.payload_type == 13
        sender.renumber(ssrc=5, sequence=12000, timestamp=99)
        sender.play(np.ones(160, np.int16))
        packet = listener.receiver.wait_for(2, 2.0)[1].packet
    assert (packet.ssrc, packet.sequence, packet.marker) == (5, 12000, True)


def test_a_paused_sender_is_silent(listener: RtpPeer) -> None:
    with RtpPeer() as caller:
        sender = caller.connect(("127.0.0.1", listener.port))
        listener.receiver.wait_for(3, 2.0)
        sender.pause()
        with pytest.raises(TimeoutError, match="RTP packets within"):
            listener.receiver.wait_for(listener.receiver.count + 3, 0.2)
        sender.pause(False)
        listener.receiver.wait_for(listener.receiver.count + 3, 2.0)


def test_waiting_for_audio_that_is_still_queued_fails(listener: RtpPeer) -> None:
    with RtpPeer() as caller:
        sender = caller.connect(("127.0.0.1", listener.port))
        sender.play(np.ones(80000, np.int16))
        with pytest.raises(TimeoutError, match="audio is still queued"):
            sender.wait_played(0.05)
        sender.clear()
        sender.wait_played(0.0)


def test_a_peer_without_remote_has_no_sender() -> None:
    with RtpPeer() as peer, pytest.raises(RuntimeError, match="call connect"):
        _ = peer.sender

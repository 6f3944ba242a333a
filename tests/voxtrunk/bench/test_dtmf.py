"""Plans of telephone events, and the detector's rule: one key for one (SSRC, timestamp, event)."""

from __future__ import annotations

import pytest

from voxtrunk.bench import dtmf
from voxtrunk.bench.rtp import RtpPacket


def packets(plan: dtmf.Plan, *, payload_type: int = 101, timestamp: int = 1000) -> list[RtpPacket]:
    return [
        RtpPacket(
            payload_type,
            7 + item.sequence_offset,
            timestamp + item.timestamp_offset,
            9,
            item.payload(),
            item.marker,
        )
        for item in plan
    ]


def keys(plan: dtmf.Plan) -> str:
    detector = dtmf.DtmfDetector(101)
    return "".join(detector.push(packet) for packet in packets(plan))


def test_plain_press() -> None:
    plan = dtmf.press("5")
    assert [packet.duration for packet in plan] == [160, 320, 480, 640, 800, 800, 800, 800]
    assert [packet.end for packet in plan] == [False] * 5 + [True] * 3
    assert [packet.marker for packet in plan] == [True] + [False] * 7
    assert [packet.sequence_offset for packet in plan] == list(range(8))
    assert plan[0].payload() == bytes.fromhex("050a00a0")
    assert plan[-1].payload() == bytes.fromhex("058a0320")


def test_48_khz_durations() -> None:
    assert [packet.duration for packet in dtmf.press("1", hold_ms=40, clock_rate_hz=48000)][:2] == [960, 1920]


@pytest.mark.parametrize("digit", list(dtmf.DIGITS))
def test_detector_names_every_key(digit: str) -> None:
    assert keys(dtmf.press(digit)) == digit


def test_odd_plans_give_the_key_once() -> None:
    plan = dtmf.press("5")
    for odd in (
        dtmf.without_marker(plan),
        dtmf.without(plan, [0]),
        dtmf.without(plan, [-1, -2, -3]),
        dtmf.same_end_sequence(plan),
        dtmf.swapped(plan, 2),
        dtmf.with_hole(plan, 1, 2),
    ):
        assert keys(odd) == "5"


def test_helpers_do_what_they_say() -> None:
    plan = dtmf.press("5")
    assert not any(packet.marker for packet in dtmf.without_marker(plan))
    assert dtmf.without(plan, [0, -1]) == plan[1:-1]
    assert {packet.sequence_offset for packet in dtmf.same_end_sequence(plan) if packet.end} == {5}
    assert [packet.sequence_offset for packet in dtmf.swapped(plan, 2)][2:4] == [3, 2]
    assert [packet.slot for packet in dtmf.swapped(plan, 2)] == list(range(8))
    assert [packet.slot for packet in dtmf.with_hole(plan, 1, 3)] == [0, 1, 5, 6, 7]


def test_chain_gives_each_press_its_own_timestamp() -> None:
    plan = dtmf.chain([dtmf.press("1"), dtmf.press("1")], gap_slots=2)
    assert keys(plan) == "11"
    assert {packet.timestamp_offset for packet in plan} == {0, 10 * 160}
    assert [packet.sequence_offset for packet in plan] == list(range(16))


def test_flash_and_other_payload_types_are_no_keys() -> None:
    detector = dtmf.DtmfDetector(101)
    assert detector.push(packets(dtmf.press(16))[0]) == ""
    assert detector.push(packets(dtmf.press("1"), payload_type=100)[0]) == ""


def test_refusals() -> None:
    with pytest.raises(ValueError, match="not a DTMF key: 'x'"):
        dtmf.press("x")
    with pytest.raises(ValueError, match="telephone-event payload is shorter than 4 octets"):
        dtmf.DtmfDetector(101).push(RtpPacket(101, 0, 0, 0, b"\x05\x0a"))

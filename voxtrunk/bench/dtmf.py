"""Telephone events (RFC 4733): plans of packets to send, odd ones included, and a detector."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from voxtrunk.bench.rtp import RtpPacket

DIGITS: Final = "0123456789*#ABCD"
END_COPIES: Final = 3
"""RFC 4733 s2.5.1.4: the end is sent three times."""


@dataclass(frozen=True, slots=True)
class EventPacket:
    """One packet of a plan.

    Attributes:
        slot: packet interval after the start of the plan in which it leaves.
        event: event code (RFC 4733 s3.2; digits 0..15).
        end: the E bit.
        duration: in timestamp units.
        marker: RTP marker; belongs on the first packet.
        sequence_offset: added to the sequence number at the start of the plan.
        timestamp_offset: added to the timestamp at the start of the plan.
        volume: dBm0 without its sign.
    """

    slot: int
    event: int
    end: bool
    duration: int
    marker: bool
    sequence_offset: int
    timestamp_offset: int = 0
    volume: int = 10

    def payload(self) -> bytes:
        """Four octets (RFC 4733 s2.3)."""
        return struct.pack("!BBH", self.event, self.end << 7 | self.volume, self.duration & 0xFFFF)


Plan = tuple[EventPacket, ...]


def press(
    digit: str | int,
    *,
    hold_ms: int = 100,
    ptime_ms: int = 20,
    clock_rate_hz: int = 8000,
    end_copies: int = END_COPIES,
) -> Plan:
    """The plain plan for one key: growing durations, then the copies of the end, one each interval.

    Args:
        digit: a key, or an event code.
        hold_ms: how long the key is down.
        ptime_ms: packet interval.
        clock_rate_hz: rate of the event's payload type.
        end_copies: packets with the E bit; 0 leaves the key without an end.

    Raises:
        ValueError: not a key.
    """
    event = digit if isinstance(digit, int) else _event_of(digit)
    step = clock_rate_hz * ptime_ms // 1000
    updates = max(1, hold_ms // ptime_ms)
    growing = [EventPacket(n, event, False, (n + 1) * step, n == 0, n) for n in range(updates)]
    ends = [EventPacket(updates + n, event, True, updates * step, False, updates + n) for n in range(end_copies)]
    return (*growing, *ends)


def _event_of(digit: str) -> int:
    if len(digit) != 1 or digit not in DIGITS:
        raise ValueError(f"not a DTMF key: {digit!r}")
    return DIGITS.index(digit)


def without_marker(plan: Plan) -> Plan:
    """No packet carries the marker bit."""
    return tuple(replace(packet, marker=False) for packet in plan)


def without(plan: Plan, lost: Iterable[int]) -> Plan:
    """Lose packets by their place in the plan; negative places count from its end."""
    gone = {place % len(plan) for place in lost}
    return tuple(packet for place, packet in enumerate(plan) if place not in gone)


def same_end_sequence(plan: Plan) -> Plan:
    """Every copy of the end repeats the first one's sequence number."""
    first = next(packet.sequence_offset for packet in plan if packet.end)
    return tuple(replace(packet, sequence_offset=first) if packet.end else packet for packet in plan)


def swapped(plan: Plan, place: int) -> Plan:
    """Two neighbours change their order on the wire."""
    packets = list(plan)
    one, other = packets[place], packets[place + 1]
    packets[place], packets[place + 1] = replace(other, slot=one.slot), replace(one, slot=other.slot)
    return tuple(packets)


def with_hole(plan: Plan, place: int, slots: int) -> Plan:
    """Packets of that many slots after ``place`` were lost; what follows keeps its own time."""
    start = plan[place].slot
    return tuple(packet for packet in plan if not start < packet.slot <= start + slots)


def chain(plans: Sequence[Plan], *, gap_slots: int, ptime_ms: int = 20, clock_rate_hz: int = 8000) -> Plan:
    """Keys one after another, each with its own timestamp, ``gap_slots`` intervals apart."""
    step = clock_rate_hz * ptime_ms // 1000
    slot = sequence = 0
    joined: list[EventPacket] = []
    for plan in plans:
        joined += [
            replace(
                packet,
                slot=packet.slot + slot,
                sequence_offset=packet.sequence_offset + sequence,
                timestamp_offset=packet.timestamp_offset + slot * step,
            )
            for packet in plan
        ]
        slot += max(packet.slot for packet in plan) + 1 + gap_slots
        sequence += max(packet.sequence_offset for packet in plan) + 1
    return tuple(joined)


class DtmfDetector:
    """Reports each key once: its identity is (SSRC, timestamp, event), whatever was lost or repeated."""

    def __init__(self, payload_type: int) -> None:
        """
        Args:
            payload_type: what our SDP gave to telephone-event.
        """
        self._payload_type = payload_type
        self._seen: set[tuple[int, int, int]] = set()
        self.keys = ""

    def push(self, packet: RtpPacket) -> str:
        """The key that this packet begins, else an empty string.

        Raises:
            ValueError: an event payload is cut short.
        """
        if packet.payload_type != self._payload_type:
            return ""
        if len(packet.payload) < 4:
            raise ValueError("telephone-event payload is shorter than 4 octets")
        event = packet.payload[0]
        identity = (packet.ssrc, packet.timestamp, event)
        if identity in self._seen or event >= len(DIGITS):
            return ""
        self._seen.add(identity)
        self.keys += DIGITS[event]
        return DIGITS[event]

"""The sending half of a test call: a thread that keeps absolute deadlines on the monotonic clock."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from voxtrunk.bench.codecs import Codec
from voxtrunk.bench.dtmf import EventPacket, Plan
from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.rtp import RtpPacket

Address = tuple[str, int]
PACKETS_KEPT: Final = 200_000
"""Sent packets remembered, over an hour at 20 ms; later ones are sent but not recorded."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """How a stream looks on the wire; patterns repeat.

    Attributes:
        ptime_ms: packet interval.
        payload_type: None takes the codec's.
        ssrc: None picks one at random.
        sequence: first sequence number; None picks one.
        timestamp: first timestamp; None picks one.
        loss_pattern: True withholds the packet.
        jitter_ms_pattern: each packet leaves that much later than its deadline.
        silence: send silence while nothing is queued; otherwise nothing leaves, and time goes on (DTX).
        start_delay_ms: the first deadline, after :meth:`RtpSender.start`.
    """

    ptime_ms: int = 20
    payload_type: int | None = None
    ssrc: int | None = None
    sequence: int | None = None
    timestamp: int | None = None
    loss_pattern: Sequence[bool] = ()
    jitter_ms_pattern: Sequence[float] = ()
    silence: bool = True
    start_delay_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SentPacket:
    """What left, and when.

    Attributes:
        sent_ns: monotonic, just before it was handed to the kernel.
        first_sample: place of its first sample in all that was queued; -1 for silence, events and raw packets.
        samples: how many it carries.
    """

    sequence: int
    timestamp: int
    sent_ns: int
    first_sample: int
    samples: int


@dataclass(slots=True)
class SenderCounters:
    """``late`` counts packets that left more than 5 ms after their time: then the caller is the slow one."""

    sent: int = 0
    withheld: int = 0
    late: int = 0
    worst_lateness_ms: float = 0.0
    failed: int = 0


@dataclass(slots=True)
class _Stream:
    """Numbers of the next packet."""

    ssrc: int
    sequence: int
    timestamp: int
    marker: bool = True
    talking: bool = field(default=False)


class RtpSender:
    """Sends queued PCM in real time; nothing here blocks the caller of its methods."""

    def __init__(self, sock: socket.socket, remote: Address, codec: Codec, options: SendOptions | None = None) -> None:
        """
        Args:
            sock: a UDP socket, shared with the receiver (symmetric RTP, RFC 4961).
            remote: where packets go; may be changed at any time.
            codec: encoder; may be changed at any time, with ``payload_type``.
            options: how the stream looks.
        """
        self._socket = sock
        self._options = options or SendOptions()
        chosen = random.SystemRandom()
        self.remote = remote
        self.codec = codec
        self.payload_type = codec.payload_type if self._options.payload_type is None else self._options.payload_type
        self.stream = _Stream(
            _pick(self._options.ssrc, chosen, 32),
            _pick(self._options.sequence, chosen, 16),
            _pick(self._options.timestamp, chosen, 32),
        )
        self.ptime_ms = self._options.ptime_ms
        self.counters = SenderCounters()
        self.packets: list[SentPacket] = []
        self._lock = threading.Lock()
        self._queue: deque[Samples] = deque()
        self._queued = self._taken = 0
        self._idle = threading.Event()
        self._idle.set()
        self._events: deque[tuple[int, Plan]] = deque()
        self._plan_slot = -1
        self._plan_base = (0, 0)
        self._stopping = threading.Event()
        self._paused = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rtp-sender", daemon=True)

    def start(self) -> None:
        """Begin at now plus the start delay."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait; may be called twice, or without a start."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def play(self, pcm: Samples) -> int:
        """Queue int16 samples at the codec's rate.

        Returns:
            Place of the first of them in all that was ever queued.
        """
        with self._lock:
            place = self._taken + self._queued
            self._queue.append(np.asarray(pcm, np.int16))
            self._queued += len(pcm)
            self._idle.clear()
        return place

    def clear(self) -> None:
        """Forget what is queued."""
        with self._lock:
            self._queue.clear()
            self._queued = 0
            self._idle.set()

    def wait_played(self, timeout_s: float) -> None:
        """Wait until all that was queued has left.

        Raises:
            TimeoutError: it has not.
        """
        if not self._idle.wait(timeout_s):
            raise TimeoutError(f"audio is still queued after {timeout_s} s")

    def send_event(self, plan: Plan, payload_type: int) -> None:
        """Replace audio by a plan of telephone events, from the next interval on."""
        with self._lock:
            self._events.append((payload_type, plan))
            self._idle.clear()

    def pause(self, paused: bool = True) -> None:
        """Send nothing, as a peer that has vanished; its clock stops too."""
        if paused:
            self._paused.set()
        else:
            self._paused.clear()

    def send_packet(self, packet: RtpPacket, to: Address | None = None) -> None:
        """Send one packet of the test's own making at once; the stream's numbers do not change."""
        self._socket.sendto(packet.pack(), to or self.remote)

    # -- thread ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        due_ns = time.monotonic_ns() + int(self._options.start_delay_ms * 1e6)
        index = 0
        while not self._wait_until(due_ns):
            if self._paused.is_set():
                due_ns = time.monotonic_ns() + self.ptime_ms * 1_000_000
                continue
            jitter = self._options.jitter_ms_pattern
            if jitter and self._wait_until(due_ns + int(jitter[index % len(jitter)] * 1e6)):
                return
            self._tick(index, due_ns)
            index += 1
            due_ns += self.ptime_ms * 1_000_000

    def _wait_until(self, due_ns: int) -> bool:
        """True when it is time to stop."""
        ahead_s = (due_ns - time.monotonic_ns()) / 1e9
        return self._stopping.wait(ahead_s) if ahead_s > 0 else self._stopping.is_set()

    def _tick(self, index: int, due_ns: int) -> None:
        ticks = self.codec.clock_rate_hz * self.ptime_ms // 1000
        event_packets = self._event_slot()
        if event_packets is not None:
            payload_type, packets = event_packets
            for packet in packets:
                self._send_event_packet(packet, payload_type)
        else:
            self._send_audio(index, due_ns)
        self.stream.timestamp += ticks
        with self._lock:  # after the packet is on record, so that who waited finds it there
            if not self._queued and not self._events:
                self._idle.set()

    def _event_slot(self) -> tuple[int, list[EventPacket]] | None:
        with self._lock:
            if not self._events:
                return None
            payload_type, plan = self._events[0]
            if self._plan_slot < 0:
                self._plan_base = (self.stream.sequence, self.stream.timestamp)
            self._plan_slot += 1
            due = [packet for packet in plan if packet.slot == self._plan_slot]
            if self._plan_slot >= max(packet.slot for packet in plan):
                self._events.popleft()
                self._plan_slot = -1
                self.stream.sequence = self._plan_base[0] + 1 + max(packet.sequence_offset for packet in plan)
                self.stream.marker = True
            return payload_type, due

    def _send_event_packet(self, event: EventPacket, payload_type: int) -> None:
        sequence, timestamp = self._plan_base
        packet = RtpPacket(
            payload_type,
            sequence + event.sequence_offset,
            timestamp + event.timestamp_offset,
            self.stream.ssrc,
            event.payload(),
            marker=event.marker,
        )
        self._send(packet, first_sample=-1, samples=0, due_ns=None)

    def _send_audio(self, index: int, due_ns: int) -> None:
        wanted = self.codec.sample_rate_hz * self.ptime_ms // 1000
        place, pcm = self._take(wanted)
        if place < 0 and not self._options.silence:
            self.stream.marker = True
            return
        packet = RtpPacket(
            self.payload_type,
            self.stream.sequence,
            self.stream.timestamp,
            self.stream.ssrc,
            self.codec.encode(pcm),
            marker=self.stream.marker,
        )
        self.stream.sequence += 1
        self.stream.marker = False
        loss = self._options.loss_pattern
        if loss and loss[index % len(loss)]:
            self.counters.withheld += 1
            return
        self._send(packet, first_sample=place, samples=wanted, due_ns=due_ns)

    def _take(self, wanted: int) -> tuple[int, Samples]:
        """Samples of one packet and their place; silence has the place -1."""
        out = np.zeros(wanted, np.int16)
        with self._lock:
            place = self._taken if self._queued else -1
            filled = 0
            while filled < wanted and self._queue:
                chunk = self._queue.popleft()
                part = chunk[: wanted - filled]
                out[filled : filled + len(part)] = part
                filled += len(part)
                if len(part) < len(chunk):
                    self._queue.appendleft(chunk[len(part) :])
            self._queued -= filled
            self._taken += filled
        return place, out

    def _send(self, packet: RtpPacket, *, first_sample: int, samples: int, due_ns: int | None) -> None:
        data = packet.pack()
        now_ns = time.monotonic_ns()
        try:
            self._socket.sendto(data, self.remote)
        except OSError:  # ECONNREFUSED when the peer's port has gone: the test sees the counter
            self.counters.failed += 1
            return
        self.counters.sent += 1
        if due_ns is not None:
            lateness_ms = (now_ns - due_ns) / 1e6
            self.counters.late += lateness_ms > 5.0
            self.counters.worst_lateness_ms = max(self.counters.worst_lateness_ms, lateness_ms)
        if len(self.packets) < PACKETS_KEPT:
            self.packets.append(
                SentPacket(packet.sequence & 0xFFFF, packet.timestamp & 0xFFFFFFFF, now_ns, first_sample, samples)
            )

    def renumber(self, *, ssrc: int | None = None, sequence: int | None = None, timestamp: int | None = None) -> None:
        """Jump: the next packet has these numbers (a PBX that switches its source mid-call)."""
        current = self.stream
        self.stream = replace(
            current,
            ssrc=current.ssrc if ssrc is None else ssrc,
            sequence=current.sequence if sequence is None else sequence,
            timestamp=current.timestamp if timestamp is None else timestamp,
            marker=True,
        )


def _pick(given: int | None, chosen: random.Random, bits: int) -> int:
    return chosen.getrandbits(bits) if given is None else given

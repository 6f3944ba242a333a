"""The receiving half of a test call: every packet with its arrival time, and the audio that they make."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from voxtrunk.bench.codecs import Codec
from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.rtp import RtpPacket, timestamp_distance

PACKETS_KEPT: Final = 200_000
"""Over an hour at 20 ms; later packets are only counted."""

SO_TIMESTAMPNS: Final = 35
"""Linux <asm-generic/socket.h>; the socket module does not name it."""

_TIMESPEC: Final = struct.Struct("=qq")
_POLL_S: Final = 0.2
_OLDEST_STAMP_NS: Final = 10_000_000_000


@dataclass(frozen=True, slots=True)
class ReceivedPacket:
    """A packet, when the kernel got it (monotonic ns), and who sent it."""

    packet: RtpPacket
    arrival_ns: int
    source: tuple[str, int]


@dataclass(frozen=True, slots=True)
class ReceivedAudio:
    """What a listener would hear of one SSRC, put in order by timestamp, gaps filled with silence.

    Attributes:
        pcm: int16, shape (n,), at the codec's rate.
        first_samples: place in ``pcm`` where each packet's audio begins, shape (p,).
        arrivals_ns: monotonic arrival of each packet, shape (p,).
        missing: sequence numbers that never came.
        duplicates: packets that came twice.
    """

    pcm: Samples
    first_samples: NDArray[np.int64]
    arrivals_ns: NDArray[np.int64]
    missing: int
    duplicates: int


class RtpReceiver:
    """A thread that reads one socket until it is stopped."""

    def __init__(self, sock: socket.socket) -> None:
        """
        Args:
            sock: bound UDP socket.
        """
        self._socket = sock
        self._has_stamps = _enable_stamps(sock)
        self._lock = threading.Condition()
        self._packets: list[ReceivedPacket] = []
        self.malformed = 0
        self.overflowed = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rtp-receiver", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait; may be called twice, or without a start."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def packets(self, since: int = 0) -> list[ReceivedPacket]:
        """A copy of what has come, from the given place on."""
        with self._lock:
            return self._packets[since:]

    @property
    def count(self) -> int:
        """Packets so far."""
        with self._lock:
            return len(self._packets)

    def wait_for(self, count: int, timeout_s: float) -> list[ReceivedPacket]:
        """Wait until that many packets have come, in all.

        Raises:
            TimeoutError: fewer came.
        """
        with self._lock:
            if not self._lock.wait_for(lambda: len(self._packets) >= count, timeout_s):
                raise TimeoutError(f"{len(self._packets)} RTP packets within {timeout_s} s, not {count}")
            return list(self._packets)

    def _run(self) -> None:
        while not self._stopping.is_set():
            ready, _, _ = select.select([self._socket], [], [], _POLL_S)
            if ready:
                self._read()

    def _read(self) -> None:
        try:
            data, ancillary, _, source = self._socket.recvmsg(4096, 128, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionRefusedError):
            return
        arrival_ns = self._arrival_ns(ancillary)
        try:
            packet = RtpPacket.unpack(data)
        except ValueError:
            self.malformed += 1
            return
        with self._lock:
            if len(self._packets) >= PACKETS_KEPT:
                self.overflowed += 1
            else:
                self._packets.append(ReceivedPacket(packet, arrival_ns, source))
            self._lock.notify_all()

    def _arrival_ns(self, ancillary: Sequence[tuple[int, int, bytes]]) -> int:
        now_ns = time.monotonic_ns()
        for level, kind, data in ancillary if self._has_stamps else ():
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) >= 16:
                seconds, nanoseconds = _TIMESPEC.unpack_from(data)
                # The kernel stamps in wall-clock time: only its age is used, so a clock step spoils one packet.
                age_ns: int = time.clock_gettime_ns(time.CLOCK_REALTIME) - (seconds * 1_000_000_000 + nanoseconds)
                if 0 <= age_ns < _OLDEST_STAMP_NS:
                    return now_ns - age_ns
        return now_ns


def _enable_stamps(sock: socket.socket) -> bool:
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def audio_of(
    packets: Sequence[ReceivedPacket],
    codec: Codec,
    *,
    payload_type: int | None = None,
    ssrc: int | None = None,
) -> ReceivedAudio:
    """Decode the packets of one stream.

    Args:
        packets: as received.
        codec: a fresh decoder.
        payload_type: only these; default: the codec's own.
        ssrc: only these; default: the first packet's.
    """
    wanted = codec.payload_type if payload_type is None else payload_type
    chosen = [item for item in packets if item.packet.payload_type == wanted]
    if chosen and ssrc is None:
        ssrc = chosen[0].packet.ssrc
    chosen = [item for item in chosen if item.packet.ssrc == ssrc]
    unique: dict[int, ReceivedPacket] = {}
    for item in chosen:
        unique.setdefault(timestamp_distance(item.packet.timestamp, chosen[0].packet.timestamp), item)
    ordered = sorted(unique.items())
    if not ordered:
        return ReceivedAudio(np.zeros(0, np.int16), np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 0)
    rate = codec.sample_rate_hz / codec.clock_rate_hz
    first_tick = ordered[0][0]
    places = [round((tick - first_tick) * rate) for tick, _ in ordered]
    decoded = [codec.decode(item.packet.payload) for _, item in ordered]
    pcm = np.zeros(places[-1] + len(decoded[-1]), np.int16)
    for place, part in zip(places, decoded, strict=True):
        pcm[place : place + len(part)] = part[: len(pcm) - place]
    sequences = {item.packet.sequence for _, item in ordered}
    span = (ordered[-1][1].packet.sequence - ordered[0][1].packet.sequence) % 65536 + 1
    return ReceivedAudio(
        pcm=pcm,
        first_samples=np.array(places, np.int64),
        arrivals_ns=np.array([item.arrival_ns for _, item in ordered], np.int64),
        missing=max(0, span - len(sequences)) if len(ordered) < 65536 else 0,
        duplicates=len(chosen) - len(ordered),
    )

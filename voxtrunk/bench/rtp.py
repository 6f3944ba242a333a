"""RTP packets as bytes (RFC 3550 s5.1)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

HEADER_BYTES: Final = 12
_SEQUENCE_MODULUS: Final = 1 << 16
_TIMESTAMP_MODULUS: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One packet; sequence and timestamp wrap when packed.

    Attributes:
        payload_type: 0..127.
        sequence: 16 bits.
        timestamp: 32 bits, in units of the payload's clock.
        ssrc: 32 bits.
        payload: what the codec made.
        marker: first packet after silence (RFC 3551 s4.1).
        csrcs: contributing sources, at most 15.
        extension: (profile, data) of a header extension; the data's length is a multiple of four.
        padding_bytes: 0..255 octets appended.
    """

    payload_type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes
    marker: bool = False
    csrcs: tuple[int, ...] = ()
    extension: tuple[int, bytes] | None = None
    padding_bytes: int = 0

    def pack(self) -> bytes:
        """The datagram.

        Raises:
            ValueError: a field is out of range.
        """
        if not 0 <= self.payload_type <= 127:
            raise ValueError("RTP payload type is out of range")
        if len(self.csrcs) > 15:
            raise ValueError("RTP packet has too many CSRCs")
        first = 0x80 | bool(self.padding_bytes) << 5 | (self.extension is not None) << 4 | len(self.csrcs)
        head = struct.pack(
            "!BBHII",
            first,
            self.marker << 7 | self.payload_type,
            self.sequence % _SEQUENCE_MODULUS,
            self.timestamp % _TIMESTAMP_MODULUS,
            self.ssrc,
        )
        parts = [head, *(struct.pack("!I", csrc) for csrc in self.csrcs)]
        if self.extension is not None:
            profile, data = self.extension
            if len(data) % 4:
                raise ValueError("RTP header extension is not a multiple of 4 octets")
            parts += [struct.pack("!HH", profile, len(data) // 4), data]
        parts.append(self.payload)
        if self.padding_bytes:
            parts.append(bytes(self.padding_bytes - 1) + bytes([self.padding_bytes]))
        return b"".join(parts)

    @classmethod
    def unpack(cls, data: bytes) -> RtpPacket:
        """Parse a datagram.

        Raises:
            ValueError: it is not RTP version 2 or is cut short; one exact sentence.
        """
        if len(data) < HEADER_BYTES:
            raise ValueError("RTP packet is shorter than its header")
        first, second, sequence, timestamp, ssrc = struct.unpack_from("!BBHII", data)
        if first >> 6 != 2:
            raise ValueError("RTP version is not 2")
        position = HEADER_BYTES + 4 * (first & 0x0F)
        if len(data) < position:
            raise ValueError("RTP packet has truncated CSRCs")
        csrcs = struct.unpack_from(f"!{first & 0x0F}I", data, HEADER_BYTES)
        extension = None
        if first & 0x10:
            if len(data) < position + 4:
                raise ValueError("RTP packet has a truncated extension header")
            profile, words = struct.unpack_from("!HH", data, position)
            position += 4
            if len(data) < position + 4 * words:
                raise ValueError("RTP packet has truncated extension data")
            extension = (profile, data[position : position + 4 * words])
            position += 4 * words
        end = len(data)
        padding_bytes = data[-1] if first & 0x20 else 0
        if first & 0x20 and not 0 < padding_bytes <= end - position:
            raise ValueError("RTP packet has an invalid padding length")
        return cls(
            payload_type=second & 0x7F,
            sequence=sequence,
            timestamp=timestamp,
            ssrc=ssrc,
            payload=data[position : end - padding_bytes],
            marker=bool(second & 0x80),
            csrcs=tuple(csrcs),
            extension=extension,
            padding_bytes=padding_bytes,
        )


def sequence_distance(newer: int, older: int) -> int:
    """Signed distance on the 16-bit circle, -32768..32767."""
    return (newer - older + 0x8000) % _SEQUENCE_MODULUS - 0x8000


def timestamp_distance(newer: int, older: int) -> int:
    """Signed distance on the 32-bit circle."""
    return (newer - older + 0x80000000) % _TIMESTAMP_MODULUS - 0x80000000

"""The four codecs of the bot, for the other end of the line: int16 samples to RTP payload and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Final, Literal

import av
import numpy as np

from voxtrunk.bench import g711
from voxtrunk.bench.g711 import Samples


class Codec(ABC):
    """One direction pair of one call; G.722 and Opus keep state, so never share one between streams.

    Attributes:
        name: encoding name of the rtpmap (RFC 8866 s6.6).
        rtpmap: the rtpmap value, e.g. ``opus/48000/2``.
        payload_type: default RTP payload type.
        sample_rate_hz: rate of the PCM that goes in and out.
        clock_rate_hz: RTP timestamp rate (G.722 says 8000 by a historical error, RFC 3551 s4.5.2).
    """

    name: str
    rtpmap: str
    payload_type: int
    sample_rate_hz: int
    clock_rate_hz: int

    @abstractmethod
    def encode(self, pcm: Samples) -> bytes:
        """int16, mono, shape (n,) -> payload of one packet."""

    @abstractmethod
    def decode(self, payload: bytes) -> Samples:
        """Payload of one packet -> int16, mono, shape (n,)."""


class Pcmu(Codec):
    """G.711 mu-law (RFC 3551 s4.5.14)."""

    name, rtpmap, payload_type, sample_rate_hz, clock_rate_hz = "PCMU", "PCMU/8000", 0, 8000, 8000

    def encode(self, pcm: Samples) -> bytes:
        return g711.encode_mu_law(pcm)

    def decode(self, payload: bytes) -> Samples:
        return g711.decode_mu_law(payload)


class Pcma(Codec):
    """G.711 A-law (RFC 3551 s4.5.14)."""

    name, rtpmap, payload_type, sample_rate_hz, clock_rate_hz = "PCMA", "PCMA/8000", 8, 8000, 8000

    def encode(self, pcm: Samples) -> bytes:
        return g711.encode_a_law(pcm)

    def decode(self, payload: bytes) -> Samples:
        return g711.decode_a_law(payload)


class _AvCodec(Codec):
    """A codec of FFmpeg, through PyAV."""

    _encoder_name: str
    _decoder_name: str

    def __init__(self) -> None:
        self._encoder = self._context(self._encoder_name, "w")
        self._decoder = self._context(self._decoder_name, "r")

    def _context(self, name: str, mode: Literal["r", "w"]) -> av.AudioCodecContext:
        context = av.CodecContext.create(av.Codec(name, mode))
        assert isinstance(context, av.AudioCodecContext)
        context.sample_rate = self.sample_rate_hz
        context.layout = "mono"
        if mode == "w":
            context.format = "s16"
            context.time_base = Fraction(1, self.sample_rate_hz)
        return context

    def encode(self, pcm: Samples) -> bytes:
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = self.sample_rate_hz
        return b"".join(bytes(packet) for packet in self._encoder.encode(frame))

    def decode(self, payload: bytes) -> Samples:
        parts = [_mono(frame) for frame in self._decoder.decode(av.Packet(payload))]
        return np.concatenate(parts) if parts else np.zeros(0, np.int16)


def _mono(frame: av.AudioFrame) -> Samples:
    data = frame.to_ndarray()
    channels = len(frame.layout.channels)
    wide = data.reshape(-1, channels).T if not frame.format.is_planar else data
    mono = wide.astype(np.float64).mean(axis=0)
    if data.dtype.kind == "f":
        mono = np.clip(mono, -1.0, 1.0) * 32767
    samples: Samples = np.rint(mono).astype(np.int16)
    return samples


class G722(_AvCodec):
    """G.722 at 64 kbit/s (RFC 3551 s4.5.2)."""

    name, rtpmap, payload_type, sample_rate_hz, clock_rate_hz = "G722", "G722/8000", 9, 16000, 8000
    _encoder_name = _decoder_name = "g722"


class Opus(_AvCodec):
    """Opus in mono, declared as two channels as RFC 7587 s7 demands; 20 ms packets only."""

    name, rtpmap, payload_type, sample_rate_hz, clock_rate_hz = "opus", "opus/48000/2", 96, 48000, 48000
    _encoder_name, _decoder_name = "libopus", "libopus"


CODECS: Final[dict[str, type[Codec]]] = {"PCMU": Pcmu, "PCMA": Pcma, "G722": G722, "opus": Opus}

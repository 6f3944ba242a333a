"""Which packets carry a voice, on both sides of a test call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.phone import Phone
from voxtrunk.bench.rtp_receiver import ReceivedAudio
from voxtrunk.bench.rtp_sender import SentPacket

VOICED_DBFS: Final = -45.0
"""A packet of the bot at or above this level is voice; its pauses are digital silence."""

BELOW_PEAK_DB: Final = 35.0
"""A packet of a recording this far below its loudest one is not voice: recordings have a noise floor."""

_POLL_S: Final = 0.05


def level_dbfs(pcm: Samples) -> float:
    """RMS level of int16 samples; -180 for silence."""
    if not len(pcm):
        return -180.0
    return float(20 * np.log10(np.sqrt(np.mean(pcm.astype(np.float64) ** 2)) / 32768 + 1e-9))


def packet_levels_dbfs(heard: ReceivedAudio) -> NDArray[np.float64]:
    """Level of each received packet, shape (p,)."""
    pieces = np.split(heard.pcm, heard.first_samples[1:]) if len(heard.first_samples) else []
    return np.array([level_dbfs(piece) for piece in pieces], np.float64)


def last_voiced_sent(speech: Samples, sent: Sequence[SentPacket], place: int) -> SentPacket:
    """The packet that carried the last voiced samples of a recording.

    Args:
        speech: the recording, at the codec's rate.
        sent: packets that left.
        place: what ``RtpSender.play`` returned for it.

    Raises:
        ValueError: the recording was not sent.
    """
    carriers = [packet for packet in sent if place <= packet.first_sample < place + len(speech)]
    if not carriers:
        raise ValueError("the recording was not sent")
    levels = [level_dbfs(speech[p.first_sample - place : p.first_sample - place + p.samples]) for p in carriers]
    floor = max(levels) - BELOW_PEAK_DB
    return [packet for packet, level in zip(carriers, levels, strict=True) if level >= floor][-1]


def first_voiced_ns(heard: ReceivedAudio, after_ns: int) -> int | None:
    """Arrival of the first voiced packet after a time; None when there is none."""
    late = heard.arrivals_ns > after_ns
    voiced = heard.arrivals_ns[late & (packet_levels_dbfs(heard) >= VOICED_DBFS)]
    return int(voiced[0]) if len(voiced) else None


def wait_voice(phone: Phone, after_ns: int, timeout_s: float) -> int:
    """Wait for the bot to speak; returns the arrival of its first voiced packet after a time.

    Raises:
        TimeoutError: it says nothing.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        at_ns = first_voiced_ns(_heard(phone), after_ns)
        if at_ns is not None:
            return at_ns
        time.sleep(_POLL_S)
    raise TimeoutError(f"the bot said nothing within {timeout_s} s")


def wait_quiet(phone: Phone, quiet_ms: float, timeout_s: float) -> int:
    """Wait until the bot has been silent for a while; returns the arrival of its last voiced packet, or 0.

    Raises:
        TimeoutError: it goes on speaking.
    """
    began_ns = time.monotonic_ns()
    while time.monotonic_ns() - began_ns < timeout_s * 1e9:
        heard = _heard(phone)
        voiced = heard.arrivals_ns[packet_levels_dbfs(heard) >= VOICED_DBFS]
        last_ns = int(voiced[-1]) if len(voiced) else 0
        if time.monotonic_ns() - max(last_ns, began_ns) >= quiet_ms * 1e6:
            return last_ns
        time.sleep(_POLL_S)
    raise TimeoutError(f"the bot is still speaking after {timeout_s} s")


def _heard(phone: Phone) -> ReceivedAudio:
    return phone.media.heard(payload_type=phone.media.sender.payload_type)

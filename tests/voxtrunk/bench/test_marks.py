"""The marked signal is found to a fraction of a millisecond, and every kind of fault is told apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from voxtrunk.bench.codecs import CODECS
from voxtrunk.bench.g711 import Samples, decode_mu_law, encode_mu_law
from voxtrunk.bench.marks import MarkReport, find_marks, marked_signal
from voxtrunk.bench.rtp_receiver import ReceivedAudio
from voxtrunk.bench.rtp_sender import SentPacket

RATE = 8000
FRAME = 160
SIGNAL = marked_signal(5, RATE, 3.0)


def sent_packets(signal: Samples, frame: int = FRAME) -> list[SentPacket]:
    return [SentPacket(n, n * frame, n * 20_000_000, n * frame, frame) for n in range(len(signal) // frame)]


def heard_audio(pcm: Samples, delay_ms: float, frame: int = FRAME) -> ReceivedAudio:
    count = len(pcm) // frame
    arrivals = np.array([int(delay_ms * 1e6) + n * 20_000_000 for n in range(count)], np.int64)
    return ReceivedAudio(pcm[: count * frame], np.arange(count, dtype=np.int64) * frame, arrivals, 0, 0)


def report(change: Callable[[Samples], Samples], delay_ms: float = 45.0) -> MarkReport:
    return find_marks(SIGNAL, sent_packets(SIGNAL), heard_audio(change(SIGNAL), delay_ms), RATE)


def test_signal_is_deterministic_inside_the_band_and_at_its_level() -> None:
    assert np.array_equal(SIGNAL, marked_signal(5, RATE, 3.0))
    assert not np.array_equal(SIGNAL, marked_signal(6, RATE, 3.0))
    spectrum = np.abs(np.fft.rfft(SIGNAL.astype(float))) ** 2
    frequencies = np.fft.rfftfreq(len(SIGNAL), 1 / RATE)
    inside = (frequencies > 340) & (frequencies < 3310)
    assert spectrum[inside].sum() / spectrum.sum() > 0.999
    assert np.std(SIGNAL) == pytest.approx(32767 * 10 ** (-18 / 20), rel=0.01)


def test_every_frame_has_the_delay_of_the_line() -> None:
    result = report(lambda pcm: decode_mu_law(encode_mu_law(pcm)))
    assert len(result.frames) == len(SIGNAL) // FRAME
    assert [frame.delay_ms for frame in result.frames] == pytest.approx([45.0] * len(result.frames), abs=0.02)
    assert (result.gaps, result.silent, result.unmatched, result.skipped_ms, result.repeated_ms) == (
        0,
        0,
        0,
        0,
        0,
    )
    assert min(frame.match for frame in result.frames) > 0.98


def test_a_shift_inside_the_packet_counts_as_delay() -> None:
    shifted = report(lambda pcm: np.concatenate((np.zeros(24, np.int16), pcm))[: len(pcm)])
    assert [frame.delay_ms for frame in shifted.frames[2:]] == pytest.approx(
        [48.0] * (len(shifted.frames) - 2), abs=0.02
    )


def test_half_a_sample_is_seen() -> None:
    def half_sample_later(pcm: Samples) -> Samples:
        spectrum = np.fft.rfft(pcm.astype(float))
        turned = spectrum * np.exp(-1j * np.pi * np.arange(len(spectrum)) / len(pcm))
        return np.rint(np.fft.irfft(turned, len(pcm))).astype(np.int16)

    result = report(half_sample_later)
    assert np.median([frame.delay_ms for frame in result.frames]) == pytest.approx(45.0625, abs=0.01)
    assert min(frame.match for frame in result.frames[1:]) > 0.9


def test_a_frame_left_out_is_skipped_audio() -> None:
    result = report(lambda pcm: np.concatenate((pcm[: 50 * FRAME], pcm[51 * FRAME :])))
    assert result.gaps == 1
    assert result.skipped_ms == pytest.approx(20.0, abs=0.1)
    assert result.repeated_ms == 0
    assert result.frames[60].delay_ms == pytest.approx(25.0, abs=0.02)


def test_a_frame_twice_is_repeated_audio() -> None:
    result = report(lambda pcm: np.concatenate((pcm[: 51 * FRAME], pcm[50 * FRAME :])))
    assert (result.gaps, result.skipped_ms) == (1, 0)
    assert result.repeated_ms == pytest.approx(20.0, abs=0.1)


def test_a_frame_of_silence_instead_is_silent_and_nothing_else() -> None:
    def muted(pcm: Samples) -> Samples:
        out = pcm.copy()
        out[50 * FRAME : 51 * FRAME] = 0
        return out

    result = report(muted)
    assert (result.silent, result.gaps, result.unmatched) == (1, 0, 0)
    assert len(result.frames) == len(SIGNAL) // FRAME - 1


def test_foreign_audio_is_not_ours() -> None:
    def dubbed(pcm: Samples) -> Samples:
        out = pcm.copy()
        out[50 * FRAME : 53 * FRAME] = marked_signal(6, RATE, 1.0)[: 3 * FRAME]
        return out

    assert report(dubbed).unmatched == 3


def test_another_callers_signal_is_never_found() -> None:
    other = marked_signal(6, RATE, 3.0)
    result = find_marks(SIGNAL, sent_packets(SIGNAL), heard_audio(other, 45.0), RATE)
    assert result.frames == ()


@pytest.mark.parametrize("name", ["PCMA", "G722", "opus"])
def test_the_signal_survives_the_other_codecs(name: str) -> None:
    codec = CODECS[name]()
    frame = codec.sample_rate_hz // 50
    signal = marked_signal(5, codec.sample_rate_hz, 2.0)
    heard = np.concatenate([codec.decode(codec.encode(signal[n : n + frame])) for n in range(0, len(signal), frame)])
    result = find_marks(signal, sent_packets(signal, frame), heard_audio(heard, 45.0, frame), codec.sample_rate_hz)
    assert len(result.frames) >= 97
    assert result.gaps == 0
    delays = np.array([item.delay_ms for item in result.frames])
    assert np.ptp(delays) < 1.0
    assert np.median(delays) == pytest.approx(45.0, abs=8.0)  # the codec's own delay


def test_nothing_came_back() -> None:
    empty = ReceivedAudio(np.zeros(0, np.int16), np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 0)
    assert find_marks(SIGNAL, sent_packets(SIGNAL), empty, RATE).frames == ()
    assert find_marks(SIGNAL, [], heard_audio(SIGNAL, 1.0), RATE).frames == ()

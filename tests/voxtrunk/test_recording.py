"""Recordings of any rate."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from telephony.leg import TelephonyError
from voxtrunk.recording import DEMO_SPEECH, load_recording


def write(path: Path, samples: np.ndarray, rate_hz: int, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(samples.dtype.itemsize)
        file.setframerate(rate_hz)
        file.writeframes(samples.tobytes())
    return path


@pytest.mark.parametrize("rate_hz", [8000, 16_000, 22_050, 44_100, 48_000])
def test_any_rate_becomes_16_khz(tmp_path: Path, rate_hz: int) -> None:
    at_s = np.arange(rate_hz) / rate_hz
    path = write(tmp_path / "a.wav", (8000 * np.sin(2 * np.pi * 500 * at_s)).astype(np.int16), rate_hz)
    pcm = load_recording(path)
    assert pcm.dtype == np.float32 and len(pcm) == pytest.approx(16_000, abs=2)
    assert np.argmax(np.abs(np.fft.rfft(pcm))) == pytest.approx(500, abs=1)
    assert np.abs(pcm[2000:14_000]).max() == pytest.approx(8000 / 32768, rel=0.02)


def test_channels_are_averaged(tmp_path: Path) -> None:
    stereo = np.tile(np.array([1000, 3000], np.int16), 1600)
    pcm = load_recording(write(tmp_path / "a.wav", stereo, 16_000, channels=2))
    assert len(pcm) == 1600 and np.allclose(pcm, 2000 / 32768)


def test_what_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(TelephonyError, match=r"none\.wav: not a readable WAV file"):
        load_recording(tmp_path / "none.wav")
    (tmp_path / "text.wav").write_text("hello")
    with pytest.raises(TelephonyError, match=r"text\.wav: not a readable WAV file"):
        load_recording(tmp_path / "text.wav")
    with pytest.raises(TelephonyError, match="32 bit samples; wanted 16 bit"):
        load_recording(write(tmp_path / "deep.wav", np.zeros(10, np.int32), 16_000))


def test_the_packaged_recording_is_speech() -> None:
    pcm = load_recording(DEMO_SPEECH)
    assert 2.5 < len(pcm) / 16_000 < 3.5
    assert np.abs(pcm).max() > 0.3

"""A recording through the vocoder and back into a file."""

from __future__ import annotations

import dataclasses
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from synth.mel import OURS, MelDefinition
from synth.vocoder_file import VocoderError
from telephony.leg import TelephonyError
from tests.synth.fake_vocoder import FakeVocoder, burst, centre
from voxtrunk import vocode
from voxtrunk.recording import DEMO_SPEECH, load_recording
from voxtrunk.vocode import vocode_file

SHIPPED = Path(vocode.__file__).parents[1] / "synth" / "models" / "bigvgan-nano.int8.onnx"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeVocoder:
    made = FakeVocoder()
    monkeypatch.setattr("synth.vocoder_file.VocoderFile.open", lambda path: made.file)
    monkeypatch.setattr("voxtrunk.vocode.Vocoder.open", lambda path, chunk_frames: made)
    return made


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 44_100])
@pytest.mark.parametrize("channels", [1, 2])
def test_same_length_and_timing(rate_hz: int, channels: int, fake: FakeVocoder, tmp_path: Path) -> None:
    pcm = np.interp(np.arange(rate_hz) / rate_hz, np.arange(16_000) / 16_000, burst())
    soundfile.write(tmp_path / "in.wav", np.tile(pcm[:, None], channels), rate_hz)
    told = vocode_file(tmp_path / "in.wav", tmp_path / "out.wav", Path("fake.onnx"))
    with wave.open(str(tmp_path / "out.wav")) as written:
        assert (written.getnchannels(), written.getframerate(), written.getnframes()) == (1, 16_000, 16_000)
    assert centre(load_recording(tmp_path / "out.wav")) == pytest.approx(8_400, abs=150)
    assert told.startswith(f"{tmp_path / 'out.wav'}: 1.00 s through fake (int8), real-time factor ")
    assert told.endswith("delay 25.0 ms beyond the chunk")


def test_a_model_of_another_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeVocoder) -> None:
    other: MelDefinition = dataclasses.replace(OURS, sample_rate_hz=32_000)
    made = FakeVocoder(takes_f0=False, definition=other)
    monkeypatch.setattr("synth.vocoder_file.VocoderFile.open", lambda path: made.file)
    monkeypatch.setattr("voxtrunk.vocode.Vocoder.open", lambda path, chunk_frames: made)
    soundfile.write(tmp_path / "in.wav", burst(), 16_000)
    vocode_file(tmp_path / "in.wav", tmp_path / "out.wav", Path("fake.onnx"))
    assert soundfile.info(tmp_path / "out.wav").frames == 16_000
    assert soundfile.info(tmp_path / "out.wav").samplerate == 16_000


@pytest.mark.parametrize("chunk_ms", [0.0, 15.0, 4.0])
def test_chunks_are_whole_frames(chunk_ms: float, fake: FakeVocoder, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "in.wav", burst(), 16_000)
    with pytest.raises(VocoderError, match="frames of 10 ms"):
        vocode_file(tmp_path / "in.wav", tmp_path / "out.wav", Path("fake.onnx"), chunk_ms)


def test_no_recording(fake: FakeVocoder, tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("no sound")
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), 16_000)
    for name, reason in (("none.wav", "readable"), ("text.wav", "readable"), ("empty.wav", "nothing in it")):
        with pytest.raises(TelephonyError, match=f"{name}: .*{reason}"):
            vocode_file(tmp_path / name, tmp_path / "out.wav", Path("fake.onnx"))
    assert not (tmp_path / "out.wav").exists()


def test_speech_through_the_shipped_model(tmp_path: Path) -> None:
    told = vocode_file(DEMO_SPEECH, tmp_path / "out.wav", SHIPPED)
    original, copy = load_recording(DEMO_SPEECH), load_recording(tmp_path / "out.wav")
    assert len(copy) == len(original) and "bigvgan-nano (int8)" in told
    loudness = [
        np.sqrt(np.mean(pcm[: len(pcm) // 800 * 800].reshape(-1, 800) ** 2, axis=1)) for pcm in (original, copy)
    ]
    assert np.corrcoef(*loudness)[0, 1] > 0.95

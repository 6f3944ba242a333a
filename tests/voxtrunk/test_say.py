"""A text in a WAV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synth.settings import SynthSettings
from synth.synthesizer import SynthesisError
from voxtrunk.recording import load_recording
from voxtrunk.say import say_to_file


async def test_speech_is_in_the_file(tmp_path: Path) -> None:
    out = tmp_path / "hello.wav"
    told = await say_to_file(SynthSettings(), "Hello, nice to meet you.", out)
    pcm = load_recording(out)
    assert told.startswith(f"{out}: {len(pcm) / 16_000:.2f} s of speech, made in ")
    assert len(pcm) > 16_000 and np.sqrt(np.mean(pcm**2)) > 0.01


async def test_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match="nothing to say"):
        await say_to_file(SynthSettings(), "...", tmp_path / "a.wav")
    assert not (tmp_path / "a.wav").exists()


async def test_a_voice_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match="nobody"):
        await say_to_file(SynthSettings(voice="nobody"), "Hello.", tmp_path / "a.wav")

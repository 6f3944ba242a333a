"""Text to frames: mel and F0 belong to the same samples, whatever the vocoder's mel."""

from __future__ import annotations

import numpy as np
import pytest

from synth.acoustic import AcousticModel
from synth.mel import OURS, MelDefinition, log_mel
from synth.pitch import pitch_track
from synth.settings import SynthSettings

CENTRED = MelDefinition(24_000, 256, 1024, 1024, 100, 0.0, 12_000.0, 384)
TEXT = "This is six, the ship's first test."


@pytest.fixture(scope="module")
def model() -> AcousticModel:
    return AcousticModel(SynthSettings())


def test_frames_cover_the_speech(model: AcousticModel) -> None:
    spoken = model.speak(TEXT)
    assert spoken.pcm.dtype == spoken.mel.dtype == spoken.f0_hz.dtype == np.float32
    assert spoken.mel.shape == (80, len(spoken.f0_hz)) and len(spoken.pcm) == 160 * len(spoken.f0_hz)
    np.testing.assert_allclose(spoken.mel, log_mel(spoken.pcm), atol=1e-5)


def test_f0_is_that_of_the_samples(model: AcousticModel) -> None:
    """A tracker that hears only the samples agrees, best where neither is shifted."""
    spoken = model.speak(TEXT)
    tracked_hz = pitch_track(spoken.pcm)
    distance = []
    for shift in range(-4, 5):
        shifted_hz = np.roll(spoken.f0_hz, shift)
        both = (shifted_hz > 0) & (tracked_hz > 0)
        assert both.sum() > 0.25 * len(both)
        distance.append(float(np.median(np.abs(np.log2(tracked_hz[both] / shifted_hz[both])))))
    assert abs(int(np.argmin(distance)) - 4) <= 1
    assert min(distance) < 0.02


def test_another_mel(model: AcousticModel) -> None:
    """That of an official checkpoint: other rate, and frames that see what comes after their hop."""
    ours, spoken = model.speak(TEXT), model.speak(TEXT, CENTRED)
    assert spoken.mel.shape == (100, len(spoken.pcm) // 256) and len(spoken.pcm) % 256 == 0
    assert len(spoken.pcm) / 24_000 == pytest.approx(len(ours.pcm) / OURS.sample_rate_hz, abs=0.02)


@pytest.mark.parametrize("text", ["", "..."])
def test_nothing_to_say(text: str, model: AcousticModel) -> None:
    spoken = model.speak(text)
    assert len(spoken.pcm) == len(spoken.f0_hz) == spoken.mel.shape[1] == 0

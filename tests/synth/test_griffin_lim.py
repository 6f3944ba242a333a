"""Griffin-Lim finds a signal with the mel that it was given."""

from __future__ import annotations

import numpy as np
import pytest

from synth.griffin_lim import griffin_lim
from synth.mel import log_mel
from tests.synth.fake_vocoder import burst, centre


def test_the_mel_comes_back() -> None:
    phase = np.cumsum(np.linspace(120.0, 180.0, 16_000)) / 16_000
    pcm = (0.1 * sum(np.cos(2 * np.pi * k * phase + k * k) / k for k in range(1, 20))).astype(np.float32)
    mel = log_mel(pcm)
    found = griffin_lim(mel)
    assert found.shape == (16_000,) and found.dtype == np.float32
    strong = mel > mel.max() - 5.0
    errors = [np.abs(log_mel(griffin_lim(mel, rounds=rounds)) - mel)[strong].mean() for rounds in (0, 60)]
    assert errors[1] < 0.12 and errors[1] < errors[0] / 2


def test_it_is_in_time() -> None:
    pcm = burst()
    assert centre(griffin_lim(log_mel(pcm))) == pytest.approx(centre(pcm), abs=40)


def test_silence_and_nothing() -> None:
    assert np.abs(griffin_lim(log_mel(np.zeros(3200, np.float32)))).max() < 1e-3
    assert griffin_lim(np.zeros((80, 0), np.float32)).shape == (0,)

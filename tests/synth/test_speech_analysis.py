"""Mel and F0 side by side, in any chunks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from synth.mel import OURS, log_mel
from synth.pitch import CAREFUL, IMMEDIATE, PitchMode, pitch_track
from synth.speech_analysis import SpeechAnalysis

CENTRED = dataclasses.replace(OURS, lead_samples=240)


def speech(samples: int = 4000) -> np.ndarray:
    pulses = np.zeros(samples, np.float32)
    pulses[::130] = 0.5
    return pulses + 0.01 * np.random.default_rng(0).standard_normal(samples).astype(np.float32)


@pytest.mark.parametrize("size", [1, 37, 320, 4000])
@pytest.mark.parametrize("mode", [IMMEDIATE, CAREFUL], ids=["immediate", "careful"])
def test_frames_in_step(mode: PitchMode, size: int) -> None:
    pcm = speech(4130)
    analysis = SpeechAnalysis(OURS, True, mode)
    pieces = [analysis.push(pcm[at : at + size]) for at in range(0, len(pcm), size)] + [analysis.flush()]
    assert all(mel.shape[1] == len(f0_hz) for mel, f0_hz in pieces)
    np.testing.assert_allclose(np.concatenate([mel for mel, _ in pieces], axis=1), log_mel(pcm), atol=1e-5)
    np.testing.assert_array_equal(np.concatenate([f0_hz for _, f0_hz in pieces]), pitch_track(pcm, mode))


@pytest.mark.parametrize("definition", [OURS, CENTRED], ids=["causal", "centred"])
@pytest.mark.parametrize("mode", [IMMEDIATE, CAREFUL], ids=["immediate", "careful"])
@pytest.mark.parametrize("takes_f0", [True, False])
def test_two_frames_come_after_the_stated_delay(definition: object, mode: PitchMode, takes_f0: bool) -> None:
    analysis = SpeechAnalysis(definition, takes_f0, mode)
    needed = 320 + analysis.delay_samples
    early, _ = analysis.push(np.zeros(needed - 1, np.float32))
    late, _ = analysis.push(np.zeros(1, np.float32))
    assert early.shape[1] <= 1 and early.shape[1] + late.shape[1] == 2


def test_without_f0_it_is_zero() -> None:
    pcm = speech()
    analysis = SpeechAnalysis(CENTRED, False)
    pieces = [analysis.push(pcm), analysis.flush()]
    assert not any(f0_hz.any() for _, f0_hz in pieces)
    assert sum(mel.shape[1] for mel, _ in pieces) == 25


def test_f0_needs_our_grid() -> None:
    other = dataclasses.replace(OURS, sample_rate_hz=24_000, hop_samples=256)
    SpeechAnalysis(other, False)
    with pytest.raises(ValueError, match="does not fit a mel each 256 at 24000 Hz"):
        SpeechAnalysis(other, True)

"""Pseudo-speakers: another pitch and vocal tract, with an exact F0."""

from __future__ import annotations

import numpy as np
import pytest

from synth.train.pitch import PitchTracker
from synth.train.pseudo import PseudoSpeaker, PseudoVoice, sentences, warped

TEXT = "The meeting begins in a moment."


@pytest.fixture(scope="module")
def voice() -> PseudoVoice:
    return PseudoVoice()


@pytest.mark.parametrize("f0_hz", [95.0, 240.0])
def test_the_pitch_is_the_one_asked_for(voice: PseudoVoice, f0_hz: float) -> None:
    speaker = PseudoSpeaker(f0_hz=f0_hz, f0_range=1.0, warp=1.0, tilt=0.0, speed=1.0)
    pcm, track = voice.speak(TEXT, speaker, np.random.default_rng(0))
    assert len(pcm) == 160 * len(track)
    assert np.abs(pcm).max() <= 0.96
    found = PitchTracker().track(pcm)
    both = (found > 0) & (track > 0)
    assert both.mean() > 0.3
    assert np.median(np.abs(np.log(found[both] / track[both]))) < 0.03
    assert np.median(track[track > 0]) == pytest.approx(f0_hz, rel=0.05)


def test_a_longer_vocal_tract_moves_formants_down() -> None:
    spectrum = np.zeros((601, 2), np.float32)
    spectrum[100] = 1.0
    moved = warped(spectrum, 1.25)
    assert moved.shape == spectrum.shape
    assert np.argmax(moved[:, 0]) == 80
    np.testing.assert_array_equal(warped(spectrum, 1.0), spectrum)


def test_the_tilt_darkens(voice: PseudoVoice) -> None:
    dark, bright = (
        voice.speak(TEXT, PseudoSpeaker(150.0, 1.0, 1.0, tilt, 1.0), np.random.default_rng(0))[0]
        for tilt in (-0.3, 0.3)
    )
    treble = [float((np.abs(np.fft.rfft(pcm)) ** 2)[len(pcm) // 4 :].sum()) for pcm in (dark, bright)]
    assert treble[0] < 0.3 * treble[1]


def test_speakers_differ_and_stay_in_range() -> None:
    drawn = [PseudoSpeaker.draw(np.random.default_rng(seed)) for seed in range(100)]
    assert len({speaker.f0_hz for speaker in drawn}) == 100
    assert all(75.0 <= speaker.f0_hz <= 320.0 and 0.78 <= speaker.warp <= 1.32 for speaker in drawn)
    low = [speaker.warp for speaker in drawn if speaker.f0_hz < 110.0]
    high = [speaker.warp for speaker in drawn if speaker.f0_hz > 250.0]
    assert np.mean(low) > np.mean(high)


def test_texts_are_prompts_and_words(voice: PseudoVoice) -> None:
    words = voice.words()
    assert len(words) > 10_000
    texts = sentences(words, ["Please hold."], 4, np.random.default_rng(0))
    assert texts[0] == texts[2] == "Please hold."
    assert len(texts[1].split()) >= 6
    assert texts == sentences(words, ["Please hold."], 4, np.random.default_rng(0))

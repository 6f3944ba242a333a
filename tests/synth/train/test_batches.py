"""Batches depend on the seed and the step alone, and variants do what they say."""

from __future__ import annotations

import numpy as np
import pytest

from synth.train.batches import BatchMaker, coloured_noise, stretched, telephone_band, varied
from synth.train.corpus import Audio
from tests.synth.train.conftest import make_audio


def test_the_same_step_gives_the_same_batch(audios: list[Audio]) -> None:
    one, other = (BatchMaker(audios, batch=4, frames=30, seed=5) for _ in range(2))
    other.make(0)
    for left, right in zip(one.make(7), other.make(7), strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(one.make(7)[0], one.make(8)[0])
    assert not np.array_equal(one.make(7)[0], BatchMaker(audios, batch=4, frames=30, seed=6).make(7)[0])


def test_shapes_types_and_range(audios: list[Audio]) -> None:
    for step in range(20):
        pcm, f0_hz = BatchMaker(audios, batch=3, frames=40, seed=0).make(step)
        assert pcm.shape == (3, 6400)
        assert f0_hz.shape == (3, 40)
        assert pcm.dtype == f0_hz.dtype == np.float32
        assert np.abs(pcm).max() <= 1.0


def test_short_clips_are_joined() -> None:
    scraps = [make_audio("en", "train", seconds=0.3, seed=seed) for seed in range(3)]
    pcm, f0_hz = BatchMaker(scraps, batch=2, frames=100, seed=0).make(0)
    assert pcm.shape == (2, 16_000)
    assert f0_hz.shape == (2, 100)


def test_nothing_to_train_on_is_an_error() -> None:
    with pytest.raises(ValueError, match="no clips to train on; was the corpus prepared"):
        BatchMaker([], batch=1, frames=10, seed=0)


def test_slower_speech_is_longer_and_lower() -> None:
    tone = np.sin(2 * np.pi * 400.0 * np.arange(16_000) / 16_000).astype(np.float32)
    pcm, f0_hz = stretched(tone, np.full(100, 400.0, np.float32), 5, 4)
    assert len(pcm) == 20_000
    assert np.argmax(np.abs(np.fft.rfft(pcm))) * 16_000 / 20_000 == pytest.approx(320.0, abs=1.0)
    np.testing.assert_allclose(f0_hz, 320.0)
    assert len(f0_hz) == 125


def test_the_telephone_band_is_that_of_a_telephone() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(16_000).astype(np.float32)
    before, after = (np.abs(np.fft.rfft(signal)) for signal in (noise, telephone_band(noise, rng)))
    ratio = after / before
    assert ratio[50:60].mean() < 0.1
    assert ratio[600:3000].mean() == pytest.approx(1.0, abs=0.02)
    assert ratio[4200:].mean() < 0.01


def test_noise_has_unit_level() -> None:
    noise = coloured_noise(8000, np.random.default_rng(0))
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(1.0, abs=1e-3)


def test_variants_never_clip() -> None:
    rng = np.random.default_rng(0)
    loud = (0.9 * rng.standard_normal(4000)).astype(np.float32)
    assert max(np.abs(varied(loud, rng)).max() for _ in range(50)) <= 0.99

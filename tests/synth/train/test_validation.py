"""Validation: copies keep their timing, and scores say what they are of."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from synth.bigvgan import SIZES, BigVgan
from synth.train.validation import Score, choose, copy_synthesis, table, validate
from tests.synth.train.conftest import make_audio


def untrained() -> BigVgan:
    torch.manual_seed(0)
    return BigVgan(SIZES["tiny"])


def test_a_copy_has_the_length_and_timing_of_the_original() -> None:
    pcm = np.zeros(8000, np.float32)
    pcm[4000:4400] = np.random.default_rng(0).standard_normal(400) * 0.2
    copy = copy_synthesis(untrained(), pcm, np.zeros(50, np.float32))
    assert copy.shape == pcm.shape
    power = copy.astype(np.float64) ** 2
    assert (power * np.arange(8000)).sum() / power.sum() == pytest.approx(4200, abs=60)


def test_scores_by_speaker() -> None:
    audios = [make_audio("it", "unseen_speaker", 2.2), make_audio("en", "unseen_file", 2.2)]
    scores = validate(untrained(), audios)
    assert [(score.speaker, score.split, score.clips) for score in scores] == [
        ("en", "unseen_file", 1),
        ("it", "unseen_speaker", 1),
    ]
    assert all(1.0 < score.pesq_wb < 4.65 and 0.0 < score.stoi <= 1.0 and score.mel_l1 > 0 for score in scores)


def test_clips_too_short_for_pesq_are_not_chosen() -> None:
    long = [make_audio("it", "unseen_speaker", 2.5, seed) for seed in range(5)]
    chosen = choose([make_audio("it", "unseen_speaker", 0.5, 9), *long], by_speaker=2)
    assert [audio.clip.path for audio in chosen] == ["it/0.npz", "it/2.npz"]


def test_the_table_has_a_mean_by_split() -> None:
    scores = [
        Score("it", "unseen_speaker", 4, 3.0, 0.95, 0.3),
        Score("ru", "unseen_speaker", 4, 2.0, 0.93, 0.5),
        Score("en", "unseen_file", 4, 3.2, 0.97, 0.2),
    ]
    lines = table(scores).splitlines()
    assert len(lines) == 6
    assert lines[-1].split() == ["mean", "unseen_speaker", "2.500", "0.9400", "0.4000"]
    assert lines[1].split() == ["it", "unseen_speaker", "4", "3.000", "0.9500", "0.3000"]


def test_the_same_seed_gives_the_same_copy() -> None:
    audio = make_audio("it", "unseen_speaker", 0.5)
    pcm = audio.pcm.astype(np.float32) / 32768
    model = untrained()
    first, again, other = (copy_synthesis(model, pcm, audio.f0_hz, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.0

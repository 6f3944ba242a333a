"""Speech-like clips for the training tests: a few seconds of pulses with a moving pitch."""

from __future__ import annotations

import numpy as np
import pytest

from synth.bigvgan import SIZES, BigVganConfig
from synth.train.corpus import Audio, Clip, Split


def make_audio(speaker: str, split: Split, seconds: float = 2.5, seed: int = 0) -> Audio:
    rng = np.random.default_rng(seed)
    frames = int(seconds * 100)
    f0_hz = (130.0 + 40.0 * np.sin(np.arange(frames) / 20.0)).astype(np.float32)
    f0_hz[frames // 3 : frames // 2] = 0.0
    phase = np.cumsum(np.repeat(f0_hz, 160)) / 16_000
    pcm = sum(np.cos(2 * np.pi * k * phase) / k for k in range(1, 20)) * np.repeat(f0_hz > 0, 160)
    pcm = 0.1 * pcm + 0.01 * rng.standard_normal(frames * 160)
    return Audio(
        Clip(speaker, split, f"{speaker}/{seed}.npz", frames * 160), np.rint(pcm * 32767).astype(np.int16), f0_hz
    )


@pytest.fixture(autouse=True)
def tiny_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that trains in milliseconds, as ``--size tiny``."""
    monkeypatch.setitem(SIZES, "tiny", BigVganConfig("tiny", (12, 8), ((3, 7), (3,))))


@pytest.fixture
def audios() -> list[Audio]:
    return [make_audio("en", "train", seed=1), make_audio("fr", "train", seed=2), make_audio("pseudo", "train", seed=3)]

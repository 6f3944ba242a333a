"""A vocoder without a model: each frame becomes a hop of an 8 kHz tone, as loud as the frame, late by its lookahead."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from synth.mel import OURS, MelDefinition

LOOKAHEAD = 400
TONE = np.array([1.0, -1.0], np.float32)


class FakeStream:
    def __init__(self, owner: FakeVocoder) -> None:
        self._owner, self._late = owner, np.zeros(LOOKAHEAD, np.float32)
        self._waiting = np.zeros((OURS.bands, 0), np.float32)

    def push(self, mel: np.ndarray, f0_hz: np.ndarray | None = None) -> np.ndarray:
        assert (f0_hz is not None) == self._owner.file.takes_f0
        if f0_hz is not None:
            assert f0_hz.shape == (mel.shape[1],)
            self._owner.f0_hz.extend(f0_hz)
        mel = np.concatenate([self._waiting, mel], axis=1)
        whole = mel.shape[1] // 2 * 2
        self._waiting = mel[:, whole:]
        made = np.repeat(np.exp(mel[:, :whole]).mean(axis=0), 160).astype(np.float32) * np.tile(TONE, 80 * whole)
        made = np.concatenate([self._late, made])
        self._late = made[len(made) - LOOKAHEAD :]
        return made[: len(made) - LOOKAHEAD]

    def flush(self) -> np.ndarray:
        silent = np.full((OURS.bands, 3 + (self._waiting.shape[1] + 1) % 2), np.log(1e-5), np.float32)
        return self.push(silent, np.zeros(silent.shape[1], np.float32) if self._owner.file.takes_f0 else None)

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeVocoder:
    """Looks like :class:`synth.vocoder.Vocoder`; keeps the F0 that it was given."""

    def __init__(self, *, takes_f0: bool = True, definition: MelDefinition = OURS) -> None:
        self.f0_hz: list[float] = []
        self.file = SimpleNamespace(
            name="fake",
            precision="int8",
            definition=definition,
            takes_f0=takes_f0,
            lookahead_samples=LOOKAHEAD,
            hop_samples=definition.hop_samples,
            sample_rate_hz=definition.sample_rate_hz,
        )

    def stream(self, seed: int = 0) -> FakeStream:
        return FakeStream(self)

    def close(self) -> None:
        pass

    def __enter__(self) -> FakeVocoder:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def burst(samples: int = 16_000, at: int = 8_000) -> np.ndarray:
    """Silence with 50 ms of noise."""
    pcm = np.zeros(samples, np.float32)
    pcm[at : at + 800] = 0.3 * np.random.default_rng(0).standard_normal(800)
    return pcm


def centre(pcm: np.ndarray) -> float:
    """Sample about which the amplitude lies."""
    return float((np.abs(pcm) * np.arange(len(pcm))).sum() / np.abs(pcm).sum())

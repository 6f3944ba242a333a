"""Training batches: a pure function of the seed and the step, so that a resumed run sees what it would have seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ
from synth.train.corpus import Audio

Array = NDArray[np.float32]

_PSEUDO_SHARE: Final = 0.4
_RESAMPLED_SHARE: Final = 0.5
_RATIOS: Final = ((3, 4), (4, 5), (6, 7), (8, 9), (9, 8), (7, 6), (5, 4))
"""Length after : before; speech played slower is a larger speaker."""
_TELEPHONE_SHARE: Final = 0.12
_NOISY_SHARE: Final = 0.12
_GAIN_DB: Final = (-14.0, 5.0)


class BatchMaker:
    """Draws segments of speech with their F0, from recorded and pseudo-speakers, with variants.

    Args:
        audios: clips to draw from, by length.
        batch: segments a batch.
        frames: length of a segment in 10 ms frames.
        seed: same seed and step, same batch.
    """

    def __init__(self, audios: Sequence[Audio], batch: int, frames: int, seed: int) -> None:
        if not audios:
            raise ValueError("no clips to train on; was the corpus prepared?")
        self._batch, self._frames, self._seed = batch, frames, seed
        groups = [[audio for audio in audios if (audio.clip.speaker == "pseudo") == pseudo] for pseudo in (False, True)]
        self._groups = [group for group in groups if group]
        self._shares = [1.0 - _PSEUDO_SHARE, _PSEUDO_SHARE] if len(self._groups) == 2 else [1.0]
        self._weights = []
        for group in self._groups:
            lengths = np.array([len(audio.pcm) for audio in group], np.float64)
            self._weights.append(lengths / lengths.sum())

    def make(self, step: int) -> tuple[Array, Array]:
        """PCM (batch, 160 * frames) and F0 in Hz (batch, frames) of one step."""
        rng = np.random.default_rng([self._seed, step])
        items = [self._item(rng) for _ in range(self._batch)]
        return np.stack([pcm for pcm, _ in items]), np.stack([f0 for _, f0 in items])

    def _item(self, rng: np.random.Generator) -> tuple[Array, Array]:
        which = int(rng.choice(len(self._groups), p=self._shares))
        pseudo = self._groups[which][0].clip.speaker == "pseudo"
        long, short = (1, 1)
        if not pseudo and rng.random() < _RESAMPLED_SHARE:
            long, short = _RATIOS[int(rng.integers(len(_RATIOS)))]
        needed = -(-self._frames * short // long) + 2
        pcm, f0_hz = self._segment(which, needed, rng)
        if long != short:
            pcm, f0_hz = stretched(pcm, f0_hz, long, short)
        pcm, f0_hz = pcm[: self._frames * HOP_SAMPLES], f0_hz[: self._frames]
        return varied(pcm, rng), f0_hz

    def _segment(self, which: int, frames: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """``frames`` frames of one clip, or of as many as it takes."""
        pcms: list[Array] = []
        tracks: list[Array] = []
        missing = frames
        while missing > 0:
            audio = self._groups[which][int(rng.choice(len(self._weights[which]), p=self._weights[which]))]
            spare = len(audio.f0_hz) - missing
            first = int(rng.integers(0, spare + 1)) if spare > 0 else 0
            taken = min(missing, len(audio.f0_hz))
            pcm = audio.pcm[first * HOP_SAMPLES : (first + taken) * HOP_SAMPLES]
            pcms.append(pcm.astype(np.float32) / 32768.0)
            tracks.append(audio.f0_hz[first : first + taken])
            missing -= taken
        return np.concatenate(pcms), np.concatenate(tracks)


def stretched(pcm: Array, f0_hz: Array, long: int, short: int) -> tuple[Array, Array]:
    """Play ``pcm`` slower by ``long / short``: pitch and formants fall by as much, as with a larger speaker."""
    from scipy.signal import resample_poly

    slow = resample_poly(pcm, long, short).astype(np.float32)
    frames = len(slow) // HOP_SAMPLES
    source = np.minimum(np.rint(np.arange(frames) * short / long).astype(np.int64), len(f0_hz) - 1)
    return slow[: frames * HOP_SAMPLES], (f0_hz[source] * (short / long)).astype(np.float32)


def varied(pcm: Array, rng: np.random.Generator) -> Array:
    """Another level; sometimes the telephone band, sometimes noise: the vocoder has to copy callers' speech too."""
    if rng.random() < _TELEPHONE_SHARE:
        pcm = telephone_band(pcm, rng)
    if rng.random() < _NOISY_SHARE:
        pcm = pcm + coloured_noise(len(pcm), rng) * _rms(pcm) * np.float32(10 ** (-rng.uniform(8.0, 35.0) / 20))
    loudest = float(np.abs(pcm).max())
    gain = min(10 ** (rng.uniform(*_GAIN_DB) / 20), 0.98 / max(loudest, 1e-4))
    return (pcm * np.float32(gain)).astype(np.float32)


def telephone_band(pcm: Array, rng: np.random.Generator) -> Array:
    """Limit to about 300-3400 Hz, as a G.711 line does; corners differ by line."""
    spectrum = np.fft.rfft(pcm)
    hz = np.arange(len(spectrum)) * (SAMPLE_RATE_HZ / len(pcm))
    low, high = rng.uniform(120.0, 300.0), rng.uniform(3300.0, 3700.0)
    shape = 1.0 / (1.0 + (low / np.maximum(hz, 1.0)) ** 8) / (1.0 + (hz / high) ** 40)
    return np.fft.irfft(spectrum * shape, len(pcm)).astype(np.float32)


def coloured_noise(samples: int, rng: np.random.Generator) -> Array:
    """Noise of unit RMS, white to brown."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    hz = np.arange(len(spectrum)) * (SAMPLE_RATE_HZ / samples)
    noise = np.fft.irfft(spectrum * np.maximum(hz, 50.0) ** -rng.uniform(0.0, 1.0), samples)
    return (noise / max(_rms(noise), 1e-9)).astype(np.float32)


def _rms(signal: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.mean(np.square(signal))))

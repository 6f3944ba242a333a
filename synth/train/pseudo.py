"""Pseudo-speakers: the packaged hibari voice with another pitch, vocal tract and spectral tilt."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.acoustic import FRAME_S, VOICED_FROM_HZ, network_of
from synth.f0_grid import to_grid

_BIN_HZ: Final = 20.0
_TILT_FROM_HZ: Final = 500.0
_RMS: Final = 0.07
"""About -23 dBFS, the level of the recorded prompts."""


@dataclass(frozen=True)
class PseudoSpeaker:
    """One made-up speaker.

    Attributes:
        f0_hz: median F0.
        f0_range: factor on the deviation of log F0 from its median.
        warp: factor on the frequency axis; above 1 moves formants down (a longer vocal tract).
        tilt: nats per octave above 500 Hz.
        speed: speaking rate.
    """

    f0_hz: float
    f0_range: float
    warp: float
    tilt: float
    speed: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> PseudoSpeaker:
        f0_hz = float(np.exp(rng.uniform(np.log(75.0), np.log(320.0))))
        # Pitch and vocal tract length go together, loosely: the voice itself has about 190 Hz.
        warp = float(np.exp(-0.22 * np.log(f0_hz / 190.0) + rng.normal(0.0, 0.06)))
        return cls(
            f0_hz=f0_hz,
            f0_range=float(rng.uniform(0.6, 1.5)),
            warp=float(np.clip(warp, 0.78, 1.32)),
            tilt=float(rng.normal(0.0, 0.12)),
            speed=float(rng.uniform(0.8, 1.3)),
        )


class PseudoVoice:
    """Renders text as any :class:`PseudoSpeaker`."""

    def __init__(self) -> None:
        from hibari import Hibari

        self._engine: Any = Hibari("heart", threads=1)

    def words(self) -> list[str]:
        """English words that the voice can pronounce, in a fixed order."""
        from hibari import tts

        with gzip.open(Path(tts.ASSETS) / "lexicon_us_gold.json.gz", "rt", encoding="utf-8") as lexicon:
            return sorted(word for word in json.load(lexicon) if word.isalpha() and word.islower() and len(word) > 2)

    def speak(
        self, text: str, speaker: PseudoSpeaker, rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Speech of ``text``: PCM (float32, 16 kHz) and its exact F0 in Hz on the 10 ms grid, 0 where unvoiced."""
        from hibari import dsp
        from scipy.signal import resample_poly

        pieces: list[NDArray[np.float32]] = []
        tracks: list[NDArray[np.float32]] = []
        for phonemes in self._engine.phonemize(text):
            harmonic, rotation, noise, free, phase, f0_hz = network_of(self._engine, phonemes, speaker.speed)
            bins = np.arange(len(harmonic))
            nearest = np.rint(np.minimum(bins * speaker.warp, bins[-1])).astype(np.int64)
            octaves = np.log2(np.maximum(bins * _BIN_HZ, _TILT_FROM_HZ) / _TILT_FROM_HZ)[:, None]
            slope = (speaker.tilt * octaves).astype(np.float32)
            harmonic, noise, free = (warped(part, speaker.warp) + slope for part in (harmonic, noise, free))
            voiced = f0_hz > VOICED_FROM_HZ
            moved = np.zeros_like(f0_hz)
            if voiced.any():
                deviation = np.log(f0_hz[voiced]) - np.median(np.log(f0_hz[voiced]))
                moved[voiced] = speaker.f0_hz * np.exp(speaker.f0_range * deviation)
            wide = dsp.synth(harmonic, rotation[nearest], noise, free, phase[nearest], moved, rng)
            pcm = resample_poly(wide, 2, 3).astype(np.float32)
            pcm = pcm[: len(pcm) // 160 * 160]
            pieces.append(pcm)
            times_s = (np.arange(len(moved), dtype=np.float64) + 0.5) * FRAME_S
            tracks.append(to_grid(times_s, moved.astype(np.float64), len(pcm)))
        if not pieces:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        pcm, track = np.concatenate(pieces), np.concatenate(tracks)
        level = max(float(np.sqrt(np.mean(np.square(pcm)))), 1e-4)
        gain = min(_RMS / level, 0.95 / max(float(np.abs(pcm).max()), 1e-4))
        return (pcm * np.float32(gain)).astype(np.float32), track


def warped(spectrum: NDArray[np.float32], warp: float) -> NDArray[np.float32]:
    """Spectra (bins, frames) whose bin ``k`` is what bin ``k * warp`` was, interpolated."""
    source = np.minimum(np.arange(len(spectrum)) * warp, len(spectrum) - 1)
    lower = np.minimum(source.astype(np.int64), len(spectrum) - 2)
    share = (source - lower).astype(np.float32)[:, None]
    moved: NDArray[np.float32] = spectrum[lower] * (1 - share) + spectrum[lower + 1] * share
    return moved


def sentences(words: list[str], prompts: list[str], count: int, rng: np.random.Generator) -> list[str]:
    """Texts to speak: half prompts, half random words with commas, for phonetic coverage."""
    texts: list[str] = []
    for index in range(count):
        if prompts and index % 2 == 0:
            texts.append(prompts[int(rng.integers(len(prompts)))])
            continue
        chosen = [words[int(k)] for k in rng.integers(len(words), size=int(rng.integers(6, 14)))]
        for place in range(3, len(chosen) - 1, 4):
            chosen[place] += ","
        texts.append(" ".join(chosen).capitalize() + ("?" if rng.random() < 0.2 else "."))
    return texts

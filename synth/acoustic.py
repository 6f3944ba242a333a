"""Text to acoustic frames: what the voice would say, as a signal and as what a vocoder takes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.f0_grid import to_grid
from synth.hibari_engine import load_engine
from synth.loudness import apply_gain, set_edges
from synth.mel import OURS, MelDefinition, log_mel
from synth.sentences import speakable
from synth.settings import SynthSettings
from synth.spoken_text import spell_numbers, without_full_stop

Array = NDArray[np.float32]

LEAD_MS: Final = 10.0
"""The voice begins with 230-320 ms of silence, which a caller would wait for; this much is kept."""
FRAME_S: Final = 300 / 24_000
"""From frame to frame of the network."""
VOICED_FROM_HZ: Final = 40.0
"""The network's F0 falls to zero within a frame or two where voicing ends; below this there is none."""


@dataclass(frozen=True)
class Acoustic:
    """A sentence.

    Attributes:
        pcm: the acoustic model's own waveform, (n,), at the rate it was asked for.
        mel: log mel of it, (bands, frames), frames * hop >= n.
        f0_hz: (frames,), 0 where unvoiced; on the 10 ms grid, whatever the mel's.
    """

    pcm: Array
    mel: Array
    f0_hz: Array


class AcousticModel:
    """hibari-tts: phonemes, then harmonic and noise spectra and F0 every 12.5 ms, which also give a waveform.

    For several threads; loaded at first use (about 1.5 s).
    """

    def __init__(self, settings: SynthSettings) -> None:
        self._settings = settings
        self._loading = threading.Lock()
        self._engine: Any = None

    def speak(self, sentence: str, definition: MelDefinition = OURS) -> Acoustic:
        """Speak one sentence, with its pause.

        Args:
            sentence: plain text.
            definition: of the mel, and thereby the rate.

        Returns:
            Nothing (n = 0) for text without anything to say.

        Raises:
            SynthesisError: the voice cannot be loaded.
        """
        with self._loading:
            if self._engine is None:
                self._engine = load_engine(self._settings)
        text, full_stop = without_full_stop(spell_numbers(sentence))
        phrases = self._engine.phonemize(text)
        spoken = []
        for number, phonemes in enumerate(phrases, start=1):
            if number == len(phrases):
                phonemes += full_stop
            if speakable(phonemes):
                spoken.append(self._phrase(phonemes, definition))
        pcm = np.concatenate([of[0] for of in spoken]) if spoken else np.zeros(0, np.float32)
        f0_hz = np.concatenate([of[1] for of in spoken]) if spoken else np.zeros(0, np.float32)
        # What a frame sees after its hop is silence at the end.
        seen = np.concatenate([pcm, np.zeros(definition.lead_samples, np.float32)])
        return Acoustic(pcm, log_mel(seen, definition), f0_hz)

    def _phrase(self, phonemes: str, definition: MelDefinition) -> tuple[Array, Array]:
        """PCM of whole hops, and its F0."""
        import soxr

        settings, rate_hz = self._settings, definition.sample_rate_hz
        wide, native_f0_hz = phrase_of(self._engine, phonemes, settings.speed, settings.seed)
        whole = np.asarray(soxr.resample(wide, self._engine.sample_rate, rate_hz), np.float32)
        pcm, start = set_edges(whole, rate_hz, lead_ms=LEAD_MS, tail_ms=settings.sentence_pause_ms)
        pcm = np.pad(pcm, (0, -len(pcm) % definition.hop_samples))
        times_s = (np.arange(len(native_f0_hz), dtype=np.float64) + 0.5) * FRAME_S - start / rate_hz
        on_grid = to_grid(times_s, native_f0_hz.astype(np.float64), len(pcm) * OURS.sample_rate_hz // rate_hz)
        return apply_gain(pcm, settings.gain_db), on_grid


def phrase_of(engine: Any, phonemes: str, speed: float, seed: int) -> tuple[Array, Array]:
    """A phrase's waveform (24 kHz, float32) and its F0 in Hz every 12.5 ms, 0 where unvoiced."""
    from hibari import dsp

    *spectra, f0_hz = network_of(engine, phonemes, speed)
    wide: Array = dsp.synth(*spectra, f0_hz, np.random.default_rng(seed))
    return wide, np.where(f0_hz > VOICED_FROM_HZ, f0_hz, 0.0).astype(np.float32)


def network_of(engine: Any, phonemes: str, speed: float) -> list[Array]:
    """What hibari's network says of a phrase, each (bins, frames) at 12.5 ms but the last.

    Log harmonic magnitude, its rotation, log noise magnitude, log magnitude and phase of the free part, and F0 in Hz
    (frames,), which goes on falsely where it falls under :data:`VOICED_FROM_HZ`.
    """
    inputs = {
        "ids": np.asarray([engine.ids(phonemes)], np.int64),
        "speed": np.asarray([speed], np.float32),
    }
    return [part[0] for part in engine.sess.run(None, inputs)]

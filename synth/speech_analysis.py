"""Speech in, what a vocoder takes out: mel frames and F0, side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ, MelDefinition, mel_init, mel_step
from synth.pitch import IMMEDIATE, PitchMode, pitch_flush, pitch_init, pitch_step

Array = NDArray[np.float32]


class SpeechAnalysis:
    """Mel and F0 of one stream; the faster of the two waits for the other. For one thread.

    Attributes:
        definition: of the mel.
        takes_f0: whether F0 is wanted; it is 0 otherwise.
        delay_samples: how long after the last sample of two frames' hops these frames come, at the definition's rate.
    """

    def __init__(self, definition: MelDefinition, takes_f0: bool, mode: PitchMode = IMMEDIATE) -> None:
        """
        Args:
            definition: of the mel.
            takes_f0: analyse F0 too.
            mode: of the F0.

        Raises:
            ValueError: F0 is wanted beside a mel that has another rate or hop than F0.
        """
        if takes_f0 and (definition.sample_rate_hz, definition.hop_samples) != (SAMPLE_RATE_HZ, HOP_SAMPLES):
            raise ValueError(
                f"F0 comes each {HOP_SAMPLES} samples at {SAMPLE_RATE_HZ} Hz; "
                f"it does not fit a mel each {definition.hop_samples} at {definition.sample_rate_hz} Hz"
            )
        self.definition, self.takes_f0 = definition, takes_f0
        self.delay_samples = max(definition.lead_samples, mode.delay_samples if takes_f0 else 0)
        self._mel_state = mel_init(definition=definition)
        self._pitch_state = pitch_init(mode)
        self._mel: Array = np.zeros((definition.bands, 0), np.float32)
        self._f0_hz: Array = np.zeros(0, np.float32)

    def push(self, pcm: Array) -> tuple[Array, Array]:
        """Analyse the next samples.

        Args:
            pcm: float32, shape (n,), any n >= 0, in [-1, 1], at the definition's rate.

        Returns:
            Log mel (bands, m) and F0 in Hz (m,), 0 where unvoiced, of the frames for which both are there.
        """
        mel, self._mel_state = mel_step(pcm, self._mel_state, self.definition)
        f0_hz = np.zeros(mel.shape[1], np.float32)
        if self.takes_f0:
            f0_hz, self._pitch_state = pitch_step(pcm, self._pitch_state)
        return self._take(mel, f0_hz)

    def flush(self) -> tuple[Array, Array]:
        """The frames of all whole hops that are still to come, as if silence followed; the stream ends with it."""
        silence = np.zeros(self.definition.lead_samples, np.float32)
        mel, self._mel_state = mel_step(silence, self._mel_state, self.definition)
        f0_hz = pitch_flush(self._pitch_state) if self.takes_f0 else np.zeros(mel.shape[1], np.float32)
        return self._take(mel, f0_hz)

    def _take(self, mel: Array, f0_hz: Array) -> tuple[Array, Array]:
        mel = np.concatenate([self._mel, mel], axis=1)
        f0_hz = np.concatenate([self._f0_hz, f0_hz])
        ready = min(mel.shape[1], len(f0_hz))
        self._mel, self._f0_hz = mel[:, ready:], f0_hz[ready:]
        return mel[:, :ready], f0_hz[:ready]

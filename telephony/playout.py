"""Our own audio on its way to the stack: a bounded queue that barge-in empties without a click."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from telephony.leg import SAMPLE_RATE_HZ, Pcm

CAPACITY_S: Final = 120
FADE_SAMPLES: Final = SAMPLE_RATE_HZ * 10 // 1000


def fade_out(pcm: Pcm) -> Pcm:
    """The first 10 ms (or less) of what is about to be dropped, faded to silence with a raised cosine."""
    head = pcm[:FADE_SAMPLES]
    ramp = 0.5 + 0.5 * np.cos(np.pi * (np.arange(len(head), dtype=np.float32) + 1) / max(len(head), 1))
    return np.asarray(head * ramp, dtype=np.float32)


CROSSFADE_SAMPLES: Final = SAMPLE_RATE_HZ * 5 // 1000


def shorten(pcm: Pcm, samples: int) -> Pcm:
    """Take up to ``samples`` out of live audio, with a crossfade of 5 ms instead of a click; the end stays."""
    samples = min(samples, len(pcm) - CROSSFADE_SAMPLES)
    if samples <= 0:
        return pcm
    ramp = (np.arange(CROSSFADE_SAMPLES, dtype=np.float32) + 1) / CROSSFADE_SAMPLES
    blended = pcm[:CROSSFADE_SAMPLES] * (1 - ramp) + pcm[samples : samples + CROSSFADE_SAMPLES] * ramp
    return np.concatenate((blended, pcm[samples + CROSSFADE_SAMPLES :]))


class Playout:
    """FIFO of samples at 16 kHz, at most two minutes. Not thread-safe: its leg locks."""

    def __init__(self, capacity_samples: int = CAPACITY_S * SAMPLE_RATE_HZ) -> None:
        """
        Args:
            capacity_samples: what does not fit is refused, so that a runaway writer cannot eat the memory.
        """
        self._chunks: deque[Pcm] = deque()
        self._capacity = capacity_samples
        self.samples = 0

    def push(self, pcm: Pcm) -> int:
        """Queue a copy of float32 samples, shape (n,); returns how many were taken."""
        taken = min(len(pcm), self._capacity - self.samples)
        if taken > 0:
            self._chunks.append(np.array(pcm[:taken], dtype=np.float32))
            self.samples += taken
        return max(taken, 0)

    def pop(self, count: int) -> Pcm:
        """Take up to ``count`` samples, oldest first."""
        parts: list[Pcm] = []
        wanted = count
        while wanted > 0 and self._chunks:
            chunk = self._chunks.popleft()
            if len(chunk) > wanted:
                self._chunks.appendleft(chunk[wanted:])
                chunk = chunk[:wanted]
            parts.append(chunk)
            wanted -= len(chunk)
        self.samples -= count - wanted
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def clear(self) -> int:
        """Drop everything; returns how many samples that was."""
        dropped, self.samples = self.samples, 0
        self._chunks.clear()
        return dropped

"""Level and edges of synthesised speech."""

from __future__ import annotations

from typing import Final

import numpy as np

from synth.synthesizer import Pcm

PEAK: Final = 0.89
"""-1 dBFS: room for the overshoot of a codec's filters."""

_BLOCKS_A_SECOND: Final = 200
_EDGE_DB: Final = -45.0
"""Blocks of 5 ms this far under the loudest one are silence; soft consonants lie 30-40 dB under it."""


def apply_gain(pcm: Pcm, gain_db: float) -> Pcm:
    """``pcm`` with a constant gain, scaled down as a whole where its peak would pass -1 dBFS."""
    gain = 10.0 ** (gain_db / 20.0)
    peak = float(np.abs(pcm).max(initial=0.0)) * gain
    return (pcm * np.float32(gain * min(1.0, PEAK / peak if peak else 1.0))).astype(np.float32)


def set_edges(pcm: Pcm, rate_hz: int, *, lead_ms: float, tail_ms: float) -> tuple[Pcm, int]:
    """``pcm`` with exactly this much silence before the first and after the last sound.

    Silence that is missing is added as zeros; cuts lie in silence, so that they need no fade.

    Returns:
        The speech, and which sample of ``pcm`` is its first; negative where silence was added.
    """
    block_samples = rate_hz // _BLOCKS_A_SECOND
    blocks = len(pcm) // block_samples
    if blocks == 0:
        return pcm, 0
    power = np.square(pcm[: blocks * block_samples].reshape(blocks, -1)).mean(axis=1)
    sounding = np.flatnonzero(power > power.max() * 10.0 ** (_EDGE_DB / 10.0))
    if len(sounding) == 0:
        return pcm, 0
    start = int(sounding[0]) * block_samples - int(lead_ms * rate_hz / 1000)
    stop = (int(sounding[-1]) + 1) * block_samples + int(tail_ms * rate_hz / 1000)
    inside = pcm[max(start, 0) : stop]
    return np.pad(inside, (max(-start, 0), max(stop - len(pcm), 0))).astype(np.float32), start

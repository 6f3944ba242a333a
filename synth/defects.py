"""What no quality score shows: noise in silence and clicks where chunks meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from synth.resynthesis import in_chunks
from synth.vocoder import Vocoder

Array = NDArray[np.float32]

_SETTLED_S: Final = 0.5
_SILENCE_S: Final = 2
_FLOOR_DBFS: Final = -200.0


@dataclass(frozen=True)
class BorderCheck:
    """Second differences of the samples at chunk borders, over those at frame borders inside chunks; 1: no difference.

    Attributes:
        median: ratio of medians: a small step at every border.
        p99: ratio of 99th percentiles: a large one now and then.
    """

    median: float
    p99: float


def silence_dbfs(vocoder: Vocoder, speech: Array, chunk_samples: int) -> float:
    """RMS level that leaves the vocoder for digital silence after speech, in dB of full scale.

    The half second after the speech, in which it fades, is not counted; -200 where nothing leaves.
    """
    rate_hz = vocoder.file.sample_rate_hz
    pcm = np.concatenate([speech, np.zeros(_SILENCE_S * rate_hz, np.float32)])
    copy = in_chunks(vocoder, pcm, chunk_samples).pcm
    power = float(np.mean(np.square(copy[len(speech) + int(_SETTLED_S * rate_hz) :], dtype=np.float64)))
    return 10.0 * float(np.log10(power)) if power > 10.0 ** (_FLOOR_DBFS / 10.0) else _FLOOR_DBFS


def borders(raw: Array, chunk_samples: int, frame_samples: int) -> BorderCheck:
    """Look for clicks.

    Args:
        raw: what left the vocoder, (n,), its first sample the first of a chunk.
        chunk_samples: from chunk border to chunk border, at least two frames.
        frame_samples: from frame border to frame border, at least 2.

    Raises:
        ValueError: no two chunks, no frame borders inside them, or digital silence.
    """
    curve = np.abs(np.diff(raw.astype(np.float64), 2))
    # Curve k is made of samples k to k + 2: two of them reach over a border.
    last = np.arange(len(curve)) + 2
    crosses = last % frame_samples < 2
    at_chunk = crosses & (last % chunk_samples < 2)
    inside = crosses & ~at_chunk
    if not at_chunk.any() or not curve[inside].any():
        raise ValueError(f"no borders to judge in {len(raw)} samples of chunks of {chunk_samples}")
    ratios = (np.percentile(curve[at_chunk], q) / np.percentile(curve[inside], q) for q in (50, 99))
    return BorderCheck(*(float(ratio) for ratio in ratios))

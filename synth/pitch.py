"""F0 of live or recorded speech on the vocoder's grid, streamed, by swift-f0's network.

The network gives a pitch and a confidence every 256 samples, and looks 2816 samples (176 ms) both ways. A call cannot
wait that long, so it is run on what is there, once for two values: aligned so that one of its frames lies on the odd
value; the even one is between that frame and the one before. What lies further ahead is zeros, which lower the
confidence, so the threshold falls with the lookahead. The modes below are measured choices; correcting octave jumps,
and a second threshold against voicing flips, brought nothing in the same measurement and are left out: the vocoder's
source glides over both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.mel import HOP_SAMPLES

Array = NDArray[np.float32]

PAIR: Final = 2
"""Values that one run of the network gives."""
_PAIR_SAMPLES: Final = PAIR * HOP_SAMPLES
_FRAME_SAMPLES: Final = 256
_FRAMES_BEFORE: Final = 6
_PAST_SAMPLES: Final = _FRAMES_BEFORE * _FRAME_SAMPLES
_NEARER: Final = 1.0 - HOP_SAMPLES / _FRAME_SAMPLES
"""Share of the odd value's frame in the even value."""
_JUMP: Final = 1.3
"""Neighbouring frames further apart than this factor are not averaged: the middle of an octave is no pitch."""
_MIN_HZ, _MAX_HZ = np.asarray(50.0, np.float32), np.asarray(600.0, np.float32)
_SILENCE: Final = 1e-3
"""Peak below which the network's answer is random (swift-f0's own limit)."""


@dataclass(frozen=True)
class PitchMode:
    """How far the analysis looks ahead, and what goes with it.

    Attributes:
        lookahead_samples: the odd value of a pair needs these samples after it, the even one 160 more.
        frames_after: frames that the network sees after the value's own, as far as there are samples.
        voiced_from: lowest confidence of a voiced value.
    """

    lookahead_samples: int
    frames_after: int
    voiced_from: float

    @property
    def delay_samples(self) -> int:
        """How much later a pair is there than the two mel frames beside it."""
        return self.lookahead_samples - HOP_SAMPLES


IMMEDIATE: Final = PitchMode(lookahead_samples=160, frames_after=1, voiced_from=0.1)
"""No delay beside the mel. In noise without speech, one value in six flickers voiced; a higher threshold costs speech
more than it helps noise."""
CAREFUL: Final = PitchMode(lookahead_samples=480, frames_after=2, voiced_from=0.3)
"""20 ms more delay."""


@dataclass(frozen=True)
class PitchState:
    """What the analysis remembers of one stream: the samples that the next pair needs, from its first one on."""

    mode: PitchMode
    pending: Array


def pitch_init(mode: PitchMode = IMMEDIATE) -> PitchState:
    """State before the first sample."""
    return PitchState(mode, np.zeros(_PAST_SAMPLES - HOP_SAMPLES, np.float32))


def pitch_step(pcm: Array, state: PitchState) -> tuple[Array, PitchState]:
    """Analyse the next samples of a stream.

    Args:
        pcm: float32, 16 kHz, shape (n,), any n >= 0, in [-1, 1].
        state: what the previous call returned.

    Returns:
        F0 in Hz, float32, shape (m,), m even, 0 where unvoiced: value ``i`` of the stream is F0 at sample
        ``160 * i``. Whatever the chunks, the same values. And the new state.
    """
    mode = state.mode
    samples = np.concatenate([state.pending, pcm.astype(np.float32, copy=False)])
    needed = _PAST_SAMPLES + mode.lookahead_samples
    pairs = max(0, (len(samples) - needed) // _PAIR_SAMPLES + 1)
    window = np.zeros((_FRAMES_BEFORE + 1 + mode.frames_after) * _FRAME_SAMPLES, np.float32)
    known = min(needed, len(window))
    f0_hz = np.zeros(pairs * PAIR, np.float32)
    for pair in range(pairs):
        begin = pair * _PAIR_SAMPLES
        window[:known] = samples[begin : begin + known]
        f0_hz[pair * PAIR : (pair + 1) * PAIR] = _pair(window, known, mode.voiced_from)
    return f0_hz, PitchState(mode, samples[pairs * _PAIR_SAMPLES :].copy())


def pitch_flush(state: PitchState) -> Array:
    """The values that wait for samples ahead when the stream ends: one for each whole hop. Silence follows."""
    owed = (len(state.pending) - _PAST_SAMPLES + HOP_SAMPLES) // HOP_SAMPLES
    silence = np.zeros(state.mode.lookahead_samples + _PAIR_SAMPLES, np.float32)
    return pitch_step(silence, state)[0][:owed]


def pitch_track(pcm: Array, mode: PitchMode = IMMEDIATE) -> Array:
    """F0 of a whole signal as a stream gives it: (n,) -> (n // 160,); see :func:`pitch_step`."""
    f0_hz, state = pitch_step(pcm, pitch_init(mode))
    return np.concatenate([f0_hz, pitch_flush(state)])


def _pair(window: Array, known: int, voiced_from: float) -> tuple[float, float]:
    # Speech around either value makes both worth a run.
    if np.abs(window[_PAST_SAMPLES - _FRAME_SAMPLES : known]).max() < _SILENCE:
        return 0.0, 0.0
    pitch_hz, confidence = _network().run(
        ["pitch", "confidence"],
        {"audio": window[np.newaxis], "fmin": _MIN_HZ, "fmax": _MAX_HZ},
    )
    before_hz, odd_hz = pitch_hz[0, _FRAMES_BEFORE - 1 : _FRAMES_BEFORE + 1].tolist()
    before, odd = confidence[0, _FRAMES_BEFORE - 1 : _FRAMES_BEFORE + 1].tolist()
    even_hz = before_hz
    if max(before_hz, odd_hz) < _JUMP * min(before_hz, odd_hz):
        even_hz = before_hz ** (1.0 - _NEARER) * odd_hz**_NEARER
    even = (1.0 - _NEARER) * before + _NEARER * odd
    return (even_hz if even >= voiced_from else 0.0), (odd_hz if odd >= voiced_from else 0.0)


@lru_cache(maxsize=1)
def _network() -> Any:
    """swift-f0's network, loaded once for all streams; a session may be run by several threads at once.

    Its own stream waits for 160 ms, so only the weights of the package are used.
    """
    import onnxruntime
    import swift_f0

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    model = Path(swift_f0.__file__).with_name("model.onnx")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

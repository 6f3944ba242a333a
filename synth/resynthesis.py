"""Speech through analysis and vocoder and back, as a call would do it or whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probes.clock import Clock, MonotonicClock, ns_to_ms
from synth.pitch import IMMEDIATE, PitchMode
from synth.speech_analysis import SpeechAnalysis
from synth.vocoder import Vocoder, VocoderStream

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Resynthesis:
    """A copy, and what it took.

    Attributes:
        pcm: as long as the original and in time with it.
        raw: what left the vocoder, its delay still on.
        took_ms: computing.
        first_chunk_ms: computing until the first samples left the vocoder.
        delay_ms: of analysis and vocoder together, beyond the chunk that is being filled.
    """

    pcm: Array
    raw: Array
    took_ms: float
    first_chunk_ms: float
    delay_ms: float


def in_chunks(
    vocoder: Vocoder,
    pcm: Array,
    chunk_samples: int,
    *,
    mode: PitchMode = IMMEDIATE,
    seed: int = 0,
    clock: Clock | None = None,
) -> Resynthesis:
    """Copy a signal chunk by chunk, everything streamed.

    Args:
        vocoder: to use.
        pcm: float32, (n,), at the vocoder's rate.
        chunk_samples: handed over at once, at least 1.
        mode: of the F0, where the vocoder takes one.
        seed: of the vocoder's noise.
        clock: for the times.

    Raises:
        ValueError: ``chunk_samples`` is below 1, or F0 does not fit the vocoder's mel.
        synth.vocoder_file.VocoderError: the engine failed.
    """
    if chunk_samples < 1:
        raise ValueError(f"chunk_samples is {chunk_samples}, expected at least 1")
    file, clock = vocoder.file, clock or MonotonicClock()
    analysis = SpeechAnalysis(file.definition, file.takes_f0, mode)
    made: list[Array] = []
    first_chunk_ms = 0.0
    padded = np.concatenate([pcm, np.zeros(-len(pcm) % file.hop_samples, np.float32)])
    with vocoder.stream(seed) as stream:
        began_ns = clock.now_ns()
        for at in range(0, len(padded), chunk_samples):
            made.append(_push(stream, *analysis.push(padded[at : at + chunk_samples]), file.takes_f0))
            if not first_chunk_ms and len(made[-1]):
                first_chunk_ms = ns_to_ms(clock.now_ns() - began_ns)
        made.append(_push(stream, *analysis.flush(), file.takes_f0))
        made.append(stream.flush())
        took_ms = ns_to_ms(clock.now_ns() - began_ns)
    raw = np.concatenate(made)
    delay_ms = (file.lookahead_samples + analysis.delay_samples) * 1000.0 / file.sample_rate_hz
    # A signal shorter than the delay leaves with the flush.
    return Resynthesis(
        _in_time(raw, file.lookahead_samples, len(pcm)), raw, took_ms, first_chunk_ms or took_ms, delay_ms
    )


def from_features(vocoder: Vocoder, mel: Array, f0_hz: Array | None, samples: int, seed: int = 0) -> Array:
    """Vocode a whole mel.

    Args:
        vocoder: to use.
        mel: log mel, (bands, frames).
        f0_hz: (frames,); None where the vocoder takes none.
        samples: length of the speech.
        seed: of the vocoder's noise.

    Returns:
        PCM, (samples,), in time with the speech; silence where the mel has no frames.
    """
    with vocoder.stream(seed) as stream:
        raw = np.concatenate([stream.push(mel, f0_hz), stream.flush()])
    return _in_time(raw, vocoder.file.lookahead_samples, samples)


def _push(stream: VocoderStream, mel: Array, f0_hz: Array, takes_f0: bool) -> Array:
    return stream.push(mel, f0_hz if takes_f0 else None)


def _in_time(raw: Array, lookahead_samples: int, samples: int) -> Array:
    pcm = raw[lookahead_samples : lookahead_samples + samples]
    return np.concatenate([pcm, np.zeros(samples - len(pcm), np.float32)])

"""``voxtrunk bench vocoder``: the vocoder alone, through the same batch and engine that calls use."""

from __future__ import annotations

import json
import platform
import tracemalloc
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from probes.clock import MonotonicClock, ns_to_ms
from synth.vocoder import Vocoder
from synth.vocoder_batch import VocoderBatch
from synth.vocoder_file import VocoderFile
from synth.vocoder_models import resolve

BATCHES: Final = (1, 2, 4, 8, 16, 32)
CHUNK_MS: Final = 20.0
_WARM_UP_CHUNKS: Final = 20
_ALLOCATION_CHUNKS: Final = 100
_PITCH_HZ: Final = 150.0


@dataclass(frozen=True, slots=True)
class VocoderBenchOptions:
    """What to measure.

    Attributes:
        model: name, or path of an ``.onnx`` file.
        precisions: some of ``int8`` and ``fp32``.
        chunks: measured for each batch.
        threads: of ONNX Runtime.
    """

    model: str
    precisions: tuple[str, ...]
    chunks: int
    threads: int


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Chunks of 20 ms, ``batch`` streams at once.

    Attributes:
        p50_ms, p95_ms, p99_ms: one run of the batch.
        real_time_factor: median run over what a chunk lasts.
        real_time_factor_a_stream: the same over the number of streams.
    """

    batch: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    real_time_factor: float
    real_time_factor_a_stream: float


@dataclass(frozen=True, slots=True)
class PrecisionResult:
    """One file.

    Attributes:
        first_chunk_p50_ms, first_chunk_p95_ms: a new stream's first frames in to its first PCM out, engine included.
        allocated_bytes_a_chunk: the most that one run of the batch of one held beyond its buffers, as Python counts.
        streams: how many one engine thread carries, from the p95 of the batches: the largest that stays under 20 ms,
            carried on in a straight line where the largest measured one does.
    """

    name: str
    precision: str
    lookahead_ms: float
    first_chunk_p50_ms: float
    first_chunk_p95_ms: float
    allocated_bytes_a_chunk: float
    streams: int
    batches: list[BatchResult]


@dataclass(frozen=True, slots=True)
class VocoderBenchReport:
    """All results, and where they were measured."""

    machine: str
    threads: int
    chunks: int
    results: list[PrecisionResult]

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    def in_words(self) -> str:
        """A table a precision."""
        lines = [f"{self.machine}; {self.threads} thread, {self.chunks} chunks of 20 ms a batch"]
        for result in self.results:
            lines += [
                "",
                f"{result.name} {result.precision}: first chunk p50 {result.first_chunk_p50_ms:.2f}, "
                f"p95 {result.first_chunk_p95_ms:.2f} ms; lookahead {result.lookahead_ms:.0f} ms; "
                f"{result.allocated_bytes_a_chunk:.0f} bytes allocated a chunk; {result.streams} streams a core",
                "batch   p50 ms   p95 ms   p99 ms     RTF  RTF a stream",
            ]
            lines += [
                f"{of.batch:>5} {of.p50_ms:>8.2f} {of.p95_ms:>8.2f} {of.p99_ms:>8.2f} {of.real_time_factor:>7.3f} "
                f"{of.real_time_factor_a_stream:>13.4f}"
                for of in result.batches
            ]
        return "\n".join(lines)


def run_vocoder_bench(options: VocoderBenchOptions) -> VocoderBenchReport:
    """Measure.

    Raises:
        VocoderError: a file cannot be used.
    """
    results = [_precision(options, precision) for precision in options.precisions]
    return VocoderBenchReport(_machine(), options.threads, options.chunks, results)


def streams_a_core(batches: Sequence[BatchResult], chunk_ms: float = CHUNK_MS) -> int:
    """The largest batch whose p95 is under ``chunk_ms``, between and beyond the measured ones in straight lines."""
    inside = [of for of in batches if of.p95_ms < chunk_ms]
    if not inside:
        return 0
    last = inside[-1]
    beyond = [of for of in batches if of.batch > last.batch][:1]
    # Beyond the measured sizes, the last two tell the slope.
    low, high = (last, beyond[0]) if beyond else (inside[-2], last) if len(inside) > 1 else (None, last)
    if low is None:
        return high.batch
    slope_ms = max((high.p95_ms - low.p95_ms) / (high.batch - low.batch), 1e-6)
    return int(last.batch + (chunk_ms - last.p95_ms) / slope_ms)


def _precision(options: VocoderBenchOptions, precision: str) -> PrecisionResult:
    path = resolve(options.model, precision)
    file = VocoderFile.open(path, threads=options.threads)
    frames = max(1, round(CHUNK_MS * file.sample_rate_hz / 1000 / file.hop_samples))
    batches = [_batch(file, frames, size, options.chunks) for size in BATCHES]
    with Vocoder.open(path, threads=options.threads, chunk_frames=frames) as vocoder:
        first_ms = _first_chunks(vocoder, frames, options.chunks)
    return PrecisionResult(
        name=file.name,
        precision=file.precision,
        lookahead_ms=1000.0 * file.lookahead_samples / file.sample_rate_hz,
        first_chunk_p50_ms=_percentile(first_ms, 50),
        first_chunk_p95_ms=_percentile(first_ms, 95),
        allocated_bytes_a_chunk=_allocated(_filled(file, frames, 1)),
        streams=streams_a_core(batches),
        batches=batches,
    )


def _filled(file: VocoderFile, frames: int, size: int) -> VocoderBatch:
    """A batch with noise that sounds a little like speech: silence would be quicker nowhere, but is no test."""
    batch, rng = VocoderBatch(file, frames, size), np.random.default_rng(0)
    batch.mel[:] = rng.normal(-4.0, 2.0, batch.mel.shape)
    batch.f0_hz[:] = _PITCH_HZ
    batch.noise[:] = rng.standard_normal(batch.noise.shape)
    return batch


def _batch(file: VocoderFile, frames: int, size: int, chunks: int) -> BatchResult:
    clock, batch = MonotonicClock(), _filled(file, frames, size)
    took_ms = []
    for number in range(_WARM_UP_CHUNKS + chunks):
        began_ns = clock.now_ns()
        batch.run(size)
        if number >= _WARM_UP_CHUNKS:
            took_ms.append(ns_to_ms(clock.now_ns() - began_ns))
    chunk_ms = 1000.0 * frames * file.hop_samples / file.sample_rate_hz
    factor = _percentile(took_ms, 50) / chunk_ms
    p50_ms, p95_ms, p99_ms = (_percentile(took_ms, q) for q in (50, 95, 99))
    return BatchResult(size, p50_ms, p95_ms, p99_ms, round(factor, 4), round(factor / size, 5))


def _first_chunks(vocoder: Vocoder, frames: int, count: int) -> list[float]:
    clock, file = MonotonicClock(), vocoder.file
    mel = np.full((file.definition.bands, frames), -4.0, np.float32)
    f0_hz = np.full(frames, _PITCH_HZ, np.float32) if file.takes_f0 else None
    took_ms = []
    for number in range(_WARM_UP_CHUNKS + count):
        with vocoder.stream() as stream:
            began_ns = clock.now_ns()
            stream.push(mel, f0_hz)
            if number >= _WARM_UP_CHUNKS:
                took_ms.append(ns_to_ms(clock.now_ns() - began_ns))
    return took_ms


def _allocated(batch: VocoderBatch) -> float:
    for _ in range(_WARM_UP_CHUNKS):
        batch.run(1)
    most = []
    tracemalloc.start()
    try:
        for _ in range(_ALLOCATION_CHUNKS):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            batch.run(1)
            most.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    return float(np.median(most))


def _percentile(values: Sequence[float], q: float) -> float:
    return round(float(np.percentile(values, q)), 3)


def _machine() -> str:
    return f"{platform.machine()}, Python {platform.python_version()}"

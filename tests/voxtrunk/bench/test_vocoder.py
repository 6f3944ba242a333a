"""The vocoder's bench measures what it says."""

from __future__ import annotations

import json

import pytest

from synth.vocoder_file import VocoderError
from voxtrunk.bench.vocoder import BATCHES, BatchResult, VocoderBenchOptions, run_vocoder_bench, streams_a_core


def result(batch: int, p95_ms: float) -> BatchResult:
    return BatchResult(batch, p95_ms, p95_ms, p95_ms, 0.0, 0.0)


@pytest.mark.parametrize(
    ("p95_ms", "streams"),
    [
        ({1: 25.0, 2: 40.0}, 0),
        ({1: 5.0, 2: 10.0, 4: 30.0}, 3),
        ({1: 1.0, 2: 2.0, 4: 4.0}, 20),
        ({1: 5.0}, 1),
    ],
)
def test_streams_a_core(p95_ms: dict[int, float], streams: int) -> None:
    assert streams_a_core([result(batch, value) for batch, value in p95_ms.items()]) == streams


def test_a_short_run() -> None:
    report = run_vocoder_bench(VocoderBenchOptions("bigvgan-nano", ("int8",), 20, 1))
    found = report.results[0]
    assert (found.name, found.precision, found.lookahead_ms) == ("bigvgan-nano", "int8", 25.0)
    assert [of.batch for of in found.batches] == list(BATCHES)
    for of in found.batches:
        assert 0.0 < of.p50_ms <= of.p95_ms <= of.p99_ms
        assert of.real_time_factor == pytest.approx(of.p50_ms / 20.0, abs=1e-3)
    # Its buffers are there before; what a chunk of 320 samples would take is 1280 bytes and more.
    assert found.allocated_bytes_a_chunk < 1000
    assert json.loads(report.as_json())["results"][0]["batches"][0]["batch"] == 1
    assert "bigvgan-nano int8: first chunk p50" in report.in_words()


def test_a_model_that_is_not_here() -> None:
    with pytest.raises(VocoderError, match=r"there is no hifigan\.int8\.onnx"):
        run_vocoder_bench(VocoderBenchOptions("hifigan", ("int8",), 20, 1))

"""Copies are as long as the original and in time with it, however they are made."""

from __future__ import annotations

import numpy as np
import pytest

from probes.clock import ManualClock
from synth.mel import log_mel
from synth.pitch import CAREFUL, pitch_track
from synth.resynthesis import from_features, in_chunks
from tests.synth.fake_vocoder import LOOKAHEAD, FakeVocoder, burst, centre


@pytest.mark.parametrize("samples", [16_000, 15_999, 16_001, 15_860])
@pytest.mark.parametrize("chunk_samples", [100, 320, 20_000])
def test_a_copy_is_in_time(samples: int, chunk_samples: int) -> None:
    copy = in_chunks(FakeVocoder(), burst(samples), chunk_samples)
    assert copy.pcm.shape == (samples,)
    # A frame's window reaches 240 samples back, so the fake is about that much behind.
    assert centre(copy.pcm) == pytest.approx(8_400, abs=150)
    np.testing.assert_array_equal(copy.raw[LOOKAHEAD:][:samples], copy.pcm)


def test_chunks_and_whole_agree() -> None:
    pcm = burst()
    vocoder = FakeVocoder()
    streamed = in_chunks(vocoder, pcm, 320).pcm
    np.testing.assert_allclose(vocoder.f0_hz[:100], pitch_track(pcm))
    whole = from_features(vocoder, log_mel(pcm), pitch_track(pcm), len(pcm))
    np.testing.assert_allclose(streamed, whole, atol=1e-5)


@pytest.mark.parametrize("samples", [0, 1, 300])
def test_a_signal_shorter_than_the_delay(samples: int) -> None:
    assert in_chunks(FakeVocoder(), np.zeros(samples, np.float32), 320).pcm.shape == (samples,)


def test_a_vocoder_without_f0() -> None:
    vocoder = FakeVocoder(takes_f0=False)
    assert in_chunks(vocoder, burst(), 320).pcm.shape == (16_000,)
    assert vocoder.f0_hz == []


def test_the_delay_is_that_of_both() -> None:
    assert in_chunks(FakeVocoder(), burst(), 320).delay_ms == 25.0
    assert in_chunks(FakeVocoder(), burst(), 320, mode=CAREFUL).delay_ms == 45.0


def test_times_come_from_the_clock() -> None:
    clock = ManualClock()
    vocoder = FakeVocoder()
    push = vocoder.stream

    def slow(seed: int = 0) -> object:
        stream = push(seed)
        inner = stream.push

        def delayed(*arguments: np.ndarray) -> np.ndarray:
            clock.advance_ms(1.0)
            return inner(*arguments)

        stream.push = delayed  # type: ignore[method-assign]
        return stream

    vocoder.stream = slow  # type: ignore[assignment, method-assign]
    copy = in_chunks(vocoder, burst(3200, 1600), 320, clock=clock)
    # Ten chunks, the end of the analysis, the flush; the first two frames come with the first chunk.
    assert (copy.first_chunk_ms, copy.took_ms) == (1.0, 12.0)


def test_a_chunk_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        in_chunks(FakeVocoder(), burst(), 0)

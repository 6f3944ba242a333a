"""F0 of a stream: right, on the grid, the same in any chunks, nothing where there is no voice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.mel import SAMPLE_RATE_HZ
from synth.pitch import CAREFUL, IMMEDIATE, PitchMode, pitch_flush, pitch_init, pitch_step, pitch_track

MODES = pytest.mark.parametrize("mode", [IMMEDIATE, CAREFUL], ids=["immediate", "careful"])


def voice(f0_hz: np.ndarray) -> np.ndarray:
    """Twelve falling harmonics of a pitch given for each sample."""
    phase = np.cumsum(f0_hz) / SAMPLE_RATE_HZ
    harmonics = sum(np.cos(2 * np.pi * k * phase + k * k) / k for k in range(1, 13))
    return (0.1 * harmonics).astype(np.float32)


@MODES
@pytest.mark.parametrize("hz", [80.0, 130.0, 240.0, 350.0])
def test_a_steady_pitch(hz: float, mode: PitchMode) -> None:
    track = pitch_track(voice(np.full(16_000, hz)), mode)
    assert track.shape == (100,) and track.dtype == np.float32
    np.testing.assert_allclose(track[20:90], hz, rtol=0.03)


@MODES
def test_values_are_at_their_samples(mode: PitchMode) -> None:
    """A pitch that moves an octave a second is off by 1.4 % where the grid is off by 20 ms."""
    rising = 110.0 * 2.0 ** (np.arange(24_000) / 16_000)
    track = pitch_track(voice(rising), mode)
    error = np.log2(track[30:120] / rising[: 150 * 160 : 160][30:120])
    assert abs(np.median(error)) < 0.006
    # Both values of a pair, each for itself.
    assert abs(np.median(error[::2]) - np.median(error[1::2])) < 0.004


@MODES
def test_voice_begins_and_ends_where_it_does(mode: PitchMode) -> None:
    pcm = np.concatenate([np.zeros(8000), voice(np.full(8000, 150.0)), np.zeros(8000)]).astype(np.float32)
    voiced = np.flatnonzero(pitch_track(pcm, mode))
    assert abs(int(voiced[0]) - 50) <= 3 and abs(int(voiced[-1]) - 100) <= 3
    assert len(voiced) >= 45


@MODES
@pytest.mark.parametrize("level", [0.0, 2e-4])
def test_nothing_is_voiced_in_silence(level: float, mode: PitchMode) -> None:
    noise = (level * np.random.default_rng(0).standard_normal(16_000)).astype(np.float32)
    assert not pitch_track(noise, mode).any()


def test_little_is_voiced_in_noise() -> None:
    noise = (0.1 * np.random.default_rng(0).standard_normal(32_000)).astype(np.float32)
    assert np.mean(pitch_track(noise, IMMEDIATE) > 0) < 0.25
    assert np.mean(pitch_track(noise, CAREFUL) > 0) < 0.03


@MODES
@settings(max_examples=10, deadline=None)
@given(sizes=st.lists(st.integers(0, 900), max_size=20))
def test_chunks_change_nothing(mode: PitchMode, sizes: list[int]) -> None:
    pcm = voice(np.linspace(100.0, 200.0, 5000))
    whole = pitch_track(pcm, mode)
    state, pieces, at = pitch_init(mode), [], 0
    for size in [*sizes, len(pcm)]:
        piece, state = pitch_step(pcm[at : at + size], state)
        pieces.append(piece)
        at += size
    np.testing.assert_array_equal(np.concatenate([*pieces, pitch_flush(state)]), whole)


@MODES
def test_a_pair_comes_when_its_lookahead_is_there(mode: PitchMode) -> None:
    needed = 160 + mode.lookahead_samples
    assert needed == 320 + mode.delay_samples
    none, state = pitch_step(np.zeros(needed - 1, np.float32), pitch_init(mode))
    pair, state = pitch_step(np.zeros(1, np.float32), state)
    assert len(none) == 0 and len(pair) == 2


@MODES
@pytest.mark.parametrize("samples", [0, 1, 159, 160, 319, 320, 480, 1000])
def test_one_value_for_each_whole_hop(samples: int, mode: PitchMode) -> None:
    assert len(pitch_track(np.zeros(samples, np.float32), mode)) == samples // 160


def test_a_step_leaves_its_arguments_alone() -> None:
    pcm, state = voice(np.full(1000, 120.0)), pitch_init()
    kept = pcm.copy()
    first, _ = pitch_step(pcm, state)
    again, _ = pitch_step(pcm, state)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(pcm, kept)

"""The mel: bands where they belong, causal, and the same streamed as whole."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from synth.mel import (
    BANDS,
    FLOOR,
    HOP_SAMPLES,
    OURS,
    SAMPLE_RATE_HZ,
    WINDOW_SAMPLES,
    Array,
    MelState,
    hann_window,
    hz_to_mel,
    log_mel,
    mel_filterbank,
    mel_init,
    mel_step,
    mel_to_hz,
)


def noise(samples: int, seed: int = 0) -> Array:
    return (0.1 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def streamed(pcm: Array, sizes: list[int]) -> Array:
    state, parts, start, turn = mel_init(*pcm.shape[:-1]), [], 0, 0
    while start < pcm.shape[-1]:
        size = sizes[turn % len(sizes)]
        part, state = mel_step(pcm[..., start : start + size], state)
        parts.append(part)
        start, turn = start + size, turn + 1
    return np.concatenate(parts, axis=-1)


@pytest.mark.parametrize("sizes", [[1, 2], [159], [160], [161], [320], [7, 480, 33], [5000]])
def test_streamed_equals_whole(sizes: list[int]) -> None:
    pcm = noise(3333)
    whole = log_mel(pcm)
    assert whole.shape == (BANDS, 3333 // HOP_SAMPLES)
    np.testing.assert_allclose(streamed(pcm, sizes), whole, atol=1e-5)


def test_a_batch_is_its_streams_side_by_side() -> None:
    pcm = np.stack([noise(1000, seed) for seed in range(3)])
    together = streamed(pcm, [320])
    assert together.shape == (3, BANDS, 6)
    for row, alone in zip(together, pcm, strict=True):
        np.testing.assert_allclose(row, log_mel(alone), atol=1e-5)


def test_a_step_leaves_the_old_state_alone() -> None:
    state = mel_init()
    first, _ = mel_step(noise(400), state)
    again, _ = mel_step(noise(400), state)
    np.testing.assert_array_equal(first, again)


def test_the_state_stays_small() -> None:
    state = mel_init()
    for _ in range(200):
        _, state = mel_step(noise(161), state)
        assert WINDOW_SAMPLES - HOP_SAMPLES <= len(state.pending) < WINDOW_SAMPLES


def test_no_samples_give_no_frames() -> None:
    mel, state = mel_step(np.zeros(0, np.float32), mel_init())
    assert mel.shape == (BANDS, 0)
    assert len(state.pending) == WINDOW_SAMPLES - HOP_SAMPLES


def test_frames_do_not_depend_on_later_samples() -> None:
    pcm = noise(3200)
    changed = pcm.copy()
    changed[1600:] = 0.5
    before = 1600 // HOP_SAMPLES
    np.testing.assert_array_equal(log_mel(pcm)[:, :before], log_mel(changed)[:, :before])
    assert not np.allclose(log_mel(pcm)[:, before], log_mel(changed)[:, before])


def test_digital_silence_is_the_floor() -> None:
    np.testing.assert_allclose(log_mel(np.zeros(1600, np.float32)), np.log(FLOOR), rtol=1e-6)


@pytest.mark.parametrize("hz", [200.0, 1000.0, 3000.0, 6000.0])
def test_a_tone_is_loudest_in_its_band(hz: float) -> None:
    pcm = np.sin(2 * np.pi * hz * np.arange(4800) / SAMPLE_RATE_HZ).astype(np.float32)
    corners = mel_to_hz(np.linspace(0.0, hz_to_mel(SAMPLE_RATE_HZ / 2), BANDS + 2))
    loudest = int(np.argmax(log_mel(pcm)[:, 10]))
    assert corners[loudest] < hz < corners[loudest + 2]


def test_a_tone_of_ten_times_the_amplitude_is_ten_times_as_loud() -> None:
    tone = np.sin(2 * np.pi * 1000.0 * np.arange(4800) / SAMPLE_RATE_HZ).astype(np.float32)
    difference = log_mel(0.5 * tone)[:, 10].max() - log_mel(0.05 * tone)[:, 10].max()
    assert difference == pytest.approx(np.log(10.0), abs=1e-3)


def test_filters_have_unit_area_and_none_is_empty() -> None:
    area = mel_filterbank().sum(axis=1) * SAMPLE_RATE_HZ / 512
    assert mel_filterbank().shape == (BANDS, 257)
    # Narrow triangles are sampled by few bins, so that their area is near 1 and not 1.
    np.testing.assert_allclose(area[20:], 1.0, atol=0.15)
    assert area.min() > 0.5


def test_the_window_is_periodic() -> None:
    window = hann_window()
    assert window[0] == 0.0
    assert window[WINDOW_SAMPLES // 2] == 1.0
    np.testing.assert_allclose(window[1:], window[:0:-1], atol=1e-6)


@pytest.mark.parametrize("hz", [10.0, 999.0, 1000.0, 4000.0])
def test_mels_are_undone(hz: float) -> None:
    assert mel_to_hz(np.array([hz_to_mel(hz)]))[0] == pytest.approx(hz)


def test_another_number_of_streams_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"pcm has shape \(3, 10\), but the state is for \(2,\) streams"):
        mel_step(np.zeros((3, 10), np.float32), mel_init(2))


@pytest.mark.parametrize("lead", [1, 120, 160, 240])
def test_a_definition_may_look_ahead(lead: int) -> None:
    pcm = noise(4000)
    seeing = dataclasses.replace(OURS, lead_samples=lead)
    later = mel_step(pcm[lead:], mel_init_from(pcm[:lead]))[0]
    np.testing.assert_allclose(log_mel(pcm, seeing), later, atol=1e-4)
    state, parts = mel_init(definition=seeing), []
    for begin in range(0, len(pcm), 333):
        part, state = mel_step(pcm[begin : begin + 333], state, seeing)
        parts.append(part)
    np.testing.assert_allclose(np.concatenate(parts, axis=1), log_mel(pcm, seeing), atol=1e-4)


def mel_init_from(before: Array) -> MelState:
    """State after samples that ended with a whole frame."""
    kept = WINDOW_SAMPLES - HOP_SAMPLES
    return MelState(np.concatenate([np.zeros(kept, np.float32), before])[len(before) :])

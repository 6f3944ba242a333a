"""The bounded queue of our own audio."""

from __future__ import annotations

import numpy as np

from telephony.playout import CROSSFADE_SAMPLES, FADE_SAMPLES, Playout, fade_out, shorten


def test_samples_come_out_in_order_across_chunks() -> None:
    playout = Playout()
    playout.push(np.arange(5, dtype=np.float32))
    playout.push(np.arange(5, 9, dtype=np.float32))
    assert playout.pop(3).tolist() == [0, 1, 2]
    assert playout.pop(4).tolist() == [3, 4, 5, 6]
    assert playout.pop(10).tolist() == [7, 8]
    assert playout.samples == 0
    assert playout.pop(1).tolist() == []


def test_beyond_capacity_is_refused_not_kept() -> None:
    playout = Playout(capacity_samples=10)
    assert playout.push(np.zeros(8, np.float32)) == 8
    assert playout.push(np.zeros(8, np.float32)) == 2
    assert playout.push(np.zeros(8, np.float32)) == 0
    assert playout.samples == 10


def test_queue_keeps_its_own_copy() -> None:
    pcm = np.ones(4, np.float32)
    playout = Playout()
    playout.push(pcm)
    pcm[:] = 0
    assert playout.pop(4).tolist() == [1, 1, 1, 1]


def test_clear_tells_how_much_was_dropped() -> None:
    playout = Playout()
    playout.push(np.zeros(7, np.float32))
    assert playout.clear() == 7
    assert playout.samples == 0


def test_fade_is_10_ms_long_and_ends_in_silence() -> None:
    faded = fade_out(np.ones(1000, np.float32))
    assert len(faded) == FADE_SAMPLES == 160
    assert faded[0] > 0.99
    assert faded[-1] == 0
    assert np.abs(np.diff(faded)).max() < 0.02


def test_shortened_audio_keeps_its_end_and_does_not_click() -> None:
    tone = np.sin(2 * np.pi * 300 * np.arange(320) / 16000).astype(np.float32)
    shortened = shorten(tone, 100)
    assert len(shortened) == 220
    np.testing.assert_array_equal(shortened[CROSSFADE_SAMPLES:], tone[100 + CROSSFADE_SAMPLES :])
    assert np.abs(np.diff(shortened)).max() < 0.15


def test_no_more_is_taken_out_than_leaves_a_crossfade() -> None:
    tone = np.ones(320, np.float32)
    assert len(shorten(tone, 1000)) == CROSSFADE_SAMPLES
    assert shorten(tone, 0) is tone
    assert shorten(tone[:10], 5).tolist() == [1.0] * 10

"""The shipped vocoder as a call uses it: chunked equals whole, and no stream feels another."""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from synth.mel import BANDS, HOP_SAMPLES, log_mel
from synth.vocoder import Vocoder, VocoderStream
from synth.vocoder_file import VocoderError
from synth.vocoder_models import resolve

CHUNK = 2
NANO = resolve("bigvgan-nano", "fp32")


def speech(frames: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mel and F0 of pulses with gaps."""
    rng = np.random.default_rng(seed)
    pcm = (0.01 * rng.standard_normal(frames * HOP_SAMPLES)).astype(np.float32)
    period = int(rng.integers(60, 160))
    pcm[::period] += 0.5
    f0_hz = np.full(frames, 16_000 / period, np.float32)
    f0_hz[rng.random(frames) < 0.2] = 0.0
    return log_mel(pcm), f0_hz


def in_chunks(stream: VocoderStream, mel: np.ndarray, f0_hz: np.ndarray, sizes: list[int]) -> np.ndarray:
    pieces, at = [], 0
    for size in [*sizes, mel.shape[1]]:
        pieces.append(stream.push(mel[:, at : at + size], f0_hz[at : at + size]))
        at = min(at + size, mel.shape[1])
    return np.concatenate(pieces)


@pytest.fixture(scope="module")
def whole() -> dict[int, np.ndarray]:
    """What 40 frames of a few seeds give when nothing else runs and all frames come at once."""
    with Vocoder.open(NANO, chunk_frames=40) as vocoder:
        made = {}
        for seed in range(6):
            with vocoder.stream(seed) as stream:
                made[seed] = stream.push(*speech(40, seed))
        return made


@pytest.fixture
def vocoder() -> Iterator[Vocoder]:
    with Vocoder.open(NANO, max_streams=6) as opened:
        yield opened


@pytest.mark.parametrize("sizes", [[], [1] * 40, [2] * 20, [3] * 13, [7, 0, 7, 1], [39], [0, 0, 5]])
def test_any_chunks_give_the_same(sizes: list[int], vocoder: Vocoder, whole: dict[int, np.ndarray]) -> None:
    with vocoder.stream(0) as stream:
        np.testing.assert_allclose(in_chunks(stream, *speech(40, 0), sizes), whole[0], atol=2e-5)


def test_eight_bits_in_chunks() -> None:
    """Eight bits round once more: a value at a border may fall to the other side, and stays there for one sample."""
    path = resolve("bigvgan-nano", "int8")
    mel, f0_hz = speech(60)
    with Vocoder.open(path) as vocoder, vocoder.stream() as stream:
        chunked = in_chunks(stream, mel, f0_hz, [2] * 30)
    with Vocoder.open(path, chunk_frames=60) as vocoder, vocoder.stream() as stream:
        at_once = stream.push(mel, f0_hz)
    error = np.square(chunked - at_once).mean() / np.square(at_once).mean()
    assert 10 * np.log10(error + 1e-20) < -25.0


def test_streams_are_independent(vocoder: Vocoder, whole: dict[int, np.ndarray]) -> None:
    """They join at different times, rest, and leave: rows move, samples do not change."""
    features = {seed: speech(40, seed) for seed in range(6)}
    streams: dict[int, VocoderStream] = {}
    made: dict[int, list[np.ndarray]] = {seed: [] for seed in range(6)}
    at = dict.fromkeys(range(6), 0)
    rng = np.random.default_rng(7)
    while any(value < 40 for value in at.values()):
        for seed in rng.permutation(6)[: int(rng.integers(1, 7))]:
            seed = int(seed)
            if at[seed] >= 40:
                continue
            stream = streams.setdefault(seed, streams.get(seed) or vocoder.stream(seed))
            size = int(rng.integers(1, 9))
            mel, f0_hz = features[seed]
            stream.submit(mel[:, at[seed] : at[seed] + size], f0_hz[at[seed] : at[seed] + size])
            at[seed] += size
        for seed, stream in list(streams.items()):
            if rng.random() < 0.5:
                made[seed].append(drained(stream))
                if at[seed] >= 40:
                    streams.pop(seed).close()
    for seed, stream in streams.items():
        made[seed].append(drained(stream))
        stream.close()
    for seed in range(6):
        np.testing.assert_allclose(np.concatenate(made[seed]), whole[seed], atol=2e-5)
    assert vocoder.stats().streams == 0


def drained(stream: VocoderStream) -> np.ndarray:
    return stream.push(np.zeros((BANDS, 0), np.float32), np.zeros(0, np.float32))


def test_a_row_is_clean_when_it_is_used_again(vocoder: Vocoder, whole: dict[int, np.ndarray]) -> None:
    for seed in (1, 0, 1):
        with vocoder.stream(seed) as stream:
            np.testing.assert_allclose(stream.push(*speech(40, seed)), whole[seed], atol=2e-5)


def test_waiting_streams_run_as_one_batch(vocoder: Vocoder) -> None:
    """Whatever gathers while a batch runs goes into the next one."""
    streams = [vocoder.stream(seed) for seed in range(6)]
    mel, f0_hz = speech(40)
    for stream in streams:
        stream.submit(mel, f0_hz)
    for stream in streams:
        assert len(drained(stream)) == 40 * HOP_SAMPLES
    stats = vocoder.stats()
    assert stats.chunks == 6 * 20
    assert stats.runs <= 60
    assert stats.most_waiting >= 6
    assert 0.0 < stats.run_p50_ms <= stats.run_p99_ms


def test_a_reader_that_stalls_holds_up_nobody(vocoder: Vocoder, whole: dict[int, np.ndarray]) -> None:
    stalled = vocoder.stream(1, ahead_chunks=3)
    stalled.submit(*speech(40, 1))
    with vocoder.stream(0) as other:
        np.testing.assert_allclose(other.push(*speech(40, 0)), whole[0], atol=2e-5)
    # Three chunks were made for it and no more; it then gets all of them.
    first = stalled.read()
    assert 0 < len(first) <= 3 * CHUNK * HOP_SAMPLES
    np.testing.assert_allclose(np.concatenate([first, drained(stalled)]), whole[1], atol=2e-5)


def test_output_is_announced(vocoder: Vocoder) -> None:
    told = threading.Event()
    with vocoder.stream(on_output=told.set) as stream:
        assert not told.is_set() and stream.idle and len(stream.read()) == 0
        stream.submit(*speech(2))
        assert told.wait(10.0)
        assert len(stream.read()) == 2 * HOP_SAMPLES and stream.idle


def test_flush_brings_the_last_frame_out(vocoder: Vocoder) -> None:
    with vocoder.stream() as stream:
        mel, f0_hz = speech(41)
        pushed = stream.push(mel, f0_hz)
        flushed = stream.flush()
        assert len(pushed) + len(flushed) >= 41 * HOP_SAMPLES + vocoder.file.lookahead_samples
        # The odd frame's speech is in what was flushed.
        assert np.sqrt(np.mean(flushed[: 400 + HOP_SAMPLES] ** 2)) > 0.01
        # Silence has begun after it.
        assert (
            np.abs(stream.push(np.full((BANDS, 20), np.log(1e-5), np.float32), np.zeros(20, np.float32))[1600:]).max()
            < 1e-3
        )


def test_live_chunks_are_counted_against_their_deadline(vocoder: Vocoder) -> None:
    with vocoder.stream(live=True) as stream:
        for _ in range(5):
            stream.push(*speech(2))
    stats = vocoder.stats()
    assert 0.0 < stats.live_p50_ms <= stats.live_p99_ms <= stats.live_max_ms
    assert (stats.late_chunks > 0) == (stats.live_max_ms > 20.0)


def test_all_streams_in_use(vocoder: Vocoder) -> None:
    streams = [vocoder.stream() for _ in range(6)]
    with pytest.raises(VocoderError, match=r"all 6 vocoder streams are in use; raise synth\.max_streams"):
        vocoder.stream()
    streams[3].close()
    vocoder.stream()


@pytest.mark.parametrize(
    ("mel", "f0_hz", "message"),
    [
        (np.zeros((79, 4), np.float32), np.zeros(4, np.float32), r"shape \(79, 4\), expected \(80, frames\)"),
        (np.zeros(80, np.float32), np.zeros(1, np.float32), r"shape \(80,\)"),
        (np.zeros((80, 4), np.float32), np.zeros(3, np.float32), r"f0_hz has shape \(3,\), expected \(4,\)"),
        (np.zeros((80, 4), np.float32), None, "takes F0 beside the mel"),
        (np.full((80, 4), np.nan, np.float32), np.zeros(4, np.float32), "not finite"),
        (np.zeros((80, 4), np.float32), np.full(4, np.inf, np.float32), "not finite"),
        (np.zeros((80, 60_001), np.float32), np.zeros(60_001, np.float32), "60001 frames wait"),
    ],
)
def test_what_does_not_fit(mel: np.ndarray, f0_hz: np.ndarray | None, message: str, vocoder: Vocoder) -> None:
    with vocoder.stream() as stream:
        with pytest.raises(VocoderError, match=message):
            stream.push(mel, f0_hz)
        # Nothing of it has reached the stream.
        assert len(stream.push(*speech(2))) == 2 * HOP_SAMPLES


def test_a_closed_stream_and_a_closed_vocoder() -> None:
    vocoder = Vocoder.open(NANO)
    stream, open_one = vocoder.stream(), vocoder.stream()
    stream.close()
    stream.close()
    with pytest.raises(VocoderError, match="stream is closed"):
        stream.push(*speech(2))
    vocoder.close()
    vocoder.close()
    with pytest.raises(VocoderError, match="the vocoder is closed"):
        open_one.push(*speech(2))
    with pytest.raises(VocoderError, match="the vocoder is closed"):
        vocoder.stream()


def test_a_failure_reaches_every_reader(vocoder: Vocoder, monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    bystander = vocoder.stream(on_output=told.set)

    def broken(count: int) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(vocoder._engine._batch, "run", broken)
    with vocoder.stream() as stream, pytest.raises(VocoderError, match="the vocoder failed: no room"):
        stream.push(*speech(2))
    assert told.wait(10.0)
    with pytest.raises(VocoderError, match="the vocoder failed: no room"):
        bystander.read()


def test_processors() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    with Vocoder.open(NANO, cpus=allowed[:1], threads=1) as vocoder, vocoder.stream() as stream:
        assert len(stream.push(*speech(2))) == 2 * HOP_SAMPLES
        thread_id = vocoder._engine._thread.native_id
        assert thread_id is not None
        assert os.sched_getaffinity(thread_id) == set(allowed[:1])
    assert sorted(os.sched_getaffinity(0)) == allowed
    with pytest.raises(VocoderError, match=r"vocoder cpus \[9999\]: this process may only use"):
        Vocoder.open(NANO, cpus=[9999])


def test_steady_state_allocates_only_what_it_hands_out(vocoder: Vocoder) -> None:
    with vocoder.stream() as stream:
        mel, f0_hz = speech(2)
        for _ in range(20):
            stream.push(mel, f0_hz)
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(200):
                stream.push(mel, f0_hz)
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    assert grown < 20_000

"""One thread a process that runs the next chunks of all live streams as one batch.

A stream takes part whenever it has a whole chunk and its reader has room for the result; the others wait for nothing
and nobody waits for them. While a batch runs, new chunks gather for the next: under load batches grow by themselves.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from synth.vocoder_batch import VocoderBatch
from synth.vocoder_file import VocoderError, VocoderFile
from synth.vocoder_stats import EngineMeter, EngineStats

Array = NDArray[np.float32]


class Slot:
    """One stream inside the engine. Everything but ``row`` and ``rng`` is guarded by the engine's lock."""

    def __init__(self, seed: int, live: bool, ahead_chunks: int, on_output: Callable[[], None] | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.live = live
        self.ahead_chunks = ahead_chunks
        self.on_output = on_output
        self.pieces: deque[tuple[Array, Array, int]] = deque()
        self.taken = 0
        """Frames of the first piece that are through."""
        self.frames = 0
        """Frames that wait."""
        self.made: deque[Array] = deque()
        self.row: int | None = None
        self.closed = False
        self.running = False


class VocoderEngine:
    """The thread, its queue and its batch."""

    def __init__(
        self, file: VocoderFile, *, chunk_frames: int, max_streams: int, cpus: Sequence[int] | None = None
    ) -> None:
        """
        Args:
            file: opened.
            chunk_frames: mel frames a chunk.
            max_streams: rows of the batch.
            cpus: processors to stay on; None for all.

        Raises:
            VocoderError: the process may not use one of ``cpus``.
        """
        allowed = os.sched_getaffinity(0)
        if cpus is not None and not set(cpus) <= allowed:
            raise VocoderError(f"vocoder cpus {sorted(cpus)}: this process may only use {sorted(allowed)}")
        self.file = file
        self.chunk_frames = chunk_frames
        self.max_streams = max_streams
        self._batch = VocoderBatch(file, chunk_frames, max_streams)
        self._changed = threading.Condition()
        self._slots: list[Slot] = []
        self._rows: list[Slot] = []
        self._stopping = False
        self._failure: BaseException | None = None
        chunk_ns = 1e9 * chunk_frames * file.hop_samples / file.sample_rate_hz
        self._meter = EngineMeter(chunk_ns)
        self._thread = threading.Thread(target=self._work, args=(cpus,), name="vocoder", daemon=True)
        self._thread.start()

    def open(self, slot: Slot) -> None:
        """Take a stream in.

        Raises:
            VocoderError: all rows are taken, or the engine has ended.
        """
        with self._changed:
            self._check()
            if len(self._slots) >= self.max_streams:
                raise VocoderError(
                    f"all {self.max_streams} vocoder streams are in use; raise synth.max_streams or admit fewer calls"
                )
            self._slots.append(slot)

    def close_slot(self, slot: Slot) -> None:
        """Let a stream go; what waits for it is dropped."""
        with self._changed:
            slot.closed = True
            if slot in self._slots:
                self._slots.remove(slot)
            self._changed.notify_all()

    def submit(self, slot: Slot, mel: Array, f0_hz: Array) -> None:
        """Queue frames (bands, n) and their F0 (n,); never waits."""
        with self._changed:
            self._check()
            if slot.closed:
                raise VocoderError("this vocoder stream is closed")
            slot.pieces.append((mel, f0_hz, time.monotonic_ns()))
            slot.frames += mel.shape[1]
            if slot.frames >= self.chunk_frames:
                self._changed.notify_all()

    def read(self, slot: Slot) -> list[Array]:
        """Take what is made; never waits."""
        with self._changed:
            self._check()
            made = list(slot.made)
            slot.made.clear()
            if len(made) >= slot.ahead_chunks:
                self._changed.notify_all()
            return made

    def idle(self, slot: Slot) -> bool:
        """Whether all whole chunks of the stream are made and read."""
        with self._changed:
            self._check()
            return self._idle(slot)

    def wait(self, slot: Slot) -> None:
        """Wait until something is made, or nothing is left to make."""
        with self._changed:
            self._changed.wait_for(lambda: slot.made or slot.closed or self._failure or self._idle(slot))
            self._check()

    def stats(self) -> EngineStats:
        with self._changed:
            return self._meter.stats(len(self._slots), sum(s.frames // self.chunk_frames for s in self._slots))

    def close(self) -> None:
        """End the thread; open streams get an error."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()

    def _idle(self, slot: Slot) -> bool:
        return slot.frames < self.chunk_frames and not slot.running and not slot.made

    def _check(self) -> None:
        if self._failure is not None:
            raise VocoderError(f"the vocoder failed: {self._failure}") from self._failure
        if self._stopping:
            raise VocoderError("the vocoder is closed")

    def _work(self, cpus: Sequence[int] | None) -> None:
        try:
            if cpus is not None:
                os.sched_setaffinity(0, cpus)
            while self._turn():
                pass
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()
                waiting = [slot.on_output for slot in self._slots]
            for told in waiting:
                if told is not None:
                    told()

    def _turn(self) -> bool:
        """Wait for chunks and run them; False when the engine is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or any(map(self._ready, self._slots)))
            if self._stopping:
                return False
            running = [slot for slot in self._slots if self._ready(slot)]
            self._meter.waited(sum(slot.frames // self.chunk_frames for slot in running))
            self._arrange(running)
            asked_ns = [self._take(slot) for slot in self._rows[: len(running)]]
        running = self._rows[: len(running)]
        if self.file.takes_noise:
            for row, slot in enumerate(running):
                slot.rng.standard_normal(dtype=np.float32, out=self._batch.noise[row])
        started_ns = time.monotonic_ns()
        self._batch.run(len(running))
        done_ns = time.monotonic_ns()
        pcm = np.clip(self._batch.pcm[: len(running)], -1.0, 1.0)
        with self._changed:
            self._meter.ran(len(running), done_ns - started_ns)
            for slot, samples, since_ns in zip(running, pcm, asked_ns, strict=True):
                slot.running = False
                if not slot.closed:
                    slot.made.append(samples)
                if slot.live:
                    self._meter.live(done_ns - since_ns)
            self._changed.notify_all()
        for slot in running:
            if slot.on_output is not None and not slot.closed:
                slot.on_output()
        return True

    def _ready(self, slot: Slot) -> bool:
        return slot.frames >= self.chunk_frames and len(slot.made) < slot.ahead_chunks

    def _arrange(self, running: list[Slot]) -> None:
        """Give every stream a row, and the first rows to those that run. In steady state nothing moves."""
        self._let_go()
        for slot in running:
            if slot.row is None:
                slot.row = len(self._rows)
                self._rows.append(slot)
                self._batch.clear(slot.row)
        for slot in running:
            assert slot.row is not None
            slot.running = True
        count = len(running)
        outside = [slot for slot in running if slot.row is not None and slot.row >= count]
        for slot in outside:
            resting = next(row for row in range(count) if not self._rows[row].running)
            assert slot.row is not None
            self._exchange(slot.row, resting)

    def _let_go(self) -> None:
        for row in range(len(self._rows) - 1, -1, -1):
            if self._rows[row].closed:
                self._exchange(row, len(self._rows) - 1)
                self._rows.pop().row = None

    def _exchange(self, one: int, other: int) -> None:
        if one == other:
            return
        self._batch.swap(one, other)
        rows = self._rows
        rows[one], rows[other] = rows[other], rows[one]
        rows[one].row, rows[other].row = one, other

    def _take(self, slot: Slot) -> int:
        """Move the next chunk into the slot's row; returns when its last frame was submitted."""
        assert slot.row is not None
        mel, f0_hz = self._batch.mel[slot.row], self._batch.f0_hz[slot.row]
        filled, asked_ns = 0, 0
        while filled < self.chunk_frames:
            piece_mel, piece_f0_hz, asked_ns = slot.pieces[0]
            count = min(self.chunk_frames - filled, piece_mel.shape[1] - slot.taken)
            source, place = slice(slot.taken, slot.taken + count), slice(filled, filled + count)
            mel[:, place] = piece_mel[:, source]
            f0_hz[place] = piece_f0_hz[source]
            filled += count
            slot.taken += count
            if slot.taken == piece_mel.shape[1]:
                slot.pieces.popleft()
                slot.taken = 0
        slot.frames -= self.chunk_frames
        return asked_ns

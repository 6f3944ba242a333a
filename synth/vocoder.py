"""The vocoder as the rest of the house knows it: mel frames in, PCM out, any number of streams at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from synth.mel import SILENCE
from synth.vocoder_engine import Slot, VocoderEngine
from synth.vocoder_file import VocoderError, VocoderFile
from synth.vocoder_stats import EngineStats

Array = NDArray[np.float32]

_MOST_FRAMES: Final = 60_000
"""Ten minutes of 10 ms frames; more at once is a mistake of the caller's."""


class VocoderStream:
    """One stream of frames. Its methods are for one thread; different streams are independent of each other.

    Chunked output equals whole output, to rounding, whoever else shares the batch.
    """

    def __init__(self, engine: VocoderEngine, slot: Slot) -> None:
        self._engine, self._slot = engine, slot
        engine.open(slot)

    def push(self, mel: Array, f0_hz: Array | None = None) -> Array:
        """Vocode frames, and wait for the result.

        Args:
            mel: log mel, (bands, n), any n >= 0.
            f0_hz: F0 in Hz, (n,), 0 where unvoiced; None where the vocoder takes none.

        Returns:
            PCM of all chunks that are complete, at the vocoder's rate, in [-1, 1], ``lookahead_samples`` behind.

        Raises:
            VocoderError: shapes that do not fit, or the engine failed or was closed.
        """
        self.submit(mel, f0_hz)
        made: list[Array] = []
        while not self.idle:
            self._engine.wait(self._slot)
            made.extend(self._engine.read(self._slot))
        return _joined(made)

    def flush(self) -> Array:
        """Push silence until the last frame's speech is out, and return it; the stream goes on after the silence."""
        self.submit_silence()
        return self.push(np.zeros((self._engine.file.definition.bands, 0), np.float32), np.zeros(0, np.float32))

    def submit(self, mel: Array, f0_hz: Array | None = None) -> None:
        """Queue frames without waiting; see :meth:`push` for the arguments and errors."""
        file = self._engine.file
        bands = file.definition.bands
        if mel.ndim != 2 or mel.shape[0] != bands:
            raise VocoderError(f"mel has shape {mel.shape}, expected ({bands}, frames)")
        frames = mel.shape[1]
        if f0_hz is None:
            if file.takes_f0:
                raise VocoderError(f"{file.name} takes F0 beside the mel: pass f0_hz, 0 where unvoiced")
            f0_hz = np.zeros(frames, np.float32)
        if f0_hz.shape != (frames,):
            raise VocoderError(f"f0_hz has shape {f0_hz.shape}, expected ({frames},)")
        if self._slot.frames + frames > _MOST_FRAMES:
            raise VocoderError(f"{self._slot.frames + frames} frames wait to be vocoded, at most {_MOST_FRAMES} may")
        if not (np.isfinite(mel).all() and np.isfinite(f0_hz).all()):
            # It would stay in the stream's state for good.
            raise VocoderError("mel or f0_hz holds values that are not finite")
        if frames:
            self._engine.submit(self._slot, np.asarray(mel, np.float32), np.asarray(f0_hz, np.float32))

    def submit_silence(self) -> None:
        """Queue silence enough for :meth:`flush`."""
        file, chunk = self._engine.file, self._engine.chunk_frames
        frames = -(-file.lookahead_samples // file.hop_samples)
        frames += -(self._slot.frames + frames) % chunk
        self.submit(np.full((file.definition.bands, frames), SILENCE, np.float32), np.zeros(frames, np.float32))

    def read(self) -> Array:
        """PCM that is made and not read yet, without waiting; may be empty."""
        return _joined(self._engine.read(self._slot))

    @property
    def idle(self) -> bool:
        """Whether all whole chunks are made and read."""
        return self._engine.idle(self._slot)

    def close(self) -> None:
        """Leave the batch; what was not read is dropped."""
        self._engine.close_slot(self._slot)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Vocoder:
    """A vocoder file and the engine that runs it."""

    def __init__(self, engine: VocoderEngine) -> None:
        self._engine = engine

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        threads: int = 1,
        cpus: Sequence[int] | None = None,
        chunk_frames: int = 2,
        max_streams: int = 32,
    ) -> Vocoder:
        """Load and start.

        Args:
            path: ``.onnx`` file of :mod:`synth.export` or ``voxtrunk models add``.
            threads: of ONNX Runtime inside one batch; more than one pays for large models only.
            cpus: processors for the engine's thread; None for all.
            chunk_frames: mel frames a chunk; ours has 10 ms each.
            max_streams: streams at once.

        Raises:
            VocoderError: the file cannot be used, or the process may not use ``cpus``.
        """
        file = VocoderFile.open(path, threads=threads)
        return cls(VocoderEngine(file, chunk_frames=chunk_frames, max_streams=max_streams, cpus=cpus))

    @property
    def file(self) -> VocoderFile:
        return self._engine.file

    def stream(
        self,
        seed: int = 0,
        *,
        live: bool = False,
        ahead_chunks: int = 50,
        on_output: Callable[[], None] | None = None,
    ) -> VocoderStream:
        """A new stream.

        Args:
            seed: of its noise; the same seed and frames give the same samples.
            live: count its chunks against their deadline.
            ahead_chunks: the engine leaves the stream alone while so many chunks are unread.
            on_output: called in the engine's thread when there is something to read or the engine failed; must
                neither block nor raise.

        Raises:
            VocoderError: all streams are in use, or the engine has ended.
        """
        return VocoderStream(self._engine, Slot(seed, live, ahead_chunks, on_output))

    def stats(self) -> EngineStats:
        """What the engine measured of itself."""
        return self._engine.stats()

    def close(self) -> None:
        """Stop the engine; readers of open streams get an error."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _joined(pieces: list[Array]) -> Array:
    return np.concatenate(pieces) if pieces else np.zeros(0, np.float32)

"""Buffers of the vocoder's batch: allocated once, bound to the graph, each stream one row.

Two copies of every state take turns as input and output, so that nothing is copied while the same streams run. Rows
0 to n-1 run; a stream that sits out keeps its row, and its state stays in the copy where it is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.vocoder_file import VocoderFile

Array = NDArray[np.float32]

_COPIES: Final = 2


class VocoderBatch:
    """Inputs, outputs and states of up to ``capacity`` streams. Used by one thread.

    Attributes:
        mel: (capacity, bands, chunk_frames), to be filled before :meth:`run`; so are the next two.
        f0_hz: (capacity, chunk_frames).
        noise: (capacity, hop * chunk_frames).
        pcm: (capacity, hop * chunk_frames), valid after :meth:`run`.
    """

    def __init__(self, file: VocoderFile, chunk_frames: int, capacity: int) -> None:
        samples = file.hop_samples * chunk_frames
        self.capacity = capacity
        self.mel: Array = np.zeros((capacity, file.definition.bands, chunk_frames), np.float32)
        self.f0_hz: Array = np.zeros((capacity, chunk_frames), np.float32)
        self.noise: Array = np.zeros((capacity, samples), np.float32)
        self.pcm: Array = np.zeros((capacity, samples), np.float32)
        self._session = file.session
        self._states: tuple[dict[str, NDArray[Any]], ...] = tuple(
            {name: np.zeros((capacity, *entry.shape), entry.dtype) for name, entry in file.states.items()}
            for _ in range(_COPIES)
        )
        given = {"mel": self.mel, "f0_hz": self.f0_hz, "noise": self.noise}
        self._inputs = {name: array for name, array in given.items() if name in file.inputs}
        self._holds = [0] * capacity
        self._bindings: dict[tuple[int, int], Any] = {}

    def clear(self, row: int) -> None:
        """Set the row's state to that before a first frame."""
        for array in self._states[0].values():
            array[row] = 0
        self._holds[row] = 0

    def swap(self, one: int, other: int) -> None:
        """Exchange two rows' states."""
        for name in self._states[0]:
            first, second = self._states[self._holds[one]][name], self._states[self._holds[other]][name]
            kept = first[one].copy()
            first[one] = second[other]
            second[other] = kept

    def run(self, count: int) -> None:
        """Vocode the next chunk of rows 0 to ``count - 1``; the GIL is free meanwhile."""
        source = self._holds[0]
        for row in range(1, count):
            if self._holds[row] != source:
                self._move(row, source)
        binding = self._bindings.get((count, source))
        if binding is None:
            binding = self._bindings[count, source] = self._bind(count, source)
        self._session.run_with_iobinding(binding)
        for row in range(count):
            self._holds[row] = 1 - source

    def _move(self, row: int, to: int) -> None:
        for name, array in self._states[to].items():
            array[row] = self._states[1 - to][name][row]
        self._holds[row] = to

    def _bind(self, count: int, source: int) -> Any:
        """Tell the graph where its inputs and outputs lie."""
        binding = self._session.io_binding()
        for name, array in self._inputs.items():
            binding.bind_input(name, *_place(array, count))
        for name, array in self._states[source].items():
            binding.bind_input(f"state.{name}", *_place(array, count))
        binding.bind_output("pcm", *_place(self.pcm, count))
        for name, array in self._states[1 - source].items():
            binding.bind_output(f"next.{name}", *_place(array, count))
        return binding


def _place(array: NDArray[Any], count: int) -> tuple[str, int, Any, list[int], int]:
    """Device, type, shape and address of the first ``count`` rows."""
    return "cpu", 0, array.dtype.type, [count, *array.shape[1:]], array.ctypes.data

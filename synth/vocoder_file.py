"""A vocoder's file: what is in it, and whether it is whole and fits together.

The form is that of :mod:`synth.export`: an ONNX graph with explicit state, all zeros at first, and metadata. Beside it
lies its checksum in the form of ``sha256sum``, which is compared when the file is opened.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.mel import MelDefinition

FORMAT: Final = "voxtrunk-vocoder-1"
_STATE, _NEXT = "state.", "next."
_TYPES: Final[dict[str, type[np.generic]]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
}


class VocoderError(Exception):
    """A vocoder cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class StateEntry:
    """One state of the graph: its shape without the batch, and its type."""

    shape: tuple[int, ...]
    dtype: type[np.generic]


@dataclass(frozen=True)
class VocoderFile:
    """An opened file.

    Attributes:
        path: where it came from.
        session: the loaded graph (``onnxruntime.InferenceSession``).
        definition: of the mel that it takes.
        lookahead_samples: output sample ``n`` is sample ``n - lookahead_samples`` of the speech, at ``sample_rate_hz``.
        inputs: names of its inputs without the states.
        states: name without prefix -> shape and type.
        metadata: everything that the file says about itself.
    """

    path: Path
    session: Any
    definition: MelDefinition
    lookahead_samples: int
    inputs: frozenset[str]
    states: dict[str, StateEntry]
    metadata: dict[str, str]

    @property
    def name(self) -> str:
        return self.metadata["name"]

    @property
    def precision(self) -> str:
        """``fp32`` or ``int8``."""
        return self.metadata["precision"]

    @property
    def sample_rate_hz(self) -> int:
        return self.definition.sample_rate_hz

    @property
    def hop_samples(self) -> int:
        return self.definition.hop_samples

    @property
    def takes_f0(self) -> bool:
        return "f0_hz" in self.inputs

    @property
    def takes_noise(self) -> bool:
        return "noise" in self.inputs

    def zero_state(self, batch: int) -> dict[str, NDArray[Any]]:
        """Inputs ``state.<name>`` of ``batch`` streams before their first frame."""
        return {f"{_STATE}{name}": np.zeros((batch, *entry.shape), entry.dtype) for name, entry in self.states.items()}

    @classmethod
    def open(cls, path: Path, *, threads: int = 1) -> VocoderFile:
        """Check and load.

        Args:
            path: an ``.onnx`` file.
            threads: of ONNX Runtime inside one run.

        Raises:
            VocoderError: no such file, damaged, not a vocoder of ours, or its parts do not fit together.
        """
        verify_checksum(path)
        session = _load(path, threads)
        metadata: dict[str, str] = session.get_modelmeta().custom_metadata_map
        if metadata.get("format") != FORMAT:
            raise VocoderError(
                f"{path}: format {metadata.get('format')!r}, expected {FORMAT!r}; "
                "make it with `python -m synth.export` or `voxtrunk models add`"
            )
        try:
            definition = MelDefinition(**json.loads(metadata["mel"]))
            lookahead_samples = int(metadata["lookahead_samples"])
            metadata["name"], metadata["precision"]
        except (KeyError, TypeError, ValueError) as error:
            raise VocoderError(
                f"{path}: incomplete metadata ({type(error).__name__}: {error}); export it again"
            ) from error
        inputs = {value.name: value for value in session.get_inputs()}
        outputs = {value.name: value for value in session.get_outputs()}
        _check_shapes(path, definition, inputs, outputs)
        states = {
            name.removeprefix(_STATE): StateEntry(tuple(value.shape[1:]), _TYPES[value.type])
            for name, value in inputs.items()
            if name.startswith(_STATE)
        }
        plain = frozenset(name for name in inputs if not name.startswith(_STATE))
        return cls(path, session, definition, lookahead_samples, plain, states, metadata)


def _load(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A spinning thread takes a core from the calls; a denormal number takes a hundred times as long as zero.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's own errors have no common base
        raise VocoderError(f"{path}: not a readable ONNX model ({_first_line(error)}); copy it again") from error


def _check_shapes(path: Path, definition: MelDefinition, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
    for name, free in (("mel", (None, definition.bands, None)), ("f0_hz", (None, None)), ("noise", (None, None))):
        if name in inputs:
            _expect(path, name, free, inputs[name].shape)
    for name, where in (("mel", inputs), ("pcm", outputs)):
        if name not in where:
            raise VocoderError(f"{path}: no {'input' if where is inputs else 'output'} {name!r}; export it again")
    for name, value in inputs.items():
        if not name.startswith(_STATE):
            continue
        after = name.replace(_STATE, _NEXT, 1)
        if after not in outputs:
            raise VocoderError(f"{path}: input {name!r} has no output {after!r}; export it again")
        if value.type not in _TYPES or value.type != outputs[after].type:
            raise VocoderError(f"{path}: {name!r} is {value.type}, {after!r} is {outputs[after].type}; export it again")
        # What a graph says of its outputs is less exact: a name stands for a size that only a run shows.
        known = tuple(size if isinstance(size, int) else None for size in outputs[after].shape)
        if len(known) == len(value.shape):
            _expect(path, name, (None, *known[1:]), value.shape)
        if not all(isinstance(size, int) for size in value.shape[1:]):
            raise VocoderError(f"{path}: {name!r} has shape {value.shape}, expected fixed sizes after the batch")


def _expect(path: Path, name: str, expected: tuple[int | None, ...], found: list[Any]) -> None:
    fits = len(found) == len(expected) and all(
        size is None or other == size for size, other in zip(expected, found, strict=False)
    )
    if not fits:
        shown = ["any" if size is None else size for size in expected]
        raise VocoderError(f"{path}: {name!r} has shape {found}, expected {shown}; the file and its metadata differ")


def checksum_path(path: Path) -> Path:
    """The checksum's file beside ``path``."""
    return path.with_name(path.name + ".sha256")


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal.

    Raises:
        VocoderError: it cannot be read.
    """
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise VocoderError(f"{path}: cannot be read: {error.strerror}") from error


def write_checksum(path: Path) -> None:
    """Write the checksum beside ``path`` as ``sha256sum`` would."""
    checksum_path(path).write_text(f"{sha256(path)}  {path.name}\n", encoding="ascii")


def verify_checksum(path: Path) -> None:
    """Compare with the checksum beside the file; a file without one is taken as it is.

    Raises:
        VocoderError: the file is missing, or is not what it was.
    """
    found = sha256(path)
    beside = checksum_path(path)
    if not beside.is_file():
        return
    expected = beside.read_text(encoding="ascii").split()[0]
    if found != expected:
        raise VocoderError(
            f"{path}: sha256 {found}, expected {expected} ({beside.name}); the file is damaged or was replaced: "
            "copy both again, or delete the .sha256 file if the change was yours"
        )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

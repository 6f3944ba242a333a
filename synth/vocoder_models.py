"""Where vocoders lie: those that come with the package, and those that the operator added.

A model is one file for each precision, ``<name>.<precision>.onnx``, with its checksum beside it. Of two with the same
name the packaged one is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synth.vocoder_file import VocoderError

_PACKAGED: Final = Path(__file__).parent / "models"
_SUFFIX: Final = ".onnx"


@dataclass(frozen=True)
class InstalledModel:
    """A model's file.

    Attributes:
        name: such as ``bigvgan-nano``.
        precision: ``fp32`` or ``int8``.
        path: of the file.
        packaged: it came with voxtrunk.
    """

    name: str
    precision: str
    path: Path
    packaged: bool


def models_folder() -> Path:
    """Where ``voxtrunk models add`` puts models: ``$XDG_DATA_HOME/voxtrunk/models``; it need not exist."""
    home = os.environ.get("XDG_DATA_HOME", "")
    # The XDG base directory specification has relative paths ignored.
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "voxtrunk" / "models"


def installed() -> list[InstalledModel]:
    """All models, the packaged ones first, each group by name and precision."""
    return [*_inside(_PACKAGED, packaged=True), *_inside(models_folder(), packaged=False)]


def resolve(name: str, precision: str) -> Path:
    """The file of a model.

    Args:
        name: of the model, or the path of an ``.onnx`` file, which has a ``/`` in it or ends in ``.onnx``.
        precision: ``fp32`` or ``int8``; not looked at if ``name`` is a path.

    Raises:
        VocoderError: there is no such file.
    """
    if "/" in name or name.endswith(_SUFFIX):
        path = Path(name)
        if not path.is_file():
            raise VocoderError(f"{path}: no such file; give the path of an .onnx file, or a model's name: {_known()}")
        return path
    for model in installed():
        if (model.name, model.precision) == (name, precision):
            return model.path
    raise VocoderError(
        f"there is no {name}.{precision}{_SUFFIX} in {_PACKAGED} or {models_folder()}; there are: {_known()}"
    )


def _inside(folder: Path, *, packaged: bool) -> Iterator[InstalledModel]:
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        name, _, precision = path.name.removesuffix(_SUFFIX).rpartition(".")
        if name:
            yield InstalledModel(name, precision, path, packaged)


def _known() -> str:
    return ", ".join(f"{model.name} ({model.precision})" for model in installed()) or "none"

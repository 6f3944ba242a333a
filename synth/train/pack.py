"""What of a run is kept in the repository: the averaged weights, and beside them what training needs to go on.

The second file is in bfloat16, and the weights that training itself moves are left out: a run that goes on from here
starts at their average. This is a warm restart, not the same run to the last bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from synth.train import checkpoint

_SECOND: Final = ("adam", "usual_norm", "critics", "critic_adam")


def pack(source: Path, folder: Path) -> tuple[Path, Path]:
    """Split a checkpoint into ``bigvgan-<size>.safetensors`` and ``bigvgan-<size>.resume.safetensors``.

    Args:
        source: checkpoint of a run.
        folder: where to write; files of the same name are replaced.

    Raises:
        CheckpointError: ``source`` cannot be read.
    """
    tensors, meta = checkpoint.read(source)
    name = f"bigvgan-{meta['settings']['size']}"
    weights, rest = folder / f"{name}.safetensors", folder / f"{name}.resume.safetensors"
    average = checkpoint.stripped("average", tensors)
    checkpoint.write(weights, checkpoint.prefixed("average", average), meta)
    kept = {
        # Adam's step counters do not fit: bfloat16 has eight bits of precision.
        key: tensor if tensor.ndim == 0 else tensor.to(torch.bfloat16)
        for key, tensor in tensors.items()
        if key.split(".", 1)[0] in _SECOND
    }
    checkpoint.write(rest, kept, meta)
    return weights, rest


def read_all(paths: list[Path]) -> tuple[dict[str, torch.Tensor], dict[str, object]]:
    """Tensors of several files of one run, as float32, and their metadata.

    Raises:
        CheckpointError: a file cannot be read, or they are not of the same step.
    """
    merged: dict[str, torch.Tensor] = {}
    about: dict[str, object] = {}
    for path in paths:
        tensors, meta = checkpoint.read(path)
        if about and meta != about:
            raise checkpoint.CheckpointError(
                f"{path} is of step {meta['step']}, {paths[0]} of step {about['step']}; they must be of one run"
            )
        about = meta
        merged |= {name: t.float() if t.dtype == torch.bfloat16 else t for name, t in tensors.items()}
    return merged, about

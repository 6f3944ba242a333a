"""Checkpoints of a training run: one safetensors file, replaced atomically."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

FORMAT: Final = "voxtrunk-train-1"


class CheckpointError(Exception):
    """A checkpoint cannot be used; the message says why and what to do."""


def write(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Write ``path`` so that a crash at any moment leaves the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    owned = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    save_file(owned, temporary, metadata={"format": FORMAT, "meta": json.dumps(meta)})
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    temporary.replace(path)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and metadata of a checkpoint.

    Raises:
        CheckpointError: not a whole safetensors file, or not one of ours.
    """
    try:
        with safe_open(path, framework="pt") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path}: not a readable safetensors file, perhaps cut short ({error}); restore it from another copy"
        ) from error
    if header.get("format") != FORMAT:
        raise CheckpointError(f"{path}: format {header.get('format')!r}, expected {FORMAT!r}; written by another tool?")
    return tensors, json.loads(header["meta"])


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Names with ``prefix.`` in front."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def stripped(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The entries that begin with ``prefix.``, without it."""
    return {name[len(prefix) + 1 :]: tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}.")}


def load_weights(module: nn.Module, weights: dict[str, Tensor], source: Path) -> None:
    """Fill ``module``.

    Raises:
        CheckpointError: a tensor is missing, unknown or of another shape; names it.
    """
    expected = module.state_dict()
    for name, tensor in expected.items():
        if name not in weights:
            raise CheckpointError(f"{source}: no tensor {name!r} of shape {tuple(tensor.shape)}; another model size?")
        if weights[name].shape != tensor.shape:
            raise CheckpointError(
                f"{source}: {name!r} has shape {tuple(weights[name].shape)}, expected {tuple(tensor.shape)}; "
                "another model size?"
            )
    unknown = sorted(weights.keys() - expected.keys())
    if unknown:
        raise CheckpointError(f"{source}: unknown tensor {unknown[0]!r}; written by another version?")
    module.load_state_dict(weights)


def adam_tensors(optimizer: torch.optim.Optimizer, module: nn.Module) -> dict[str, Tensor]:
    """Adam's moments by parameter name; empty before the first step."""
    moments: dict[str, Tensor] = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            moments[f"{name}.{key}"] = value if isinstance(value, Tensor) else torch.tensor(float(value))
    return moments


def load_adam(optimizer: torch.optim.Optimizer, module: nn.Module, moments: dict[str, Tensor]) -> None:
    """Give the moments back, to the parameters' devices; parameters without any start afresh."""
    for name, parameter in module.named_parameters():
        if f"{name}.step" not in moments:
            continue
        optimizer.state[parameter] = {
            "step": moments[f"{name}.step"].float().to(parameter.device),
            "exp_avg": moments[f"{name}.exp_avg"].to(parameter),
            "exp_avg_sq": moments[f"{name}.exp_avg_sq"].to(parameter),
        }

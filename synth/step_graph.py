"""A streaming model's step as an ONNX graph of the form that :mod:`synth.vocoder_file` reads; needs PyTorch."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from synth.bigvgan_layers import StreamingModel
from synth.mel import MelDefinition
from synth.vocoder_file import FORMAT, write_checksum

_OPSET: Final = 18
_FREE: Final = {
    "mel": {0: "batch", 2: "frames"},
    "f0_hz": {0: "batch", 1: "frames"},
    "noise": {0: "batch", 1: "samples"},
}


class StepGraph(nn.Module):
    """The step with its state as positional arguments, after the inputs and in the order of ``names``."""

    def __init__(self, model: StreamingModel) -> None:
        super().__init__()
        self.model: Any = model.eval()
        self.names = list(model.init(1))

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        inputs, state = tensors[: -len(self.names)], tensors[-len(self.names) :]
        pcm, after = self.model.step(*inputs, dict(zip(self.names, state, strict=True)))
        return (pcm, *(after[name] for name in self.names))


def about(definition: MelDefinition, lookahead_samples: int) -> dict[str, str]:
    """What every file says of itself, besides its name and the hash of its weights."""
    return {
        "format": FORMAT,
        "sample_rate_hz": str(definition.sample_rate_hz),
        "hop_samples": str(definition.hop_samples),
        "lookahead_samples": str(lookahead_samples),
        "mel": json.dumps(dataclasses.asdict(definition)),
        "precision": "fp32",
    }


@torch.no_grad()
def write_onnx(model: StreamingModel, example: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str]) -> None:
    """Write ``model`` to ``path``, and its checksum beside it.

    Args:
        model: with the weights to ship.
        example: arguments of its step before the state, by name and in order, of two streams and of sizes that occur
            nowhere else, so that none is taken for a constant.
        path: ``.onnx`` file to write.
        metadata: all of it.
    """
    import onnx

    graph = StepGraph(model)
    before, after = ([f"{prefix}.{name}" for name in graph.names] for prefix in ("state", "next"))
    free: dict[str, dict[int, str]] = {name: _FREE[name] for name in example} | {"pcm": {0: "batch", 1: "samples"}}
    temporary = path.with_name(path.name + ".tmp")
    with warnings.catch_warnings():
        # The newer exporter takes 20 times as long here and rewrites sums: 3e-5 off instead of 2e-7.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            (*example.values(), *model.init(2).values()),
            str(temporary),
            dynamo=False,
            opset_version=_OPSET,
            input_names=[*example, *before],
            output_names=["pcm", *after],
            dynamic_axes=free | {name: {0: "batch"} for name in (*before, *after)},
        )
    exported = onnx.load(temporary)
    onnx.helper.set_model_props(exported, dict(metadata))
    onnx.save(exported, temporary)
    temporary.replace(path)
    write_checksum(path)

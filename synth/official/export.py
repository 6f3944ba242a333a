"""The streaming generator as a file of the form that :mod:`synth.vocoder_file` reads."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from synth.official.graph import OfficialBigVgan
from synth.vocoder_file import FORMAT, write_checksum

_OPSET: Final = 18


class _Graph(nn.Module):
    """The step with its state as positional arguments, in the order of ``names``."""

    def __init__(self, model: OfficialBigVgan) -> None:
        super().__init__()
        self.model, self.names = model, list(model.init(1))

    def forward(self, mel: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        pcm, after = self.model.step(mel, dict(zip(self.names, state, strict=True)))
        return (pcm, *(after[name] for name in self.names))


@torch.no_grad()
def export_onnx(model: OfficialBigVgan, path: Path, more: Mapping[str, str]) -> None:
    """Write ``model`` to ``path``, and its checksum beside it.

    Inputs: ``mel`` (batch, bands, frames) and one ``state.<name>`` for each entry of
    :meth:`~synth.official.graph.OfficialBigVgan.init`. Outputs: ``pcm`` (batch, hop * frames), ``next.<name>``.

    Args:
        model: with its weights.
        path: ``.onnx`` file to write.
        more: added to the metadata; ``name`` and ``weights_sha256`` belong to it.
    """
    import onnx

    graph = _Graph(model.eval())
    free: dict[str, dict[int, str]] = {"mel": {0: "batch", 2: "frames"}, "pcm": {0: "batch", 1: "samples"}}
    for name in graph.names:
        free[f"state.{name}"] = free[f"next.{name}"] = {0: "batch"}
    mel = model.config.mel
    about = {
        "format": FORMAT,
        "sample_rate_hz": str(mel.sample_rate_hz),
        "hop_samples": str(mel.hop_samples),
        "lookahead_samples": str(model.lookahead_samples),
        "mel": json.dumps(dataclasses.asdict(mel)),
        "precision": "fp32",
        **more,
    }
    temporary = path.with_name(path.name + ".tmp")
    with warnings.catch_warnings():
        # As in synth.export: the newer exporter is slower and less exact.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            # Sizes that occur nowhere else, so that none is taken for a constant.
            (torch.zeros(2, mel.bands, 3), *model.init(2).values()),
            str(temporary),
            dynamo=False,
            opset_version=_OPSET,
            input_names=["mel", *(f"state.{name}" for name in graph.names)],
            output_names=["pcm", *(f"next.{name}" for name in graph.names)],
            dynamic_axes=free,
        )
    exported = onnx.load(temporary)
    onnx.helper.set_model_props(exported, about)
    onnx.save(exported, temporary)
    temporary.replace(path)
    write_checksum(path)

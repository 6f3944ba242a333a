"""``python -m synth.export``: the vocoder as an ONNX graph whose state goes in and comes out.

Inputs: ``mel`` (batch, 80, frames), ``f0_hz`` (batch, frames), ``noise`` (batch, 160 * frames) and one ``state.<name>``
for each entry of :meth:`synth.bigvgan.BigVgan.init`. Outputs: ``pcm`` (batch, 160 * frames) and ``next.<name>``, to be
fed back. Batch and frames are free. What a reader has to know is in the file's metadata.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from synth import mel as mels
from synth.bigvgan import LOOKAHEAD_SAMPLES, SIZES, BigVgan
from synth.train import checkpoint

FORMAT: Final = "voxtrunk-vocoder-1"
_OPSET: Final = 18


class _Graph(nn.Module):
    """The step with its state as positional arguments, in the order of ``names``."""

    def __init__(self, model: BigVgan, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, mel: Tensor, f0_hz: Tensor, noise: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        pcm, after = self.model.step(mel, f0_hz, noise, dict(zip(self.names, state, strict=True)))
        return (pcm, *(after[name] for name in self.names))


@torch.no_grad()
def export(model: BigVgan, path: Path, metadata: dict[str, str]) -> None:
    """Write ``model`` to ``path``.

    Args:
        model: with the weights to ship.
        path: ``.onnx`` file to write.
        metadata: added to what the graph itself needs: format, sizes, delay and the weights' SHA-256.
    """
    import onnx

    # Traced with sizes that occur nowhere else, so that none is taken for a constant.
    state = model.init(2)
    names = list(state)
    mel, f0_hz = torch.zeros(2, mels.BANDS, 3), torch.full((2, 3), 100.0)
    inputs = (mel, f0_hz, torch.zeros(2, 3 * mels.HOP_SAMPLES), *state.values())
    free = {
        "mel": {0: "batch", 2: "frames"},
        "f0_hz": {0: "batch", 1: "frames"},
        "noise": {0: "batch", 1: "samples"},
        "pcm": {0: "batch", 1: "samples"},
    }
    for name in names:
        free[f"state.{name}"] = free[f"next.{name}"] = {0: "batch"}
    with warnings.catch_warnings():
        # The newer exporter takes 20 times as long here and rewrites sums: 3e-5 off instead of 2e-7.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Graph(model.eval(), names),
            inputs,
            str(path),
            dynamo=False,
            opset_version=_OPSET,
            input_names=["mel", "f0_hz", "noise", *(f"state.{name}" for name in names)],
            output_names=["pcm", *(f"next.{name}" for name in names)],
            dynamic_axes=free,
        )
    graph = onnx.load(path)
    onnx.helper.set_model_props(
        graph,
        {
            "format": FORMAT,
            "size": model.config.name,
            "sample_rate_hz": str(mels.SAMPLE_RATE_HZ),
            "hop_samples": str(mels.HOP_SAMPLES),
            "bands": str(mels.BANDS),
            "lookahead_samples": str(LOOKAHEAD_SAMPLES),
            "weights_sha256": weights_sha256(model),
            **metadata,
        },
    )
    temporary = path.with_name(path.name + ".tmp")
    onnx.save(graph, temporary)
    temporary.replace(path)


def weights_sha256(model: BigVgan) -> str:
    """SHA-256 of all weights, by name: the same for a checkpoint and for the graph made of it."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m synth.export", description="Export a vocoder to ONNX.")
    parser.add_argument("checkpoint", type=Path, help="checkpoint of python -m synth.train, or a shipped .safetensors")
    parser.add_argument("onnx", type=Path, help="file to write")
    options = parser.parse_args(arguments)
    try:
        tensors, meta = checkpoint.read(options.checkpoint)
        model = BigVgan(SIZES[meta["settings"]["size"]])
        checkpoint.load_weights(model, checkpoint.stripped("average", tensors), options.checkpoint)
    except checkpoint.CheckpointError as error:
        sys.stderr.write(f"synth.export: {error}\n")
        return 1
    export(model, options.onnx, {"step": str(meta["step"])})
    sys.stdout.write(f"{options.onnx}: {options.onnx.stat().st_size / 1e6:.1f} MB, step {meta['step']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

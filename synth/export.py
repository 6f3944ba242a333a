"""The vocoder as a file: an ONNX graph, or a TorchScript module, whose state goes in and comes out.

Inputs: ``mel`` (batch, 80, frames), ``f0_hz`` (batch, frames), ``noise`` (batch, 160 * frames) and one ``state.<name>``
for each entry of :meth:`synth.bigvgan.BigVgan.init`, all zeros at first. Outputs: ``pcm`` (batch, 160 * frames) and
``next.<name>``, to be fed back. Batch and frames are free. What a reader has to know is in the file's metadata.

``python -m synth.export CHECKPOINT FOLDER`` writes ``<name>.fp32.onnx`` and ``<name>.int8.onnx`` with their checksums.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from synth import mel as mels
from synth.bigvgan import LOOKAHEAD_SAMPLES, SIZES, BigVgan
from synth.quantise import Feeds, layers, quantise, sensitivity, utterance
from synth.step_graph import StepGraph, about, write_onnx
from synth.train import checkpoint, corpus
from synth.vocoder_file import VocoderError, VocoderFile, write_checksum

_CALIBRATION_CLIPS: Final = 32
_JUDGED_CLIPS: Final = 8
_CLIP_S: Final = 3


def export_onnx(model: BigVgan, path: Path, more: Mapping[str, str]) -> None:
    """Write ``model`` to ``path``, and its checksum beside it.

    Args:
        model: with the weights to ship.
        path: ``.onnx`` file to write.
        more: added to the metadata.
    """
    write_onnx(model, _example(), path, {**_about(model), **more})


@torch.no_grad()
def export_torchscript(model: BigVgan, path: Path, more: Mapping[str, str]) -> None:
    """The same step with the same arguments for LibTorch; names and metadata are in the extra file ``about.json``."""
    graph = StepGraph(model)
    example = (*_example().values(), *model.init(2).values())
    with warnings.catch_warnings():
        # torch warns that tracing is old, and of every size that it turns into a number; the tests try other sizes.
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(graph, example, check_trace=False)  # type: ignore[no-untyped-call]
        metadata = {**_about(model), **more, "state": graph.names}
        torch.jit.save(traced, str(path), _extra_files={"about.json": json.dumps(metadata)})
    write_checksum(path)


def _example() -> dict[str, Tensor]:
    return {
        "mel": torch.zeros(2, mels.BANDS, 3),
        "f0_hz": torch.full((2, 3), 100.0),
        "noise": torch.zeros(2, 3 * mels.HOP_SAMPLES),
    }


def _about(model: BigVgan) -> dict[str, str]:
    names = {"name": f"bigvgan-{model.config.name}", "weights_sha256": weights_sha256(model)}
    return about(mels.OURS, LOOKAHEAD_SAMPLES) | names


def weights_sha256(model: BigVgan) -> str:
    """SHA-256 of all weights, by name: the same for a checkpoint and for the graph made of it."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except (checkpoint.CheckpointError, corpus.CorpusError, VocoderError) as error:
        sys.stderr.write(f"synth.export: {error}\n")
        return 1
    return 0


def _run(options: argparse.Namespace) -> None:
    tensors, meta = checkpoint.read(options.checkpoint)
    model = BigVgan(SIZES[meta["settings"]["size"]])
    checkpoint.load_weights(model, checkpoint.stripped("average", tensors), options.checkpoint)
    more = {"step": str(meta["step"])}
    stem = f"bigvgan-{model.config.name}"
    whole, small = options.folder / f"{stem}.fp32.onnx", options.folder / f"{stem}.int8.onnx"
    export_onnx(model, whole, more)
    written = [whole]
    if options.torchscript:
        written.append(options.folder / f"{stem}.pt")
        export_torchscript(model, written[-1], more)
    if options.precision == "int8":
        file = VocoderFile.open(whole)
        clips = corpus.load(options.work_dir / "corpus", ["train"])
        order = np.random.default_rng(0).permutation(len(clips))
        feeds = [_feeds(file, clips[int(which)]) for which in order[: _CALIBRATION_CLIPS + _JUDGED_CLIPS]]
        calibration, judged = feeds[:_CALIBRATION_CLIPS], feeds[_CALIBRATION_CLIPS:]
        unknown = sorted(set(options.keep) - set(layers(whole)))
        if unknown:
            raise VocoderError(f"--keep: there is no layer {unknown[0]!r}; there are: {', '.join(layers(whole))}")
        if options.layers:
            for layer, distance in sensitivity(whole, calibration, judged):
                sys.stdout.write(f"{layer:<40} {distance:.4f}\n")
        quantise(whole, small, calibration, options.keep)
        written.append(small)
    for path in written:
        sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB, step {meta['step']}\n")


def _feeds(file: VocoderFile, audio: corpus.Audio) -> Feeds:
    frames = min(_CLIP_S * mels.SAMPLE_RATE_HZ, len(audio.pcm)) // mels.HOP_SAMPLES
    pcm = audio.pcm[: frames * mels.HOP_SAMPLES].astype(np.float32) / 32768.0
    return utterance(file, mels.log_mel(pcm), audio.f0_hz[:frames])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m synth.export", description="Export a vocoder to ONNX.")
    parser.add_argument("checkpoint", type=Path, help="checkpoint of python -m synth.train, or a shipped .safetensors")
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("--precision", choices=["fp32", "int8"], default="int8", help="int8 writes both (default)")
    parser.add_argument(
        "--keep", nargs="*", default=[], metavar="LAYER", help="layers that stay float32 in the INT8 file"
    )
    parser.add_argument(
        "--layers", action="store_true", help="print how far the output moves (log mel, nats) by each quantised layer"
    )
    parser.add_argument("--torchscript", action="store_true", help="write <name>.pt too")
    parser.add_argument("--work-dir", type=Path, default=corpus.WORK_DIR, help="of python -m synth.train prepare")
    return parser


if __name__ == "__main__":
    sys.exit(main())

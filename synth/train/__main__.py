"""``python -m synth.train``: prepare the corpus, train, judge."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from synth.bigvgan import SIZES, BigVgan
from synth.train import checkpoint, corpus, runtime
from synth.train.pack import pack
from synth.train.settings import RunSettings
from synth.train.trainer import Trainer, run
from synth.train.validation import choose, table, validate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    command = {"prepare": _prepare, "run": _run, "evaluate": _evaluate, "pack": _pack}[options.command]
    try:
        command(options)
    except (corpus.CorpusError, checkpoint.CheckpointError, FloatingPointError) as error:
        sys.stderr.write(f"synth.train: {error}\n")
        return 1
    return 0


def _prepare(options: argparse.Namespace) -> None:
    corpus.prepare(options.work_dir / "corpus", pseudo_clips=options.pseudo_clips, seed=options.seed, report=_say)


def _run(options: argparse.Namespace) -> None:
    device = torch.device(options.device)
    runtime.prepare(device, options.threads)
    folder = options.work_dir / (options.name or options.size or RunSettings.size)
    latest = folder / "checkpoint.safetensors"
    start = options.resume or ([latest] if latest.is_file() else [])
    settings = RunSettings()
    if start:
        settings = RunSettings.from_dict(checkpoint.read(start[0])[1]["settings"], start[0])
    changed = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(RunSettings)
        if getattr(options, field.name) is not None
    }
    settings = dataclasses.replace(settings, **changed)
    trainer = Trainer(settings, corpus.load(options.work_dir / "corpus", ["train"]), device)
    if start:
        trainer.load(*start)
    precision = "bf16 autocast" if trainer.bf16 else "float32"
    _say(f"{settings} on {device} in {precision}, from step {trainer.step}")
    run(
        trainer,
        folder,
        _held_out(options),
        until_step=options.steps,
        validate_every=options.validate_every,
        save_every_s=options.save_every_s,
        report=_say,
    )


def _evaluate(options: argparse.Namespace) -> None:
    runtime.prepare(torch.device("cpu"), options.threads)
    tensors, meta = checkpoint.read(options.checkpoint)
    model = BigVgan(SIZES[meta["settings"]["size"]])
    checkpoint.load_weights(model, checkpoint.stripped("average", tensors), options.checkpoint)
    scores = validate(model, _held_out(options), options.samples)
    _say(f"step {meta['step']}\n{table(scores)}")


def _pack(options: argparse.Namespace) -> None:
    for path in pack(options.checkpoint, options.folder):
        _say(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def _held_out(options: argparse.Namespace) -> list[corpus.Audio]:
    audios = corpus.load(options.work_dir / "corpus", ["unseen_speaker", "unseen_file"])
    return choose(audios, options.clips_by_speaker)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m synth.train", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--work-dir", type=Path, default=corpus.WORK_DIR, help="corpus and runs (default: ~/.cache/voxtrunk)"
    )
    common.add_argument("--threads", type=int, default=1, help="only as many as cores are really free")
    common.add_argument("--clips-by-speaker", type=int, default=6, help="clips judged of each held-out speaker")

    prepare = commands.add_parser("prepare", parents=[common], help="make the corpus from installed packages")
    prepare.add_argument("--pseudo-clips", type=int, default=900, help="sentences of pseudo-speakers")
    prepare.add_argument("--seed", type=int, default=0)

    train = commands.add_parser("run", parents=[common], help="train, or go on training")
    train.add_argument("--device", default="cpu", help="cpu or cuda")
    train.add_argument("--steps", type=int, required=True, help="stop at this step")
    train.add_argument("--name", help="folder of the run in the work directory (default: the size)")
    train.add_argument(
        "--resume", type=Path, nargs="+", help="files of one checkpoint to go on from (default: the run's own)"
    )
    train.add_argument("--validate-every", type=int, default=1000, help="steps")
    train.add_argument("--save-every-s", type=float, default=180.0)
    for field in dataclasses.fields(RunSettings):
        kind = {"str": str, "int": int, "float": float}[str(field.type)]
        train.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=kind,
            choices=sorted(SIZES) if field.name == "size" else None,
            help=f"default: {field.default}, or the checkpoint's",
        )
    train.set_defaults(size=None)

    evaluate = commands.add_parser("evaluate", parents=[common], help="judge a checkpoint on held-out speech")
    evaluate.add_argument("checkpoint", type=Path)
    evaluate.add_argument("--samples", type=Path, help="folder for WAV files")

    packing = commands.add_parser("pack", help="split a checkpoint into the files that the repository keeps")
    packing.add_argument("checkpoint", type=Path)
    packing.add_argument("folder", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())

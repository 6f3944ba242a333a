"""The files that are kept: small, and enough to go on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from synth.train import checkpoint
from synth.train.checkpoint import CheckpointError
from synth.train.corpus import Audio
from synth.train.pack import pack, read_all
from synth.train.settings import RunSettings
from synth.train.trainer import Trainer

SMALL = RunSettings(size="tiny", batch=1, frames=20, critic_frames=10, warmup_steps=2, adversarial_from=1)


def trained(audios: list[Audio], steps: int) -> Trainer:
    trainer = Trainer(SMALL, audios, torch.device("cpu"))
    for _ in range(steps):
        trainer.train_step()
    return trainer


def test_a_packed_run_goes_on_from_its_average(audios: list[Audio], tmp_path: Path) -> None:
    before = trained(audios, 3)
    before.save(tmp_path / "a.safetensors")
    weights, rest = pack(tmp_path / "a.safetensors", tmp_path / "kept")
    assert (weights.name, rest.name) == ("bigvgan-tiny.safetensors", "bigvgan-tiny.resume.safetensors")
    assert max(weights.stat().st_size, rest.stat().st_size) < 25_000_000
    after = trained(audios, 0)
    after.load(weights, rest)
    assert after.step == 3
    for name, tensor in before.average.state_dict().items():
        torch.testing.assert_close(after.average.state_dict()[name], tensor, atol=0.0, rtol=0.0)
        torch.testing.assert_close(after.model.state_dict()[name], tensor, atol=0.0, rtol=0.0)
    for name, tensor in before.critics.state_dict().items():
        torch.testing.assert_close(after.critics.state_dict()[name], tensor, atol=1e-3, rtol=1e-2)
    assert all(value == value for value in after.train_step().values())
    assert after.step == 4


def test_weights_alone_are_enough(audios: list[Audio], tmp_path: Path) -> None:
    trained(audios, 2).save(tmp_path / "a.safetensors")
    weights, _ = pack(tmp_path / "a.safetensors", tmp_path)
    after = trained(audios, 0)
    after.load(weights)
    after.train_step()
    assert after.step == 3


def test_files_of_different_steps_are_refused(tmp_path: Path) -> None:
    for step in (1, 2):
        checkpoint.write(tmp_path / f"{step}.safetensors", {"a": torch.zeros(1)}, {"step": step})
    with pytest.raises(CheckpointError, match=r"2\.safetensors is of step 2, .*1\.safetensors of step 1"):
        read_all([tmp_path / "1.safetensors", tmp_path / "2.safetensors"])

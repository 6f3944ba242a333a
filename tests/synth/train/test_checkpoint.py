"""Checkpoints: whole or refused, with a message that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from synth.train import checkpoint
from synth.train.checkpoint import CheckpointError


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run" / "a.safetensors"
    shared = torch.arange(6.0)
    checkpoint.write(path, {"a": shared, "b": shared[2:]}, {"step": 7})
    tensors, meta = checkpoint.read(path)
    assert meta == {"step": 7}
    torch.testing.assert_close(tensors["b"], shared[2:])
    assert [entry.name for entry in path.parent.iterdir()] == ["a.safetensors"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.safetensors"
    checkpoint.write(path, {"a": torch.zeros(2)}, {"step": 1})

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.write(path, {"a": torch.ones(2)}, {"step": 2})
    assert checkpoint.read(path)[1] == {"step": 1}


@pytest.mark.parametrize("keep", [0, 5, 60])
def test_a_file_cut_short_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a.safetensors"
    checkpoint.write(path, {"a": torch.zeros(100)}, {"step": 1})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=r"a\.safetensors: not a readable safetensors file"):
        checkpoint.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nothing\.safetensors"):
        checkpoint.read(tmp_path / "nothing.safetensors")


def test_a_stranger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(CheckpointError, match="format None, expected 'voxtrunk-train-1'"):
        checkpoint.read(path)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"weight": torch.zeros(3, 2)}, r"no tensor 'bias' of shape \(3,\)"),
        ({"weight": torch.zeros(2, 2), "bias": torch.zeros(3)}, r"'weight' has shape \(2, 2\), expected \(3, 2\)"),
        ({"weight": torch.zeros(3, 2), "bias": torch.zeros(3), "more": torch.zeros(1)}, "unknown tensor 'more'"),
    ],
)
def test_other_weights_are_refused(weights: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load_weights(torch.nn.Linear(2, 3), weights, Path("x"))


def test_prefixes_are_taken_off_again() -> None:
    tensors = {"model.a": torch.zeros(1), "models.b": torch.ones(1)}
    assert list(checkpoint.stripped("model", tensors)) == ["a"]
    assert list(checkpoint.prefixed("model", checkpoint.stripped("model", tensors))) == ["model.a"]

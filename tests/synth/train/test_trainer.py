"""Training: it learns, it repeats, and a resumed run is the run that was never stopped."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import torch

from synth.train import checkpoint
from synth.train.batches import BatchMaker
from synth.train.corpus import Audio
from synth.train.settings import RunSettings
from synth.train.trainer import Trainer, run
from tests.synth.train.conftest import make_audio

SMALL = RunSettings(size="tiny", batch=1, frames=20, critic_frames=10, warmup_steps=2, adversarial_from=2)


def trainer(audios: list[Audio], settings: RunSettings = SMALL) -> Trainer:
    return Trainer(settings, audios, torch.device("cpu"))


def weights(one: Trainer) -> dict[str, torch.Tensor]:
    return {**one.model.state_dict(), **checkpoint.prefixed("average", one.average.state_dict())}


@pytest.mark.parametrize("stop_at", [1, 3])
def test_a_resumed_run_is_the_same_run(audios: list[Audio], tmp_path: Path, stop_at: int) -> None:
    through = trainer(audios)
    for _ in range(5):
        through.train_step()
    before = trainer(audios)
    for _ in range(stop_at):
        before.train_step()
    before.save(tmp_path / "a.safetensors")
    after = trainer(audios, SMALL)
    after.load(tmp_path / "a.safetensors")
    assert after.step == stop_at
    while after.step < 5:
        after.train_step()
    for name, tensor in weights(through).items():
        torch.testing.assert_close(weights(after)[name], tensor, atol=0.0, rtol=0.0)


def test_the_loss_falls(audios: list[Audio], monkeypatch: pytest.MonkeyPatch) -> None:
    one = trainer(audios, RunSettings(size="tiny", batch=2, frames=40, warmup_steps=5, learning_rate=5e-3))
    batch = BatchMaker(audios, batch=2, frames=40, seed=0).make(0)
    monkeypatch.setattr(BatchMaker, "make", lambda *_: batch)
    losses = [one.train_step()["log"] for _ in range(40)]
    assert losses[-1] < 0.8 * losses[0]


def test_discriminators_join_at_their_step(audios: list[Audio]) -> None:
    one = trainer(audios)
    assert "critic" not in one.train_step()
    one.train_step()
    parts = one.train_step()
    assert {"critic", "fooling", "features"} <= set(parts)
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in one.critics.parameters())


def test_an_outlier_is_not_followed(audios: list[Audio], monkeypatch: pytest.MonkeyPatch) -> None:
    one = trainer(audios)
    usual = one.train_step()["gradient"]
    kept = {name: tensor.clone() for name, tensor in weights(one).items()}
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_: torch.tensor(100.0 * usual))
        one.train_step()
    for name, tensor in weights(one).items():
        torch.testing.assert_close(tensor, kept[name], atol=0.0, rtol=0.0)
    assert one.step == 2
    one.train_step()
    assert not torch.equal(one.model.head.conv.weight, kept["head.conv.weight"])


def test_a_gradient_that_is_not_finite_ends_the_run(audios: list[Audio], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_: torch.tensor(float("nan")))
    with pytest.raises(FloatingPointError, match="step 0: the gradient is not finite; resume with a lower rate"):
        trainer(audios).train_step()


def test_the_average_follows(audios: list[Audio]) -> None:
    one = trainer(audios)
    start = one.average.head.conv.weight.clone()
    for _ in range(3):
        one.train_step()
    moved = (one.average.head.conv.weight - start).abs().sum()
    assert 0 < moved < (one.model.head.conv.weight - start).abs().sum() * 1.01


def test_a_checkpoint_of_another_size_is_refused(audios: list[Audio], tmp_path: Path) -> None:
    trainer(audios).save(tmp_path / "a.safetensors")
    large = trainer(audios, RunSettings(size="nano", batch=1, frames=20))
    with pytest.raises(checkpoint.CheckpointError, match="another model size"):
        large.load(tmp_path / "a.safetensors")


def test_the_rate_warms_up_and_halves() -> None:
    settings = RunSettings(learning_rate=1e-3, warmup_steps=10, halving_steps=100)
    assert settings.rate(0) == pytest.approx(1e-4)
    assert settings.rate(100) == pytest.approx(5e-4)


def test_run_validates_saves_and_stops(audios: list[Audio], tmp_path: Path) -> None:
    lines: list[str] = []
    one = trainer(audios)
    run(
        one,
        tmp_path,
        [make_audio("it", "unseen_speaker", 2.2)],
        until_step=2,
        validate_every=2,
        report_every=1,
        report=lines.append,
    )
    assert checkpoint.read(tmp_path / "checkpoint.safetensors")[1]["step"] == 2
    record = json.loads((tmp_path / "validation.jsonl").read_text(encoding="utf-8"))
    assert record["step"] == 2
    assert record["scores"][0]["speaker"] == "it"
    assert (tmp_path / "samples" / "000002" / "it-copy.wav").stat().st_size > 60_000
    assert checkpoint.read(tmp_path / "step-000002.safetensors")[1]["step"] == 2
    assert lines[0].startswith("[##########          ] 1/2 spectral log ")
    assert lines[-1].startswith("stopped at step 2; checkpoint: ")


def test_a_signal_ends_the_run_with_a_checkpoint(audios: list[Audio], tmp_path: Path) -> None:
    one = trainer(audios)

    def stop_after_the_second(line: str) -> None:
        if " 2/1000 " in line:
            os.kill(os.getpid(), signal.SIGTERM)

    run(one, tmp_path, [], until_step=1000, report_every=1, report=stop_after_the_second)
    assert one.step == 2
    assert checkpoint.read(tmp_path / "checkpoint.safetensors")[1]["step"] == 2
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

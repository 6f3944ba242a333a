"""The training loop."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, Final

import torch
from torch import Tensor

from synth.bigvgan import LOOKAHEAD_SAMPLES, SIZES, BigVgan
from synth.mel import HOP_SAMPLES
from synth.mel_torch import LogMel
from synth.train import checkpoint, losses, runtime
from synth.train.batches import BatchMaker
from synth.train.corpus import Audio
from synth.train.discriminators import Discriminators
from synth.train.pack import read_all
from synth.train.settings import RunSettings
from synth.train.validation import table, validate

_BETAS: Final = (0.9, 0.99)
_CRITIC_BETAS: Final = (0.8, 0.99)
_CLIP_NORM: Final = 1.0
_OUTLIER: Final = 5.0
"""A gradient this many times the usual one is not followed: Adam would move every weight at once by a full step."""
_CRITIC_RATE: Final = 3e-4
_SMOOTHING: Final = 0.98
_KEPT: Final = 4
"""Checkpoints of past validations: something to go back to if training goes wrong."""


class Trainer:
    """One run: model, running average, discriminators, optimizers, and the step they are at.

    Args:
        settings: what decides the weights.
        audios: clips to train on.
        device: where to compute.
        bf16: autocast the networks to bf16; by default where it pays.
    """

    def __init__(
        self, settings: RunSettings, audios: list[Audio], device: torch.device, bf16: bool | None = None
    ) -> None:
        self.settings, self.device, self.step = settings, device, 0
        self.bf16 = runtime.bf16_pays(device) if bf16 is None else bf16
        torch.manual_seed(settings.seed)
        self.model = BigVgan(SIZES[settings.size]).to(device)
        self.average = BigVgan(SIZES[settings.size]).to(device).requires_grad_(False)
        self.average.load_state_dict(self.model.state_dict())
        self.critics = Discriminators().to(device)
        self._adam = torch.optim.AdamW(self.model.parameters(), betas=_BETAS, weight_decay=1e-3, fused=True)
        self._critic_adam = torch.optim.AdamW(
            self.critics.parameters(), betas=_CRITIC_BETAS, weight_decay=1e-3, fused=True
        )
        self._usual_norm = 0.0
        self._batches = BatchMaker(audios, settings.batch, settings.frames, settings.seed)
        self._spectral = losses.SpectralLoss().to(device)
        self._mel = LogMel().to(device)

    def train_step(self) -> dict[str, float]:
        """One step; returns its losses by name."""
        settings = self.settings
        batch = self._batches.make(self.step)
        pcm, f0_hz = (torch.from_numpy(array).to(self.device) for array in batch)
        generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + self.step)
        noise = torch.randn(pcm.shape, generator=generator).to(self.device)
        with torch.no_grad():
            mel = self._mel(pcm)
        with self._autocast():
            made = self.model(mel, f0_hz, noise)
        made, real = made.float()[:, LOOKAHEAD_SAMPLES:], pcm[:, :-LOOKAHEAD_SAMPLES]
        loss, parts = self._spectral(made, real)
        if self.step >= settings.adversarial_from:
            adversarial, more = self._adversarial(made, real, generator)
            loss = loss + settings.adversarial_weight * adversarial
            parts |= more
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), _CLIP_NORM)
        if not torch.isfinite(norm):
            raise FloatingPointError(f"step {self.step}: the gradient is not finite; resume with a lower rate")
        if self._expected(float(norm)):
            for group in self._adam.param_groups:
                group["lr"] = settings.rate(self.step)
            self._adam.step()
            self._follow()
        self.step += 1
        return {name: float(value.detach()) for name, value in (parts | {"gradient": norm}).items()}

    def _expected(self, norm: float) -> bool:
        """Whether a gradient of this norm is no outlier; keeps count of what is usual."""
        usual = self._usual_norm or norm
        self._usual_norm = usual + 0.02 * (min(norm, 2.0 * usual) - usual)
        return norm < _OUTLIER * usual

    def _adversarial(self, made: Tensor, real: Tensor, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        length = min(self.settings.critic_frames * HOP_SAMPLES, made.shape[1])
        first = int(torch.randint(0, made.shape[1] - length + 1, (1,), generator=generator))
        made, real = made[:, first : first + length], real[:, first : first + length]
        self.critics.requires_grad_(True)
        with self._autocast():
            real_scores, real_features = self.critics(real)
            made_scores, _ = self.critics(made.detach())
        critic_loss = losses.discriminator_loss(real_scores, made_scores)
        self._critic_adam.zero_grad(set_to_none=True)
        critic_loss.backward()  # type: ignore[no-untyped-call]
        for group in self._critic_adam.param_groups:
            group["lr"] = _CRITIC_RATE
        self._critic_adam.step()
        # The generator's turn. Features of the real part are those of a moment ago, which saves a pass.
        self.critics.requires_grad_(False)
        with self._autocast():
            scores, features = self.critics(made)
        fooling = losses.generator_loss(scores)
        matching = losses.feature_loss(real_features, features)
        parts = {"critic": critic_loss, "fooling": fooling, "features": matching}
        return fooling + self.settings.feature_weight * matching, parts

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self.bf16 else nullcontext()

    @torch.no_grad()
    def _follow(self) -> None:
        decay = min(self.settings.average_decay, (1.0 + self.step) / (10.0 + self.step))
        slow: list[Tensor] = list(self.average.parameters())
        fast: list[Tensor] = list(self.model.parameters())
        torch._foreach_lerp_(slow, fast, 1.0 - decay)

    def save(self, path: Path) -> None:
        """Write everything that the next step depends on."""
        tensors = (
            checkpoint.prefixed("model", self.model.state_dict())
            | checkpoint.prefixed("average", self.average.state_dict())
            | checkpoint.prefixed("adam", checkpoint.adam_tensors(self._adam, self.model))
            | {"usual_norm": torch.tensor(self._usual_norm, dtype=torch.float64)}
        )
        if self.step > self.settings.adversarial_from:
            tensors |= checkpoint.prefixed("critics", self.critics.state_dict())
            tensors |= checkpoint.prefixed("critic_adam", checkpoint.adam_tensors(self._critic_adam, self.critics))
        checkpoint.write(path, tensors, {"step": self.step, "settings": self.settings.to_dict()})

    def load(self, *paths: Path) -> None:
        """Continue from a checkpoint, or from the files that :func:`synth.train.pack.pack` made of one.

        Raises:
            CheckpointError: a file cannot be read, or is of another model size.
        """
        tensors, meta = read_all(list(paths))
        path = paths[0]
        average = checkpoint.stripped("average", tensors)
        checkpoint.load_weights(self.average, average, path)
        checkpoint.load_weights(self.model, checkpoint.stripped("model", tensors) or average, path)
        checkpoint.load_adam(self._adam, self.model, checkpoint.stripped("adam", tensors))
        critics = checkpoint.stripped("critics", tensors)
        if critics:
            checkpoint.load_weights(self.critics, critics, path)
            moments = checkpoint.stripped("critic_adam", tensors)
            checkpoint.load_adam(self._critic_adam, self.critics, moments)
        self._usual_norm = float(tensors.get("usual_norm", torch.zeros(())))
        self.step = int(str(meta["step"]))


def run(
    trainer: Trainer,
    folder: Path,
    held_out: list[Audio],
    *,
    until_step: int,
    save_every_s: float = 180.0,
    validate_every: int = 1000,
    report_every: int = 50,
    report: Callable[[str], None],
) -> None:
    """Train to ``until_step``; checkpoints, validation tables and samples go to ``folder``.

    SIGTERM and Ctrl-C end the run after the step in hand, with a checkpoint.
    """
    path = folder / "checkpoint.safetensors"
    stopping = _StopRequest()
    means: dict[str, float] = {}
    saved_at = reported_at = time.monotonic()
    with stopping:
        while trainer.step < until_step and not stopping.asked:
            for name, value in trainer.train_step().items():
                means[name] = _SMOOTHING * means.get(name, value) + (1.0 - _SMOOTHING) * value
            now = time.monotonic()
            if trainer.step % report_every == 0:
                report(progress(trainer, until_step, means, (now - reported_at) / report_every))
                reported_at = now
            if now - saved_at > save_every_s:
                trainer.save(path)
                saved_at = now
            if trainer.step % validate_every == 0:
                scores = validate(trainer.average, held_out, folder / "samples" / f"{trainer.step:06d}")
                report(f"step {trainer.step}\n{table(scores)}")
                trainer.save(folder / f"step-{trainer.step:06d}.safetensors")
                for old in sorted(folder.glob("step-*.safetensors"))[:-_KEPT]:
                    old.unlink()
                line = {"step": trainer.step, "scores": [score.to_dict() for score in scores]}
                with (folder / "validation.jsonl").open("a", encoding="utf-8") as log:
                    log.write(json.dumps(line) + "\n")
                reported_at = time.monotonic()
    trainer.save(path)
    report(f"stopped at step {trainer.step}; checkpoint: {path}")


def progress(trainer: Trainer, until_step: int, means: dict[str, float], step_s: float) -> str:
    """One line: bar, step, stage, losses, speed and time left."""
    done = trainer.step / max(until_step, 1)
    bar = "#" * int(20 * done)
    stage = "adversarial" if trainer.step > trainer.settings.adversarial_from else "spectral"
    left_min = (until_step - trainer.step) * step_s / 60
    shown = " ".join(f"{name} {value:.3f}" for name, value in means.items())
    return f"[{bar:<20}] {trainer.step}/{until_step} {stage} {shown} {step_s:.2f} s/step {left_min:.0f} min left"


class _StopRequest:
    """Turns SIGTERM and SIGINT into a flag while it is entered."""

    def __init__(self) -> None:
        self.asked = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> _StopRequest:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._previous[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

"""Settings of a training run. They are kept in the checkpoint and printed at the start."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.train.checkpoint import CheckpointError


@dataclass(frozen=True)
class RunSettings:
    """What decides the weights, besides the corpus.

    Attributes:
        size: name of a model size.
        seed: of the weights, batches and noise.
        batch: segments a step.
        frames: 10 ms frames a segment.
        adversarial_from: first step with discriminators.
        critic_frames: length of the part of a segment that the discriminators judge.
        learning_rate: at the end of the warm-up.
        halving_steps: the learning rate halves each time this many steps have passed.
        warmup_steps: of linear growth of the learning rate.
        adversarial_weight: of the adversarial losses beside the spectral one, which counts 1.
        feature_weight: of feature matching among the adversarial losses.
        average_decay: of the running average of the weights, which is what is judged and shipped.
    """

    size: str = "nano"
    seed: int = 0
    batch: int = 4
    frames: int = 64
    adversarial_from: int = 20_000
    critic_frames: int = 32
    learning_rate: float = 4e-4
    halving_steps: int = 8_000
    warmup_steps: int = 300
    adversarial_weight: float = 0.125
    feature_weight: float = 2.0
    average_decay: float = 0.999

    def rate(self, step: int) -> float:
        """Learning rate of the generator at ``step``."""
        warm = min(1.0, (step + 1) / self.warmup_steps)
        return self.learning_rate * warm * float(0.5 ** (step / self.halving_steps))

    @classmethod
    def from_dict(cls, kept: dict[str, Any], source: Path) -> RunSettings:
        """Settings as :meth:`to_dict` gave them.

        Raises:
            CheckpointError: some are of another version of this class; ``source`` is named.
        """
        try:
            return cls(**kept)
        except TypeError as error:
            raise CheckpointError(f"{source}: its settings are of another version ({error})") from error

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

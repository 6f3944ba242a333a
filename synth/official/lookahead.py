"""How far each layer may look ahead, when all of them together may look only so far.

BigVGAN's layers are symmetric: each sees as much of the future as of the past. What they see together is the delay of
the stream. A budget below that is spent from the output backwards: the stages at the output's end need little time
and get all they want, the first stage and the mel get what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth.official.config import OfficialConfig

ACTIVATION_STEPS = 5
"""What an alias-free activation sees ahead: 2 steps of its upsampling filter, 3 of the other."""
_ENDS_TAPS = 7
"""Kernel of the first and of the last convolution."""


@dataclass(frozen=True)
class Need:
    """What a layer would see ahead: ``steps``, of which it can use whole ``unit`` s."""

    steps: int
    unit: int = 1


@dataclass(frozen=True)
class StagePlan:
    """Steps ahead within a stage, in steps of its rate.

    Attributes:
        up: of the transposed convolution.
        blocks: of the layers of each block, in order: activation and convolution in turn.
        block: of the longest block; the others are delayed to it.
    """

    up: int
    blocks: tuple[tuple[int, ...], ...]
    block: int


@dataclass(frozen=True)
class Plan:
    """Steps ahead of all layers.

    Attributes:
        first: of the first convolution, in frames.
        stages: of the stages.
        activation, last: of the last activation and convolution, in samples.
        samples: of all together.
    """

    first: int
    stages: tuple[StagePlan, ...]
    activation: int
    last: int
    samples: int


def plan(config: OfficialConfig, frames: int | None) -> Plan:
    """Share out the lookahead.

    Args:
        config: of the generator.
        frames: mel frames that all layers together may look ahead; None for all that they want.
    """
    hop = config.mel.hop_samples
    left = 10**9 if frames is None else frames * hop
    started_with = left
    activation, last = _share([Need(ACTIVATION_STEPS), Need(_ENDS_TAPS // 2)], left)
    left -= activation + last
    stages: list[StagePlan] = []
    step_samples = 1
    for rate, kernel in zip(reversed(config.upsample_rates), reversed(config.upsample_kernels), strict=True):
        blocks = tuple(_share(needs, left // step_samples) for needs in block_needs(config))
        block = max(map(sum, blocks))
        left -= block * step_samples
        up = min((kernel - rate) // 2, left // step_samples)
        left -= up * step_samples
        stages.append(StagePlan(up, blocks, block))
        step_samples *= rate
    first = min(_ENDS_TAPS // 2, left // hop)
    left -= first * hop
    return Plan(first, tuple(reversed(stages)), activation, last, started_with - left)


def block_needs(config: OfficialConfig) -> list[list[Need]]:
    """What the layers of each block would see ahead."""
    made: list[list[Need]] = []
    for kernel, dilations in zip(config.block_kernels, config.block_dilations, strict=True):
        needs: list[Need] = []
        for dilation in dilations:
            needs += [Need(ACTIVATION_STEPS), Need(kernel // 2 * dilation, dilation)]
            if config.resblock == "1":
                needs += [Need(ACTIVATION_STEPS), Need(kernel // 2)]
        made.append(needs)
    return made


def _share(needs: Sequence[Need], budget: int) -> tuple[int, ...]:
    """All that is wanted, or parts in proportion; what rounding leaves goes to the last layers."""
    total = sum(need.steps for need in needs)
    if total <= budget:
        return tuple(need.steps for need in needs)
    given = [need.steps * budget // total // need.unit * need.unit for need in needs]
    left = budget - sum(given)
    for index in reversed(range(len(needs))):
        need = needs[index]
        more = min(need.steps - given[index], left // need.unit * need.unit)
        given[index] += more
        left -= more
    return tuple(given)

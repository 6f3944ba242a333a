"""BigVGAN's layers, causal: what a layer sees ahead became delay.

Tensors are (batch, time, channels), as in :mod:`synth.bigvgan_layers`. A layer with ``ahead`` steps puts out step
``t - ahead`` when step ``t`` comes in. Weights of taps further ahead are added to those of the furthest: the last value
that is known stands for the unknown ones.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from synth.bigvgan_layers import State, Stateful, Step
from synth.official.lookahead import ACTIVATION_STEPS

FILTER_TAPS: Final = 12
_RATIO: Final = 2
_BLOCK_STEPS: Final = 8
"""Steps a matrix product of a filter; 16 took the same time."""
_UP_AHEAD: Final = 2
_UP_BEHIND: Final = 3
_DOWN_BEHIND: Final = 2


def alias_free_filter() -> NDArray[np.float64]:
    """The activations' low-pass filter at twice the rate, shape (12,), sum 1: a sinc under a Kaiser window.

    BigVGAN designs it for a cut-off of 0.25 and a half width of 0.3 of the rate; Kaiser's formula gives the window.
    """
    attenuation_db = 2.285 * (FILTER_TAPS // 2 - 1) * math.pi * 1.2 + 7.95
    window = np.kaiser(FILTER_TAPS, 0.1102 * (attenuation_db - 8.7))
    at = np.arange(FILTER_TAPS) - (FILTER_TAPS - 1) / 2
    taps = window * np.sinc(at / _RATIO)
    return np.asarray(taps / taps.sum())


def up_matrix(ahead: int, block: int) -> NDArray[np.float64]:
    """``block`` steps and those around them -> pairs of upsampled ones, shape (2 * block, block + 3 + ahead).

    The pair of step ``s`` lies half a step before ``s`` and at it: both are then made of steps ``s - 3`` to ``s + 2``.
    """
    taps = _RATIO * alias_free_filter()
    matrix = np.zeros((_RATIO * block, block + _UP_BEHIND + ahead))
    for step in range(block):
        for phase in range(_RATIO):
            for offset in range(-_UP_BEHIND, _UP_AHEAD + 1):
                column = step + _UP_BEHIND + min(offset, ahead)
                matrix[_RATIO * step + phase, column] += taps[_RATIO * (_UP_AHEAD - offset) + phase]
    return matrix


def down_matrix(ahead: int, block: int) -> NDArray[np.float64]:
    """Pairs of ``block`` steps and of those around them -> steps, shape (block, 2 * (block + 2 + ahead))."""
    taps = alias_free_filter()
    matrix = np.zeros((block, _RATIO * (block + _DOWN_BEHIND + ahead)))
    for step in range(block):
        for tap in range(FILTER_TAPS):
            last = _RATIO * (_DOWN_BEHIND + ahead) + 1
            matrix[step, _RATIO * step + min(tap, last)] += taps[tap]
    return matrix


class BlockStep(Step):
    """A step whose layers also work in blocks.

    Attributes:
        batch: streams. Asked for once: exported, each question is a chain of small operations.
    """

    def __init__(self, before: State, batch: int, frames: int) -> None:
        super().__init__(before, frames)
        self.batch = batch
        self._blocks: dict[tuple[int, int, int], Tensor] = {}

    def blocks(self, block: int, history: int, per_frame: int) -> Tensor:
        """Indices of the new steps in blocks, each with the ``history`` before it, shape (blocks, history + block)."""
        key = block, history, per_frame
        if key not in self._blocks:
            starts = torch.arange(self._frames * (per_frame // block)).unsqueeze(1) * block
            self._blocks[key] = starts + torch.arange(history + block)
        return self._blocks[key]


class Convolution(Stateful):
    """Conv1d that sees the present and the past: (batch, time, in) -> (batch, time, out), one matrix product.

    Args:
        channels_in, channels_out, kernel, dilation: as for Conv1d.
        per_frame: steps a mel frame.
    """

    def __init__(
        self, channels_in: int, channels_out: int, kernel: int, dilation: int = 1, *, per_frame: int = 1
    ) -> None:
        super().__init__()
        self.channels, self.kernel, self.dilation, self.per_frame = channels_in, kernel, dilation, per_frame
        self.history = (kernel - 1) * dilation
        self.weight = nn.Parameter(torch.zeros(channels_out, channels_in, kernel))
        self.bias = nn.Parameter(torch.zeros(channels_out))

    def init(self, batch: int, device: torch.device) -> State:
        return {self.name: torch.zeros(batch, self.history, self.channels, device=device)} if self.history else {}

    def forward(self, x: Tensor, step: BlockStep) -> Tensor:
        if self.history:
            x = torch.cat([step.before[self.name], x], dim=1)
            step.after[self.name] = x[:, -self.history :]
        if self.kernel > 1:
            x = x[:, step.taps(self.kernel, self.dilation, self.per_frame)]
            x = x.reshape(step.batch, -1, self.kernel * self.channels)
        return x @ self.weight.permute(2, 1, 0).flatten(0, 1) + self.bias


class Activation(Stateful):
    """Snake between two filters: upsampled to twice the rate, bent, and brought back without aliases.

    The filters run as products with banded matrices, a block of steps at once: ONNX Runtime's convolution by channel
    took half as long again.

    Args:
        channels: of the input.
        ahead: steps, up to 5.
        per_frame: steps a mel frame.
    """

    up: Tensor
    down: Tensor

    def __init__(self, channels: int, ahead: int, per_frame: int) -> None:
        super().__init__()
        up_ahead = ahead * _UP_AHEAD // ACTIVATION_STEPS
        down_ahead = ahead - up_ahead
        self.channels, self.per_frame = channels, per_frame
        self.block = math.gcd(per_frame, _BLOCK_STEPS)
        self.history = _UP_BEHIND + up_ahead
        self.pairs = _DOWN_BEHIND + down_ahead
        self.angle = nn.Parameter(torch.ones(channels))
        self.size = nn.Parameter(torch.ones(channels))
        for name, matrix in (("up", up_matrix(up_ahead, self.block)), ("down", down_matrix(down_ahead, self.block))):
            self.register_buffer(name, torch.tensor(matrix, dtype=torch.float32), persistent=False)

    def init(self, batch: int, device: torch.device) -> State:
        return {
            f"{self.name}.low": torch.zeros(batch, self.history, self.channels, device=device),
            f"{self.name}.high": torch.zeros(batch, _RATIO * self.pairs, self.channels, device=device),
        }

    def forward(self, x: Tensor, step: BlockStep) -> Tensor:
        low = torch.cat([step.before[f"{self.name}.low"], x], dim=1)
        step.after[f"{self.name}.low"] = low[:, -self.history :]
        new = self.up @ low[:, step.blocks(self.block, self.history, self.per_frame)]
        new = new.reshape(step.batch, -1, self.channels)
        # x + sin(angle x)^2 * size, and sin^2 by the cosine of the double angle.
        new = new + (1.0 - torch.cos(new * (2.0 * self.angle))) * (0.5 * self.size)
        high = torch.cat([step.before[f"{self.name}.high"], new], dim=1)
        step.after[f"{self.name}.high"] = high[:, -_RATIO * self.pairs :]
        windows = step.blocks(_RATIO * self.block, _RATIO * self.pairs, _RATIO * self.per_frame)
        return (self.down @ high[:, windows]).reshape(step.batch, -1, self.channels)


class Delay(Stateful):
    """Puts its input out ``steps`` later."""

    def __init__(self, channels: int, steps: int) -> None:
        super().__init__()
        self.channels, self.steps = channels, steps

    def init(self, batch: int, device: torch.device) -> State:
        return {self.name: torch.zeros(batch, self.steps, self.channels, device=device)} if self.steps else {}

    def forward(self, x: Tensor, step: Step) -> Tensor:
        if self.steps == 0:
            return x
        held = torch.cat([step.before[self.name], x], dim=1)
        step.after[self.name] = held[:, -self.steps :]
        return held[:, : -self.steps]

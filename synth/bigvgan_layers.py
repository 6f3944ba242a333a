"""Causal building blocks of the vocoder: convolution, Snake, AMP block, pixel shuffle.

Modules hold weights only. A layer that looks back reads its history from ``state`` under its own ``name`` and writes
the new history to ``after``; both are dictionaries of tensors that belong to the call.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

State = dict[str, Tensor]

_BRANCH_GAIN: Final = 0.4
"""Of a residual branch. At 1 the blocks amplified each other and training diverged after 1600 steps."""


class Stateful(nn.Module):
    """A layer with history. ``name`` is its path in the model, set by the model when it is built."""

    name: str = ""

    def init(self, batch: int, device: torch.device) -> State:
        """This layer's entries before the first frame: zeros."""
        raise NotImplementedError


class CausalConv1d(Stateful):
    """Conv1d that sees the present and the past: (batch, in, time) -> (batch, out, time)."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.history = (kernel - 1) * dilation
        self.conv = nn.Conv1d(channels_in, channels_out, kernel, dilation=dilation)

    def init(self, batch: int, device: torch.device) -> State:
        if self.history == 0:
            return {}
        return {self.name: torch.zeros(batch, self.conv.in_channels, self.history, device=device)}

    def forward(self, x: Tensor, state: State, after: State) -> Tensor:
        if self.history:
            x = torch.cat([state[self.name], x], dim=-1)
            after[self.name] = x[..., -self.history :]
        y: Tensor = self.conv(x)
        return y


class _SnakeFunction(torch.autograd.Function):
    """Snake-beta with its gradient written out: keeps one tensor instead of five, which halves its time on a CPU."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        ctx.save_for_backward(x, alpha, beta)
        return _snake(x, alpha, beta)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, alpha, beta = ctx.saved_tensors  # type: ignore[attr-defined]
        angle = x * (2.0 * alpha)
        slope = torch.sin(angle) / beta
        grad_x = torch.addcmul(grad, grad, slope * alpha)
        grad_alpha = (grad * slope * x).sum((0, 2)).view_as(alpha)
        power = torch.cos(angle).neg_().add_(1.0)
        grad_beta = -((grad * power).sum((0, 2)).view_as(beta) / (2.0 * beta.square()))
        return grad_x, grad_alpha, grad_beta


def _snake(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return x + (1.0 - torch.cos(x * (2.0 * alpha))) / (2.0 * beta)


class SnakeBeta(nn.Module):
    """``x + sin(alpha x)^2 / beta``, both by channel and in the logarithm (Lee et al., BigVGAN, 2022).

    Without BigVGAN's anti-aliasing filters. They look 5 samples ahead at each activation, which at 100 Hz is 50 ms and
    would be 450 ms over the twelve that follow one another here, against 25 ms for the whole vocoder. And they are
    not needed: what runs here are frames from which a spectrum is read, not a waveform, so that nothing that is
    folded over becomes an audible tone.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.zeros(channels, 1))
        self.log_beta = nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        alpha, beta = self.log_alpha.exp(), self.log_beta.exp()
        if torch.is_grad_enabled() and x.requires_grad:
            y: Tensor = _SnakeFunction.apply(x, alpha, beta)  # type: ignore[no-untyped-call]
            return y
        return _snake(x, alpha, beta)


class AmpBlock(nn.Module):
    """Anti-aliased multi-periodicity block of BigVGAN, causal: pairs of dilated and plain convolutions, residual."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.dilated = nn.ModuleList(CausalConv1d(channels, channels, kernel, d) for d in dilations)
        self.plain = nn.ModuleList(CausalConv1d(channels, channels, kernel) for _ in dilations)
        self.before = nn.ModuleList(SnakeBeta(channels) for _ in dilations)
        self.between = nn.ModuleList(SnakeBeta(channels) for _ in dilations)

    def forward(self, x: Tensor, state: State, after: State) -> Tensor:
        for before, dilated, between, plain in zip(self.before, self.dilated, self.between, self.plain, strict=True):
            y = dilated(before(x), state, after)
            x = x + _BRANCH_GAIN * plain(between(y), state, after)
        return x


class AmpStage(nn.Module):
    """AMP blocks of several kernels side by side, averaged."""

    def __init__(self, channels: int, kernels: tuple[int, ...], dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(AmpBlock(channels, kernel, dilations) for kernel in kernels)

    def forward(self, x: Tensor, state: State, after: State) -> Tensor:
        total = self.blocks[0](x, state, after)
        for block in self.blocks[1:]:
            total = total + block(x, state, after)
        y: Tensor = total / len(self.blocks)
        return y


def pixel_shuffle(x: Tensor, factor: int) -> Tensor:
    """(batch, factor * channels, time) -> (batch, channels, factor * time); the first channels come first in time."""
    channels = x.shape[1] // factor
    return x.reshape(x.shape[0], factor, channels, x.shape[2]).permute(0, 2, 3, 1).flatten(2)


def pad_time(x: Tensor, before: int, after: int) -> Tensor:
    """Zeros before and after on the time axis, which is the last but one: (batch, time, features)."""
    return functional.pad(x, (0, 0, before, after))

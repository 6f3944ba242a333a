"""Causal building blocks of the vocoder: convolution, Snake, AMP block, pixel shuffle.

Tensors are (batch, time, channels), so that the exported graph can treat all streams of a batch as rows of one matrix.
Modules hold weights only. A layer that looks back finds its history in ``step.before`` under its own ``name`` and
leaves the new one in ``step.after``.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

State = dict[str, Tensor]

_BRANCH_GAIN: Final = 0.4
"""Of a residual branch. At 1 the blocks amplified each other and training diverged after 1600 steps."""


class Step:
    """One call of a model: the state it found, the state it leaves, and what its layers share.

    Attributes:
        before: not changed.
        after: every layer with history puts its entry here.
    """

    def __init__(self, before: State, frames: int) -> None:
        """
        Args:
            before: from :meth:`Stateful.init` or from the step before.
            frames: new mel frames.
        """
        self.before = before
        self.after: State = {}
        self._frames = frames
        self._taps: dict[tuple[int, int, int], Tensor] = {}

    def taps(self, kernel: int, dilation: int, per_frame: int) -> Tensor:
        """Where a causal kernel looks: indices (new steps, kernel) into history and new steps."""
        key = kernel, dilation, per_frame
        if key not in self._taps:
            steps = torch.arange(self._frames * per_frame).unsqueeze(1)
            self._taps[key] = steps + torch.arange(kernel) * dilation
        return self._taps[key]


class Stateful(nn.Module):
    """A layer with history. ``name`` is its path in the model, set by the model when it is built."""

    name: str = ""

    def init(self, batch: int, device: torch.device) -> State:
        """This layer's entries before the first frame: zeros."""
        raise NotImplementedError


class StreamingModel(nn.Module):
    """A model of such layers: its state is theirs."""

    def name_layers(self) -> None:
        """Give the layers with history their names; to be called when all of them are there."""
        self._stateful: list[Stateful] = []
        for name, module in self.named_modules():
            if isinstance(module, Stateful):
                module.name = name
                self._stateful.append(module)

    def init(self, batch: int) -> State:
        """State of ``batch`` streams before their first frame: zeros; its names are module paths."""
        device = next(self.parameters()).device
        state: State = {}
        for module in self._stateful:
            state.update(module.init(batch, device))
        return state


class CausalConv1d(Stateful):
    """Conv1d that sees the present and the past: (batch, time, in) -> (batch, time, out).

    Args:
        channels_in, channels_out, kernel, dilation: as for Conv1d.
        gain: of the output; part of the weights once exported.
        per_frame: steps a mel frame, 1 or 2.
    """

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int,
        dilation: int = 1,
        gain: float = 1.0,
        per_frame: int = 1,
    ) -> None:
        super().__init__()
        self.per_frame = per_frame
        self.history = (kernel - 1) * dilation
        self.gain = gain
        self.conv = nn.Conv1d(channels_in, channels_out, kernel, dilation=dilation)

    def init(self, batch: int, device: torch.device) -> State:
        if self.history == 0:
            return {}
        return {self.name: torch.zeros(batch, self.history, self.conv.in_channels, device=device)}

    def forward(self, x: Tensor, step: Step) -> Tensor:
        if self.history:
            x = torch.cat([step.before[self.name], x], dim=1)
            step.after[self.name] = x[:, -self.history :]
        weight, bias = self.conv.weight, self.conv.bias
        assert bias is not None
        if self.gain != 1.0:
            weight, bias = weight * self.gain, bias * self.gain
        if torch.onnx.is_in_onnx_export():
            taps = step.taps(self.conv.kernel_size[0], self.conv.dilation[0], self.per_frame)
            return gathered_conv(x, weight, taps) + bias
        y = functional.conv1d(x.transpose(1, 2), weight, bias, dilation=self.conv.dilation)
        return y.transpose(1, 2)


def gathered_conv(x: Tensor, weight: Tensor, taps: Tensor) -> Tensor:
    """The same convolution as one matrix product whose rows are the steps of all streams.

    ONNX Runtime's Conv takes the streams one by one: with two steps a stream it ran at a sixth of this speed.

    Args:
        x: history and new steps, (batch, history + time, in).
        weight: (out, in, kernel).
        taps: indices into x, (time, kernel).
    """
    channels_out, channels_in, kernel = weight.shape
    if kernel > 1:
        x = x[:, taps].flatten(2)
    return x @ weight.permute(2, 1, 0).reshape(kernel * channels_in, channels_out)


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
        grad_alpha = (grad * slope * x).sum((0, 1))
        power = torch.cos(angle).neg_().add_(1.0)
        grad_beta = -((grad * power).sum((0, 1)) / (2.0 * beta.square()))
        return grad_x, grad_alpha, grad_beta


def _snake(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return x + (1.0 - torch.cos(x * (2.0 * alpha))) * (0.5 / beta)


class SnakeBeta(nn.Module):
    """``x + sin(alpha x)^2 / beta``, both by channel and in the logarithm (Lee et al., BigVGAN, 2022).

    Without BigVGAN's anti-aliasing filters. They look 5 samples ahead at each activation, which at 100 Hz is 50 ms and
    would be 450 ms over the twelve that follow one another here, against 25 ms for the whole vocoder. And they are
    not needed: what runs here are frames from which a spectrum is read, not a waveform, so that nothing that is
    folded over becomes an audible tone. Even with free sight ahead they bought nothing (the model card has the table).
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.zeros(channels, 1))
        self.log_beta = nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        alpha, beta = self.log_alpha.exp().squeeze(1), self.log_beta.exp().squeeze(1)
        if torch.is_grad_enabled() and x.requires_grad:
            y: Tensor = _SnakeFunction.apply(x, alpha, beta)  # type: ignore[no-untyped-call]
            return y
        return _snake(x, alpha, beta)


class AmpBlock(nn.Module):
    """Anti-aliased multi-periodicity block of BigVGAN, causal: pairs of dilated and plain convolutions, residual."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...], per_frame: int = 1) -> None:
        super().__init__()
        self.dilated = nn.ModuleList(
            CausalConv1d(channels, channels, kernel, dilation, per_frame=per_frame) for dilation in dilations
        )
        self.plain = nn.ModuleList(
            CausalConv1d(channels, channels, kernel, gain=_BRANCH_GAIN, per_frame=per_frame) for _ in dilations
        )
        self.before = nn.ModuleList(SnakeBeta(channels) for _ in dilations)
        self.between = nn.ModuleList(SnakeBeta(channels) for _ in dilations)

    def forward(self, x: Tensor, step: Step) -> Tensor:
        for before, dilated, between, plain in zip(self.before, self.dilated, self.between, self.plain, strict=True):
            y = dilated(before(x), step)
            x = x + plain(between(y), step)
        return x


class AmpStage(nn.Module):
    """AMP blocks of several kernels side by side, averaged."""

    def __init__(self, channels: int, kernels: tuple[int, ...], dilations: tuple[int, ...], per_frame: int = 1) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(AmpBlock(channels, kernel, dilations, per_frame) for kernel in kernels)

    def forward(self, x: Tensor, step: Step) -> Tensor:
        total = self.blocks[0](x, step)
        for block in self.blocks[1:]:
            total = total + block(x, step)
        y: Tensor = total / len(self.blocks)
        return y


def pixel_shuffle(x: Tensor, factor: int) -> Tensor:
    """(batch, time, factor * channels) -> (batch, factor * time, channels); the first channels come first in time."""
    batch, time, channels = x.shape
    return x.reshape(batch, time * factor, channels // factor)


def pad_time(x: Tensor, before: int, after: int) -> Tensor:
    """Zeros before and after on the time axis, which is the last but one: (batch, time, features)."""
    return functional.pad(x, (0, 0, before, after))

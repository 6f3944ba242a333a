"""The causal blocks: what they compute, and that chunks of any size give the whole."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from synth.bigvgan_layers import AmpStage, CausalConv1d, SnakeBeta, State, Stateful, Step, gathered_conv, pixel_shuffle


def named(module: torch.nn.Module) -> list[Stateful]:
    layers = [layer for layer in module.modules() if isinstance(layer, Stateful)]
    for name, layer in module.named_modules():
        if isinstance(layer, Stateful):
            layer.name = name or "layer"
    return layers


def start(layers: list[Stateful], batch: int) -> State:
    state: State = {}
    for layer in layers:
        state |= layer.init(batch, torch.device("cpu"))
    return state


@pytest.mark.parametrize("kernel", [1, 3, 7])
@pytest.mark.parametrize("dilation", [1, 5])
@pytest.mark.parametrize("chunk", [1, 2, 3, 8])
@torch.no_grad()
def test_a_convolution_in_chunks_equals_the_padded_whole(kernel: int, dilation: int, chunk: int) -> None:
    torch.manual_seed(0)
    layer = CausalConv1d(4, 6, kernel, dilation)
    layers = named(layer)
    x = torch.randn(2, 29, 4)
    assert layer.conv.bias is not None
    assert layer.conv.bias.abs().min() > 0
    expected = functional.conv1d(
        functional.pad(x.transpose(1, 2), ((kernel - 1) * dilation, 0)),
        layer.conv.weight,
        layer.conv.bias,
        dilation=dilation,
    ).transpose(1, 2)
    state, parts = start(layers, 2), []
    for first in range(0, 29, chunk):
        piece = x[:, first : first + chunk]
        step = Step(state, piece.shape[1])
        parts.append(layer(piece, step))
        state = step.after
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (7, 5)])
@torch.no_grad()
def test_the_exported_form_of_a_convolution_is_the_same(kernel: int, dilation: int) -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(6, 4, kernel), torch.randn(2, (kernel - 1) * dilation + 5, 4)
    made = gathered_conv(x, weight, Step({}, 5).taps(kernel, dilation, 1))
    expected = functional.conv1d(x.transpose(1, 2), weight, dilation=dilation).transpose(1, 2)
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_an_amp_stage_in_chunks_equals_the_whole() -> None:
    torch.manual_seed(0)
    stage = AmpStage(8, (3, 7), (1, 3, 5))
    layers = named(stage)
    x = torch.randn(1, 40, 8)
    whole = stage(x, Step(start(layers, 1), 40))
    state, parts = start(layers, 1), []
    for piece in x.split([1, 5, 2, 13, 19], dim=1):
        step = Step(state, piece.shape[1])
        parts.append(stage(piece, step))
        state = step.after
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-6, rtol=1e-5)


def snake(x: Tensor, layer: SnakeBeta) -> Tensor:
    return x + torch.sin(layer.log_alpha.exp().squeeze(1) * x).square() / layer.log_beta.exp().squeeze(1)


def test_snake_is_its_formula_with_and_without_gradients() -> None:
    torch.manual_seed(0)
    layer = SnakeBeta(3)
    with torch.no_grad():
        layer.log_alpha.normal_()
        layer.log_beta.normal_()
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(layer(x.requires_grad_()), snake(x, layer))
    with torch.no_grad():
        torch.testing.assert_close(layer(x), snake(x, layer))


def test_the_gradient_of_snake_is_that_of_its_formula() -> None:
    torch.manual_seed(0)
    layer = SnakeBeta(3).double()
    with torch.no_grad():
        layer.log_alpha.normal_()
        layer.log_beta.normal_()
    x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 5, 3, dtype=torch.float64)
    leaves = [x, layer.log_alpha, layer.log_beta]
    ours = torch.autograd.grad((layer(x) * weight).sum(), leaves)
    formula = torch.autograd.grad((snake(x, layer) * weight).sum(), leaves)
    for one, other in zip(ours, formula, strict=True):
        torch.testing.assert_close(one, other)


def test_pixel_shuffle_puts_the_first_channels_first_in_time() -> None:
    x = torch.tensor([[[1.0, 10.0, 3.0, 30.0], [2.0, 20.0, 4.0, 40.0]]])
    expected = torch.tensor([[[1.0, 10.0], [3.0, 30.0], [2.0, 20.0], [4.0, 40.0]]])
    torch.testing.assert_close(pixel_shuffle(x, 2), expected)

"""Discriminators: the folded Conv1d is the Conv2d of the papers."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from synth.train.discriminators import Discriminators, PeriodDiscriminator


@pytest.mark.parametrize("period", [2, 5, 11])
@torch.no_grad()
def test_the_first_layer_equals_its_two_dimensional_form(period: int) -> None:
    torch.manual_seed(0)
    part = PeriodDiscriminator(period)
    signal = torch.randn(3, 100 * period + 1)
    _, features = part(signal)
    layer = part.layers[0]
    assert isinstance(layer, torch.nn.Conv1d)
    image = signal[:, : 100 * period].reshape(3, 1, 100, period)
    flat = functional.conv2d(image, layer.weight.unsqueeze(-1), layer.bias, stride=(3, 1), padding=(2, 0))
    expected = functional.leaky_relu(flat, 0.1).permute(0, 3, 1, 2).flatten(0, 1)
    torch.testing.assert_close(features[0], expected, atol=1e-5, rtol=1e-5)


def test_every_part_scores_and_learns() -> None:
    critics = Discriminators()
    scores, features = critics(torch.randn(2, 5120))
    assert len(scores) == len(critics.parts) == 8
    assert len(features) == 5 * 5 + 3 * 3
    torch.stack([score.square().mean() for score in scores]).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in critics.parameters())

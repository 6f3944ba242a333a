"""Losses: nothing for equals, more for worse, and finite gradients."""

from __future__ import annotations

import pytest
import torch

from synth.train.losses import SpectralLoss, discriminator_loss, feature_loss, generator_loss


def test_equal_signals_cost_nothing() -> None:
    signal = torch.randn(2, 4800)
    loss, parts = SpectralLoss()(signal, signal)
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    assert set(parts) == {"log", "convergence", "mel"}


def test_the_level_counts_as_its_logarithm() -> None:
    torch.manual_seed(0)
    signal = 0.3 * torch.randn(1, 8000)
    _, parts = SpectralLoss()(signal * 2.0, signal)
    assert parts["log"].item() == pytest.approx(0.693, abs=0.01)
    assert parts["mel"].item() == pytest.approx(0.693, abs=0.01)
    assert parts["convergence"].item() == pytest.approx(1.0, abs=0.01)


def test_worse_costs_more() -> None:
    torch.manual_seed(0)
    signal = torch.sin(torch.arange(8000) * 0.1).unsqueeze(0)
    losses = [SpectralLoss()(signal + level * torch.randn(1, 8000), signal)[0].item() for level in (0.01, 0.1, 1.0)]
    assert losses == sorted(losses)


def test_silence_has_a_finite_gradient() -> None:
    made = torch.zeros(1, 4800, requires_grad=True)
    SpectralLoss()(made, torch.zeros(1, 4800))[0].backward()
    assert made.grad is not None
    assert torch.isfinite(made.grad).all()


def test_adversarial_losses_at_their_goals() -> None:
    ones, zeros = [torch.ones(2, 3)], [torch.zeros(2, 3)]
    assert discriminator_loss(ones, zeros).item() == 0.0
    assert discriminator_loss(zeros, ones).item() == 2.0
    assert generator_loss(ones).item() == 0.0
    assert feature_loss(ones, ones).item() == 0.0
    assert feature_loss(ones, zeros).item() == pytest.approx(1.0, abs=2e-3)

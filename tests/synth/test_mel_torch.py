"""The mel for training is the mel for serving."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from synth.mel import log_mel
from synth.mel_torch import LogMel


@pytest.mark.parametrize("samples", [160, 1600, 3333])
def test_equals_the_serving_mel(samples: int) -> None:
    pcm = (0.2 * np.random.default_rng(3).standard_normal((2, samples))).astype(np.float32)
    pcm[1] *= 1e-4
    twin = LogMel()(torch.from_numpy(pcm)).numpy()
    np.testing.assert_allclose(twin, log_mel(pcm), atol=1e-4)


def test_the_gradient_is_finite_in_silence() -> None:
    pcm = torch.zeros(1, 800, requires_grad=True)
    LogMel()(pcm).sum().backward()
    assert pcm.grad is not None
    assert torch.isfinite(pcm.grad).all()

"""Tests of the training code run where the ``train`` extra is installed (``make test-train``)."""

from __future__ import annotations

from importlib.util import find_spec

TRAINING = (
    "train",
    "official",
    "test_bigvgan.py",
    "test_bigvgan_layers.py",
    "test_bigvgan_source.py",
    "test_evaluate.py",
    "test_export.py",
    "test_quantise.py",
    "test_mel_torch.py",
    "test_shipped_weights.py",
)
HAS_TORCH = find_spec("torch") is not None

collect_ignore = [] if HAS_TORCH else list(TRAINING)

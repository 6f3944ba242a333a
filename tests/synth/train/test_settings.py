"""Settings go into a checkpoint and come back; others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.train.checkpoint import CheckpointError
from synth.train.settings import RunSettings


def test_round_trip() -> None:
    settings = RunSettings(size="base", seed=3, adversarial_weight=0.5)
    assert RunSettings.from_dict(settings.to_dict(), Path("run.safetensors")) == settings


def test_settings_of_another_version() -> None:
    kept = RunSettings().to_dict() | {"spectral_weight": 8.0}
    with pytest.raises(CheckpointError, match=r"run\.safetensors: its settings .* 'spectral_weight'"):
        RunSettings.from_dict(kept, Path("run.safetensors"))

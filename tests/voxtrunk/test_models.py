"""What ``voxtrunk models`` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.vocoder_file import VocoderError
from voxtrunk import models
from voxtrunk.models import add_bigvgan, list_models


def test_the_packaged_models_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert [line.split()[:2] for line in list_models().splitlines()] == [
        ["bigvgan-nano", "fp32"],
        ["bigvgan-nano", "int8"],
    ]


def test_what_converts_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(VocoderError, match=r"torch, onnx not installed; run: pip install 'voxtrunk\[train\]'"):
        add_bigvgan(tmp_path)

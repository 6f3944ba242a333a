"""The command line of the training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synth.train import checkpoint
from synth.train.__main__ import main
from synth.train.corpus import Audio
from tests.synth.train.conftest import make_audio


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    import json
    from dataclasses import asdict

    audios: list[Audio] = [make_audio("en", "train", 1.0, 1), make_audio("it", "unseen_speaker", 2.2, 2)]
    for audio in audios:
        path = tmp_path / "corpus" / audio.clip.path
        path.parent.mkdir(parents=True)
        np.savez(path, pcm=audio.pcm, f0=audio.f0_hz)
    manifest = json.dumps([asdict(audio.clip) for audio in audios])
    (tmp_path / "corpus" / "manifest.json").write_text(manifest, encoding="utf-8")
    return tmp_path


def test_run_go_on_and_evaluate(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["run", "--work-dir", str(work_dir)]
    assert main([*common, "--steps", "1", "--size", "tiny", "--batch", "1", "--frames", "10"]) == 0
    assert main([*common, "--steps", "2", "--name", "tiny", "--learning-rate", "1e-5"]) == 0
    path = work_dir / "tiny" / "checkpoint.safetensors"
    meta = checkpoint.read(path)[1]
    assert meta["step"] == 2
    assert meta["settings"]["batch"] == 1
    assert meta["settings"]["learning_rate"] == 1e-5
    assert main(["evaluate", str(path), "--work-dir", str(work_dir)]) == 0
    output = capsys.readouterr().out
    assert "from step 1" in output
    assert "mean       unseen_speaker" in output


def test_errors_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--work-dir", str(tmp_path), "--steps", "1"]) == 1
    assert "holds no corpus; run: python -m synth.train prepare" in capsys.readouterr().err
    (tmp_path / "bad.safetensors").write_bytes(b"xx")
    assert main(["evaluate", str(tmp_path / "bad.safetensors"), "--work-dir", str(tmp_path)]) == 1
    assert "bad.safetensors: not a readable safetensors file" in capsys.readouterr().err

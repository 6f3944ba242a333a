"""The quality command: every variant of every clip is judged; what is missing is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from synth import evaluate as command
from synth.evaluate import VARIANTS, evaluate, main
from synth.judges import Judge, Marks
from tests.synth.fake_vocoder import FakeVocoder
from tests.synth.train.conftest import make_audio


@pytest.fixture
def clips() -> list[command.Clip]:
    made = []
    for speaker in ("it", "ru"):
        audio = make_audio(speaker, "unseen_speaker", 2.2)
        made.append((speaker, "unseen_speaker", audio.pcm.astype(np.float32) / 32768, audio.f0_hz))
    return made


@pytest.fixture
def judge() -> Judge:
    pytest.importorskip("speechmos")
    return Judge()


def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_open", lambda path, frames: FakeVocoder())


def test_every_variant(clips: list[command.Clip], judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(monkeypatch)
    report = evaluate(clips, VARIANTS, judge, Path)
    rows = {(row["speaker"], row["variant"]): row for row in report["rows"]}
    assert set(rows) == {(speaker, variant) for speaker in ("it", "ru", "mean") for variant in VARIANTS}
    assert rows["it", "original"]["pesq_wb"] > 4.5 and rows["it", "original"]["ovrl_change"] == 0.0
    # The fake knows loudness only.
    assert rows["it", "griffin-lim"]["pesq_wb"] > rows["it", "int8"]["pesq_wb"]
    assert set(report["silence_dbfs"]) == {"fp32", "int8", "streaming"}
    assert report["delay_ms"] == 25.0 and report["borders"]["median"] > 0


def test_only_some_variants(clips: list[command.Clip], judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(monkeypatch)
    report = evaluate(clips[:1], ["fp32"], judge, Path)
    assert [row["variant"] for row in report["rows"]] == ["fp32"]
    assert "borders" not in report


def test_marks_fall_with_noise(clips: list[command.Clip], judge: Judge) -> None:
    pcm = clips[0][2]
    noisy = pcm + 0.05 * np.random.default_rng(0).standard_normal(len(pcm)).astype(np.float32)
    clean, worse = judge.marks(pcm, pcm), judge.marks(pcm, noisy)
    assert isinstance(clean, Marks) and isinstance(worse, Marks)
    assert clean.pesq_wb > 4.5 and clean.stoi > 0.999 and 1.0 <= clean.ovrl <= 5.0
    assert worse.pesq_wb < clean.pesq_wb and worse.stoi < clean.stoi


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command(
    as_json: bool,
    clips: list[command.Clip],
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened(monkeypatch)
    monkeypatch.setattr(command, "_held_out", lambda options: clips[:1])
    monkeypatch.setattr(command, "_hibari", lambda count: [])
    assert main(["--only", "streaming", "--int8", "any.onnx", *(["--json"] if as_json else [])]) == 0
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out)["rows"][0]["variant"] == "streaming"
    else:
        assert "streaming" in out and "digital silence" in out and "25.0 ms beyond the chunk" in out


def test_a_missing_corpus(tmp_path: Path, judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--work-dir", str(tmp_path)]) == 1
    assert "python -m synth.train prepare" in capsys.readouterr().err


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("synth.judges.find_spec", lambda name: None)
    assert main([]) == 1
    assert "pip install" in capsys.readouterr().err

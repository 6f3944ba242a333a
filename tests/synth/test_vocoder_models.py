"""Models are found by name and precision, in the package first, or by path; a missing one says what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth import vocoder_models
from synth.vocoder_file import VocoderError
from synth.vocoder_models import InstalledModel, installed, models_folder, resolve


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    monkeypatch.setattr(vocoder_models, "_PACKAGED", folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return folder


def add(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"")
    return path


def test_models_are_found_by_name_and_precision(packaged: Path) -> None:
    whole, small = add(packaged, "nano.fp32.onnx"), add(packaged, "nano.int8.onnx")
    assert resolve("nano", "fp32") == whole
    assert resolve("nano", "int8") == small


def test_a_name_may_hold_dots(packaged: Path) -> None:
    path = add(models_folder(), "bigvgan.v2.fp32.onnx")
    assert resolve("bigvgan.v2", "fp32") == path


def test_the_packaged_one_comes_first(packaged: Path) -> None:
    add(models_folder(), "nano.int8.onnx")
    path = add(packaged, "nano.int8.onnx")
    assert resolve("nano", "int8") == path


def test_all_are_listed_in_order(packaged: Path) -> None:
    mine = add(models_folder(), "a.fp32.onnx")
    small, whole = add(packaged, "nano.int8.onnx"), add(packaged, "nano.fp32.onnx")
    add(packaged, "nano.int8.onnx.sha256")
    add(packaged, "plain.onnx")
    assert installed() == [
        InstalledModel("nano", "fp32", whole, True),
        InstalledModel("nano", "int8", small, True),
        InstalledModel("a", "fp32", mine, False),
    ]


def test_a_path_is_taken_as_it_is(packaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add(packaged, "plain.onnx")
    assert resolve(str(path), "int8") == path
    monkeypatch.chdir(packaged)
    assert resolve("plain.onnx", "int8") == Path("plain.onnx")


def test_a_missing_model_says_what_there_is_and_where(packaged: Path) -> None:
    add(packaged, "nano.int8.onnx")
    with pytest.raises(VocoderError) as caught:
        resolve("nano", "fp32")
    message = str(caught.value)
    assert "no nano.fp32.onnx" in message
    assert str(packaged) in message
    assert str(models_folder()) in message
    assert message.endswith("there are: nano (int8)")


def test_a_missing_path_is_named(packaged: Path) -> None:
    with pytest.raises(VocoderError, match=r"/nowhere/a\.onnx: no such file; .*: none"):
        resolve("/nowhere/a.onnx", "fp32")


@pytest.mark.parametrize("data_home", ["", "relative"])
def test_the_folder_is_in_the_home_by_default(data_home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", data_home)
    assert models_folder() == Path.home() / ".local/share/voxtrunk/models"

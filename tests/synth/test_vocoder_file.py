"""The shipped files are whole, and a damaged one is refused in a sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from synth.mel import OURS
from synth.vocoder_file import VocoderError, VocoderFile, checksum_path
from synth.vocoder_models import resolve

SHIPPED = resolve("bigvgan-nano", "int8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(SHIPPED, tmp_path)
    shutil.copy(checksum_path(SHIPPED), tmp_path)
    return tmp_path / SHIPPED.name


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_what_is_shipped(precision: str) -> None:
    path = resolve("bigvgan-nano", precision)
    assert checksum_path(path).is_file()
    file = VocoderFile.open(path)
    assert (file.name, file.precision, file.definition) == ("bigvgan-nano", precision, OURS)
    assert (file.sample_rate_hz, file.hop_samples, file.lookahead_samples) == (16_000, 160, 400)
    assert file.lookahead_samples <= 0.028 * file.sample_rate_hz
    assert file.takes_f0 and file.takes_noise


def test_both_precisions_are_of_the_same_weights() -> None:
    kept = [VocoderFile.open(resolve("bigvgan-nano", precision)).metadata for precision in ("fp32", "int8")]
    assert kept[0]["weights_sha256"] == kept[1]["weights_sha256"]
    assert kept[0]["step"] == kept[1]["step"]


@pytest.mark.parametrize("size", [0, 1000, 3_000_000])
@pytest.mark.parametrize("with_checksum", [True, False])
def test_a_truncated_file(size: int, with_checksum: bool, copy: Path) -> None:
    with copy.open("r+b") as opened:
        opened.truncate(size)
    if not with_checksum:
        checksum_path(copy).unlink()
    expected = "sha256 [0-9a-f]{64}, expected [0-9a-f]{64}" if with_checksum else "not a readable ONNX model|no input"
    with pytest.raises(VocoderError, match=expected) as caught:
        VocoderFile.open(copy)
    assert str(copy) in str(caught.value)


def test_a_flipped_bit(copy: Path) -> None:
    changed = bytearray(copy.read_bytes())
    changed[len(changed) // 2] ^= 1
    copy.write_bytes(changed)
    with pytest.raises(VocoderError, match="the file is damaged or was replaced"):
        VocoderFile.open(copy)


def test_another_model_and_none(tmp_path: Path) -> None:
    import swift_f0

    other = Path(swift_f0.__file__).with_name("model.onnx")
    with pytest.raises(VocoderError, match="format None, expected 'voxtrunk-vocoder-1'; make it with"):
        VocoderFile.open(other)
    with pytest.raises(VocoderError, match="No such file"):
        VocoderFile.open(tmp_path / "none.onnx")

"""From a checkpoint's folder to a file that the vocoder runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synth.official.config import read_config
from synth.official.convert import convert, vocode
from synth.official.graph import OfficialBigVgan
from synth.official.weights import fill, find_weights, read_weights
from synth.vocoder import Vocoder
from synth.vocoder_file import VocoderError, VocoderFile, sha256, verify_checksum
from tests.synth.official.checkpoints import mel, tensors, write
from tests.synth.official.layouts import TINY


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("download") / "bigvgan_tiny", TINY, tensors(TINY))


def speech() -> np.ndarray:
    return (0.1 * np.random.default_rng(0).standard_normal(16_000)).astype(np.float32)


def test_the_file_runs_in_the_vocoder_and_equals_the_network(checkpoint: Path, tmp_path: Path) -> None:
    made = convert(checkpoint, tmp_path / "models", speech(), 16_000)
    assert made.path == tmp_path / "models" / "bigvgan_tiny.fp32.onnx"
    assert made.mismatch < 1e-5
    assert made.shortened is None
    assert made.lookahead_samples == made.wanted_samples
    verify_checksum(made.path)
    model = OfficialBigVgan(read_config(checkpoint / "config.json")).eval()
    fill(model, read_weights(find_weights(checkpoint)), checkpoint)
    given = mel(8, 40)[0].numpy()
    with Vocoder.open(made.path) as vocoder, vocoder.stream() as one, vocoder.stream() as other:
        found = np.concatenate([one.push(given[:, :14]), one.push(given[:, 14:]), one.flush()])
        again = np.concatenate([other.push(given), other.flush()])
    late = vocoder.file.lookahead_samples
    np.testing.assert_allclose(found[late : late + 320], vocode(model, given), atol=1e-5)
    np.testing.assert_allclose(found, again, atol=1e-5)


def test_the_file_says_what_it_is(checkpoint: Path, tmp_path: Path) -> None:
    file = VocoderFile.open(convert(checkpoint, tmp_path, speech(), 16_000, name="mine").path)
    assert (file.name, file.precision, file.sample_rate_hz, file.hop_samples) == ("mine", "fp32", 8000, 8)
    assert (file.takes_f0, file.takes_noise, file.definition.lead_samples) == (False, False, 12)
    assert file.metadata["weights_sha256"] == sha256(checkpoint / "bigvgan_generator.pt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.fp32.onnx", "mine.fp32.onnx.sha256"]


def test_less_lookahead_is_measured(checkpoint: Path, tmp_path: Path) -> None:
    made = convert(checkpoint, tmp_path, speech(), 16_000, lookahead_frames=2)
    assert made.name == "bigvgan_tiny-ahead2"
    assert made.lookahead_samples <= 16 < made.wanted_samples
    assert made.wanted_samples == convert(checkpoint, tmp_path, speech(), 16_000).lookahead_samples
    assert made.shortened is not None
    assert -10 < made.shortened.snr_db < 40
    assert 0.01 < made.shortened.log_mel_distance < 5
    assert VocoderFile.open(made.path).lookahead_samples == made.lookahead_samples


def test_more_lookahead_than_is_wanted_is_the_exact_network(checkpoint: Path, tmp_path: Path) -> None:
    made = convert(checkpoint, tmp_path, speech(), 16_000, lookahead_frames=99)
    assert made.shortened is None
    assert made.name == "bigvgan_tiny"


def test_weights_that_do_not_fit_leave_no_file(tmp_path: Path) -> None:
    weights = tensors(TINY)
    del weights["ups.0.0.bias"]
    folder, target = write(tmp_path / "wrong", TINY, weights), tmp_path / "models"
    with pytest.raises(VocoderError, match=r"no tensor 'ups\.0\.0\.bias', expected shape \(8,\)"):
        convert(folder, target, speech(), 16_000)
    assert not target.exists() or list(target.iterdir()) == []


def test_arguments_out_of_range_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(VocoderError, match="lookahead of -1 frames: expected 0 or more"):
        convert(checkpoint, tmp_path, speech(), 16_000, lookahead_frames=-1)
    with pytest.raises(VocoderError, match=r"'\.\./up' is no name for a model"):
        convert(checkpoint, tmp_path, speech(), 16_000, name="../up")
    with pytest.raises(VocoderError, match="half a second is the least"):
        convert(checkpoint, tmp_path, speech()[:4000], 16_000)
    with pytest.raises(VocoderError, match=r"config\.json: cannot be read"):
        convert(tmp_path, tmp_path, speech(), 16_000)
    assert list(tmp_path.iterdir()) == []

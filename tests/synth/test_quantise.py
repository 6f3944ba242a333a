"""INT8: close to float32, by layer, and exact on any processor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from synth.bigvgan import SIZES, BigVgan
from synth.export import export_onnx
from synth.mel import log_mel
from synth.quantise import Feeds, layers, quantise, sensitivity, utterance
from synth.vocoder_file import VocoderError, VocoderFile
from tests.synth.test_bigvgan import inputs


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("quantise") / "nano.fp32.onnx"
    export_onnx(BigVgan(SIZES["nano"]), path, {})
    return path


@pytest.fixture(scope="module")
def speech(whole: Path) -> list[Feeds]:
    mel, f0_hz, _ = inputs(2)
    file = VocoderFile.open(whole)
    return [utterance(file, mel[row].numpy(), f0_hz[row].numpy(), seed=row) for row in range(2)]


def spoken(path: Path, feeds: Feeds) -> np.ndarray:
    made = VocoderFile.open(path).session.run(["pcm"], dict(feeds))[0][0]
    return np.asarray(made)


def test_eight_bits_change_little(whole: Path, speech: list[Feeds], tmp_path: Path) -> None:
    small = tmp_path / "nano.int8.onnx"
    quantise(whole, small, speech)
    assert small.stat().st_size < 0.4 * whole.stat().st_size
    file = VocoderFile.open(small)
    assert (file.name, file.precision) == ("bigvgan-nano", "int8")
    for feeds in speech:
        distance = np.abs(log_mel(spoken(small, feeds)) - log_mel(spoken(whole, feeds))).mean()
        assert 0.0 < distance < 0.05


def test_weights_are_unsigned_so_that_no_sum_saturates(whole: Path, speech: list[Feeds], tmp_path: Path) -> None:
    small = tmp_path / "nano.int8.onnx"
    quantise(whole, small, speech)
    types = {tensor.data_type for tensor in onnx.load(small).graph.initializer if len(tensor.dims) == 2}
    assert onnx.TensorProto.UINT8 in types
    assert onnx.TensorProto.INT8 not in types


def test_kept_layers_stay_as_they_are(whole: Path, speech: list[Feeds], tmp_path: Path) -> None:
    small = tmp_path / "nano.int8.onnx"
    *kept, changed = layers(whole)
    quantise(whole, small, speech, keep=kept)
    products = {node.name: node.input[1] for node in onnx.load(small).graph.node if node.op_type == "MatMul"}
    before = {tensor.name for tensor in onnx.load(whole).graph.initializer}
    assert [name for name in kept if products[name] not in before] == []
    assert products[changed] not in before
    with pytest.raises(VocoderError, match="no layer is left"):
        quantise(whole, small, speech, keep=[*kept, changed])


def test_the_transforms_are_no_layers(whole: Path) -> None:
    names = layers(whole)
    assert len(names) == 22
    assert not [name for name in names if "spectra" in name or "synthesis" in name or "envelope" in name]


def test_sensitivity_has_a_number_for_each_layer(whole: Path, speech: list[Feeds]) -> None:
    table = []
    for name, distance in sensitivity(whole, speech, speech[:1]):
        table.append(name)
        assert 0.0 <= distance < 0.05
        if len(table) == 2:
            break
    assert table == layers(whole)[:2]

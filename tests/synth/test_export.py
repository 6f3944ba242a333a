"""The exported graph is the model: any batch, any chunk, and a file that says what it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from synth.bigvgan import SIZES, BigVgan
from synth.export import FORMAT, export, main, weights_sha256
from synth.train import checkpoint
from tests.synth.test_bigvgan import inputs, tiny


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "tiny.onnx"
    export(tiny(), path, {"step": "7"})
    return path


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("sizes", [[53], [2], [7, 1, 20]])
@torch.no_grad()
def test_the_graph_equals_the_model(exported: Path, batch: int, sizes: list[int]) -> None:
    model, (mel, f0_hz, noise) = tiny(), inputs(batch)
    expected = model(mel, f0_hz, noise).numpy()
    graph = session(exported)
    outputs = [output.name for output in graph.get_outputs()]
    state = {f"state.{name}": tensor.numpy() for name, tensor in model.init(batch).items()}
    parts, start, turn = [], 0, 0
    while start < mel.shape[2]:
        end = min(start + sizes[turn % len(sizes)], mel.shape[2])
        feeds = {
            "mel": mel[..., start:end].numpy(),
            "f0_hz": f0_hz[:, start:end].numpy(),
            "noise": noise[:, 160 * start : 160 * end].numpy(),
        }
        made = dict(zip(outputs, graph.run(outputs, feeds | state), strict=True))
        parts.append(made.pop("pcm"))
        state = {name.replace("next.", "state.", 1): value for name, value in made.items()}
        start, turn = end, turn + 1
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected, atol=1e-5, rtol=1e-4)


def test_the_file_says_what_it_is(exported: Path) -> None:
    about = session(exported).get_modelmeta().custom_metadata_map
    assert about["format"] == FORMAT
    assert about["lookahead_samples"] == "400"
    assert about["step"] == "7"
    assert about["weights_sha256"] == weights_sha256(tiny())


def test_a_checkpoint_becomes_a_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    model = BigVgan(SIZES["nano"])
    source, target = tmp_path / "a.safetensors", tmp_path / "a.onnx"
    meta = {"step": 3, "settings": {"size": "nano"}}
    checkpoint.write(source, checkpoint.prefixed("average", model.state_dict()), meta)
    assert main([str(source), str(target)]) == 0
    assert capsys.readouterr().out.endswith("step 3\n")
    assert session(target).get_modelmeta().custom_metadata_map["weights_sha256"] == weights_sha256(model)


def test_a_damaged_checkpoint_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"no")
    assert main([str(tmp_path / "a.safetensors"), str(tmp_path / "a.onnx")]) == 1
    assert "a.safetensors: not a readable safetensors file" in capsys.readouterr().err

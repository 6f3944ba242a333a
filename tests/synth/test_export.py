"""The exported graph is the model: any batch, any chunk, and a file that says what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from synth.bigvgan import SIZES, BigVgan
from synth.export import export_onnx, export_torchscript, main, weights_sha256
from synth.train import checkpoint
from synth.vocoder_file import VocoderError, VocoderFile, verify_checksum
from tests.synth.test_bigvgan import inputs, tiny


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "tiny.onnx"
    export_onnx(tiny(), path, {"step": "7"})
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
    file = VocoderFile.open(exported)
    assert (file.name, file.precision, file.sample_rate_hz, file.hop_samples) == ("bigvgan-tiny", "fp32", 16_000, 160)
    assert (file.lookahead_samples, file.takes_f0, file.takes_noise) == (400, True, True)
    assert file.metadata["step"] == "7"
    assert file.metadata["weights_sha256"] == weights_sha256(tiny())
    assert set(file.states) == set(tiny().init(1))


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("batch", [1, 3])
@torch.no_grad()
def test_torchscript_equals_the_model(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "tiny.pt"
    export_torchscript(tiny(), path, {"step": "7"})
    extra = {"about.json": ""}
    script = torch.jit.load(str(path), _extra_files=extra)
    about = json.loads(extra["about.json"])
    assert about["step"] == "7"
    model, (mel, f0_hz, noise) = tiny(), inputs(batch)
    zeros = model.init(batch)
    state = [zeros[name] for name in about["state"]]
    parts = []
    for start, end in [(0, 2), (2, 9), (9, 10), (10, 53)]:
        made = script(mel[..., start:end], f0_hz[:, start:end], noise[:, 160 * start : 160 * end], *state)
        parts.append(made[0])
        state = list(made[1:])
    torch.testing.assert_close(torch.cat(parts, dim=1), model(mel, f0_hz, noise), atol=1e-5, rtol=1e-4)


def test_a_checkpoint_becomes_a_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    model = BigVgan(SIZES["nano"])
    source = tmp_path / "a.safetensors"
    meta = {"step": 3, "settings": {"size": "nano"}}
    checkpoint.write(source, checkpoint.prefixed("average", model.state_dict()), meta)
    assert main([str(source), str(tmp_path), "--precision", "fp32"]) == 0
    assert capsys.readouterr().out.endswith("step 3\n")
    target = tmp_path / "bigvgan-nano.fp32.onnx"
    assert VocoderFile.open(target).metadata["weights_sha256"] == weights_sha256(model)


def test_a_file_that_changed_is_refused(exported: Path, tmp_path: Path) -> None:
    copy = tmp_path / exported.name
    copy.write_bytes(exported.read_bytes()[:-1] + b"\0")
    (tmp_path / f"{exported.name}.sha256").write_bytes(exported.with_name(f"{exported.name}.sha256").read_bytes())
    with pytest.raises(VocoderError, match=r"sha256 [0-9a-f]{64}, expected [0-9a-f]{64}"):
        verify_checksum(copy)


def changed(exported: Path, target: Path, change: Callable[[onnx.ModelProto], None]) -> Path:
    model = onnx.load(exported)
    change(model)
    onnx.save(model, target)
    return target


def without_metadata(model: onnx.ModelProto) -> None:
    del model.metadata_props[:]


def other_bands(model: onnx.ModelProto) -> None:
    properties = {entry.key: entry.value for entry in model.metadata_props}
    properties["mel"] = properties["mel"].replace('"bands": 80', '"bands": 100')
    onnx.helper.set_model_props(model, properties)


def no_delay(model: onnx.ModelProto) -> None:
    properties = {entry.key: entry.value for entry in model.metadata_props}
    del properties["lookahead_samples"]
    onnx.helper.set_model_props(model, properties)


def lost_output(model: onnx.ModelProto) -> None:
    model.graph.output.pop()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_metadata, "format None, expected 'voxtrunk-vocoder-1'"),
        (other_bands, r"'mel' has shape \['batch', 80, 'frames'\], expected \['any', 100, 'any'\]"),
        (no_delay, "incomplete metadata .*lookahead_samples"),
        (lost_output, r"input 'state\..*' has no output 'next\."),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    exported: Path, tmp_path: Path, change: Callable[[onnx.ModelProto], None], message: str
) -> None:
    path = changed(exported, tmp_path / "changed.onnx", change)
    with pytest.raises(VocoderError, match=message):
        VocoderFile.open(path)


def test_a_damaged_checkpoint_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"no")
    assert main([str(tmp_path / "a.safetensors"), str(tmp_path)]) == 1
    assert "a.safetensors: not a readable safetensors file" in capsys.readouterr().err

"""Weights in whatever form they were saved, and what is wrong with a checkpoint."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from synth.official.config import read_config
from synth.official.graph import OfficialBigVgan
from synth.official.weights import fill, find_weights, read_weights
from synth.vocoder_file import VocoderError
from tests.synth.official.checkpoints import Tensors, tensors, write
from tests.synth.official.layouts import TINY


def filled(weights: Tensors, tmp_path: Path) -> OfficialBigVgan:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY))
    model = OfficialBigVgan(read_config(path))
    fill(model, weights, Path("weights.pt"))
    return model


def parametrized(weights: Tensors) -> Tensors:
    names = {".weight_g": ".parametrizations.weight.original0", ".weight_v": ".parametrizations.weight.original1"}
    return {
        next((name.replace(old, new) for old, new in names.items() if name.endswith(old)), name): tensor
        for name, tensor in weights.items()
    }


def multiplied(weights: Tensors) -> Tensors:
    made = {name: tensor for name, tensor in weights.items() if not name.endswith(("weight_g", "weight_v"))}
    for name in weights:
        if name.endswith(".weight_g"):
            direction = weights[name.replace("weight_g", "weight_v")]
            made[name.removesuffix("_g")] = torch._weight_norm(direction, weights[name], 0)
    return made


@pytest.mark.parametrize("form", [parametrized, multiplied])
def test_all_forms_of_weight_norm_are_the_same(tmp_path: Path, form: Callable[[Tensors], Tensors]) -> None:
    expected = filled(tensors(TINY), tmp_path).state_dict()
    found = filled(form(tensors(TINY)), tmp_path).state_dict()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-5, rtol=1e-5)


def without(name: str) -> Callable[[Tensors], None]:
    return lambda weights: weights.__delitem__(name)


def put(name: str, *shape: int, value: float = 0.0) -> Callable[[Tensors], None]:
    return lambda weights: weights.__setitem__(name, torch.full(shape, value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("ups.1.0.bias"), r"no tensor 'ups\.1\.0\.bias', expected shape \(4,\)"),
        (without("conv_pre.weight_v"), r"no tensor 'conv_pre\.weight_v', expected shape \(16, 8, 7\)"),
        (put("conv_pre.weight_v", 16, 9, 7), r"'conv_pre\.weight_v' has shape \(16, 9, 7\), expected \(16, 8, 7\)"),
        (put("conv_post.weight_v", 1, 4, 5), r"'conv_post\.weight_v' has shape \(1, 4, 5\), expected \(1, 4, 7\)"),
        (put("resblocks.9.convs1.0.bias", 4), r"unexpected tensor 'resblocks\.9\.convs1\.0\.bias'"),
        (put("conv_pre.bias", 16, value=float("nan")), "'conv_pre.bias' holds values that are not finite"),
        (put("activation_post.upsample.filter", 1, 1, 12), "not BigVGAN's filter"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, change: Callable[[Tensors], None], message: str) -> None:
    weights = tensors(TINY)
    change(weights)
    with pytest.raises(VocoderError, match=rf"weights\.pt: .*{message}"):
        filled(weights, tmp_path)


def test_the_generator_is_found(tmp_path: Path) -> None:
    with pytest.raises(VocoderError, match=r"holds neither bigvgan_generator\.pt nor g_"):
        find_weights(tmp_path)
    for name in ("g_05000000", "g_04000000", "do_05000000"):
        (tmp_path / name).touch()
    assert find_weights(tmp_path).name == "g_05000000"
    write(tmp_path, TINY, {})
    assert find_weights(tmp_path).name == "bigvgan_generator.pt"


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bigvgan_generator.pt"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(VocoderError, match="not a readable checkpoint"):
        read_weights(path)
    torch.save({"optimiser": {}}, path)
    with pytest.raises(VocoderError, match="no tensors under 'generator'"):
        read_weights(path)


class Harmful:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return Path.touch, (Path("harm"),)  # type: ignore[return-value]


def test_nothing_in_a_checkpoint_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bigvgan_generator.pt"
    torch.save({"generator": Harmful()}, path, pickle_module=pickle)
    with pytest.raises(VocoderError, match="more than tensors are refused"):
        read_weights(path)
    assert not (tmp_path / "harm").exists()

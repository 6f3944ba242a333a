"""Checkpoints of few channels with seeded weights, under the names that BigVGAN gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.synth.official.layouts import Values

Tensors = dict[str, Tensor]


def tensors(values: Values, seed: int = 0) -> Tensors:
    """What a generator's ``state_dict`` holds, without the filters."""
    rng = np.random.default_rng(seed)
    made: Tensors = {}

    def normal(name: str, shape: tuple[int, ...], scale: float) -> None:
        made[name] = torch.from_numpy((scale * rng.standard_normal(shape)).astype(np.float32))

    def convolution(name: str, shape: tuple[int, ...], length: float, bias: int) -> None:
        normal(f"{name}.weight_v", shape, 1.0)
        spread = 0.8 + 0.4 * rng.random((shape[0], 1, 1))
        made[f"{name}.weight_g"] = torch.from_numpy((length * spread).astype(np.float32))
        if bias:
            normal(f"{name}.bias", (bias,), 0.1)

    def activation(name: str, channels: int) -> None:
        for parameter in ("alpha", "beta") if values["activation"] == "snakebeta" else ("alpha",):
            normal(f"{name}.act.{parameter}", (channels,), 0.3)
            if not values["snake_logscale"]:
                made[f"{name}.act.{parameter}"].exp_()

    width = values["upsample_initial_channel"]
    convolution("conv_pre", (width, values["num_mels"], 7), 0.5, width)
    number = 0
    for index, kernel in enumerate(values["upsample_kernel_sizes"]):
        convolution(f"ups.{index}.0", (width, width // 2, kernel), 1.4, width // 2)
        width //= 2
        for taps, dilations in zip(values["resblock_kernel_sizes"], values["resblock_dilation_sizes"], strict=True):
            groups = ("convs1", "convs2") if values["resblock"] == "1" else ("convs",)
            for at in range(len(dilations)):
                for group in groups:
                    convolution(f"resblocks.{number}.{group}.{at}", (width, width, taps), 0.4, width)
            for at in range(len(groups) * len(dilations)):
                activation(f"resblocks.{number}.activations.{at}", width)
            number += 1
    activation("activation_post", width)
    convolution("conv_post", (1, width, 7), 0.3, int(values.get("use_bias_at_final", True)))
    return made


def write(folder: Path, values: Values, weights: Any) -> Path:
    """A checkpoint's folder, as one downloads it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values))
    torch.save({"generator": weights}, folder / "bigvgan_generator.pt")
    return folder


def mel(bands: int, frames: int, seed: int = 0, batch: int = 1) -> Tensor:
    """Pseudo log mel, (batch, bands, frames)."""
    values = np.random.default_rng(seed).standard_normal((batch, bands, frames))
    return torch.from_numpy((2.0 * values - 5.0).astype(np.float32))

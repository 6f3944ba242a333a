"""Weights of a BigVGAN checkpoint: read safely, weight norm folded, brought into the streaming form.

A generator's file is ``{"generator": state_dict}``. Convolutions are stored as direction and length (weight norm),
under one of two names, or already multiplied. Nothing but tensors is unpickled.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from synth.mel import SILENCE
from synth.official.config import OfficialConfig
from synth.official.graph import Block, OfficialBigVgan, Pair, Stage
from synth.official.layers import FILTER_TAPS, Activation, Convolution, alias_free_filter
from synth.vocoder_file import VocoderError

WEIGHTS_NAME: Final = "bigvgan_generator.pt"
_OLD_NAMES: Final = "g_*"
_NEVER_ZERO: Final = 1e-9
"""What BigVGAN adds to the activation's magnitude."""
_SAME_FILTER: Final = 1e-4
_FITS: Final = "do config.json and the weights belong together?"


def find_weights(folder: Path) -> Path:
    """The generator's file in a checkpoint's folder; of several of the first release, the one trained longest.

    Raises:
        VocoderError: there is none.
    """
    path = folder / WEIGHTS_NAME
    if path.is_file():
        return path
    older = sorted(folder.glob(_OLD_NAMES))
    if not older:
        raise VocoderError(f"{folder}: holds neither {WEIGHTS_NAME} nor {_OLD_NAMES}; download the generator into it")
    return older[-1]


def read_weights(path: Path) -> dict[str, Tensor]:
    """The generator's tensors by name.

    Raises:
        VocoderError: not a readable checkpoint, or none of a generator.
    """
    try:
        loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, ValueError, KeyError) as error:
        raise VocoderError(
            f"{path}: not a readable checkpoint ({type(error).__name__}); download it again. "
            "Files that hold more than tensors are refused, because reading them runs what is in them"
        ) from error
    tensors = loaded.get("generator") if isinstance(loaded, dict) else None
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise VocoderError(f"{path}: has no tensors under 'generator'; {WEIGHTS_NAME} is the file, not the optimiser's")
    return {name: tensor.float() for name, tensor in tensors.items()}


class _Tensors:
    """Tensors by the original's names; remembers which were asked for."""

    def __init__(self, path: Path, tensors: dict[str, Tensor]) -> None:
        self._path, self._left = path, dict(tensors)

    def take(self, name: str, shape: tuple[int, ...]) -> Tensor:
        tensor = self._left.pop(name, None)
        if tensor is None:
            raise VocoderError(f"{self._path}: no tensor {name!r}, expected shape {shape}; {_FITS}")
        if tuple(tensor.shape) != shape:
            raise VocoderError(f"{self._path}: {name!r} has shape {tuple(tensor.shape)}, expected {shape}; {_FITS}")
        if not bool(torch.isfinite(tensor).all()):
            raise VocoderError(f"{self._path}: {name!r} holds values that are not finite; download it again")
        return tensor

    def weight(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """A convolution's weight, its norm folded."""
        for length, direction in (
            (f"{name}.weight_g", f"{name}.weight_v"),
            (f"{name}.parametrizations.weight.original0", f"{name}.parametrizations.weight.original1"),
        ):
            if length in self._left:
                directed = self.take(direction, shape)
                norm = torch.linalg.vector_norm(directed, dim=(1, 2), keepdim=True)
                folded: Tensor = directed * (self.take(length, (shape[0], 1, 1)) / norm)
                return folded
        return self.take(f"{name}.weight", shape)

    def filters(self, name: str) -> None:
        """The activation's filters, which are constants; older files may be without them."""
        for part in (f"{name}.upsample.filter", f"{name}.downsample.lowpass.filter"):
            if part not in self._left:
                continue
            found = self.take(part, (1, 1, FILTER_TAPS)).flatten().numpy()
            if np.abs(found - alias_free_filter()).max() > _SAME_FILTER:
                raise VocoderError(f"{self._path}: {part!r} is not BigVGAN's filter; this checkpoint cannot be used")

    def end(self) -> None:
        if self._left:
            raise VocoderError(
                f"{self._path}: unexpected tensor {min(self._left)!r}, and {len(self._left) - 1} more; {_FITS}"
            )


@torch.no_grad()
def fill(model: OfficialBigVgan, tensors: dict[str, Tensor], path: Path) -> None:
    """Put the original's weights into the streaming form.

    Args:
        model: to change.
        tensors: of :func:`read_weights`.
        path: for the errors.

    Raises:
        VocoderError: a tensor is missing, has another shape, or is one too many.
    """
    config, source = model.config, _Tensors(path, tensors)
    width, beside = config.channels, len(config.block_kernels)
    _put(model.first, source.weight("conv_pre", (width, config.mel.bands, 7)), source.take("conv_pre.bias", (width,)))
    model.first.bias.add_(SILENCE * model.first.weight.sum((1, 2)))
    for index, stage in enumerate(model.stages):
        assert isinstance(stage, Stage)
        width //= 2
        _transposed(stage, source, f"ups.{index}.0", width)
        for number, block in enumerate(stage.blocks):
            assert isinstance(block, Block)
            _block(block, source, f"resblocks.{index * beside + number}", config, config.block_kernels[number])
    _activation(model.activation, source, "activation_post", config)
    _put(
        model.last,
        source.weight("conv_post", (1, width, 7)),
        source.take("conv_post.bias", (1,)) if config.bias_at_final else torch.zeros(1),
    )
    source.end()


def _block(block: Block, source: _Tensors, name: str, config: OfficialConfig, kernel: int) -> None:
    for index, pair in enumerate(block.pairs):
        assert isinstance(pair, Pair)
        layers = list(zip(pair.activations, pair.convolutions, strict=True))
        for number, (activation, convolution) in enumerate(layers):
            assert isinstance(activation, Activation)
            assert isinstance(convolution, Convolution)
            _activation(activation, source, f"{name}.activations.{index * len(layers) + number}", config)
            group = "convs" if config.resblock == "2" else f"convs{number + 1}"
            width = activation.channels
            _put(
                convolution,
                source.weight(f"{name}.{group}.{index}", (width, width, kernel)),
                source.take(f"{name}.{group}.{index}.bias", (width,)),
            )


def _activation(activation: Activation, source: _Tensors, name: str, config: OfficialConfig) -> None:
    shape = (activation.channels,)
    angle = source.take(f"{name}.act.alpha", shape)
    size = source.take(f"{name}.act.beta", shape) if config.activation == "snakebeta" else angle
    if config.log_scale:
        angle, size = angle.exp(), size.exp()
    activation.angle.copy_(angle)
    activation.size.copy_(1.0 / (size + _NEVER_ZERO))
    source.filters(name)


def _put(convolution: Convolution, weight: Tensor, bias: Tensor) -> None:
    """Symmetric taps (out, in, kernel) into those that are left of them."""
    taps = convolution.weight.shape[2]
    kept = weight[..., :taps].clone()
    kept[..., -1] += weight[..., taps:].sum(2)
    convolution.weight.copy_(kept)
    convolution.bias.copy_(bias)


def _transposed(stage: Stage, source: _Tensors, name: str, width: int) -> None:
    """Taps (in, out, kernel) of a transposed convolution into those of the phases of its output."""
    weight = source.weight(name, (2 * width, width, stage.kernel))
    bias = source.take(f"{name}.bias", (width,))
    phases = torch.zeros(stage.rate, width, *stage.up.weight.shape[1:])
    taps = phases.shape[3]
    for phase in range(stage.rate):
        # Counted back from the newest input; one that is not there yet is taken for the newest.
        for tap in range((phase + stage.shift) % stage.rate, stage.kernel, stage.rate):
            back = max(0, (tap - phase - stage.shift) // stage.rate)
            phases[phase, :, :, taps - 1 - back] += weight[:, :, tap].T
    stage.up.weight.copy_(phases.flatten(0, 1))
    stage.up.bias.copy_(bias.repeat(stage.rate))

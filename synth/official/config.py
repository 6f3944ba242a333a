"""``config.json`` of a BigVGAN checkpoint: what the generator is made of, and the mel that it takes.

Layouts published by NVIDIA: ``bigvgan_base_24khz_100band``, ``bigvgan_24khz_100band``, ``bigvgan_base_22khz_80band``,
``bigvgan_22khz_80band``, and ``bigvgan_v2_*`` at 22, 24 and 44 kHz.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from synth.mel import MelDefinition
from synth.vocoder_file import VocoderError

CONFIG_NAME: Final = "config.json"
_RESBLOCKS: Final = ("1", "2")
_ACTIVATIONS: Final = ("snake", "snakebeta")


@dataclass(frozen=True)
class OfficialConfig:
    """A generator.

    Attributes:
        resblock: ``"1"``, where each dilated convolution is followed by a plain one, or ``"2"``, where it is not.
        activation: ``snake``, or ``snakebeta``, which has a magnitude of its own.
        log_scale: the activation's parameters are logarithms.
        upsample_rates: of the stages; their product is the hop.
        upsample_kernels: of the transposed convolutions before them.
        channels: before the first stage; each stage halves them.
        block_kernels, block_dilations: of the blocks side by side in each stage.
        tanh_at_final: the output is bent into [-1, 1] instead of cut off.
        bias_at_final: the last convolution has a bias.
        mel: that it takes.
    """

    resblock: str
    activation: str
    log_scale: bool
    upsample_rates: tuple[int, ...]
    upsample_kernels: tuple[int, ...]
    channels: int
    block_kernels: tuple[int, ...]
    block_dilations: tuple[tuple[int, ...], ...]
    tanh_at_final: bool
    bias_at_final: bool
    mel: MelDefinition


def read_config(path: Path) -> OfficialConfig:
    """Read and check a ``config.json``.

    Raises:
        VocoderError: it cannot be read, a key is missing, or a value is none that we know or does not fit the others.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise VocoderError(
            f"{path}: cannot be read ({error.strerror}); the checkpoint's folder holds it beside the weights"
        ) from error
    except ValueError as error:
        raise VocoderError(f"{path}: not JSON ({error}); download it again") from error
    if not isinstance(values, dict):
        raise VocoderError(f"{path}: holds a {type(values).__name__}, expected an object; download it again")
    return _checked(_Reader(path, values))


class _Reader:
    """Values of the file by key, with errors that name both."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self._path, self._values = path, values

    def integer(self, key: str, least: int = 1) -> int:
        value = self._value(key)
        if not _is_integer(value) or value < least:
            raise self.error(f"{key!r} is {value!r}, expected a whole number from {least}")
        return int(value)

    def number(self, key: str) -> float:
        value = self._value(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self.error(f"{key!r} is {value!r}, expected a number from 0")
        return float(value)

    def integers(self, key: str) -> tuple[int, ...]:
        return self._integers(key, self._value(key))

    def rows(self, key: str) -> tuple[tuple[int, ...], ...]:
        value = self._value(key)
        if not isinstance(value, list):
            raise self.error(f"{key!r} is {value!r}, expected a list of lists")
        return tuple(self._integers(key, row) for row in value)

    def one_of(self, key: str, known: tuple[str, ...]) -> str:
        value = self._value(key)
        if value not in known:
            raise self.error(f"{key!r} is {value!r}, expected one of {', '.join(known)}")
        return str(value)

    def truth(self, key: str, default: bool | None = None) -> bool:
        value = self._value(key) if default is None else self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} is {value!r}, expected true or false")
        return value

    def is_null(self, key: str) -> bool:
        return self._values.get(key) is None

    def error(self, what: str) -> VocoderError:
        return VocoderError(f"{self._path}: {what}; is it the config.json of a BigVGAN generator?")

    def _value(self, key: str) -> Any:
        if key not in self._values:
            raise self.error(f"{key!r} is missing")
        return self._values[key]

    def _integers(self, key: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list) or not value or not all(_is_integer(one) and one > 0 for one in value):
            raise self.error(f"{key!r} holds {value!r}, expected a list of whole numbers from 1")
        return tuple(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _checked(read: _Reader) -> OfficialConfig:
    config = OfficialConfig(
        resblock=read.one_of("resblock", _RESBLOCKS),
        activation=read.one_of("activation", _ACTIVATIONS),
        log_scale=read.truth("snake_logscale"),
        upsample_rates=read.integers("upsample_rates"),
        upsample_kernels=read.integers("upsample_kernel_sizes"),
        channels=read.integer("upsample_initial_channel"),
        block_kernels=read.integers("resblock_kernel_sizes"),
        block_dilations=read.rows("resblock_dilation_sizes"),
        tanh_at_final=read.truth("use_tanh_at_final", default=True),
        bias_at_final=read.truth("use_bias_at_final", default=True),
        mel=_mel(read),
    )
    hop = math.prod(config.upsample_rates)
    if hop != config.mel.hop_samples:
        raise read.error(
            f"'upsample_rates' {list(config.upsample_rates)} multiply to {hop}, but 'hop_size' is "
            f"{config.mel.hop_samples}"
        )
    if len(config.upsample_kernels) != len(config.upsample_rates):
        raise read.error(
            f"there are {len(config.upsample_rates)} 'upsample_rates', but {len(config.upsample_kernels)} "
            "'upsample_kernel_sizes'"
        )
    for rate, kernel in zip(config.upsample_rates, config.upsample_kernels, strict=True):
        if kernel < rate or (kernel - rate) % 2:
            raise read.error(f"upsampling by {rate} has kernel {kernel}, expected {rate} and an even number more")
    if config.channels % 2 ** len(config.upsample_rates):
        raise read.error(
            f"'upsample_initial_channel' {config.channels} cannot be halved {len(config.upsample_rates)} times"
        )
    if len(config.block_dilations) != len(config.block_kernels):
        raise read.error(
            f"there are {len(config.block_kernels)} 'resblock_kernel_sizes', but {len(config.block_dilations)} "
            "'resblock_dilation_sizes'"
        )
    if any(kernel % 2 == 0 for kernel in config.block_kernels):
        raise read.error(f"'resblock_kernel_sizes' {list(config.block_kernels)}: expected odd ones")
    return config


def _mel(read: _Reader) -> MelDefinition:
    rate, hop = read.integer("sampling_rate"), read.integer("hop_size")
    window, fft_size = read.integer("win_size"), read.integer("n_fft")
    if not hop <= window <= fft_size or (fft_size - hop) % 2 or (fft_size - window) % 2:
        raise read.error(
            f"'hop_size' {hop}, 'win_size' {window}, 'n_fft' {fft_size}: expected none above the next, an even "
            "number apart"
        )
    high_hz = rate / 2 if read.is_null("fmax") else read.number("fmax")
    low_hz = read.number("fmin")
    if not low_hz < high_hz <= rate / 2:
        raise read.error(f"'fmin' {low_hz:g} and 'fmax' {high_hz:g}: expected rising, up to half of {rate} Hz")
    # The window's middle is the frame's: what it has too much lies half before and half after.
    lead = (window - hop) // 2
    return MelDefinition(rate, hop, window, fft_size, read.integer("num_mels"), low_hz, high_hz, lead)

"""A config.json becomes what the graph needs, or says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth.mel import MelDefinition, log_mel, mel_filterbank
from synth.official.config import OfficialConfig, read_config
from synth.vocoder_file import VocoderError
from tests.synth.official.layouts import OFFICIAL, OTHER, TINY, Values


def read(tmp_path: Path, values: Any) -> OfficialConfig:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    return read_config(path)


def test_the_24_khz_layout(tmp_path: Path) -> None:
    config = read(tmp_path, OFFICIAL["bigvgan_base_24khz_100band"] | {"segment_size": 8192})
    assert config.mel == MelDefinition(24_000, 256, 1024, 1024, 100, 0.0, 12_000.0, 384)
    assert (config.upsample_rates, config.upsample_kernels) == ((8, 8, 2, 2), (16, 16, 4, 4))
    assert config.tanh_at_final
    assert config.bias_at_final


def test_what_v2_says_is_taken(tmp_path: Path) -> None:
    config = read(tmp_path, OTHER)
    assert (config.resblock, config.activation, config.log_scale) == ("2", "snake", False)
    assert not config.tanh_at_final
    assert not config.bias_at_final
    assert config.mel.high_hz == 4000.0


@pytest.mark.parametrize("name", OFFICIAL)
def test_all_official_layouts_are_read(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, OFFICIAL[name] | {"upsample_initial_channel": 512}).mel.bands == OFFICIAL[name]["num_mels"]


def test_the_mel_is_that_of_centred_frames_over_the_whole_signal(tmp_path: Path) -> None:
    definition = read(tmp_path, TINY | {"n_fft": 64, "win_size": 48}).mel
    pcm = np.random.default_rng(0).standard_normal(400).astype(np.float32)
    padded = np.pad(pcm, (64 - 8) // 2, mode="reflect")
    window = np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(48) / 48), 8)
    frames = np.lib.stride_tricks.sliding_window_view(padded, 64)[::8]
    magnitude = np.sqrt(np.abs(np.fft.rfft(frames * window)) ** 2 + 1e-9)
    expected = np.log(np.maximum(magnitude @ mel_filterbank(definition).T, 1e-5)).T
    np.testing.assert_allclose(log_mel(pcm, definition)[:, 5:40], expected[:, 5:40], atol=1e-3)


def without(key: str) -> Values:
    return {name: value for name, value in TINY.items() if name != key}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (without("upsample_rates"), "'upsample_rates' is missing"),
        (TINY | {"resblock": "3"}, "'resblock' is '3', expected one of 1, 2"),
        (TINY | {"activation": "relu"}, "'activation' is 'relu', expected one of snake, snakebeta"),
        (TINY | {"upsample_rates": [4, 4]}, r"\[4, 4\] multiply to 16, but 'hop_size' is 8"),
        (TINY | {"upsample_kernel_sizes": [8]}, "2 'upsample_rates', but 1 'upsample_kernel_sizes'"),
        (TINY | {"upsample_kernel_sizes": [7, 4]}, "upsampling by 4 has kernel 7"),
        (TINY | {"upsample_initial_channel": 18}, "18 cannot be halved 2 times"),
        (TINY | {"resblock_kernel_sizes": [3]}, "1 'resblock_kernel_sizes', but 2 'resblock_dilation_sizes'"),
        (TINY | {"resblock_kernel_sizes": [3, 4]}, "expected odd ones"),
        (TINY | {"resblock_dilation_sizes": 3}, "expected a list of lists"),
        (TINY | {"resblock_dilation_sizes": [[1], [0]]}, r"holds \[0\], expected a list of whole numbers"),
        (TINY | {"num_mels": "80"}, "'num_mels' is '80', expected a whole number"),
        (TINY | {"snake_logscale": 1}, "'snake_logscale' is 1, expected true or false"),
        (TINY | {"win_size": 64}, "expected none above the next"),
        (TINY | {"fmax": 9000}, "up to half of 8000 Hz"),
        (TINY | {"fmin": "0"}, "'fmin' is '0', expected a number"),
        ([], "holds a list, expected an object"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, values: Any, message: str) -> None:
    with pytest.raises(VocoderError, match=message):
        read(tmp_path, values)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(VocoderError, match="cannot be read"):
        read_config(tmp_path / "config.json")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(VocoderError, match="not JSON"):
        read_config(tmp_path / "config.json")

"""The weights in the repository: they load, they speak, and they are silent in silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from pesq import pesq
from pystoi import stoi

import synth
from synth.bigvgan import SIZES, BigVgan
from synth.train import checkpoint
from synth.train.pack import read_all
from synth.train.pseudo import PseudoSpeaker, PseudoVoice
from synth.train.settings import RunSettings
from synth.train.validation import copy_synthesis

WEIGHTS = Path(synth.__file__).parent / "models" / "bigvgan-nano.safetensors"


@pytest.fixture(scope="module")
def model() -> BigVgan:
    tensors, meta = checkpoint.read(WEIGHTS)
    nano = BigVgan(SIZES[meta["settings"]["size"]])
    checkpoint.load_weights(nano, checkpoint.stripped("average", tensors), WEIGHTS)
    return nano


def test_training_can_go_on_from_them() -> None:
    _, meta = read_all([WEIGHTS, WEIGHTS.with_name("bigvgan-nano.resume.safetensors")])
    assert RunSettings.from_dict(meta["settings"], WEIGHTS).size == "nano"


@pytest.fixture(scope="module")
def speech() -> tuple[np.ndarray, np.ndarray]:
    """A sentence that training never saw, and its exact F0."""
    speaker = PseudoSpeaker(f0_hz=185.0, f0_range=1.0, warp=1.0, tilt=0.0, speed=1.0)
    return PseudoVoice().speak("The harbour was quiet when we arrived.", speaker, np.random.default_rng(0))


def test_a_copy_of_speech_is_close_to_it(model: BigVgan, speech: tuple[np.ndarray, np.ndarray]) -> None:
    pcm, f0_hz = speech
    copy = copy_synthesis(model, pcm, f0_hz)
    assert pesq(16_000, pcm, copy, "wb") > 2.3
    assert stoi(pcm, copy, 16_000) > 0.95


def test_digital_silence_stays_silent(model: BigVgan) -> None:
    copy = copy_synthesis(model, np.zeros(16_000, np.float32), np.zeros(100, np.float32))
    assert 20 * np.log10(np.abs(copy).max()) < -60.0


@pytest.mark.parametrize("factor", [0.5, 2.0, 0.0])
def test_pitch_errors_do_not_click(model: BigVgan, speech: tuple[np.ndarray, np.ndarray], factor: float) -> None:
    pcm, f0_hz = speech
    wrong = f0_hz.copy()
    voiced = np.flatnonzero(f0_hz > 0)
    at = int(voiced[len(voiced) // 2])
    wrong[at] *= factor
    right, changed = (copy_synthesis(model, pcm, track) for track in (f0_hz, wrong))
    around = slice(160 * at - 480, 160 * at + 480)
    # The second difference is where a step or a corner would stand out.
    roughness = [np.abs(np.diff(copy[around], 2)).max() for copy in (right, changed)]
    assert roughness[1] < 1.5 * roughness[0]
    assert np.abs(changed[around]).max() < 1.5 * np.abs(right[around]).max()


@torch.no_grad()
def test_chunks_of_20_ms_give_the_whole(model: BigVgan) -> None:
    torch.manual_seed(0)
    mel, f0_hz, noise = torch.randn(1, 80, 40) - 5.0, torch.full((1, 40), 140.0), torch.randn(1, 6400)
    state, parts = model.init(1), []
    for start in range(0, 40, 2):
        piece = slice(start, start + 2)
        samples = slice(160 * start, 160 * (start + 2))
        pcm, state = model.step(mel[..., piece], f0_hz[:, piece], noise[:, samples], state)
        parts.append(pcm)
    torch.testing.assert_close(torch.cat(parts, dim=1), model(mel, f0_hz, noise), atol=1e-4, rtol=1e-3)

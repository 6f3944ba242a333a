"""The vocoder: chunked equals whole, causal, and its state belongs to the caller."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from synth.bigvgan import LOOKAHEAD_MS, LOOKAHEAD_SAMPLES, SIZES, BigVgan, BigVganConfig
from synth.mel import log_mel

FRAMES = 53
TINY = BigVganConfig("tiny", (12, 8), ((3, 7), (3,)))


def tiny() -> BigVgan:
    torch.manual_seed(1)
    model = BigVgan(TINY)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") and not name.startswith("envelope"):
                parameter.normal_(std=0.3)
    return model


def inputs(batch: int = 2, frames: int = FRAMES) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    mel = torch.randn(batch, 80, frames, generator=generator) - 4.0
    f0_hz = 90.0 + 150.0 * torch.rand(batch, frames, generator=generator)
    f0_hz[:, 10:20] = 0.0
    return mel, f0_hz, torch.randn(batch, 160 * frames, generator=generator)


def chunked(model: BigVgan, sizes: list[int], mel: Tensor, f0_hz: Tensor, noise: Tensor) -> Tensor:
    state, parts, start, turn = model.init(mel.shape[0]), [], 0, 0
    while start < mel.shape[2]:
        end = min(start + sizes[turn % len(sizes)], mel.shape[2])
        pcm, state = model.step(mel[..., start:end], f0_hz[:, start:end], noise[:, 160 * start : 160 * end], state)
        parts.append(pcm)
        start, turn = end, turn + 1
    return torch.cat(parts, dim=1)


@pytest.mark.parametrize("sizes", [[1], [2], [3], [7], [50], [5, 1, 11, 2], [FRAMES]])
@torch.no_grad()
def test_chunks_of_any_size_give_the_whole(sizes: list[int]) -> None:
    model = tiny()
    whole = model(*inputs())
    assert whole.shape == (2, 160 * FRAMES)
    assert whole.std() > 1e-3
    torch.testing.assert_close(chunked(model, sizes, *inputs()), whole, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_shipped_size_streams_too() -> None:
    torch.manual_seed(0)
    model = BigVgan(SIZES["nano"])
    whole = model(*inputs(1))
    torch.testing.assert_close(chunked(model, [2], *inputs(1)), whole, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("which", ["mel", "f0", "noise"])
@torch.no_grad()
def test_output_depends_on_past_frames_only(which: str) -> None:
    model, (mel, f0_hz, noise) = tiny(), inputs()
    before = model(mel, f0_hz, noise)
    if which == "mel":
        mel[..., 30:] += 1.0
    elif which == "f0":
        f0_hz[:, 30:] *= 1.3
    else:
        noise[:, 30 * 160 :] *= 2.0
    after = model(mel, f0_hz, noise)
    torch.testing.assert_close(after[:, : 30 * 160], before[:, : 30 * 160], atol=0.0, rtol=0.0)
    assert not torch.allclose(after, before, atol=1e-4)


def test_the_lookahead_is_what_the_documentation_says() -> None:
    assert LOOKAHEAD_MS == 25.0
    assert LOOKAHEAD_MS <= 28.0


@torch.no_grad()
def test_the_delay_is_the_lookahead() -> None:
    # The untrained model copies the envelope of its mel, so a burst comes out where it went in, 400 samples later.
    torch.manual_seed(0)
    model = BigVgan(SIZES["nano"])
    pcm = np.zeros(6400, np.float32)
    pcm[3000:3400] = np.random.default_rng(0).standard_normal(400) * 0.3
    mel = torch.from_numpy(log_mel(pcm)).unsqueeze(0)
    noise = torch.randn(1, 6400, generator=torch.Generator().manual_seed(0))
    power = model(mel, torch.zeros(1, 40), noise)[0].square()
    centre = float((power * torch.arange(6400)).sum() / power.sum())
    assert centre - LOOKAHEAD_SAMPLES == pytest.approx(3200, abs=60)


@torch.no_grad()
def test_a_step_leaves_the_old_state_alone() -> None:
    model, (mel, f0_hz, noise) = tiny(), inputs()
    state = model.init(2)
    kept = {name: tensor.clone() for name, tensor in state.items()}
    first, _ = model.step(mel, f0_hz, noise, state)
    again, _ = model.step(mel, f0_hz, noise, state)
    torch.testing.assert_close(first, again, atol=0.0, rtol=0.0)
    for name, tensor in state.items():
        torch.testing.assert_close(tensor, kept[name], atol=0.0, rtol=0.0)


@torch.no_grad()
def test_the_state_keeps_its_names_shapes_and_types() -> None:
    model, (mel, f0_hz, noise) = tiny(), inputs()
    before = model.init(2)
    _, after = model.step(mel[..., :1], f0_hz[:, :1], noise[:, :160], before)
    assert {name: (t.shape, t.dtype) for name, t in after.items()} == {
        name: (t.shape, t.dtype) for name, t in before.items()
    }


@torch.no_grad()
def test_streams_of_a_batch_do_not_hear_each_other() -> None:
    model, (mel, f0_hz, noise) = tiny(), inputs(3)
    together = model(mel, f0_hz, noise)
    for row in range(3):
        one = slice(row, row + 1)
        torch.testing.assert_close(model(mel[one], f0_hz[one], noise[one]), together[one], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_an_untrained_model_is_quiet_in_silence() -> None:
    torch.manual_seed(0)
    mel = torch.from_numpy(log_mel(np.zeros(16000, np.float32))).unsqueeze(0)
    noise = torch.randn(1, 16000, generator=torch.Generator().manual_seed(0))
    pcm = BigVgan(SIZES["nano"])(mel, torch.zeros(1, 100), noise)
    assert 20 * torch.log10(pcm.square().mean().sqrt()) < -60.0


def test_every_weight_learns() -> None:
    model, (mel, f0_hz, noise) = tiny(), inputs()
    model(mel, f0_hz, noise).square().sum().backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert still == []


def test_the_sizes_are_those_planned() -> None:
    millions = {name: sum(p.numel() for p in BigVgan(size).parameters()) / 1e6 for name, size in SIZES.items()}
    assert 2.0 < millions["nano"] < 3.7
    assert 12.0 < millions["base"] < 14.5

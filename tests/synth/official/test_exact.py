"""Streamed in chunks of two frames, the samples are those of the network as its authors published it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from synth.official.config import read_config
from synth.official.convert import convert
from synth.official.graph import OfficialBigVgan
from synth.official.weights import fill, find_weights, read_weights
from synth.vocoder import Vocoder
from tests.synth.official.checkpoints import mel, tensors, write
from tests.synth.official.layouts import OFFICIAL, OTHER, TINY, Values

GOLDEN = Path(__file__).parent / "data" / "published.npz"
"""What bigvgan 2.4.1 from PyPI makes of the checkpoints and mels below (``python -m tests.synth.official.golden``)."""
FRAMES = 160
EDGE_FRAMES = 60
CASES: dict[str, Values] = {"tiny": TINY, "other": OTHER}


def recording() -> np.ndarray:
    return (0.1 * np.random.default_rng(0).standard_normal(16_000)).astype(np.float32)


@pytest.mark.parametrize("case", CASES)
def test_the_file_in_chunks_equals_the_published_network(case: str, tmp_path: Path) -> None:
    values = CASES[case]
    folder = write(tmp_path / case, values, tensors(values))
    made = convert(folder, tmp_path, recording(), 16_000)
    assert made.shortened is None and made.mismatch < 1e-4
    frames = mel(values["num_mels"], FRAMES)[0].numpy()
    with Vocoder.open(made.path) as vocoder, vocoder.stream() as stream:
        pieces = [stream.push(frames[:, at : at + 2]) for at in range(0, FRAMES, 2)]
        pcm = np.concatenate([*pieces, stream.flush()])
    pcm = pcm[made.lookahead_samples :][: FRAMES * values["hop_size"]]
    expected = np.load(GOLDEN)[case]
    assert expected.std() > 0.01
    inside = slice(EDGE_FRAMES * values["hop_size"], (FRAMES - EDGE_FRAMES) * values["hop_size"])
    np.testing.assert_allclose(pcm[inside], expected[inside], atol=1e-3)


@pytest.mark.parametrize("layout", OFFICIAL)
def test_every_published_layout_streams_as_one_piece(layout: str, tmp_path: Path) -> None:
    values = OFFICIAL[layout] | {"upsample_initial_channel": 64}
    folder = write(tmp_path / layout, values, tensors(values))
    model = OfficialBigVgan(read_config(folder / "config.json")).eval()
    fill(model, read_weights(find_weights(folder)), folder)
    assert 0.1 < model.lookahead_samples / values["sampling_rate"] < 0.45
    frames = mel(values["num_mels"], 8)
    with torch.no_grad():
        whole, _ = model.step(frames, model.init(1))
        state, pieces = model.init(1), []
        for begin in range(0, 8, 2):
            pcm, state = model.step(frames[..., begin : begin + 2], state)
            pieces.append(pcm)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-4, rtol=0)

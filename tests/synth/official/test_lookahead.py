"""Lookahead is shared out from the output backwards, and never more than there is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synth.official.config import OfficialConfig, read_config
from synth.official.lookahead import plan
from tests.synth.official.layouts import OFFICIAL, TINY, Values


def config(tmp_path: Path, values: Values) -> OfficialConfig:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values | {"upsample_initial_channel": 64}))
    return read_config(path)


@pytest.mark.parametrize(
    ("name", "samples"),
    [
        ("bigvgan_base_24khz_100band", 4433),
        ("bigvgan_base_22khz_80band", 4433),
        ("bigvgan_v2_24khz_100band_256x", 9501),
        ("bigvgan_v2_22khz_80band_256x", 9501),
        ("bigvgan_v2_44khz_128band_256x", 9501),
        ("bigvgan_v2_44khz_128band_512x", 10397),
    ],
)
def test_what_the_published_networks_look_ahead(tmp_path: Path, name: str, samples: int) -> None:
    assert plan(config(tmp_path, OFFICIAL[name]), None).samples == samples


@pytest.mark.parametrize("frames", range(19))
def test_a_budget_is_kept_and_nearly_spent(tmp_path: Path, frames: int) -> None:
    base = config(tmp_path, OFFICIAL["bigvgan_base_24khz_100band"])
    budget = min(frames * 256, plan(base, None).samples)
    # The first convolution takes whole frames only.
    assert budget - 256 < plan(base, frames).samples <= budget


def test_nothing_looks_ahead_without_a_budget(tmp_path: Path) -> None:
    shares = plan(config(tmp_path, TINY), 0)
    assert shares.samples == shares.first == shares.activation == shares.last == 0
    assert all(stage.up == stage.block == 0 for stage in shares.stages)


def test_the_end_is_served_first(tmp_path: Path) -> None:
    base = config(tmp_path, OFFICIAL["bigvgan_base_24khz_100band"])
    whole, some = plan(base, None), plan(base, 4)
    assert some.stages[1:] == whole.stages[1:]
    assert 0 < some.stages[0].block < whole.stages[0].block
    assert some.first == 0


def test_dilated_convolutions_get_whole_taps(tmp_path: Path) -> None:
    base = config(tmp_path, OFFICIAL["bigvgan_base_24khz_100band"])
    for block in plan(base, 6).stages[0].blocks:
        for at, dilation in ((1, 1), (5, 3), (9, 5)):
            assert block[at] % dilation == 0

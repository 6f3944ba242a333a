"""Each codec gives back a tone at its level and in packets of the right size."""

from __future__ import annotations

import numpy as np
import pytest

from voxtrunk.bench.codecs import CODECS


@pytest.mark.parametrize(("name", "payload_bytes"), [("PCMU", 160), ("PCMA", 160), ("G722", 160), ("opus", None)])
def test_tone_survives(name: str, payload_bytes: int | None) -> None:
    codec = CODECS[name]()
    frame = codec.sample_rate_hz // 50
    tone = (8000 * np.sin(2 * np.pi * 440 * np.arange(30 * frame) / codec.sample_rate_hz)).astype(np.int16)
    payloads = [codec.encode(tone[n * frame : (n + 1) * frame]) for n in range(30)]
    if payload_bytes is not None:
        assert {len(payload) for payload in payloads} == {payload_bytes}
    heard = np.concatenate([codec.decode(payload) for payload in payloads])
    assert len(heard) == len(tone)
    spectrum = np.abs(np.fft.rfft(heard[5 * frame :]))
    peak_hz = np.argmax(spectrum) * codec.sample_rate_hz / len(heard[5 * frame :])
    assert peak_hz == pytest.approx(440, abs=2)
    assert np.std(heard[5 * frame :]) == pytest.approx(8000 / np.sqrt(2), rel=0.03)


def test_two_streams_do_not_share_state() -> None:
    first, second = CODECS["G722"](), CODECS["G722"]()
    noise = np.random.default_rng(1).integers(-8000, 8000, 320).astype(np.int16)
    expected = CODECS["G722"]().encode(noise)
    first.encode(noise[::-1].copy())
    assert second.encode(noise) == expected

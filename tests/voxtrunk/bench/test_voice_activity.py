"""Voiced packets on both sides of a call."""

from __future__ import annotations

import numpy as np
import pytest

from voxtrunk.bench.phone import Phone
from voxtrunk.bench.rtp_receiver import ReceivedAudio
from voxtrunk.bench.rtp_sender import SentPacket
from voxtrunk.bench.voice_activity import (
    first_voiced_ns,
    last_voiced_sent,
    level_dbfs,
    wait_quiet,
    wait_voice,
)

TONE = (8000 * np.sin(2 * np.pi * 440 * np.arange(4000) / 8000)).astype(np.int16)
SENT = [SentPacket(n, 160 * n, 20_000_000 * n, 160 * n, 160) for n in range(40)]


def test_levels() -> None:
    assert level_dbfs(TONE) == pytest.approx(20 * np.log10(8000 / 32768 / np.sqrt(2)), abs=0.1)
    assert level_dbfs(np.zeros(10, np.int16)) <= -180 and level_dbfs(TONE[:0]) == -180


def test_last_voiced_packet_ignores_the_noise_floor() -> None:
    speech = np.concatenate((np.zeros(160, np.int16), TONE[:800], np.full(800, 20, np.int16)))
    assert last_voiced_sent(speech, SENT, 0).first_sample == 800
    with pytest.raises(ValueError, match="the recording was not sent"):
        last_voiced_sent(speech, SENT, 40 * 160)


def test_first_voiced_arrival() -> None:
    pcm = np.concatenate((TONE[:160], np.zeros(160, np.int16), TONE[:160]))
    heard = ReceivedAudio(pcm, np.array([0, 160, 320]), np.array([10, 20, 30]), 0, 0)
    assert first_voiced_ns(heard, 0) == 10
    assert first_voiced_ns(heard, 10) == 30
    assert first_voiced_ns(heard, 30) is None


def test_voice_then_quiet_on_a_live_call(bot) -> None:  # type: ignore[no-untyped-def]
    with Phone(bot.address) as phone:
        phone.dial()
        phone.media.sender.play(TONE)
        first_ns = wait_voice(phone, 0, 3.0)
        last_ns = wait_quiet(phone, 200, 3.0)
        assert (last_ns - first_ns) / 1e6 == pytest.approx(480, abs=45)
        with pytest.raises(TimeoutError, match="the bot said nothing"):
            wait_voice(phone, last_ns, 0.1)
        phone.media.sender.play(np.tile(TONE, 3))
        wait_voice(phone, last_ns, 3.0)
        with pytest.raises(TimeoutError, match="still speaking"):
            wait_quiet(phone, 500, 0.3)

"""The leg that reads and writes WAV files."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from probes.clock import ManualClock
from telephony.leg import FRAME_SAMPLES, EndCause, LegClosed, TelephonyError, TransferFailed
from telephony.wav_leg import WavLeg, read_wav, write_wav


async def test_frames_are_the_file_in_20_ms_steps(tmp_path: Path) -> None:
    pcm = np.linspace(-0.5, 0.5, 3 * FRAME_SAMPLES + 10, dtype=np.float32)
    write_wav(tmp_path / "caller.wav", pcm)
    leg = WavLeg(tmp_path / "caller.wav", clock=ManualClock(1_000))
    frames = [frame async for frame in leg.frames()]
    assert [frame.captured_ns - 1_000 for frame in frames] == [0, 20_000_000, 40_000_000, 60_000_000]
    np.testing.assert_allclose(np.concatenate([frame.pcm for frame in frames])[: len(pcm)], pcm, atol=1e-4)
    assert leg.ended.result() is EndCause.CALLER_HUNG_UP


async def test_what_is_written_is_heard_in_step_with_the_caller(tmp_path: Path) -> None:
    leg = WavLeg(np.zeros(5 * FRAME_SAMPLES, np.float32), tmp_path / "heard.wav")
    number = 0
    async for _ in leg.frames():
        if number == 1:
            leg.write(np.full(FRAME_SAMPLES + 100, 0.25, np.float32))
        number += 1
    heard = read_wav(tmp_path / "heard.wav")
    assert np.flatnonzero(heard).tolist() == list(range(2 * FRAME_SAMPLES, 3 * FRAME_SAMPLES + 100))


async def test_flush_fades_instead_of_clicking() -> None:
    leg = WavLeg(np.zeros(4 * FRAME_SAMPLES, np.float32))
    leg.write(np.ones(10 * FRAME_SAMPLES, np.float32))
    assert leg.flush() == 9 * FRAME_SAMPLES
    assert leg.queued_ms() == 10
    async for _ in leg.frames():
        pass
    assert np.abs(np.diff(leg.heard()))[1:].max() < 0.02


async def test_live_audio_beyond_the_limit_drops_the_oldest() -> None:
    leg = WavLeg(np.zeros(FRAME_SAMPLES, np.float32))
    for value in (1, 2, 3):
        leg.write(np.full(FRAME_SAMPLES, value, np.float32), max_ahead_ms=40)
    assert leg.queued_ms() == 40
    async for _ in leg.frames():
        pass
    assert leg.heard()[0] == 2


async def test_digits_arrive_at_their_time_and_end_with_the_call() -> None:
    leg = WavLeg(np.zeros(10 * FRAME_SAMPLES, np.float32), digits=[(100, "#"), (40, "5")])
    seen: list[int] = []
    async for frame in leg.frames():
        seen.append(frame.captured_ns)
    assert [digit async for digit in leg.digits()] == ["5", "#"]


async def test_after_hanging_up_nothing_can_be_said() -> None:
    leg = WavLeg(np.zeros(10 * FRAME_SAMPLES, np.float32))
    await leg.hangup()
    assert [frame async for frame in leg.frames()] == []
    assert leg.ended.result() is EndCause.WE_HUNG_UP
    with pytest.raises(LegClosed):
        leg.write(np.zeros(1, np.float32))


async def test_a_file_cannot_be_transferred() -> None:
    with pytest.raises(TransferFailed, match=r"cannot be transferred to sip:human@example\.com"):
        await WavLeg(np.zeros(1, np.float32)).transfer("sip:human@example.com")


def test_unusable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("hello")
    with pytest.raises(TelephonyError, match=r"text\.wav: not a readable WAV file"):
        read_wav(tmp_path / "text.wav")
    with wave.open(str(tmp_path / "stereo.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44100)
    with pytest.raises(TelephonyError, match="2 channel"):
        read_wav(tmp_path / "stereo.wav")


def test_8_khz_files_are_read_at_16_khz(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "narrow.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.zeros(800, np.int16).tobytes())
    assert len(read_wav(tmp_path / "narrow.wav")) == 1600

"""Audio, digits, hold and barge-in of one call, on the wire."""

from __future__ import annotations

import asyncio

import numpy as np

from dsp.resample import to_float, to_int16
from telephony.leg import FRAME_SAMPLES, SAMPLE_RATE_HZ, EndCause, Frame, Leg, Pcm
from tests.telephony.conftest import NewCaller, StartBot
from voxtrunk.bench.dtmf import press
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.sdp import media_section, session

RATE_HZ = 8000


def tone(seconds: float, rate_hz: int = SAMPLE_RATE_HZ, frequency_hz: float = 500.0) -> Pcm:
    return (0.4 * np.sin(2 * np.pi * frequency_hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.float32)


def loud_s(pcm: Pcm, rate_hz: int) -> float:
    """Seconds between the first and the last loud sample."""
    loud = np.flatnonzero(np.abs(pcm) > 0.1)
    return float((loud[-1] - loud[0]) / rate_hz) if len(loud) else 0.0


def heard_by(media: RtpPeer, since: int = 0) -> Pcm:
    return to_float(media.heard(since=since).pcm)


async def take(leg: Leg, count: int) -> list[Frame]:
    frames: list[Frame] = []
    async with asyncio.timeout(10):
        async for frame in leg.frames():
            frames.append(frame)
            if len(frames) == count:
                return frames
    return frames


async def test_the_first_words_after_the_answer_are_not_lost(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    caller.media.sender.play(to_int16(tone(0.5, RATE_HZ)))
    heard = np.concatenate([frame.pcm for frame in await take(await bot.next_leg(), 50)])
    assert abs(loud_s(heard, SAMPLE_RATE_HZ) - 0.5) < 0.005


async def test_frames_are_20_ms_and_stamped_in_order(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    await new_caller(bot).call()
    frames = await take(await bot.next_leg(), 20)
    assert {frame.pcm.shape for frame in frames} == {(FRAME_SAMPLES,)}
    stamps = [frame.captured_ns for frame in frames]
    assert stamps == sorted(stamps)


async def test_what_we_say_arrives_whole_from_its_first_sample(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    leg.write(tone(0.5))
    await leg.drained()
    await leg.hangup()
    heard = heard_by(caller.media)
    assert abs(loud_s(heard, RATE_HZ) - 0.5) < 0.005
    loud = heard[np.abs(heard) > 0.1]
    assert np.sqrt(2 * np.mean(loud**2)) > 0.35
    assert await leg.ended is EndCause.WE_HUNG_UP
    assert leg.stats().underruns == 0


async def test_flush_silences_the_wire_within_60_ms_and_without_a_click(
    start_bot: StartBot, new_caller: NewCaller
) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    leg.write(tone(5.0))
    await take(leg, 25)
    dropped = leg.flush()
    flushed_ns = bot.agent._clock.now_ns()
    await take(leg, 10)
    received = caller.media.heard()
    heard = to_float(received.pcm)
    last_loud_sample = np.flatnonzero(np.abs(heard) > 0.1)[-1]
    last_loud_packet = np.searchsorted(received.first_samples, last_loud_sample, side="right") - 1
    assert (received.arrivals_ns[last_loud_packet] - flushed_ns) / 1e6 < 60
    assert dropped > 4 * SAMPLE_RATE_HZ
    # A 500 Hz tone of 0.4 moves at most 0.157 a sample; a cut would jump by its level.
    assert np.abs(np.diff(heard)).max() < 0.2


async def test_digits_both_ways(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    caller.media.sender.send_event(press("5"), 101)
    caller.media.sender.send_event(press("#"), 101)
    digits = leg.digits()
    async with asyncio.timeout(5):
        assert [await anext(digits), await anext(digits)] == ["5", "#"]
    await leg.send_digits("42")
    await take(leg, 10)
    events = [packet for packet in caller.media.receiver.packets() if packet.packet.payload_type == 101]
    assert {packet.packet.payload[0] for packet in events} == {4, 2}


async def test_a_held_call_says_so_and_comes_back(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    await take(leg, 5)

    async def offer(direction: str, version: int) -> None:
        sdp = session([media_section(caller.media.port, direction=direction)], version=version)
        answer = await asyncio.to_thread(caller.dialog.call, sdp)
        assert answer.status == 200

    await offer("sendonly", 2)
    assert leg.on_hold
    caller.media.sender.play(to_int16(tone(0.2, RATE_HZ)))
    await offer("sendrecv", 3)
    assert not leg.on_hold
    caller.media.sender.clear()
    resumed = caller.media.sender
    resumed.play(to_int16(tone(0.5, RATE_HZ)))
    heard = np.concatenate([frame.pcm for frame in await take(leg, 45)])
    assert loud_s(heard, SAMPLE_RATE_HZ) > 0.45
    leg.write(tone(0.3))
    before = caller.media.receiver.count
    await leg.drained()
    await take(leg, 5)
    assert loud_s(heard_by(caller.media, since=before), RATE_HZ) > 0.25


async def test_a_caller_who_sends_nothing_is_silence_not_nothing(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    await take(leg, 5)
    caller.media.sender.pause()
    frames = await take(leg, 50)
    seconds = (frames[-1].captured_ns - frames[0].captured_ns) / 1e9
    assert abs(seconds - 0.98) < 0.15
    assert leg.stats().frames_filled > 30

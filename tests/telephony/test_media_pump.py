"""One thread serves all legs; one that fails does not silence the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from probes.clock import MonotonicClock
from telephony.leg import FRAME_SAMPLES, Frame
from telephony.media_pump import MediaPump


class FakeLeg:
    """Gives one frame a tick, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.delivered: asyncio.Queue[Frame] = asyncio.Queue()
        self.failure: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self._fails = fails

    def pump(self, now_ns: int) -> list[Frame]:
        if self._fails:
            raise RuntimeError("codec exploded")
        return [Frame(np.zeros(FRAME_SAMPLES, np.float32), now_ns)]

    def deliver(self, frames: list[Frame], drained: bool) -> None:
        for frame in frames:
            self.delivered.put_nowait(frame)

    def pump_failed(self, error: BaseException) -> None:
        self.failure.set_result(error)

    @property
    def is_drained(self) -> bool:
        return False


@pytest.fixture
async def pump() -> AsyncIterator[MediaPump]:
    media_pump = MediaPump(MonotonicClock())
    media_pump.start()
    yield media_pump
    media_pump.close()


async def test_frames_reach_the_loop_in_order(pump: MediaPump) -> None:
    leg = FakeLeg()
    pump.add(leg)
    stamps = [(await leg.delivered.get()).captured_ns for _ in range(5)]
    assert stamps == sorted(set(stamps))


async def test_a_leg_that_fails_is_told_and_the_others_go_on(pump: MediaPump) -> None:
    good, bad = FakeLeg(), FakeLeg(fails=True)
    pump.add(bad)
    pump.add(good)
    assert str(await bad.failure) == "codec exploded"
    while not good.delivered.empty():
        good.delivered.get_nowait()
    await good.delivered.get()


async def test_a_removed_leg_is_left_alone(pump: MediaPump) -> None:
    gone, stays = FakeLeg(), FakeLeg()
    pump.add(gone)
    pump.add(stays)
    await gone.delivered.get()
    pump.remove(gone)
    for _ in range(3):  # deliveries that were under way when it was removed
        await stays.delivered.get()
    while not gone.delivered.empty():
        gone.delivered.get_nowait()
    for _ in range(5):
        await stays.delivered.get()
    assert gone.delivered.empty()

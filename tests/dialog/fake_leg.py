"""A leg in virtual time: it plays a script at the bot and records what the bot says, as fast as it can."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import numpy as np

from probes.clock import ManualClock
from telephony.leg import (
    FRAME_MS,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    EndCause,
    Frame,
    FrameSink,
    Leg,
    LegClosed,
    LegInfo,
    LegStats,
    Pcm,
    TransferFailed,
)

SETTLE_ROUNDS = 30
"""Turns of the event loop given to the bot after each frame; more than any chain of its awaits needs."""


def silence(ms: float) -> Pcm:
    """Digital silence, float32 at 16 kHz."""
    return np.zeros(int(ms * SAMPLE_RATE_HZ / 1000), np.float32)


@dataclass
class Script:
    """What the caller does: audio from the first frame on, keys and holds at media times in ms."""

    audio: Pcm
    digits: list[tuple[float, str]] = field(default_factory=list)
    holds: list[tuple[float, float]] = field(default_factory=list)


class FakeLeg(Leg):
    """20 ms of virtual time pass for each frame that the bot takes, once the bot has nothing left to do."""

    def __init__(
        self,
        script: Script,
        clock: ManualClock,
        *,
        busy: Callable[[], bool] = lambda: False,
        called_user: str = "parrot",
    ) -> None:
        """
        Args:
            script: the caller; they hang up when their audio is over.
            clock: advanced by 20 ms a frame.
            busy: True while engine threads work for the bot; virtual time waits for them.
            called_user: user part of the called address.
        """
        self._script = script
        self._clock = clock
        self._busy = busy
        self._info = LegInfo("fake", True, "sip:+15555550100@test", called_user, "L16", 16000, "file")
        self._ended: asyncio.Future[EndCause] = asyncio.get_running_loop().create_future()
        self._queue: deque[Pcm] = deque()
        self._heard: list[Pcm] = []
        self._keys: asyncio.Queue[str | None] = asyncio.Queue()
        self._pressed = 0
        self._empty = asyncio.Event()
        self._empty.set()
        self._now_ms = 0.0
        self.flushed_at_ms: list[float] = []
        self.hung_up_at_ms: float | None = None
        self.capacity_ms = 120_000.0
        self.frames_on_hold = False
        self._sink: FrameSink | None = None

    def tap(self, sink: FrameSink) -> None:
        self._sink = sink

    @property
    def info(self) -> LegInfo:
        return self._info

    @property
    def now_ms(self) -> float:
        """Media time since the first frame."""
        return self._now_ms

    async def frames(self) -> AsyncIterator[Frame]:
        audio = self._script.audio
        for start in range(0, len(audio) - len(audio) % FRAME_SAMPLES, FRAME_SAMPLES):
            await self._settle()
            if self._ended.done():
                break
            self._play()
            self._clock.advance_ms(FRAME_MS)
            self._now_ms += FRAME_MS
            self._press()
            if self.frames_on_hold or not self.on_hold:
                frame = Frame(audio[start : start + FRAME_SAMPLES], self._clock.now_ns())
                if self._sink is None:
                    yield frame
                else:
                    self._sink(frame)
        await self._settle()
        self.end(EndCause.CALLER_HUNG_UP)

    async def _settle(self) -> None:
        while True:
            for _ in range(SETTLE_ROUNDS):
                await asyncio.sleep(0)
            if not self._busy():
                return
            await asyncio.sleep(0.001)

    def _press(self) -> None:
        keys = sorted(self._script.digits, key=lambda press: press[0])
        while self._pressed < len(keys) and keys[self._pressed][0] <= self._now_ms:
            self._keys.put_nowait(keys[self._pressed][1])
            self._pressed += 1

    def _play(self) -> None:
        left = FRAME_SAMPLES
        frame: list[Pcm] = []
        while self._queue and left:
            piece = self._queue.popleft()
            frame.append(piece[:left])
            if len(piece) > left:
                self._queue.appendleft(piece[left:])
            left -= len(frame[-1])
        frame.append(np.zeros(left, np.float32))
        self._heard.append(np.concatenate(frame))
        if not self._queue:
            self._empty.set()

    def heard(self) -> Pcm:
        """What the caller heard so far, in step with their own audio."""
        return np.concatenate(self._heard) if self._heard else silence(0)

    def heard_between(self, start_ms: float, stop_ms: float) -> Pcm:
        """What they heard in this time."""
        rate = SAMPLE_RATE_HZ / 1000
        return self.heard()[int(start_ms * rate) : int(stop_ms * rate)]

    def sound_starts_ms(self, *, gap_ms: float = 400.0) -> list[float]:
        """Times at which the bot began to sound after at least ``gap_ms`` of silence."""
        heard = self.heard()
        blocks = heard[: len(heard) - len(heard) % 160].reshape(-1, 160)
        loud = np.flatnonzero(np.abs(blocks).max(axis=1, initial=0.0) > 0.02) * 10.0
        return [t for i, t in enumerate(loud) if i == 0 or t - loud[i - 1] >= gap_ms]

    async def digits(self) -> AsyncIterator[str]:
        while (key := await self._keys.get()) is not None:
            yield key

    def write(self, pcm: Pcm, *, max_ahead_ms: float | None = None) -> int:
        if self._ended.done():
            raise LegClosed("the call is over")
        room = int((self.capacity_ms - self.queued_ms()) * SAMPLE_RATE_HZ / 1000)
        taken = pcm[: max(room, 0)]
        if len(taken):
            self._queue.append(taken)
            self._empty.clear()
        if max_ahead_ms is not None:
            while self.queued_ms() > max_ahead_ms:
                self._queue.popleft()
        return len(taken)

    def flush(self) -> int:
        dropped = sum(map(len, self._queue))
        self._queue.clear()
        self._empty.set()
        self.flushed_at_ms.append(self._now_ms)
        return dropped

    def queued_ms(self) -> float:
        return 1000 * sum(map(len, self._queue)) / SAMPLE_RATE_HZ

    async def drained(self) -> None:
        await self._empty.wait()

    async def send_digits(self, digits: str) -> None:
        raise NotImplementedError

    async def transfer(self, uri: str, *, consult: Leg | None = None) -> None:
        raise TransferFailed("a fake cannot be transferred")

    async def hangup(self) -> None:
        self.hung_up_at_ms = self._now_ms
        self.end(EndCause.WE_HUNG_UP)

    def end(self, cause: EndCause) -> None:
        """End the call."""
        if not self._ended.done():
            self._ended.set_result(cause)
            self._keys.put_nowait(None)
            self._empty.set()

    @property
    def on_hold(self) -> bool:
        return any(start <= self._now_ms < stop for start, stop in self._script.holds)

    @property
    def ended(self) -> asyncio.Future[EndCause]:
        return self._ended

    def stats(self) -> LegStats:
        return LegStats(queued_ms=self.queued_ms())

"""The one thread that moves PCM between the SIP stack and all live legs."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Final, Protocol

from probes.clock import Clock
from telephony.leg import Frame

TICK_MS: Final = 3
"""The stack tells nobody that audio has arrived, so it is asked this often; half of it is the mean delay."""

_log = logging.getLogger(__name__)


class Pumped(Protocol):
    """What the pump needs of a leg."""

    def pump(self, now_ns: int) -> list[Frame]:
        """MEDIA THREAD. Take what has arrived, top up what is due; never blocks."""

    def deliver(self, frames: list[Frame], drained: bool) -> None:
        """LOOP THREAD. Hand frames to the reader and wake who waits for silence."""

    def pump_failed(self, error: BaseException) -> None:
        """LOOP THREAD. This leg's audio cannot go on; the others do."""

    @property
    def is_drained(self) -> bool:
        """Nothing of ours is waiting for the wire."""


class MediaPump:
    """Ticks on absolute deadlines on the monotonic clock; a stall skips ticks instead of bunching them."""

    def __init__(self, clock: Clock) -> None:
        """
        Args:
            clock: stamps the frames.
        """
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._legs: tuple[Pumped, ...] = ()
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="media-pump", daemon=True)
        self.worst_lateness_ms = 0.0

    def start(self) -> None:
        """Begin to tick; sleeps without polling while no leg is there."""
        self._thread.start()

    def add(self, leg: Pumped) -> None:
        """LOOP THREAD. Serve a leg from the next tick on."""
        self._legs = (*self._legs, leg)
        self._wake.set()

    def remove(self, leg: Pumped) -> None:
        """LOOP THREAD. Forget a leg; unknown ones are ignored."""
        self._legs = tuple(other for other in self._legs if other is not leg)
        if not self._legs:
            self._wake.clear()

    def close(self) -> None:
        """Stop the thread and wait for it."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        due_ns = self._clock.now_ns()
        while not self._stopping.is_set():
            if not self._legs:
                self._wake.wait()
                due_ns = self._clock.now_ns()
            self._tick()
            due_ns += TICK_MS * 1_000_000
            ahead_ns = due_ns - self._clock.now_ns()
            if ahead_ns > 0:
                self._stopping.wait(ahead_ns / 1e9)
            else:
                self.worst_lateness_ms = max(self.worst_lateness_ms, -ahead_ns / 1e6)
                due_ns = self._clock.now_ns()

    def _tick(self) -> None:
        deliveries: list[tuple[Pumped, list[Frame], bool]] = []
        for leg in self._legs:
            try:
                frames = leg.pump(self._clock.now_ns())
                drained = leg.is_drained
            except Exception as error:  # one leg's fault must not silence the others
                _log.exception("media of one call failed")
                self.remove_later(leg, error)
                continue
            if frames or drained:
                deliveries.append((leg, frames, drained))
        if deliveries and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, deliveries)

    def remove_later(self, leg: Pumped, error: BaseException) -> None:
        """MEDIA THREAD. Take a broken leg out and tell it, on the loop."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.remove, leg)
            self._loop.call_soon_threadsafe(leg.pump_failed, error)

    @staticmethod
    def _deliver(deliveries: list[tuple[Pumped, list[Frame], bool]]) -> None:
        for leg, frames, drained in deliveries:
            leg.deliver(frames, drained)

"""What happened in a call and waits for its flow."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

from dialog.recogniser import Transcript
from probes.trace import TurnTrace

CAPACITY: Final = 16
"""A caller presses a dozen keys while the bot speaks; more than that waiting means that the flow hangs."""


@dataclass(frozen=True, slots=True)
class CallerTurn:
    """The caller has finished; the words are on their way."""

    number: int
    transcript: asyncio.Task[Transcript]
    trace: TurnTrace
    heard_ms: float
    barge_in_flush_ms: float | None


@dataclass(frozen=True, slots=True)
class Digit:
    """The caller pressed a key."""

    digit: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Nobody has spoken for long, for the first or the second time."""

    count: int


@dataclass(frozen=True, slots=True)
class TimeUp:
    """The call has reached its longest duration."""


Happening = CallerTurn | Digit | Silence | TimeUp


class Inbox:
    """Bounded queue with one reader; when it is full the oldest happening is dropped and counted."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        """
        Args:
            capacity: happenings held.
        """
        self._items: deque[Happening] = deque()
        self._capacity = capacity
        self._ready = asyncio.Event()
        self.dropped = 0

    def put(self, item: Happening) -> None:
        """Add a happening; never blocks."""
        if len(self._items) >= self._capacity:
            oldest = self._items.popleft()
            self.dropped += 1
            if isinstance(oldest, CallerTurn):
                oldest.transcript.cancel()
        self._items.append(item)
        self._ready.set()

    async def get(self) -> Happening:
        """The oldest happening; waits for one."""
        while not self._items:
            self._ready.clear()
            await self._ready.wait()
        return self._items.popleft()

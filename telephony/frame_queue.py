"""Frames on their way from the media thread to the one coroutine that reads a leg."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final, Generic, TypeVar

CAPACITY: Final = 50
"""One second of frames: a reader that is further behind loses the oldest."""

T = TypeVar("T")


class FrameQueue(Generic[T]):
    """Bounded queue that drops the oldest; all methods on the event loop's thread."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        """
        Args:
            capacity: items held; one more pushes out the oldest and counts it in ``dropped``.
        """
        self._items: deque[T] = deque(maxlen=capacity)
        self._ready = asyncio.Event()
        self._closed = False
        self.dropped = 0

    def put(self, item: T) -> None:
        """Add an item; never blocks."""
        if len(self._items) == self._items.maxlen:
            self.dropped += 1
        self._items.append(item)
        self._ready.set()

    def close(self) -> None:
        """End the reader's iteration once it has taken what is left."""
        self._closed = True
        self._ready.set()

    async def items(self) -> AsyncIterator[T]:
        """What was put, oldest first, until closed."""
        while True:
            while self._items:
                yield self._items.popleft()
            if self._closed:
                return
            self._ready.clear()
            await self._ready.wait()

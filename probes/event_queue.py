"""Events on their way to the log's writer."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from probes.events import Event


@dataclass(frozen=True, slots=True)
class StampedEvent:
    """An event and when it happened (UTC)."""

    at: datetime
    event: Event


@dataclass(frozen=True, slots=True)
class Batch:
    """What has come in since the last batch.

    Attributes:
        items: oldest first.
        dropped: event name -> lines dropped, after the items.
    """

    items: list[StampedEvent]
    dropped: Counter[str]


class EventQueue:
    """Bounded, many writers, one reader. Putting never waits for the reader.

    The newest is dropped: droppable events when the queue is half full, so that the other half is left for
    those that tell a call's story, and any event when it is full. What was dropped is counted by name.
    """

    def __init__(self, capacity: int) -> None:
        """
        Args:
            capacity: events held.
        """
        self._capacity = capacity
        self._items: list[StampedEvent] = []
        self._dropped: Counter[str] = Counter()
        self._closed = False
        # Its lock is re-entrant: the garbage collector may run inside put(), and log.
        self._changed = threading.Condition()

    def put(self, item: StampedEvent) -> None:
        """Add an event, or drop it and count it. After :meth:`close` it is dropped."""
        with self._changed:
            room = self._capacity // 2 if item.event.DROPPABLE else self._capacity
            if self._closed or len(self._items) >= room:
                self._dropped[item.event.NAME] += 1
            else:
                self._items.append(item)
                self._changed.notify()

    def count_dropped(self, dropped: Counter[str]) -> None:
        """Count events that were taken but could not be written."""
        with self._changed:
            self._dropped.update(dropped)

    def take(self) -> Batch | None:
        """Everything that is there; waits for something. None when the queue is closed and empty."""
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            if not self._items and not self._dropped:
                return None
            batch = Batch(self._items, self._dropped)
            self._items, self._dropped = [], Counter()
            return batch

    def close(self) -> None:
        """Take no more; what is there can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()

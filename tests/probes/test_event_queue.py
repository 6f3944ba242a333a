"""Bounded, never waiting, and honest about what it drops."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from probes.event_queue import EventQueue, StampedEvent
from probes.events import Event
from tests.probes.samples import call_stats, turn


def stamped(event: Event) -> StampedEvent:
    return StampedEvent(datetime(2024, 12, 1, tzinfo=UTC), event)


TURN, STATS = stamped(turn()), stamped(call_stats())


def test_events_come_out_in_order() -> None:
    queue = EventQueue(10)
    queue.put(TURN)
    queue.put(STATS)
    batch = queue.take()
    assert batch is not None
    assert batch.items == [TURN, STATS]
    assert not batch.dropped


def test_half_of_it_is_kept_free_of_statistics() -> None:
    queue = EventQueue(4)
    for item in (TURN, STATS, STATS, STATS, TURN, TURN, TURN):
        queue.put(item)
    batch = queue.take()
    assert batch is not None
    assert batch.items == [TURN, STATS, TURN, TURN]
    assert batch.dropped == {"call.stats": 2, "turn": 1}


def test_each_drop_is_reported_once() -> None:
    queue = EventQueue(1)
    queue.put(TURN)
    queue.put(TURN)
    first = queue.take()
    queue.put(TURN)
    second = queue.take()
    assert first is not None
    assert second is not None
    assert first.dropped == {"turn": 1}
    assert not second.dropped


def test_after_closing_what_is_there_can_be_taken_and_then_it_ends() -> None:
    queue = EventQueue(10)
    queue.put(TURN)
    queue.close()
    batch = queue.take()
    assert batch is not None
    assert batch.items == [TURN]
    assert queue.take() is None


def test_a_waiting_reader_is_woken_by_an_event_and_by_the_end() -> None:
    queue = EventQueue(10)
    taken: list[object] = []
    got_one = threading.Event()

    def read() -> None:
        while (batch := queue.take()) is not None:
            taken.extend(batch.items)
            got_one.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    queue.put(TURN)
    assert got_one.wait(5)
    queue.close()
    reader.join(5)
    assert not reader.is_alive()
    assert taken == [TURN]


def test_what_could_not_be_written_is_reported_with_the_next() -> None:
    queue = EventQueue(10)
    queue.put(TURN)
    taken = queue.take()
    assert taken is not None
    taken.dropped.update({"turn": 1})
    queue.count_dropped(taken.dropped)
    queue.put(STATS)
    batch = queue.take()
    assert batch is not None
    assert batch.dropped == {"turn": 1}

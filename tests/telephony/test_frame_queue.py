"""A slow reader loses the oldest frames, never the newest."""

from __future__ import annotations

import asyncio

from telephony.frame_queue import FrameQueue


async def test_oldest_are_dropped_and_counted() -> None:
    queue: FrameQueue[int] = FrameQueue(capacity=3)
    for number in range(5):
        queue.put(number)
    queue.close()
    assert [item async for item in queue.items()] == [2, 3, 4]
    assert queue.dropped == 2


async def test_reader_waits_for_the_next_and_ends_when_closed() -> None:
    queue: FrameQueue[int] = FrameQueue()

    async def read() -> list[int]:
        return [item async for item in queue.items()]

    reader = asyncio.create_task(read())
    await asyncio.sleep(0)
    queue.put(1)
    await asyncio.sleep(0)
    assert not reader.done()
    queue.close()
    assert await reader == [1]

from __future__ import annotations

import asyncio

from dialog.inbox import CallerTurn, Digit, Inbox
from dialog.recogniser import Transcript
from probes.trace import TurnTrace


async def test_first_in_first_out() -> None:
    inbox = Inbox()
    for digit in "12":
        inbox.put(Digit(digit))
    assert [await inbox.get(), await inbox.get()] == [Digit("1"), Digit("2")]


async def test_a_reader_waits_for_the_next() -> None:
    inbox = Inbox()
    reading = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    assert not reading.done()
    inbox.put(Digit("1"))
    assert await reading == Digit("1")


async def test_the_oldest_is_dropped_and_counted_and_its_recognition_cancelled() -> None:
    async def never() -> Transcript:
        await asyncio.Event().wait()
        raise AssertionError

    inbox = Inbox(2)
    transcript = asyncio.create_task(never())
    inbox.put(CallerTurn(1, transcript, TurnTrace(1), 0.0, None))
    for digit in "12":
        inbox.put(Digit(digit))
    await asyncio.sleep(0)
    assert inbox.dropped == 1
    assert transcript.cancelled()
    assert await inbox.get() == Digit("1")

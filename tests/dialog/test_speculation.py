from __future__ import annotations

import asyncio

import pytest

from dialog.recogniser import RecogniserBusy, RecogniserError
from dialog.speculation import Speculation
from tests.dialog.engines import ScriptedRecogniser
from tests.dialog.fake_leg import silence


async def test_a_trial_that_stands_is_the_result() -> None:
    recogniser = ScriptedRecogniser("early")
    speculation = Speculation(recogniser)
    speculation.start(silence(100))
    assert (await speculation.finish(silence(300))).text == "early"
    assert len(recogniser.audio) == 1
    assert speculation.wasted == 0


async def test_a_discarded_trial_is_not_used() -> None:
    recogniser = ScriptedRecogniser("late")
    speculation = Speculation(recogniser)
    speculation.start(silence(100))
    speculation.discard()
    assert (await speculation.finish(silence(300))).text == "late"
    assert [len(audio) for audio in recogniser.audio] == [4800]
    assert (speculation.started, speculation.wasted) == (1, 1)


async def test_an_overload_during_the_trial_is_tried_once_more_at_the_end() -> None:
    speculation = Speculation(ScriptedRecogniser(RecogniserBusy("full"), "now"))
    speculation.start(silence(100))
    await asyncio.sleep(0)
    assert (await speculation.finish(silence(300))).text == "now"


async def test_a_failure_is_the_result() -> None:
    speculation = Speculation(ScriptedRecogniser(RecogniserError("broken")))
    speculation.start(silence(100))
    with pytest.raises(RecogniserError, match="broken"):
        await speculation.finish(silence(300))


async def test_giving_up_the_result_cancels_the_trial() -> None:
    recogniser = ScriptedRecogniser("x")
    recogniser.release.clear()
    speculation = Speculation(recogniser)
    speculation.start(silence(100))
    task = speculation.finish(silence(300))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("stt")] == []

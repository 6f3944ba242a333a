from __future__ import annotations

import asyncio

import numpy as np
import pytest

from dialog.speaker import Speaker
from probes.clock import ManualClock
from probes.trace import Mark, Stage, TurnTrace
from synth.synthesizer import SynthesisError
from telephony.leg import EndCause, LegClosed
from tests.dialog.engines import MS_PER_CHARACTER, ToneSynthesizer, tone
from tests.dialog.fake_leg import FakeLeg, Script, silence


class Bench:
    """A speaker on a leg whose frames are taken by nobody else."""

    def __init__(self, seconds: float = 20.0) -> None:
        self.clock = ManualClock()
        self.leg = FakeLeg(Script(silence(1000 * seconds)), self.clock)
        self.synthesizer = ToneSynthesizer()
        self.speaker = Speaker(self.leg, self.synthesizer, self.clock)

    async def play_until(self, media_ms: float) -> None:
        async for _ in self.leg.frames():
            if self.leg.now_ms >= media_ms:
                return

    async def play(self) -> None:
        async for _ in self.leg.frames():
            if not self.speaker.speaking:
                return


async def test_all_is_heard_when_nobody_interrupts() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say("One two. Three four."))
    await asyncio.sleep(0)
    assert bench.speaker.speaking
    await bench.play()
    said = await saying
    assert said.heard_text == "One two. Three four."
    assert said.heard_samples == said.said_samples == 16 * MS_PER_CHARACTER * len("One two.Three four.")
    assert not said.interrupted
    assert not bench.speaker.speaking


async def test_sentences_follow_each_other_without_a_gap() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say("First one. Second one."))
    await bench.play()
    await saying
    heard = bench.leg.heard()
    loud = np.flatnonzero(np.abs(heard) > 0.01)
    assert np.diff(loud).max() < 40


async def test_an_interruption_tells_what_was_heard() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say("The first sentence is this. The second comes later."))
    await bench.play_until(1500)
    bench.clock.advance_ms(7)
    flush_ms = bench.speaker.interrupt(bench.clock.now_ns() - 7_000_000)
    said = await saying
    assert flush_ms == pytest.approx(7.0)
    assert said.interrupted
    assert said.heard_text.startswith("The first sentence is this. The")
    assert "later" not in said.heard_text
    assert said.heard_samples == pytest.approx(16 * 1480, abs=640)
    assert bench.leg.queued_ms() == 0.0


async def test_synthesis_stops_with_an_interruption() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say(" ".join(f"Sentence number {n}." for n in range(50))))
    while len(bench.synthesizer.texts) < 3:
        await asyncio.sleep(0)
    assert bench.speaker.interrupt(0) is not None
    assert (await saying).interrupted
    assert len(bench.synthesizer.texts) < 6


async def test_what_cannot_be_interrupted_is_not() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say("Not now.", interruptible=False))
    await bench.play_until(100)
    assert bench.speaker.interrupt(0) is None
    assert not bench.speaker.interruptible
    await bench.play()
    assert (await saying).heard_text == "Not now."
    assert bench.leg.flushed_at_ms == []


async def test_there_is_nothing_to_interrupt_in_silence() -> None:
    assert Bench().speaker.interrupt(0) is None


async def test_a_second_interruption_does_nothing() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say("Something long enough."))
    await bench.play_until(100)
    assert bench.speaker.interrupt(0) is not None
    assert bench.speaker.interrupt(0) is None
    await saying


async def test_the_trace_counts_what_was_queued_before() -> None:
    bench = Bench()
    bench.leg.write(tone(100))
    bench.clock.advance_ms(50)
    trace = TurnTrace(1)
    trace.mark(Mark.LAST_VOICED, 0)
    trace.mark(Mark.TURN_ENDED, bench.clock.now_ns())
    trace.mark(Mark.TEXT_READY, bench.clock.now_ns())
    saying = asyncio.create_task(bench.speaker.say("Hello there.", trace=trace))
    await bench.play()
    await saying
    assert trace.stages_ms()[Stage.PLAYOUT] == pytest.approx(100.0)
    assert trace.total_ms == pytest.approx(150.0)


async def test_text_longer_than_the_leg_holds_is_played_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialog.speaker._FULL_RETRY_S", 0.0)
    bench = Bench()
    bench.leg.capacity_ms = 300.0
    saying = asyncio.create_task(bench.speaker.say("This takes much more room than there is."))
    await bench.play()
    said = await saying
    assert said.heard_samples == 16 * MS_PER_CHARACTER * 40
    assert np.count_nonzero(np.abs(bench.leg.heard()) > 0.0) == pytest.approx(said.heard_samples, rel=0.05)


async def test_nothing_to_say_ends_at_once() -> None:
    bench = Bench()
    said = await bench.speaker.say("... ?!")
    assert said.heard_text == ""
    assert said.said_samples == 0


async def test_a_broken_voice_is_an_error_and_leaves_the_speaker_usable() -> None:
    bench = Bench()
    bench.synthesizer.broken = True
    with pytest.raises(SynthesisError):
        await bench.speaker.say("Hello.")
    assert not bench.speaker.speaking


async def test_two_texts_at_once_are_a_mistake() -> None:
    bench = Bench()
    first = asyncio.create_task(bench.speaker.say("Hello."))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="one text at a time"):
        await bench.speaker.say("Me too.")
    await bench.play()
    await first


async def test_a_closed_leg_is_reported() -> None:
    bench = Bench()
    bench.leg.end(EndCause.CALLER_HUNG_UP)
    with pytest.raises(LegClosed):
        await bench.speaker.say("Hello.")


async def test_cancelling_the_order_stops_the_work() -> None:
    bench = Bench()
    saying = asyncio.create_task(bench.speaker.say("Hello. " * 50))
    await asyncio.sleep(0)
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task.get_name() == "say"] == []

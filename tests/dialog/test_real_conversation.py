"""Whole calls with the real engines and recorded speech, in virtual time."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from dialog.services import Services
from dialog.session import CallOutcome, run_call
from dialog.settings import FlowSettings
from dialog.whisper_recogniser import WhisperRecogniser
from probes.clock import ManualClock
from probes.events import CallError, Turn
from synth.hibari_voice import HibariVoice
from telephony.leg import EndCause, Pcm
from tests.dialog.conftest import through_g711
from tests.dialog.engines import CountedRecogniser, CountedSynthesizer, Work
from tests.dialog.fake_leg import FakeLeg, Script, silence
from tests.dialog.test_session import Recorder


class RealCall:
    """A call whose virtual time waits for the engines: it shows what happens, not how fast they are."""

    def __init__(self, voice: HibariVoice, whisper: WhisperRecogniser, *audio: Pcm) -> None:
        work = Work()
        clock = ManualClock(1_000_000_000)
        self.log = Recorder()
        self.services = Services(
            CountedSynthesizer(voice, work), CountedRecogniser(whisper, work), clock, flow=FlowSettings()
        )
        self.leg = FakeLeg(Script(np.concatenate(audio)), clock, busy=work)

    async def run(self) -> CallOutcome:
        await self.services.warm_up()
        return await run_call(self.leg, "parrot", services=self.services, call_log=self.log, call="c0ffee00")  # type: ignore[arg-type]

    def turns(self) -> list[Turn]:
        return self.log.of(Turn)


def words(text: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9' ]", " ", text.lower()).split())


@pytest.mark.parametrize("narrow", [False, True])
async def test_the_parrot_repeats_a_recorded_sentence_and_says_goodbye(
    voice: HibariVoice, whisper: WhisperRecogniser, recording: Callable[[str], Pcm], narrow: bool
) -> None:
    audio = np.concatenate(
        (
            silence(7000),
            recording("all_circuits_busy_now"),
            silence(5500),
            recording("vm_goodbye"),
            silence(3000),
        )
    )
    call = RealCall(voice, whisper, through_g711(audio) if narrow else audio)
    outcome = await call.run()
    assert outcome.cause is EndCause.WE_HUNG_UP
    assert call.log.of(CallError) == []
    starts_ms = call.leg.sound_starts_ms(gap_ms=1000)
    assert len(starts_ms) == 3
    assert starts_ms[0] < 300

    greeting = await whisper.transcribe(call.leg.heard_between(0, 7000))
    assert "automated voice" in words(greeting.text)
    assert words(greeting.text).startswith("hi")
    reply = await whisper.transcribe(call.leg.heard_between(starts_ms[1] - 200, starts_ms[2] - 200))
    assert words(reply.text) == "you said all circuits are busy now"
    goodbye = await whisper.transcribe(call.leg.heard_between(starts_ms[2] - 300, call.leg.now_ms))
    assert words(goodbye.text) == "goodbye"
    assert [turn.barge_in for turn in call.turns()] == [False, False]
    assert all(500 <= turn.total_ms <= 620 for turn in call.turns() if turn.total_ms is not None)


async def test_words_over_the_greeting_stop_it_and_are_heard(
    voice: HibariVoice, whisper: WhisperRecogniser, recording: Callable[[str], Pcm]
) -> None:
    call = RealCall(voice, whisper, recording("something_terribly_wrong"), silence(6000))
    await call.run()
    assert len(call.leg.flushed_at_ms) == 1
    assert call.leg.flushed_at_ms[0] < 700
    starts_ms = call.leg.sound_starts_ms(gap_ms=1000)
    reply = await whisper.transcribe(call.leg.heard_between(starts_ms[1] - 200, call.leg.now_ms))
    assert words(reply.text) == "you said something is terribly wrong"
    assert call.turns()[0].barge_in


async def test_noise_on_the_line_is_not_answered(voice: HibariVoice, whisper: WhisperRecogniser) -> None:
    rng = np.random.default_rng(4)
    hiss = (0.01 * rng.standard_normal(16 * 12_000)).astype(np.float32)
    for at_ms in (6000, 8000, 10_000):
        burst = 0.4 * rng.standard_normal(3000) * np.exp(-np.arange(3000) / 900)
        hiss[16 * at_ms : 16 * at_ms + 3000] += burst.astype(np.float32)
    call = RealCall(voice, whisper, hiss)
    outcome = await call.run()
    assert outcome.meter.turns == 0
    assert len(call.leg.sound_starts_ms(gap_ms=1000)) == 1

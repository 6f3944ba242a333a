from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pytest

from dialog.conversation import MAX_STT_FAILURES
from dialog.flow import FLOWS, Flow, UnknownFlow
from dialog.recogniser import RecogniserBusy
from dialog.services import Services
from dialog.session import CallOutcome, run_call
from dialog.settings import FlowSettings, ListenSettings
from dialog.vad import Vad
from probes.clock import ManualClock
from probes.events import CallError, Turn
from telephony.leg import EndCause, Pcm
from tests.dialog.engines import LevelVad, ScriptedRecogniser, ToneSynthesizer, tone
from tests.dialog.fake_leg import FakeLeg, Script, silence

PHRASES = FlowSettings(greeting="Hello, I am a machine.", still_there="Still there?", goodbye="Goodbye.")
GREETING_MS = 22 * 40
GOODBYE_MS = 8 * 40
APOLOGY = tone(400, hz=900.0)


class Recorder:
    """A call log that keeps its events."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def emit(self, event: Any) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class LevelServices(Services):
    """Services whose speech detection goes by level alone."""

    vads = 0

    def new_vad(self) -> Vad:
        self.vads += 1
        return LevelVad()


@dataclass
class Call:
    """One scripted call and what came of it."""

    leg: FakeLeg
    recogniser: ScriptedRecogniser
    synthesizer: ToneSynthesizer
    services: LevelServices
    log: Recorder = field(default_factory=Recorder)

    async def run(self, flow: str = "parrot") -> CallOutcome:
        return await run_call(self.leg, flow, services=self.services, call_log=self.log, call="c0ffee00")  # type: ignore[arg-type]


def make_call(
    *audio: Pcm,
    heard: tuple[str | Exception, ...] = (),
    digits: list[tuple[float, str]] | None = None,
    holds: list[tuple[float, float]] | None = None,
    listen: ListenSettings | None = None,
    flow: FlowSettings = PHRASES,
    log_transcripts: bool = False,
) -> Call:
    clock = ManualClock(1_000_000_000)
    recogniser, synthesizer = ScriptedRecogniser(*heard), ToneSynthesizer()
    services = LevelServices(
        synthesizer,
        recogniser,
        clock,
        listen or ListenSettings(),
        flow,
        log_transcripts=log_transcripts,
        apology_pcm=APOLOGY,
    )
    leg = FakeLeg(Script(np.concatenate(audio), digits or [], holds or []), clock)
    return Call(leg, recogniser, synthesizer, services)


@pytest.fixture
def flows() -> Iterator[dict[str, type[Flow]]]:
    """The registry, restored afterwards."""
    before = dict(FLOWS)
    yield FLOWS
    FLOWS.clear()
    FLOWS.update(before)


async def test_the_greeting_is_heard_within_300_ms_and_whole() -> None:
    call = make_call(silence(3000))
    outcome = await call.run()
    assert call.leg.sound_starts_ms()[0] < 300
    assert np.abs(call.leg.heard_between(0, 3000)).max() > 0.05
    heard = call.leg.heard()
    whole = tone(GREETING_MS, hz=500.0)
    start = int(np.argmax(np.abs(heard) > 0))
    assert np.array_equal(heard[start - 1 : start - 1 + len(whole)], whole)
    assert outcome.cause is EndCause.CALLER_HUNG_UP
    assert not outcome.failed


async def test_the_parrot_says_back_what_it_heard() -> None:
    call = make_call(silence(2000), tone(800), silence(4000), heard=("good morning",))
    outcome = await call.run()
    assert call.synthesizer.texts == ["Hello, I am a machine.", "You said: good morning"]
    assert outcome.meter.turns == 1
    reply_ms = call.leg.sound_starts_ms()[1]
    assert 2800 + 500 <= reply_ms <= 2800 + 500 + 100


async def test_the_turn_event_tells_the_times_but_not_the_words() -> None:
    call = make_call(silence(2000), tone(800), silence(4000), heard=("my secret",))
    await call.run()
    turn = call.log.of(Turn)[0]
    assert turn.call == "c0ffee00"
    assert turn.turn == 1
    assert 500 <= turn.total_ms <= 600
    assert turn.end_of_turn_ms == pytest.approx(turn.total_ms, abs=60)
    assert turn.heard_chars == len("my secret")
    assert turn.said_chars == len("You said: my secret")
    assert turn.heard_ms == pytest.approx(800, abs=64)
    assert not turn.barge_in
    assert turn.barge_in_flush_ms is None
    assert "secret" not in json.dumps([asdict(event) for event in call.log.events])


async def test_words_are_logged_only_on_request() -> None:
    call = make_call(silence(2000), tone(800), silence(3000), heard=("my secret",), log_transcripts=True)
    await call.run()
    assert call.log.of(Turn)[0].transcript == "my secret"


async def test_the_first_words_after_the_answer_are_not_lost() -> None:
    words = tone(700)
    call = make_call(words, silence(4000), heard=("hello",))
    await call.run()
    assert np.array_equal(call.recogniser.audio[0][: len(words)], words)
    assert "You said: hello" in call.synthesizer.texts


async def test_speech_interrupts_the_greeting_and_is_answered() -> None:
    call = make_call(silence(200), tone(600), silence(4000), heard=("wait",))
    outcome = await call.run()
    assert len(call.leg.flushed_at_ms) == 1
    assert 200 + 250 <= call.leg.flushed_at_ms[0] <= 200 + 250 + 60
    assert outcome.meter.barge_ins == 1
    assert call.synthesizer.texts[-1] == "You said: wait"
    turn = call.log.of(Turn)[0]
    assert turn.barge_in
    assert 0 <= turn.barge_in_flush_ms <= 60


async def test_a_cough_does_not_interrupt_and_is_no_turn() -> None:
    long = FlowSettings(greeting="Hello, " + "I speak for quite a long time " * 5)
    call = make_call(silence(500), tone(200), silence(8000), flow=long)
    outcome = await call.run()
    assert call.leg.flushed_at_ms == []
    assert outcome.meter.backchannels == 1
    assert outcome.meter.turns == 0
    assert call.recogniser.audio == []


async def test_silence_after_a_false_interruption_is_not_answered() -> None:
    call = make_call(silence(200), tone(600), silence(4000), heard=("",))
    outcome = await call.run()
    assert outcome.meter.unheard == 1
    assert outcome.meter.turns == 0
    assert len(call.synthesizer.texts) == 1


async def test_recognition_begins_in_the_pause_and_is_used() -> None:
    call = make_call(silence(2000), tone(800), silence(250), silence(3000), heard=("only one run",))
    call.recogniser.release.clear()

    async def release_when_asked() -> float:
        while not call.recogniser.audio:
            await asyncio.sleep(0)
        at_ms = call.leg.now_ms
        call.recogniser.release.set()
        return at_ms

    asked = asyncio.create_task(release_when_asked())
    await call.run()
    assert 2800 + 200 <= await asked <= 2800 + 280
    assert len(call.recogniser.audio) == 1
    assert call.synthesizer.texts[-1] == "You said: only one run"


async def test_a_trial_is_thrown_away_when_the_caller_goes_on() -> None:
    call = make_call(silence(2000), tone(400), silence(350), tone(400), silence(3000), heard=("half", "the whole"))
    await call.run()
    assert call.synthesizer.texts[-1] == "You said: the whole"
    assert len(call.recogniser.audio[1]) > len(call.recogniser.audio[0])


async def test_a_trial_from_before_the_caller_went_on_is_not_used_at_the_cut() -> None:
    listen = ListenSettings(max_utterance_s=2.0)
    call = make_call(
        silence(1500), tone(800), silence(300), tone(2000), silence(3000),
        heard=("half", "the whole", "the rest"), listen=listen,
    )  # fmt: skip
    await call.run()
    # The caller is still speaking at the cut, so that its answer is not begun.
    assert call.synthesizer.texts[1:] == ["You said: the rest"]
    assert [turn.heard_chars for turn in call.log.of(Turn)] == [len("the whole"), len("the rest")]


async def test_goodbye_ends_the_call_politely() -> None:
    call = make_call(silence(2000), tone(800), silence(4000), heard=("Okay, thanks, goodbye!",))
    outcome = await call.run()
    assert call.synthesizer.texts[-1] == "Goodbye."
    assert outcome.cause is EndCause.WE_HUNG_UP
    start_ms = call.leg.sound_starts_ms()[-1]
    assert call.leg.hung_up_at_ms == pytest.approx(start_ms + GOODBYE_MS, abs=40)


async def test_hash_interrupts_and_ends_the_call_politely() -> None:
    call = make_call(silence(4000), digits=[(300, "5"), (400, "#")])
    outcome = await call.run()
    assert call.leg.flushed_at_ms == [300]
    assert call.synthesizer.texts == ["Hello, I am a machine.", "Goodbye."]
    assert outcome.cause is EndCause.WE_HUNG_UP
    assert call.leg.hung_up_at_ms == pytest.approx(400 + GOODBYE_MS, abs=60)


async def test_speech_does_not_interrupt_the_goodbye() -> None:
    call = make_call(silence(2000), tone(3000), silence(100), digits=[(1500, "#")], heard=("x",))
    call.services.flow = PHRASES.model_copy(update={"goodbye": "Goodbye and thank you very much for calling."})
    await call.run()
    assert call.leg.flushed_at_ms == []
    assert call.leg.hung_up_at_ms == pytest.approx(1500 + 44 * 40, abs=60)


async def test_silence_asks_once_and_then_hangs_up() -> None:
    call = make_call(silence(40_000))
    outcome = await call.run()
    asked_ms, goodbye_ms = call.leg.sound_starts_ms()[1:]
    assert asked_ms == pytest.approx(GREETING_MS + 15_000, abs=100)
    assert goodbye_ms == pytest.approx(GREETING_MS + 30_000 + 12 * 40, abs=200)
    assert call.synthesizer.texts[1:] == ["Still there?", "Goodbye."]
    assert outcome.cause is EndCause.WE_HUNG_UP


async def test_a_turn_starts_the_silence_anew() -> None:
    call = make_call(silence(14_000), tone(600), silence(14_000), heard=("here",))
    await call.run()
    assert "Still there?" not in call.synthesizer.texts


async def test_noise_without_words_does_not_keep_a_call_alive() -> None:
    noise = [tone(500), silence(4500)] * 9
    call = make_call(*noise, heard=("",) * 9)
    outcome = await call.run()
    assert call.synthesizer.texts[1:] == ["Still there?", "Goodbye."]
    assert outcome.cause is EndCause.WE_HUNG_UP


@pytest.mark.parametrize("frames_on_hold", [False, True])
async def test_hold_stops_the_silence_timers(frames_on_hold: bool) -> None:
    call = make_call(silence(60_000), holds=[(5_000, 45_000)])
    call.leg.frames_on_hold = frames_on_hold
    await call.run()
    asked_ms = call.leg.sound_starts_ms()[1]
    assert asked_ms == pytest.approx(GREETING_MS + 15_000 + 40_000, abs=100)


async def test_echo_returns_the_frames_untouched_without_listening() -> None:
    rng = np.random.default_rng(3)
    audio = (0.2 * rng.standard_normal(16 * 2000)).astype(np.float32)
    call = make_call(audio)
    outcome = await call.run("echo")
    heard = call.leg.heard()
    assert np.array_equal(heard[320:], audio[: len(heard) - 320])
    assert call.services.vads == 0
    assert call.recogniser.audio == []
    assert outcome.meter.chunk_ms.count == 100


async def test_hash_ends_an_echo_with_an_audible_goodbye() -> None:
    call = make_call(tone(3000, hz=200.0), digits=[(1000, "#")])
    outcome = await call.run("echo")
    assert outcome.cause is EndCause.WE_HUNG_UP
    assert call.synthesizer.texts == ["Goodbye."]
    assert call.leg.hung_up_at_ms == pytest.approx(1000 + GOODBYE_MS, abs=100)


async def test_an_exception_in_a_flow_is_logged_and_apologised_for(flows: dict[str, type[Flow]]) -> None:
    class Broken(Flow):
        async def on_turn(self, text: str) -> None:
            raise KeyError("no such account")

    flows["broken"] = Broken
    call = make_call(silence(1000), tone(600), silence(5000), heard=("hi",))
    outcome = await call.run("broken")
    error = call.log.of(CallError)[0]
    assert (error.stage, error.error_type, error.fatal) == ("flow", "KeyError", True)
    assert error.call == "c0ffee00"
    assert outcome.failed
    assert outcome.cause is EndCause.WE_HUNG_UP
    start_ms = call.leg.sound_starts_ms()[0]
    assert np.array_equal(call.leg.heard_between(start_ms, start_ms + 400)[1:100], APOLOGY[1:100])


async def test_a_failing_call_leaves_another_alone(flows: dict[str, type[Flow]]) -> None:
    class Broken(Flow):
        async def on_start(self) -> None:
            raise RuntimeError("boom")

    flows["broken"] = Broken
    bad = make_call(silence(3000))
    good = make_call(silence(2000), tone(600), silence(3000), heard=("fine",))
    bad_outcome, good_outcome = await asyncio.gather(bad.run("broken"), good.run())
    assert bad_outcome.failed
    assert not good_outcome.failed
    assert good.synthesizer.texts[-1] == "You said: fine"
    assert good.log.of(CallError) == []


async def test_the_apology_does_not_need_a_working_voice() -> None:
    call = make_call(silence(3000))
    call.synthesizer.broken = True
    outcome = await call.run()
    assert outcome.failed
    assert call.log.of(CallError)[0].stage == "synthesis"
    assert np.abs(call.leg.heard()).max() > 0.05


async def test_an_overloaded_recogniser_is_said_and_at_last_given_up() -> None:
    busy = RecogniserBusy("8 utterances wait")
    words = [tone(600), silence(5000)]
    call = make_call(silence(1500), *words, *words, *words, heard=(busy,) * 6)
    outcome = await call.run()
    errors = call.log.of(CallError)
    assert [error.fatal for error in errors] == [False, False, True]
    assert {error.stage for error in errors} == {"stt"}
    assert outcome.meter.stt_failures == MAX_STT_FAILURES
    assert call.synthesizer.texts.count("Please say it again.") == MAX_STT_FAILURES - 1
    assert outcome.failed


@pytest.mark.parametrize("at_ms", [0, 20, 500, 2100, 2600, 2980, 3300, 3320, 3400, 4000])
async def test_a_caller_who_leaves_ends_the_call_quietly(at_ms: float) -> None:
    call = make_call(silence(2000), tone(800), silence(4000), heard=("good morning",) * 2)

    async def leave() -> None:
        while call.leg.now_ms < at_ms:
            await asyncio.sleep(0)
        call.leg.end(EndCause.CALLER_HUNG_UP)

    before = asyncio.all_tasks()
    leaving = asyncio.create_task(leave())
    outcome = await call.run()
    await leaving
    await asyncio.sleep(0)
    assert outcome.cause is EndCause.CALLER_HUNG_UP
    assert not outcome.failed
    assert call.log.of(CallError) == []
    assert asyncio.all_tasks() == before


async def test_the_end_of_a_flow_is_called_once_and_its_errors_are_logged(
    flows: dict[str, type[Flow]],
) -> None:
    ends: list[int] = []

    class Untidy(Flow):
        async def on_end(self) -> None:
            ends.append(1)
            raise OSError("disk full")

    flows["untidy"] = Untidy
    call = make_call(silence(500))
    outcome = await call.run("untidy")
    assert ends == [1]
    assert not outcome.failed
    assert [(error.error_type, error.fatal) for error in call.log.of(CallError)] == [("OSError", False)]


async def test_a_flow_that_hangs_is_ended_after_the_longest_silence(flows: dict[str, type[Flow]]) -> None:
    class Hanging(Flow):
        async def on_turn(self, text: str) -> None:
            await asyncio.Event().wait()

    flows["hanging"] = Hanging
    call = make_call(silence(500), tone(600), silence(60_000), heard=("hi",))
    outcome = await call.run("hanging")
    assert outcome.failed
    assert call.log.of(CallError)[0].error_type == "FlowStuck"
    assert call.leg.hung_up_at_ms == pytest.approx(30_000 + 1700, abs=1500)


async def test_an_interrupted_hook_says_nothing_more(flows: dict[str, type[Flow]]) -> None:
    class Chatty(Flow):
        async def on_start(self) -> None:
            for number in range(5):
                await self.call.say(f"This is sentence number {number}.")

    flows["chatty"] = Chatty
    call = make_call(silence(1200), tone(500), silence(2000), heard=("stop",))
    await call.run("chatty")
    assert call.synthesizer.texts == ["This is sentence number 0.", "This is sentence number 1."]


async def test_what_a_hook_says_after_it_was_interrupted_is_not_said(flows: dict[str, type[Flow]]) -> None:
    class Thoughtful(Flow):
        async def on_turn(self, text: str) -> None:
            while call.leg.now_ms < 3800:
                await asyncio.sleep(0)
            await self.call.say(f"An answer to {text}")

    flows["thoughtful"] = Thoughtful
    call = make_call(silence(1000), tone(500), silence(800), tone(500), silence(4000), heard=("one", "two"))
    await call.run("thoughtful")
    assert call.synthesizer.texts == ["An answer to two"]


async def test_recognition_for_a_call_that_is_over_is_given_up(flows: dict[str, type[Flow]]) -> None:
    class Busy(Flow):
        async def on_turn(self, text: str) -> None:
            call.recogniser.release.clear()
            await asyncio.Event().wait()

    flows["busy"] = Busy
    call = make_call(silence(500), tone(500), silence(1500), tone(500), silence(700), heard=("one", "two"))
    before = asyncio.all_tasks()
    await call.run("busy")
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(call.recogniser.audio) == 2
    assert asyncio.all_tasks() == before


async def test_a_call_has_a_longest_duration(flows: dict[str, type[Flow]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialog.session.HEARTBEAT_S", 0.0)
    flow = PHRASES.model_copy(update={"max_call_s": 10.0})
    call = make_call(silence(20_000), flow=flow)
    outcome = await call.run()
    assert call.synthesizer.texts[-1] == "Goodbye."
    assert outcome.cause is EndCause.WE_HUNG_UP
    assert call.leg.hung_up_at_ms == pytest.approx(10_000 + GOODBYE_MS, abs=600)


async def test_keys_pressed_faster_than_a_flow_takes_them_are_bounded(flows: dict[str, type[Flow]]) -> None:
    pressed: list[str] = []
    go_on = asyncio.Event()

    class Slow(Flow):
        async def on_start(self) -> None:
            await go_on.wait()

        async def on_dtmf(self, digit: str) -> None:
            pressed.append(digit)

    flows["slow"] = Slow
    keys = "0123456789ABCD*#0123"
    call = make_call(silence(1000), digits=[(100, key) for key in keys])

    async def release() -> None:
        while call.leg.now_ms < 800:
            await asyncio.sleep(0)
        go_on.set()

    releasing = asyncio.create_task(release())
    outcome = await call.run("slow")
    await releasing
    assert "".join(pressed) == keys[4:]
    assert outcome.meter.inbox_dropped == 4


async def test_an_unknown_flow_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownFlow, match=r"'nope'.*echo, parrot"):
        await make_call(silence(100)).run("nope")


async def test_cancelling_a_call_leaves_no_tasks() -> None:
    call = make_call(silence(5000), tone(500), silence(2000))
    before = asyncio.all_tasks()
    running = asyncio.create_task(call.run())
    while call.leg.now_ms < 400:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before

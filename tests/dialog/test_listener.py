from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dialog.listen_events import (
    BargeInSpeech,
    ListenEvent,
    Pause,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
)
from dialog.listener import Listener
from dialog.settings import ListenSettings
from dialog.vad import SileroVad, Vad
from telephony.leg import Frame, Pcm
from tests.dialog.conftest import through_g711
from tests.dialog.engines import LevelVad, tone
from tests.dialog.fake_leg import silence

WINDOW_MS = 32


def listen(
    *audio: Pcm, settings: ListenSettings | None = None, vad: Vad | None = None
) -> list[tuple[float, ListenEvent]]:
    """Feed audio in frames; the events with the media time in ms at which each became known."""
    listener = Listener(settings or ListenSettings(), vad or LevelVad())
    whole = np.concatenate(audio)
    events: list[tuple[float, ListenEvent]] = []
    for number in range(len(whole) // 320):
        at_ms = 20 * (number + 1)
        frame = Frame(whole[number * 320 : (number + 1) * 320], int(at_ms * 1e6))
        events += [(at_ms, event) for event in listener.feed(frame)]
    return events


def kinds(events: list[tuple[float, ListenEvent]]) -> list[type]:
    return [type(event) for _, event in events]


def turns(events: list[tuple[float, ListenEvent]]) -> list[TurnEnded]:
    return [event for _, event in events if isinstance(event, TurnEnded)]


def test_a_turn_from_its_onset_to_its_end() -> None:
    events = listen(silence(1000), tone(800), silence(1000))
    assert kinds(events) == [SpeechStarted, BargeInSpeech, Pause, TurnEnded]
    turn = turns(events)[0]
    assert turn.started_ns / 1e6 == pytest.approx(1000, abs=WINDOW_MS)
    assert turn.last_voiced_ns / 1e6 == pytest.approx(1800, abs=WINDOW_MS)
    assert turn.speech_ms == pytest.approx(800, abs=2 * WINDOW_MS)
    assert not turn.cut


def test_a_turn_ends_after_the_configured_silence() -> None:
    for trailing_ms in (300, 500, 900):
        settings = ListenSettings(trailing_silence_ms=trailing_ms)
        at_ms, turn = listen(tone(600), silence(1500), settings=settings)[-1]
        assert isinstance(turn, TurnEnded)
        assert trailing_ms <= at_ms - turn.last_voiced_ns / 1e6 <= trailing_ms + WINDOW_MS + 20


def test_the_early_pause_comes_after_200_ms_and_holds_the_same_words() -> None:
    events = listen(silence(500), tone(600), silence(1000))
    at_ms, pause = next((t, e) for t, e in events if isinstance(e, Pause))
    assert 200 <= at_ms - pause.last_voiced_ns / 1e6 <= 200 + WINDOW_MS + 20
    assert np.array_equal(turns(events)[0].audio[: len(pause.audio)], pause.audio)


def test_a_short_pause_does_not_end_the_turn() -> None:
    events = listen(tone(500), silence(350), tone(500), silence(1000))
    assert kinds(events) == [SpeechStarted, BargeInSpeech, Pause, SpeechResumed, Pause, TurnEnded]


def test_two_turns_do_not_share_audio() -> None:
    first, second = turns(listen(tone(400), silence(700), tone(400, hz=700), silence(700)))
    assert np.abs(second.audio[:1600]).max() < 0.01
    assert len(first.audio) + len(second.audio) <= 16 * 2200


def test_pre_roll_is_kept_but_not_more() -> None:
    faint = np.full(16000, 0.001, np.float32)
    turn = turns(listen(faint, tone(400), silence(1000), settings=ListenSettings(pre_roll_ms=300)))[0]
    onset = int(np.argmax(np.abs(turn.audio) > 0.01))
    assert 300 <= onset / 16 <= 300 + 2 * WINDOW_MS


def test_speech_in_the_very_first_frame_is_not_lost() -> None:
    words = tone(600)
    turn = turns(listen(words, silence(1000)))[0]
    assert np.array_equal(turn.audio[: len(words)], words)


@pytest.mark.parametrize("voiced_ms", [40, 120, 200, 240])
def test_a_cough_does_not_interrupt(voiced_ms: int) -> None:
    rng = np.random.default_rng(5)
    for offset_ms in range(0, 32, 4):
        cough = np.concatenate((silence(500 + offset_ms), tone(voiced_ms), silence(1000)))
        room = (0.001 * rng.standard_normal(len(cough))).astype(np.float32)
        assert BargeInSpeech not in kinds(listen(cough + room))


@pytest.mark.parametrize("voiced_ms", [300, 400])
def test_speech_interrupts_soon_after_250_ms(voiced_ms: int) -> None:
    for offset_ms in range(0, 32, 4):
        events = listen(silence(500 + offset_ms), tone(voiced_ms), silence(1000))
        at_ms, event = next((t, e) for t, e in events if isinstance(e, BargeInSpeech))
        assert 250 <= at_ms - 500 - offset_ms <= 250 + WINDOW_MS + 20
        assert event.decided_ns == at_ms * 1e6


def test_separate_coughs_do_not_add_up() -> None:
    cough = [tone(150), silence(450)]
    assert BargeInSpeech not in kinds(listen(silence(300), *cough, *cough, *cough, silence(600)))


def test_two_words_close_together_interrupt() -> None:
    assert BargeInSpeech in kinds(listen(silence(300), tone(170), silence(100), tone(170), silence(600)))


def test_a_click_is_no_turn() -> None:
    assert listen(silence(500), tone(30), silence(1000)) == []


def test_a_monologue_is_cut_and_goes_on_without_a_gap() -> None:
    rng = np.random.default_rng(1)
    speech = (0.1 * rng.standard_normal(16 * 5000)).astype(np.float32)
    parts = turns(listen(speech, silence(1000), settings=ListenSettings(max_utterance_s=2.0)))
    assert [part.cut for part in parts] == [True, True, False]
    joined = np.concatenate([part.audio for part in parts])
    assert np.array_equal(joined[: len(speech)], speech)
    assert max(len(part.audio) for part in parts) <= 16 * 2000


def test_a_monologue_that_stops_at_the_cut_leaves_no_empty_turn() -> None:
    settings = ListenSettings(max_utterance_s=2.0)
    cut_ms = 62 * WINDOW_MS
    events = listen(tone(cut_ms), silence(1500), tone(500), silence(1000), settings=settings)
    assert [turn.cut for turn in turns(events)] == [True, False]
    assert kinds(events).count(BargeInSpeech) == 2


def test_memory_is_bounded_in_a_long_silence() -> None:
    listener = Listener(ListenSettings(), LevelVad())
    for number in range(5000):
        listener.feed(Frame(silence(20), number * 20_000_000))
    assert len(listener._recent) < 30
    assert listener._utterance == []


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", ["all_circuits_busy_now", "vm_sorry", "vm_goodbye"])
def test_real_speech_is_one_turn(recording: Callable[[str], Pcm], name: str, narrow: bool) -> None:
    speech = recording(name)
    audio = np.concatenate((silence(1000), speech, silence(1500)))
    if narrow:
        audio = through_g711(audio)
    found = turns(listen(audio, vad=SileroVad()))
    assert len(found) == 1
    loud = np.flatnonzero(np.abs(speech) > 0.05) / 16 + 1000
    assert found[0].started_ns / 1e6 == pytest.approx(loud[0], abs=120)
    assert found[0].last_voiced_ns / 1e6 == pytest.approx(loud[-1], abs=200)


def test_noise_is_no_speech_for_silero() -> None:
    rng = np.random.default_rng(2)
    for level in (0.003, 0.03):
        noise = (level * rng.standard_normal(16 * 4000)).astype(np.float32)
        assert listen(noise, vad=SileroVad()) == []


def test_contradicting_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="early_pause_ms"):
        ListenSettings(early_pause_ms=600, trailing_silence_ms=500)
    with pytest.raises(ValueError, match="silence_prompt_s"):
        ListenSettings(silence_prompt_s=30, silence_hangup_s=30)
    with pytest.raises(ValueError, match="barge_in_min_speech_ms"):
        ListenSettings(barge_in_min_speech_ms=700)

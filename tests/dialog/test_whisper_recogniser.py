from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dialog.recogniser import RecogniserBusy, RecogniserError
from dialog.settings import SttSettings
from dialog.whisper_model import Decoded, WhisperModel, compression_ratio, model_directory
from dialog.whisper_recogniser import WhisperRecogniser
from synth.hibari_voice import HibariVoice
from telephony.leg import Pcm
from tests.dialog.conftest import through_g711
from tests.dialog.engines import tone
from tests.dialog.fake_leg import silence

TRANSCRIPTS = {
    "all_circuits_busy_now": "all circuits are busy now",
    "followme_pls_hold_while_try": "please hold while i try to locate the person you are calling",
    "something_terribly_wrong": "something is terribly wrong",
    "vm_goodbye": "goodbye",
    "vm_sorry": "i'm sorry i did not understand your response",
    "auth_thankyou": "thank you",
}


def words(text: str) -> list[str]:
    return re.sub(r"[^a-z0-9' ]", " ", text.lower()).split()


def errors(reference: list[str], heard: list[str]) -> int:
    """Words to substitute, insert or delete (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for i, wanted in enumerate(reference, start=1):
        above, row = row, [i]
        for j, word in enumerate(heard, start=1):
            row.append(min(above[j - 1] + (wanted != word), above[j] + 1, row[-1] + 1))
    return row[-1]


@pytest.mark.parametrize("narrow", [False, True])
async def test_recorded_speech(whisper: WhisperRecogniser, recording: Callable[[str], Pcm], narrow: bool) -> None:
    wrong = total = 0
    for name, text in TRANSCRIPTS.items():
        audio = np.concatenate((silence(100), recording(name), silence(200)))
        heard = await whisper.transcribe(through_g711(audio) if narrow else audio)
        wrong += errors(words(text), words(heard.text))
        total += len(words(text))
        assert heard.no_speech_probability < 0.5
    assert wrong / total <= 0.08


async def test_short_utterances_are_not_repeated(whisper: WhisperRecogniser, voice: HibariVoice) -> None:
    """A short encoder window tempts the decoder to say things twice."""
    for text in ("Yes.", "No.", "Okay.", "Call waiting.", "Yes please.", "Hello?", "Stop."):
        spoken = [pcm async for pcm in voice.stream(text)]
        heard = await whisper.transcribe(np.concatenate((silence(300), *spoken)))
        assert len(words(heard.text)) <= len(words(text)), heard.text


async def test_nobody_speaking_is_empty_text(whisper: WhisperRecogniser) -> None:
    rng = np.random.default_rng(0)
    noises = {
        "silence": silence(1500),
        "hiss": (0.003 * rng.standard_normal(24000)).astype(np.float32),
        "loud noise": (0.2 * rng.standard_normal(32000)).astype(np.float32),
        "dial tone": tone(1500, hz=350.0) + tone(1500, hz=440.0),
        "cough": np.concatenate(
            (
                silence(300),
                (0.3 * rng.standard_normal(4000) * np.exp(-np.arange(4000) / 1300)).astype(np.float32),
                silence(300),
            )
        ),
    }
    heard = {name: (await whisper.transcribe(audio)).text for name, audio in noises.items()}
    assert heard == dict.fromkeys(noises, "")


async def test_a_crumb_of_audio_is_nothing(whisper: WhisperRecogniser) -> None:
    assert (await whisper.transcribe(silence(0))).text == ""
    assert (await whisper.transcribe(tone(50))).text == ""


async def test_a_short_window_costs_a_fraction(whisper: WhisperRecogniser, recording: Callable[[str], Pcm]) -> None:
    audio = recording("vm_sorry")
    model = whisper._loaded()
    assert model._features(audio, full_window=False).shape == (80, 800)
    assert model._features(audio, full_window=True).shape == (80, 3000)
    long = model._features(np.zeros(16000 * 20, np.float32), full_window=False)
    assert long.shape == (80, 2200)


class FakeModel:
    """Decodes to what it is told, first for the short window, then for the full one."""

    def __init__(self, short: Decoded, full: Decoded) -> None:
        self._results = {False: short, True: full}
        self.windows: list[bool] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def decode(self, audio: Pcm, *, full_window: bool) -> Decoded:
        assert self.go_on.wait(10)
        self.windows.append(full_window)
        return self._results[full_window]


def recogniser_of(model: FakeModel, settings: SttSettings | None = None) -> WhisperRecogniser:
    recogniser = WhisperRecogniser(settings)
    recogniser._model = model  # type: ignore[assignment]
    return recogniser


GOOD = Decoded("good words", 0.1, -0.3, tokens=12, complete=True)


@pytest.mark.parametrize(
    "bad",
    [
        Decoded("and and and", 0.1, -0.3, tokens=30, complete=False),
        Decoded("a long guess about it", 0.1, -1.3, tokens=12, complete=True),
        Decoded("go on, " * 20, 0.1, -0.2, tokens=80, complete=True),
    ],
)
async def test_a_doubtful_result_is_tried_once_more_in_the_full_window(bad: Decoded) -> None:
    model = FakeModel(bad, GOOD)
    recogniser = recogniser_of(model)
    assert (await recogniser.transcribe(tone(500))).text == "good words"
    assert model.windows == [False, True]
    assert recogniser.second_passes == 1
    await recogniser.close()


@pytest.mark.parametrize(
    "first", [GOOD, Decoded("Yes.", 0.1, -1.2, tokens=4, complete=True), Decoded("hm", 0.9, -2.0, 30, False)]
)
async def test_a_clear_result_or_clear_noise_costs_one_pass(first: Decoded) -> None:
    model = FakeModel(first, GOOD)
    recogniser = recogniser_of(model)
    await recogniser.transcribe(tone(500))
    assert model.windows == [False]
    await recogniser.close()


async def test_the_short_window_can_be_switched_off() -> None:
    model = FakeModel(GOOD, GOOD)
    recogniser = recogniser_of(model, SttSettings(short_window=False))
    await recogniser.transcribe(tone(500))
    assert model.windows == [True]
    await recogniser.close()


async def test_overload_is_refused_at_once_and_recovers() -> None:
    model = FakeModel(GOOD, GOOD)
    model.go_on.clear()
    recogniser = recogniser_of(model, SttSettings(max_pending=2))
    waiting = [asyncio.create_task(recogniser.transcribe(tone(500))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(RecogniserBusy, match=r"2 utterances.*stt\.workers"):
        await recogniser.transcribe(tone(500))
    assert recogniser.refused == 1
    model.go_on.set()
    assert [(await task).text for task in waiting] == ["good words", "good words"]
    assert (await recogniser.transcribe(tone(500))).text == "good words"
    await recogniser.close()


async def test_a_cancelled_utterance_that_has_not_begun_is_not_recognised() -> None:
    model = FakeModel(GOOD, GOOD)
    model.go_on.clear()
    recogniser = recogniser_of(model)
    first = asyncio.create_task(recogniser.transcribe(tone(500)))
    second = asyncio.create_task(recogniser.transcribe(tone(500)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    model.go_on.set()
    await first
    await recogniser.close()
    assert len(model.windows) == 1


async def test_an_engine_failure_is_a_recogniser_error() -> None:
    class Broken:
        def decode(self, audio: Pcm, *, full_window: bool) -> Decoded:
            raise MemoryError("no more room")

    recogniser = WhisperRecogniser()
    recogniser._model = Broken()  # type: ignore[assignment]
    with pytest.raises(RecogniserError, match="MemoryError: no more room"):
        await recogniser.transcribe(tone(500))
    await recogniser.close()


@pytest.mark.parametrize("model", ["tiny.en", "Systran/faster-whisper-base", "/nowhere/model"])
def test_a_name_is_no_local_model_and_nothing_is_downloaded(model: str) -> None:
    with pytest.raises(RecogniserError, match=r"model\.bin.*missing.*nothing is downloaded"):
        model_directory(model)


def test_a_directory_that_holds_junk_says_so(tmp_path: Path) -> None:
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (tmp_path / name).write_text("junk")
    with pytest.raises(RecogniserError, match="cannot load this model"):
        WhisperModel(SttSettings(model=str(tmp_path)))


def test_a_model_directory_of_the_operator_is_used() -> None:
    embedded = model_directory(None)
    assert model_directory(str(embedded)) == embedded


def test_an_english_model_refuses_another_language() -> None:
    with pytest.raises(RecogniserError, match=r"English only.*'de'"):
        WhisperModel(SttSettings(language="de"))


def test_repetition_compresses() -> None:
    assert compression_ratio("All circuits are busy now.") < 1.5
    assert compression_ratio("All circuits are busy now. " * 8) > 2.4
    assert compression_ratio("") == 0.0

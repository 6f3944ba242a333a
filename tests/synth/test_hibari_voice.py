"""The embedded voice: what callers hear, when it comes, and what happens when it cannot."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from synth import acoustic
from synth.acoustic import Acoustic
from synth.hibari_engine import load_engine, packaged_voices
from synth.hibari_voice import HibariVoice
from synth.settings import SynthSettings
from synth.synthesizer import Pcm, SynthesisError
from synth.vocoder import Vocoder


@pytest.fixture(scope="module")
def voice() -> Iterator[HibariVoice]:
    voice = HibariVoice()
    asyncio.run(voice.warm_up(["Good morning. This is a test."]))
    yield voice
    asyncio.run(voice.close())


async def say(voice: HibariVoice, text: str) -> list[Pcm]:
    return [pcm async for pcm in voice.stream(text)]


async def test_speech_has_the_promised_form(voice: HibariVoice) -> None:
    pieces = await say(voice, "You are talking to an automated voice. Say something.")
    for pcm in pieces:
        assert pcm.dtype == np.float32
        assert pcm.ndim == 1
        assert len(pcm) > 0
    spoken = np.concatenate(pieces)
    assert 0.1 < np.abs(spoken).max() < 0.95
    assert 2.5 < len(spoken) / 16000 < 6.0


async def test_speech_starts_at_once(voice: HibariVoice) -> None:
    for text in ("Hello.", "Are you still there?", "Goodbye."):
        pcm = np.concatenate(await say(voice, text))
        first = np.flatnonzero(np.abs(pcm) > 0.02 * np.abs(pcm).max())[0]
        assert first / 16 < 60


async def test_loudness_is_the_same_for_all_sentences(voice: HibariVoice) -> None:
    levels = []
    for text in ("Hello.", "Goodbye.", "Please hold on while I look it up for you.", "Are you still there?"):
        pcm = np.concatenate(await say(voice, text))
        blocks = np.square(pcm[: len(pcm) // 320 * 320].reshape(-1, 320)).mean(axis=1)
        levels.append(10 * np.log10(blocks[blocks > blocks.max() / 1000].mean()))
    assert max(levels) - min(levels) < 4.0
    assert -28 < np.mean(levels) < -18


async def test_the_same_text_gives_the_same_samples(voice: HibariVoice) -> None:
    first, second = [np.concatenate(await say(voice, "My number is four two.")) for _ in range(2)]
    assert np.array_equal(first, second)


async def test_no_is_not_number(voice: HibariVoice) -> None:
    """The rules read "no." as the abbreviation of number, which a parrot would say all the time."""
    spoken = np.concatenate(await say(voice, "You said: no."))
    assert len(spoken) == pytest.approx(len(np.concatenate(await say(voice, "You said: no!"))), rel=0.2)
    assert voice._acoustic._engine.phonemize("You said: no.")[0].endswith("nˈʌmbəɹ.")


@pytest.mark.parametrize("text", ["", "   ", "...", "?! -", "\n\n", "日本語"])
async def test_what_cannot_be_spoken_gives_nothing(voice: HibariVoice, text: str) -> None:
    assert await say(voice, text) == []


async def test_only_prepared_phrases_are_kept(voice: HibariVoice) -> None:
    await say(voice, "The caller's secret number.")
    assert voice._cache.get("The caller's secret number.") is None
    again = await say(voice, "Good morning. This is a test.")
    assert again[0] is (await say(voice, "Good morning."))[0]


async def test_the_event_loop_is_never_blocked(voice: HibariVoice) -> None:
    speaking = asyncio.create_task(say(voice, "This sentence is long enough to take several tens of ms. " * 4))
    threads = {thread.name for thread in threading.enumerate()}
    turns = 0
    while not speaking.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert sum(map(len, speaking.result())) > 10 * 16000
    assert turns > 10
    assert any(name.startswith("synth") for name in threads)


async def test_closing_the_iterator_stops_further_sentences(
    voice: HibariVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    frames = voice._frames

    def count(sentence: str) -> Acoustic:
        made.append(sentence)
        return frames(sentence)

    monkeypatch.setattr(voice, "_frames", count)
    stream = voice.stream("One. Two. Three. Four.")
    await anext(stream)
    await stream.aclose()
    await say(voice, "Done.")
    assert made == ["One.", "Done."]
    assert voice._vocoder is not None and voice._vocoder.stats().streams == 0


async def test_a_voice_that_is_not_here_is_an_error_and_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> None:
        raise AssertionError("something wanted to connect")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    missing = HibariVoice(SynthSettings(voice="emma"))
    with pytest.raises(SynthesisError, match=r"no voice 'emma' here and nothing is downloaded.*heart"):
        await missing.warm_up()
    await missing.close()
    assert packaged_voices() == ["heart"]


async def test_a_broken_model_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    broken = tmp_path / "mine.onnx"
    broken.write_bytes(b"not a model")
    voice = HibariVoice(SynthSettings(voice=str(broken)))
    with pytest.raises(SynthesisError, match=r"mine\.onnx"):
        await voice.warm_up()
    await voice.close()


async def test_a_model_file_of_the_operator_speaks() -> None:
    import hibari

    path = Path(hibari.__file__).parent / "assets" / "hibari.onnx"
    voice = HibariVoice(SynthSettings(voice=str(path), accent="gb"))
    assert 0.2 < len(np.concatenate(await say(voice, "Hello."))) / 16000 < 2.0
    await voice.close()


async def test_an_engine_failure_says_which_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def phonemize(self, sentence: str) -> list[str]:
            raise MemoryError("no more room")

    monkeypatch.setattr(acoustic, "load_engine", lambda settings: Broken())
    voice = HibariVoice()
    with pytest.raises(SynthesisError, match=r"'heart' failed: MemoryError: no more room"):
        await say(voice, "Hello.")
    await voice.close()


def test_faster_speech_is_shorter() -> None:
    async def seconds(speed: float) -> float:
        voice = HibariVoice(SynthSettings(speed=speed, sentence_pause_ms=0))
        pieces = await say(voice, "This is the pace at which I speak.")
        await voice.close()
        return len(np.concatenate(pieces)) / 16000

    assert asyncio.run(seconds(1.5)) < 0.8 * asyncio.run(seconds(1.0))


def test_loading_needs_no_network_for_the_stock_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("a download"))
    assert load_engine(SynthSettings()).sample_rate == 24000


async def test_the_first_piece_comes_while_the_rest_is_made(voice: HibariVoice) -> None:
    moments: list[str] = []
    sizes = []
    text = "This is one long sentence, which goes on for quite a while, so that its speech lasts several seconds."
    async for piece in voice.stream(text, lambda: moments.append("frames")):
        moments.append("piece")
        sizes.append(len(piece))
    assert moments[:2] == ["frames", "piece"] and moments.count("frames") == 1
    # A few chunks of 20 ms, whose first 25 ms are the vocoder's delay.
    assert len(sizes) > 5 and sizes[0] < 0.2 * sum(sizes)


async def test_kept_phrases_have_no_acoustic_stage(voice: HibariVoice) -> None:
    called: list[None] = []
    assert [piece async for piece in voice.stream("Good morning.", lambda: called.append(None))]
    assert called == []


async def test_the_vocoder_says_what_the_acoustic_model_would(voice: HibariVoice) -> None:
    """In time, as loud, and not the same samples."""
    bare = HibariVoice(SynthSettings(vocoder="none"))
    text = "The number is forty two."
    wanted = np.concatenate(await say(bare, text))
    await bare.close()
    assert bare._vocoder is None
    spoken = np.concatenate(await say(voice, text))
    assert len(spoken) == len(wanted)
    envelopes = [
        np.sqrt(np.square(pcm[: len(pcm) // 160 * 160].reshape(-1, 160)).mean(axis=1)) for pcm in (spoken, wanted)
    ]
    lags = [
        float(np.corrcoef(envelopes[0][10:-10], np.roll(envelopes[1], lag)[10:-10])[0, 1]) for lag in (-2, -1, 0, 1, 2)
    ]
    assert max(lags) == lags[2] > 0.97
    assert 20 * np.log10(np.linalg.norm(spoken) / np.linalg.norm(wanted)) == pytest.approx(0.0, abs=1.0)
    assert not np.allclose(spoken, wanted, atol=0.05)


async def test_callers_speak_at_once(voice: HibariVoice) -> None:
    texts = [f"This is caller number {number}." for number in ("one", "two", "three", "four")]
    alone = [np.concatenate(await say(voice, text)) for text in texts]
    together = await asyncio.gather(*(say(voice, text) for text in texts))
    for expected, pieces in zip(alone, together, strict=True):
        error = np.concatenate(pieces) - expected
        # Eight bits round at a border: a sample here and there.
        assert np.square(error).mean() < 1e-3 * np.square(expected).mean()


async def test_more_callers_than_streams_are_told_so() -> None:
    voice = HibariVoice(readers=1)
    await voice.warm_up()
    first = voice.stream("This sentence is being spoken right now, and it takes a little while.")
    await anext(first)
    with pytest.raises(SynthesisError, match="all 1 vocoder streams are in use"):
        await say(voice, "Not now.")
    await first.aclose()
    assert await say(voice, "Now.")
    await voice.close()


async def test_a_vocoder_that_is_not_here_says_which_there_are() -> None:
    voice = HibariVoice(SynthSettings(vocoder="hifigan"))
    with pytest.raises(SynthesisError, match=r"synth\.vocoder: .*bigvgan-nano"):
        await voice.warm_up()
    await voice.close()


async def test_a_vocoder_that_fails_is_an_error_for_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    voice = HibariVoice()
    await voice.warm_up()
    assert isinstance(voice._vocoder, Vocoder)

    def broken(count: int) -> None:
        raise RuntimeError("bad graph")

    monkeypatch.setattr(voice._vocoder._engine._batch, "run", broken)
    with pytest.raises(SynthesisError, match=r"synth\.vocoder: the vocoder failed: bad graph"):
        await say(voice, "Hello.")
    await voice.close()

"""Engines of the dialog for tests: fakes at our own interfaces, and a count of what real ones are doing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import numpy as np

from dialog.recogniser import Recogniser, Transcript
from dialog.vad import WINDOW_SAMPLES, Window
from synth.sentences import split_sentences
from synth.synthesizer import SynthesisError, Synthesizer
from telephony.leg import SAMPLE_RATE_HZ, Pcm

SPEECH_LEVEL = 0.1
MS_PER_CHARACTER = 40


def tone(ms: float, *, hz: float = 300.0, level: float = SPEECH_LEVEL) -> Pcm:
    """A tone that :class:`LevelVad` takes for speech; float32 at 16 kHz."""
    seconds = np.arange(int(ms * SAMPLE_RATE_HZ / 1000)) / SAMPLE_RATE_HZ
    return (level * np.sin(2 * np.pi * hz * seconds)).astype(np.float32)


class LevelVad:
    """Speech is what is louder than -46 dBFS."""

    def __init__(self) -> None:
        self._rest: Pcm = np.zeros(0, np.float32)

    @property
    def pending_samples(self) -> int:
        return len(self._rest)

    def feed(self, pcm: Pcm) -> list[Window]:
        audio = np.concatenate((self._rest, pcm))
        whole = len(audio) - len(audio) % WINDOW_SAMPLES
        self._rest = audio[whole:]
        pieces = audio[:whole].reshape(-1, WINDOW_SAMPLES)
        return [Window(piece, float(np.sqrt(np.square(piece).mean()) > 0.005)) for piece in pieces]


class ScriptedRecogniser:
    """Hears the given texts one after another; an exception in their place is raised."""

    def __init__(self, *heard: str | Exception) -> None:
        self._heard = list(heard)
        self.audio: list[Pcm] = []
        self.release = asyncio.Event()
        self.release.set()

    async def transcribe(self, audio: Pcm) -> Transcript:
        self.audio.append(audio)
        await self.release.wait()
        result = self._heard.pop(0)
        if isinstance(result, Exception):
            raise result
        return Transcript(result, 0.0, 0.0, 0.0)

    async def warm_up(self) -> None:
        return None

    async def close(self) -> None:
        return None


class ToneSynthesizer:
    """Says every text as a tone of 40 ms a character."""

    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.broken = False

    async def stream(self, text: str, on_frames: Callable[[], None] | None = None) -> AsyncGenerator[Pcm, None]:
        for sentence in split_sentences(text):
            await asyncio.sleep(0)
            if self.broken:
                raise SynthesisError("the voice is broken")
            self.texts.append(sentence)
            yield tone(MS_PER_CHARACTER * len(sentence), hz=500.0)

    async def warm_up(self, phrases: Sequence[str] = ()) -> None:
        return None

    async def close(self) -> None:
        return None


class Work:
    """How many engine jobs are being done; virtual time waits for them."""

    def __init__(self) -> None:
        self.jobs = 0

    def __call__(self) -> bool:
        return self.jobs > 0


class CountedRecogniser:
    """A real recogniser whose jobs are counted."""

    def __init__(self, inner: Recogniser, work: Work) -> None:
        self._inner = inner
        self._work = work

    async def transcribe(self, audio: Pcm) -> Transcript:
        self._work.jobs += 1
        try:
            return await self._inner.transcribe(audio)
        finally:
            self._work.jobs -= 1

    async def warm_up(self) -> None:
        await self._inner.warm_up()

    async def close(self) -> None:
        return None


class CountedSynthesizer:
    """A real synthesiser whose jobs are counted."""

    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(self, inner: Synthesizer, work: Work) -> None:
        self._inner = inner
        self._work = work

    async def stream(self, text: str, on_frames: Callable[[], None] | None = None) -> AsyncGenerator[Pcm, None]:
        pieces = self._inner.stream(text, on_frames)
        while True:
            self._work.jobs += 1
            try:
                pcm = await anext(pieces)
            except StopAsyncIteration:
                return
            finally:
                self._work.jobs -= 1
            yield pcm

    async def warm_up(self, phrases: Sequence[str] = ()) -> None:
        await self._inner.warm_up(phrases)

    async def close(self) -> None:
        return None

"""The embedded synthesiser: hibari-tts speaks, the vocoder gives it its sound."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Final

import numpy as np

from synth.acoustic import Acoustic, AcousticModel
from synth.mel import OURS
from synth.phrase_cache import PhraseCache
from synth.sentences import split_sentences
from synth.settings import SynthSettings
from synth.synthesizer import SAMPLE_RATE_HZ, Pcm, SynthesisError
from synth.vocoder import Vocoder
from synth.vocoder_file import VocoderError
from synth.vocoder_models import resolve
from synth.vocoder_speech import vocoded

NO_VOCODER: Final = "none"


class HibariVoice:
    """A :class:`~synth.synthesizer.Synthesizer`. Never downloads: a voice is in the package, or is a file.

    Work runs in threads that this object owns. Their queue holds at most one sentence for each reader of
    :meth:`stream`, so that the number of calls bounds it.
    """

    def __init__(self, settings: SynthSettings | None = None, *, readers: int = 16) -> None:
        """
        Args:
            settings: which voice and vocoder.
            readers: of :meth:`stream` at once.
        """
        self._settings = settings or SynthSettings()
        self._readers = readers
        self._pool = ThreadPoolExecutor(self._settings.workers, thread_name_prefix="synth")
        self._cache = PhraseCache(self._settings.cached_phrases)
        self._acoustic = AcousticModel(self._settings)
        self._opening = threading.Lock()
        self._vocoder: Vocoder | None = None

    @property
    def sample_rate_hz(self) -> int:
        return SAMPLE_RATE_HZ

    async def warm_up(self, phrases: Sequence[str] = ()) -> None:
        for text in phrases or ("Ready.",):
            for sentence in split_sentences(text):
                if self._cache.get(sentence) is None:
                    pieces = [piece async for piece in self._speak(sentence, None)]
                    self._cache.put(sentence, (np.concatenate(pieces),) if pieces else ())

    async def stream(self, text: str, on_frames: Callable[[], None] | None = None) -> AsyncGenerator[Pcm, None]:
        for sentence in split_sentences(text):
            kept = self._cache.get(sentence)
            if kept is not None:
                for piece in kept:
                    yield piece
                continue
            async with aclosing(self._speak(sentence, on_frames)) as pieces:
                async for piece in pieces:
                    yield piece

    async def close(self) -> None:
        # Joining the threads may take as long as the sentence in hand: not on the event loop.
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        if self._vocoder is not None:
            await asyncio.to_thread(self._vocoder.close)

    async def _speak(self, sentence: str, on_frames: Callable[[], None] | None) -> AsyncGenerator[Pcm, None]:
        loop = asyncio.get_running_loop()
        try:
            spoken = await loop.run_in_executor(self._pool, self._frames, sentence)
        except SynthesisError:
            raise
        except VocoderError as error:
            raise SynthesisError(f"synth.vocoder: {error}") from error
        except Exception as error:
            raise SynthesisError(
                f"the voice {self._settings.voice!r} failed: {type(error).__name__}: {error}"
            ) from error
        if on_frames is not None:
            on_frames()
        if self._vocoder is None:
            if len(spoken.pcm):
                yield spoken.pcm
            return
        try:
            async with aclosing(vocoded(self._vocoder, spoken, self._settings.seed)) as pieces:
                async for piece in pieces:
                    yield piece
        except VocoderError as error:
            raise SynthesisError(f"synth.vocoder: {error}") from error

    def _frames(self, sentence: str) -> Acoustic:
        with self._opening:
            if self._vocoder is None and self._settings.vocoder != NO_VOCODER:
                self._vocoder = self._open()
        return self._acoustic.speak(sentence, self._vocoder.file.definition if self._vocoder is not None else OURS)

    def _open(self) -> Vocoder:
        settings = self._settings
        return Vocoder.open(
            resolve(settings.vocoder, settings.vocoder_precision),
            threads=settings.vocoder_threads,
            cpus=settings.vocoder_cpus or None,
            max_streams=self._readers,
        )

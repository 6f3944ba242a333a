"""The embedded synthesiser: hibari-tts, an 8 MB voice that ships inside its package."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from synth.loudness import apply_gain, set_edges
from synth.phrase_cache import PhraseCache
from synth.sentences import speakable, split_sentences
from synth.settings import SynthSettings
from synth.spoken_text import spell_numbers, without_full_stop
from synth.synthesizer import SAMPLE_RATE_HZ, Pcm, SynthesisError

_LEAD_MS: Final = 10.0
"""The voice begins with 230-320 ms of silence, which a caller would wait for; this much is kept."""


class HibariVoice:
    """A :class:`~synth.synthesizer.Synthesizer`. Never downloads: a voice is in the package, or is a file.

    Work runs in threads that this object owns. Their queue holds at most one sentence for each reader of
    :meth:`stream`, so that the number of calls bounds it.
    """

    def __init__(self, settings: SynthSettings | None = None) -> None:
        self._settings = settings or SynthSettings()
        self._pool = ThreadPoolExecutor(self._settings.workers, thread_name_prefix="synth")
        self._cache = PhraseCache(self._settings.cached_phrases)
        self._loading = threading.Lock()
        self._engine: Any = None

    @property
    def sample_rate_hz(self) -> int:
        return SAMPLE_RATE_HZ

    async def warm_up(self, phrases: Sequence[str] = ()) -> None:
        for text in phrases or ("Ready.",):
            for sentence in split_sentences(text):
                if self._cache.get(sentence) is None:
                    self._cache.put(sentence, await self._speak(sentence))

    async def stream(self, text: str) -> AsyncGenerator[Pcm, None]:
        for sentence in split_sentences(text):
            pieces = self._cache.get(sentence)
            if pieces is None:
                pieces = await self._speak(sentence)
            for piece in pieces:
                yield piece

    async def close(self) -> None:
        # Joining the threads may take as long as the sentence in hand: not on the event loop.
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    async def _speak(self, sentence: str) -> tuple[Pcm, ...]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, self._synthesise, sentence)
        except SynthesisError:
            raise
        except Exception as error:
            raise SynthesisError(
                f"the voice {self._settings.voice!r} failed: {type(error).__name__}: {error}"
            ) from error

    def _synthesise(self, sentence: str) -> tuple[Pcm, ...]:
        import soxr

        settings = self._settings
        with self._loading:
            if self._engine is None:
                self._engine = load_engine(settings)
        engine = self._engine
        pieces: list[Pcm] = []
        text, full_stop = without_full_stop(spell_numbers(sentence))
        phrases = engine.phonemize(text)
        for number, phonemes in enumerate(phrases, start=1):
            if number == len(phrases):
                phonemes += full_stop
            wide = engine.from_phonemes(phonemes, settings.speed, settings.seed) if speakable(phonemes) else ()
            if len(wide) == 0:
                continue
            pcm = soxr.resample(wide, engine.sample_rate, SAMPLE_RATE_HZ)
            pcm = set_edges(pcm, lead_ms=_LEAD_MS, tail_ms=settings.sentence_pause_ms)
            pieces.append(apply_gain(pcm, settings.gain_db))
        return tuple(pieces)


def packaged_voices() -> list[str]:
    """Names of the voices that are inside the installed hibari-tts package."""
    from hibari.voices import VOICES

    return [name for name, voice in VOICES.items() if voice.get("bundled")]


def load_engine(settings: SynthSettings) -> Any:
    """Load the voice and its pronunciation rules (about 1.5 s).

    Raises:
        SynthesisError: the voice is neither in the package nor a readable model.
    """
    voice = settings.voice
    if voice in packaged_voices():
        model, british = None, False
    elif Path(voice).is_file():
        model, british = voice, settings.accent == "gb"
    else:
        raise SynthesisError(
            f"there is no voice {voice!r} here and nothing is downloaded; "
            f"set synth.voice to one of {', '.join(packaged_voices())}, or to the path of an .onnx model"
        )
    with ThreadPoolExecutor(1, thread_name_prefix="g2p") as beside:
        # The lexicon takes as long as the model, which is loaded without the GIL.
        lexicon = beside.submit(_load_lexicon, british)
        try:
            return _load_model(voice, model, settings.threads, lexicon)
        except Exception as error:
            raise SynthesisError(f"{voice}: not a voice that can be loaded ({error})") from error


def _load_lexicon(british: bool) -> Any:
    from hibari.g2p import G2P

    return G2P(british=british)


def _load_model(voice: str, model: str | None, threads: int, lexicon: Future[Any]) -> Any:
    from hibari import Hibari

    # With a model of its own, a voice's name is only a name: nothing is looked up or downloaded.
    engine = Hibari(voice, model=model, threads=threads, g2p=lambda text: lexicon.result()(text))
    lexicon.result()
    return engine

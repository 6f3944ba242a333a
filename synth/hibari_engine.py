"""Loading of hibari-tts, whose 8 MB voice ships inside its package."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from synth.settings import SynthSettings
from synth.synthesizer import SynthesisError


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

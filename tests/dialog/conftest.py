"""Engines that are loaded once, and speech to recognise."""

from __future__ import annotations

import asyncio
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soxr

from dialog.whisper_recogniser import WhisperRecogniser
from synth.hibari_voice import HibariVoice
from telephony.leg import Pcm

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="session")
def voice() -> Iterator[HibariVoice]:
    """The embedded voice, loaded."""
    voice = HibariVoice()
    asyncio.run(voice.warm_up())
    yield voice
    asyncio.run(voice.close())


@pytest.fixture(scope="session")
def whisper() -> Iterator[WhisperRecogniser]:
    """The embedded recogniser, loaded."""
    whisper = WhisperRecogniser()
    asyncio.run(whisper.warm_up())
    yield whisper
    asyncio.run(whisper.close())


@pytest.fixture(scope="session")
def recording() -> Callable[[str], Pcm]:
    """Recorded speech by its name in ``tests/data``; float32 at 16 kHz."""

    def load(name: str) -> Pcm:
        with wave.open(str(DATA / f"{name}.wav"), "rb") as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        return samples.astype(np.float32) / 32768

    return load


def through_g711(pcm: Pcm) -> Pcm:
    """What is left of 16 kHz audio after a G.711 mu-law leg (ITU-T G.711, continuous companding law)."""
    narrow = np.clip(soxr.resample(pcm, 16000, 8000), -1.0, 1.0)
    code = np.round(127 * np.sign(narrow) * np.log1p(255 * np.abs(narrow)) / np.log1p(255)) / 127
    decoded = np.sign(code) * np.expm1(np.abs(code) * np.log1p(255)) / 255
    return np.asarray(soxr.resample(decoded, 8000, 16000), np.float32)

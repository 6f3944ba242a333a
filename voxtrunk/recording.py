"""Recordings for our own caller, of whatever rate they come in."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Final

import numpy as np
import soxr

from dsp.resample import to_float
from telephony.leg import SAMPLE_RATE_HZ, Pcm, TelephonyError

DEMO_SPEECH: Final = Path(__file__).parent / "data" / "demo_caller.wav"
"""A real person says "I'm afraid I don't know who sent this message." (``data/LICENSE.md``)."""


def load_recording(path: Path) -> Pcm:
    """A 16-bit WAV of any rate and number of channels as mono float32 at 16 kHz, shape (n,).

    Raises:
        TelephonyError: not such a file.
    """
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate_hz = file.getnchannels(), file.getsampwidth(), file.getframerate()
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16) if width == 2 else None
    except (OSError, EOFError, wave.Error) as error:
        raise TelephonyError(f"{path}: not a readable WAV file ({error})") from error
    if samples is None:
        raise TelephonyError(f"{path}: {8 * width} bit samples; wanted 16 bit (sox IN.wav -b 16 OUT.wav)")
    return np.asarray(soxr.resample(to_float(samples, channels), rate_hz, SAMPLE_RATE_HZ), np.float32)

"""``voxtrunk say``: a text as callers would hear it, in a WAV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from probes.clock import MonotonicClock, ns_to_ms
from synth.hibari_voice import HibariVoice
from synth.settings import SynthSettings
from synth.synthesizer import SynthesisError
from telephony.leg import SAMPLE_RATE_HZ
from telephony.wav_leg import write_wav


async def say_to_file(settings: SynthSettings, text: str, out: Path) -> str:
    """Speak ``text`` into a 16 kHz mono WAV.

    Returns:
        What was done, for the terminal.

    Raises:
        SynthesisError: the voice failed, or the text has nothing to say.
        OSError: ``out`` cannot be written.
    """
    clock = MonotonicClock()
    voice = HibariVoice(settings)
    try:
        await voice.warm_up()
        began_ns = clock.now_ns()
        pieces = [piece async for piece in voice.stream(text)]
        took_ms = ns_to_ms(clock.now_ns() - began_ns)
    finally:
        await voice.close()
    if not pieces:
        raise SynthesisError("there is nothing to say: the text has no letters or digits")
    pcm = np.concatenate(pieces)
    write_wav(out, pcm)
    return f"{out}: {len(pcm) / SAMPLE_RATE_HZ:.2f} s of speech, made in {took_ms:.0f} ms"

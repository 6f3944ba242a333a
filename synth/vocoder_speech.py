"""Acoustic frames through the vocoder, read by a coroutine while the engine makes more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from dsp.resample import Resampler
from synth.acoustic import Acoustic
from synth.synthesizer import SAMPLE_RATE_HZ, Pcm
from synth.vocoder import Vocoder


async def vocoded(vocoder: Vocoder, spoken: Acoustic, seed: int) -> AsyncGenerator[Pcm, None]:
    """Speech of a sentence, chunk by chunk, each as soon as the engine has made it; its delay is cut off in front.

    Args:
        vocoder: running.
        spoken: with the vocoder's mel.
        seed: of the noise.

    Yields:
        float32, 16 kHz, (n,), n > 0.

    Raises:
        VocoderError: the engine failed, or all its streams are in use.
    """
    loop, made = asyncio.get_running_loop(), asyncio.Event()

    def tell() -> None:
        # A loop that is closed has nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(made.set)

    file = vocoder.file
    rate = Resampler(file.sample_rate_hz, SAMPLE_RATE_HZ)
    late, left = file.lookahead_samples, len(spoken.pcm)
    if left == 0:
        return
    with vocoder.stream(seed, on_output=tell) as stream:
        stream.submit(spoken.mel, spoken.f0_hz if file.takes_f0 else None)
        stream.submit_silence()
        while left > 0:
            await made.wait()
            made.clear()
            pcm = stream.read()
            early = min(late, len(pcm))
            late -= early
            pcm = pcm[early : early + left]
            left -= len(pcm)
            piece = rate.push(pcm)
            if len(piece):
                yield piece

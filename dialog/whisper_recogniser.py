"""The embedded recogniser: faster-whisper in threads of its own, bounded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from dialog.inventions import is_invention
from dialog.recogniser import RecogniserBusy, RecogniserError, Transcript
from dialog.settings import SttSettings
from dialog.whisper_model import Decoded, WhisperModel
from probes.clock import Clock, MonotonicClock
from telephony.leg import SAMPLE_RATE_HZ, Pcm

T = TypeVar("T")

_MIN_SAMPLES = SAMPLE_RATE_HZ // 10


class WhisperRecogniser:
    """A :class:`~dialog.recogniser.Recogniser`. Never downloads.

    An utterance is recognised in a short window; a doubtful result gets one more try in Whisper's full one.
    At most ``max_pending`` utterances wait or are in work; more are refused (the newest is dropped) and
    counted in ``refused``. Every utterance holds at most 30 s of audio.
    """

    def __init__(self, settings: SttSettings | None = None, clock: Clock | None = None) -> None:
        self._settings = settings or SttSettings()
        self._clock = clock or MonotonicClock()
        self._pool = ThreadPoolExecutor(self._settings.workers, thread_name_prefix="stt")
        self._loading = threading.Lock()
        self._model: WhisperModel | None = None
        self._pending = 0
        self.refused = 0
        self.second_passes = 0

    async def warm_up(self) -> None:
        await self._run(lambda: self._loaded().decode(np.zeros(SAMPLE_RATE_HZ, np.float32), full_window=False))

    async def transcribe(self, audio: Pcm) -> Transcript:
        if self._pending >= self._settings.max_pending:
            self.refused += 1
            raise RecogniserBusy(
                f"{self._pending} utterances are being recognised or wait; take fewer calls, "
                "or raise stt.workers on a machine with free cores"
            )
        started_ns = self._clock.now_ns()
        decoded = await self._run(lambda: self._recognise(audio))
        heard = not is_invention(decoded.text, decoded.no_speech_probability, decoded.avg_logprob)
        return Transcript(
            text=decoded.text if heard else "",
            no_speech_probability=decoded.no_speech_probability,
            avg_logprob=decoded.avg_logprob,
            stt_ms=(self._clock.now_ns() - started_ns) / 1e6,
        )

    async def close(self) -> None:
        # Joining the threads may take as long as the utterance in hand: not on the event loop.
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        # Counted until the thread is done with it, not until its caller loses interest: that is the load.
        job = self._pool.submit(work)
        self._pending += 1
        loop = asyncio.get_running_loop()
        job.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        try:
            return await asyncio.wrap_future(job)
        except RecogniserError:
            raise
        except Exception as error:
            raise RecogniserError(f"speech recognition failed: {type(error).__name__}: {error}") from error

    def _done(self) -> None:
        self._pending -= 1

    def _recognise(self, audio: Pcm) -> Decoded:
        if len(audio) < _MIN_SAMPLES:
            return Decoded("", no_speech_probability=1.0, avg_logprob=0.0, tokens=0, complete=True)
        model = self._loaded()
        if not self._settings.short_window:
            return model.decode(audio, full_window=True)
        decoded = model.decode(audio, full_window=False)
        if decoded.doubtful and not is_invention(decoded.text, decoded.no_speech_probability, decoded.avg_logprob):
            self.second_passes += 1
            decoded = model.decode(audio, full_window=True)
        return decoded

    def _loaded(self) -> WhisperModel:
        with self._loading:
            if self._model is None:
                self._model = WhisperModel(self._settings)
            return self._model

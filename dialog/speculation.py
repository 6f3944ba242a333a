"""Recognition that starts at the caller's first pause, before it is known whether they have finished."""

from __future__ import annotations

import asyncio

from dialog.recogniser import Recogniser, RecogniserBusy, Transcript
from telephony.leg import Pcm


class Speculation:
    """At most one recognition on trial for a call. It is dropped when the caller goes on."""

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser
        self._trial: asyncio.Task[Transcript] | None = None
        self.started = 0
        self.wasted = 0

    def start(self, audio: Pcm) -> None:
        """Begin recognising the utterance so far."""
        self.discard()
        self.started += 1
        self._trial = asyncio.create_task(self._recogniser.transcribe(audio), name="stt-trial")
        # A trial may fail and never be asked for; finish() is where its error counts.
        self._trial.add_done_callback(lambda task: task.cancelled() or task.exception())

    def discard(self) -> None:
        """The caller went on: forget the trial."""
        if self._trial is not None:
            self.wasted += 1
            self._trial.cancel()
            self._trial = None

    def finish(self, audio: Pcm) -> asyncio.Task[Transcript]:
        """The turn ended: the trial's result if there is one (nothing voiced came after it), or a new run."""
        trial, self._trial = self._trial, None
        task = asyncio.create_task(self._final(trial, audio), name="stt")
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _final(self, trial: asyncio.Task[Transcript] | None, audio: Pcm) -> Transcript:
        if trial is not None:
            try:
                return await trial
            except RecogniserBusy:
                self.wasted += 1
            finally:
                trial.cancel()
        return await self._recogniser.transcribe(audio)

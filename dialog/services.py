"""What all calls share: the engines, their settings and the clock."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import numpy as np

from dialog.recogniser import Recogniser
from dialog.settings import FlowSettings, ListenSettings, SttSettings
from dialog.vad import SileroVad, Vad
from probes.clock import Clock, MonotonicClock
from synth.settings import SynthSettings
from synth.synthesizer import Pcm, Synthesizer


@dataclass(slots=True)
class Services:
    """Built once a process, before the first call; see :func:`build_services`.

    Attributes:
        clock: must be the clock that stamps the frames of the legs.
        log_transcripts: put what callers said into the log; off unless the operator asks for it.
        apology_pcm: the spoken apology, ready-made so that it works when synthesis does not.
    """

    synthesizer: Synthesizer
    recogniser: Recogniser
    clock: Clock = field(default_factory=MonotonicClock)
    listen: ListenSettings = field(default_factory=ListenSettings)
    flow: FlowSettings = field(default_factory=FlowSettings)
    log_transcripts: bool = False
    apology_pcm: Pcm = field(default_factory=lambda: np.zeros(0, np.float32))

    def new_vad(self) -> Vad:
        """A detector for one call (3 ms; it has a state of its own)."""
        return SileroVad()

    async def warm_up(self) -> None:
        """Load all models side by side and make the constant phrases.

        Raises:
            SynthesisError: the voice cannot be loaded.
            RecogniserError: the speech recognition model cannot be loaded.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self.recogniser.warm_up())
            group.create_task(self._warm_up_voice())
            group.create_task(asyncio.to_thread(self.new_vad))

    async def close(self) -> None:
        """Stop the engines' threads."""
        await self.synthesizer.close()
        await self.recogniser.close()

    async def _warm_up_voice(self) -> None:
        # Only what must be instant, or must work without a voice; the others take 30 ms when they are needed.
        await self.synthesizer.warm_up((self.flow.greeting, self.flow.apology))
        pieces = [piece async for piece in self.synthesizer.stream(self.flow.apology)]
        self.apology_pcm = np.concatenate(pieces) if pieces else np.zeros(0, np.float32)


def build_services(
    synth: SynthSettings,
    listen: ListenSettings,
    stt: SttSettings,
    flow: FlowSettings,
    *,
    max_calls: int = 8,
    clock: Clock | None = None,
    log_transcripts: bool = False,
) -> Services:
    """The embedded engines with these settings; loads nothing yet (:meth:`Services.warm_up` does)."""
    from dialog.whisper_recogniser import WhisperRecogniser
    from synth.hibari_voice import HibariVoice

    clock = clock or MonotonicClock()
    return Services(
        # One more is the constant phrases'.
        synthesizer=HibariVoice(synth, readers=max_calls + 1),
        recogniser=WhisperRecogniser(stt, clock),
        clock=clock,
        listen=listen,
        flow=flow,
        log_transcripts=log_transcripts,
    )

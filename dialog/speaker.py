"""Says text on a leg, and stops at once when the caller interrupts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from probes.clock import Clock
from probes.trace import Mark, TurnTrace
from synth.sentences import split_sentences
from synth.synthesizer import Pcm, Synthesizer
from telephony.leg import Leg

_FULL_RETRY_S: Final = 0.25
"""A leg holds two minutes of speech; when it is full, room is asked for this often."""


@dataclass(frozen=True, slots=True)
class Said:
    """What became of a text.

    Attributes:
        heard_text: the part that the caller heard, cut between words, judged by played samples.
        heard_samples: of 16 kHz audio that were played to the caller.
        said_samples: of 16 kHz audio that were made.
        interrupted: True when the caller cut it short, or it was not begun because they were speaking.
    """

    heard_text: str
    heard_samples: int
    said_samples: int
    interrupted: bool


@dataclass(slots=True)
class _Piece:
    text: str
    samples: int = 0


@dataclass(slots=True)
class _Utterance:
    interruptible: bool
    pieces: list[_Piece] = field(default_factory=list)
    unheard_samples: int = 0
    interrupted: bool = False
    task: asyncio.Task[None] | None = None

    def begin(self, text: str) -> _Piece:
        self.pieces.append(_Piece(text))
        return self.pieces[-1]

    def said(self) -> Said:
        total = sum(piece.samples for piece in self.pieces)
        heard = max(total - self.unheard_samples, 0)
        words: list[str] = []
        left = heard
        for piece in self.pieces:
            words.append(_head(piece.text, max(left, 0) / max(piece.samples, 1)))
            left -= piece.samples
        return Said(" ".join(filter(None, words)), heard, total, self.interrupted)


class Speaker:
    """The bot's mouth on one leg; one text at a time.

    Production never waits for playing: a text is synthesised sentence by sentence as fast as the engine goes
    and queued on the leg.
    """

    def __init__(self, leg: Leg, synthesizer: Synthesizer, clock: Clock) -> None:
        self._leg = leg
        self._synthesizer = synthesizer
        self._clock = clock
        self._current: _Utterance | None = None

    @property
    def speaking(self) -> bool:
        """True from the order to speak until the last sample has left for the wire."""
        return self._current is not None

    @property
    def interruptible(self) -> bool:
        """True while something is being said that the caller may interrupt."""
        return self._current is not None and self._current.interruptible

    async def say(self, text: str, *, interruptible: bool = True, trace: TurnTrace | None = None) -> Said:
        """Speak and wait until it was played or interrupted.

        Raises:
            SynthesisError: the engine failed; what was queued before is played.
            LegClosed: the call is over.
        """
        utterance = _Utterance(interruptible)
        return await self._perform(utterance, self._synthesise(utterance, split_sentences(text), trace))

    async def play(self, pcm: Pcm) -> Said:
        """Play ready-made audio, not interruptible; float32 at 16 kHz, shape (n,).

        Raises:
            LegClosed: the call is over.
        """
        utterance = _Utterance(interruptible=False)

        async def produce() -> None:
            await self._write(utterance.begin(""), pcm)
            await self._leg.drained()

        return await self._perform(utterance, produce())

    def interrupt(self, decided_ns: int) -> float | None:
        """Silence an interruptible text now.

        Args:
            decided_ns: capture time of the frame that decided it.

        Returns:
            Time from that frame to the flush in ms, or None when there was nothing to interrupt.
        """
        utterance = self._current
        if utterance is None or not utterance.interruptible or utterance.interrupted:
            return None
        utterance.unheard_samples = self._leg.flush()
        flushed_ns = self._clock.now_ns()
        utterance.interrupted = True
        if utterance.task is not None:
            utterance.task.cancel()
        return max(flushed_ns - decided_ns, 0) / 1e6

    async def _perform(self, utterance: _Utterance, work: Coroutine[None, None, None]) -> Said:
        if self._current is not None:
            work.close()
            raise RuntimeError("the speaker says one text at a time; await the first say() before the next")
        self._current = utterance
        task = asyncio.create_task(work, name="say")
        utterance.task = task
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            self._current = None
        if not task.cancelled():
            task.result()
        return utterance.said()

    async def _synthesise(self, utterance: _Utterance, sentences: list[str], trace: TurnTrace | None) -> None:
        if trace is not None:
            trace.mark(Mark.FIRST_TOKEN, self._clock.now_ns())
            trace.mark(Mark.FIRST_SENTENCE, self._clock.now_ns())
        for sentence in sentences:
            piece = utterance.begin(sentence)
            async with aclosing(self._synthesizer.stream(sentence, partial(self._frames_made, trace))) as pieces:
                async for pcm in pieces:
                    if trace is not None:
                        now_ns = self._clock.now_ns()
                        trace.mark(Mark.FIRST_PCM, now_ns)
                        trace.mark(Mark.ON_WIRE, now_ns + int(self._leg.until_wire_ms() * 1e6))
                    await self._write(piece, pcm)
        await self._leg.drained()

    def _frames_made(self, trace: TurnTrace | None) -> None:
        if trace is not None:
            trace.mark(Mark.FIRST_FRAMES, self._clock.now_ns())

    async def _write(self, piece: _Piece, pcm: Pcm) -> None:
        while True:
            taken = self._leg.write(pcm)
            piece.samples += taken
            pcm = pcm[taken:]
            if len(pcm) == 0:
                return
            await asyncio.sleep(_FULL_RETRY_S)


def _head(text: str, share: float) -> str:
    """The first words of ``text`` that fit in this share of its length."""
    if share >= 1.0:
        return text
    words: list[str] = []
    for word in text.split():
        if len(" ".join([*words, word])) > share * len(text):
            break
        words.append(word)
    return " ".join(words)

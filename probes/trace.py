"""Where the time between the caller's last word and the first word of the reply goes."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Final

from probes.clock import NS_PER_MS, ns_to_ms


class Mark(StrEnum):
    """A moment of a turn, in the order in which they happen.

    SPEECH_STARTED and LAST_VOICED are when the caller's first and last sound were captured, TURN_ENDED when
    it was decided that they have finished, FIRST_FRAMES when the acoustic model is done with the first sentence and
    the vocoder begins, ON_WIRE when the first sound of the reply leaves.
    """

    SPEECH_STARTED = "speech_started"
    LAST_VOICED = "last_voiced"
    TURN_ENDED = "turn_ended"
    TEXT_READY = "text_ready"
    FIRST_TOKEN = "first_token"  # noqa: S105  (of text, not of trust)
    FIRST_SENTENCE = "first_sentence"
    FIRST_FRAMES = "first_frames"
    FIRST_PCM = "first_pcm"
    ON_WIRE = "on_wire"


class Stage(StrEnum):
    """A part of the turn's latency, in order; ``f"{stage}_ms"`` is its field in the log."""

    END_OF_TURN = "end_of_turn"
    NETWORK = "network"
    STT = "stt"
    LLM_FIRST_TOKEN = "llm_first_token"  # noqa: S105  (of text, not of trust)
    FIRST_SENTENCE = "first_sentence"
    SYNTHESIS = "synthesis"
    PLAYOUT = "playout"


_ENDS_WITH: Final = {
    Mark.TURN_ENDED: Stage.END_OF_TURN,
    Mark.TEXT_READY: Stage.STT,
    Mark.FIRST_TOKEN: Stage.LLM_FIRST_TOKEN,
    Mark.FIRST_SENTENCE: Stage.FIRST_SENTENCE,
    Mark.FIRST_PCM: Stage.SYNTHESIS,
    Mark.ON_WIRE: Stage.PLAYOUT,
}
"""The mark that ends each stage; a stage begins where the one before ends. NETWORK has no marks."""

_LATENCY_MARKS: Final = tuple(mark for mark in Mark if mark not in (Mark.SPEECH_STARTED, Mark.FIRST_FRAMES))


class TurnTrace:
    """The marks of one turn.

    Marks may come in any order. Work done ahead of its turn (text ready before the end of the turn is
    decided) costs the caller nothing: a mark earlier than the one before it counts as that one's time.
    """

    def __init__(self, turn: int, network_ms: float = 0.0) -> None:
        """
        Args:
            turn: number of the turn in its call, from 1.
            network_ms: delay that the marks cannot see: the network there and back, and the jitter buffer.

        Raises:
            ValueError: ``network_ms`` is negative.
        """
        if not network_ms >= 0.0:
            raise ValueError(f"network_ms must be at least 0, not {network_ms}")
        self.turn = turn
        self._network_ns = round(network_ms * NS_PER_MS)
        self._marks_ns: dict[Mark, int] = {}

    def mark(self, mark: Mark, at_ns: int) -> None:
        """Set a mark; the first of its kind wins.

        Args:
            mark: which.
            at_ns: monotonic time.
        """
        self._marks_ns.setdefault(mark, at_ns)

    def stages_ns(self) -> dict[Stage, int]:
        """Duration of each known stage in ns, in order. A stage needs the mark at both its ends."""
        known_ns = self._clamped_ns()
        stages = {
            _ENDS_WITH[end]: known_ns[end] - known_ns[start]
            for start, end in pairwise(_LATENCY_MARKS)
            if start in known_ns and end in known_ns
        }
        stages[Stage.NETWORK] = self._network_ns
        return {stage: stages[stage] for stage in Stage if stage in stages}

    def synthesis_parts_ms(self) -> tuple[float, float] | None:
        """The synthesis stage's two parts: acoustic model, and vocoder up to its first chunk.

        None where the speech was kept ready, or the stage is not known.
        """
        known_ns, frames_ns = self._clamped_ns(), self._marks_ns.get(Mark.FIRST_FRAMES)
        if frames_ns is None or Mark.FIRST_SENTENCE not in known_ns or Mark.FIRST_PCM not in known_ns:
            return None
        start_ns, end_ns = known_ns[Mark.FIRST_SENTENCE], known_ns[Mark.FIRST_PCM]
        frames_ns = min(max(frames_ns, start_ns), end_ns)
        return ns_to_ms(frames_ns - start_ns), ns_to_ms(end_ns - frames_ns)

    @property
    def total_ns(self) -> int | None:
        """Last sound of the caller to first sound of the reply, network included; None while it is open.

        When all seven stages are known they add up to it exactly.
        """
        known_ns = self._clamped_ns()
        if Mark.LAST_VOICED not in known_ns or Mark.ON_WIRE not in known_ns:
            return None
        return known_ns[Mark.ON_WIRE] - known_ns[Mark.LAST_VOICED] + self._network_ns

    def stages_ms(self) -> dict[Stage, float]:
        """:meth:`stages_ns` in ms."""
        return {stage: ns_to_ms(duration_ns) for stage, duration_ns in self.stages_ns().items()}

    @property
    def total_ms(self) -> float | None:
        """:attr:`total_ns` in ms."""
        total_ns = self.total_ns
        return None if total_ns is None else ns_to_ms(total_ns)

    def _clamped_ns(self) -> dict[Mark, int]:
        """The marks from LAST_VOICED on, none before its predecessor."""
        clamped: dict[Mark, int] = {}
        latest_ns: int | None = None
        for mark in _LATENCY_MARKS:
            at_ns = self._marks_ns.get(mark)
            if at_ns is None:
                continue
            latest_ns = at_ns if latest_ns is None else max(latest_ns, at_ns)
            clamped[mark] = latest_ns
        return clamped

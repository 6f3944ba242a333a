"""The log's view of one turn: what the caller's words cost in time until the reply was heard."""

from __future__ import annotations

from dialog.call_meter import CallMeter
from dialog.inbox import CallerTurn
from probes.call_log import CallLog
from probes.events import Turn
from probes.trace import Stage, TurnTrace


class TurnReport:
    """Collects one turn while the flow answers it."""

    def __init__(self, call: str, turn: CallerTurn, text: str, *, with_transcript: bool) -> None:
        """
        Args:
            call: the call's short id.
            turn: the turn that the flow is about to answer.
            text: what was recognised. Only its length is logged, unless ``with_transcript``.
        """
        self._call = call
        self._turn = turn
        self._text = text
        self._with_transcript = with_transcript
        self._said_chars = 0

    def begin_reply(self, text: str) -> TurnTrace | None:
        """Count a text of the reply; returns the trace to mark, for the first one only."""
        first = self._said_chars == 0
        self._said_chars += len(text)
        return self._turn.trace if first else None

    def emit(self, call_log: CallLog, meter: CallMeter) -> None:
        """Write the ``turn`` event and count the turn's latency, where there was a reply."""
        stages = self._turn.trace.stages_ms()
        acoustic_ms, vocoder_ms = self._turn.trace.synthesis_parts_ms() or (None, None)
        total_ms = self._turn.trace.total_ms
        if self._said_chars and total_ms is not None:
            meter.turn_ms.record_ms(total_ms)
        call_log.emit(
            Turn(
                call=self._call,
                turn=self._turn.number,
                end_of_turn_ms=stages.get(Stage.END_OF_TURN),
                network_ms=stages.get(Stage.NETWORK),
                stt_ms=stages.get(Stage.STT),
                llm_first_token_ms=stages.get(Stage.LLM_FIRST_TOKEN),
                first_sentence_ms=stages.get(Stage.FIRST_SENTENCE),
                synthesis_ms=stages.get(Stage.SYNTHESIS),
                acoustic_ms=acoustic_ms,
                vocoder_ms=vocoder_ms,
                playout_ms=stages.get(Stage.PLAYOUT),
                total_ms=total_ms,
                heard_chars=len(self._text),
                said_chars=self._said_chars,
                heard_ms=self._turn.heard_ms,
                barge_in=self._turn.barge_in_flush_ms is not None,
                barge_in_flush_ms=self._turn.barge_in_flush_ms,
                transcript=self._text if self._with_transcript else None,
            )
        )

"""What is counted about one call's conversation while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from probes.percentiles import LatencyHistogram


@dataclass(slots=True)
class CallMeter:
    """Counters and latencies of one call; read it at any time from the event loop's thread.

    Attributes:
        turns: turns of the caller that reached the flow.
        unheard: utterances in which no words were recognised.
        barge_ins: times the caller interrupted the bot.
        backchannels: short sounds during the bot's speech that were taken for "mhm".
        stt_failures: utterances that were refused or failed in recognition.
        inbox_dropped: oldest events dropped because the flow was too slow to take them.
        turn_ms: last voiced sound of the caller to first sound of the reply.
        chunk_ms: capture of a frame to the end of its processing; for live flows, to the wire.
    """

    turns: int = 0
    unheard: int = 0
    barge_ins: int = 0
    backchannels: int = 0
    stt_failures: int = 0
    inbox_dropped: int = 0
    turn_ms: LatencyHistogram = field(default_factory=LatencyHistogram)
    chunk_ms: LatencyHistogram = field(default_factory=LatencyHistogram)

"""Events and log lines to test with."""

from __future__ import annotations

import json
from typing import Any

from probes.events import CallEnd, CallStart, CallStats, Turn

CALL = "a1b2c3d4"


def turn(**fields: Any) -> Turn:
    return Turn(
        **{
            "call": CALL,
            "turn": 1,
            "end_of_turn_ms": 500.0,
            "network_ms": 10.0,
            "stt_ms": 180.0,
            "llm_first_token_ms": 0.0,
            "first_sentence_ms": 0.0,
            "synthesis_ms": 40.0,
            "playout_ms": 20.0,
            "total_ms": 750.0,
            "heard_chars": 21,
            "said_chars": 33,
            "heard_ms": 1500.0,
            "barge_in": False,
            **fields,
        }
    )


def call_start(**fields: Any) -> CallStart:
    return CallStart(
        **{
            "call": CALL,
            "sip_call_id": "1-2@pbx.example",
            "direction": "inbound",
            "flow": "parrot",
            "caller": "sip:+15555550100@pbx.example",
            "called": "parrot",
            "codec": "PCMU",
            "codec_rate_hz": 8000,
            "transport": "udp",
            "media_encryption": "none",
            "setup_ms": 41.0,
            **fields,
        }
    )


def call_stats(**fields: Any) -> CallStats:
    return CallStats(
        **{
            "call": CALL,
            "elapsed_s": 10.0,
            "frames_in": 500,
            "frames_out": 500,
            "frames_late": 0,
            "frames_lost": 0,
            "frames_dropped": 0,
            "underruns": 0,
            "jitter_ms": 1.0,
            "jitter_buffer_ms": 20.0,
            "round_trip_ms": 0.0,
            "chunk_p50_ms": 4.0,
            "chunk_p95_ms": 7.0,
            "chunk_p99_ms": 9.0,
            "mos": 4.4,
            **fields,
        }
    )


def call_end(**fields: Any) -> CallEnd:
    return CallEnd(
        **{
            "call": CALL,
            "cause": "caller_hung_up",
            "duration_s": 42.1,
            "turns": 3,
            "frames_in": 2105,
            "frames_out": 2105,
            "frames_lost": 0,
            "underruns": 0,
            "mos": 4.4,
            "turn_p50_ms": 740.0,
            "turn_p95_ms": 910.0,
            **fields,
        }
    )


def line(event: str, **fields: object) -> str:
    return json.dumps({"ts": "2024-12-01T03:00:07.250Z", "level": "info", "event": event, "call": CALL, **fields})

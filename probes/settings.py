"""The ``[log]`` section of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Level = Literal["debug", "info", "warning", "error"]


class LogSettings(BaseModel):
    """What is written to the log."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level = Field(default="info", description="least severe lines written; only debug has tracebacks of errors")
    transcripts: bool = Field(
        default=False, description="write what callers said into the turn lines; personal data, so off"
    )
    stats_interval_s: float = Field(
        default=10.0, ge=1.0, le=3600.0, description="time between two call.stats lines of a call"
    )
    queue_lines: int = Field(
        default=4096,
        ge=64,
        le=1_000_000,
        description="lines held for a slow reader of the log; beyond half of it call.stats is dropped, at the "
        "end everything, and log.dropped says how many",
    )

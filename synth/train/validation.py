"""Validation: copy synthesis of speech that training never saw, judged by PESQ-WB, STOI and mel distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from synth.bigvgan import LOOKAHEAD_SAMPLES, BigVgan
from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ, log_mel
from synth.train.corpus import Audio

_MIN_S: Final = 2.0
_MAX_S: Final = 5.0
_FLUSH_FRAMES: Final = -(-LOOKAHEAD_SAMPLES // HOP_SAMPLES)


@dataclass(frozen=True)
class Score:
    """Means over the clips of one speaker.

    Attributes:
        speaker: name in the corpus.
        split: why training did not see the clips: "unseen_speaker" or "unseen_file".
        clips: how many.
        pesq_wb: ITU-T P.862.2, 1.04 to 4.64, against the original.
        stoi: 0 to 1, against the original.
        mel_l1: mean absolute difference of log mels, in nats.
    """

    speaker: str
    split: str
    clips: int
    pesq_wb: float
    stoi: float
    mel_l1: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def choose(audios: Sequence[Audio], by_speaker: int) -> list[Audio]:
    """The first clips of each speaker that are long enough for PESQ, by name."""
    chosen: list[Audio] = []
    for speaker in sorted({audio.clip.speaker for audio in audios}):
        fitting = [a for a in audios if a.clip.speaker == speaker and len(a.pcm) >= _MIN_S * SAMPLE_RATE_HZ]
        fitting.sort(key=lambda audio: audio.clip.path)
        step = max(len(fitting) // by_speaker, 1)
        chosen.extend(fitting[::step][:by_speaker])
    return chosen


@torch.no_grad()
def copy_synthesis(
    model: BigVgan, pcm: NDArray[np.float32], f0_hz: NDArray[np.float32], seed: int = 0
) -> NDArray[np.float32]:
    """Analyse and resynthesise; the result has the length of ``pcm`` and its timing (the delay is taken off).

    Args:
        model: on any device.
        pcm: float32, 16 kHz, shape (n,).
        f0_hz: shape (n // 160,).
        seed: of the noise.
    """
    device = next(model.parameters()).device
    padded = np.concatenate([pcm, np.zeros(_FLUSH_FRAMES * HOP_SAMPLES + HOP_SAMPLES, np.float32)])
    mel = torch.from_numpy(log_mel(padded)).unsqueeze(0).to(device)
    track = torch.zeros(1, mel.shape[2])
    track[0, : len(f0_hz)] = torch.from_numpy(f0_hz)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(1, HOP_SAMPLES * mel.shape[2], generator=generator)
    made = model(mel, track.to(device), noise.to(device))[0].cpu().numpy()
    delayed: NDArray[np.float32] = made[LOOKAHEAD_SAMPLES : LOOKAHEAD_SAMPLES + len(pcm)]
    return delayed


def validate(model: BigVgan, audios: Sequence[Audio], samples: Path | None = None) -> list[Score]:
    """Score copy synthesis by speaker.

    Args:
        model: to judge.
        audios: from :func:`choose`.
        samples: folder for the first clip of each speaker, original and copy, as WAV.
    """
    import soundfile
    from pesq import PesqError, pesq
    from pystoi import stoi

    rows: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for audio in audios:
        limit = int(_MAX_S * SAMPLE_RATE_HZ)
        real = audio.pcm[:limit].astype(np.float32) / 32768.0
        made = copy_synthesis(model, real, audio.f0_hz[: limit // HOP_SAMPLES])
        key = (audio.clip.speaker, audio.clip.split)
        if samples is not None and key not in rows:
            samples.mkdir(parents=True, exist_ok=True)
            soundfile.write(samples / f"{audio.clip.speaker}-original.wav", real, SAMPLE_RATE_HZ)
            soundfile.write(samples / f"{audio.clip.speaker}-copy.wav", np.clip(made, -1, 1), SAMPLE_RATE_HZ)
        quality = pesq(SAMPLE_RATE_HZ, real, made, "wb", on_error=PesqError.RETURN_VALUES)
        rows.setdefault(key, [])
        if quality < 0:  # no utterance found in a clip that is nearly silent
            continue
        distance = float(np.abs(log_mel(made) - log_mel(real)).mean())
        rows[key].append((float(quality), float(stoi(real, made, SAMPLE_RATE_HZ)), distance))
    scores = []
    for (speaker, split), values in sorted(rows.items(), key=lambda row: (row[0][1], row[0][0])):
        means = np.mean(values, axis=0) if values else [np.nan] * 3
        scores.append(Score(speaker, split, len(values), *(round(float(mean), 4) for mean in means)))
    return scores


def table(scores: Sequence[Score]) -> str:
    """The scores as text, one speaker a line, with a mean by split."""
    lines = [f"{'speaker':<10} {'split':<16} {'clips':>5} {'PESQ-WB':>8} {'STOI':>7} {'mel L1':>7}"]
    for score in scores:
        lines.append(
            f"{score.speaker:<10} {score.split:<16} {score.clips:>5} "
            f"{score.pesq_wb:>8.3f} {score.stoi:>7.4f} {score.mel_l1:>7.4f}"
        )
    for split in sorted({score.split for score in scores}):
        group = [score for score in scores if score.split == split]
        means = np.mean([(score.pesq_wb, score.stoi, score.mel_l1) for score in group], axis=0)
        lines.append(f"{'mean':<10} {split:<16} {'':>5} {means[0]:>8.3f} {means[1]:>7.4f} {means[2]:>7.4f}")
    return "\n".join(lines)

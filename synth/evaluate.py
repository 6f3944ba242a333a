"""``python -m synth.evaluate``: how good the shipped vocoders are, by speaker.

Held-out speakers of the prepared corpus, and hibari's own waveform, are analysed and made again. ``original`` is
the ceiling, ``fp32`` and ``int8`` get F0 of the whole clip, ``streaming`` is INT8 in 20 ms chunks with streamed F0:
what a call does. ``griffin-lim`` is the customary floor, but searches the whole clip at once and does well in PESQ and
STOI, which hardly hear phase; DNSMOS does.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.defects import borders, silence_dbfs
from synth.griffin_lim import griffin_lim
from synth.judges import Judge, JudgeError
from synth.mel import HOP_SAMPLES, OURS, SAMPLE_RATE_HZ, log_mel
from synth.quality_table import Marked, Row, rows_of, table
from synth.resynthesis import Resynthesis, from_features, in_chunks
from synth.train import corpus
from synth.vocoder import Vocoder
from synth.vocoder_file import VocoderError

Array = NDArray[np.float32]
Clip = tuple[str, str, Array, Array]
"""Speaker, why training did not see it, PCM and F0."""

VARIANTS: Final = ("original", "fp32", "int8", "streaming", "griffin-lim")
_CHUNK_FRAMES: Final = 2
_CHUNK_SAMPLES: Final = _CHUNK_FRAMES * HOP_SAMPLES
_WHOLE_FRAMES: Final = 50
"""Frames a run when nothing waits for them: the same samples, sooner."""
_MAX_SAMPLES: Final = 5 * SAMPLE_RATE_HZ
_HIBARI: Final = (
    "Thank you for calling. How can I help you today?",
    "Your appointment is on Thursday the fourth of June, at half past nine in the morning.",
    "I did not quite catch that. Could you say the number again, please?",
    "One moment, I will put you through to a colleague who knows about invoices.",
    "The weather will be mild, with a few showers before sunset.",
    "Please choose whether we should call back, send a message, or wait for you.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        judge = Judge()
        clips = [*_held_out(options), *_hibari(options.clips_by_speaker)]
        report = evaluate(clips, options.only or VARIANTS, judge, lambda precision: _path(options, precision))
    except (corpus.CorpusError, JudgeError, VocoderError) as error:
        sys.stderr.write(f"synth.evaluate: {error}\n")
        return 1
    if options.json:
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    else:
        sys.stdout.write(_in_words(report) + "\n")
    return 0


def evaluate(
    clips: Sequence[Clip], variants: Sequence[str], judge: Judge, path: Callable[[str], Path]
) -> dict[str, Any]:
    """Judge copies.

    Args:
        clips: at 16 kHz, at least 2 s each.
        variants: some of :data:`VARIANTS`.
        judge: of the copies.
        path: of the vocoder of a precision.

    Returns:
        ``rows`` (:class:`~synth.quality_table.Row` as dictionaries), ``silence_dbfs`` by precision, and, with
        ``streaming``, ``borders`` and the ``delay_ms`` of the whole way.

    Raises:
        VocoderError: a vocoder cannot be used.
    """
    report: dict[str, Any] = {}
    with ExitStack() as opened:
        makers: dict[str, Callable[[Clip], Array]] = {
            "original": lambda clip: clip[2],
            "griffin-lim": lambda clip: _whole_hops(griffin_lim(log_mel(clip[2])), len(clip[2])),
        }
        silence: dict[str, float] = {}
        for precision in ("fp32", "int8"):
            if precision in variants:
                vocoder = opened.enter_context(_open(path(precision), _WHOLE_FRAMES))
                makers[precision] = _whole(vocoder)
                silence[precision] = silence_dbfs(vocoder, clips[0][2][:SAMPLE_RATE_HZ], _CHUNK_SAMPLES)
        streamed: list[Resynthesis] = []
        if "streaming" in variants:
            vocoder = opened.enter_context(_open(path("int8"), _CHUNK_FRAMES))
            makers["streaming"] = _streaming(vocoder, streamed)
            silence["streaming"] = silence_dbfs(vocoder, clips[0][2][:SAMPLE_RATE_HZ], _CHUNK_SAMPLES)
        marks: list[Marked] = []
        for clip in clips:
            found = {variant: judge.marks(clip[2], makers[variant](clip)) for variant in variants}
            ovrl = judge.ovrl(clip[2])
            marks.extend((clip[0], clip[1], variant, of, ovrl) for variant, of in found.items() if of is not None)
    report["rows"] = [asdict(row) for row in rows_of(marks, variants)]
    report["silence_dbfs"] = {name: round(level, 1) for name, level in silence.items()}
    if streamed:
        whole_chunks = [copy.raw[: len(copy.raw) // _CHUNK_SAMPLES * _CHUNK_SAMPLES] for copy in streamed]
        report["borders"] = asdict(borders(np.concatenate(whole_chunks), _CHUNK_SAMPLES, HOP_SAMPLES))
        report["delay_ms"] = streamed[0].delay_ms
    return report


def _open(path: Path, chunk_frames: int) -> Vocoder:
    vocoder = Vocoder.open(path, chunk_frames=chunk_frames)
    if vocoder.file.definition != OURS:
        vocoder.close()
        raise VocoderError(f"{path}: its mel is not ours ({vocoder.file.definition}); this judges our own models")
    return vocoder


def _whole(vocoder: Vocoder) -> Callable[[Clip], Array]:
    def make(clip: Clip) -> Array:
        mel = log_mel(clip[2])
        return from_features(vocoder, mel, clip[3][: mel.shape[1]] if vocoder.file.takes_f0 else None, len(clip[2]))

    return make


def _streaming(vocoder: Vocoder, kept: list[Resynthesis]) -> Callable[[Clip], Array]:
    def make(clip: Clip) -> Array:
        kept.append(in_chunks(vocoder, clip[2], _CHUNK_SAMPLES))
        return kept[-1].pcm

    return make


def _whole_hops(pcm: Array, samples: int) -> Array:
    return np.concatenate([pcm, np.zeros(samples - len(pcm), np.float32)])


def _held_out(options: argparse.Namespace) -> Iterator[Clip]:
    from synth.train.validation import choose

    audios = corpus.load(options.work_dir / "corpus", ["unseen_speaker", "unseen_file"])
    for audio in choose(audios, options.clips_by_speaker):
        pcm = audio.pcm[:_MAX_SAMPLES].astype(np.float32) / 32768.0
        yield audio.clip.speaker, audio.clip.split, pcm, audio.f0_hz[: len(pcm) // HOP_SAMPLES]


def _hibari(count: int) -> Iterator[Clip]:
    """The packaged voice's own waveform; training heard it with other pitches and vocal tracts only."""
    import asyncio

    from synth.hibari_voice import NO_VOCODER, HibariVoice
    from synth.settings import SynthSettings
    from synth.train.pitch import PitchTracker

    async def speak() -> list[Array]:
        voice = HibariVoice(SynthSettings(vocoder=NO_VOCODER))
        try:
            spoken = []
            for text in _HIBARI[:count]:
                spoken.append(np.concatenate([piece async for piece in voice.stream(text)])[:_MAX_SAMPLES])
            return spoken
        finally:
            await voice.close()

    tracker = PitchTracker()
    for pcm in asyncio.run(speak()):
        whole = pcm[: len(pcm) // HOP_SAMPLES * HOP_SAMPLES]
        yield "hibari", "own_voice", whole, tracker.track(whole)


def _path(options: argparse.Namespace, precision: str) -> Path:
    given: Path | None = options.fp32 if precision == "fp32" else options.int8
    if given is not None:
        return given
    from synth.vocoder_models import resolve

    return resolve(options.model, precision)


def _in_words(report: dict[str, Any]) -> str:
    lines = [table([Row(**row) for row in report["rows"]]), ""]
    for name, level in report["silence_dbfs"].items():
        lines.append(f"digital silence through {name}: {level:.1f} dBFS")
    if "borders" in report:
        at = report["borders"]
        lines.append(
            "second differences at chunk borders over those at other frames' borders: "
            f"median {at['median']:.2f}, p99 {at['p99']:.2f}"
        )
        lines.append(f"delay of streamed analysis and vocoder: {report['delay_ms']:.1f} ms beyond the chunk")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m synth.evaluate", description=__doc__)
    parser.add_argument("--work-dir", type=Path, default=corpus.WORK_DIR, help="of python -m synth.train prepare")
    parser.add_argument("--clips-by-speaker", type=int, default=6, help="clips judged of each speaker (default: 6)")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, help="variants to judge (default: all)")
    parser.add_argument("--model", default="bigvgan-nano", help="shipped or installed model (default: bigvgan-nano)")
    parser.add_argument("--fp32", type=Path, help="file to judge as fp32 instead")
    parser.add_argument("--int8", type=Path, help="file to judge as int8 instead")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""The training corpus: prepared once from installed packages, kept outside the repository.

Recorded speech comes from Debian's ``asterisk-core-sounds-{en,es,fr,it,ru}-g722`` (16 kHz, CC-BY-SA 3.0), made-up
speakers from hibari-tts (Apache-2.0). A clip is one ``.npz`` with ``pcm`` (int16, 16 kHz) and ``f0`` (float32, Hz,
one each 160 samples).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from synth.mel import HOP_SAMPLES, SAMPLE_RATE_HZ
from synth.train.pitch import PitchTracker
from synth.train.pseudo import PseudoSpeaker, PseudoVoice, sentences

Split = Literal["train", "unseen_file", "unseen_speaker"]

WORK_DIR: Final = Path.home() / ".cache" / "voxtrunk"
"""Where the corpus and the runs are, unless told otherwise."""
SOUNDS_DIR: Final = Path("/usr/share/asterisk/sounds")
RECORDED: Final = {
    "en": "en_US_f_Allison",
    "es": "es_MX_f_Allison",
    "fr": "fr_CA_f_June",
    "it": "it_IT_m_Carlo",
    "ru": "ru_RU_f_IvrvoiceRU",
}
HELD_OUT_SPEAKERS: Final = frozenset({"it", "ru"})
_HELD_OUT_FILES: Final = 20
"""One file in this many is held out of training."""
_MIN_SAMPLES: Final = SAMPLE_RATE_HZ // 4
_SILENCE_RMS: Final = 3e-3
_MANIFEST: Final = "manifest.json"


class CorpusError(Exception):
    """The corpus is missing or damaged; the message says what to do."""


@dataclass(frozen=True)
class Clip:
    """One line of the manifest; ``path`` is relative to the corpus."""

    speaker: str
    split: Split
    path: str
    samples: int


@dataclass(frozen=True)
class Audio:
    """A loaded clip: int16 PCM at 16 kHz, and F0 in Hz at each 160 samples (0: unvoiced)."""

    clip: Clip
    pcm: NDArray[np.int16]
    f0_hz: NDArray[np.float32]


def split_of(speaker: str, name: str) -> Split:
    """Which part a file belongs to: decided by its name alone, so that it never changes."""
    if speaker in HELD_OUT_SPEAKERS:
        return "unseen_speaker"
    return "unseen_file" if zlib.crc32(f"{speaker}/{name}".encode()) % _HELD_OUT_FILES == 0 else "train"


def decode_g722(path: Path) -> NDArray[np.int16]:
    """Samples of a raw 64 kbit/s G.722 file (16 kHz)."""
    import av

    with av.open(str(path), format="g722") as container:
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    return np.concatenate(frames).astype(np.int16) if frames else np.zeros(0, np.int16)


def prepare(
    corpus: Path,
    *,
    pseudo_clips: int = 600,
    seed: int = 0,
    sounds: Path = SOUNDS_DIR,
    report: Callable[[str], None],
) -> list[Clip]:
    """Fill ``corpus`` and write its manifest; returns the manifest.

    Args:
        corpus: folder to write; clips that are there already are kept.
        pseudo_clips: how many sentences hibari speaks, each as another pseudo-speaker.
        seed: of the pseudo-speakers.
        sounds: where the Debian packages put their prompts.
        report: told one line a speaker.

    Raises:
        CorpusError: none of the Debian packages is installed.
    """
    found = {name: sounds / folder for name, folder in RECORDED.items() if (sounds / folder).is_dir()}
    if not found:
        raise CorpusError(
            f"no prompts under {sounds}; install them: apt-get install "
            + " ".join(f"asterisk-core-sounds-{name}-g722" for name in RECORDED)
        )
    clips: list[Clip] = []
    tracker = PitchTracker()
    for speaker, folder in found.items():
        before = len(clips)
        for source in sorted(folder.rglob("*.g722")):
            name = str(source.relative_to(folder).with_suffix("")).replace("/", "__")
            target = corpus / speaker / f"{name}.npz"
            clip = _kept(corpus, target, speaker) or _record(corpus, target, speaker, source, tracker)
            if clip is not None:
                clips.append(clip)
        report(_line(speaker, clips[before:]))
    before = len(clips)
    clips.extend(_pseudo(corpus, pseudo_clips, seed))
    report(_line("pseudo", clips[before:]))
    (corpus / _MANIFEST).write_text(json.dumps([asdict(clip) for clip in clips], indent=0), encoding="utf-8")
    return clips


def load(corpus: Path, splits: Iterable[Split]) -> list[Audio]:
    """Every clip of these splits, in the manifest's order.

    Raises:
        CorpusError: the corpus was not prepared, or a clip is missing.
    """
    manifest = corpus / _MANIFEST
    if not manifest.is_file():
        raise CorpusError(f"{corpus} holds no corpus; run: python -m synth.train prepare --work-dir {corpus.parent}")
    wanted = set(splits)
    audios: list[Audio] = []
    for entry in json.loads(manifest.read_text(encoding="utf-8")):
        clip = Clip(**entry)
        if clip.split in wanted:
            path = corpus / clip.path
            if not path.is_file():
                raise CorpusError(f"{path} is missing; run the preparation again")
            with np.load(path) as arrays:
                audios.append(Audio(clip, arrays["pcm"], arrays["f0"]))
    return audios


def _record(corpus: Path, target: Path, speaker: str, source: Path, tracker: PitchTracker) -> Clip | None:
    pcm = decode_g722(source)
    pcm = pcm[: len(pcm) // HOP_SAMPLES * HOP_SAMPLES]
    signal = pcm.astype(np.float32) / 32768.0
    # Beeps, silence files and scraps teach nothing.
    if len(pcm) < _MIN_SAMPLES or float(np.sqrt(np.mean(signal**2))) < _SILENCE_RMS:
        return None
    f0_hz = tracker.track(signal)
    if not f0_hz.any():
        return None
    return _save(corpus, target, speaker, pcm, f0_hz)


def _pseudo(corpus: Path, count: int, seed: int) -> list[Clip]:
    clips: list[Clip] = []
    voice: PseudoVoice | None = None
    texts: list[str] = []
    for index in range(count):
        target = corpus / "pseudo" / f"{seed}-{index:05d}.npz"
        clip = _kept(corpus, target, "pseudo")
        if clip is None:
            if voice is None:
                voice = PseudoVoice()
                texts = sentences(voice.words(), english_prompts(), count, np.random.default_rng([seed, 1]))
            rng = np.random.default_rng([seed, 2, index])
            signal, f0_hz = voice.speak(texts[index], PseudoSpeaker.draw(rng), rng)
            if len(signal) < _MIN_SAMPLES:
                continue
            clip = _save(corpus, target, "pseudo", np.rint(signal * 32767.0).astype(np.int16), f0_hz)
        clips.append(clip)
    return clips


def english_prompts(doc: Path = Path("/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz")) -> list[str]:
    """Transcripts of the English prompts, where the package's documentation is installed."""
    if not doc.is_file():
        return []
    with gzip.open(doc, "rt", encoding="utf-8", errors="replace") as lines:
        pairs = [line.split(":", 1) for line in lines if ":" in line and not line.startswith(";")]
    texts = [text.strip() for _, text in pairs]
    return [text for text in texts if len(text.split()) > 3 and not text.startswith(("[", "(", "<"))]


def _kept(corpus: Path, target: Path, speaker: str) -> Clip | None:
    if not target.is_file():
        return None
    with np.load(target) as arrays:
        return Clip(speaker, split_of(speaker, target.stem), str(target.relative_to(corpus)), len(arrays["pcm"]))


def _save(corpus: Path, target: Path, speaker: str, pcm: NDArray[np.int16], f0_hz: NDArray[np.float32]) -> Clip:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp.npz")
    np.savez(temporary, pcm=pcm, f0=f0_hz)
    temporary.replace(target)
    return Clip(speaker, split_of(speaker, target.stem), str(target.relative_to(corpus)), len(pcm))


def _line(speaker: str, clips: list[Clip]) -> str:
    minutes = sum(clip.samples for clip in clips) / SAMPLE_RATE_HZ / 60
    held = sum(clip.split != "train" for clip in clips)
    return f"{speaker}: {len(clips)} clips, {minutes:.1f} min, {held} held out"

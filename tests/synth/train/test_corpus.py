"""The corpus: decoded, split for good, and made only once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
import pytest

from synth.train import corpus
from synth.train.corpus import CorpusError, load, prepare, split_of
from tests.synth.train.conftest import make_audio


def write_g722(path: Path, pcm: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="g722") as container:
        stream = container.add_stream("g722", rate=16_000)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = 16_000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    for speaker, seed in (("en", 1), ("it", 2)):
        folder = tmp_path / "sounds" / corpus.RECORDED[speaker]
        write_g722(folder / "hello.g722", make_audio(speaker, "train", 1.0, seed).pcm)
        write_g722(folder / "digits" / "one.g722", make_audio(speaker, "train", 0.6, seed).pcm)
        write_g722(folder / "silence.g722", np.zeros(16_000, np.int16))
    return tmp_path / "sounds"


def test_prepare_decodes_splits_and_leaves_silence_out(sounds: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    clips = prepare(tmp_path / "corpus", pseudo_clips=1, sounds=sounds, report=lines.append)
    assert [(clip.speaker, Path(clip.path).stem) for clip in clips] == [
        ("en", "digits__one"),
        ("en", "hello"),
        ("it", "digits__one"),
        ("it", "hello"),
        ("pseudo", "0-00000"),
    ]
    assert {clip.split for clip in clips if clip.speaker == "it"} == {"unseen_speaker"}
    assert [line.split(":")[0] for line in lines] == ["en", "it", "pseudo"]
    italian = load(tmp_path / "corpus", ["unseen_speaker"])
    assert [audio.clip.speaker for audio in italian] == ["it", "it"]
    for audio in italian:
        assert len(audio.pcm) == audio.clip.samples == 160 * len(audio.f0_hz)
        assert audio.f0_hz.max() == pytest.approx(170.0, abs=8.0)


@contextmanager
def forbidden(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    def refuse(*_: object) -> None:
        raise AssertionError(f"{name} was called again")

    with monkeypatch.context() as patch:
        patch.setattr(corpus, name, refuse)
        yield


def test_what_is_there_is_kept(sounds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sounds / corpus.RECORDED["en"] / "silence.g722").unlink()
    (sounds / corpus.RECORDED["it"] / "silence.g722").unlink()
    first = prepare(tmp_path / "corpus", pseudo_clips=0, sounds=sounds, report=lambda _: None)
    with forbidden(monkeypatch, "decode_g722"):
        assert prepare(tmp_path / "corpus", pseudo_clips=0, sounds=sounds, report=lambda _: None) == first


def test_the_split_is_decided_by_the_name() -> None:
    splits = [split_of("en", f"prompt-{number}") for number in range(2000)]
    assert 0.03 < splits.count("unseen_file") / 2000 < 0.07
    assert splits.count("unseen_speaker") == 0
    assert split_of("ru", "anything") == "unseen_speaker"


def test_missing_packages_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="install them: apt-get install asterisk-core-sounds-en-g722"):
        prepare(tmp_path / "corpus", sounds=tmp_path / "nothing", report=lambda _: None)


def test_an_unprepared_corpus_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"run: python -m synth\.train prepare"):
        load(tmp_path, ["train"])


def test_a_missing_clip_is_named(sounds: Path, tmp_path: Path) -> None:
    prepare(tmp_path / "corpus", pseudo_clips=0, sounds=sounds, report=lambda _: None)
    (tmp_path / "corpus" / "it" / "hello.npz").unlink()
    with pytest.raises(CorpusError, match=r"it/hello\.npz is missing; run the preparation again"):
        load(tmp_path / "corpus", ["unseen_speaker"])

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dialog.vad import WINDOW_SAMPLES, SileroVad
from telephony.leg import Pcm
from tests.dialog.conftest import through_g711
from tests.dialog.fake_leg import silence


def probabilities(pcm: Pcm, frame: int = 320) -> list[float]:
    vad = SileroVad()
    windows = [window for start in range(0, len(pcm), frame) for window in vad.feed(pcm[start : start + frame])]
    return [window.probability for window in windows]


def test_windows_come_as_frames_fill_them() -> None:
    vad = SileroVad()
    counts = [len(vad.feed(silence(20))) for _ in range(8)]
    assert counts == [0, 1, 0, 1, 1, 0, 1, 1]
    assert vad.pending_samples == 8 * 320 - 5 * WINDOW_SAMPLES


def test_the_size_of_the_frames_changes_nothing(recording: Callable[[str], Pcm]) -> None:
    speech = recording("vm_goodbye")
    assert probabilities(speech, 320) == probabilities(speech, 1000)


@pytest.mark.parametrize("narrow", [False, True])
def test_speech_is_told_from_silence(recording: Callable[[str], Pcm], narrow: bool) -> None:
    speech = recording("something_terribly_wrong")
    audio = np.concatenate((silence(1000), speech))
    found = probabilities(through_g711(audio) if narrow else audio)
    assert max(found[:28]) < 0.5
    assert np.mean(np.array(found[35:]) > 0.5) > 0.6


def test_calls_do_not_share_a_state(recording: Callable[[str], Pcm]) -> None:
    speech = recording("vm_goodbye")
    alone = probabilities(speech)
    first, other = SileroVad(), SileroVad()
    rng = np.random.default_rng(1)
    mixed: list[float] = []
    for start in range(0, len(speech), 320):
        other.feed((0.3 * rng.standard_normal(320)).astype(np.float32))
        mixed += [window.probability for window in first.feed(speech[start : start + 320])]
    assert mixed == alone


def test_digital_silence_costs_no_run_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    vad = SileroVad()
    monkeypatch.setattr(vad, "_model", None)
    assert [window.probability for window in vad.feed(silence(64))] == [0.0, 0.0]

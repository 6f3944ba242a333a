"""When statistics are worth a line."""

from __future__ import annotations

from probes.log_line import LogLine
from probes.quality import CALLS_KEPT, QualityWatch


def stats(call: str = "a", **fields: object) -> LogLine:
    return LogLine({"event": "call.stats", "call": call, "mos": 4.4, **fields})


def test_a_good_call_is_no_news() -> None:
    watch = QualityWatch()
    assert watch.complaint(stats(frames_lost=0)) is None
    assert watch.complaint(stats()) is None


def test_only_what_got_worse_since_the_last_line_is_told() -> None:
    watch = QualityWatch()
    assert watch.complaint(stats(frames_lost=3, underruns=1)) == "3 lost, 1 underruns"
    assert watch.complaint(stats(frames_lost=3, underruns=1)) is None
    assert watch.complaint(stats(frames_lost=5, frames_late=1, frames_dropped=2)) == "2 lost, 1 late, 2 dropped"


def test_calls_are_told_apart_and_forgotten_at_their_end() -> None:
    watch = QualityWatch()
    watch.complaint(stats("a", frames_lost=3))
    assert watch.complaint(stats("b", frames_lost=3)) == "3 lost"
    watch.forget("a")
    assert watch.complaint(stats("a", frames_lost=3)) == "3 lost"


def test_poor_quality_is_told_every_time() -> None:
    watch = QualityWatch()
    assert watch.complaint(stats(mos=3.2)) == watch.complaint(stats(mos=3.2)) == "MOS 3.2"


def test_calls_without_an_end_do_not_pile_up() -> None:
    watch = QualityWatch()
    for number in range(CALLS_KEPT + 10):
        watch.complaint(stats(str(number)))
    assert len(watch._before) == CALLS_KEPT

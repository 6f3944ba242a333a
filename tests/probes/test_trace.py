"""Stages of a turn."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.trace import Mark, Stage, TurnTrace

MS = 1_000_000


def marked(marks_ms: Mapping[Mark, float], network_ms: float = 0.0) -> TurnTrace:
    trace = TurnTrace(1, network_ms)
    for mark, at_ms in marks_ms.items():
        trace.mark(mark, round(at_ms * MS))
    return trace


PLAIN = {
    Mark.SPEECH_STARTED: 0,
    Mark.LAST_VOICED: 1000,
    Mark.TURN_ENDED: 1500,
    Mark.TEXT_READY: 1700,
    Mark.FIRST_TOKEN: 1710,
    Mark.FIRST_SENTENCE: 1730,
    Mark.FIRST_PCM: 1760,
    Mark.ON_WIRE: 1780,
}


def test_each_stage_is_the_time_between_its_marks() -> None:
    trace = marked(PLAIN, network_ms=40.0)
    assert trace.stages_ms() == {
        Stage.END_OF_TURN: 500,
        Stage.NETWORK: 40,
        Stage.STT: 200,
        Stage.LLM_FIRST_TOKEN: 10,
        Stage.FIRST_SENTENCE: 20,
        Stage.SYNTHESIS: 30,
        Stage.PLAYOUT: 20,
    }
    assert list(trace.stages_ms()) == list(Stage)
    assert trace.total_ms == 820


def test_the_first_mark_of_a_kind_wins() -> None:
    trace = marked(PLAIN)
    trace.mark(Mark.ON_WIRE, 9999 * MS)
    assert trace.total_ms == 780


def test_work_done_ahead_costs_nothing() -> None:
    trace = marked(PLAIN | {Mark.TEXT_READY: 1300, Mark.FIRST_TOKEN: 1400})
    stages = trace.stages_ms()
    assert stages[Stage.STT] == stages[Stage.LLM_FIRST_TOKEN] == 0
    assert stages[Stage.FIRST_SENTENCE] == 230
    assert sum(stages.values()) == trace.total_ms == 780


def test_an_open_trace_gives_the_stages_that_are_known() -> None:
    trace = marked({mark: PLAIN[mark] for mark in (Mark.LAST_VOICED, Mark.TURN_ENDED, Mark.TEXT_READY)})
    assert trace.stages_ms() == {Stage.END_OF_TURN: 500, Stage.NETWORK: 0, Stage.STT: 200}
    assert trace.total_ms is None


def test_a_missing_mark_hides_the_stages_at_both_its_sides_but_not_the_total() -> None:
    trace = marked({mark: at for mark, at in PLAIN.items() if mark is not Mark.FIRST_TOKEN})
    assert Stage.LLM_FIRST_TOKEN not in trace.stages_ms()
    assert Stage.FIRST_SENTENCE not in trace.stages_ms()
    assert trace.total_ms == 780


@given(
    st.lists(st.integers(0, 10**15), min_size=len(Mark), max_size=len(Mark)),
    st.floats(0, 10_000),
    st.permutations(list(Mark)),
)
def test_the_stages_add_up_to_the_total_exactly(at_ns: list[int], network_ms: float, order: list[Mark]) -> None:
    trace = TurnTrace(1, network_ms)
    for mark in order:
        trace.mark(mark, at_ns[list(Mark).index(mark)])
    stages_ns = trace.stages_ns()
    assert list(stages_ns) == list(Stage)
    assert min(stages_ns.values()) >= 0
    assert sum(stages_ns.values()) == trace.total_ns
    latency_ns = [at for mark, at in zip(Mark, at_ns, strict=True) if mark is not Mark.FIRST_FRAMES][1:]
    assert trace.total_ns == max(latency_ns) - latency_ns[0] + round(network_ms * MS)
    parts_ms = trace.synthesis_parts_ms()
    assert parts_ms is not None and min(parts_ms) >= 0.0
    assert sum(parts_ms) == pytest.approx(stages_ns[Stage.SYNTHESIS] / MS, abs=1e-3)


def test_the_parts_of_the_synthesis() -> None:
    trace = marked(PLAIN)
    assert trace.synthesis_parts_ms() is None
    first_sentence, first_pcm = PLAIN[Mark.FIRST_SENTENCE], PLAIN[Mark.FIRST_PCM]
    trace.mark(Mark.FIRST_FRAMES, (first_sentence + 3) * MS)
    assert trace.synthesis_parts_ms() == (3.0, first_pcm - first_sentence - 3.0)


def test_a_negative_network_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="network_ms must be at least 0"):
        TurnTrace(1, network_ms=-1.0)

"""Means by speaker and by split."""

from __future__ import annotations

import pytest

from synth.judges import Marks
from synth.quality_table import MEAN, Row, rows_of, table

MARKED = [
    ("it", "unseen_speaker", "int8", Marks(3.0, 0.95, 3.2), 3.3),
    ("it", "unseen_speaker", "int8", Marks(3.4, 0.97, 3.0), 3.3),
    ("ru", "unseen_speaker", "int8", Marks(2.0, 0.90, 3.1), 3.0),
    ("hibari", "own_voice", "int8", Marks(3.5, 0.98, 3.4), 3.4),
]


def test_every_speaker_counts_the_same_in_the_mean() -> None:
    rows = {(row.speaker, row.split): row for row in rows_of(MARKED, ["original", "int8"])}
    assert list(rows) == [
        ("hibari", "own_voice"),
        ("it", "unseen_speaker"),
        ("ru", "unseen_speaker"),
        (MEAN, "unseen_speaker"),
    ]
    it, mean = rows["it", "unseen_speaker"], rows[MEAN, "unseen_speaker"]
    assert (it.clips, it.pesq_wb, it.stoi, it.ovrl) == (2, 3.2, 0.96, 3.1)
    assert it.ovrl_change == pytest.approx(-0.2)
    assert (mean.clips, mean.pesq_wb) == (3, 2.6)
    assert mean.ovrl_change == pytest.approx(-0.05)


def test_the_table() -> None:
    lines = table([Row("it", "unseen_speaker", "int8", 2, 3.2, 0.96, 3.1, -0.2)] * 2).splitlines()
    assert len(lines) == 3
    assert lines[1].split() == ["it", "unseen_speaker", "int8", "2", "3.200", "0.960", "3.10", "-0.20"]

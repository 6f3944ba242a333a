"""Marks of many clips, put together by speaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.judges import Marks

Marked = tuple[str, str, str, Marks, float]
"""Speaker, split, variant, marks of the copy, OVRL of the original."""

MEAN = "mean"


@dataclass(frozen=True)
class Row:
    """Means of one variant over the clips of one speaker, or over the speakers of one split.

    Attributes:
        speaker: name, or ``mean``.
        split: why training did not see the clips.
        variant: how the copies were made.
        clips: how many.
        pesq_wb, stoi, ovrl: see :class:`~synth.judges.Marks`.
        ovrl_change: OVRL of the copy less that of the original.
    """

    speaker: str
    split: str
    variant: str
    clips: int
    pesq_wb: float
    stoi: float
    ovrl: float
    ovrl_change: float


def rows_of(marked: Sequence[Marked], variants: Sequence[str]) -> list[Row]:
    """A row a speaker and variant, then the means of each split, in which every speaker counts the same."""
    rows: list[Row] = []
    for split in sorted({of[1] for of in marked}):
        speakers = sorted({of[0] for of in marked if of[1] == split})
        by_variant: dict[str, list[Row]] = {variant: [] for variant in variants}
        for speaker in speakers:
            for variant in variants:
                chosen = [of for of in marked if of[:3] == (speaker, split, variant)]
                if chosen:
                    by_variant[variant].append(_row(speaker, split, variant, chosen))
                    rows.append(by_variant[variant][-1])
        if len(speakers) > 1:
            rows.extend(_mean(split, variant, of) for variant, of in by_variant.items() if of)
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text, a blank line after each speaker."""
    head = f"{'speaker':<8} {'split':<14} {'variant':<12} {'clips':>5}"
    lines = [f"{head} {'PESQ-WB':>8} {'STOI':>6} {'OVRL':>6} {'change':>7}"]
    before = ""
    for row in rows:
        if before not in ("", row.speaker):
            lines.append("")
        before = row.speaker
        lines.append(
            f"{row.speaker:<8} {row.split:<14} {row.variant:<12} {row.clips:>5} {row.pesq_wb:>8.3f} {row.stoi:>6.3f} "
            f"{row.ovrl:>6.2f} {row.ovrl_change:>+7.2f}"
        )
    return "\n".join(lines)


def _row(speaker: str, split: str, variant: str, marked: Sequence[Marked]) -> Row:
    values = [(of.pesq_wb, of.stoi, of.ovrl, of.ovrl - original) for _, _, _, of, original in marked]
    return Row(speaker, split, variant, len(marked), *_means(values))


def _mean(split: str, variant: str, rows: Sequence[Row]) -> Row:
    values = [(row.pesq_wb, row.stoi, row.ovrl, row.ovrl_change) for row in rows]
    return Row(MEAN, split, variant, sum(row.clips for row in rows), *_means(values))


def _means(values: Sequence[tuple[float, ...]]) -> list[float]:
    return [round(float(mean), 4) for mean in np.mean(values, axis=0)]

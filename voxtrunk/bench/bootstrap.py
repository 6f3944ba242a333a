"""Percentiles with a bootstrap confidence interval, and what machine they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

RESAMPLES: Final = 1000
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A percentile and its 95 % interval, in the unit of the samples."""

    value: float
    low: float
    high: float


def percentiles(
    blocks: Sequence[Sequence[float]], wanted: Sequence[float], *, seed: int, resamples: int = RESAMPLES
) -> list[Estimate]:
    """Percentiles over all samples; whole blocks are resampled, because neighbours in time are alike.

    Args:
        blocks: samples that belong together, e.g. one second of one call.
        wanted: 0..100.
        seed: of the resampling.
        resamples: how many.

    Raises:
        ValueError: no samples.
    """
    arrays = [np.asarray(block, np.float64) for block in blocks if len(block)]
    if not arrays:
        raise ValueError("no samples to take percentiles of")
    values = np.percentile(np.concatenate(arrays), wanted)
    rng = np.random.default_rng(seed)
    tail = 100 * (1 - CONFIDENCE) / 2
    drawn = np.array(
        [
            np.percentile(np.concatenate([arrays[i] for i in rng.integers(len(arrays), size=len(arrays))]), wanted)
            for _ in range(resamples)
        ]
    )
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    return [Estimate(float(v), float(a), float(b)) for v, a, b in zip(values, low, high, strict=True)]


def machine() -> dict[str, Any]:
    """CPU model, usable cores, Python, system, load when asked."""
    model = platform.processor() or "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "load_1min": round(os.getloadavg()[0], 2),
    }

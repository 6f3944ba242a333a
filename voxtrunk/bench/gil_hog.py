"""Keeps the interpreter lock busy, so that a benchmark shows what Python work beside the calls costs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "VOXTRUNK_BENCH_GIL_HOG"


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for it."""
    return environ.get(VARIABLE, "") not in ("", "0")


def start() -> None:
    """Start the spinning thread; it ends with the process."""
    threading.Thread(target=_spin, name="gil-hog", daemon=True).start()


def _spin() -> None:
    count = 0
    while True:
        count += 1

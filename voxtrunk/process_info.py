"""What the kernel knows about our own process (Linux ``/proc``)."""

from __future__ import annotations

import os
import time
from pathlib import Path


def age_ms() -> float:
    """Time since the process was started, interpreter and imports included, to 10 ms."""
    # proc(5): field 22 of stat, counted after the command name, which may hold spaces; ticks since boot.
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return 1000 * (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


def rss_mb() -> float:
    """Resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

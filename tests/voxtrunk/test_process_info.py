"""What the kernel says of our process."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from voxtrunk import process_info


def test_memory_grows_with_what_is_used() -> None:
    before = process_info.rss_mb()
    block = np.ones(400_000_000, np.uint8)
    assert 300 < process_info.rss_mb() - before < 500
    assert block[0] == 1


def test_age_counts_from_the_start_of_the_process() -> None:
    code = "import time; time.sleep(0.3); from voxtrunk import process_info; print(process_info.age_ms())"
    began = time.monotonic()
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=30)
    lived_ms = 1000 * (time.monotonic() - began)
    assert 300 <= float(done.stdout) <= lived_ms + 20

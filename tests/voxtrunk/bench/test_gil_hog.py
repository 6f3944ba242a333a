"""The busy thread of the benchmark."""

from __future__ import annotations

import subprocess
import sys

import pytest

from voxtrunk.bench import gil_hog


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("yes", True), ("0", False), ("", False), (None, False)])
def test_when_it_is_wanted(value: str | None, wanted: bool) -> None:
    environ = {} if value is None else {gil_hog.VARIABLE: value}
    assert gil_hog.is_wanted(environ) is wanted


def test_it_keeps_the_interpreter_busy_and_does_not_keep_the_process() -> None:
    code = (
        "import time; from voxtrunk.bench import gil_hog; gil_hog.start(); began = time.thread_time(); "
        "time.sleep(0.3); print(time.process_time() - time.thread_time())"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=30)
    assert float(done.stdout) > 0.05

"""What every run of the tests says first."""

from __future__ import annotations

from importlib.util import find_spec


def pytest_report_header() -> str:
    left_out = "" if find_spec("torch") else "left out, because torch is not installed: `make test-train` runs them"
    return f"tests of the training code: {left_out or 'included'}"

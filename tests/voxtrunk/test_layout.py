"""The rules that the tree keeps: who may import whom, and how long a module may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "probes": (),
    "dsp": (),
    "telephony": ("dsp", "probes"),
    "enroll": ("dsp", "probes"),
    "synth": ("dsp", "enroll.voice", "probes"),
    "dialog": ("synth", "enroll", "dsp", "probes", "telephony.leg"),
    "voxtrunk": ("telephony", "enroll", "synth", "dialog", "dsp", "probes"),
}
"""Package -> packages and modules of ours that it may use, besides itself."""

MAX_LINES = 400


def modules() -> list[Path]:
    return sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules(), ids=name)
def test_imports_point_down(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    allowed = (package, *MAY_IMPORT[package])
    for module in imported(path):
        if module.split(".")[0] in MAY_IMPORT:
            assert any(module == a or module.startswith(f"{a}.") for a in allowed), f"{name(path)} imports {module}"


@pytest.mark.parametrize("path", modules(), ids=name)
def test_modules_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", modules(), ids=name)
def test_modules_say_what_they_are_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{name(path)} has no docstring"


def test_there_are_modules() -> None:
    assert len(modules()) > 50

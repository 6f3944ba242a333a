"""Following a file through everything that happens to log files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.follow import MAX_LINE_BYTES, _Follower, follow


class Script(threading.Event):
    """A stop that is never waited for in real time: each wait does the script's next step, the last one stops."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self._steps = list(steps)

    def wait(self, timeout: float | None = None) -> bool:
        if self._steps:
            self._steps.pop(0)()
        else:
            self.set()
        return self.is_set()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "voxtrunk.log"
    path.write_text("one\ntwo\n")
    return path


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_lines_are_passed_on_as_they_are_written(path: Path) -> None:
    stop = Script(lambda: append(path, "three\n"), lambda: append(path, "four\r\n"))
    assert list(follow(path, stop=stop)) == ["one", "two", "three", "four"]


def test_it_can_begin_at_the_end(path: Path) -> None:
    assert list(follow(path, stop=Script(lambda: append(path, "new\n")), from_start=False)) == ["new"]


def test_a_half_line_waits_for_its_other_half(path: Path) -> None:
    seen: list[str] = []
    before: list[int] = []
    stop = Script(lambda: append(path, "hal"), lambda: before.append(len(seen)), lambda: append(path, "f\n"))
    for text in follow(path, stop=stop):
        seen.append(text)
    assert before == [2]
    assert seen == ["one", "two", "half"]


def test_a_half_line_is_passed_on_at_the_end(path: Path) -> None:
    append(path, "unfinished")
    assert list(follow(path, stop=Script())) == ["one", "two", "unfinished"]


def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(path: Path) -> None:
    old = path.with_suffix(".1")

    def rotate() -> None:
        path.rename(old)
        append(old, "last of the old")
        path.write_text("first of the new\n")

    stop = Script(lambda: append(path, "three\n"), rotate, lambda: append(path, "second\n"))
    assert list(follow(path, stop=stop)) == ["one", "two", "three", "last of the old", "first of the new", "second"]


def test_what_is_written_just_before_the_rotation_is_not_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = path.with_suffix(".1")
    was_replaced = _Follower.was_replaced

    def rotate_after_the_last_read(follower: _Follower) -> bool:
        if not old.exists():
            append(path, "just in time\n")
            path.rename(old)
            path.write_text("new\n")
        return was_replaced(follower)

    monkeypatch.setattr(_Follower, "was_replaced", rotate_after_the_last_read)
    assert list(follow(path, stop=Script())) == ["one", "two", "just in time", "new"]


def test_a_file_may_be_missing_for_a_while(path: Path) -> None:
    stop = Script(lambda: path.rename(path.with_suffix(".1")), lambda: None, lambda: path.write_text("new\n"))
    assert list(follow(path, stop=stop)) == ["one", "two", "new"]


def test_a_truncated_file_is_read_from_its_start(path: Path) -> None:
    stop = Script(lambda: append(path, "half"), lambda: path.write_text("new\n"))
    assert list(follow(path, stop=stop)) == ["one", "two", "half", "new"]


def test_what_was_written_before_the_stop_is_read(path: Path) -> None:
    stop = threading.Event()
    stop.set()
    assert list(follow(path, stop=stop)) == ["one", "two"]


def test_a_line_without_end_does_not_fill_the_memory(path: Path) -> None:
    path.write_text("x" * (3 * MAX_LINE_BYTES))
    lines = list(follow(path, stop=Script()))
    assert "".join(lines) == "x" * (3 * MAX_LINE_BYTES)
    assert max(map(len, lines)) < 2 * MAX_LINE_BYTES


def test_bytes_that_are_no_text_are_replaced(path: Path) -> None:
    path.write_bytes(b"caf\xe9\n")
    assert list(follow(path, stop=Script())) == ["caf\ufffd"]


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.log"):
        next(follow(tmp_path / "missing.log", stop=Script()))

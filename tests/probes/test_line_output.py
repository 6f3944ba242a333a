"""Writing to descriptors of all kinds."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pytest

from probes.line_output import LineOutput


def test_a_stream_without_a_descriptor() -> None:
    stream = io.StringIO()
    LineOutput(stream).write("one\ntwo\n")
    assert stream.getvalue() == "one\ntwo\n"


def test_a_file_gets_it_after_what_was_printed_before(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        stream.write("printed\n")
        output = LineOutput(stream)
        output.write("logged\n")
        output.close()
    assert (tmp_path / "log").read_text() == "printed\nlogged\n"


def test_the_stream_may_be_closed_first(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        output = LineOutput(stream)
    output.write("late\n")
    output.close()
    assert (tmp_path / "log").read_text() == "late\n"


@pytest.mark.parametrize("blocking", [True, False])
def test_more_than_a_pipe_holds(blocking: bool) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, blocking)
    text = "x" * 300_000 + "\n"
    received: list[bytes] = []

    def read() -> None:
        while data := os.read(read_end, 65536):
            received.append(data)

    reader = threading.Thread(target=read, daemon=True)
    with os.fdopen(write_end, "w") as stream:
        output = LineOutput(stream)
        reader.start()
        output.write(text)
        output.close()
    reader.join(10)
    os.close(read_end)
    assert b"".join(received).decode() == text


def test_a_reader_that_has_gone_is_an_error() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream:
        output = LineOutput(stream)
        os.close(read_end)
        with pytest.raises(BrokenPipeError):
            output.write("x\n")
        output.close()

"""Reads a file that is still being written, for as long as it takes (as ``tail -F``)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

POLL_S: Final = 0.2
READ_BYTES: Final = 1 << 16
MAX_LINE_BYTES: Final = 1 << 20
"""A longer line is passed on in pieces, so that a file without line ends does not fill the memory."""


def follow(path: Path, *, stop: threading.Event, from_start: bool = True) -> Iterator[str]:
    """The file's lines as they are completed, without their ends.

    A file that is renamed and replaced (rotation) is read to its end, then the new one from its start; one
    that is cut short (truncation) is read from its start again. A line is passed on when its end has been
    written, or when nothing more can come: at rotation, truncation and stop.

    Args:
        path: must exist now; it may be missing for a while later.
        stop: ends the iteration, after what has been written until then.
        from_start: False begins at the end: only what is new.

    Raises:
        OSError: it cannot be opened or read.
    """
    follower = _Follower(path, from_start)
    try:
        while True:
            # Looked at before reading: what was written before the stop is still read.
            stopping = stop.is_set()
            yield from follower.read()
            if follower.was_truncated():
                yield from follower.remainder()
                follower.rewind()
            elif follower.was_replaced():
                yield from follower.read()
                yield from follower.remainder()
                follower.switch()
            elif stopping:
                yield from follower.remainder()
                return
            else:
                stop.wait(POLL_S)
    finally:
        follower.close()


class _Follower:
    def __init__(self, path: Path, from_start: bool) -> None:
        self._path = path
        self._file: BinaryIO = path.open("rb")
        self._half_line = b""
        if not from_start:
            self._file.seek(0, os.SEEK_END)

    def read(self) -> Iterator[str]:
        """Completed lines, up to what is the file's end now."""
        while data := self._file.read(READ_BYTES):
            *lines, self._half_line = (self._half_line + data).split(b"\n")
            for line in lines:
                yield _text(line)
            if len(self._half_line) > MAX_LINE_BYTES:
                yield from self.remainder()

    def was_truncated(self) -> bool:
        """True when the file is now shorter than what was read of it."""
        return os.fstat(self._file.fileno()).st_size < self._file.tell()

    def was_replaced(self) -> bool:
        """True when the path now leads to another file."""
        try:
            theirs = self._path.stat()
        except FileNotFoundError:
            return False  # between the two halves of a rotation
        return not os.path.samestat(theirs, os.fstat(self._file.fileno()))

    def rewind(self) -> None:
        """Back to the start."""
        self._file.seek(0)

    def switch(self) -> None:
        """To the file that is at the path now, at its start; stays if that has just gone again."""
        try:
            replacement = self._path.open("rb")
        except FileNotFoundError:
            return
        self._file.close()
        self._file = replacement

    def remainder(self) -> Iterator[str]:
        """The line that has no end yet."""
        if self._half_line:
            yield _text(self._half_line)
            self._half_line = b""

    def close(self) -> None:
        self._file.close()


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", errors="replace")

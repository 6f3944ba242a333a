"""Writes text to a stream's file descriptor."""

from __future__ import annotations

import os
import select
from typing import TextIO


class LineOutput:
    """Writes past Python's own buffer, where the stream has a file descriptor.

    A reader that has stopped reading blocks a write for ever. If that write held the lock of ``sys.stdout``,
    the interpreter could not exit.
    """

    def __init__(self, stream: TextIO) -> None:
        """
        Args:
            stream: usually ``sys.stdout``. One without a file descriptor (``io.StringIO``) gets the text itself.
        """
        self._stream = stream
        try:
            descriptor = stream.fileno()
        except (AttributeError, OSError, ValueError):
            self._descriptor = None
        else:
            stream.flush()
            self._descriptor = os.dup(descriptor)

    def write(self, text: str) -> None:
        """Write everything; waits for a slow reader.

        Raises:
            OSError: it cannot be written, e.g. BrokenPipeError: the reader has gone.
        """
        if self._descriptor is None:
            self._stream.write(text)
            self._stream.flush()
            return
        writable = select.poll()
        writable.register(self._descriptor, select.POLLOUT)
        left = memoryview(text.encode())
        while left:
            # A terminal or pipe shared with another program may be non-blocking.
            writable.poll()
            left = left[os.write(self._descriptor, left) :]

    def close(self) -> None:
        """Release our copy of the descriptor; the stream stays open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

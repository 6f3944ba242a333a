"""The bot in a process of its own, with its log lines at hand."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

READY_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 20.0
EVENTS_KEPT: Final = 50_000
STDERR_LINES_KEPT: Final = 200

Event = dict[str, Any]


class ServerProcess:
    """Starts a server, reads its JSON lines, stops it with SIGTERM. Use as a context manager."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> None:
        """
        Args:
            command: e.g. :func:`serve_command`.
            environment: added to our own.
        """
        self.command = tuple(command)
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._changed = threading.Condition()
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._count = 0
        self._closed = False
        self.other_lines: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self._threads: list[threading.Thread] = []

    def start(self, timeout_s: float = READY_TIMEOUT_S) -> Event:
        """Start it and wait for its ``server.ready``.

        Raises:
            RuntimeError: it ended, or was not ready in time; the message has its last lines.
        """
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        for stream, read in (
            (self._process.stdout, self._read_events),
            (self._process.stderr, self._read_other),
        ):
            thread = threading.Thread(target=read, args=(stream,), name="server-log", daemon=True)
            thread.start()
            self._threads.append(thread)
        try:
            return self.wait_for_event("server.ready", timeout_s)
        except TimeoutError as error:
            self.kill()
            raise RuntimeError(f"the server did not get ready ({error}):\n" + self.last_lines()) from error

    def last_lines(self) -> str:
        """The end of what it said, for error messages."""
        with self._changed:
            events = [json.dumps(event) for event in list(self._events)[-20:]]
        return "\n".join([*events, *self.other_lines])

    def _read_events(self, stream: Any) -> None:
        for line in stream:
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            if not isinstance(event, dict):
                self.other_lines.append(line.rstrip())
                continue
            with self._changed:
                self._events.append(event)
                self._count += 1
                self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _read_other(self, stream: Any) -> None:
        for line in stream:
            self.other_lines.append(line.rstrip())

    @property
    def mark(self) -> int:
        """How many events there are; pass it as ``since`` to look at later ones only."""
        with self._changed:
            return self._count

    def events(self, name: str | None = None, *, since: int = 0, **match: object) -> list[Event]:
        """Events so far, by name and by field values."""
        with self._changed:
            skipped = self._count - len(self._events)
            kept = list(self._events)[max(0, since - skipped) :]
        return [event for event in kept if _matches(event, name, match)]

    def wait_for_event(self, name: str, timeout_s: float, *, since: int = 0, **match: object) -> Event:
        """The first event of that name with those field values, past ones included.

        Raises:
            TimeoutError: it did not come, or the server ended.
        """
        with self._changed:
            found: list[Event] = []

            def ready() -> bool:
                skipped = self._count - len(self._events)
                kept = list(self._events)[max(0, since - skipped) :]
                found[:] = [event for event in kept if _matches(event, name, match)][:1]
                return bool(found) or self._closed

            self._changed.wait_for(ready, timeout_s)
            if found:
                return found[0]
            raise TimeoutError(f"no {name} event within {timeout_s} s" + ("; the server ended" if self._closed else ""))

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """It has not ended."""
        return self._process is not None and self._process.poll() is None

    def write_line(self, text: str) -> None:
        """Send one line to its standard input."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def terminate(self) -> None:
        """Send SIGTERM and return at once."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait for its end; returns the exit status.

        Raises:
            TimeoutError: it goes on; it is killed.
        """
        assert self._process is not None
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise TimeoutError(f"the server did not stop within {timeout_s} s:\n" + self.last_lines()) from error
        self._close()
        return status

    def stop(self) -> int:
        """SIGTERM and wait; returns the exit status."""
        if self.is_running:
            self.terminate()
        return self.wait()

    def kill(self) -> None:
        """SIGKILL, when nothing else helps."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        for thread in self._threads:
            thread.join()
        assert self._process is not None
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _matches(event: Event, name: str | None, match: Mapping[str, object]) -> bool:
    return (name is None or event.get("event") == name) and all(event.get(key) == value for key, value in match.items())


def serve_command(config: Path) -> tuple[str, ...]:
    """How the server is started, with this very Python."""
    return (sys.executable, "-m", "voxtrunk", "serve", "--config", str(config))


def free_sip_port(host: str = "127.0.0.1") -> int:
    """A port that is free for UDP and TCP, with the next one free for TLS."""
    for _ in range(100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream:
            stream.bind((host, 0))
            port = int(stream.getsockname()[1])
            try:
                with (
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram,
                    socket.socket(socket.AF_INET, socket.SOCK_STREAM) as secure,
                ):
                    datagram.bind((host, port))
                    secure.bind((host, port + 1))
                    return port
            except (OSError, OverflowError):
                continue
    raise OSError(f"no free SIP port on {host}")


def free_rtp_range(count: int, host: str = "127.0.0.1") -> tuple[int, int]:
    """First and last of ``count`` neighbouring UDP ports that are free now; the first one is even."""
    for first in range(20_000, 60_000 - count, count + count % 2):
        sockets = []
        try:
            for port in range(first, first + count):
                probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                sockets.append(probe)
                probe.bind((host, port))
            return first, first + count - 1
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()
    raise OSError(f"no {count} free UDP ports in a row on {host}")

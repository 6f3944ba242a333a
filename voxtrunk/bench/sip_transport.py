"""UDP, TCP and TLS for the test caller: bytes out, whole messages in on a thread of its own."""

from __future__ import annotations

import re
import select
import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

Address = tuple[str, int]
Receive = Callable[[bytes, Address, int], None]
"""Told of each message: bytes, who sent it, monotonic arrival in ns."""

_POLL_S: Final = 0.2
_CONNECT_TIMEOUT_S: Final = 5.0


class SipTransport(ABC):
    """One local socket.

    Attributes:
        name: as in a Via header: UDP, TCP, TLS.
        local: bound address, for Via and Contact.
    """

    name: str
    local: Address

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._receive: Receive | None = None
        self._thread = threading.Thread(target=self._run, name="sip-transport", daemon=True)

    def start(self, receive: Receive) -> None:
        """Begin to read; ``receive`` is called on the transport's thread."""
        self._receive = receive
        self._thread.start()

    @abstractmethod
    def send(self, data: bytes, to: Address) -> None:
        """Send one message; streams go to the address they are connected to."""

    def close(self) -> None:
        """Stop reading and close the socket; may be called twice."""
        self._stopping.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
        self._close_socket()

    @abstractmethod
    def _run(self) -> None: ...

    @abstractmethod
    def _close_socket(self) -> None: ...

    def _deliver(self, data: bytes, source: Address) -> None:
        assert self._receive is not None
        self._receive(data, source, time.monotonic_ns())


class UdpTransport(SipTransport):
    """One datagram a message."""

    name = "UDP"

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, port))
        self.local = self._socket.getsockname()

    def send(self, data: bytes, to: Address) -> None:
        self._socket.sendto(data, to)

    def _run(self) -> None:
        while not self._stopping.is_set():
            if select.select([self._socket], [], [], _POLL_S)[0]:
                try:
                    data, source = self._socket.recvfrom(65535, socket.MSG_DONTWAIT)
                except (BlockingIOError, ConnectionRefusedError):
                    continue
                self._deliver(data, source)

    def _close_socket(self) -> None:
        self._socket.close()


class StreamTransport(SipTransport):
    """A connection that we open; messages are cut by Content-Length (RFC 3261 s18.3)."""

    def __init__(self, remote: Address, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        """
        Args:
            remote: the server.
            host: local address.
            tls: wraps the connection when given.

        Raises:
            OSError: no connection; ``ssl.SSLError`` for a bad certificate.
        """
        super().__init__()
        self.name = "TLS" if tls else "TCP"
        plain = socket.create_connection(remote, _CONNECT_TIMEOUT_S, (host, 0))
        self._socket = tls.wrap_socket(plain, server_hostname=remote[0]) if tls else plain
        self.local = self._socket.getsockname()
        self._remote = remote
        self._buffer = b""
        self.closed_by_peer = threading.Event()

    def send(self, data: bytes, to: Address) -> None:
        self._socket.sendall(data)

    def _run(self) -> None:
        self._socket.settimeout(_POLL_S)
        while not self._stopping.is_set():
            try:
                data = self._socket.recv(65536)
            except (TimeoutError, ssl.SSLWantReadError):
                continue
            except OSError:
                data = b""
            if not data:
                self.closed_by_peer.set()
                return
            self._buffer += data
            for message in iter(self._next_message, b""):
                self._deliver(message, self._remote)

    def _next_message(self) -> bytes:
        self._buffer = self._buffer.lstrip(b"\r\n")  # keep-alives (RFC 5626 s3.5.1)
        head, separator, _ = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return b""
        length = re.search(rb"^(?:content-length|l)\s*:\s*(\d+)", head, re.IGNORECASE | re.MULTILINE)
        end = len(head) + 4 + (int(length.group(1)) if length else 0)
        if len(self._buffer) < end:
            return b""
        message, self._buffer = self._buffer[:end], self._buffer[end:]
        return message

    def _close_socket(self) -> None:
        self._socket.close()

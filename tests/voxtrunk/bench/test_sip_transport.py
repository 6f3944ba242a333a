"""Stream transports cut messages by their length, whatever pieces they come in."""

from __future__ import annotations

import queue
import socket

from voxtrunk.bench.sip_transport import StreamTransport

FIRST = b"SIP/2.0 200 OK\r\nContent-Length: 4\r\n\r\nbody"
SECOND = b"SIP/2.0 100 Trying\r\nl: 0\r\n\r\n"


def test_messages_are_cut_by_their_length() -> None:
    messages: queue.Queue[bytes] = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as server:
        transport = StreamTransport(server.getsockname())
        connection, _ = server.accept()
        with connection:
            transport.start(lambda data, source, received_ns: messages.put(data))
            connection.sendall(b"\r\n\r\n" + FIRST[:20])
            connection.sendall(FIRST[20:] + SECOND + FIRST)
            assert [messages.get(timeout=2) for _ in range(3)] == [FIRST, SECOND, FIRST]
            transport.send(SECOND, ("ignored", 0))
            assert connection.recv(100) == SECOND
        assert transport.closed_by_peer.wait(2)
        transport.close()

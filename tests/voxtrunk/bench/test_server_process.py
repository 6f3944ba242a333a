"""The server process: events, waiting, exit status, and what went wrong in words."""

from __future__ import annotations

import socket
import sys

import pytest

from voxtrunk.bench.server_process import ServerProcess, free_rtp_range, free_sip_port

GOOD = """
import json, os, signal, sys
def stop(*_):
    print(json.dumps({"event": "server.stopped"}), flush=True); sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("not json", flush=True)
print(json.dumps({"event": "server.ready", "hog": os.environ.get("HOG")}), flush=True)
print(json.dumps({"event": "call.end", "call": "b", "cause": "caller_hung_up"}), flush=True)
signal.pause()
"""


def server(code: str, **environment: str) -> ServerProcess:
    return ServerProcess([sys.executable, "-c", code], environment=environment)


def test_ready_events_and_stop() -> None:
    process = server(GOOD, HOG="1")
    assert process.start(10.0)["hog"] == "1"
    assert process.wait_for_event("call.end", 5.0, call="b")["cause"] == "caller_hung_up"
    mark = process.mark
    with pytest.raises(TimeoutError, match=r"no call.end event within 0.05 s"):
        process.wait_for_event("call.end", 0.05, since=mark)
    assert process.is_running and process.pid > 0
    assert process.stop() == 0
    assert [event["event"] for event in process.events(since=mark)] == ["server.stopped"]
    assert "not json" in process.other_lines
    with pytest.raises(TimeoutError, match=r"the server ended"):
        process.wait_for_event("never", 5.0)


def test_a_server_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)did not get ready.*port 5060 is taken"):
        server("import sys; sys.exit('port 5060 is taken')").start(10.0)


def test_a_server_that_ignores_sigterm_is_killed() -> None:
    process = server(
        GOOD.replace("signal.signal(signal.SIGTERM, stop)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    )
    process.start(10.0)
    process.terminate()
    with pytest.raises(TimeoutError, match=r"did not stop within 0.2 s"):
        process.wait(0.2)
    assert not process.is_running


def test_free_ports_are_free() -> None:
    port = free_sip_port()
    first, last = free_rtp_range(5)
    assert (first % 2, last - first) == (0, 4)
    for number in (port, *range(first, last + 1)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", number))

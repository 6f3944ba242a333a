"""Bots for the interop tests: the whole server, or only its user agent, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from voxtrunk.bench.phone import Phone
from voxtrunk.bench.server_process import Event, ServerProcess, free_rtp_range, free_sip_port, serve_command
from voxtrunk.bench.sip_transport import Address

HOST: Final = "127.0.0.1"
EVENT_TIMEOUT_S: Final = 5.0


class Bot:
    """A running bot and its log."""

    def __init__(self, process: ServerProcess, port: int) -> None:
        self.process = process
        self.port = port

    @property
    def address(self) -> Address:
        return (HOST, self.port)

    @property
    def tls_address(self) -> Address:
        return (HOST, self.port + 1)

    def start_of(self, call_id: str, timeout_s: float = EVENT_TIMEOUT_S) -> Event:
        """The ``call.start`` of a SIP Call-ID."""
        return self.process.wait_for_event("call.start", timeout_s, sip_call_id=call_id)

    def end_of(self, call_id: str, timeout_s: float = EVENT_TIMEOUT_S) -> Event:
        """The ``call.end`` of a SIP Call-ID."""
        return self.process.wait_for_event("call.end", timeout_s, call=self.start_of(call_id)["call"])

    def starts(self, call_id: str) -> int:
        """How many sessions a SIP Call-ID got."""
        return len(self.process.events("call.start", sip_call_id=call_id))

    def still_answers(self) -> None:
        """A plain call to the echo works."""
        with Phone(self.address) as phone:
            phone.dial("echo")
            phone.media.receiver.wait_for(5, 3.0)


class Agent(Bot):
    """Only the user agent, echoing; it tells its digits and takes commands."""

    def command(self, **words: object) -> None:
        """One command of ``agent_process``."""
        self.process.write_line(json.dumps(words))

    def event(self, name: str, timeout_s: float = EVENT_TIMEOUT_S, **match: object) -> Event:
        """Wait for one of its events."""
        return self.process.wait_for_event(name, timeout_s, since=0, **match)

    def digits_of(self, call_id: str) -> str:
        """Keys that one call pressed, in order, after the call has ended."""
        self.event("end", sip_call_id=call_id)
        return "".join(event["digit"] for event in self.process.events("digit", sip_call_id=call_id))


Sections = Mapping[str, Mapping[str, object]]


def toml(sections: Sections) -> str:
    """Sections of plain values as TOML; JSON writes strings, numbers, booleans and lists the same way."""
    lines = []
    for name, values in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""]
    return "\n".join(lines)


def sip_section(port: int, calls: int, rtp_ports: int, **changes: object) -> dict[str, object]:
    """A user agent on loopback with ports of its own."""
    first, last = free_rtp_range(rtp_ports)
    values: dict[str, object] = {
        "interface": HOST,
        "port": port,
        "rtp_port_min": first,
        "rtp_port_max": last,
        "max_calls": calls,
        "max_new_calls_per_s": 1000,
        "drain_limit_s": 2,
    }
    return {**values, **changes}


@contextmanager
def serving(
    folder: Path,
    *,
    calls: int = 12,
    rtp_ports: int = 100,
    sip: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    **sections: Mapping[str, object],
) -> Iterator[Bot]:
    """The whole server with a configuration of its own; it must end cleanly."""
    port = free_sip_port()
    config = folder / f"bot-{port}.toml"
    config.write_text(toml({"sip": sip_section(port, calls, rtp_ports, **(sip or {})), **sections}), encoding="utf-8")
    process = ServerProcess(serve_command(config), environment=environment)
    process.start()
    try:
        yield Bot(process, port)
    finally:
        status = process.stop() if process.is_running else process.wait()
    assert status == 0, process.last_lines()
    assert process.events("server.stopped"), process.last_lines()


@contextmanager
def user_agent(*, calls: int = 12, rtp_ports: int = 100, **sip: object) -> Iterator[Agent]:
    """Only the user agent, in a process of its own; it must end cleanly."""
    port = free_sip_port()
    settings = sip_section(port, calls, rtp_ports, **sip)
    settings.pop("drain_limit_s")
    process = ServerProcess([sys.executable, "-m", "tests.interop.agent_process", json.dumps(settings)])
    process.start()
    try:
        yield Agent(process, port)
    finally:
        status = process.stop() if process.is_running else process.wait()
    assert status == 0, process.last_lines()


def make_certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 and its key in one PEM file."""
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    both.write_text(certificate.read_text() + key.read_text())
    return both

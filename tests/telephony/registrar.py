"""A registrar that asks for digest credentials (RFC 3261 s10.3, s22; RFC 2617), for tests."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import Self

from voxtrunk.bench.sip_message import Header, SipMessage, build, parse
from voxtrunk.bench.sip_transport import Address, UdpTransport

REALM = "voxtrunk.test"
NONCE = "f84f1cec41e6cbe5aea9c8e88d359"


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class Registrar:
    """Accepts one user; keeps what was registered. Use as a context manager."""

    def __init__(self, user: str, password: str) -> None:
        self.user = user
        self.password = password
        self.contacts: list[str] = []
        self.refused = 0
        self.changed = threading.Event()
        self._transport = UdpTransport("127.0.0.1")
        self._transport.start(self._on_data)

    @property
    def address(self) -> str:
        host, port = self._transport.local
        return f"{host}:{port}"

    def _on_data(self, data: bytes, source: Address, received_ns: int) -> None:
        request = parse(data, received_ns=received_ns, source=source)
        if request.method != "REGISTER":
            return
        authorization = request.header("Authorization")
        if not authorization:
            challenge = ("WWW-Authenticate", f'Digest realm="{REALM}", nonce="{NONCE}", algorithm=MD5')
            self._respond(request, "401 Unauthorized", [challenge])
        elif self._is_right(authorization):
            self.contacts.append(request.header("Contact"))
            self._respond(request, "200 OK", [("Contact", f"{request.header('Contact')};expires=60")])
        else:
            self.refused += 1
            self._respond(request, "403 Forbidden", [])
        self.changed.set()

    def _is_right(self, authorization: str) -> bool:
        fields = dict(re.findall(r'(\w+)="?([^",]+)"?', authorization))
        secret = _md5(f"{self.user}:{REALM}:{self.password}")
        wanted = _md5(f"{secret}:{NONCE}:{_md5('REGISTER:' + fields['uri'])}")
        return fields["username"] == self.user and fields["response"] == wanted

    def _respond(self, request: SipMessage, status: str, headers: list[Header]) -> None:
        lines: list[Header] = [
            (name, value) for name in ("Via", "From", "Call-ID", "CSeq") for value in request.all(name)
        ]
        lines.append(("To", request.header("To") + ";tag=registrar"))
        self._transport.send(build(f"SIP/2.0 {status}", [*lines, *headers]), request.source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

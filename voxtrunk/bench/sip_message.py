"""SIP messages as bytes (RFC 3261 s7): a builder that lets tests be odd, and a strict parser of what comes back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

Header = tuple[str, str]

_COMPACT: Final = {
    "v": "via",
    "f": "from",
    "t": "to",
    "i": "call-id",
    "m": "contact",
    "l": "content-length",
    "c": "content-type",
    "k": "supported",
    "s": "subject",
    "e": "content-encoding",
    "o": "event",
    "r": "refer-to",
    "u": "allow-events",
    "x": "session-expires",
}
"""RFC 3261 s7.3.3 and s20; o and u of RFC 6665, r of RFC 3515, x of RFC 4028."""


@dataclass(frozen=True, slots=True)
class SipMessage:
    """A parsed request or response.

    Attributes:
        start_line: request line or status line.
        headers: (name as written, value) in order.
        body: ``Content-Length`` octets.
        received_ns: monotonic arrival; 0 for a message that did not come from the network.
        source: address that sent it.
    """

    start_line: str
    headers: tuple[Header, ...]
    body: bytes = b""
    received_ns: int = 0
    source: tuple[str, int] = ("", 0)

    @property
    def status(self) -> int:
        """Status code; 0 for a request."""
        return int(self.start_line.split(" ", 2)[1]) if self.start_line.startswith("SIP/2.0 ") else 0

    @property
    def reason(self) -> str:
        """Reason phrase of a response."""
        return self.start_line.split(" ", 2)[2] if self.status else ""

    @property
    def method(self) -> str:
        """Method of a request, or the one that a response answers."""
        return self.cseq[1] if self.status else self.start_line.split(" ", 1)[0]

    @property
    def uri(self) -> str:
        """Request-URI; empty for a response."""
        return "" if self.status else self.start_line.split(" ")[1]

    @property
    def cseq(self) -> tuple[int, str]:
        """Number and method."""
        number, method = self.header("CSeq").split()
        return int(number), method

    @property
    def branch(self) -> str:
        """Branch of the top Via."""
        return parameter(self.header("Via"), "branch")

    def all(self, name: str) -> list[str]:
        """Values of every header of that name, short forms too, in order."""
        wanted = name.lower()
        return [value for key, value in self.headers if _COMPACT.get(key.lower(), key.lower()) == wanted]

    def header(self, name: str) -> str:
        """Value of the first header of that name; empty when there is none."""
        return next(iter(self.all(name)), "")


def parameter(value: str, name: str) -> str:
    """A ``;name=value`` header parameter outside of ``<>``; empty when absent, or without a value."""
    match = re.search(rf";\s*{re.escape(name)}\s*=\s*([^;,\s>]+)", re.sub(r"<[^>]*>", "", value), re.IGNORECASE)
    return match.group(1) if match else ""


def uri_of(value: str) -> str:
    """URI of a name-addr or addr-spec (RFC 3261 s20.10)."""
    match = re.search(r"<([^>]*)>", value)
    return match.group(1) if match else value.split(";")[0].strip()


def address_of(uri: str, default_port: int = 5060) -> tuple[str, int]:
    """Host and port of a SIP URI.

    Raises:
        ValueError: not a SIP URI.
    """
    match = re.match(r"sips?:(?:[^@]*@)?([^;:?>]+)(?::(\d+))?", uri)
    if match is None:
        raise ValueError(f"not a SIP URI: {uri!r}")
    return match.group(1), int(match.group(2) or default_port)


def split_list(values: Iterable[str]) -> list[str]:
    """Comma lists and repeated headers as one list; commas inside of ``<>`` or quotes do not split."""
    return [part.strip() for value in values for part in re.findall(r'(?:"[^"]*"|<[^>]*>|[^,"<])+', value)]


def build(start_line: str, headers: Sequence[Header], body: bytes = b"") -> bytes:
    """The message as it goes on the wire; adds Content-Length unless the headers have one."""
    lines = [start_line, *(f"{name}: {value}" for name, value in headers)]
    if not any(name.lower() in ("content-length", "l") for name, _ in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def parse(data: bytes, *, received_ns: int = 0, source: tuple[str, int] = ("", 0)) -> SipMessage:
    """Parse one message.

    Raises:
        ValueError: it breaks the grammar; one exact sentence.
    """
    head, separator, rest = data.partition(b"\r\n\r\n")
    if not separator:
        raise ValueError("SIP message has no empty line after its headers")
    try:
        lines = re.sub(r"\r\n[ \t]+", " ", head.decode()).split("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError("SIP message is not UTF-8") from error
    words = lines[0].split(" ", 2)
    if len(words) < 3 or not (words[0] == "SIP/2.0" or words[2] == "SIP/2.0"):
        raise ValueError("SIP start line is malformed")
    if words[0] == "SIP/2.0" and not re.fullmatch(r"[1-6]\d\d", words[1]):
        raise ValueError("SIP status code is malformed")
    headers: list[Header] = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ValueError("SIP header line has no colon")
        headers.append((name.strip(), value.strip()))
    message = SipMessage(lines[0], tuple(headers), rest, received_ns, source)
    if not re.fullmatch(r"\d+\s+[A-Z]+", message.header("CSeq")):
        raise ValueError("SIP CSeq is malformed")
    for name in ("Via", "From", "To", "Call-ID"):
        if not message.header(name):
            raise ValueError(f"SIP message has no {name}")
    length = message.header("Content-Length")
    if length and not length.isdigit():
        raise ValueError("SIP Content-Length is malformed")
    if length and int(length) > len(rest):
        raise ValueError("SIP body is shorter than its Content-Length")
    body = rest[: int(length)] if length else rest
    return SipMessage(lines[0], tuple(headers), body, received_ns, source)

"""Session descriptions of the test caller: offers from parts, answers into parts (RFC 8866, RFC 3264)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from voxtrunk.bench.codecs import CODECS

EVENTS: Final = "telephone-event/8000"


@dataclass(slots=True)
class Media:
    """One m-section.

    Attributes:
        kind: ``audio``, ``video``, ...
        port: 0 for a refused one.
        protocol: e.g. ``RTP/AVP``.
        formats: payload types as written.
        host: address of its own c= line, else the session's, else empty.
        attributes: a= values in order.
    """

    kind: str
    port: int
    protocol: str
    formats: tuple[str, ...]
    host: str
    attributes: list[str] = field(default_factory=list)

    @property
    def rtpmaps(self) -> dict[int, str]:
        """Payload type -> encoding, e.g. ``{101: "telephone-event/8000"}``."""
        maps = (value.removeprefix("rtpmap:").split(" ", 1) for value in self.attributes if value.startswith("rtpmap:"))
        return {int(number): encoding for number, encoding in maps}

    @property
    def direction(self) -> str:
        """``sendrecv`` unless the section says otherwise (RFC 8866 s6.7)."""
        known = ("sendrecv", "sendonly", "recvonly", "inactive")
        return next((value for value in self.attributes if value in known), "sendrecv")

    def attribute(self, name: str) -> str | None:
        """Value of the first ``a=name:value``."""
        return next((value[len(name) + 1 :] for value in self.attributes if value.startswith(f"{name}:")), None)


def parse_sdp(text: bytes | str) -> list[Media]:
    """The m-sections of a description.

    Raises:
        ValueError: a line is not SDP; one exact sentence.
    """
    lines = (text.decode() if isinstance(text, bytes) else text).split("\r\n")
    session_host = session_direction = ""
    sections: list[Media] = []
    for line in filter(None, lines):
        kind, equals, value = line.partition("=")
        if len(kind) != 1 or not equals:
            raise ValueError(f"SDP line is malformed: {line!r}")
        if kind == "m":
            sections.append(_media(value, session_host))
        elif kind == "c":
            host = value.split()[-1].split("/")[0]
            if sections:
                sections[-1].host = host
            else:
                session_host = host
        elif kind == "a" and sections:
            sections[-1].attributes.append(value)
        elif kind == "a" and value in ("sendrecv", "sendonly", "recvonly", "inactive"):
            session_direction = value
    for section in sections:
        if session_direction and not {"sendrecv", "sendonly", "recvonly", "inactive"} & set(section.attributes):
            section.attributes.append(session_direction)
    return sections


def _media(value: str, host: str) -> Media:
    words = value.split()
    if len(words) < 4 or not words[1].split("/")[0].isdigit():
        raise ValueError(f"SDP media line is malformed: {value!r}")
    return Media(words[0], int(words[1].split("/")[0]), words[2], tuple(words[3:]), host)


def media_section(
    port: int,
    *,
    codecs: Sequence[str | tuple[int, str]] = ("PCMU",),
    events: Sequence[tuple[int, str]] = ((101, EVENTS),),
    events_first: bool = False,
    direction: str | None = "sendrecv",
    ptime_ms: int | None = 20,
    lines: Sequence[str] = (),
) -> list[str]:
    """Lines of an m=audio section.

    Args:
        port: our RTP port.
        codecs: names of :data:`~voxtrunk.bench.codecs.CODECS`, or (payload type, rtpmap value).
        events: telephone-event payload types and their rtpmap values.
        events_first: list the events before the codecs (RFC 4733 does not forbid it).
        direction: None leaves the attribute out.
        ptime_ms: None leaves the attribute out.
        lines: appended as they are.
    """
    coded = [item if isinstance(item, tuple) else (CODECS[item].payload_type, CODECS[item].rtpmap) for item in codecs]
    formats = [*events, *coded] if events_first else [*coded, *events]
    section = [f"m=audio {port} RTP/AVP " + " ".join(str(number) for number, _ in formats)]
    section += [f"a=rtpmap:{number} {encoding}" for number, encoding in formats]
    section += [f"a=fmtp:{number} 0-15" for number, _ in events]
    if ptime_ms is not None:
        section.append(f"a=ptime:{ptime_ms}")
    if direction is not None:
        section.append(f"a={direction}")
    return [*section, *lines]


def session(
    sections: Sequence[Sequence[str]], *, host: str = "127.0.0.1", version: int = 1, c_line: bool = True
) -> str:
    """A whole description; raise ``version`` for each new one in a dialog (RFC 3264 s8)."""
    head = ["v=0", f"o=caller 2208988800 {version} IN IP4 {host}", "s=-"]
    if c_line:
        head.append(f"c=IN IP4 {host}")
    head.append("t=0 0")
    return "".join(f"{line}\r\n" for line in [*head, *(line for section in sections for line in section)])

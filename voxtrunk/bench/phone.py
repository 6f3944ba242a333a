"""A whole test phone: one SIP dialog with its media."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from voxtrunk.bench.codecs import CODECS
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.rtp_sender import SendOptions
from voxtrunk.bench.sdp import EVENTS, Media, media_section, parse_sdp, session
from voxtrunk.bench.sip_dialog import Dialog
from voxtrunk.bench.sip_message import Header, SipMessage
from voxtrunk.bench.sip_peer import SipPeer
from voxtrunk.bench.sip_transport import Address


class CallRefused(Exception):
    """The bot answered the INVITE with something else than 2xx; ``status`` says what."""

    def __init__(self, response: SipMessage) -> None:
        super().__init__(f"the call was refused: {response.status} {response.reason}")
        self.status = response.status


class Phone:
    """Dials, talks, listens, hangs up. Use as a context manager: it leaves no call and no port behind."""

    def __init__(
        self,
        target: Address,
        *,
        codec: str = "PCMU",
        transport: str = "udp",
        host: str = "127.0.0.1",
        user: str = "+15555550100",
        options: SendOptions | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """
        Args:
            target: where the bot listens.
            codec: ``PCMU``, ``PCMA``, ``G722`` or ``opus``; the only one that we offer.
            transport: ``udp``, ``tcp`` or ``tls``.
            host: local address for SIP and RTP.
            user: our number.
            options: how our RTP stream looks.
            tls: context for ``tls``.
        """
        self.codec_name = codec
        self.media = RtpPeer(CODECS[codec](), host=host, options=options)
        self.sip = SipPeer(target, user=user, transport=transport, host=host, tls=tls)
        self.dialog: Dialog | None = None
        self.version = 1
        self.events_payload_type = 101

    def offer(
        self,
        *,
        direction: str | None = "sendrecv",
        ptime_ms: int | None = 20,
        lines: Sequence[str] = (),
        port: int | None = None,
    ) -> str:
        """Our current SDP; every call raises its version."""
        section = media_section(
            self.media.port if port is None else port,
            codecs=[self.codec_name],
            events=[(self.events_payload_type, EVENTS)],
            direction=direction,
            ptime_ms=ptime_ms,
            lines=lines,
        )
        text = session([section], host=self.media.host, version=self.version)
        self.version += 1
        return text

    def dial(
        self, user: str = "echo", *, sdp: str | None = None, headers: Sequence[Header] = (), send: bool = True
    ) -> Media:
        """Call a user of the bot and start our media.

        Args:
            user: names the flow.
            sdp: offer; default :meth:`offer`.
            headers: extra ones for the INVITE.
            send: start our RTP stream.

        Returns:
            The audio section of the answer.

        Raises:
            CallRefused: no 2xx.
            TimeoutError: no answer.
        """
        self.dialog = self.sip.dialog(user)
        response = self.dialog.call(sdp or self.offer(), headers=headers)
        if response.status >= 300:
            raise CallRefused(response)
        audio = live_audio(response)
        if send:
            self.connect(audio)
        return audio

    def connect(self, audio: Media) -> None:
        """Send to where an answer says, with the payload type that it gives to our codec."""
        wanted = self.media.codec.rtpmap.lower()
        types = [number for number, encoding in audio.rtpmaps.items() if encoding.lower() == wanted]
        self.media.connect((audio.host, audio.port), payload_type=types[0] if types else None)

    def hang_up(self) -> SipMessage:
        """BYE; our media stops after it."""
        assert self.dialog is not None
        return self.dialog.bye()

    @property
    def is_up(self) -> bool:
        """A 2xx came, and neither side has said BYE."""
        dialog = self.dialog
        if dialog is None or dialog.answer is None:
            return False
        return not dialog.bot_requests("BYE") and not self.sip.responses(dialog, "BYE")

    def close(self) -> None:
        """Hang up if a call is up; free everything."""
        try:
            if self.is_up:
                self.hang_up()
        except TimeoutError:
            pass  # the bot is gone: there is nobody to tell
        finally:
            self.media.close()
            self.sip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def live_audio(message: SipMessage) -> Media:
    """The first audio section with a port in a message's SDP.

    Raises:
        ValueError: there is none.
    """
    for section in parse_sdp(message.body):
        if section.kind == "audio" and section.port:
            return section
    raise ValueError("the SDP has no live audio section")

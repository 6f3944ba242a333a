"""A SIP peer for tests and benchmarks: low-level on purpose, so that it can misbehave. Not the product's stack."""

from __future__ import annotations

import secrets
import ssl
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from voxtrunk.bench.sip_dialog import ANSWER_TIMEOUT_S, Dialog
from voxtrunk.bench.sip_message import Header, SipMessage, build, parse
from voxtrunk.bench.sip_transport import Address, SipTransport, StreamTransport, UdpTransport

MESSAGES_KEPT: Final = 20_000
"""Messages remembered; later ones are handled but not recorded."""


class SipPeer:
    """One socket, any number of dialogs. Use as a context manager, or call :meth:`close`.

    Everything received is kept with its monotonic time, see :meth:`messages`.
    """

    def __init__(
        self,
        target: Address,
        *,
        user: str = "+15555550100",
        transport: str = "udp",
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """
        Args:
            target: where the bot listens.
            user: user part of our own address.
            transport: ``udp``, ``tcp`` or ``tls``.
            host: local address; any 127.x.y.z works on Linux.
            tls: context for ``tls``.

        Raises:
            ValueError: unknown transport.
            OSError: no connection.
        """
        if transport not in ("udp", "tcp", "tls"):
            raise ValueError(f"transport must be udp, tcp or tls, not {transport!r}")
        self.target = target
        self.user = user
        self._transport: SipTransport = (
            UdpTransport(host)
            if transport == "udp"
            else StreamTransport(target, host=host, tls=tls if transport == "tls" else None)
        )
        self._changed = threading.Condition()
        self._messages: list[SipMessage] = []
        self._dialogs: dict[str, Dialog] = {}
        self.malformed: list[str] = []
        self.on_invite: Callable[[Dialog], None] | None = None
        """Called on the transport's thread with the dialog of an INVITE that the bot sends us."""
        self.address_of_record = f"sip:{user}@{self.local[0]}"
        self.contact_uri = f"sip:{user}@{self.local[0]}:{self.local[1]}" + (
            "" if transport == "udp" else f";transport={transport}"
        )
        self._transport.start(self._on_data)

    @property
    def local(self) -> Address:
        """Our bound address."""
        return self._transport.local

    def via(self, branch: str) -> str:
        """A Via value of ours, with rport (RFC 3581)."""
        host, port = self.local
        return f"SIP/2.0/{self._transport.name} {host}:{port};rport;branch={branch}"

    @staticmethod
    def new_branch() -> str:
        """A fresh branch with the magic cookie (RFC 3261 s8.1.1.7)."""
        return f"z9hG4bK{secrets.token_hex(8)}"

    def send(self, data: bytes, to: Address | None = None) -> None:
        """Send bytes as they are."""
        self._transport.send(data, to or self.target)

    def dialog(self, user: str = "echo", *, uri: str | None = None) -> Dialog:
        """A new dialog toward a user of the bot; nothing is sent yet."""
        host, port = self.target
        dialog = Dialog(self, uri or f"sip:{user}@{host}:{port}")
        self._dialogs[dialog.call_id] = dialog
        return dialog

    def request(
        self,
        method: str,
        *,
        uri: str | None = None,
        headers: Sequence[Header] = (),
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> SipMessage:
        """A request outside of any dialog, e.g. OPTIONS, and its final response."""
        dialog = self.dialog(uri=uri)
        number = dialog.cseq
        dialog.request(method, headers=headers)
        return self.wait_response(dialog, method, number, timeout_s)

    # -- what came in -------------------------------------------------------------------------------------------------

    def messages(self) -> list[SipMessage]:
        """A copy of everything received, in order."""
        with self._changed:
            return list(self._messages)

    def responses(self, dialog: Dialog, method: str = "INVITE") -> list[SipMessage]:
        """Responses of a dialog to requests of one method."""
        return [item for item in self.messages() if item.status and dialog.owns(item) and item.cseq[1] == method]

    def wait_for(self, match: Callable[[SipMessage], bool], timeout_s: float, what: str = "message") -> SipMessage:
        """The first received message that matches, past ones included.

        Raises:
            TimeoutError: none does.
        """
        found: list[SipMessage] = []
        seen = 0

        def ready() -> bool:
            nonlocal seen
            new, seen = self._messages[seen:], len(self._messages)
            found.extend(item for item in new if match(item))
            return bool(found)

        with self._changed:
            if not self._changed.wait_for(ready, timeout_s):
                got = ", ".join(item.start_line for item in self._messages[-5:]) or "nothing"
                raise TimeoutError(f"no {what} within {timeout_s} s; received last: {got}")
        return found[0]

    def wait_response(self, dialog: Dialog, method: str, number: int, timeout_s: float) -> SipMessage:
        """The final response to one request.

        Raises:
            TimeoutError: none came.
        """
        return self.wait_for(
            lambda item: item.status >= 200 and dialog.owns(item) and item.cseq == (number, method),
            timeout_s,
            f"final response to {method}",
        )

    def _on_data(self, data: bytes, source: Address, received_ns: int) -> None:
        """TRANSPORT THREAD. Parse, record, answer.

        A response changes the dialog before it is recorded, a request is recorded before it is answered: whoever
        waited for either sees all that belongs to it.
        """
        if not data.strip(b"\r\n\0"):
            return
        try:
            message = parse(data, received_ns=received_ns, source=source)
        except ValueError as error:
            self.malformed.append(str(error))
            return
        dialog = self._dialogs.get(message.header("Call-ID"))
        if message.status:
            if dialog is not None:
                dialog.on_response(message)
            self._record(message)
            return
        self._record(message)
        if dialog is not None:
            dialog.on_request(message)
        else:
            self._outside_dialog(message)

    def _record(self, message: SipMessage) -> None:
        with self._changed:
            if len(self._messages) < MESSAGES_KEPT:
                self._messages.append(message)
            self._changed.notify_all()

    def _outside_dialog(self, request: SipMessage) -> None:
        if request.method == "ACK":
            return
        dialog = Dialog(self, request.uri, invite=request)
        if request.method == "INVITE" and self.on_invite is not None:
            self._dialogs[dialog.call_id] = dialog
            self.on_invite(dialog)
        elif request.method == "OPTIONS":
            dialog.respond(request, 200, "OK")
        else:
            dialog.respond(request, 481, "Call/Transaction Does Not Exist")

    def close(self) -> None:
        """Stop the thread and free the port; may be called twice. Calls that are up are not ended."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def raw_message(start_line: str, headers: Sequence[Header], body: bytes = b"") -> bytes:
    """Bytes of a message of the test's own making."""
    return build(start_line, headers, body)

"""One dialog of the test caller (RFC 3261 s12): tags, route set, sequence numbers, and what it answers by itself."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from voxtrunk.bench.sip_message import (
    Header,
    SipMessage,
    build,
    parameter,
    split_list,
    uri_of,
)

if TYPE_CHECKING:
    from voxtrunk.bench.sip_peer import SipPeer

Edit = Callable[[bytes], bytes]
"""Last change to the bytes of a message before they leave."""

SDP_TYPE: Final = "application/sdp"
ANSWER_TIMEOUT_S: Final = 5.0


@dataclass(slots=True)
class Behaviour:
    """What the dialog does by itself.

    Attributes:
        ack: acknowledge every 2xx to an INVITE, repeated ones too (RFC 3261 s13.2.2.4).
        answer_bye: 200 to BYE.
        answer_reinvite: 200 with our current SDP to a re-INVITE.
        refer_status: response to a REFER; 202 is followed by the NOTIFYs below.
        refer_notifies: sipfrag status lines, e.g. ``"SIP/2.0 200 OK"`` (RFC 3515 s2.4.5).
    """

    ack: bool = True
    answer_bye: bool = True
    answer_reinvite: bool = True
    refer_status: int = 202
    refer_notifies: Sequence[str] = field(default=("SIP/2.0 100 Trying", "SIP/2.0 200 OK"))


class Dialog:
    """A call that we place, or one that we were invited to."""

    def __init__(self, peer: SipPeer, remote_uri: str, *, invite: SipMessage | None = None) -> None:
        """
        Args:
            peer: owns the socket.
            remote_uri: who is called.
            invite: the request that began it, when the other side called us.
        """
        self.peer = peer
        self.behaviour = Behaviour()
        self.local_tag = secrets.token_hex(6)
        self.remote_uri = self.remote_target = remote_uri
        self.request_uri = remote_uri
        self.route_set: list[str] = []
        self.remote_tag = ""
        self.call_id = f"{secrets.token_hex(8)}@caller"
        self.cseq = 1
        self.invite_branch = ""
        self.invite_cseq = 0
        self.invite_sent_ns = 0
        self.sdp = ""
        self.answer: SipMessage | None = None
        self.invite = invite
        self.destination = peer.target
        if invite is not None:
            self.destination = invite.source
            self.call_id = invite.header("Call-ID")
            self.remote_tag = parameter(invite.header("From"), "tag")
            self.remote_uri = uri_of(invite.header("From"))
            self.remote_target = uri_of(invite.header("Contact"))
            self.route_set = split_list(invite.all("Record-Route"))

    # -- requests -----------------------------------------------------------------------------------------------------

    @property
    def contact(self) -> str:
        """Our Contact value."""
        return f"<{self.peer.contact_uri}>"

    def _addresses(self, to_tag: str) -> tuple[str, str]:
        """From and To of our requests."""
        remote = f"<{self.remote_uri}>" + (f";tag={to_tag}" if to_tag else "")
        return f"<{self.peer.address_of_record}>;tag={self.local_tag}", remote

    def request(
        self,
        method: str,
        *,
        body: str = "",
        headers: Sequence[Header] = (),
        cseq: int | None = None,
        branch: str | None = None,
        to_tag: str | None = None,
        content_type: str = SDP_TYPE,
        edit: Edit | None = None,
    ) -> str:
        """Send a request in this dialog; returns its Via branch.

        Args:
            method: e.g. ``INFO``.
            body: payload; its type is ``content_type``.
            headers: appended before Content-Length.
            cseq: None counts on.
            branch: None makes a new one.
            to_tag: None takes the dialog's; without one the request goes where the INVITE went.
            content_type: of the body.
            edit: changes the bytes just before they leave.
        """
        if cseq is None:
            cseq = self.cseq
            self.cseq += 1
        branch = branch or self.peer.new_branch()
        to_tag = self.remote_tag if to_tag is None else to_tag
        target, routes = self._routing(to_tag)
        sender, recipient = self._addresses(to_tag)
        lines: list[Header] = [("Via", self.peer.via(branch)), ("Max-Forwards", "70")]
        lines += [("Route", route) for route in routes]
        lines += [
            ("From", sender),
            ("To", recipient),
            ("Call-ID", self.call_id),
            ("CSeq", f"{cseq} {method}"),
        ]
        lines += [("Contact", self.contact), *headers]
        if body:
            lines.append(("Content-Type", content_type))
        data = build(f"{method} {target} SIP/2.0", lines, body.encode())
        self.peer.send(edit(data) if edit else data, to=self.destination)
        return branch

    def _routing(self, to_tag: str) -> tuple[str, list[str]]:
        """Request-URI and Route values (RFC 3261 s12.2.1.1); everything is sent to the bot all the same."""
        if not to_tag:
            return self.request_uri, []
        if self.route_set and ";lr" not in self.route_set[0]:
            return uri_of(self.route_set[0]), [*self.route_set[1:], f"<{self.remote_target}>"]
        return self.remote_target, self.route_set

    def send_invite(
        self, sdp: str, *, headers: Sequence[Header] = (), edit: Edit | None = None, branch: str | None = None
    ) -> None:
        """Send an INVITE, a re-INVITE once the dialog is up; an empty SDP makes a delayed offer."""
        self.sdp = sdp or self.sdp
        self.invite_cseq = self.cseq
        # Known before it is sent: the answer may be there before we are back.
        self.invite_branch = branch or self.peer.new_branch()
        self.invite_sent_ns = time.monotonic_ns()
        self.request("INVITE", body=sdp, headers=headers, branch=self.invite_branch, edit=edit)

    def wait_final(self, timeout_s: float = ANSWER_TIMEOUT_S) -> SipMessage:
        """The final response to our last INVITE.

        Raises:
            TimeoutError: none came.
        """
        return self.peer.wait_response(self, "INVITE", self.invite_cseq, timeout_s)

    def call(
        self,
        sdp: str,
        *,
        headers: Sequence[Header] = (),
        edit: Edit | None = None,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> SipMessage:
        """INVITE, or re-INVITE, and wait for the final response; it is acknowledged as behaviour says."""
        self.send_invite(sdp, headers=headers, edit=edit)
        return self.wait_final(timeout_s)

    def ack(self, sdp: str = "", *, to: SipMessage | None = None) -> None:
        """ACK: of its own transaction for a 2xx, in the INVITE's for another response (RFC 3261 s17.1.1.3)."""
        response = to or self.answer
        refused = response is not None and response.status >= 300
        self.request(
            "ACK",
            body=sdp,
            cseq=self.invite_cseq,
            branch=self.invite_branch if refused else None,
            to_tag=parameter(response.header("To"), "tag") if response is not None else None,
        )

    def cancel(self) -> None:
        """CANCEL of our last INVITE: its branch, its number (RFC 3261 s9.1)."""
        self.request("CANCEL", cseq=self.invite_cseq, branch=self.invite_branch, to_tag="")

    def bye(self, timeout_s: float = ANSWER_TIMEOUT_S) -> SipMessage:
        """BYE, and wait for its response."""
        number = self.cseq
        self.request("BYE")
        return self.peer.wait_response(self, "BYE", number, timeout_s)

    def transact(
        self, method: str, *, body: str = "", headers: Sequence[Header] = (), content_type: str = SDP_TYPE
    ) -> SipMessage:
        """Send any other request and wait for its final response."""
        number = self.cseq
        self.request(method, body=body, headers=headers, content_type=content_type)
        return self.peer.wait_response(self, method, number, ANSWER_TIMEOUT_S)

    # -- what comes in: called on the transport's thread --------------------------------------------------------------

    def on_response(self, response: SipMessage) -> None:
        """Learn the dialog from it, and acknowledge finals to INVITE."""
        number, method = response.cseq
        if method != "INVITE" or response.status < 200:
            return
        if response.status < 300:
            self.remote_tag = parameter(response.header("To"), "tag")
            self.remote_target = uri_of(response.header("Contact"))
            if self.answer is None:
                self.route_set = list(reversed(split_list(response.all("Record-Route"))))
            self.answer = response
        if number != self.invite_cseq:
            return
        if response.status >= 300:
            self.ack(to=response)
        elif self.behaviour.ack:
            self.ack()

    def on_request(self, request: SipMessage) -> None:
        """Answer what the bot asks for within the dialog."""
        if request.header("Contact") and request.method in ("INVITE", "UPDATE"):
            self.remote_target = uri_of(request.header("Contact"))
        if request.method == "BYE" and self.behaviour.answer_bye:
            self.respond(request, 200, "OK")
        elif request.method == "INVITE" and self.behaviour.answer_reinvite and self.sdp:
            self.respond(request, 200, "OK", sdp=self.sdp)
        elif request.method == "REFER":
            self.respond(
                request,
                self.behaviour.refer_status,
                "Accepted" if self.behaviour.refer_status == 202 else "Declined",
            )
            if self.behaviour.refer_status == 202:
                self._notify(request)
        elif request.method in ("OPTIONS", "INFO", "NOTIFY", "UPDATE"):
            self.respond(request, 200, "OK")

    def _notify(self, refer: SipMessage) -> None:
        for place, fragment in enumerate(self.behaviour.refer_notifies):
            last = place == len(self.behaviour.refer_notifies) - 1
            state = "terminated;reason=noresource" if last else "active;expires=60"
            self.request(
                "NOTIFY",
                headers=[("Event", f"refer;id={refer.cseq[0]}"), ("Subscription-State", state)],
                body=f"{fragment}\r\n",
                content_type="message/sipfrag;version=2.0",
            )

    def respond(
        self, request: SipMessage, status: int, reason: str, *, sdp: str = "", headers: Sequence[Header] = ()
    ) -> None:
        """Answer a request of the bot, to where its top Via says."""
        lines: list[Header] = [("Via", value) for value in request.all("Via")]
        lines += [("Record-Route", value) for value in request.all("Record-Route")]
        to = request.header("To")
        if not parameter(to, "tag") and status > 100:
            to = f"{to};tag={self.local_tag}"
        lines += [("From", request.header("From")), ("To", to), ("Call-ID", request.header("Call-ID"))]
        lines += [("CSeq", request.header("CSeq")), ("Contact", self.contact), *headers]
        if sdp:
            self.sdp = sdp
            lines.append(("Content-Type", SDP_TYPE))
        self.peer.send(build(f"SIP/2.0 {status} {reason}", lines, sdp.encode()), to=request.source)

    def bot_requests(self, method: str) -> list[SipMessage]:
        """Requests of that method that the bot has sent in this dialog so far."""
        return [
            message
            for message in self.peer.messages()
            if self.owns(message) and not message.status and message.method == method
        ]

    def wait_request(self, method: str, timeout_s: float = ANSWER_TIMEOUT_S) -> SipMessage:
        """The bot's first request of that method in this dialog.

        Raises:
            TimeoutError: none came.
        """
        return self.peer.wait_for(
            lambda message: self.owns(message) and not message.status and message.method == method,
            timeout_s,
            f"{method} from the bot",
        )

    def owns(self, message: SipMessage) -> bool:
        """It has this dialog's Call-ID."""
        return message.header("Call-ID") == self.call_id

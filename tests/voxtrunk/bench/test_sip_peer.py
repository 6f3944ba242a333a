"""The SIP peer against another one of its kind: call, cancel, refuse, route, transfer, junk."""

from __future__ import annotations

import pytest

from voxtrunk.bench.phone import CallRefused, Phone
from voxtrunk.bench.sdp import media_section, session
from voxtrunk.bench.sip_message import build
from voxtrunk.bench.sip_peer import SipPeer

SDP = session([media_section(4000)])


def test_call_and_hang_up(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog("echo")
        answer = dialog.call(SDP, headers=[("X-Twilio-CallSid", "CA1")])
        assert (answer.status, dialog.remote_tag) == (200, bot.dialogs[0].local_tag)
        assert [item.status for item in peer.responses(dialog)] == [180, 200]
        assert bot.dialogs[0].invite.header("X-Twilio-CallSid") == "CA1"
        assert bot.sip.wait_for(lambda item: item.method == "ACK", 2.0).cseq == (1, "ACK")
        assert dialog.bye().status == 200
        assert bot.sip.messages()[-1].uri == bot.sip.contact_uri


def test_every_copy_of_the_200_is_acknowledged(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        peer.dialog().call(SDP)
        serving = bot.dialogs[0]
        serving.respond(serving.invite, 200, "OK", sdp=serving.sdp)
        bot.sip.wait_for(lambda item: len([m for m in bot.sip.messages() if m.method == "ACK"]) >= 2, 2.0)
        peer.request("OPTIONS")
        acks = [item for item in bot.sip.messages() if item.method == "ACK"]
        assert len(acks) == 2 and acks[0].branch != acks[1].branch


def test_no_ack_when_told_not_to(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog()
        dialog.behaviour.ack = False
        dialog.call(SDP)
        peer.request("OPTIONS")
        assert not [item for item in bot.sip.messages() if item.method == "ACK"]


def test_refusal_is_acknowledged_in_its_own_transaction(bot) -> None:  # type: ignore[no-untyped-def]
    bot.status = 486
    with Phone(bot.address) as phone:
        with pytest.raises(CallRefused, match="the call was refused: 486 Busy Here") as refusal:
            phone.dial()
        assert refusal.value.status == 486
        ack = bot.sip.wait_for(lambda item: item.method == "ACK", 2.0)
        assert ack.branch == bot.dialogs[0].invite.branch
        assert not phone.is_up


def test_cancel_has_the_branch_and_number_of_its_invite(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog()
        dialog.call(SDP)
        dialog.cancel()
        cancel = bot.sip.wait_for(lambda item: item.method == "CANCEL", 2.0)
        assert (cancel.branch, cancel.cseq, "tag=" in cancel.header("To")) == (
            dialog.invite_branch,
            (1, "CANCEL"),
            False,
        )
        assert cancel.uri == dialog.request_uri


def test_the_bot_says_bye_and_reinvites(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog()
        dialog.call(SDP)
        serving = bot.dialogs[0]
        assert serving.call(serving.sdp).status == 200
        assert serving.bye().status == 200
        assert dialog.wait_request("BYE").cseq == (2, "BYE")
        assert len(dialog.bot_requests("INVITE")) == 1


def test_refer_is_accepted_and_reported(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog()
        dialog.call(SDP)
        assert bot.dialogs[0].transact("REFER", headers=[("Refer-To", "<sip:human@127.0.0.1>")]).status == 202
        bot.sip.wait_for(lambda item: item.method == "NOTIFY" and item.body.startswith(b"SIP/2.0 200"), 2.0)
        notifies = [item for item in bot.sip.messages() if item.method == "NOTIFY"]
        assert [item.body for item in notifies] == [b"SIP/2.0 100 Trying\r\n", b"SIP/2.0 200 OK\r\n"]
        assert notifies[-1].header("Subscription-State") == "terminated;reason=noresource"


def test_strict_and_loose_routes(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        dialog = peer.dialog()
        dialog.call(SDP, headers=[("Record-Route", "<sip:p1@127.0.0.1;lr>, <sip:p2@127.0.0.1;lr>")])
        dialog.route_set = ["<sip:p1@127.0.0.1;lr>"]
        dialog.transact("INFO")
        info = bot.sip.messages()[-1]
        assert (info.uri, info.all("Route")) == (dialog.remote_target, ["<sip:p1@127.0.0.1;lr>"])
        dialog.route_set = ["<sip:p1@127.0.0.1>", "<sip:p2@127.0.0.1;lr>"]
        dialog.transact("INFO")
        info = bot.sip.messages()[-1]
        assert info.uri == "sip:p1@127.0.0.1"
        assert info.all("Route") == ["<sip:p2@127.0.0.1;lr>", f"<{dialog.remote_target}>"]


def test_edit_changes_the_bytes_that_leave(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        peer.dialog().call(SDP, edit=lambda data: data.replace(b"Call-ID:", b"i:"))
        assert any(name == "i" for name, _ in bot.dialogs[0].invite.headers)


def test_what_never_comes_is_a_timeout_that_tells_what_did(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        peer.request("OPTIONS")
        with pytest.raises(TimeoutError, match=r"no BYE from the bot within 0.01 s; received last: SIP/2.0 200 OK"):
            peer.dialog().wait_request("BYE", 0.01)


def test_malformed_messages_are_kept_apart(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        bot.sip.send(b"SIP/2.0 200 OK\r\nVia: x\r\n\r\n", to=peer.local)
        bot.sip.send(b"\r\n\r\n", to=peer.local)
        peer.request("OPTIONS")
        assert peer.malformed == ["SIP CSeq is malformed"]
        assert len(peer.messages()) == 1


def test_request_of_an_unknown_dialog_gets_481(bot) -> None:  # type: ignore[no-untyped-def]
    with SipPeer(bot.address) as peer:
        assert peer.request("BYE").status == 481
        headers = [("Via", "x"), ("From", "f"), ("To", "t"), ("Call-ID", "c"), ("CSeq", "1 ACK")]
        peer.send(build("ACK sip:x SIP/2.0", headers))
        peer.request("OPTIONS")
        assert len(peer.messages()) == 2


def test_transport_names_are_checked() -> None:
    with pytest.raises(ValueError, match="transport must be udp, tcp or tls, not 'sctp'"):
        SipPeer(("127.0.0.1", 9), transport="sctp")

"""SIP transactions and routing (cases C17, C18, C19, C24, C26, C28, C54)."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.interop.audio import assert_echo
from tests.interop.bots import Agent, Bot
from tests.interop.conftest import Unacknowledged
from voxtrunk.bench import dtmf
from voxtrunk.bench.phone import Phone, live_audio
from voxtrunk.bench.sdp import media_section, session
from voxtrunk.bench.sip_dialog import Dialog
from voxtrunk.bench.sip_message import SipMessage, parameter, parse
from voxtrunk.bench.sip_peer import SipPeer

SDP = session([media_section(9)])


# -- C18: the same INVITE again ----------------------------------------------------------------------------------------


def test_c18_repeated_invite_is_one_call(bot: Bot, phone: Phone) -> None:
    phone.dialog = phone.sip.dialog("echo")
    sent: list[bytes] = []

    def keep(data: bytes) -> bytes:
        sent.append(data)
        return data

    first = phone.dialog.call(phone.offer(), edit=keep)
    for pause_s in (0.1, 0.3):
        time.sleep(pause_s)
        phone.sip.send(sent[0])
    time.sleep(0.2)
    finals = [item for item in phone.sip.responses(phone.dialog) if item.status >= 200]
    assert {item.header("To") for item in finals} == {first.header("To")}
    assert {item.body for item in finals} == {first.body}
    assert bot.starts(phone.dialog.call_id) == 1
    assert phone.hang_up().status == 200


def test_c18_merged_request_over_another_path_is_refused_or_ignored(bot: Bot, phone: Phone) -> None:
    """Same Call-ID, From tag and CSeq on another branch: 482 (RFC 3261 s8.2.2.2), never a second session."""
    phone.dialog = phone.sip.dialog("echo")
    phone.dialog.call(phone.offer())
    branch = phone.sip.new_branch()
    phone.dialog.request("INVITE", body=phone.offer(), cseq=phone.dialog.invite_cseq, branch=branch, to_tag="")
    time.sleep(0.3)
    answers = [item for item in phone.sip.responses(phone.dialog) if item.branch == branch and item.status >= 200]
    assert bot.starts(phone.dialog.call_id) == 1
    assert all(item.status == 482 for item in answers), [item.start_line for item in answers]


def test_c18_to_tag_means_inside_the_dialog(phone: Phone) -> None:
    phone.dial("echo")
    assert phone.dialog is not None
    stranger = phone.sip.dialog("echo")
    stranger.remote_tag = "nobody"
    assert stranger.call(SDP).status == 481


# -- C19: CANCEL -------------------------------------------------------------------------------------------------------


def test_c19_cancel_together_with_the_invite(bot: Bot, peer: SipPeer) -> None:
    """Whichever wins, both transactions end, and the bot has no call left."""
    dialog = peer.dialog("echo")
    dialog.send_invite(SDP)
    dialog.cancel()
    cancelled = peer.wait_response(dialog, "CANCEL", 1, 3.0)
    final = dialog.wait_final()
    if final.status == 200:
        assert cancelled.status in (200, 481)
        assert dialog.bye().status == 200
    else:
        assert (cancelled.status, final.status) == (200, 487)
    bot.still_answers()


def test_c19_cancel_after_the_200_changes_nothing(phone: Phone) -> None:
    phone.dial("echo")
    dialog = phone.dialog
    assert dialog is not None
    dialog.cancel()
    assert phone.sip.wait_response(dialog, "CANCEL", dialog.invite_cseq, 3.0).status in (200, 481)
    assert_echo(phone, 0.3, share=0.5)
    assert phone.hang_up().status == 200


def test_c19_cancel_of_nothing(peer: SipPeer) -> None:
    dialog = peer.dialog("echo")
    dialog.invite_cseq, dialog.invite_branch = 1, peer.new_branch()
    dialog.cancel()
    assert peer.wait_response(dialog, "CANCEL", 1, 3.0).status == 481


def test_c19_we_cancel_and_the_200_crosses(agent: Agent) -> None:
    """Our dial gives up; the peer answers all the same: ACK and BYE (RFC 3261 s15, s9.1)."""
    with SipPeer(agent.address, user="slow") as peer:
        dialogs: list[Dialog] = []

        def ring(dialog: Dialog) -> None:
            assert dialog.invite is not None
            dialogs.append(dialog)
            dialog.respond(dialog.invite, 180, "Ringing")

        peer.on_invite = ring
        agent.command(dial=peer.contact_uri, timeout_s=0.3)
        peer.wait_for(lambda item: item.method == "CANCEL", 5.0, "CANCEL")
        invite = dialogs[0].invite
        assert invite is not None
        dialogs[0].respond(invite, 200, "OK", sdp=SDP)
        dialogs[0].wait_request("ACK", 5.0)
        dialogs[0].wait_request("BYE", 5.0)


def test_c19_we_wait_for_a_provisional_before_cancel(agent: Agent) -> None:
    with SipPeer(agent.address, user="mute") as peer:
        peer.on_invite = lambda dialog: None
        mark = agent.process.mark
        agent.command(dial=peer.contact_uri, timeout_s=0.5)
        agent.process.wait_for_event("failed", 5.0, since=mark)
        time.sleep(0.3)
        assert not [item for item in peer.messages() if item.method == "CANCEL"]


# -- C17: lost ACK -----------------------------------------------------------------------------------------------------


def test_c17_only_the_first_200_is_acknowledged_by_us(agent: Agent) -> None:
    """RFC 3261 s13.2.2.4 wants an ACK for every copy; the stack sends one (docs/interop.md: use TCP or TLS to dial)."""
    with SipPeer(agent.address, user="repeater") as peer:
        dialogs: list[Dialog] = []

        def answer(dialog: Dialog) -> None:
            assert dialog.invite is not None
            dialog.respond(dialog.invite, 200, "OK", sdp=SDP)
            dialogs.append(dialog)

        peer.on_invite = answer
        agent.command(dial=peer.contact_uri)
        peer.wait_for(lambda item: item.method == "ACK", 5.0, "ACK")
        invite = dialogs[0].invite
        assert invite is not None
        dialogs[0].respond(invite, 200, "OK", sdp=SDP)
        time.sleep(0.2)
        acks = [item for item in peer.messages() if item.method == "ACK"]
        assert len(acks) == 1
        assert {item.uri for item in acks} == {peer.contact_uri}
        agent.command(hangup=True)
        peer.wait_for(lambda item: item.method == "BYE", 5.0, "BYE")


def test_c17_unacknowledged_200_is_repeated_and_then_the_call_ends(unacknowledged: Unacknowledged) -> None:
    """T1 doubling to T2 until 64 * T1 = 32 s, then BYE (RFC 3261 s13.3.1.4)."""
    peer, dialog = unacknowledged.peer, unacknowledged.dialog
    left_s = 33.0 - (time.monotonic() - unacknowledged.began)
    bye = dialog.wait_request("BYE", max(0.5, left_s + 2.0))
    copies = [item for item in peer.responses(dialog) if item.status == 200]
    assert len(copies) >= 9
    assert {item.body for item in copies} == {copies[0].body}
    spaces_s = [(b.received_ns - a.received_ns) / 1e9 for a, b in pairwise(copies)]
    assert spaces_s[:3] == pytest.approx([0.5, 1.0, 2.0], abs=0.3)
    assert max(spaces_s) == pytest.approx(4.0, abs=0.5)
    assert (bye.received_ns - copies[0].received_ns) / 1e9 == pytest.approx(32.0, abs=1.5)


# -- C24 and C54: routes -----------------------------------------------------------------------------------------------


def press_hash(phone: Phone) -> SipMessage:
    """Make the bot hang up; returns its BYE."""
    phone.media.sender.send_event(dtmf.press("#"), 101)
    assert phone.dialog is not None
    return phone.dialog.wait_request("BYE", 8.0)


def test_c24_loose_routes_in_both_directions(phone: Phone) -> None:
    host, port = phone.sip.local
    routes = [f"<sip:{host}:{port};r2=on;lr=on;ftag=x>", "<sip:10.0.0.2;lr>", "<sip:10.0.0.3;lr>"]
    phone.sip.contact_uri = "sip:a@10.0.0.5:5070"
    phone.dial("echo", headers=[("Record-Route", ", ".join(routes[:2])), ("Record-Route", routes[2])])
    dialog = phone.dialog
    assert dialog is not None and dialog.answer is not None
    assert [route for value in dialog.answer.all("Record-Route") for route in re.split(r",\s*", value)] == routes
    ringing = next(item for item in phone.sip.responses(dialog) if 100 < item.status < 200)
    assert len(re.findall("<sip:", " ".join(ringing.all("Record-Route")))) == 3
    dialog.route_set = []  # what the proxies would have taken off
    bye = press_hash(phone)
    assert bye.uri == "sip:a@10.0.0.5:5070"
    assert [route for value in bye.all("Route") for route in re.split(r",\s*", value)] == routes


@pytest.mark.parametrize("parameters", ["", ";lrx=1"])
def test_c24_strict_route_is_used_as_a_loose_one(phone: Phone, parameters: str) -> None:
    """RFC 3261 s12.2.1.1 wants the route in the Request-URI; the stack knows loose routing only (docs/interop.md)."""
    host, port = phone.sip.local
    phone.sip.contact_uri = "sip:a@10.0.0.5:5070"
    phone.dial("echo", headers=[("Record-Route", f"<sip:{host}:{port}{parameters}>")])
    assert phone.dialog is not None
    phone.dialog.route_set = []
    bye = press_hash(phone)
    assert (bye.uri, bye.all("Route")) == ("sip:a@10.0.0.5:5070", [f"<sip:{host}:{port}{parameters}>"])


def test_c24_reinvite_changes_only_the_remote_target(phone: Phone) -> None:
    host, port = phone.sip.local
    route = f"<sip:{host}:{port};lr>"
    phone.dial("echo", headers=[("Record-Route", route)])
    phone.sip.contact_uri = "sip:b@10.0.0.6:5070"
    assert phone.dialog is not None
    phone.dialog.route_set = []
    assert phone.dialog.call(phone.offer(), headers=[("Record-Route", "<sip:10.9.9.9;lr>")]).status == 200
    phone.dialog.route_set = []
    bye = press_hash(phone)
    assert (bye.uri, bye.all("Route")) == ("sip:b@10.0.0.6:5070", [route])


def test_c54_twilio_layout(bot: Bot, phone: Phone) -> None:
    host, port = phone.sip.local
    route = f"<sip:{host}:{port};lr;ftag=abc>"
    phone.sip.contact_uri = "sip:+15555550111@10.0.0.5:5060"
    via = f"Via: SIP/2.0/UDP 10.0.0.5:5060;rport=5060;branch={phone.sip.new_branch()}\r\nMax-Forwards:"
    headers = [
        ("Record-Route", route),
        ("X-Twilio-AccountSid", "AC00000000000000000000000000000000"),
        ("X-Twilio-CallSid", "CA00000000000000000000000000000000"),
        ("X-Twilio-ApiVersion", "2010-04-01"),
        ("Diversion", "<sip:+15555550199@twilio.example>;reason=unconditional"),
    ]
    sdp = session([media_section(phone.media.port, codecs=["PCMU", "PCMA"])])
    phone.dialog = phone.sip.dialog(uri=f"sip:+15555550100@{bot.address[0]}:{bot.port};edge=dublin;x-unknown=1")
    answer = phone.dialog.call(sdp, headers=headers, edit=lambda data: data.replace(b"Max-Forwards:", via.encode(), 1))
    assert answer.status == 200
    assert len(answer.all("Via")) == 2 and "10.0.0.5" in answer.all("Via")[1]
    assert answer.all("Record-Route") == [route]
    start = bot.start_of(phone.dialog.call_id)
    assert start["flow"] == "parrot" and start["codec"] == "PCMU"
    assert "15555550100" not in str(start) and "AC0000" not in str(bot.process.events())
    phone.connect(live_audio(answer))
    phone.dialog.route_set = []
    bye = press_hash(phone)
    assert (bye.uri, bye.all("Route")) == ("sip:+15555550111@10.0.0.5:5060", [route])


def test_c54_options_are_answered(peer: SipPeer) -> None:
    assert peer.request("OPTIONS").status == 200


# -- C26: where responses go -------------------------------------------------------------------------------------------


def options(via: str, call_id: str) -> bytes:
    lines = [
        "OPTIONS sip:echo@127.0.0.1 SIP/2.0",
        f"Via: {via}",
        "Max-Forwards: 70",
        "From: <sip:a@10.0.0.5>;tag=1",
        "To: <sip:echo@127.0.0.1>",
        f"Call-ID: {call_id}",
        "CSeq: 1 OPTIONS",
        "Content-Length: 0",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_c26_rport_and_received_are_filled_in(bot: Bot) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(3.0)
        sock.sendto(options("SIP/2.0/UDP 10.0.0.5:5060;rport;branch=z9hG4bKc26a", "c26a"), bot.address)
        data, source = sock.recvfrom(65535)
        response = parse(data)
        assert (response.status, source) == (200, bot.address)
        via = response.header("Via")
        assert (parameter(via, "received"), parameter(via, "rport")) == ("127.0.0.1", str(sock.getsockname()[1]))


def test_c26_without_rport_the_via_port_is_used(bot: Bot) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as named,
    ):
        sender.bind(("127.0.0.1", 0))
        named.bind(("127.0.0.1", 0))
        named.settimeout(3.0)
        port = named.getsockname()[1]
        sender.sendto(options(f"SIP/2.0/UDP 10.0.0.5:{port};branch=z9hG4bKc26b", "c26b"), bot.address)
        response = parse(named.recv(65535))
        assert response.status == 200
        assert parameter(response.header("Via"), "received") == "127.0.0.1"


# -- C28: legal but rare spellings -------------------------------------------------------------------------------------

SHORT = {b"Via": b"v", b"From": b"f", b"To": b"t", b"Call-ID": b"i", b"Contact": b"m", b"Content-Length": b"l",
         b"Content-Type": b"c"}  # fmt: skip


def short_names(data: bytes) -> bytes:
    for name, short in SHORT.items():
        data = data.replace(b"\r\n" + name + b":", b"\r\n" + short + b":")
    return data


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "short-names": short_names,
    "cseq-spaces": lambda data: data.replace(b"CSeq: 1 INVITE", b"cSEQ : 1   INVITE"),
    "upper-case": lambda data: data.replace(b"Content-Type: application/sdp", b"CONTENT-TYPE:APPLICATION/SDP"),
    "folded-contact": lambda data: data.replace(b"Contact: <", b"Contact:\r\n <"),
    "folded-subject": lambda data: data.replace(b"Max-Forwards: 70", b"Max-Forwards: 70\r\nSubject: one\r\n\ttwo"),
    "addr-spec": lambda data: re.sub(rb"From: <([^>]*)>", rb"From: \1", data),
    "quoted-name": lambda data: data.replace(b"From: <", rb'From: "Doe, \"J\" <x>" <'),
    "no-space": lambda data: data.replace(b"From: <", b'From: "Doe"<'),
    "token-name": lambda data: data.replace(b"From: <", b"From: John Doe <"),
    "unknown-headers": lambda data: data.replace(b"Max-Forwards: 70", b"Max-Forwards: 70\r\nX-A:\r\nX-B: ;;,\r\nk: x"),
    "lower-sip-version-via": lambda data: data.replace(b"SIP/2.0/UDP", b"SIP / 2.0 / UDP"),
    "utf8-name": lambda data: data.replace(b"From: <", 'From: "Jürgen Ł" <'.encode()),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_c28_spellings(bot: Bot, phone: Phone, name: str) -> None:
    phone.dialog = phone.sip.dialog("echo")
    response = phone.dialog.call(phone.offer(), edit=SPELLINGS[name])
    assert response.status == 200
    bot.start_of(phone.dialog.call_id)
    assert phone.hang_up().status == 200

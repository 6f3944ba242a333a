"""Junk, scanners and floods on the SIP port (cases C31, C34)."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from tests.interop.audio import echo_report
from tests.interop.bots import Bot, serving
from voxtrunk.bench.phone import CallRefused, Phone
from voxtrunk.bench.sip_message import build
from voxtrunk.bench.sip_peer import SipPeer

GOOD = [
    ("Via", "SIP/2.0/UDP 127.0.0.1:9;rport;branch=z9hG4bKjunk"),
    ("Max-Forwards", "70"),
    ("From", "<sip:a@127.0.0.1>;tag=1"),
    ("To", "<sip:echo@127.0.0.1>"),
    ("Call-ID", "junk"),
    ("CSeq", "1 OPTIONS"),
]


def without(name: str) -> list[tuple[str, str]]:
    return [header for header in GOOD if header[0] != name]


def with_value(name: str, value: str) -> list[tuple[str, str]]:
    return [(key, value if key == name else old) for key, old in GOOD]


LINE = "OPTIONS sip:echo@127.0.0.1 SIP/2.0"
JUNK: dict[str, bytes] = {
    "empty": b"",
    "keep-alive": b"\r\n\r\n",
    "nul": b"\0",
    "text": b"Hello",
    "stun": bytes.fromhex("000100002112a442") + bytes(12),
    "request-line-only": b"INVITE sip:x@y SIP/2.0\r\n\r\n",
    "half-a-line": b"INVITE sip:x@y",
    "long-call-id": build(LINE, with_value("Call-ID", "x" * 4096)),
    "no-via": build(LINE, without("Via")),
    "no-cseq": build(LINE, without("CSeq")),
    "no-call-id": build(LINE, without("Call-ID")),
    "no-from": build(LINE, without("From")),
    "no-to": build(LINE, without("To")),
    "cseq-mismatch": build(LINE, with_value("CSeq", "1 INVITE")),
    "cseq-huge": build(LINE, with_value("CSeq", "99999999999999 OPTIONS")),
    "no-colon": build(LINE, GOOD).replace(b"Max-Forwards: 70", b"Max-Forwards 70"),
    "long-body-promised": build(LINE, [*GOOD, ("Content-Length", "9999")]),
    "negative-length": build(LINE, [*GOOD, ("Content-Length", "-1")]),
    "bad-uri": build("OPTIONS :::: SIP/2.0", GOOD),
    "bad-version": build("OPTIONS sip:x@y SIP/7.0", GOOD),
    "response-to-nothing": build("SIP/2.0 200 OK", GOOD),
    "binary": bytes(range(256)) * 4,
    "bare-lf": build(LINE, GOOD).replace(b"\r\n", b"\n"),
    "biggest-datagram": build(LINE, [*GOOD, ("X-Big", "y" * 60_000)]),
}


@pytest.mark.parametrize("name", JUNK)
def test_c31_junk_by_udp_disturbs_nobody(bot: Bot, name: str) -> None:
    mark = bot.process.mark
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(JUNK[name], bot.address)
    with SipPeer(bot.address) as peer:
        assert peer.request("OPTIONS").status == 200
    assert not [event for event in bot.process.events(since=mark) if event["level"] in ("error", "critical")]


@pytest.mark.parametrize("name", ["text", "binary", "nul", "no-via", "half-a-line", "long-body-promised"])
def test_c31_junk_by_tcp_disturbs_nobody(bot: Bot, name: str) -> None:
    with socket.create_connection(bot.address, 3.0) as sock:
        sock.sendall(JUNK[name])
    with SipPeer(bot.address, transport="tcp") as peer:
        assert peer.request("OPTIONS").status == 200


def test_c31_a_call_follows_all_the_junk(bot: Bot) -> None:
    bot.still_answers()


@pytest.mark.parametrize("method", ["REGISTER", "SUBSCRIBE", "PUBLISH", "MESSAGE", "NOTIFY", "FOO"])
def test_methods_that_we_do_not_serve_get_an_answer(peer: SipPeer, method: str) -> None:
    assert peer.request(method).status >= 400


def test_unknown_requirement_is_named(peer: SipPeer) -> None:
    from voxtrunk.bench.sdp import media_section, session

    response = peer.dialog("echo").call(session([media_section(9)]), headers=[("Require", "no-such-thing")])
    assert (response.status, response.header("Unsupported")) == (420, "no-such-thing")


# -- C34 ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """Ten new calls a second from one address; nobody from 127.0.0.66."""
    sip = {"max_new_calls_per_s": 10, "allowed_sources": ["127.0.0.0/26"]}
    with serving(tmp_path_factory.mktemp("gated"), calls=4, rtp_ports=400, sip=sip) as bot:
        yield bot


def test_c34_a_flood_is_refused_and_live_calls_go_on(gated: Bot) -> None:
    with Phone(gated.address) as phone, SipPeer(gated.address, user="100", host="127.0.0.9") as scanner:
        phone.dial("echo")
        dialogs = [scanner.dialog("90015555550100") for _ in range(100)]
        for dialog in dialogs:
            dialog.send_invite(phone.offer(port=9), headers=[("User-Agent", "friendly-scanner")])
            time.sleep(0.005)
        report = echo_report(phone, 1.0)
        assert len(report.frames) >= 40
        finals = [dialog.wait_final(5.0).status for dialog in dialogs]
        accepted = [dialog for dialog, status in zip(dialogs, finals, strict=True) if status == 200]
        assert set(finals) <= {200, 486, 503}
        assert len(accepted) <= 3  # three of the four lines were free
        for dialog in accepted:
            assert dialog.bye().status == 200
        refused = gated.process.events("call.refused")
        assert len(refused) == 100 - len(accepted)
        assert "15555550100" not in str(refused)
    assert not [event for event in gated.process.events() if event["level"] == "error"]


def test_c34_strangers_are_turned_away(gated: Bot) -> None:
    with Phone(gated.address, host="127.0.0.66") as phone, pytest.raises(CallRefused, match="403 Forbidden"):
        phone.dial("parrot")
    gated.process.wait_for_event("call.refused", 3.0, status=403)


def test_c34_a_register_flood_gets_answers(gated: Bot) -> None:
    with SipPeer(gated.address) as scanner:
        dialogs = [scanner.dialog(uri=f"sip:{gated.address[0]}") for _ in range(100)]
        for dialog in dialogs:
            dialog.request("REGISTER")
        for dialog in dialogs:
            assert scanner.wait_response(dialog, "REGISTER", 1, 5.0).status >= 400
    with Phone(gated.address) as phone:
        time.sleep(0.3)
        phone.dial("echo")

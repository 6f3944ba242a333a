"""SIP messages: fields, short forms, folding, exact refusals."""

from __future__ import annotations

import pytest

from voxtrunk.bench.sip_message import address_of, build, parameter, parse, split_list, uri_of

OK = (
    b"SIP/2.0 200 OK\r\nv: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bKa;rport=5060\r\nVia: SIP/2.0/UDP 10.0.0.5\r\n"
    b"f: <sip:a@x>;tag=1\r\nt: <sip:b@x;tag=no>;tag=2\r\ni: c1\r\ncSeq : 7   INVITE\r\n"
    b"m:\r\n <sip:b@127.0.0.1:5070>\r\nl: 3\r\n\r\nabcdef"
)


def test_response_with_short_names_and_folding() -> None:
    message = parse(OK, received_ns=5, source=("127.0.0.1", 1))
    assert (message.status, message.reason, message.method, message.cseq) == (
        200,
        "OK",
        "INVITE",
        (7, "INVITE"),
    )
    assert message.header("call-id") == "c1"
    assert message.header("Contact") == "<sip:b@127.0.0.1:5070>"
    assert message.all("Via") == [
        "SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bKa;rport=5060",
        "SIP/2.0/UDP 10.0.0.5",
    ]
    assert (message.branch, message.body, message.uri) == ("z9hG4bKa", b"abc", "")
    assert parameter(message.header("To"), "tag") == "2"
    assert (message.received_ns, message.source) == (5, ("127.0.0.1", 1))


def test_request_made_by_build() -> None:
    headers = [("Via", "v;branch=z9hG4bKb"), ("From", "f"), ("To", "t"), ("Call-ID", "c"), ("CSeq", "1 BYE")]
    message = parse(build("BYE sip:x@y SIP/2.0", headers, b"hi"))
    assert (message.method, message.uri, message.status, message.reason, message.body) == (
        "BYE",
        "sip:x@y",
        0,
        "",
        b"hi",
    )
    assert message.header("Content-Length") == "2"


def test_a_length_of_the_tests_own_stays() -> None:
    assert b"Content-Length: 99\r\n" in build("BYE sip:x SIP/2.0", [("Content-Length", "99")], b"hi")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b"\r\n\r\n", b"\r\n", "SIP message has no empty line after its headers"),
        (b"SIP/2.0 200 OK", b"HTTP/1.1 200 OK", "SIP start line is malformed"),
        (b"SIP/2.0 200 OK", b"SIP/2.0", "SIP start line is malformed"),
        (b"SIP/2.0 200 OK", b"SIP/2.0 2000 OK", "SIP status code is malformed"),
        (b"i: c1", b"nothing here", "SIP header line has no colon"),
        (b"cSeq : 7   INVITE", b"CSeq: INVITE", "SIP CSeq is malformed"),
        (b"i: c1\r\n", b"", "SIP message has no Call-ID"),
        (b"l: 3", b"l: x", "SIP Content-Length is malformed"),
        (b"l: 3", b"l: 77", "SIP body is shorter than its Content-Length"),
        (b"i: c1", b"i: \xff\xfe", "SIP message is not UTF-8"),
    ],
)
def test_refusals(old: bytes, new: bytes, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse(OK.replace(old, new))
    assert str(refusal.value) == sentence


def test_helpers() -> None:
    assert uri_of('"a, <b>" <sip:a@b;lr>;tag=1'.replace("<b>", "b")) == "sip:a@b;lr"
    assert uri_of("sip:a@b;tag=1") == "sip:a@b"
    assert address_of("sip:a@10.0.0.1:5070;lr") == ("10.0.0.1", 5070)
    assert address_of("sip:10.0.0.1") == ("10.0.0.1", 5060)
    assert split_list(["<sip:a;lr>, <sip:b,c;lr>", "<sip:d>"]) == ["<sip:a;lr>", "<sip:b,c;lr>", "<sip:d>"]
    with pytest.raises(ValueError, match="not a SIP URI: 'tel:1'"):
        address_of("tel:1")

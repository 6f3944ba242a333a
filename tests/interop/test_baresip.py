"""Debian's baresip calls the bot: codecs, hold, keys, TCP, TLS with SRTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.interop.audio import SPEECH, SPEECH_WORDS, words_of
from tests.interop.baresip_peer import baresip
from tests.interop.bots import Bot, serving

SPEECH_S = 1.8
"""Length of the recording; a second of silence is before it."""


@pytest.mark.parametrize("codec", ["PCMU", "PCMA", "G722", "opus"])
def test_echo_in_each_codec(bot: Bot, tmp_path: Path, codec: str) -> None:
    with baresip(tmp_path / codec, codec=codec, speech=SPEECH) as peer:
        call_id = peer.dial(f"sip:echo@127.0.0.1:{bot.port}")
        start = bot.start_of(call_id)
        assert (start["codec"].lower(), start["transport"]) == (codec.lower(), "udp")
        time.sleep(1.0 + SPEECH_S + 0.5)
        peer.hang_up()
        assert bot.end_of(call_id)["cause"] == "caller_hung_up"
    assert SPEECH_WORDS in words_of(*peer.heard())


def test_hold_resume_keys_and_the_bots_bye(bot: Bot, tmp_path: Path) -> None:
    with baresip(tmp_path, speech=SPEECH) as peer:
        call_id = peer.dial(f"sip:echo@127.0.0.1:{bot.port}")
        time.sleep(1.0 + SPEECH_S + 0.5)
        peer.command("hold")
        time.sleep(0.5)
        peer.command("resume")
        time.sleep(0.5)
        peer.command("sndcode", "#")
        assert bot.end_of(call_id, 8.0)["cause"] == "we_hung_up"
    assert SPEECH_WORDS in words_of(*peer.heard())


def test_tcp(bot: Bot, tmp_path: Path) -> None:
    with baresip(tmp_path, speech=SPEECH, transport="tcp") as peer:
        call_id = peer.dial(f"sip:echo@127.0.0.1:{bot.port};transport=tcp")
        assert bot.start_of(call_id)["transport"] == "tcp"
        peer.hang_up()
        assert bot.end_of(call_id)["cause"] == "caller_hung_up"


def test_it_cancels_or_hangs_up_early(bot: Bot, tmp_path: Path) -> None:
    with baresip(tmp_path, speech=SPEECH) as peer:
        peer.command("dial", f"sip:echo@127.0.0.1:{bot.port}")
        peer.command("hangup")
        time.sleep(0.3)
    bot.still_answers()


@pytest.fixture(scope="module")
def secure_bot(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Bot]:
    """TLS and UDP, SRTP required."""
    sip = {"transports": ["udp", "tls"], "tls_certificate": str(certificate), "srtp": "required"}
    with serving(tmp_path_factory.mktemp("secure"), sip=sip) as bot:
        yield bot


def test_tls_with_srtp(secure_bot: Bot, certificate: Path, tmp_path: Path) -> None:
    with baresip(tmp_path, speech=SPEECH, transport="tls", srtp="srtp-mand", ca_file=certificate) as peer:
        call_id = peer.dial(f"sip:echo@127.0.0.1:{secure_bot.port + 1};transport=tls")
        start = secure_bot.start_of(call_id)
        assert (start["transport"], start["media_encryption"]) == ("tls", "srtp")
        time.sleep(1.0 + SPEECH_S + 0.5)
        peer.hang_up()
        secure_bot.end_of(call_id)
    assert SPEECH_WORDS in words_of(*peer.heard())


def test_plain_rtp_is_refused_where_srtp_is_required(secure_bot: Bot, tmp_path: Path) -> None:
    with baresip(tmp_path, speech=SPEECH) as peer:
        peer.command("dial", f"sip:echo@127.0.0.1:{secure_bot.port}")
        assert "488" in peer.wait_event("CALL_CLOSED")["param"]


def test_optional_srtp_takes_both(certificate: Path, tmp_path: Path) -> None:
    sip = {"transports": ["udp", "tls"], "tls_certificate": str(certificate), "srtp": "optional"}
    (tmp_path / "bot").mkdir()
    with serving(tmp_path / "bot", sip=sip) as bot:
        for srtp, expected in (("srtp-mand", "srtp"), ("", "none")):
            with baresip(tmp_path / f"peer{srtp}", speech=SPEECH, srtp=srtp) as peer:
                call_id = peer.dial(f"sip:echo@127.0.0.1:{bot.port}")
                start = bot.start_of(call_id)
                assert start["media_encryption"] == expected
                time.sleep(1.6)
                peer.hang_up()
                bot.end_of(call_id)
            pcm, _ = peer.heard()
            assert np.abs(pcm).max() > 2000

"""The doctor: what it finds, and what it says when something is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dialog.services import Services
from synth.synthesizer import SynthesisError
from telephony.settings import SipSettings
from tests.dialog.engines import ScriptedRecogniser, ToneSynthesizer
from voxtrunk import check
from voxtrunk.bench.server_process import free_rtp_range, free_sip_port
from voxtrunk.check import SENTENCE, Check, run_check, word_agreement
from voxtrunk.config import Config


async def report(path: Path | None, environ: Mapping[str, str]) -> tuple[int, list[str]]:
    lines: list[str] = []
    code = await run_check(path, environ, lines.append)
    return code, [line.rstrip("\n") for line in lines]


async def test_everything_is_well_with_the_real_parts() -> None:
    first, last = free_rtp_range(40)
    code, lines = await report(
        None,
        {
            "VOXTRUNK_SIP__PORT": str(free_sip_port()),
            "VOXTRUNK_SIP__RTP_PORT_MIN": str(first),
            "VOXTRUNK_SIP__RTP_PORT_MAX": str(last),
            "VOXTRUNK_SIP__CODECS": "opus,PCMA",
        },
    )
    assert code == 0, lines
    assert [line.split(": ")[0] for line in lines] == [
        "ok   configuration",
        "ok   SIP",
        "ok   call with opus",
        "ok   call with PCMA",
        "ok   speech detection",
        "ok   voice and recognition",
    ]
    assert "registration off" in lines[1]


async def test_a_wrong_configuration_is_all_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "bot.toml"
    path.write_text("[sip]\nport = 0\nprot = 1\n")
    code, lines = await report(path, {})
    assert (code, lines) == (2, [f"FAIL configuration: {path}:3: there is no key sip.prot; did you mean port?"])


@pytest.fixture
def fake_parts(monkeypatch: pytest.MonkeyPatch) -> Services:
    services = Services(ToneSynthesizer(), ScriptedRecogniser("the quick brown fox jumps over the lazy dog"))
    monkeypatch.setattr(check, "build_services", lambda *settings: services)
    return services


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Run that check alone."""
    every = check.checks

    def one(config: Config, services: Services) -> tuple[Check, ...]:
        return tuple(item for item in every(config, services) if item.name == name)

    monkeypatch.setattr(check, "checks", one)


async def test_what_was_said_is_not_what_was_heard(fake_parts: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "voice and recognition")
    fake_parts.recogniser = ScriptedRecogniser("the cat sat on the mat")
    code, lines = await report(None, {})
    assert code == 1
    assert lines[-1] == (
        f"FAIL voice and recognition: said {SENTENCE!r}, recognised 'the cat sat on the mat': "
        "check synth.voice, stt.model and stt.language"
    )


async def test_a_broken_voice_does_not_stop_the_other_checks(
    fake_parts: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(ToneSynthesizer):
        async def warm_up(self, phrases: object = ()) -> None:
            raise SynthesisError("there is no voice 'x'")

    fake_parts.synthesizer = Broken()
    monkeypatch.setattr(check, "_listen", _fine)
    monkeypatch.setattr(check, "_call_with", _fine)
    code, lines = await report(None, {"VOXTRUNK_SIP__CODECS": "PCMU"})
    assert code == 1
    assert [line[:4] for line in lines] == ["ok  ", "ok  ", "ok  ", "ok  ", "FAIL"]
    assert lines[-1] == "FAIL voice and recognition: there is no voice 'x'"


async def _fine(*_: object) -> str:
    return "fine"


async def test_a_threshold_that_hears_nothing(fake_parts: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "speech detection")
    fake_parts.listen = replace_threshold(fake_parts, 1.01)
    code, lines = await report(None, {})
    assert code == 1 and "set it between the two" in lines[-1]


def replace_threshold(services: Services, threshold: float) -> object:
    return services.listen.model_copy(update={"vad_threshold": threshold})


async def test_certificates(fake_parts: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch, "certificate")
    pem = tmp_path / "tls.pem"
    pem.write_text("")
    environ = {"VOXTRUNK_SIP__TLS_CERTIFICATE": str(pem)}
    now = datetime.now(UTC)
    monkeypatch.setattr(check, "expires", lambda path: now + timedelta(days=90))
    assert (await report(None, environ))[0] == 0
    monkeypatch.setattr(check, "expires", lambda path: now + timedelta(days=3, hours=1))
    code, lines = await report(None, environ)
    assert code == 1 and lines[-1].endswith("in 3 days: renew it")


async def test_a_port_in_use_is_said_by_name(fake_parts: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    only(monkeypatch, "SIP")
    port = free_sip_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((SipSettings().interface, port))
        code, lines = await report(None, {"VOXTRUNK_SIP__PORT": str(port)})
    assert code == 1
    assert f"cannot listen on udp:127.0.0.1:{port}" in lines[-1]


@pytest.mark.parametrize(
    ("heard", "share"),
    [("One two, THREE four.", 1.0), ("one two four", 0.75), ("four three two one", 0.25), ("", 0.0)],
)
def test_word_agreement(heard: str, share: float) -> None:
    assert word_agreement("One two three four", heard) == share

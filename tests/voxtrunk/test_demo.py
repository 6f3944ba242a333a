"""The demo: a real bot, a real call, a reply that the recogniser understands."""

from __future__ import annotations

import io
import socket
from pathlib import Path

import pytest
from rich.console import Console

from telephony.settings import SipSettings
from voxtrunk.bench.server_process import free_rtp_range, free_sip_port
from voxtrunk.check import word_agreement
from voxtrunk.demo import DemoOptions, run_demo, usable_port
from voxtrunk.recording import DEMO_SPEECH, load_recording


@pytest.fixture
def config(tmp_path: Path) -> Path:
    first, last = free_rtp_range(60)
    path = tmp_path / "bot.toml"
    path.write_text(f"[sip]\nport = {free_sip_port()}\nrtp_port_min = {first}\nrtp_port_max = {last}\n")
    return path


def test_one_call(config: Path, tmp_path: Path) -> None:
    port = int(config.read_text().splitlines()[1].split()[-1])
    text = io.StringIO()
    options = DemoOptions(config, DEMO_SPEECH, tmp_path / "heard.wav", once=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", port))
        code = run_demo(options, {}, Console(file=text, width=200))
    shown = text.getvalue()
    assert code == 0, shown
    assert f"Port {port} is in use; the bot takes" in shown
    assert "speech recognition" in shown and "total" in shown
    heard = shown.splitlines()[-2]
    assert word_agreement("you are talking to an automated voice", heard) > 0.8
    assert word_agreement("I'm afraid I don't know who sent this message", heard) > 0.8
    assert 8 < len(load_recording(options.out)) / 16_000 < 20


def test_a_bot_that_does_not_start_is_told(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text() + '[stt]\nmodel = "/nonexistent/model"\n')
    text = io.StringIO()
    options = DemoOptions(config, DEMO_SPEECH, tmp_path / "heard.wav", once=True)
    assert run_demo(options, {}, Console(file=text, width=200)) == 1
    assert "/nonexistent/model" in text.getvalue()


def test_the_configured_port_is_used_when_it_is_free() -> None:
    port = free_sip_port()
    settings = SipSettings(port=port)
    assert usable_port(settings) == port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as taken:
        taken.bind((settings.interface, port))
        taken.listen()
        assert usable_port(settings) not in (port, port + 1)

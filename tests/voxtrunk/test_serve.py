"""``voxtrunk serve`` as a process: ready, signals, exit codes, and one line for every way to fail."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from voxtrunk.bench.server_process import ServerProcess, free_rtp_range, free_sip_port


@pytest.fixture
def config(tmp_path: Path) -> Path:
    first, last = free_rtp_range(40)
    path = tmp_path / "bot.toml"
    path.write_text(f"[sip]\nport = {free_sip_port()}\nrtp_port_min = {first}\nrtp_port_max = {last}\n")
    return path


def serve(*arguments: str, environment: dict[str, str] | None = None) -> ServerProcess:
    return ServerProcess((sys.executable, "-m", "voxtrunk", "serve", *arguments), environment=environment)


def failing(*arguments: str) -> tuple[int, list[str], dict[str, object]]:
    """Exit code, stderr lines, and the last event."""
    done = subprocess.run(
        (sys.executable, "-m", "voxtrunk", "serve", *arguments), capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stderr.splitlines(), json.loads(done.stdout.splitlines()[-1])


def test_ready_then_stopped_by_sigterm(config: Path) -> None:
    server = serve("--config", str(config), environment={"VOXTRUNK_BENCH_GIL_HOG": "1"})
    ready = server.start()
    assert set(ready) >= {"ts", "version", "listen", "flows", "startup_ms", "rss_mb", "models"}
    (warning,) = server.events("server.warning")
    assert warning["level"] == "warning" and "VOXTRUNK_BENCH_GIL_HOG" in warning["warning"]
    assert server.stop() == 0
    assert [event["event"] for event in server.events()][-2:][1] == "server.stopped"
    assert not [line for line in server.other_lines if line], "stderr must be empty"


def test_the_configuration_is_wrong(config: Path) -> None:
    config.write_text("[sip]\nport = 0\n")
    code, stderr, event = failing("--config", str(config))
    message = f"{config}:2: sip.port: 0 is not allowed; allowed: whole number 1..65534"
    assert (code, stderr) == (2, [f"voxtrunk: {message}"])
    assert (event["event"], event["error_type"], event["error"]) == ("server.failed", "ConfigError", message)


def test_the_file_is_missing(tmp_path: Path) -> None:
    code, stderr, _ = failing("--config", str(tmp_path / "none.toml"))
    assert code == 2
    assert stderr == [f"voxtrunk: {tmp_path}/none.toml: cannot read the configuration: No such file or directory"]


def test_the_port_is_in_use(config: Path) -> None:
    port = int(config.read_text().splitlines()[1].split()[-1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", port))
        code, stderr, event = failing("--config", str(config))
    assert code == 1
    assert len(stderr) == 1 and "Address already in use" in stderr[0] and "sip.port" in stderr[0]
    assert event["event"] == "server.failed"


def test_a_model_is_missing(config: Path) -> None:
    config.write_text(config.read_text() + '[stt]\nmodel = "/nonexistent/model"\n')
    code, stderr, _ = failing("--config", str(config))
    assert code == 1
    assert len(stderr) == 1 and "/nonexistent/model" in stderr[0]


def test_ctrl_c_stops_it_too(config: Path) -> None:
    server = serve("--config", str(config))
    server.start()
    assert server._process is not None
    server._process.send_signal(signal.SIGINT)
    assert server.wait() == 0

"""SIPp scenarios against the bot; SIPp itself checks each step and counts failed calls."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.interop.bots import HOST, Bot
from voxtrunk.bench.server_process import free_rtp_range, free_sip_port

SCENARIOS: Final = Path(__file__).with_name("sipp")


def run_sipp(
    bot: Bot,
    scenario: str,
    folder: Path,
    *,
    calls: int = 1,
    rate: int = 10,
    transport: str = "u1",
    service: str = "echo",
) -> None:
    """All calls of a scenario must succeed."""
    first, _ = free_rtp_range(20)
    command = ["sipp", f"{HOST}:{bot.port}", "-sf", str(SCENARIOS / f"{scenario}.xml"), "-s", service]
    command += ["-i", HOST, "-p", str(free_sip_port()), "-mi", HOST, "-mp", str(first), "-m", str(calls)]
    command += [
        "-r",
        str(rate),
        "-l",
        "8",
        "-t",
        transport,
        "-timeout",
        "30",
        "-timeout_error",
        "-trace_err",
        "-nostdin",
    ]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    errors = "".join(path.read_text(errors="replace") for path in folder.glob("*errors.log"))
    assert result.returncode == 0, f"{errors[-2000:]}\n{result.stdout[-1500:]}"


@pytest.mark.parametrize("scenario", ["call", "hold", "no_offer", "bot_hangs_up", "options"])
def test_scenario(bot: Bot, tmp_path: Path, scenario: str) -> None:
    run_sipp(bot, scenario, tmp_path)


def test_tcp(bot: Bot, tmp_path: Path) -> None:
    run_sipp(bot, "call", tmp_path, transport="t1")


def test_forty_calls_eight_at_a_time(bot: Bot, tmp_path: Path) -> None:
    mark = bot.process.mark
    run_sipp(bot, "call", tmp_path, calls=40, rate=20)
    assert len(bot.process.events("call.start", since=mark)) >= 40
    bot.still_answers()

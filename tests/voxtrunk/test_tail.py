"""``voxtrunk tail`` as a process: from a pipe, from a file, with a reader that goes away."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

TAIL = (sys.executable, "-m", "voxtrunk", "tail")


def line(event: str, call: str = "", **fields: object) -> str:
    return json.dumps({"ts": "2026-01-02T03:04:05.000Z", "level": "info", "event": event, "call": call, **fields})


LOG = "\n".join(
    [
        line("call.start", "aaaa0001", caller="sip:…0100@x", called="parrot", codec="PCMU"),
        line("turn", "aaaa0001", turn=1, total_ms=640.0, end_of_turn_ms=520.0, stt_ms=120.0),
        line("call.start", "bbbb0002", caller="sip:…0111@x", called="echo", codec="opus"),
        line("call.end", "aaaa0001", cause="caller_hung_up", turns=1),
        "",
    ]
)


def test_from_a_pipe() -> None:
    done = subprocess.run(TAIL, input=LOG, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout.splitlines()
    assert len(shown) == 5 and "turn 1" in shown[1] and "640 ms" in shown[1]
    assert shown[-1] == "2 calls, 1 turns, 0 warnings, turn p50 640 ms, p95 640 ms"


def test_one_call_only() -> None:
    done = subprocess.run((*TAIL, "--call", "bbbb"), input=LOG, capture_output=True, text=True, timeout=30)
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["bbbb0002", "calls,"]


def test_a_file_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "bot.log"
    path.write_text(LOG)
    process = subprocess.Popen((*TAIL, str(path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(4)]
    assert "call" in first[0]
    with path.open("a") as log:
        log.write(line("turn", "bbbb0002", turn=7, total_ms=100.0) + "\n")
    assert "turn 7" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert (process.returncode, stderr) == (0, "")


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    done = subprocess.run((*TAIL, str(tmp_path / "none")), capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    process = subprocess.Popen(TAIL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.write(LOG)
    process.stdin.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(10) == 1

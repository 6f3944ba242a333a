"""The command line: what it offers, how fast, and that failures are one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from voxtrunk import __version__
from voxtrunk.cli import app

COMMANDS = ("serve", "demo", "call", "say", "vocode", "tail", "check", "models", "bench")


def run(*arguments: str, environ: dict[str, str] | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", **(environ or {})})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_help_names_every_command() -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", [*COMMANDS, "bench calls", "bench vocoder", "models list", "models add bigvgan"])
def test_every_command_has_help(command: str) -> None:
    code, out, _ = run(*command.split(), "--help")
    assert code == 0 and "Usage" in out


def test_version() -> None:
    assert run("--version") == (0, f"voxtrunk {__version__}\n", "")


def test_help_loads_no_engine() -> None:
    code = (
        "import sys; sys.argv = ['voxtrunk', '--help']\n"
        "from voxtrunk.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'onnxruntime', 'ctranslate2', 'baresip', 'pydantic', 'av'} & set(sys.modules)\n"
        "sys.exit(f'help loads {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("call", "sip:echo@127.0.0.1:9"),
        ("say", "hello"),
        ("demo", "--once"),
    ],
)
def test_a_wrong_configuration_is_told_by_every_command_that_reads_one(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    config = tmp_path / "bot.toml"
    config.write_text("[sip]\nprot = 1\n")
    code, out, err = run(*arguments, "--config", str(config))
    assert code == 2
    assert f"{config}:2: there is no key sip.prot; did you mean port?" in out + err
    assert len((out + err).splitlines()) == 1


def test_the_file_can_come_from_the_environment(tmp_path: Path) -> None:
    config = tmp_path / "bot.toml"
    code, _, err = run("say", "hello", environ={"VOXTRUNK_CONFIG": str(config)})
    assert code == 2 and str(config) in err


def test_a_call_that_nobody_answers_is_one_line() -> None:
    code, _, err = run("call", "sip:echo@127.0.0.1:9;transport=tcp", "--seconds", "1")
    assert code == 1
    assert len(err.splitlines()) == 1 and err.startswith("voxtrunk: cannot call sip:echo@127.0.0.1:9")


def test_a_recording_that_is_missing_is_one_line(tmp_path: Path) -> None:
    code, _, err = run("call", "sip:echo@127.0.0.1:9", "--play", str(tmp_path / "none.wav"))
    assert code == 1 and len(err.splitlines()) == 1 and "none.wav" in err


def test_say_writes_where_it_is_told(tmp_path: Path) -> None:
    out = tmp_path / "hello.wav"
    code, told, _ = run("say", "Hello.", "--out", str(out))
    assert code == 0 and out.stat().st_size > 10_000 and str(out) in told

"""README, CONTRIBUTING, the systemd unit and the package data: what they say is so."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from dialog.flow import FLOWS
from voxtrunk.cli import app
from voxtrunk.config import Config

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def shell_lines(document: str) -> Iterator[str]:
    """Every command quoted in a document: lines of ``sh`` blocks, and code spans that name our programs."""
    content = text(document)
    for block in re.findall(r"```sh\n(.*?)```", content, re.DOTALL):
        yield from block.splitlines()
    for span in re.findall(r"`([^`\n]+)`", content):
        if re.match(r"(voxtrunk|make) ", span):
            yield span


def commands(program: str) -> list[tuple[str, list[str]]]:
    found = []
    for document in DOCUMENTS:
        for line in shell_lines(document):
            for part in re.split(r"\\?\||;", line):
                words = [word for word in shlex.split(part) if not re.match(r"[A-Z_]+=[^ ]*$", word)]
                if words and words[0] == program:
                    found.append((document, words[1:]))
    return found


def subcommands(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def resolve(words: list[str]) -> tuple[Any, list[str]]:
    command: Any = typer.main.get_command(app)
    while words and words[0] in subcommands(command):
        command, words = subcommands(command)[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize(("document", "words"), commands("voxtrunk"), ids=lambda value: str(value)[:60])
def test_quoted_commands_exist(document: str, words: list[str]) -> None:
    command, rest = resolve(words)
    assert not subcommands(command), f"{document}: voxtrunk {' '.join(words)}"
    options = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    for word in rest:
        if word.startswith("--"):
            assert word in options, f"{document}: {command.name} has no {word}"


def test_the_readme_names_every_command() -> None:
    named = {words[0] for document, words in commands("voxtrunk") if document == "README.md"}
    assert named == set(subcommands(typer.main.get_command(app)))


@pytest.mark.parametrize(("document", "words"), commands("make"), ids=lambda value: str(value)[:60])
def test_quoted_make_targets_exist(document: str, words: list[str]) -> None:
    targets = re.findall(r"^([\w$()/.-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {target.replace("$(VENV)", ".venv") for target in targets}
    assert words and words[0] in known, f"{document}: make {words}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", text(document)):
        assert target.startswith("https://") or (ROOT / target).exists(), f"{document}: {target}"


def test_variables_in_documents_are_settings() -> None:
    for document in DOCUMENTS:
        for section, key in re.findall(r"VOXTRUNK_([A-Z]+)__([A-Z_]+)", text(document)):
            if section != "SECTION":
                assert hasattr(getattr(Config(), section.lower()), key.lower()), f"{document}: {section}.{key}"


def test_the_example_flow_works() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", text("CONTRIBUTING.md"), re.DOTALL)
    try:
        exec(compile(example, "CONTRIBUTING.md", "exec"), {"__name__": "example"})
        assert FLOWS["speaking-clock"].__doc__
    finally:
        FLOWS.pop("speaking-clock", None)


def unit() -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for line in (ROOT / "systemd" / "voxtrunk.service").read_text().splitlines():
        if match := re.match(r"(\w+)=(.*)", line):
            values.setdefault(match.group(1), []).append(match.group(2))
    return values


def test_systemd_waits_longer_than_the_bot_drains() -> None:
    assert float(unit()["TimeoutStopSec"][0]) > Config().sip.drain_limit_s + 10
    assert unit()["KillSignal"] == ["SIGTERM"]


def test_systemd_starts_a_command_that_exists() -> None:
    (start,) = unit()["ExecStart"]
    program, *words = start.split()
    assert program.endswith("/voxtrunk")
    command, _ = resolve(words)
    assert command.name == "serve"


def test_the_metadata_ships_the_recording_and_names_the_command() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["options.package_data"]["voxtrunk"].split() == ["data/*"]
    assert setup["options.entry_points"]["console_scripts"].split("=")[1].strip() == "voxtrunk.cli:main"
    assert (ROOT / "voxtrunk" / "data" / "LICENSE.md").exists()


def test_every_dependency_has_a_reason_and_a_lower_bound() -> None:
    lines = (ROOT / "setup.cfg").read_text().splitlines()
    start = lines.index("install_requires =") + 1
    wanted = lines[start : lines.index("", start)]
    for reason, requirement in zip(wanted[::2], wanted[1::2], strict=True):
        assert reason.strip().startswith("# "), requirement
        assert re.fullmatch(r"[\w-]+>=[\w.]+(,<[\w.]+)?", requirement.strip()), requirement

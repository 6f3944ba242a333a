"""The configuration: TOML sections and ``VOXTRUNK_SECTION__KEY`` variables, checked before anything starts."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dialog.flow import FLOWS
from dialog.settings import FlowSettings, ListenSettings, SttSettings
from probes.settings import LogSettings
from synth.settings import SynthSettings
from telephony.settings import SipSettings
from voxtrunk.allowed_values import allowed_values, is_list, is_optional, is_secret

ENV_PREFIX: Final = "VOXTRUNK_"

NOT_SETTINGS: Final = frozenset({"VOXTRUNK_CONFIG", "VOXTRUNK_BENCH_GIL_HOG"})
"""Variables with our prefix that are not configuration keys: the file to read, and the bench's busy thread."""


_NAMES_LISTED: Final = 40
"""More names than this in a message help nobody."""


class ConfigError(Exception):
    """The configuration cannot be used; the message has one line for each mistake, and no secrets."""


class Config(BaseModel):
    """Everything that can be set, one attribute a section."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sip: SipSettings = Field(default_factory=SipSettings)
    listen: ListenSettings = Field(default_factory=ListenSettings)
    stt: SttSettings = Field(default_factory=SttSettings)
    flow: FlowSettings = Field(default_factory=FlowSettings)
    synth: SynthSettings = Field(default_factory=SynthSettings)
    log: LogSettings = Field(default_factory=LogSettings)


SECTIONS: Final[Mapping[str, Mapping[str, FieldInfo]]] = {
    name: field.annotation.model_fields
    for name, field in Config.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}
"""Section -> key -> field."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """One value and where it was written, for messages."""

    value: object
    origin: str


_Settings = dict[tuple[str, str], _Setting]


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read the file, apply the environment over it, check everything.

    Args:
        path: TOML file; None uses the built-in defaults.
        environ: e.g. ``os.environ``; names without our prefix are ignored.

    Raises:
        ConfigError: unreadable file, unknown section, key or variable, or a value that is not allowed.
    """
    mistakes: list[str] = []
    settings = _from_file(path, mistakes) if path is not None else {}
    settings.update(_from_environment(environ, mistakes))
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    values: dict[str, dict[str, object]] = {}
    for (section, key), setting in settings.items():
        values.setdefault(section, {})[key] = setting.value
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        raise ConfigError("\n".join(dict.fromkeys(_mistake(d, settings, path) for d in details))) from None
    if config.flow.default not in FLOWS:
        where = _origin(("flow", "default"), settings, path)
        hint = _hint(config.flow.default, FLOWS)
        raise ConfigError(f"{where}flow.default: there is no flow {config.flow.default!r}; {hint}")
    return config


def _from_file(path: Path, mistakes: list[str]) -> _Settings:
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    lines = _line_numbers(text)
    settings: _Settings = {}
    for section, keys in document.items():
        where = f"{path}:{lines.get((section, ''), lines.get(('', section), 1))}"
        if section not in SECTIONS:
            mistakes.append(f"{where}: there is no section [{section}]; {_hint(section, SECTIONS)}")
        elif not isinstance(keys, dict):
            mistakes.append(f"{where}: {section} is a section: write [{section}] and its keys below")
        else:
            for key, value in keys.items():
                where = f"{path}:{lines.get((section, key), 1)}"
                if key in SECTIONS[section]:
                    settings[section, key] = _Setting(value, where)
                else:
                    mistakes.append(f"{where}: there is no key {section}.{key}; {_hint(key, SECTIONS[section])}")
    return settings


def _line_numbers(text: str) -> dict[tuple[str, str], int]:
    """(section, key) -> line, for plainly written TOML; what is not found has no line in the message."""
    lines: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[([\w-]+)]", line):
            section = header.group(1)
            lines.setdefault((section, ""), number)
        elif key := re.match(r"\s*([\w-]+)\s*=", line):
            lines.setdefault((section, key.group(1)), number)
    return lines


def _from_environment(environ: Mapping[str, str], mistakes: list[str]) -> _Settings:
    known = {f"{ENV_PREFIX}{s}__{k}".upper(): (s, k) for s, keys in SECTIONS.items() for k in keys}
    settings: _Settings = {}
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX) or name in NOT_SETTINGS:
            continue
        if name not in known:
            mistakes.append(f"environment: {name} is no setting; {_hint(name, known)}")
            continue
        section, key = known[name]
        field = SECTIONS[section][key]
        settings[section, key] = _Setting(_parse(environ[name], field), f"environment: {name}")
    return settings


def _parse(text: str, field: FieldInfo) -> object:
    """A variable's text; the types of single values are pydantic's business."""
    if is_list(field):
        return [item.strip() for item in text.split(",") if item.strip()]
    return None if is_optional(field) and not text else text


def _mistake(detail: ErrorDetails, settings: _Settings, path: Path | None) -> str:
    section, *rest = (str(part) for part in detail["loc"])
    message = detail["msg"].removeprefix("Value error, ")
    if not rest:
        # A contradiction between keys, told by the section's own check; the input would hold secrets.
        told = message if message.startswith(f"{section}.") else f"[{section}] {message}"
        return _origin(None, settings, path) + told
    key = rest[0]
    field = SECTIONS[section][key]
    given = "this value" if is_secret(field) else _shown(detail["input"])
    where = _origin((section, key), settings, path)
    return f"{where}{section}.{key}: {given} is not allowed; allowed: {allowed_values(field)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _origin(name: tuple[str, str] | None, settings: _Settings, path: Path | None) -> str:
    if name is not None and name in settings:
        return f"{settings[name].origin}: "
    return f"{path}: " if path is not None else ""


def _hint(wrong: str, known: Iterable[str]) -> str:
    """Names the nearest, or else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(wrong, names, n=1, cutoff=0.7)
    if near:
        return f"did you mean {near[0]}?"
    if len(names) <= _NAMES_LISTED:
        return f"there are: {', '.join(names)}"
    return f"they are {ENV_PREFIX}SECTION__KEY with the sections and keys of configs/default.toml"

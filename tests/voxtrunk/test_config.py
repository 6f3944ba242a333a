"""Reading the configuration: file, environment, defaults, and every way to get it wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from voxtrunk.config import SECTIONS, Config, ConfigError, load_config

CONFIGS = Path(__file__).parents[2] / "configs"


def write(folder: Path, text: str) -> Path:
    path = folder / "bot.toml"
    path.write_text(text, encoding="utf-8")
    return path


def mistakes(path: Path | None, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(path, environ or {})
    prefix = f"{path.parent}/" if path is not None else ""
    return [line.replace(prefix, "") for line in str(caught.value).splitlines()]


def test_without_a_file_everything_has_its_default() -> None:
    assert load_config(None, {"PATH": "/bin", "VOXTRUNK_CONFIG": "x", "VOXTRUNK_BENCH_GIL_HOG": "1"}) == Config()


def test_the_default_file_says_what_is_built_in() -> None:
    path = CONFIGS / "default.toml"
    assert load_config(path, {}) == Config()
    document = tomllib.loads(path.read_text())
    text = path.read_text()
    for section, fields in SECTIONS.items():
        for key, field in fields.items():
            written = key in document[section]
            assert written or f"\n# {key} = " in text, f"{section}.{key} is not in default.toml"
            assert written or field.default is None, f"{section}.{key} is commented out, but has a default"


def test_the_default_file_has_no_secret_and_a_comment_for_every_key() -> None:
    lines = (CONFIGS / "default.toml").read_text().splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if " = " in line.split("#")[0]:
            assert before.startswith("#"), f"no comment above: {line}"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.name)
def test_every_packaged_file_is_valid(path: Path) -> None:
    load_config(path, {})


def test_the_twilio_file_takes_what_a_trunk_sends() -> None:
    sip = load_config(CONFIGS / "twilio.toml", {}).sip
    assert sip.codecs == ("PCMU", "PCMA")
    assert sip.registrar is None
    assert len(sip.allowed_sources) == 8
    assert all(network.prefixlen == 30 for network in sip.allowed_sources)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "[sip]\nport = 5070\nmax_calls = 3\n")
    environ = {
        "VOXTRUNK_SIP__PORT": "5080",
        "VOXTRUNK_SIP__CODECS": "PCMU, PCMA",
        "VOXTRUNK_SIP__ALLOWED_SOURCES": "",
        "VOXTRUNK_SIP__TLS_VERIFY": "false",
        "VOXTRUNK_SIP__REGISTRAR": "",
        "VOXTRUNK_LISTEN__VAD_THRESHOLD": "0.6",
    }
    config = load_config(path, environ)
    assert (config.sip.port, config.sip.max_calls, config.sip.codecs) == (5080, 3, ("PCMU", "PCMA"))
    assert config.sip.allowed_sources == () and config.sip.registrar is None and not config.sip.tls_verify
    assert config.listen.vad_threshold == 0.6


def test_unknown_names_are_errors_with_a_suggestion(tmp_path: Path) -> None:
    path = write(tmp_path, "[sip]\n\nprot = 5060\n[lisen]\n[flow]\nzzz = 1\n")
    assert mistakes(path) == [
        "bot.toml:3: there is no key sip.prot; did you mean port?",
        "bot.toml:4: there is no section [lisen]; did you mean listen?",
        "bot.toml:6: there is no key flow.zzz; there are: apology, default, goodbye, greeting, max_call_s, "
        "not_understood, still_there",
    ]


def test_unknown_variables_are_errors_with_a_suggestion() -> None:
    assert mistakes(None, {"VOXTRUNK_SIP__PROT": "1"}) == [
        "environment: VOXTRUNK_SIP__PROT is no setting; did you mean VOXTRUNK_SIP__PORT?"
    ]
    assert mistakes(None, {"VOXTRUNK_QQQQQQ": "1"}) == [
        "environment: VOXTRUNK_QQQQQQ is no setting; "
        "they are VOXTRUNK_SECTION__KEY with the sections and keys of configs/default.toml"
    ]


def test_bad_values_name_key_place_and_what_is_allowed(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '[sip]\nport = 70000\ncodecs = ["opus", "G729"]\nsrtp = "yes"\nallowed_sources = ["x"]\n'
        '[listen]\nvad_threshold = "high"\n',
    )
    assert mistakes(path, {"VOXTRUNK_SIP__MAX_CALLS": "many"}) == [
        "bot.toml:2: sip.port: 70000 is not allowed; allowed: whole number 1..65534",
        "bot.toml:3: sip.codecs: 'G729' is not allowed; allowed: list of opus, G722, PCMU, PCMA (not empty)",
        "bot.toml:4: sip.srtp: 'yes' is not allowed; allowed: off, optional, required",
        "environment: VOXTRUNK_SIP__MAX_CALLS: sip.max_calls: 'many' is not allowed; allowed: whole number 1..1000",
        "bot.toml:5: sip.allowed_sources: 'x' is not allowed; allowed: list of network such as 192.0.2.0/24",
        "bot.toml:7: listen.vad_threshold: 'high' is not allowed; allowed: number 0.05..0.95",
    ]


def test_contradictions_between_keys_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, '[sip]\ntransports = ["tls"]\n[listen]\nearly_pause_ms = 900\n')
    assert mistakes(path) == [
        "bot.toml: sip.transports has tls, so sip.tls_certificate must name a PEM file",
        "bot.toml: [listen] early_pause_ms must not be longer than trailing_silence_ms",
    ]


def test_a_default_flow_that_does_not_exist(tmp_path: Path) -> None:
    path = write(tmp_path, '[flow]\ndefault = "parot"\n')
    assert mistakes(path) == ["bot.toml:2: flow.default: there is no flow 'parot'; did you mean parrot?"]


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    bad = write(tmp_path, '[sip]\npassword = ["hunter2"]\nrtp_port_min = 2000\nrtp_port_max = 2001\n')
    assert "hunter2" not in "".join(mistakes(bad))
    contradiction = write(tmp_path, '[sip]\npassword = "hunter2"\nrtp_port_min = 2000\nrtp_port_max = 2001\n')
    assert "hunter2" not in "".join(mistakes(contradiction))
    good = load_config(None, {"VOXTRUNK_SIP__PASSWORD": "hunter2"})
    assert "hunter2" not in repr(good) and good.sip.password.get_secret_value() == "hunter2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sip\n", "bot.toml: not valid TOML: Expected ']' at the end of a table declaration (at line 1, column 5)"),
        ("sip = 3\n", "bot.toml:1: sip is a section: write [sip] and its keys below"),
        ("port = 3\n", "bot.toml:1: there is no section [port]; there are: flow, listen, log, sip, stt, synth"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, text: str, message: str) -> None:
    assert mistakes(write(tmp_path, text)) == [message]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert mistakes(tmp_path / "none.toml") == ["none.toml: cannot read the configuration: No such file or directory"]
    path = tmp_path / "latin.toml"
    path.write_bytes(b'[flow]\ngoodbye = "\xe9"\n')
    assert mistakes(path) == ["latin.toml: not UTF-8 text (invalid continuation byte at byte 18)"]

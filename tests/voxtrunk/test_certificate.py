"""A certificate is tried with a handshake."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from voxtrunk.certificate import expires


def make(folder: Path, *, days: int, name: str = "tls") -> Path:
    """A self-signed certificate with its key, in one PEM file; negative ``days`` make an expired one."""
    key, request, certificate = (folder / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
    for command in (
        f"openssl ecparam -name prime256v1 -genkey -noout -out {key}",
        f"openssl req -new -key {key} -subj /CN=bot.example -out {request}",
        f"openssl x509 -req -in {request} -signkey {key} -days {days} -out {certificate}",
    ):
        subprocess.run(command.split(), check=True, capture_output=True, timeout=30)
    both = folder / f"{name}.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both


def test_a_good_one_says_when_it_ends(tmp_path: Path) -> None:
    left = expires(make(tmp_path, days=30)) - datetime.now(UTC)
    assert timedelta(days=29) < left <= timedelta(days=30)


def test_a_key_of_another_certificate(tmp_path: Path) -> None:
    make(tmp_path, days=30, name="a")
    make(tmp_path, days=30, name="b")
    mixed = tmp_path / "mixed.pem"
    mixed.write_text((tmp_path / "a.key").read_text() + (tmp_path / "b.crt").read_text())
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        expires(mixed)


def test_an_expired_one(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLError, match="certificate has expired"):
        expires(make(tmp_path, days=-1))


def test_no_certificate_at_all(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    with pytest.raises(ssl.SSLError):
        expires(empty)

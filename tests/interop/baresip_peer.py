"""Debian's baresip as a caller, steered through its ctrl_tcp module (netstrings of JSON)."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile
import soxr

from tests.interop.bots import HOST
from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.server_process import free_rtp_range, free_sip_port

START_TIMEOUT_S: Final = 10.0
CODECS: Final = {
    "PCMU": ("PCMU/8000/1", 8000, 1),
    "PCMA": ("PCMA/8000/1", 8000, 1),
    "G722": ("G722/16000/1", 16000, 1),
    "opus": ("opus/48000/2", 48000, 2),
}
"""Name in an account, rate and channels of its audio."""
MODULES: Final = ("opus.so", "g722.so", "g711.so", "aufile.so", "aubridge.so", "sndfile.so", "srtp.so")

_CONFIG: Final = """\
sip_listen {host}:{port}
net_interface {host}
audio_source aufile,{source}
audio_player aubridge,nowhere
audio_alert aubridge,nowhere
rtp_ports {first}-{last}
snd_path {folder}
module_path /usr/lib/baresip/modules
{modules}
module_tmp account.so
module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen {host}:{control}
"""


class BaresipPeer:
    """One running baresip with one account."""

    def __init__(self, folder: Path, control: socket.socket) -> None:
        self.folder = folder
        self._control = control
        self._changed = threading.Condition()
        self._messages: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        buffer = b""
        while True:
            try:
                data = self._control.recv(65536)
            except OSError:
                return
            if not data:
                return
            buffer += data
            while b":" in buffer:
                size, _, rest = buffer.partition(b":")
                if len(rest) <= int(size):
                    break
                message = json.loads(rest[: int(size)])
                buffer = rest[int(size) + 1 :]
                with self._changed:
                    self._messages.append(message)
                    self._changed.notify_all()

    def command(self, name: str, parameters: str = "") -> None:
        """Type one command of its menu."""
        text = json.dumps({"command": name, "params": parameters, "token": "t"})
        self._control.sendall(f"{len(text)}:{text},".encode())

    def wait_event(self, kind: str, timeout_s: float = 5.0, count: int = 1) -> dict[str, Any]:
        """The given one of its events of that kind, e.g. ``CALL_ESTABLISHED``."""

        def found() -> list[dict[str, Any]]:
            return [item for item in self._messages if item.get("event") and item.get("type") == kind]

        with self._changed:
            if not self._changed.wait_for(lambda: len(found()) >= count, timeout_s):
                kinds = [item.get("type", item.get("data", "")) for item in self._messages]
                raise TimeoutError(f"baresip reported no {kind} within {timeout_s} s, but {kinds}")
            return found()[count - 1]

    def dial(self, uri: str) -> str:
        """Call and wait until it is up; returns the Call-ID."""
        self.command("dial", uri)
        return str(self.wait_event("CALL_ESTABLISHED")["id"])

    def hang_up(self) -> None:
        """End the call; it reports no event for that, so ask the other side."""
        self.command("hangup")

    def heard(self) -> tuple[Samples, int]:
        """What it decoded until its first re-INVITE, and the rate; call it after it has stopped."""
        path = min(self.folder.glob("dump-*-dec.wav"))
        pcm, rate_hz = soundfile.read(path, dtype="int16", always_2d=True)
        return pcm[:, 0].copy(), int(rate_hz)


def _write_source(speech: Path, rate_hz: int, channels: int, out: Path) -> None:
    """Its file source takes the codec's own format only; a second of silence first, and much after."""
    pcm, from_hz = soundfile.read(speech, dtype="float32")
    silence = np.zeros(rate_hz, np.float32)
    mono = np.concatenate((silence, soxr.resample(pcm, from_hz, rate_hz), np.tile(silence, 30)))
    soundfile.write(out, np.repeat(mono[:, None], channels, axis=1), rate_hz)


@contextmanager
def baresip(
    folder: Path,
    *,
    codec: str = "PCMU",
    speech: Path,
    transport: str = "udp",
    srtp: str = "",
    ca_file: Path | None = None,
) -> Iterator[BaresipPeer]:
    """Run one; ``srtp`` is a media encryption of its own, e.g. ``srtp-mand``."""
    folder.mkdir(parents=True, exist_ok=True)
    port, control = free_sip_port(), free_sip_port()
    first, last = free_rtp_range(20)
    name, rate_hz, channels = CODECS[codec]
    source = folder / "source.wav"
    _write_source(speech, rate_hz, channels, source)
    text = _CONFIG.format(
        host=HOST,
        port=port,
        source=source,
        first=first,
        last=last,
        folder=folder,
        control=control,
        modules="\n".join(f"module {module}" for module in MODULES),
    )
    if ca_file is not None:
        text += f"sip_cafile {ca_file}\n"
    (folder / "config").write_text(text)
    encryption = f";mediaenc={srtp}" if srtp else ""
    account = f"<sip:peer@{HOST};transport={transport}>;regint=0;audio_codecs={name};ptime=20{encryption}\n"
    (folder / "accounts").write_text(account)
    (folder / "contacts").write_text("")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["stdbuf", "-oL", "baresip", "-f", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            with _connect(control, folder) as sock:
                yield BaresipPeer(folder, sock)
        finally:
            process.terminate()
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _connect(port: int, folder: Path) -> socket.socket:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            return socket.create_connection((HOST, port), 1.0)
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("baresip did not start:\n" + (folder / "log").read_text())

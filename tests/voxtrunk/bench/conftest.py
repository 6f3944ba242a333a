"""A bot made of the test caller's own parts: it answers every call and sends each RTP packet back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from voxtrunk.bench.g711 import encode_mu_law
from voxtrunk.bench.rtp import RtpPacket
from voxtrunk.bench.sdp import media_section, session
from voxtrunk.bench.sip_dialog import Dialog
from voxtrunk.bench.sip_peer import SipPeer
from voxtrunk.bench.sip_transport import Address

TONE = encode_mu_law((8000 * np.sin(2 * np.pi * 500 * np.arange(160) / 8000)).astype(np.int16))


class FakeBot:
    """Echoes with its own SSRC, ``late_packets`` packets later; loses the packets whose numbers are in ``lose``.

    The first ``greeting_packets`` are a tone.
    """

    def __init__(self) -> None:
        self.sip = SipPeer(("127.0.0.1", 9), user="bot")
        self.sip.on_invite = self._answer
        self.dialogs: list[Dialog] = []
        self.lose: set[int] = set()
        self.late_packets = 2
        self.status = 200
        self.greeting_packets = 0
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> Address:
        return self.sip.local

    def _answer(self, dialog: Dialog) -> None:
        invite = dialog.invite
        assert invite is not None
        self.dialogs.append(dialog)
        if self.status >= 300:
            dialog.respond(invite, self.status, "Busy Here")
            return
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind(("127.0.0.1", 0))
        media.settimeout(0.1)
        thread = threading.Thread(target=self._echo, args=(media,), daemon=True)
        thread.start()
        self._threads.append(thread)
        sdp = session([media_section(media.getsockname()[1], codecs=["PCMU", "PCMA"])])
        dialog.respond(invite, 180, "Ringing")
        dialog.respond(invite, 200, "OK", sdp=sdp)

    def _echo(self, media: socket.socket) -> None:
        waiting: list[bytes] = []
        count = 0
        with media:
            while not self._stopping.is_set():
                try:
                    data, source = media.recvfrom(2000)
                except TimeoutError:
                    continue
                waiting.append(RtpPacket.unpack(data).payload)
                if len(waiting) > self.late_packets:
                    payload = waiting.pop(0)
                    if count < self.greeting_packets:
                        payload = TONE
                    if count not in self.lose:
                        media.sendto(RtpPacket(0, count, count * 160, 0xB07, payload).pack(), source)
                    count += 1

    def close(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self.sip.close()


@pytest.fixture
def bot() -> Iterator[FakeBot]:
    fake = FakeBot()
    yield fake
    fake.close()

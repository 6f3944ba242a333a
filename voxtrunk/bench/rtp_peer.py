"""One end of a media session: a socket with a sending and a receiving thread (symmetric RTP, RFC 4961)."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Final, Self

from voxtrunk.bench.codecs import Codec, Pcmu
from voxtrunk.bench.rtp_receiver import ReceivedAudio, RtpReceiver, audio_of
from voxtrunk.bench.rtp_sender import Address, RtpSender, SendOptions

_PAIR_TRIES: Final = 50


def _bind_pair(host: str) -> tuple[socket.socket, socket.socket]:
    """An even port for RTP and the next one for RTCP (RFC 3550 s11), both free."""
    for _ in range(_PAIR_TRIES):
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            media.bind((host, 0))
            port = media.getsockname()[1]
            if port % 2 == 0:
                control.bind((host, port + 1))
                return media, control
        except OSError:  # the neighbour is taken: try another pair
            pass
        media.close()
        control.close()
    raise OSError(f"no free pair of UDP ports on {host} after {_PAIR_TRIES} tries")


class RtpPeer:
    """Media of one call. Use as a context manager, or call :meth:`close`."""

    def __init__(
        self, codec: Codec | None = None, *, host: str = "127.0.0.1", options: SendOptions | None = None
    ) -> None:
        """
        Args:
            codec: what we send; PCMU by default.
            host: local address.
            options: how our stream looks.
        """
        self._socket, self._control = _bind_pair(host)
        self.host = host
        self.codec = codec or Pcmu()
        self.receiver = RtpReceiver(self._socket)
        self.receiver.start()
        self._options = options
        self._sender: RtpSender | None = None

    @property
    def port(self) -> int:
        """Local RTP port, for our SDP."""
        return int(self._socket.getsockname()[1])

    @property
    def sender(self) -> RtpSender:
        """The running sender.

        Raises:
            RuntimeError: :meth:`connect` was not called.
        """
        if self._sender is None:
            raise RuntimeError("call connect() first: nobody to send to yet")
        return self._sender

    def connect(self, remote: Address, *, payload_type: int | None = None) -> RtpSender:
        """Begin to send to an address, or go on sending to another one; the RTP numbers continue.

        Args:
            remote: from the peer's SDP.
            payload_type: what the peer's SDP gave to our codec; default: the codec's own.
        """
        if self._sender is None:
            self._sender = RtpSender(self._socket, remote, self.codec, self._options)
            self._sender.start()
        self._sender.remote = remote
        if payload_type is not None:
            self._sender.payload_type = payload_type
        return self._sender

    def heard(self, codec: Codec | None = None, *, payload_type: int | None = None, since: int = 0) -> ReceivedAudio:
        """What came back, decoded from the given packet on.

        Args:
            codec: a fresh decoder; default: one of our own codec's kind.
            payload_type: of the received packets; default: the codec's own.
            since: number of received packets to leave out.
        """
        return audio_of(self.receiver.packets(since), codec or type(self.codec)(), payload_type=payload_type)

    def close(self) -> None:
        """Stop both threads and free the ports; may be called twice."""
        if self._sender is not None:
            self._sender.stop()
        self.receiver.stop()
        self._socket.close()
        self._control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

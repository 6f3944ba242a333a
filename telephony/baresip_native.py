"""The few calls of the SIP stack that its Python binding does not offer, made directly.

The binding's extension module exports the whole C API of libbaresip and libre, which may be used on the SIP
thread only (``re_thread_enter`` does not help: the main thread has another libre context). So each job rides on
a PING: the binding reports the PONG on the SIP thread, and there the job runs before the report goes on.
The signatures are not checked by a compiler, so a version that they were not tried with is refused at start.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from baresip import Runtime, __version__, _events, _native

from telephony.leg import TelephonyError
from telephony.stack_audio import check_layout, flush_transmit, transmit_bytes
from telephony.user_agent import Refusal

SDP_INACTIVE: Final = 0
SDP_SENDRECV: Final = 3
TRANSPORTS: Final = ("udp", "tcp", "tls", "ws", "wss")
"""``enum sip_transp``, in its order."""

_AUCODEC_NAME_OFFSET: Final = 5 * ctypes.sizeof(ctypes.c_void_p)
"""``struct aucodec`` begins with a list element of four pointers and the payload type; its name is next."""

_TRANSMIT_BUFFER_OFFSET: Final = 0x38
"""``struct audio``: pointer to the buffer between the source thread and the encoder thread."""

_SOCKET_ADDRESS_BYTES: Final = 256
"""Room for ``struct sa``, which is 116 bytes."""

TESTED_WITH: Final = ("0.5.2a3",)
"""Versions of baresip-python whose C signatures are those below."""

_SIGNATURES: Final[dict[str, tuple[object, tuple[object, ...]]]] = {
    "uag_call_find": (ctypes.c_void_p, (ctypes.c_char_p,)),
    "call_get_ua": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "call_audio": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "call_transp": (ctypes.c_int, (ctypes.c_void_p,)),
    "call_msg_src": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p)),
    "call_set_media_estdir": (None, (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)),
    "audio_codec": (ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_bool)),
    "audio_strm": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "stream_is_secure": (ctypes.c_bool, (ctypes.c_void_p,)),
    "mem_ref": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "mem_deref": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "sa_ntop": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)),
    "stream_sdpmedia": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "stream_flush": (None, (ctypes.c_void_p,)),
    "stream_metric_get_rx_n_packets": (ctypes.c_uint32, (ctypes.c_void_p,)),
    "sdp_media_rformat": (ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)),
    "list_unlink": (None, (ctypes.c_void_p,)),
    "list_append": (None, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
    "ua_hangup": (None, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint16, ctypes.c_char_p)),
}


@dataclass(frozen=True, slots=True)
class NativeMedia:
    """What a call negotiated: codec name, SIP transport, media encryption; ``unknown`` when the call is gone."""

    codec: str = "unknown"
    transport: str = "unknown"
    encryption: str = "none"


class _ListElement(ctypes.Structure):
    """``struct le`` of libre, with which every ``struct sdp_format`` begins."""

    _fields_ = (
        ("previous", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
        ("list", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


class TransmitBuffer:
    """The stack's buffer between its source thread and its encoder thread, 20 ms apart in phase.

    A late thread leaves a packet too many in it, and the stack never takes that out again: each hiccup would delay
    the rest of the call by 20 ms. We hold a reference, so it may be used from any thread until :meth:`release`.
    """

    def __init__(self, library: ctypes.CDLL, pointer: int, native: NativeCalls) -> None:
        self._library = library
        self._pointer = library.mem_ref(pointer)
        self._native = native

    def bytes_waiting(self) -> int:
        """Bytes of int16 audio that the encoder has not taken yet."""
        return transmit_bytes(self._pointer)

    def flush(self) -> None:
        """Drop what waits; the next packet carries what the source gives next."""
        flush_transmit(self._pointer)

    async def release(self) -> None:
        """Give the reference back, on the SIP thread; nothing may be called after it."""
        await self._native.run(lambda: self._library.mem_deref(self._pointer))


class NativeCalls:
    """Looks calls up by their Call-ID and reads or steers them; every method awaits one turn of the SIP thread."""

    def __init__(self, runtime: Runtime) -> None:
        """
        Args:
            runtime: the running stack.

        Raises:
            TelephonyError: the installed stack is another version than the ones tried, or lacks a function.
        """
        if __version__ not in TESTED_WITH:
            raise TelephonyError(
                f"baresip-python {__version__} has not been tried; install one of {', '.join(TESTED_WITH)}"
            )
        check_layout()
        library = ctypes.CDLL(_native.__file__)
        for name, (result, arguments) in _SIGNATURES.items():
            try:
                function = getattr(library, name)
            except AttributeError as error:
                raise TelephonyError(
                    f"this baresip-python has no {name}(); install the version that setup.cfg asks for"
                ) from error
            function.restype, function.argtypes = result, arguments
        self._library = library
        self._runtime = runtime
        self._jobs: deque[Callable[[], None]] = deque()
        self._next_sink = _events.set_sink(self._on_native_event)  # type: ignore[no-untyped-call]

    def _on_native_event(self, event: int, handle: int, payload: bytes | None) -> None:
        """SIP THREAD. Run what is waiting, then let the binding have the event."""
        if event == _native.lib.BP_EV_PONG:
            while self._jobs:
                self._jobs.popleft()()
        self._next_sink(event, handle, payload)

    async def _on_call(self, call_id: str, work: Callable[[int], Any], otherwise: Any) -> Any:
        """Run ``work(native call)`` on the SIP thread; ``otherwise`` when the call is gone."""

        def find_and_work() -> Any:
            call = self._library.uag_call_find(call_id.encode())
            return work(call) if call else otherwise

        return await self.run(find_and_work)

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run something on the SIP thread and wait for its result; an exception is raised here, not there."""
        outcome: Any = None
        fault: Exception | None = None

        def job() -> None:
            nonlocal outcome, fault
            try:
                outcome = work()
            except Exception as error:
                fault = error

        self._jobs.append(job)
        await self._runtime.cmd(_native.lib.BP_CMD_PING)
        if fault is not None:
            raise fault
        return outcome

    async def transmit_buffer(self, call_id: str) -> TransmitBuffer | None:
        """The call's transmit buffer, None while its media is not up."""
        library = self._library

        def work(call: int) -> TransmitBuffer | None:
            audio = library.call_audio(call)
            pointer = ctypes.c_void_p.from_address(audio + _TRANSMIT_BUFFER_OFFSET).value if audio else None
            return TransmitBuffer(library, pointer, self) if pointer else None

        found = await self._on_call(call_id, work, None)
        assert found is None or isinstance(found, TransmitBuffer)
        return found

    async def invited(self, call_id: str) -> str:
        """Where an INVITE came from (empty when the call is gone), and keep the stack from re-inviting later.

        The stack compares the wanted video direction with the established one, and otherwise takes "no video" for
        a change that the peer must be told of: peers then see a needless re-INVITE after the answer, or 491.
        """
        library = self._library

        def work(call: int) -> str:
            self._put_events_last(call)
            library.call_set_media_estdir(call, SDP_SENDRECV, SDP_INACTIVE)
            source = ctypes.create_string_buffer(_SOCKET_ADDRESS_BYTES)
            text = ctypes.create_string_buffer(64)
            if library.call_msg_src(call, source) or library.sa_ntop(source, text, len(text)):
                return ""
            return text.value.decode()

        return str(await self._on_call(call_id, work, ""))

    def _put_events_last(self, call: int) -> None:
        """SIP THREAD. The stack takes the offer's first common format for its audio codec, even telephone-event."""
        library = self._library
        audio = library.call_audio(call)
        media = library.stream_sdpmedia(library.audio_strm(audio)) if audio else None
        events = library.sdp_media_rformat(media, b"telephone-event") if media else None
        if events:
            element = _ListElement.from_address(events)
            formats, data = element.list, element.data
            library.list_unlink(events)
            library.list_append(formats, events, data)

    async def received_packets(self, call_id: str) -> int:
        """RTP packets that have come so far, useful or not."""
        library = self._library

        def work(call: int) -> int:
            return int(library.stream_metric_get_rx_n_packets(library.audio_strm(library.call_audio(call))))

        return int(await self._on_call(call_id, work, 0))

    async def restart_receiver(self, call_id: str) -> None:
        """Empty the jitter buffer, so that it takes whatever sequence number comes next."""
        library = self._library

        def work(call: int) -> None:
            library.stream_flush(library.audio_strm(library.call_audio(call)))

        await self._on_call(call_id, work, None)

    async def refuse(self, call_id: str, refusal: Refusal) -> None:
        """Send a final response to an INVITE; the binding itself can only say 486."""
        library = self._library

        def work(call: int) -> None:
            library.ua_hangup(library.call_get_ua(call), call, refusal.status, refusal.reason.encode())

        await self._on_call(call_id, work, None)

    async def media(self, call_id: str) -> NativeMedia:
        """What the call negotiated."""
        library = self._library

        def work(call: int) -> NativeMedia:
            transport = library.call_transp(call)
            audio = library.call_audio(call)
            codec = library.audio_codec(audio, True) if audio else None
            name = ctypes.c_char_p.from_address(codec + _AUCODEC_NAME_OFFSET).value if codec else None
            secure = bool(audio) and library.stream_is_secure(library.audio_strm(audio))
            return NativeMedia(
                name.decode() if name else "unknown",
                TRANSPORTS[transport] if 0 <= transport < len(TRANSPORTS) else "unknown",
                "srtp" if secure else "none",
            )

        found = await self._on_call(call_id, work, NativeMedia())
        assert isinstance(found, NativeMedia)
        return found

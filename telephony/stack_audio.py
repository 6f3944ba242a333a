"""The stack's PCM buffers of one call, used without giving the interpreter lock away.

The binding's own :class:`baresip.CallAudio` releases the lock around every call; with a busy thread beside, each
release costs a switch interval before the lock comes back, and the media thread makes hundreds of calls a second.
These calls only copy between memory; the mutexes that they take are never held by a thread that waits for the lock.
"""

from __future__ import annotations

import ctypes
import errno
from typing import Final

from baresip import AudioNotActive, AudioRestarted, _native

from telephony.leg import TelephonyError

_U32, _U64, _POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class StackAudioInfo(ctypes.Structure):
    """``struct bp_audio_info``: rates in Hz, ptime in ms, fills and capacities in bytes."""

    _fields_ = tuple(
        (name, _U32)
        for name in (
            "epoch",
            "tx_ready",
            "rx_ready",
            "tx_rate_hz",
            "tx_channels",
            "tx_ptime_ms",
            "rx_rate_hz",
            "rx_channels",
            "tx_fill",
            "tx_capacity",
            "rx_fill",
            "rx_capacity",
        )
    )


class StackAudioStats(ctypes.Structure):
    """``struct bp_audio_stats``: fills in bytes, counters since the negotiation."""

    _fields_ = (
        *((name, _U32) for name in ("epoch", "tx_fill", "tx_high_water", "rx_fill", "rx_high_water")),
        *(
            (name, _U64)
            for name in (
                "tx_silence_frames",
                "tx_starved_frames",
                "tx_rejected",
                "tx_flushed",
                "rx_dropped",
                "rx_discarded",
            )
        ),
    )


_LIBRARY: Final = ctypes.PyDLL(_native.__file__)
_SIGNATURES: Final[dict[str, tuple[object, tuple[object, ...]]]] = {
    "bp_audio_probe": (ctypes.c_int, (_U32, _POINTER)),
    "bp_audio_stats_get": (ctypes.c_int, (_U32, _POINTER)),
    "bp_audio_read": (ctypes.c_int32, (_U32, _U32, _POINTER, _U32)),
    "bp_audio_write": (ctypes.c_int32, (_U32, _U32, ctypes.c_char_p, _U32)),
    "aubuf_cur_size": (ctypes.c_size_t, (_POINTER,)),
    "aubuf_flush": (None, (_POINTER,)),
}
READ_BYTES: Final = 7680
"""Two packets of the largest kind, 48 kHz stereo."""


def check_layout() -> None:
    """
    Raises:
        TelephonyError: the installed binding lacks one of these functions, or its structures are other ones.
    """
    for ours, theirs in ((StackAudioInfo, "struct bp_audio_info"), (StackAudioStats, "struct bp_audio_stats")):
        if ctypes.sizeof(ours) != _native.ffi.sizeof(theirs):
            raise TelephonyError(f"baresip-python's {theirs} is not the one that was tried; install another version")
    for name, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(_LIBRARY, name)
        except AttributeError as error:
            raise TelephonyError(f"this baresip-python has no {name}(); install another version") from error
        function.restype, function.argtypes = result, arguments


class StackAudio:
    """One call's buffers; one reader and one writer at a time.

    Every method raises ``AudioNotActive`` while the call has no media, ``AudioRestarted`` once after a re-INVITE
    has replaced the streams; the next call binds to the new ones.
    """

    def __init__(self, handle: int) -> None:
        """
        Args:
            handle: the binding's number of the call.
        """
        self._handle = handle
        self._epoch: int | None = None
        self._info = StackAudioInfo()
        self._stats = StackAudioStats()
        self._buffer = ctypes.create_string_buffer(READ_BYTES)

    def info(self) -> StackAudioInfo:
        """Formats and fills; the same object each time, overwritten by the next call."""
        if _LIBRARY.bp_audio_probe(self._handle, ctypes.byref(self._info)):
            self._lost(errno.ENOENT)
        self._epoch = self._info.epoch
        return self._info

    def stats(self) -> StackAudioStats:
        """Counters and fills; the same object each time, overwritten by the next call."""
        if _LIBRARY.bp_audio_stats_get(self._handle, ctypes.byref(self._stats)):
            self._lost(errno.ENOENT)
        return self._stats

    def read(self) -> bytes:
        """Up to ``READ_BYTES`` of int16 PCM that has arrived; empty when there is none."""
        count = _LIBRARY.bp_audio_read(self._handle, self._bound(), self._buffer, READ_BYTES)
        if count < 0:
            self._lost(-count)
        return ctypes.string_at(self._buffer, count)

    def write(self, pcm: bytes) -> int:
        """Queue int16 PCM; returns the bytes that fitted."""
        count = int(_LIBRARY.bp_audio_write(self._handle, self._bound(), pcm, len(pcm)))
        if count < 0:
            self._lost(-count)
        return count

    def _bound(self) -> int:
        return self._epoch if self._epoch is not None else int(self.info().epoch)

    def _lost(self, code: int) -> None:
        self._epoch = None
        if code == errno.ESTALE:
            raise AudioRestarted("the call's audio was renegotiated")
        raise AudioNotActive("no audio is active on this call")


def transmit_bytes(pointer: int) -> int:
    """Bytes in the stack's own transmit buffer (``aubuf_cur_size``)."""
    return int(_LIBRARY.aubuf_cur_size(pointer))


def flush_transmit(pointer: int) -> None:
    """Empty the stack's own transmit buffer (``aubuf_flush``)."""
    _LIBRARY.aubuf_flush(pointer)

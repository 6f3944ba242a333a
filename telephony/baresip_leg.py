"""A call of the baresip stack as a :class:`~telephony.leg.Leg`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from baresip import BaresipError, Call, CallStats, Event, StackEvent, StaleHandleError
from baresip import TransferFailed as StackTransferFailed

from telephony.frame_queue import FrameQueue
from telephony.leg import (
    FRAME_SAMPLES,
    EndCause,
    Frame,
    FrameSink,
    Leg,
    LegClosed,
    LegInfo,
    LegStats,
    Pcm,
    TransferFailed,
)
from telephony.media_stream import STACK_DELAY_MS, MediaStream

KEY_AGAIN_NS: Final = 60_000_000
"""The same key so soon after its end is a late packet; the two other copies of the end alone take 40 ms."""

_TRANSFERRED: Final = "Call transfered"
_PEER_SENT_BYE: Final = "Connection reset by peer"
_NO_RTP: Final = "rtp stream error"


async def uncrossed(command: Coroutine[Any, Any, None]) -> None:
    """Await a command of the stack so that a cancellation is never lost.

    The binding waits with ``asyncio.wait_for``, which until Python 3.12 swallows a cancellation that crosses the
    result: a call that ended just then would go on for ever.
    """
    await asyncio.shield(asyncio.ensure_future(command))


class BaresipLeg(Leg):
    """One call; made by the user agent when it is answered. The media thread calls :meth:`pump`."""

    def __init__(
        self,
        call: Call,
        info: LegInfo,
        media: MediaStream,
        *,
        jitter_buffer_ms: float,
        on_end: Callable[[BaresipLeg], None],
    ) -> None:
        """
        Args:
            call: the stack's call.
            info: what is known of it.
            media: its audio.
            jitter_buffer_ms: configured receive delay, for the statistics.
            on_end: told once, on the loop, when the leg has ended.
        """
        self._call = call
        self._info = info
        self.media = media
        self._jitter_buffer_ms = jitter_buffer_ms
        self._on_end = on_end
        self._frames: FrameQueue[Frame] = FrameQueue()
        self._digits: FrameQueue[str] = FrameQueue()
        self._stack_stats = CallStats()
        self._we_hung_up = False
        self._last_key = ""
        self._key_up_ns = 0
        self._ended: asyncio.Future[EndCause] = asyncio.get_running_loop().create_future()
        self._drained = asyncio.Event()
        self._drained.set()
        call.on(self._on_event)

    # -- what the media pump calls ------------------------------------------------------------------------------

    def pump(self, now_ns: int) -> list[Frame]:
        """MEDIA THREAD. See ``MediaPump``."""
        return self.media.pump(now_ns)

    @property
    def is_drained(self) -> bool:
        """MEDIA THREAD. All of ours has left for the wire, and somebody may be waiting for that."""
        return not self._drained.is_set() and self.media.all_sent

    def deliver(self, frames: list[Frame], drained: bool) -> None:
        """LOOP THREAD. Hand frames to the reader and wake who waits."""
        for frame in frames:
            self._frames.put(frame)
        if drained and self.media.all_sent:
            self._drained.set()

    def pump_failed(self, error: BaseException) -> None:
        """LOOP THREAD. The audio is broken: nothing to do but to end the call."""
        self._finish(EndCause.FAILED)

    # -- Leg ----------------------------------------------------------------------------------------------------

    @property
    def info(self) -> LegInfo:
        return self._info

    def frames(self) -> AsyncIterator[Frame]:
        return self._frames.items()

    def tap(self, sink: FrameSink) -> None:
        self.media.sink = sink

    def digits(self) -> AsyncIterator[str]:
        return self._digits.items()

    def write(self, pcm: Pcm, *, max_ahead_ms: float | None = None) -> int:
        if self._ended.done():
            raise LegClosed("the call is over")
        taken = self.media.write(pcm, max_ahead_ms=max_ahead_ms)
        if self._drained.is_set():
            self._drained.clear()
        return taken

    def flush(self) -> int:
        return self.media.flush()

    def queued_ms(self) -> float:
        return self.media.queued_ms()

    def until_wire_ms(self) -> float:
        return self.media.queued_ms() + STACK_DELAY_MS

    async def drained(self) -> None:
        await self._drained.wait()

    async def send_digits(self, digits: str) -> None:
        try:
            await uncrossed(self._call.send_dtmf(digits))
        except StaleHandleError as error:
            raise LegClosed("the call is over") from error

    async def transfer(self, uri: str, *, consult: Leg | None = None) -> None:
        try:
            if consult is None:
                await uncrossed(self._call.transfer(uri))
            elif isinstance(consult, BaresipLeg):
                await uncrossed(self._call.attended_transfer(consult._call))
            else:
                raise TransferFailed("an attended transfer needs two legs of the same user agent")
        except StaleHandleError as error:
            raise LegClosed("the call is over") from error
        except StackTransferFailed as error:
            raise TransferFailed(str(error)) from error
        except (BaresipError, ValueError) as error:
            raise TransferFailed(f"cannot transfer to {uri!r}: {error}") from error

    async def hangup(self) -> None:
        self._we_hung_up = True
        if self._ended.done():
            return
        try:
            await uncrossed(self._call.hangup())
        except StaleHandleError:
            self._finish(EndCause.CALLER_HUNG_UP)
        await asyncio.shield(self._ended)

    @property
    def on_hold(self) -> bool:
        return bool(self._call.remote_on_hold)

    @property
    def ended(self) -> asyncio.Future[EndCause]:
        return self._ended

    def stats(self) -> LegStats:
        stack, media = self._stack_stats, self.media
        return LegStats(
            frames_in=media.frames_in,
            frames_out=media.samples_out // FRAME_SAMPLES,
            frames_late=stack.jbuf_late or 0,
            frames_lost=stack.rx_lost,
            frames_dropped=self._frames.dropped,
            frames_filled=media.frames_filled,
            underruns=media.underruns,
            jitter_ms=stack.rx_jitter_ms,
            jitter_buffer_ms=stack.jbuf_delay_ms or self._jitter_buffer_ms,
            round_trip_ms=stack.rtt_ms,
            queued_ms=0.0 if self._ended.done() else self.queued_ms(),
        )

    # -- events of the stack ------------------------------------------------------------------------------------

    def _on_key_down(self, key: str) -> None:
        """A key counts when it goes down: its end may be lost. The stack forgets timestamps (RFC 4733 s2.5.1.2), so
        that a packet which was overtaken by the end begins the key anew; nobody presses that fast."""
        now_ns = self.media.now_ns()
        if key != self._last_key or now_ns - self._key_up_ns > KEY_AGAIN_NS:
            self._digits.put(key)
        self._last_key, self._key_up_ns = key, now_ns

    def _on_event(self, event: StackEvent) -> None:
        if event.event is Event.CALL_DTMF_START and event.text:
            self._on_key_down(event.text)
        elif event.event is Event.CALL_DTMF_END:
            self._key_up_ns = self.media.now_ns()
        elif event.event is Event.CALL_RTCP and event.stats:
            self._stack_stats = CallStats._from_payload(event.stats)
        elif event.event is Event.CALL_CLOSED:
            if self._call.final_stats is not None:
                self._stack_stats = self._call.final_stats
            self._finish(self._cause(event.text or ""))

    def _cause(self, reason: str) -> EndCause:
        if reason == _TRANSFERRED:
            return EndCause.TRANSFERRED
        if self._we_hung_up:
            return EndCause.WE_HUNG_UP
        if _NO_RTP in reason:
            return EndCause.MEDIA_TIMEOUT
        if _PEER_SENT_BYE in reason or not reason:
            return EndCause.CALLER_HUNG_UP
        return EndCause.FAILED

    def _finish(self, cause: EndCause) -> None:
        if self._ended.done():
            return
        self._ended.set_result(cause)
        self._frames.close()
        self._digits.close()
        self._drained.set()
        self._on_end(self)

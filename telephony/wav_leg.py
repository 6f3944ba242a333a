"""A leg without a network: the caller is a WAV file, and what they hear becomes another."""

from __future__ import annotations

import asyncio
import wave
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dsp.resample import Resampler, to_float, to_int16
from probes.clock import Clock, MonotonicClock
from telephony.frame_queue import FrameQueue
from telephony.leg import (
    FRAME_MS,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    EndCause,
    Frame,
    FrameSink,
    Leg,
    LegClosed,
    LegInfo,
    LegStats,
    Pcm,
    TelephonyError,
    TransferFailed,
)
from telephony.playout import Playout, fade_out

FRAME_NS: Final = FRAME_MS * 1_000_000


def read_wav(path: Path) -> Pcm:
    """A 16-bit mono WAV of 8, 16 or 48 kHz as float32 at 16 kHz.

    Raises:
        TelephonyError: not such a file.
    """
    try:
        with wave.open(str(path), "rb") as file:
            layout = (file.getnchannels(), file.getsampwidth(), file.getframerate())
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    except (OSError, EOFError, wave.Error) as error:
        raise TelephonyError(f"{path}: not a readable WAV file ({error})") from error
    channels, width, rate_hz = layout
    if channels != 1 or width != 2 or rate_hz not in (8000, 16000, 48000):
        raise TelephonyError(
            f"{path}: {channels} channel(s), {8 * width} bit, {rate_hz} Hz; "
            "wanted mono, 16 bit, 8000, 16000 or 48000 Hz"
        )
    return Resampler(rate_hz, SAMPLE_RATE_HZ).push(to_float(samples))


def write_wav(path: Path, pcm: Pcm) -> None:
    """Write float32 samples at 16 kHz, shape (n,), as a 16-bit mono WAV."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes(to_int16(pcm).tobytes())


class WavLeg(Leg):
    """Plays a caller's WAV at the bot and records what the bot says, frame by frame.

    Frames carry the media time, 20 ms apart, whatever the wall clock does: in real time for a demonstration,
    as fast as the reader takes them for a test.
    """

    def __init__(
        self,
        caller: Path | Pcm,
        heard: Path | None = None,
        *,
        called_user: str = "parrot",
        realtime: bool = False,
        clock: Clock | None = None,
        digits: Sequence[tuple[float, str]] = (),
    ) -> None:
        """
        Args:
            caller: the caller's audio, a WAV file or float32 at 16 kHz; the leg ends with it.
            heard: WAV to write at the end; None keeps it in memory only (:meth:`heard`).
            called_user: picks the flow.
            realtime: pace the frames by the wall clock.
            clock: time of the first frame; by default the monotonic clock.
            digits: DTMF keys with the media time in ms at which each is pressed.
        """
        self._caller = read_wav(caller) if isinstance(caller, Path) else caller
        self._heard_path = heard
        self._realtime = realtime
        self._start_ns = (clock or MonotonicClock()).now_ns()
        self._pressed = sorted(digits)
        self._info = LegInfo(
            call_id=caller.name if isinstance(caller, Path) else "memory.wav",
            inbound=True,
            remote_uri="sip:caller@file",
            called_user=called_user,
            codec="L16",
            codec_rate_hz=SAMPLE_RATE_HZ,
            transport="file",
        )
        self._digits: FrameQueue[str] = FrameQueue()
        self._playout = Playout()
        self._heard: list[Pcm] = []
        self._frames_in = 0
        self._sink: FrameSink | None = None
        self._ended: asyncio.Future[EndCause] = asyncio.get_running_loop().create_future()
        self._empty = asyncio.Event()
        self._empty.set()
        self.sent_digits = ""

    @property
    def info(self) -> LegInfo:
        return self._info

    async def frames(self) -> AsyncIterator[Frame]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for number in range(-(-len(self._caller) // FRAME_SAMPLES)):
            if self._realtime:
                await asyncio.sleep(max(0.0, began_s + (number + 1) * FRAME_MS / 1000 - loop.time()))
            else:
                await asyncio.sleep(0)
            if self._ended.done():
                break
            self._press_due(number * FRAME_MS)
            self._play_one_frame()
            pcm = np.zeros(FRAME_SAMPLES, np.float32)
            piece = self._caller[number * FRAME_SAMPLES : (number + 1) * FRAME_SAMPLES]
            pcm[: len(piece)] = piece
            self._frames_in += 1
            frame = Frame(pcm, self._start_ns + number * FRAME_NS)
            if self._sink is None:
                yield frame
            else:
                self._sink(frame)
        self._finish(EndCause.CALLER_HUNG_UP)

    def _press_due(self, now_ms: float) -> None:
        while self._pressed and self._pressed[0][0] <= now_ms:
            self._digits.put(self._pressed.pop(0)[1])

    def _play_one_frame(self) -> None:
        played = self._playout.pop(FRAME_SAMPLES)
        self._heard.append(np.concatenate((played, np.zeros(FRAME_SAMPLES - len(played), np.float32))))
        if not self._playout.samples:
            self._empty.set()

    def heard(self) -> Pcm:
        """What the caller has heard so far: float32 at 16 kHz, in step with their own audio."""
        return np.concatenate(self._heard) if self._heard else np.zeros(0, np.float32)

    def tap(self, sink: FrameSink) -> None:
        self._sink = sink

    def digits(self) -> AsyncIterator[str]:
        return self._digits.items()

    def write(self, pcm: Pcm, *, max_ahead_ms: float | None = None) -> int:
        if self._ended.done():
            raise LegClosed("the call is over")
        taken = self._playout.push(pcm)
        if max_ahead_ms is not None:
            excess = self._playout.samples - int(max_ahead_ms * SAMPLE_RATE_HZ / 1000)
            self._playout.pop(max(excess, 0))
        if self._playout.samples:
            self._empty.clear()
        return taken

    def flush(self) -> int:
        tail = fade_out(self._playout.pop(FRAME_SAMPLES))
        dropped = self._playout.clear()
        self._playout.push(tail)
        return dropped

    def queued_ms(self) -> float:
        return 1000 * self._playout.samples / SAMPLE_RATE_HZ

    async def drained(self) -> None:
        await self._empty.wait()

    async def send_digits(self, digits: str) -> None:
        self.sent_digits += digits

    async def transfer(self, uri: str, *, consult: Leg | None = None) -> None:
        raise TransferFailed(f"a WAV file cannot be transferred to {uri}")

    async def hangup(self) -> None:
        self._finish(EndCause.WE_HUNG_UP)

    def _finish(self, cause: EndCause) -> None:
        if self._ended.done():
            return
        self._ended.set_result(cause)
        self._digits.close()
        self._empty.set()
        if self._heard_path is not None:
            write_wav(self._heard_path, self.heard())

    @property
    def on_hold(self) -> bool:
        return False

    @property
    def ended(self) -> asyncio.Future[EndCause]:
        return self._ended

    def stats(self) -> LegStats:
        return LegStats(frames_in=self._frames_in, frames_out=len(self._heard), queued_ms=self.queued_ms())

"""The audio of one call of the stack: frames out of it, our speech into it, no more delay than needed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np
from baresip import AudioNotActive, AudioRestarted

from dsp.resample import Resampler, to_float, to_int16
from probes.clock import Clock
from telephony.baresip_native import TransmitBuffer
from telephony.leg import FRAME_MS, FRAME_SAMPLES, SAMPLE_RATE_HZ, Frame, FrameSink, Pcm
from telephony.playout import FADE_SAMPLES, Playout, fade_out, shorten
from telephony.stack_audio import READ_BYTES, StackAudio, StackAudioInfo

STACK_SLACK_MS: Final = 8
"""The stack takes a packet's worth of our audio at each tick; it is given this much more, to bridge a late
thread. Little enough that barge-in can let it play out: flushing it would send silence in the middle, a click."""

EXCESS_TICKS: Final = 16
"""Ticks of the media thread, over two packet times: a packet that was waiting in all of them is one too many."""

EXCESS_LIMIT_NS: Final = 500_000_000
"""Live audio that is never quiet loses the packet after this long all the same."""

QUIET_LEVEL: Final = 0.003
"""-50 dBFS: what is dropped below it nobody misses."""

LIVE_WINDOW: Final = 25
"""Frames of live audio, half a second, over which the least that was waiting is what nobody needs."""

LAST_PACKET_NS: Final = 40_000_000
"""After the stack has taken our last sample, the packet needs up to two ticks to leave."""

STACK_DELAY_MS: Final = 15.0
"""From our write to the packet on the wire when nothing else waits: the mean of 5-27 ms measured over loopback."""

ABSENT_NS: Final = 100_000_000
"""A caller who sends nothing for this long (DTX, comfort noise) is silent: silence keeps the clocks running."""

SPEECH_GAP_NS: Final = 100_000_000
"""Audio that follows this soon on other audio belongs to the same saying; packets without audio in between are gaps."""

FRAME_NS: Final = FRAME_MS * 1_000_000


class _Format:
    """Rates and converters of one negotiation; a re-INVITE that changes the codec gets new ones."""

    def __init__(self, info: StackAudioInfo) -> None:
        self.receive_channels = info.rx_channels
        self.send_channels = info.tx_channels
        self.send_bytes_per_ms = info.tx_rate_hz * info.tx_channels * 2 / 1000
        self.packet_bytes = int(self.send_bytes_per_ms * info.tx_ptime_ms)
        self.ahead_ms = info.tx_ptime_ms + STACK_SLACK_MS
        self.from_codec = Resampler(info.rx_rate_hz, SAMPLE_RATE_HZ)
        self.to_codec = Resampler(SAMPLE_RATE_HZ, info.tx_rate_hz)


class MediaStream:
    """Both directions of one call.

    :meth:`pump` belongs to the media thread, the rest to the event loop; ``_lock`` guards the sending side.
    """

    def __init__(
        self,
        audio: StackAudio,
        *,
        clock: Clock,
        transmit_buffer: TransmitBuffer | None,
        is_held: Callable[[], bool],
    ) -> None:
        """
        Args:
            audio: the stack's side.
            clock: monotonic time.
            transmit_buffer: the stack's, kept short by us; None leaves it alone.
            is_held: whether the peer holds the call, so that its absence is not silence.
        """
        self._audio = audio
        self._clock = clock
        self._transmit_buffer = transmit_buffer
        self._is_held = is_held
        self.sink: FrameSink | None = None
        self._lock = threading.Lock()
        self._format: _Format | None = None
        self._playout = Playout()
        self._partial: Pcm = np.zeros(0, np.float32)
        self._last_frame_ns = self._last_sent_ns = 0
        self._last_level = 0.0
        self._empty_packets = 0
        self._waiting_bytes: deque[int] = deque(maxlen=EXCESS_TICKS)
        self._excess_since_ns = self._last_live_ns = 0
        self._live_ahead_ms: deque[float] = deque(maxlen=LIVE_WINDOW)
        self.frames_in = self.frames_filled = self.samples_out = self.underruns = self.packets_trimmed = 0

    # -- media thread -------------------------------------------------------------------------------------------

    def pump(self, now_ns: int) -> list[Frame]:
        """MEDIA THREAD. Take what has arrived and top the stack up; never blocks. A sink gets the frames here."""
        try:
            form = self._bound()
            frames = self._receive(form, now_ns)
            if self.sink is not None:
                for frame in frames:
                    self.sink(frame)
                frames = []
            with self._lock:
                self._top_up(form)
                self._trim(form, now_ns)
            return frames
        except AudioRestarted:
            self._format = None
            return []
        except AudioNotActive:
            return []

    def _bound(self) -> _Format:
        if self._format is None:
            info = self._audio.info()
            if not (info.rx_ready and info.tx_ready):
                raise AudioNotActive("the call's media is not up yet")
            self._format = _Format(info)
            self._empty_packets = self._count_empty_packets()
            self._last_frame_ns = self._clock.now_ns()  # the time without media is not silence to be made up for
        return self._format

    def _receive(self, form: _Format, now_ns: int) -> list[Frame]:
        parts = [self._partial]
        while data := self._audio.read():
            samples = to_float(np.frombuffer(data, np.int16), form.receive_channels)
            parts.append(form.from_codec.push(samples))
            if len(data) < READ_BYTES:
                break
        received = np.concatenate(parts)
        count = len(received) // FRAME_SAMPLES
        self._partial = received[count * FRAME_SAMPLES :]
        if not count:
            return self._fill_absence(now_ns)
        self._last_frame_ns = now_ns
        self.frames_in += count
        return [Frame(pcm, now_ns) for pcm in received[: count * FRAME_SAMPLES].reshape(count, FRAME_SAMPLES)]

    def _fill_absence(self, now_ns: int) -> list[Frame]:
        """One frame of silence for each 20 ms that nothing came, at the caller's pace."""
        frames: list[Frame] = []
        if self._is_held():
            self._last_frame_ns = now_ns  # a hold is no silence to be made up for afterwards
            return frames
        while now_ns - self._last_frame_ns >= ABSENT_NS:
            self._last_frame_ns += FRAME_NS
            frames.append(Frame(np.zeros(FRAME_SAMPLES, np.float32), self._last_frame_ns))
        self.frames_filled += len(frames)
        return frames

    def _top_up(self, form: _Format) -> None:
        if not self._playout.samples:
            return
        missing = int((form.ahead_ms - self._stack_ms(form)) * SAMPLE_RATE_HZ / 1000)
        if missing > 0:
            self._send(form, self._playout.pop(missing))

    def _send(self, form: _Format, pcm: Pcm) -> None:
        data = to_int16(form.to_codec.push(pcm), form.send_channels).tobytes()
        now_ns = self._clock.now_ns()
        if now_ns - self._last_sent_ns < SPEECH_GAP_NS:
            self.underruns += self._count_empty_packets() - self._empty_packets
        self._audio.write(data)
        self._empty_packets = self._count_empty_packets()
        self._last_sent_ns = now_ns
        self._last_level = float(np.abs(pcm).max(initial=0.0))
        self.samples_out += len(pcm)

    def _count_empty_packets(self) -> int:
        """Packets since the negotiation that left wholly or partly without audio."""
        stack = self._audio.stats()
        return int(stack.tx_silence_frames + stack.tx_starved_frames)

    def _trim(self, form: _Format, now_ns: int) -> None:
        """Keep the delay from growing: drop a packet too many when what is sent is quiet; live audio waits half a
        second for that, no longer."""
        if self._transmit_buffer is None:
            return
        self._waiting_bytes.append(self._transmit_buffer.bytes_waiting())
        excess_packets = min(self._waiting_bytes) // form.packet_bytes
        if not excess_packets or len(self._waiting_bytes) < EXCESS_TICKS:
            self._excess_since_ns = now_ns
            return
        is_quiet = self._last_level < QUIET_LEVEL or now_ns - self._last_sent_ns > LAST_PACKET_NS
        is_live = now_ns - self._last_live_ns < SPEECH_GAP_NS
        if is_quiet or (is_live and now_ns - self._excess_since_ns > EXCESS_LIMIT_NS):
            self._transmit_buffer.flush()
            self._waiting_bytes.clear()
            self.packets_trimmed += excess_packets

    def _stack_ms(self, form: _Format) -> float:
        return float(self._audio.stats().tx_fill / form.send_bytes_per_ms)

    # -- any thread ---------------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        """The clock of the call's audio."""
        return self._clock.now_ns()

    def queued_ms(self) -> float:
        """Our audio that has not left for the wire yet."""
        with self._lock:
            queued_ms = 1000 * self._playout.samples / SAMPLE_RATE_HZ
            try:
                form = self._bound()
                queued_ms += self._stack_ms(form)
            except (AudioNotActive, AudioRestarted):
                return queued_ms
            if queued_ms and self._transmit_buffer is not None:
                queued_ms += self._transmit_buffer.bytes_waiting() / form.send_bytes_per_ms
            return queued_ms

    @property
    def all_sent(self) -> bool:
        """All that was written has left for the wire."""
        if self._playout.samples or self._clock.now_ns() - self._last_sent_ns <= LAST_PACKET_NS:
            return False
        return self.queued_ms() <= 0.0

    # -- event loop, or a sink ------------------------------------------------------------------------------------

    def write(self, pcm: Pcm, *, max_ahead_ms: float | None = None) -> int:
        """Queue our audio; see ``Leg.write``."""
        with self._lock:
            form: _Format | None
            try:
                form = self._bound()
                stack_ms = self._stack_ms(form)
            except (AudioNotActive, AudioRestarted):
                # Not up yet, ended, or renegotiated: the media thread sends what is queued when it can.
                form = self._format = None
                stack_ms = 0.0
            if max_ahead_ms is not None:
                pcm = self._live(pcm, stack_ms, max_ahead_ms)
            taken = self._playout.push(pcm)
            if form is not None:
                self._top_up_unless_gone(form)
        return taken

    def _top_up_unless_gone(self, form: _Format) -> None:
        try:
            self._top_up(form)
        except (AudioNotActive, AudioRestarted):
            self._format = None

    def _live(self, pcm: Pcm, stack_ms: float, max_ahead_ms: float) -> Pcm:
        """Live audio, shortened where more waits than is needed to bridge the jitter of its arrival."""
        self._last_live_ns = self._clock.now_ns()
        ahead_ms = stack_ms + 1000 * self._playout.samples / SAMPLE_RATE_HZ
        self._live_ahead_ms.append(ahead_ms)
        excess_ms = ahead_ms + 1000 * len(pcm) / SAMPLE_RATE_HZ - max_ahead_ms
        if len(self._live_ahead_ms) == LIVE_WINDOW:
            excess_ms = max(excess_ms, min(self._live_ahead_ms) - STACK_SLACK_MS / 2)
        if excess_ms < 1.0:
            return pcm
        self._live_ahead_ms.clear()
        return shorten(pcm, int(excess_ms * SAMPLE_RATE_HZ / 1000))

    def flush(self) -> int:
        """Drop what is queued, fading out; see ``Leg.flush``."""
        with self._lock:
            tail = fade_out(self._playout.pop(FADE_SAMPLES))
            dropped = self._playout.clear()
            self._playout.push(tail)
        return dropped

    def close(self) -> TransmitBuffer | None:
        """Let go of the stack's buffer; returned for its owner to release."""
        with self._lock:
            transmit_buffer, self._transmit_buffer = self._transmit_buffer, None
        return transmit_buffer

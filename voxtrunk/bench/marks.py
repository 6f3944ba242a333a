"""A known signal that survives a telephone codec, found again packet by packet in what comes back.

The signal is band-limited pseudo-random noise, different for each seed, so that any 20 ms of it is a mark of its own:
normalised correlation against the original tells where in the sent audio a received packet comes from. From that
follow the delay of every frame (time of the packet in, time of the packet out) and every discontinuity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.rtp_receiver import ReceivedAudio
from voxtrunk.bench.rtp_sender import SentPacket

LOW_HZ: Final = 350.0
HIGH_HZ: Final = 3300.0
"""Inside the telephone band (300-3400 Hz), so that no codec or resampler takes a part of it away."""

LEVEL_DBFS: Final = -18.0
MATCH: Final = 0.6
"""Correlation that counts as found: chance reaches 0.35 among 16 000 places, G.711 gives 0.99."""

SILENT_DBFS: Final = -50.0
SLIP_SAMPLES_MS: Final = 1.0
"""A move of the delay by more than this between neighbours is a discontinuity, not a fraction of a sample."""


def marked_signal(seed: int, sample_rate_hz: int, seconds: float) -> Samples:
    """int16 noise, shape (n,), the same for the same seed and rate.

    Args:
        seed: of the call.
        sample_rate_hz: of the codec.
        seconds: length.
    """
    count = round(seconds * sample_rate_hz)
    size = 1 << max(1, count - 1).bit_length()  # a power of two keeps the transform fast
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(size))
    frequencies = np.fft.rfftfreq(size, 1.0 / sample_rate_hz)
    spectrum[(frequencies < LOW_HZ) | (frequencies > HIGH_HZ)] = 0.0
    noise = np.fft.irfft(spectrum, size)[:count]
    scale = 10 ** (LEVEL_DBFS / 20) * 32767 / np.sqrt(np.mean(noise**2))
    signal: Samples = np.clip(np.rint(noise * scale), -32768, 32767).astype(np.int16)
    return signal


@dataclass(frozen=True, slots=True)
class FrameDelay:
    """One received packet that was recognised.

    Attributes:
        delay_ms: from the packet that brought its first sample in to the packet that took it out, less the
            difference of the sample's place in the two.
        sent_sample: place of its first sample in the sent signal, with a fraction.
        received_sample: its place in the received signal.
        arrival_ns: monotonic.
        match: correlation, 0..1.
    """

    delay_ms: float
    sent_sample: float
    received_sample: int
    arrival_ns: int
    match: float


@dataclass(frozen=True, slots=True)
class MarkReport:
    """What became of a marked stream.

    Attributes:
        frames: recognised packets, in order.
        silent: packets without any signal between the first and the last recognised one.
        unmatched: packets with a signal that is not ours.
        skipped_ms: audio that went in and never came out.
        repeated_ms: audio that came out twice, or a pause that was put in.
        gaps: discontinuities of any kind.
    """

    frames: tuple[FrameDelay, ...]
    silent: int
    unmatched: int
    skipped_ms: float
    repeated_ms: float
    gaps: int


def find_marks(
    signal: Samples,
    sent: Sequence[SentPacket],
    heard: ReceivedAudio,
    sample_rate_hz: int,
    *,
    signal_place: int = 0,
    max_delay_ms: float = 1000.0,
    window_ms: float = 20.0,
) -> MarkReport:
    """Recognise every received packet.

    Args:
        signal: what was played, from :func:`marked_signal`.
        sent: packets that left.
        heard: what came back.
        sample_rate_hz: of ``signal`` and ``heard``.
        signal_place: what ``RtpSender.play`` returned for the signal.
        max_delay_ms: how far back to look.
        window_ms: audio compared from each packet's start; longer for codecs that change the waveform.
    """
    window = round(window_ms * sample_rate_hz / 1000)
    carriers = [packet for packet in sent if packet.first_sample >= signal_place]
    starts = np.array([packet.first_sample - signal_place for packet in carriers], np.int64)
    times = np.array([packet.sent_ns for packet in carriers], np.int64)
    finder = _Finder(signal, window)
    frames: list[FrameDelay] = []
    kinds: list[str] = []
    for place, arrival_ns in zip(heard.first_samples.tolist(), heard.arrivals_ns.tolist(), strict=True):
        piece = heard.pcm[place : place + window].astype(np.float64)
        if len(piece) < window or not len(starts):
            continue
        if 20 * np.log10(np.sqrt(np.mean(piece**2)) / 32768 + 1e-9) < SILENT_DBFS:
            kinds.append("silent")
            continue
        newest = int(starts[max(0, int(np.searchsorted(times, arrival_ns)) - 1)])
        first = newest - round(max_delay_ms * sample_rate_hz / 1000)
        position, match = finder.find(piece, first, newest + window)
        if match < MATCH:
            kinds.append("unmatched")
            continue
        carrier = int(np.clip(np.searchsorted(starts, position + 1e-6, side="right") - 1, 0, len(starts) - 1))
        inside_ms = (position - int(starts[carrier])) / sample_rate_hz * 1000
        delay_ms = (arrival_ns - int(times[carrier])) / 1e6 - inside_ms
        frames.append(FrameDelay(delay_ms, position, place, arrival_ns, match))
        kinds.append("found")
    return _report(frames, kinds, sample_rate_hz)


def _report(frames: list[FrameDelay], kinds: list[str], sample_rate_hz: int) -> MarkReport:
    found = [index for index, kind in enumerate(kinds) if kind == "found"]
    inner = kinds[found[0] : found[-1] + 1] if found else []
    skipped = repeated = 0.0
    gaps = 0
    for earlier, later in pairwise(frames):
        sent_step = later.sent_sample - earlier.sent_sample
        slip_ms = (sent_step - (later.received_sample - earlier.received_sample)) / sample_rate_hz * 1000
        if abs(slip_ms) > SLIP_SAMPLES_MS:
            gaps += 1
            skipped += max(0.0, slip_ms)
            repeated += max(0.0, -slip_ms)
    return MarkReport(tuple(frames), inner.count("silent"), inner.count("unmatched"), skipped, repeated, gaps)


class _Finder:
    """Normalised cross-correlation of short pieces against one long signal."""

    def __init__(self, signal: Samples, window: int) -> None:
        self._signal = signal.astype(np.float64)
        self._window = window
        energy = np.concatenate(([0.0], np.cumsum(self._signal**2)))
        self._norms = np.sqrt(np.maximum(energy[window:] - energy[:-window], 1e-9))

    def find(self, piece: NDArray[np.float64], first: int, last: int) -> tuple[float, float]:
        """Best place in ``[first, last]``, to a fraction of a sample, and its correlation."""
        first = max(0, first)
        last = min(last, len(self._norms) - 1)
        if last - first < 2:
            return float(first), 0.0
        part = self._signal[first : last + self._window]
        size = 1 << (len(part) + self._window - 1).bit_length()
        products = np.fft.irfft(np.fft.rfft(part, size) * np.conj(np.fft.rfft(piece, size)), size)[: last - first + 1]
        scores = products / self._norms[first : last + 1] / np.sqrt(np.sum(piece**2))
        best = int(np.argmax(scores))
        offset, score = _fine_peak(scores, best)
        return first + best + offset, float(min(score, 1.0))


_REACH: Final = 16
_FRACTIONS: Final = np.arange(-16, 17) / 16
_KERNELS: Final = np.sinc(_FRACTIONS[:, None] - np.arange(-_REACH, _REACH + 1)[None, :])


def _fine_peak(scores: NDArray[np.float64], best: int) -> tuple[float, float]:
    """Place of the true peak relative to the best sample, and its height.

    A delay of half a sample (a resampler's) puts the peak between two samples, where both are a quarter lower: the
    scores are band-limited like the signal, so they can be interpolated.
    """
    near = np.zeros(2 * _REACH + 1)
    low, high = max(0, best - _REACH), min(len(scores), best + _REACH + 1)
    near[low - best + _REACH : high - best + _REACH] = scores[low:high]
    fine = _KERNELS @ near
    top = int(np.argmax(fine))
    if not 0 < top < len(fine) - 1:
        return float(_FRACTIONS[top]), float(fine[top])
    before, peak, after = fine[top - 1 : top + 2].tolist()
    curvature = before - 2 * peak + after
    shift = 0.5 * (before - after) / curvature if curvature < 0 else 0.0
    return float(_FRACTIONS[top] + shift / 16), float(peak)

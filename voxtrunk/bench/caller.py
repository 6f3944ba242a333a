"""The calling side of a benchmark, in a process of its own: ``python -m voxtrunk.bench.caller < job.json``."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile
import soxr

from voxtrunk.bench.codecs import CODECS
from voxtrunk.bench.g711 import Samples
from voxtrunk.bench.marks import MarkReport, find_marks, marked_signal
from voxtrunk.bench.phone import Phone
from voxtrunk.bench.rtp_sender import SendOptions
from voxtrunk.bench.voice_activity import last_voiced_sent, wait_quiet, wait_voice

CALL_SPACING_S: Final = 0.12
"""Between two INVITEs, slower than the bot's limit on new calls from one address."""

PTIME_MS: Final = 20
QUIET_MS: Final = 900.0
GREETING_TIMEOUT_S: Final = 20.0
REPLY_TIMEOUT_S: Final = 15.0
TAIL_S: Final = 1.0
"""The call goes on this long after the measurement, so that the last frames come back."""


@dataclasses.dataclass(frozen=True, slots=True)
class CallerJob:
    """What to call and how long; plain values, it travels as JSON.

    Attributes:
        host: of the bot.
        port: its SIP port.
        transport: ``udp`` or ``tcp``.
        flow: ``parrot`` measures turns, every other one measures frames.
        calls: at once.
        seconds: measured time of a frame benchmark.
        warm_up_s: before it, after the last call is up.
        turns: questions a call of ``parrot``.
        codec: a name of ``CODECS``.
        seed: of the first call's signal.
        speech: WAV file that ``parrot`` is asked with; empty otherwise.
    """

    host: str
    port: int
    transport: str
    flow: str
    calls: int
    seconds: float
    warm_up_s: float
    turns: int
    codec: str
    seed: int
    speech: str


def run_job(job: CallerJob) -> dict[str, Any]:
    """Place the calls; returns ``{"calls": [...]}``, one entry a call, times in ms."""
    return {"calls": _turn_calls(job) if job.flow == "parrot" else _frame_calls(job)}


def _phone(job: CallerJob, index: int) -> Phone:
    # Calls begin at evenly spread places of the 20 ms, as independent callers would.
    options = SendOptions(ptime_ms=PTIME_MS, start_delay_ms=PTIME_MS * index / job.calls)
    return Phone(
        (job.host, job.port),
        codec=job.codec,
        transport=job.transport,
        user=f"+1555555{index:04d}",
        options=options,
    )


def _dial(phone: Phone, flow: str) -> float:
    """Set up and return the time from INVITE to 200."""
    phone.dial(flow)
    dialog = phone.dialog
    assert dialog is not None and dialog.answer is not None
    return (dialog.answer.received_ns - dialog.invite_sent_ns) / 1e6


# -- frames ----------------------------------------------------------------------------------------------------------


def _frame_calls(job: CallerJob) -> list[dict[str, Any]]:
    phones: list[Phone] = []
    try:
        setups: list[float] = []
        places: list[int] = []
        rate_hz = CODECS[job.codec].sample_rate_hz
        total_s = job.calls * CALL_SPACING_S + job.warm_up_s + job.seconds + TAIL_S
        signals = [marked_signal(job.seed + index, rate_hz, total_s) for index in range(job.calls)]
        for index in range(job.calls):
            phone = _phone(job, index)
            phones.append(phone)
            setups.append(_dial(phone, job.flow))
            places.append(phone.media.sender.play(signals[index]))
            time.sleep(CALL_SPACING_S)
        first_ns = time.monotonic_ns() + int(job.warm_up_s * 1e9)
        last_ns = first_ns + int(job.seconds * 1e9)
        time.sleep(max(0.0, (last_ns - time.monotonic_ns()) / 1e9 + TAIL_S))
        alive = [phone.is_up for phone in phones]
        for phone in phones:
            phone.hang_up()
        # Only now: the search for the marks is heavy and must not disturb the senders.
        return [
            _frame_entry(phone, signals[i], places[i], setups[i], alive[i], (first_ns, last_ns))
            for i, phone in enumerate(phones)
        ]
    finally:
        for phone in phones:
            phone.close()


def _frame_entry(
    phone: Phone, signal: Samples, place: int, setup_ms: float, alive: bool, span_ns: tuple[int, int]
) -> dict[str, Any]:
    sender = phone.media.sender
    packets = [p for p in phone.media.receiver.packets() if span_ns[0] <= p.arrival_ns < span_ns[1]]
    heard = phone.media.heard(payload_type=sender.payload_type)
    report: MarkReport = find_marks(
        signal, sender.packets, _within(heard, span_ns), phone.media.codec.sample_rate_hz, signal_place=place
    )
    arrivals = np.array([packet.arrival_ns for packet in packets], np.int64)
    spaces_ms = np.diff(arrivals) / 1e6
    return {
        "setup_ms": setup_ms,
        "ended_early": not alive,
        "delays_ms": [round(frame.delay_ms, 3) for frame in report.frames],
        "at_s": [round((frame.arrival_ns - span_ns[0]) / 1e9, 3) for frame in report.frames],
        "packets": len(packets),
        "silent": report.silent,
        "unmatched": report.unmatched,
        "skipped_ms": round(report.skipped_ms, 3),
        "repeated_ms": round(report.repeated_ms, 3),
        "gaps": report.gaps,
        "rtp_missing": heard.missing,
        "rtp_duplicates": heard.duplicates,
        "longest_space_ms": round(float(spaces_ms.max()), 3) if len(spaces_ms) else 0.0,
        "caller_late": sender.counters.late,
        "caller_worst_lateness_ms": round(sender.counters.worst_lateness_ms, 3),
    }


def _within(heard: Any, span_ns: tuple[int, int]) -> Any:
    inside = (heard.arrivals_ns >= span_ns[0]) & (heard.arrivals_ns < span_ns[1])
    return dataclasses.replace(heard, first_samples=heard.first_samples[inside], arrivals_ns=heard.arrivals_ns[inside])


# -- turns -----------------------------------------------------------------------------------------------------------


def read_speech(path: Path, sample_rate_hz: int) -> Samples:
    """A mono WAV at the codec's rate, int16.

    Raises:
        OSError: unreadable.
    """
    pcm, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    resampled = soxr.resample(pcm.mean(axis=1), rate_hz, sample_rate_hz)
    speech: Samples = np.clip(np.rint(resampled * 32767), -32768, 32767).astype(np.int16)
    return speech


def _turn_calls(job: CallerJob) -> list[dict[str, Any]]:
    speech = read_speech(Path(job.speech), CODECS[job.codec].sample_rate_hz)
    with ThreadPoolExecutor(job.calls) as pool:
        entries = [pool.submit(_turn_call, job, index, speech) for index in range(job.calls)]
        return [entry.result() for entry in entries]


def _turn_call(job: CallerJob, index: int, speech: Samples) -> dict[str, Any]:
    time.sleep(index * CALL_SPACING_S)
    with _phone(job, index) as phone:
        setup_ms = _dial(phone, job.flow)
        up_ns = time.monotonic_ns()
        greeting_ns = wait_voice(phone, up_ns, GREETING_TIMEOUT_S)
        wait_quiet(phone, QUIET_MS, GREETING_TIMEOUT_S)
        turns: list[float | None] = []
        for _ in range(job.turns):
            sender = phone.media.sender
            place = sender.play(speech)
            sender.wait_played(len(speech) / phone.media.codec.sample_rate_hz + 5.0)
            last_ns = last_voiced_sent(speech, sender.packets, place).sent_ns
            try:
                turns.append(round((wait_voice(phone, last_ns, REPLY_TIMEOUT_S) - last_ns) / 1e6, 3))
            except TimeoutError:
                turns.append(None)
            wait_quiet(phone, QUIET_MS, GREETING_TIMEOUT_S)
        return {
            "setup_ms": setup_ms,
            "ended_early": not phone.is_up,
            "greeting_ms": round((greeting_ns - up_ns) / 1e6, 3),
            "turns_ms": turns,
            "caller_late": phone.media.sender.counters.late,
            "caller_worst_lateness_ms": round(phone.media.sender.counters.worst_lateness_ms, 3),
        }


def main() -> None:
    """Read a job from stdin, write the result to stdout."""
    job = CallerJob(**json.load(sys.stdin))
    json.dump(run_job(job), sys.stdout)


if __name__ == "__main__":
    main()

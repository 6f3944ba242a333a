"""``voxtrunk bench calls``: real SIP calls to a bot in another process, measured on the wire."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from voxtrunk.bench import gil_hog
from voxtrunk.bench.bootstrap import Estimate, machine, percentiles
from voxtrunk.bench.caller import CallerJob
from voxtrunk.bench.server_process import ServerProcess, free_rtp_range, free_sip_port, serve_command

PERCENTILES: Final = (50.0, 95.0, 99.0)
HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class CallsBenchOptions:
    """What to measure.

    Attributes:
        flow: ``parrot`` measures whole turns, any other flow the delay of each frame.
        calls: at once.
        seconds: measured time, frames only.
        warm_up_s: before it.
        turns: a call, ``parrot`` only.
        codec: ``PCMU``, ``PCMA``, ``G722`` or ``opus``.
        transport: ``udp`` or ``tcp``.
        seed: of the signals and of the resampling.
        busy_gil: a thread of the server spins in pure Python all the time.
        speech: WAV file to ask ``parrot`` with; needed for it.
        target: ``host:port`` of a running bot; None starts one.
        server_command: makes the command from the path of a configuration file.
        server_config: TOML text for the started server, instead of the one for this benchmark.
    """

    flow: str = "echo"
    calls: int = 8
    seconds: float = 30.0
    warm_up_s: float = 2.0
    turns: int = 3
    codec: str = "PCMU"
    transport: str = "udp"
    seed: int = 1
    busy_gil: bool = False
    speech: Path | None = None
    target: str | None = None
    server_command: Callable[[Path], tuple[str, ...]] = field(default=serve_command)
    server_config: str | None = None


@dataclass(frozen=True, slots=True)
class CallsBenchResult:
    """What was measured; every number in ms unless named otherwise.

    Attributes:
        options: plain values.
        machine: where.
        unit: what one sample is: ``frame`` or ``turn``.
        samples: how many.
        percentiles: ``p50``, ``p95``, ``p99`` with intervals.
        maximum: the worst sample.
        lost_frames: frames that went in and did not come out, over all calls.
        gaps: discontinuities in what came back, over all calls.
        missing_turns: questions without an answer.
        calls: raw data of each call.
    """

    options: dict[str, Any]
    machine: dict[str, Any]
    unit: str
    samples: int
    percentiles: dict[str, Estimate]
    maximum: float
    lost_frames: int
    gaps: int
    missing_turns: int
    calls: list[dict[str, Any]]

    def to_json(self) -> str:
        """The whole result, raw samples included."""
        return json.dumps(dataclasses.asdict(self))


async def run_calls_bench(options: CallsBenchOptions) -> CallsBenchResult:
    """Start the bot if no target is given, place the calls from another process, and evaluate them.

    Raises:
        ValueError: contradicting options.
        RuntimeError: the server or the caller failed; the message has their last lines.
    """
    if options.flow == "parrot" and options.speech is None:
        raise ValueError("the parrot flow needs a recording: set speech to a WAV file")
    where = machine()
    if options.target is not None:
        host, _, port = options.target.rpartition(":")
        calls = await _call(options, host, int(port))
    else:
        calls = await _with_server(options)
    return evaluate(options, where, calls)


async def _with_server(options: CallsBenchOptions) -> list[dict[str, Any]]:
    port = free_sip_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "bench.toml"
        config.write_text(options.server_config or bench_config(port, options.calls), encoding="utf-8")
        environment = {gil_hog.VARIABLE: "1"} if options.busy_gil else {}
        server = ServerProcess(options.server_command(config), environment=environment)
        try:
            await asyncio.to_thread(server.start)
            return await _call(options, HOST, port)
        finally:
            if server.is_running:
                await asyncio.to_thread(server.stop)


def bench_config(port: int, calls: int) -> str:
    """TOML of a bot on loopback that takes that many calls."""
    first, last = free_rtp_range(4 * calls + 8)
    return "\n".join(
        [
            "[sip]",
            f'interface = "{HOST}"',
            f"port = {port}",
            f"rtp_port_min = {first}",
            f"rtp_port_max = {last}",
            f"max_calls = {calls}",
            "max_new_calls_per_s = 100",
            "",
        ]
    )


async def _call(options: CallsBenchOptions, host: str, port: int) -> list[dict[str, Any]]:
    job = CallerJob(
        host=host,
        port=port,
        transport=options.transport,
        flow=options.flow,
        calls=options.calls,
        seconds=options.seconds,
        warm_up_s=options.warm_up_s,
        turns=options.turns,
        codec=options.codec,
        seed=options.seed,
        speech=str(options.speech or ""),
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "voxtrunk.bench.caller",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await process.communicate(json.dumps(dataclasses.asdict(job)).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError("the calling process failed:\n" + err.decode(errors="replace")[-2000:])
    calls: list[dict[str, Any]] = json.loads(out)["calls"]
    return calls


def evaluate(
    options: CallsBenchOptions, where: dict[str, Any], calls: list[dict[str, Any]], *, resamples: int = 1000
) -> CallsBenchResult:
    """Numbers from raw data; separate from the calling, so that saved data can be evaluated again."""
    turns = options.flow == "parrot"
    blocks = [block for call in calls for block in (_turn_blocks(call) if turns else _second_blocks(call))]
    values = [value for block in blocks for value in block]
    estimates = percentiles(blocks, PERCENTILES, seed=options.seed, resamples=resamples) if values else []
    plain = dataclasses.asdict(dataclasses.replace(options, server_command=serve_command))
    plain.pop("server_command")
    plain["speech"] = str(options.speech) if options.speech else None
    return CallsBenchResult(
        options=plain,
        machine=where,
        unit="turn" if turns else "frame",
        samples=len(values),
        percentiles={f"p{level:g}": item for level, item in zip(PERCENTILES, estimates, strict=False)},
        maximum=max(values, default=0.0),
        lost_frames=0 if turns else sum(_lost_frames(call) for call in calls),
        gaps=sum(call.get("gaps", 0) for call in calls),
        missing_turns=sum(call["turns_ms"].count(None) for call in calls) if turns else 0,
        calls=calls,
    )


def _second_blocks(call: dict[str, Any]) -> list[list[float]]:
    blocks: dict[int, list[float]] = {}
    for at_s, delay_ms in zip(call["at_s"], call["delays_ms"], strict=True):
        blocks.setdefault(int(at_s), []).append(delay_ms)
    return list(blocks.values())


def _turn_blocks(call: dict[str, Any]) -> list[list[float]]:
    return [[value] for value in call["turns_ms"] if value is not None]


def _lost_frames(call: dict[str, Any]) -> int:
    """Audio that never came out, in frames of 20 ms; silent packets are their other face and are not added."""
    return round(float(call["skipped_ms"]) / 20) + int(call["unmatched"])

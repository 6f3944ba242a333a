"""The call benchmark, whole: the calling process against a bot whose delay, losses and answers are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxtrunk.bench.calls import CallsBenchOptions, bench_config, evaluate, run_calls_bench
from voxtrunk.bench.report import markdown, print_result


def target(bot) -> str:  # type: ignore[no-untyped-def]
    host, port = bot.address
    return f"{host}:{port}"


async def test_frames_of_a_bot_that_is_two_packets_late(bot) -> None:  # type: ignore[no-untyped-def]
    bot.lose = {60}
    options = CallsBenchOptions(calls=2, seconds=1.5, warm_up_s=0.2, target=target(bot))
    result = await run_calls_bench(options)
    assert result.percentiles["p50"].value == pytest.approx(40, abs=5)
    assert result.unit == "frame" and result.samples >= 140
    assert result.lost_frames == 0 and result.gaps == 0
    assert {call["rtp_missing"] for call in result.calls} == {1}
    assert not any(call["ended_early"] for call in result.calls)
    assert len(json.loads(result.to_json())["calls"][0]["delays_ms"]) == len(result.calls[0]["delays_ms"])


async def test_turns_of_a_bot_that_repeats_300_ms_later(bot, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    bot.late_packets, bot.greeting_packets = 15, 10
    speech = tmp_path / "speech.wav"
    soundfile.write(speech, 0.3 * np.sin(2 * np.pi * 440 * np.arange(1600) / 16000), 16000)
    options = CallsBenchOptions(flow="parrot", calls=1, turns=2, speech=speech, target=target(bot))
    result = await run_calls_bench(options)
    # 100 ms of speech: its last packet leaves 80 ms after its first one.
    assert result.calls[0]["turns_ms"] == pytest.approx([220, 220], abs=15)
    assert (result.unit, result.samples, result.missing_turns) == ("turn", 2, 0)
    assert result.calls[0]["greeting_ms"] == pytest.approx(300, abs=40)


async def test_a_caller_that_fails_says_why(bot) -> None:  # type: ignore[no-untyped-def]
    bot.status = 486
    with pytest.raises(RuntimeError, match=r"(?s)the calling process failed.*the call was refused: 486 Busy Here"):
        await run_calls_bench(CallsBenchOptions(calls=1, target=target(bot)))


async def test_parrot_needs_a_recording() -> None:
    with pytest.raises(ValueError, match="the parrot flow needs a recording"):
        await run_calls_bench(CallsBenchOptions(flow="parrot", target="127.0.0.1:9"))


def frame_call(delay_ms: float, **changes: object) -> dict[str, object]:
    call: dict[str, object] = {
        "setup_ms": 5.0, "ended_early": False, "delays_ms": [delay_ms] * 100, "at_s": [n / 50 for n in range(100)],
        "packets": 100, "silent": 0, "unmatched": 0, "skipped_ms": 0.0, "repeated_ms": 0.0, "gaps": 0, "rtp_missing": 0,
        "rtp_duplicates": 0, "longest_space_ms": 21.0, "caller_late": 0, "caller_worst_lateness_ms": 1.0,
    }  # fmt: skip
    return {**call, **changes}


WHERE = {"cpu": "test", "cores": 2, "python": "3.11", "system": "Linux", "load_1min": 0.1}


def test_evaluation_of_frames() -> None:
    calls = [frame_call(40.0), frame_call(50.0, skipped_ms=40.0, gaps=1, unmatched=1)]
    result = evaluate(CallsBenchOptions(busy_gil=True), WHERE, calls, resamples=50)
    assert result.percentiles["p95"].value == 50.0
    assert (result.samples, result.maximum, result.lost_frames, result.gaps) == (200, 50.0, 3, 1)
    text = markdown(result)
    assert text.startswith("8 calls of echo, PCMU, GIL kept busy; test, 2 cores")
    assert "| frame p95 (95 % interval) | 50.0 ms (" in text
    assert "| frames lost | 3 |" in text


def test_evaluation_of_turns() -> None:
    call = {"setup_ms": 5.0, "ended_early": False, "greeting_ms": 200.0, "turns_ms": [700.0, None, 900.0],
            "caller_late": 0, "caller_worst_lateness_ms": 1.0}  # fmt: skip
    options = CallsBenchOptions(flow="parrot", speech=Path("x.wav"))
    result = evaluate(options, WHERE, [call], resamples=50)
    assert (result.unit, result.samples, result.missing_turns, result.maximum) == ("turn", 2, 1, 900.0)
    assert "| questions without an answer | 1 |" in markdown(result)


def test_evaluation_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    result = evaluate(CallsBenchOptions(), WHERE, [frame_call(1.0, delays_ms=[], at_s=[])])
    assert result.samples == 0 and result.percentiles == {}
    print_result(result, as_json=True)
    assert json.loads(capsys.readouterr().out)["samples"] == 0
    print_result(result)
    assert "| frames measured | 0 |" in capsys.readouterr().out


def test_config_has_ports_for_all_calls() -> None:
    text = bench_config(5080, 8)
    values = dict(line.split(" = ") for line in text.splitlines() if " = " in line)
    assert int(values["rtp_port_max"]) - int(values["rtp_port_min"]) >= 2 * 8
    assert values["max_calls"] == "8"

"""Our own caller against legs that play a script; frame time, no waiting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from telephony.leg import EndCause, Pcm, TelephonyError
from telephony.settings import SipSettings
from telephony.wav_leg import WavLeg, write_wav
from tests.dialog.engines import tone
from tests.voxtrunk.parts import FakeAgent
from voxtrunk.caller import CallPlan, CallReport, caller_settings, place_call, speech_of

URI = "sip:parrot@127.0.0.1:5060"


def quiet(ms: float) -> Pcm:
    return np.zeros(int(ms * 16), np.float32)


async def call(other_side: Pcm, **plan: object) -> tuple[CallReport, WavLeg]:
    agent = FakeAgent()
    leg = WavLeg(other_side)
    agent.to_dial[URI] = leg
    values: dict[str, object] = {"speech": quiet(0), "seconds": 20.0, **plan}
    return await place_call(agent, CallPlan(uri=URI, **values)), leg  # type: ignore[arg-type]


def voiced_ms(pcm: Pcm) -> tuple[float, float]:
    """First and last voiced time."""
    loud = np.flatnonzero(np.abs(pcm) > 0.02) / 16
    return float(loud[0]), float(loud[-1])


async def test_it_speaks_after_the_greeting_and_hangs_up_after_the_reply() -> None:
    other_side = np.concatenate((quiet(100), tone(1000), quiet(2500), tone(500), quiet(5000)))
    report, leg = await call(other_side, speech=tone(400), end_after_reply=True)
    start_ms, end_ms = voiced_ms(leg.heard())
    assert 1700 <= start_ms <= 1900, "after 100 ms of silence, the greeting and a pause of 700 ms"
    assert 380 <= end_ms - start_ms <= 400
    assert report.first_word_ms == 100
    assert report.reply_ms is not None and report.reply_ms == pytest.approx(3600 - end_ms, abs=60)
    assert report.cause is EndCause.WE_HUNG_UP
    assert len(report.heard) < len(other_side)


async def test_it_speaks_to_a_side_that_says_nothing() -> None:
    report, leg = await call(quiet(8000), speech=tone(400))
    assert voiced_ms(leg.heard())[0] == pytest.approx(5000, abs=60)
    assert (report.first_word_ms, report.reply_ms) == (None, None)
    assert report.cause is EndCause.CALLER_HUNG_UP
    assert "first word after none, reply after none" in report.in_words()


async def test_it_speaks_at_once_when_told_to() -> None:
    _, leg = await call(quiet(2000), speech=tone(400), wait_s=0.0)
    assert voiced_ms(leg.heard())[0] < 100


async def test_it_only_listens_without_speech() -> None:
    report, leg = await call(np.concatenate((tone(300), quiet(300))))
    assert np.abs(report.heard).max() == pytest.approx(0.1, abs=0.01)
    assert not leg.heard().any()
    assert "L16 over file, encryption none" in report.in_words()


async def test_the_time_limit_ends_the_call() -> None:
    agent = FakeAgent()
    agent.to_dial[URI] = WavLeg(quiet(60_000), realtime=True)
    report = await place_call(agent, CallPlan(uri=URI, speech=quiet(0), seconds=0.1))
    assert report.cause is EndCause.WE_HUNG_UP
    assert len(report.heard) < 16_000


async def test_nobody_answers() -> None:
    with pytest.raises(TelephonyError, match="404 Not Found"):
        await place_call(FakeAgent(), CallPlan(uri=URI, speech=quiet(0), seconds=1.0))


def test_the_caller_does_not_register_or_refuse() -> None:
    sip = SipSettings.model_validate({"registrar": "pbx.example", "allowed_sources": ["192.0.2.0/24"]})
    caller = caller_settings(sip, 5099)
    assert (caller.port, caller.registrar, caller.domain, caller.allowed_sources) == (5099, None, "pbx.example", ())


def test_speech_comes_from_a_file_or_is_nothing(tmp_path: Path) -> None:
    assert len(speech_of(None)) == 0
    write_wav(tmp_path / "a.wav", tone(100))
    assert len(speech_of(tmp_path / "a.wav")) == 1600

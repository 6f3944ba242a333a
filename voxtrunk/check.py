"""``voxtrunk check``, the doctor: tries everything that a call needs and says what to fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from dialog.flow import FLOWS
from dialog.services import Services, build_services
from telephony.leg import SAMPLE_RATE_HZ, Leg
from telephony.settings import Codec, SipSettings
from telephony.user_agent import Invitation, Refusal
from voxtrunk.certificate import expires
from voxtrunk.config import Config, ConfigError, load_config
from voxtrunk.failures import EXIT_CONFIGURATION, EXIT_RUNTIME, first_error, in_words
from voxtrunk.recording import DEMO_SPEECH, load_recording

SENTENCE: Final = "The quick brown fox jumps over the lazy dog."
"""Spoken by the voice and recognised again: real output, not a health flag."""

LEAST_AGREEMENT: Final = 0.8
"""Share of the sentence's words that must come back."""

EXPIRY_WARNING: Final = timedelta(days=14)

Write = Callable[[str], object]


class CheckFailed(Exception):
    """One check did not pass; the message says what was found and what to do."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: a name, and work that returns what it found or raises."""

    name: str
    work: Callable[[], Awaitable[str]]


async def run_check(path: Path | None, environ: Mapping[str, str], write: Write) -> int:
    """Run every check, also after one has failed.

    Args:
        path: configuration file; None checks the built-in values.
        environ: settings over the file's.
        write: gets the report, a line at a time.

    Returns:
        Exit code: 0 all passed, 1 something failed, 2 the configuration is wrong.
    """
    try:
        config = load_config(path, environ)
    except ConfigError as error:
        for line in str(error).splitlines():
            write(f"FAIL configuration: {line}\n")
        return EXIT_CONFIGURATION
    write(f"ok   configuration: {path or 'built-in values'}, default flow {config.flow.default}\n")
    services = build_services(config.synth, config.listen, config.stt, config.flow)
    try:
        passed = [await _passes(check, write) for check in checks(config, services)]
    finally:
        await services.close()
    return 0 if all(passed) else EXIT_RUNTIME


def checks(config: Config, services: Services) -> tuple[Check, ...]:
    """All checks that this configuration asks for, in the order in which a call meets their subjects."""
    sip = config.sip
    certificate = [Check("certificate", partial(_certificate, sip.tls_certificate))] if sip.tls_certificate else []
    codecs = [Check(f"call with {codec}", partial(_call_with, sip, codec)) for codec in sip.codecs]
    return (
        *certificate,
        Check("SIP", lambda: _listen(sip)),
        *codecs,
        Check("speech detection", lambda: _detects_speech(services)),
        Check("voice and recognition", lambda: _speaks_and_understands(services)),
    )


async def _passes(check: Check, write: Write) -> bool:
    try:
        found = await check.work()
    except Exception as error:  # a check's own failure is a failed check, and the others still run
        cause = first_error(error)
        write(f"FAIL {check.name}: {cause if isinstance(cause, CheckFailed) else in_words(cause)}\n")
        return False
    write(f"ok   {check.name}: {found}\n")
    return True


async def _certificate(path: Path) -> str:
    ends = expires(path)
    left = ends - datetime.now(UTC)
    if left < EXPIRY_WARNING:
        raise CheckFailed(f"{path} ends on {ends:%Y-%m-%d}, in {left.days} days: renew it")
    return f"{path} is good until {ends:%Y-%m-%d}"


async def _listen(settings: SipSettings) -> str:
    from telephony.baresip_agent import BaresipUserAgent

    agent = BaresipUserAgent(settings, flows=tuple(sorted(FLOWS)))
    await agent.start(_nobody_home, _ignore)
    try:
        return f"{', '.join(agent.listening)}; registration {agent.registration}"
    finally:
        await agent.close()


async def _nobody_home(leg: Leg) -> None:
    """A call during the check: the agent hangs up when this returns."""


def _ignore(invitation: Invitation, refusal: Refusal) -> None:
    """Nobody asks what was refused."""


async def _call_with(settings: SipSettings, codec: Codec) -> str:
    from voxtrunk.self_call import self_call

    info = await self_call(settings.model_copy(update={"codecs": (codec,)}))
    return f"answered over {info.transport}, encryption {info.media_encryption}, the tone came back"


async def _detects_speech(services: Services) -> str:
    speech = load_recording(DEMO_SPEECH)
    best = max(window.probability for window in services.new_vad().feed(speech))
    silence = max(window.probability for window in services.new_vad().feed(np.zeros(len(speech), np.float32)))
    threshold = services.listen.vad_threshold
    if not silence < threshold <= best:
        raise CheckFailed(
            f"speech scores {best:.2f} and silence {silence:.2f}, but listen.vad_threshold is {threshold}: "
            "set it between the two"
        )
    return f"speech scores {best:.2f}, silence {silence:.2f}, threshold {threshold}"


async def _speaks_and_understands(services: Services) -> str:
    await services.warm_up()
    pieces = [piece async for piece in services.synthesizer.stream(SENTENCE)]
    spoken = np.concatenate(pieces) if pieces else np.zeros(0, np.float32)
    heard = await services.recogniser.transcribe(spoken)
    agreement = word_agreement(SENTENCE, heard.text)
    if agreement < LEAST_AGREEMENT:
        raise CheckFailed(
            f"said {SENTENCE!r}, recognised {heard.text!r}: check synth.voice, stt.model and stt.language"
        )
    return f"{len(spoken) / SAMPLE_RATE_HZ:.1f} s spoken, recognised in {heard.stt_ms:.0f} ms as {heard.text!r}"


def word_agreement(said: str, heard: str) -> float:
    """Share of the words of ``said`` that are in ``heard``, in the same order: 0..1."""
    wanted, got = words(said), words(heard)
    matcher = difflib.SequenceMatcher(a=wanted, b=got, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / len(wanted) if wanted else 0.0


def words(text: str) -> list[str]:
    """Lower-case words without punctuation."""
    return re.findall(r"[\w']+", text.lower())

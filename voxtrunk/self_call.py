"""A call of the bot to itself: proves ports, codec and media with a tone that comes back."""

from __future__ import annotations

import asyncio
from typing import Final

import numpy as np

from telephony.baresip_agent import BaresipUserAgent
from telephony.leg import SAMPLE_RATE_HZ, Leg, LegInfo, Pcm, TelephonyError
from telephony.settings import SipSettings
from telephony.user_agent import Invitation, Refusal

TONE_HZ: Final = 600.0
TONE_S: Final = 0.6
_LEVEL: Final = 0.3
_ANSWER_TIMEOUT_S: Final = 5.0
_TONE_TIMEOUT_S: Final = 5.0
_HEARD_SAMPLES: Final = SAMPLE_RATE_HZ // 5
_ECHO_AHEAD_MS: Final = 60.0


async def self_call(settings: SipSettings) -> LegInfo:
    """Start a user agent, call it from itself, send a tone through the echo and look for it.

    Args:
        settings: of the user agent. Nobody else is called: it does not register, and all sources may call.

    Returns:
        What was negotiated.

    Raises:
        TelephonyError: a port is in use, the call was not answered, or the tone did not come back.
    """
    settings = settings.model_copy(update={"registrar": None, "allowed_sources": (), "tls_verify": False})
    agent = BaresipUserAgent(settings)
    await agent.start(_echo, _refused)
    try:
        leg = await agent.dial(own_uri(settings), timeout_s=_ANSWER_TIMEOUT_S)
        await _expect_tone(leg)
        info = leg.info
        await leg.hangup()
    finally:
        await agent.close()
    return info


def own_uri(settings: SipSettings) -> str:
    """Where the user agent of these settings can be called."""
    transport = "udp" if "udp" in settings.transports else settings.transports[0]
    port = settings.port + (transport == "tls")
    return f"sip:check@{settings.interface}:{port};transport={transport}"


async def _echo(leg: Leg) -> None:
    async for frame in leg.frames():
        leg.write(frame.pcm, max_ahead_ms=_ECHO_AHEAD_MS)


def _refused(invitation: Invitation, refusal: Refusal) -> None:
    """Shows as a failure to dial."""


async def _expect_tone(leg: Leg) -> None:
    at_s = np.arange(int(TONE_S * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    leg.write((_LEVEL * np.sin(2 * np.pi * TONE_HZ * at_s)).astype(np.float32))
    heard: list[Pcm] = []
    try:
        async with asyncio.timeout(_TONE_TIMEOUT_S):
            async for frame in leg.frames():
                heard.append(frame.pcm)
                if _is_tone(np.concatenate(heard[-_HEARD_SAMPLES // len(frame.pcm) :])):
                    return
    except TimeoutError:
        pass
    raise TelephonyError(f"{leg.info.codec}: the call was answered, but the tone that was sent did not come back")


def _is_tone(pcm: Pcm) -> bool:
    """Whether most of the power of the last 200 ms is at the tone's frequency."""
    if len(pcm) < _HEARD_SAMPLES or np.sqrt(np.mean(np.square(pcm))) < _LEVEL / 4:
        return False
    power = np.square(np.abs(np.fft.rfft(pcm * np.hanning(len(pcm)))))
    at_hz = np.fft.rfftfreq(len(pcm), 1 / SAMPLE_RATE_HZ)
    return bool(power[np.abs(at_hz - TONE_HZ) < 25].sum() > 0.8 * power.sum())

"""The bot calls itself, for real, on loopback."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from telephony.leg import TelephonyError
from telephony.settings import SipSettings
from voxtrunk.bench.server_process import free_rtp_range, free_sip_port
from voxtrunk.self_call import _is_tone, own_uri, self_call


def settings(**values: object) -> SipSettings:
    first, last = free_rtp_range(40)
    return SipSettings.model_validate(
        {"port": free_sip_port(), "rtp_port_min": first, "rtp_port_max": last, "codecs": ["PCMU"], **values}
    )


async def test_the_tone_comes_back() -> None:
    info = await self_call(settings(allowed_sources=["192.0.2.0/24"]))
    assert (info.codec, info.transport) == ("PCMU", "udp")


async def test_over_tcp_with_srtp() -> None:
    info = await self_call(settings(transports=["tcp"], srtp="required", codecs=["G722"]))
    assert (info.codec, info.transport) == ("G722", "tcp")
    assert info.media_encryption != "none"


async def test_a_port_in_use() -> None:
    sip = settings()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((sip.interface, sip.port))
        with pytest.raises(TelephonyError, match="Address already in use"):
            await self_call(sip)


def test_where_it_calls_itself() -> None:
    assert own_uri(SipSettings(port=5070)) == "sip:check@127.0.0.1:5070;transport=udp"
    assert own_uri(SipSettings(port=5070, transports=("tcp",))) == "sip:check@127.0.0.1:5070;transport=tcp"


def test_what_counts_as_the_tone() -> None:
    at_s = np.arange(3200) / 16_000
    tone = (0.3 * np.sin(2 * np.pi * 600 * at_s)).astype(np.float32)
    noise = np.random.default_rng(1).normal(0, 0.2, 3200).astype(np.float32)
    assert _is_tone(tone) and _is_tone(tone + 0.1 * noise)
    assert not _is_tone(noise) and not _is_tone(tone * 0.1) and not _is_tone(tone[:1600])
    assert not _is_tone((0.3 * np.sin(2 * np.pi * 900 * at_s)).astype(np.float32))

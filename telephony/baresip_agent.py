"""The default user agent: baresip, whose SIP, SRTP, jitter buffers and codecs run in C threads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Coroutine, Mapping, Sequence
from typing import Final

import baresip

from probes.clock import Clock, MonotonicClock, ns_to_ms
from telephony.admission import Admission
from telephony.baresip_leg import BaresipLeg
from telephony.baresip_native import NativeCalls
from telephony.leg import Leg, LegInfo, TelephonyError
from telephony.media_pump import MediaPump
from telephony.media_stream import MediaStream
from telephony.settings import Codec, SipSettings
from telephony.stack_audio import StackAudio
from telephony.user_agent import CallHandler, Invitation, Refusal, RefusalHandler, Registration, UserAgent

_CODEC_SPECS: Final[dict[Codec, str]] = {
    "opus": "opus/48000/1",
    "G722": "g722/16000/1",
    "PCMU": "pcmu",
    "PCMA": "pcma",
}
_MEDIA_ENCRYPTION: Final = {"off": None, "optional": "srtp", "required": "srtp-mand"}
_DTMF_MODES: Final[dict[str, str]] = {"rfc4733": "rtpevent", "info": "info", "auto": "auto"}
_HANGUP_TIMEOUT_S: Final = 5.0
_WATCH_INTERVAL_S: Final = 0.1
_DEAF_PACKETS: Final = 3
"""Packets in one interval, of which none became audio, that make a call deaf."""

_ACK_TIMEOUT_S: Final = 40.0
"""The stack itself gives up on a lost ACK, with BYE, after 32 s (RFC 3261 s13.3.1.4)."""


_log = logging.getLogger(__name__)


def _user_part(address: str) -> str:
    """User part of a SIP URI or name-addr (RFC 3261 s25.1); empty where there is none."""
    match = re.search(r"sips?:([^@;>]+)@", address)
    return match.group(1) if match else ""


class BaresipUserAgent(UserAgent):
    """One baresip runtime with an account for our own address and one for each flow's name."""

    def __init__(self, settings: SipSettings, *, flows: Sequence[str] = (), clock: Clock | None = None) -> None:
        """
        Args:
            settings: the ``[sip]`` section.
            flows: user parts that are matched against the Request-URI of each call.
            clock: monotonic time.
        """
        self._settings = settings
        self._flows = tuple(flows)
        self._clock = clock or MonotonicClock()
        self._admission = Admission(settings, self._clock)
        self._native: NativeCalls | None = None
        self._runtime = baresip.Runtime()
        self._pump: MediaPump | None = None
        self._main: baresip.UserAgent | None = None
        self._legs: set[BaresipLeg] = set()
        self._pending = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._registration = Registration.OFF
        self._on_call: CallHandler | None = None
        self._on_refused: RefusalHandler | None = None

    # -- start ---------------------------------------------------------------------------------------------------

    async def start(self, on_call: CallHandler, on_refused: RefusalHandler) -> None:
        self._on_call, self._on_refused = on_call, on_refused
        self._check_ports()
        try:
            await self._runtime.start(self._stack_config())
            self._native = NativeCalls(self._runtime)
            self._main = await self._add_account(self._settings.user, catch_all=True)
            for flow in self._flows:
                await self._add_account(flow, catch_all=False)
        except baresip.BaresipError as error:
            raise TelephonyError(f"the SIP stack did not start: {error}") from error
        self._pump = MediaPump(self._clock)
        self._pump.start()
        if self._settings.registrar is not None:
            self._main.on(self._on_registration)
            await self._register(self._main)

    def _check_ports(self) -> None:
        """The stack only logs that a port is taken; a bot that nobody can reach must not start."""
        for address in self.listening:
            transport, host, port = address.split(":")
            kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
            with socket.socket(socket.AF_INET, kind) as probe:
                if kind == socket.SOCK_STREAM:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((host, int(port)))
                except OSError as error:
                    raise TelephonyError(
                        f"cannot listen on {address}: {error.strerror}; free the port or set sip.port / sip.interface"
                    ) from error

    def _stack_config(self) -> baresip.Config:
        sip = self._settings
        lines = [
            f"sip_listen {sip.interface}:{sip.port}",
            f"sip_transports {','.join(sip.transports)}",
            f"rtp_ports {sip.rtp_port_min}-{sip.rtp_port_max}",
            "audio_jitter_buffer_type " + ("fixed" if sip.jitter_buffer_ms else "off"),
            f"audio_jitter_buffer_ms {sip.jitter_buffer_ms}-{max(60, 2 * sip.jitter_buffer_ms)}",
            "call_hold_other_calls no",
            "opus_stereo no",
            "opus_sprop_stereo no",
        ]
        if sip.tls_certificate is not None:
            lines.append(f"sip_certificate {sip.tls_certificate}")
        if sip.tls_ca_file is not None:
            lines.append(f"sip_cafile {sip.tls_ca_file}")
        lines.append(f"sip_verify_server {'yes' if sip.tls_verify else 'no'}")
        return baresip.Config(
            net_interface=sip.interface,
            max_concurrent_calls=None,
            rtp_timeout=sip.rtp_timeout_s,
            expose_headers=("To", *sip.expose_headers),
            extra_config_text="\n".join(lines),
        )

    async def _add_account(self, user: str, *, catch_all: bool) -> baresip.UserAgent:
        sip = self._settings
        encryption = _MEDIA_ENCRYPTION[sip.srtp]
        extra = [f"mediaenc={encryption}"] if encryption else []
        if catch_all:
            extra.append("catchall=yes")
        if sip.outbound_proxy is not None:
            extra.append(f'outbound="{sip.outbound_proxy}"')
        account = baresip.Account(
            user=user,
            domain=sip.domain or sip.registrar or sip.interface,
            password=sip.password.get_secret_value() if catch_all else "",
            reg_interval=sip.registration_interval_s if catch_all and sip.registrar else 0,
            transport=sip.transports[0],
            audio_codecs=tuple(_CODEC_SPECS[codec] for codec in sip.codecs),
            dtmf_mode=_DTMF_MODES[sip.dtmf],  # type: ignore[arg-type]
            auth_user=sip.auth_user if catch_all else None,
            registrar=sip.registrar if catch_all else None,
            extra_params=tuple(extra),
        )
        address = account.aor()
        if not account.reg_interval:
            # An account that names a transport is not found by calls that come over another one.
            address = address.replace(f";transport={account.transport}>", ">", 1)
        agent = await baresip.UserAgent.create(self._runtime, address)
        agent.on_incoming(lambda call: self._spawn(self._invited(call, "" if catch_all else user)))
        return agent

    async def _register(self, agent: baresip.UserAgent) -> None:
        try:
            await agent.register()
        except baresip.RegistrationError as error:
            raise TelephonyError(
                f"registration with {self._settings.registrar} failed: {error}; "
                "check sip.registrar, sip.user, sip.auth_user and the password"
            ) from error
        self._registration = Registration.REGISTERED

    def _on_registration(self, event: baresip.StackEvent) -> None:
        if event.event is baresip.Event.REGISTER_OK:
            self._registration = Registration.REGISTERED
        elif event.event is baresip.Event.REGISTER_FAIL:
            self._registration = Registration.FAILED
            _log.error("registration lost: %s; the stack goes on trying", event.text)

    # -- calls ---------------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _invited(self, call: baresip.Call, matched_flow: str) -> None:
        assert self._native is not None and self._on_refused is not None and call.call_id is not None
        invited_ns = self._clock.now_ns()
        headers = dict(call.headers)
        to = headers.pop("To", "")
        invitation = Invitation(
            call_id=call.call_id,
            remote_uri=call.peer or "",
            called_user=matched_flow or _user_part(to),
            source_ip=await self._native.invited(call.call_id),
            headers=headers,
        )
        refusal = self._admission.decide(invitation.source_ip, self.live_calls)
        if refusal is not None:
            await self._native.refuse(call.call_id, refusal)
            self._on_refused(invitation, refusal)
            return
        self._pending += 1
        try:
            leg = await self._answer(call, invitation, invited_ns)
        finally:
            self._pending -= 1
        if leg is not None:
            await self._serve(leg)

    async def _answer(self, call: baresip.Call, invitation: Invitation, invited_ns: int) -> BaresipLeg | None:
        """Answer and wait for the ACK; None when the call ended in between."""
        assert self._native is not None
        try:
            await call.answer()
            await call.wait_established(timeout=_ACK_TIMEOUT_S)
            return await self._leg(call, invitation, invited_ns, inbound=True)
        except (baresip.StaleHandleError, baresip.CallFailed) as error:
            _log.info("call ended before it was set up: %s", error)
        except baresip.AudioNotActive:
            _log.info("call has no usable media: hanging up")  # an unusable answer in the ACK (RFC 3261 s13.2.1)
            with contextlib.suppress(baresip.StaleHandleError):
                await call.hangup()
        except baresip.BaresipError as error:
            _log.error("cannot answer a call: %s", error)
            await self._native.refuse(invitation.call_id, Refusal(500, "Server Internal Error"))
        return None

    async def _leg(self, call: baresip.Call, invitation: Invitation, invited_ns: int, *, inbound: bool) -> BaresipLeg:
        assert self._pump is not None and self._native is not None
        negotiated = await self._native.media(invitation.call_id)
        audio = StackAudio(call.handle)
        media = MediaStream(
            audio,
            clock=self._clock,
            transmit_buffer=await self._native.transmit_buffer(invitation.call_id),
            is_held=lambda: bool(call.remote_on_hold),
        )
        info = LegInfo(
            call_id=invitation.call_id,
            inbound=inbound,
            remote_uri=invitation.remote_uri,
            called_user=invitation.called_user,
            codec=negotiated.codec,
            codec_rate_hz=audio.info().tx_rate_hz,
            transport=negotiated.transport,
            media_encryption=negotiated.encryption,
            setup_ms=ns_to_ms(self._clock.now_ns() - invited_ns),
            headers=invitation.headers,
        )
        leg = BaresipLeg(call, info, media, jitter_buffer_ms=self._settings.jitter_buffer_ms, on_end=self._forget)
        self._legs.add(leg)
        self._pump.add(leg)
        self._spawn(self._watch_receiver(leg))
        return leg

    async def _watch_receiver(self, leg: BaresipLeg) -> None:
        """A source whose sequence numbers jump back would not be heard for minutes: the jitter buffer takes its packets
        for late ones (RFC 3550 A.1 resynchronises after two). Seen as packets that come and audio that does not."""
        assert self._native is not None
        packets = frames_in = frames_filled = 0
        while not leg.ended.done():
            await asyncio.wait([leg.ended], timeout=_WATCH_INTERVAL_S)
            media = leg.media
            if media.frames_filled == frames_filled or leg.on_hold:
                packets, frames_in, frames_filled = 0, media.frames_in, media.frames_filled
                continue
            now = await self._native.received_packets(leg.info.call_id)
            if packets and media.frames_in == frames_in and now - packets >= _DEAF_PACKETS:
                await self._native.restart_receiver(leg.info.call_id)
            packets, frames_in, frames_filled = now, media.frames_in, media.frames_filled

    async def _serve(self, leg: BaresipLeg) -> None:
        assert self._on_call is not None
        try:
            await self._on_call(leg)
        finally:
            await leg.hangup()

    def _forget(self, leg: BaresipLeg) -> None:
        self._legs.discard(leg)
        if self._pump is not None:
            self._pump.remove(leg)
        transmit_buffer = leg.media.close()
        if transmit_buffer is not None:
            self._spawn(transmit_buffer.release())

    async def dial(self, uri: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0) -> Leg:
        dialled_ns = self._clock.now_ns()
        try:
            call = await self._establish(uri, dict(headers or {}), timeout_s)
        except (baresip.BaresipError, ValueError) as error:
            raise TelephonyError(f"cannot call {uri}: {error}") from error
        assert call.call_id is not None
        invitation = Invitation(call_id=call.call_id, remote_uri=uri, called_user=_user_part(uri), source_ip="")
        return await self._leg(call, invitation, dialled_ns, inbound=False)

    async def _establish(self, uri: str, headers: dict[str, str], timeout_s: float) -> baresip.Call:
        """Dial and wait. The peer may have answered before the binding has a call object to tell of it."""
        assert self._main is not None
        early: list[baresip.StackEvent] = []
        self._runtime.subscribe(early.append)
        try:
            call = await self._main.dial(uri, headers)
        finally:
            self._runtime.unsubscribe(early.append)
        for event in early:
            call._on_stack_event(event)  # passes over those of other calls
        await call.wait_established(timeout=timeout_s)
        return call

    # -- state and end -------------------------------------------------------------------------------------------

    @property
    def listening(self) -> tuple[str, ...]:
        sip = self._settings
        return tuple(f"{transport}:{sip.interface}:{sip.port + (transport == 'tls')}" for transport in sip.transports)

    @property
    def registration(self) -> Registration:
        return self._registration

    @property
    def live_calls(self) -> int:
        return len(self._legs) + self._pending

    async def drain(self, limit_s: float) -> int:
        self._admission.draining = True
        ends = [asyncio.shield(leg.ended) for leg in self._legs]
        if ends:
            await asyncio.wait(ends, timeout=limit_s)
        remaining = tuple(self._legs)
        await self._hang_up(remaining)
        return len(remaining)

    async def _hang_up(self, legs: Sequence[BaresipLeg]) -> None:
        if legs:
            ends = [asyncio.ensure_future(leg.hangup()) for leg in legs]
            _, late = await asyncio.wait(ends, timeout=_HANGUP_TIMEOUT_S)
            for task in late:
                task.cancel()

    async def close(self) -> None:
        self._admission.draining = True
        await self._hang_up(tuple(self._legs))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_HANGUP_TIMEOUT_S)
        if self._main is not None and self._registration is Registration.REGISTERED:
            try:
                await self._main.unregister()
            except baresip.RegistrationError as error:
                _log.warning("the registrar did not confirm that we left: %s", error)
        if self._pump is not None:
            self._pump.close()
        if self._native is not None:
            await self._runtime.close()

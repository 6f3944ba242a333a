"""The user agent over real SIP and RTP on loopback, against a raw peer that hides nothing."""

from __future__ import annotations

import asyncio
import socket

import pytest

from telephony.baresip_agent import BaresipUserAgent
from telephony.leg import EndCause, TelephonyError, TransferFailed
from telephony.settings import SipSettings
from telephony.user_agent import Registration
from tests.telephony.conftest import NewCaller, StartBot, free_port
from tests.telephony.registrar import Registrar
from voxtrunk.bench.rtp_peer import RtpPeer
from voxtrunk.bench.sdp import media_section, session
from voxtrunk.bench.sip_peer import SipPeer

NOTHING_S = 0.4
"""The needless re-INVITE of the stack came 80-140 ms after the answer."""


async def test_an_answered_call_says_what_it_is(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot(expose_headers=("X-Twilio-CallSid",))
    caller = new_caller(bot)
    answer = await caller.call(headers=(("X-Twilio-CallSid", "CA0123"),))
    leg = await bot.next_leg()
    assert answer.status == 200
    assert leg.info.call_id == caller.dialog.call_id
    assert leg.info.called_user == "echo"
    assert leg.info.inbound
    assert (leg.info.codec, leg.info.codec_rate_hz, leg.info.transport) == ("PCMU", 8000, "udp")
    assert "15555550100" in leg.info.remote_uri
    assert leg.info.headers == {"X-Twilio-CallSid": "CA0123"}
    await caller.hang_up()
    assert await leg.ended is EndCause.CALLER_HUNG_UP
    assert bot.agent.live_calls == 0


async def test_flow_is_the_request_uri_not_the_to_header(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot, user="+15555550199")
    caller.dialog.request_uri = f"sip:parrot@127.0.0.1:{bot.port}"
    await caller.call()
    assert (await bot.next_leg()).info.called_user == "parrot"


async def test_any_other_number_is_answered_too(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    await new_caller(bot, user="+15555550199").call()
    assert (await bot.next_leg()).info.called_user == "+15555550199"


async def test_no_reinvite_follows_an_audio_only_answer(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    with pytest.raises(TimeoutError):
        await asyncio.to_thread(caller.dialog.wait_request, "INVITE", NOTHING_S)


@pytest.mark.parametrize("status", [486, 503])
async def test_calls_beyond_the_cap_are_refused(start_bot: StartBot, new_caller: NewCaller, status: int) -> None:
    bot = await start_bot(max_calls=1, busy_status=status)
    await new_caller(bot).call()
    await bot.next_leg()
    assert (await new_caller(bot).call()).status == status
    invitation, refusal = await bot.refused.get()
    assert refusal.status == status
    assert invitation.source_ip == "127.0.0.1"


async def test_a_source_that_is_not_allowed_gets_403(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot(allowed_sources=("192.0.2.0/24",))
    assert (await new_caller(bot).call()).status == 403


async def test_draining_refuses_new_calls_and_lets_live_ones_finish(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    live, late = new_caller(bot), new_caller(bot)
    await live.call()
    leg = await bot.next_leg()
    draining = asyncio.create_task(bot.agent.drain(limit_s=10))
    await asyncio.sleep(0)
    assert (await late.call()).status == 503
    assert not leg.ended.done()
    await live.hang_up()
    assert await draining == 0


async def test_draining_ends_what_does_not_finish_in_time(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    assert await bot.agent.drain(limit_s=0) == 1
    assert await leg.ended is EndCause.WE_HUNG_UP
    await asyncio.to_thread(caller.dialog.wait_request, "BYE")


async def test_blind_transfer_ends_our_call(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    await leg.transfer("sip:human@127.0.0.1:5999")
    assert await leg.ended is EndCause.TRANSFERRED
    refer = await asyncio.to_thread(caller.dialog.wait_request, "REFER")
    assert "sip:human@127.0.0.1:5999" in refer.header("Refer-To")


@pytest.mark.parametrize(
    ("refer_status", "notifies"),
    [(603, ()), (202, ("SIP/2.0 100 Trying", "SIP/2.0 486 Busy Here"))],
)
async def test_after_a_failed_transfer_the_call_goes_on(
    start_bot: StartBot, new_caller: NewCaller, refer_status: int, notifies: tuple[str, ...]
) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    caller.dialog.behaviour.refer_status = refer_status
    caller.dialog.behaviour.refer_notifies = notifies
    await caller.call()
    leg = await bot.next_leg()
    with pytest.raises(TransferFailed):
        await leg.transfer("sip:human@127.0.0.1:5999")
    assert not leg.ended.done()


async def test_a_peer_that_vanishes_is_noticed(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot(rtp_timeout_s=1)
    caller = new_caller(bot)
    await caller.call()
    leg = await bot.next_leg()
    caller.media.sender.pause()
    async with asyncio.timeout(10):
        assert await leg.ended is EndCause.MEDIA_TIMEOUT


async def test_a_port_in_use_is_named(start_bot: StartBot) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        agent = BaresipUserAgent(SipSettings(port=port, transports=("udp",)))
        with pytest.raises(TelephonyError, match=f"cannot listen on udp:127.0.0.1:{port}: Address already in use"):
            await agent.start(lambda leg: asyncio.sleep(0), lambda who, why: None)


async def test_dialling_nobody_says_so(start_bot: StartBot) -> None:
    bot = await start_bot()
    uri = f"sip:nobody@127.0.0.1:{free_port()}"
    with pytest.raises(TelephonyError, match=f"cannot call {uri}"):
        await bot.agent.dial(uri, timeout_s=1)


async def test_many_short_calls_leave_nothing_behind(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot(max_new_calls_per_s=1000)
    for _ in range(15):
        caller = new_caller(bot)
        await caller.call()
        leg = await bot.next_leg()
        await caller.hang_up()
        await leg.ended
    assert bot.agent.live_calls == 0


async def test_registers_with_digest_and_unregisters_at_the_end() -> None:
    with Registrar("bot", "s3cret") as registrar:
        settings = SipSettings.model_validate(
            {"port": free_port(), "registrar": registrar.address, "user": "bot", "password": "s3cret"}
        )
        agent = BaresipUserAgent(settings)
        await agent.start(lambda leg: asyncio.sleep(0), lambda who, why: None)
        assert agent.registration is Registration.REGISTERED
        assert len(registrar.contacts) == 1
        await agent.close()
        assert "expires=0" in registrar.contacts[-1] or len(registrar.contacts) == 2


async def test_a_wrong_password_stops_the_start_with_what_to_check() -> None:
    with Registrar("bot", "s3cret") as registrar:
        settings = SipSettings.model_validate(
            {"port": free_port(), "registrar": registrar.address, "user": "bot", "password": "wrong"}
        )
        agent = BaresipUserAgent(settings)
        try:
            with pytest.raises(TelephonyError, match=r"registration with .* failed: .*403.*check sip\.registrar"):
                await agent.start(lambda leg: asyncio.sleep(0), lambda who, why: None)
        finally:
            await agent.close()


async def test_outbound_call_is_a_leg_like_any_other(start_bot: StartBot) -> None:
    bot = await start_bot()
    with SipPeer(("127.0.0.1", bot.port), user="human") as human, RtpPeer() as media:
        human.on_invite = lambda dialog: dialog.respond(
            dialog.invite, 200, "OK", sdp=session([media_section(media.port)])
        )
        leg = await bot.agent.dial(human.contact_uri, headers={"X-Reason": "test"})
        assert not leg.info.inbound
        assert leg.info.codec == "PCMU"
        invite = await asyncio.to_thread(human.wait_for, lambda message: message.method == "INVITE", 1)
        assert invite.header("X-Reason") == "test"
        await leg.hangup()
        assert await leg.ended is EndCause.WE_HUNG_UP


async def test_busy_and_declined_say_so(start_bot: StartBot) -> None:
    bot = await start_bot()
    with SipPeer(("127.0.0.1", bot.port), user="human") as human:
        human.on_invite = lambda dialog: dialog.respond(dialog.invite, 486, "Busy Here")
        with pytest.raises(TelephonyError, match="486 Busy Here"):
            await bot.agent.dial(human.contact_uri)


async def test_attended_transfer_replaces_the_consultation(start_bot: StartBot, new_caller: NewCaller) -> None:
    bot = await start_bot()
    caller = new_caller(bot)
    await caller.call(headers=(("Supported", "replaces"),))
    leg = await bot.next_leg()
    with SipPeer(("127.0.0.1", bot.port), user="human") as human, RtpPeer() as media:
        answer = session([media_section(media.port)])
        human.on_invite = lambda dialog: dialog.respond(
            dialog.invite, 200, "OK", sdp=answer, headers=[("Supported", "replaces")]
        )
        consult = await bot.agent.dial(human.contact_uri)
        await leg.transfer("", consult=consult)
        assert await leg.ended is EndCause.TRANSFERRED
        refer = await asyncio.to_thread(caller.dialog.wait_request, "REFER")
        assert f"Replaces={consult.info.call_id}" in refer.header("Refer-To")

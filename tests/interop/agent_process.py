"""A user agent alone: echoes every call, prints what happens as JSON lines, takes commands as JSON lines.

Commands: ``{"dial": uri, "timeout_s": 5}``, ``{"send_digits": "12#"}``, ``{"transfer": uri}``, ``{"hangup": true}``;
the last three act on the newest call.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from telephony.baresip_agent import BaresipUserAgent
from telephony.leg import Leg, TelephonyError
from telephony.settings import SipSettings
from telephony.user_agent import Invitation, Refusal


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class AgentProcess:
    def __init__(self, agent: BaresipUserAgent) -> None:
        self._agent = agent
        self._newest: Leg | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def on_call(self, leg: Leg) -> None:
        self._newest = leg
        info = leg.info
        say("call", sip_call_id=info.call_id, codec=info.codec, encryption=info.media_encryption, inbound=info.inbound)
        digits = asyncio.ensure_future(self._digits(leg))
        async for frame in leg.frames():
            leg.write(frame.pcm, max_ahead_ms=40)
        await digits
        stats = leg.stats()
        cause = leg.ended.result()
        say("end", sip_call_id=info.call_id, cause=cause, filled=stats.frames_filled, frames_in=stats.frames_in)

    async def _digits(self, leg: Leg) -> None:
        async for digit in leg.digits():
            say("digit", sip_call_id=leg.info.call_id, digit=digit)

    def on_refused(self, invitation: Invitation, refusal: Refusal) -> None:
        say("refused", sip_call_id=invitation.call_id, status=refusal.status)

    async def command(self, words: dict[str, object]) -> None:
        try:
            if "dial" in words:
                timeout_s = float(str(words.get("timeout_s", 5)))
                leg = await self._agent.dial(str(words["dial"]), timeout_s=timeout_s)
                await self.on_call(leg)
            elif self._newest is None:
                say("failed", error="no call")
            elif "send_digits" in words:
                await self._newest.send_digits(str(words["send_digits"]))
            elif "transfer" in words:
                await self._newest.transfer(str(words["transfer"]))
                say("transferred")
            elif "hangup" in words:
                await self._newest.hangup()
        except TelephonyError as error:
            say("failed", error=str(error), error_type=type(error).__name__)

    async def read_commands(self) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            task = asyncio.ensure_future(self.command(json.loads(line)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def main() -> None:
    settings = SipSettings.model_validate(json.loads(sys.argv[1]))
    agent = BaresipUserAgent(settings, flows=("echo",))
    process = AgentProcess(agent)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await agent.start(process.on_call, process.on_refused)
    commands = asyncio.ensure_future(process.read_commands())
    say("server.ready", listen=agent.listening)
    await stop.wait()
    commands.cancel()
    await agent.close()


if __name__ == "__main__":
    asyncio.run(main())

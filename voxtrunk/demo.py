"""``voxtrunk demo``: the bot in a process of its own, and one real call to it."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from dialog.settings import SttSettings
from dialog.whisper_recogniser import WhisperRecogniser
from probes.events import Turn
from probes.log_line import LogLine
from probes.tail_view import TailView
from probes.waterfall import render_waterfall
from telephony.leg import SAMPLE_RATE_HZ, Pcm
from telephony.settings import SipSettings
from voxtrunk.bench.server_process import Event, ServerProcess, free_sip_port
from voxtrunk.caller import CallPlan, CallReport, call_from_here, caller_settings
from voxtrunk.config import Config, load_config
from voxtrunk.recording import load_recording

CALL_LIMIT_S: Final = 40.0
"""Greeting, recording and reply take about 15 s with the packaged recording."""

EVENT_TIMEOUT_S: Final = 15.0
_POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the command line asks for.

    Attributes:
        config: file of the bot's configuration; None is the built-in one.
        speech: recording of the caller.
        out: where to save what the caller heard.
        once: end after the call.
    """

    config: Path | None
    speech: Path
    out: Path
    once: bool


def run_demo(options: DemoOptions, environ: Mapping[str, str], console: Console) -> int:
    """Start the bot, call it, show the turn, and serve on.

    Args:
        options: what to do.
        environ: settings over the file's.
        console: where to print.

    Returns:
        Exit code: 0 when the caller was answered and heard a reply.

    Raises:
        ConfigError: the configuration is wrong.
        TelephonyError: the call failed.
        OSError: the recording cannot be written.
    """
    config = load_config(options.config, environ)
    speech = load_recording(options.speech)
    port = usable_port(config.sip)
    if port != config.sip.port:
        _say(console, f"Port {config.sip.port} is in use; the bot takes {port} instead.")
    file = ("--config", str(options.config)) if options.config is not None else ()
    server = ServerProcess(
        (sys.executable, "-m", "voxtrunk", "serve", *file), environment={"VOXTRUNK_SIP__PORT": str(port)}
    )
    _say(console, "Starting the bot ...")
    try:
        ready = server.start()
    except RuntimeError as error:
        _say(console, str(error))
        return 1
    try:
        _show_ready(ready, console)
        answered = _call(server, config, port, speech, options, console)
        if answered and not options.once:
            _serve_on(server, config.sip, port, console)
    finally:
        if server.is_running:
            server.stop()
    return 0 if answered else 1


def _say(console: Console, text: str) -> None:
    """Plain text, as it is; the terminal breaks long lines."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def usable_port(settings: SipSettings) -> int:
    """The configured SIP port, or a free one when it is taken."""
    wanted = [(socket.SOCK_DGRAM, 0), (socket.SOCK_STREAM, 0), (socket.SOCK_STREAM, 1)]
    for kind, offset in wanted if "tls" in settings.transports else wanted[:2]:
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.interface, settings.port + offset))
            except OSError:
                return free_sip_port(settings.interface)
    return settings.port


def _show_ready(ready: Event, console: Console) -> None:
    _say(
        console,
        f"Ready after {ready['startup_ms'] / 1000:.1f} s on {', '.join(ready['listen'])}, {ready['rss_mb']:.0f} MB.",
    )


def _call(
    server: ServerProcess, config: Config, port: int, speech: Pcm, options: DemoOptions, console: Console
) -> bool:
    """Place the call and report on it; True when the caller heard a reply."""
    uri = f"sip:parrot@{config.sip.interface}:{port}"
    _say(console, f"Calling {uri}; the caller is {options.speech.name} ...")
    plan = CallPlan(uri=uri, speech=speech, seconds=CALL_LIMIT_S, end_after_reply=True)
    caller = caller_settings(config.sip, free_sip_port(config.sip.interface))
    report = asyncio.run(call_from_here(caller, plan, options.out))
    _say(console, report.in_words())
    try:
        turn = server.wait_for_event("turn", EVENT_TIMEOUT_S)
        server.wait_for_event("call.end", EVENT_TIMEOUT_S)
    except TimeoutError as error:
        _say(console, f"The bot did not log the call as expected: {error}")
        return False
    _say(console, "\nFrom the caller's last sound to the first sound of the reply:")
    console.print(render_waterfall(_turn(turn)))
    _show_heard(report, config.stt, options.out, console)
    return report.reply_ms is not None


def _turn(event: Event) -> Turn:
    known = {field.name for field in dataclasses.fields(Turn)}
    return Turn(**{name: value for name, value in event.items() if name in known})


def _show_heard(report: CallReport, settings: SttSettings, out: Path, console: Console) -> None:
    text = asyncio.run(_recognise(report.heard, settings))
    length_s = len(report.heard) / SAMPLE_RATE_HZ
    _say(console, f"\nWhat the caller heard is in {out} ({length_s:.1f} s). The recogniser hears in it:")
    _say(console, f"  {text}\n")


async def _recognise(heard: Pcm, settings: SttSettings) -> str:
    recogniser = WhisperRecogniser(settings)
    try:
        return (await recogniser.transcribe(heard)).text
    finally:
        await recogniser.close()


def _serve_on(server: ServerProcess, settings: SipSettings, port: int, console: Console) -> None:
    """Show the log of whoever calls, until Ctrl-C or the end of the server."""
    host = f"{settings.interface}:{port}"
    _say(
        console,
        f"The bot goes on. Dial sip:parrot@{host} with a softphone, or sip:echo@{host} to hear yourself; "
        "# ends a call, Ctrl-C the bot.",
    )
    if settings.interface.startswith("127."):
        _say(
            console,
            "Only this machine can reach it; for others: VOXTRUNK_SIP__INTERFACE=<its address> make demo",
        )
    view = TailView(console)
    seen = server.mark
    try:
        while server.is_running:
            for event in server.events(since=seen):
                view.show(LogLine(event))
                seen += 1
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        _say(console, "Stopping.")

"""``voxtrunk serve``: configuration, log and server, with failures in one line and a fitting exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dialog.flow import FLOWS
from dialog.services import build_services
from probes.call_log import CallLog
from probes.events import ServerWarning
from probes.stdlib_logs import configure_logging
from voxtrunk.bench import gil_hog
from voxtrunk.config import Config, ConfigError, load_config
from voxtrunk.failures import exit_code, failure_event, first_error, for_stderr
from voxtrunk.server import Server

SWITCH_INTERVAL_S: Final = 0.0005
"""The media pump needs the interpreter lock 50 times a second; with Python's 5 ms any busy thread makes it late."""


def run(path: Path | None, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM or SIGINT.

    Args:
        path: configuration file; None uses the built-in values.
        environ: settings over the file's.

    Returns:
        Exit code: 0 stopped as asked, 1 could not run, 2 the configuration is wrong.
    """
    try:
        config = load_config(path, environ)
    except ConfigError as error:
        with CallLog() as call_log:
            return _failed(call_log, error)
    with CallLog(level=config.log.level, queue_lines=config.log.queue_lines) as call_log:
        configure_logging(call_log)
        if config.log.level != "debug":
            logging.getLogger("baresip").setLevel(logging.WARNING)  # its other lines repeat what our events say
        try:
            asyncio.run(_serve(config, call_log, environ))
        except Exception as error:  # nobody above hears of it: operators get a line, journald gets an event
            return _failed(call_log, first_error(error))
    return 0


def _failed(call_log: CallLog, error: BaseException) -> int:
    call_log.emit(failure_event(error))
    sys.stderr.write(for_stderr(error))
    return exit_code(error)


async def _serve(config: Config, call_log: CallLog, environ: Mapping[str, str]) -> None:
    from telephony.baresip_agent import BaresipUserAgent

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    if gil_hog.is_wanted(environ):
        gil_hog.start()
        call_log.emit(ServerWarning(warning=f"{gil_hog.VARIABLE} keeps the interpreter busy: for benchmarks only"))
    services = build_services(
        config.synth,
        config.listen,
        config.stt,
        config.flow,
        max_calls=config.sip.max_calls,
        log_transcripts=config.log.transcripts,
    )
    agent = BaresipUserAgent(config.sip, flows=tuple(sorted(FLOWS)), clock=services.clock)
    server = Server(config, agent, services, call_log)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.request_stop)
    await server.run()

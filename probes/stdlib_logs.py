"""Brings what libraries say through :mod:`logging` into the same log."""

from __future__ import annotations

import logging
import traceback
from typing import Final

from probes.call_log import CallLog
from probes.events import LogMessage

TALKATIVE: Final = ("faster_whisper", "httpcore", "httpx", "openai")
"""Libraries whose debug lines hold what was said or sent; only their warnings are logged."""


def configure_logging(call_log: CallLog) -> None:
    """Route stdlib logging (``baresip.*``, ``asyncio``, ...) and warnings into ``call_log``, at its level.

    Call it again to change the log; earlier ones get nothing more.
    """
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if isinstance(handler, _Bridge):
            root.removeHandler(handler)
    root.addHandler(_Bridge(call_log))
    root.setLevel(call_log.level.upper())
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)


class _Bridge(logging.Handler):
    def __init__(self, call_log: CallLog) -> None:
        super().__init__()
        self._call_log = call_log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._call_log.emit(
            LogMessage(
                levelno=record.levelno,
                logger=record.name,
                message=_message(record),
                error_type=None if error is None else type(error).__name__,
                error=None if error is None else str(error),
                exception=None if error is None else "".join(traceback.format_exception(error)),
            )
        )


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} (its arguments do not fit)"

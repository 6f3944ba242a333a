"""What a command says and returns when it cannot do its work."""

from __future__ import annotations

import traceback
from typing import Final

from probes.events import ServerFailed
from probes.mask import scrub

EXIT_RUNTIME: Final = 1
EXIT_CONFIGURATION: Final = 2


def failure_event(error: BaseException) -> ServerFailed:
    """The event for an exception; the traceback is for errors whose message was not written for operators."""
    trace = None if is_expected(error) else scrub("".join(traceback.format_exception(error)))
    return ServerFailed(error_type=type(error).__name__, error=in_words(error), exception=trace)


def first_error(error: BaseException) -> BaseException:
    """The first real error inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def exit_code(error: BaseException) -> int:
    """2 for what the operator wrote, 1 for what the machine could not do."""
    from voxtrunk.config import ConfigError

    return EXIT_CONFIGURATION if isinstance(error, ConfigError) else EXIT_RUNTIME


def is_expected(error: BaseException) -> bool:
    """Whether the error's message is written for the operator; anything else is a defect of ours."""
    from dialog.recogniser import RecogniserError
    from synth.synthesizer import SynthesisError
    from synth.vocoder_file import VocoderError
    from telephony.leg import TelephonyError
    from voxtrunk.config import ConfigError

    operators = (ConfigError, TelephonyError, SynthesisError, VocoderError, RecogniserError, OSError)
    return isinstance(error, operators)


def in_words(error: BaseException) -> str:
    """What happened; the kind of error is named only where the message alone may not say enough."""
    return str(error) if is_expected(error) else f"{type(error).__name__}: {error}"


def for_stderr(error: BaseException) -> str:
    """The message with our name before each line."""
    return "".join(f"voxtrunk: {line}\n" for line in in_words(error).splitlines())

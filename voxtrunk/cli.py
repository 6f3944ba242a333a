"""The ``voxtrunk`` command. Each command imports what it needs when it runs, so that help comes at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voxtrunk import __version__

if TYPE_CHECKING:
    from voxtrunk.config import Config

app = typer.Typer(
    name="voxtrunk",
    help="A SIP voice bot that answers the phone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measure with real SIP calls on loopback.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
models_app = typer.Typer(help="Vocoders: those in the package, and your own.", no_args_is_help=True)
app.add_typer(models_app, name="models")
add_app = typer.Typer(help="Convert a checkpoint and keep it.", no_args_is_help=True)
models_app.add_typer(add_app, name="add")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", envvar="VOXTRUNK_CONFIG", show_default=False, help="TOML file; default: built-in values."
    ),
]


def main() -> None:
    """Entry point of the console script."""
    app()


@contextmanager
def _failures_in_words() -> Iterator[None]:
    """One clear line on stderr and the right exit code, instead of a traceback."""
    from voxtrunk.failures import exit_code, first_error, for_stderr, is_expected

    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        cause = first_error(error)
        if not is_expected(cause):
            raise
        typer.echo(for_stderr(cause), err=True, nl=False)
        raise typer.Exit(exit_code(cause)) from None


def _config(path: Path | None) -> Config:
    from voxtrunk.config import load_config

    return load_config(path, os.environ)


def _write(text: str) -> None:
    typer.echo(text, nl=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"voxtrunk {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A SIP voice bot that answers the phone."""


@app.command()
def serve(config: ConfigOption = None) -> None:
    """Answer calls until SIGTERM or Ctrl-C; one JSON object a line on stdout."""
    from voxtrunk.serve import run

    raise typer.Exit(run(config, os.environ))


@app.command()
def demo(
    config: ConfigOption = None,
    once: Annotated[bool, typer.Option("--once", help="End after the call instead of serving on.")] = False,
    speech: Annotated[
        Path | None, typer.Option(show_default=False, help="WAV of the caller; default: a packaged recording.")
    ] = None,
    out: Annotated[Path, typer.Option(help="WAV to save what the caller heard to.")] = Path("heard.wav"),
) -> None:
    """Start the bot, call it with a real recording, and show what happened."""
    from rich.console import Console

    from voxtrunk.demo import DemoOptions, run_demo
    from voxtrunk.recording import DEMO_SPEECH

    with _failures_in_words():
        options = DemoOptions(config, speech or DEMO_SPEECH, out, once)
        raise typer.Exit(run_demo(options, os.environ, Console()))


@app.command()
def call(
    uri: Annotated[str, typer.Argument(help="Whom to call, e.g. sip:parrot@127.0.0.1:5060")],
    play: Annotated[Path | None, typer.Option(help="WAV to play.", show_default=False)] = None,
    record: Annotated[Path | None, typer.Option(help="WAV to save what is heard to.", show_default=False)] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Hang up this long after the answer.")] = 15.0,
    wait: Annotated[
        float | None,
        typer.Option(min=0.0, help="Seconds from answer to play; default: when the other side has spoken and paused."),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Place one call, play a recording, record what comes back."""
    from voxtrunk.bench.server_process import free_sip_port
    from voxtrunk.caller import CallPlan, call_from_here, caller_settings, speech_of

    with _failures_in_words():
        sip = _config(config).sip
        plan = CallPlan(uri=uri, speech=speech_of(play), seconds=seconds, wait_s=wait)
        report = asyncio.run(call_from_here(caller_settings(sip, free_sip_port(sip.interface)), plan, record))
        typer.echo(report.in_words())


@app.command()
def say(
    text: Annotated[str, typer.Argument(help="What to say.")],
    out: Annotated[Path, typer.Option(help="WAV to write, 16 kHz mono.")] = Path("say.wav"),
    config: ConfigOption = None,
) -> None:
    """Speak a text into a WAV file, as callers would hear it."""
    from voxtrunk.say import say_to_file

    with _failures_in_words():
        typer.echo(asyncio.run(say_to_file(_config(config).synth, text, out)))


@app.command()
def vocode(
    source: Annotated[Path, typer.Argument(metavar="IN.wav", help="Recording of any rate.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.wav", help="WAV to write, 16 kHz mono.")],
    model: Annotated[str, typer.Option(help="Name of a model, or path of its .onnx file.")] = "bigvgan-nano",
    precision: Annotated[str, typer.Option(help="int8 or fp32.")] = "int8",
    chunk_ms: Annotated[float, typer.Option(help="Handed over at once; whole frames of the model.")] = 20.0,
) -> None:
    """Take a recording apart and make it again, chunk by chunk as in a call."""
    from synth.vocoder_models import resolve
    from voxtrunk.vocode import vocode_file

    with _failures_in_words():
        typer.echo(vocode_file(source, out, resolve(model, precision), chunk_ms))


@app.command()
def tail(
    file: Annotated[Path | None, typer.Argument(help="Log file; default: stdin.", show_default=False)] = None,
    call_id: Annotated[str | None, typer.Option("--call", help="Only this call (its short id).")] = None,
) -> None:
    """Show the JSON log as a person reads it."""
    from voxtrunk.tail import show

    with _failures_in_words():
        show(file, call_id)


@app.command()
def check(config: ConfigOption = None) -> None:
    """Try everything that a call needs, and say what to fix."""
    from voxtrunk.check import run_check

    raise typer.Exit(asyncio.run(run_check(config, os.environ, _write)))


@models_app.command("list")
def models_list() -> None:
    """Name, precision and file of every model."""
    from voxtrunk.models import list_models

    with _failures_in_words():
        typer.echo(list_models())


@add_app.command("bigvgan")
def models_add_bigvgan(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="With config.json and bigvgan_generator.pt.")],
    name: Annotated[str | None, typer.Option(show_default=False, help="Of the model; default: the folder's.")] = None,
    lookahead_frames: Annotated[
        int | None,
        typer.Option(min=0, show_default=False, help="Look no further ahead; default: exact, 0.2 to 0.4 s."),
    ] = None,
) -> None:
    """An official BigVGAN checkpoint, made to stream."""
    from voxtrunk.models import add_bigvgan

    with _failures_in_words():
        typer.echo(add_bigvgan(folder, name=name, lookahead_frames=lookahead_frames))


@bench_app.command("vocoder")
def bench_vocoder(
    model: Annotated[str, typer.Option(help="Name of a model, or path of its .onnx file.")] = "bigvgan-nano",
    precision: Annotated[list[str] | None, typer.Option(help="int8 or fp32; default: both.")] = None,
    chunks: Annotated[int, typer.Option(min=20, help="Measured chunks of 20 ms for each batch.")] = 300,
    threads: Annotated[int, typer.Option(min=1, help="Of ONNX Runtime.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """First chunk, time a chunk and real-time factor of the vocoder, by batch and precision."""
    from voxtrunk.bench.vocoder import VocoderBenchOptions, run_vocoder_bench

    options = VocoderBenchOptions(
        model=model, precisions=tuple(precision or ("int8", "fp32")), chunks=chunks, threads=threads
    )
    with _failures_in_words():
        report = run_vocoder_bench(options)
        typer.echo(report.as_json() if json else report.in_words())


@bench_app.command("calls")
def bench_calls(
    flow: Annotated[str, typer.Option(help="echo measures frames, parrot measures turns.")] = "echo",
    calls: Annotated[int, typer.Option(min=1, help="Calls at once.")] = 8,
    seconds: Annotated[float, typer.Option(min=1.0, help="Measured time (frames).")] = 30.0,
    turns: Annotated[int, typer.Option(min=1, help="Questions a call (turns).")] = 3,
    codec: Annotated[str, typer.Option(help="PCMU, PCMA, G722 or opus.")] = "PCMU",
    busy_gil: Annotated[bool, typer.Option(help="Keep the server's interpreter busy meanwhile.")] = False,
    target: Annotated[str | None, typer.Option(help="host:port of a running bot; default: starts one.")] = None,
    speech: Annotated[Path | None, typer.Option(help="WAV that parrot is asked with.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document with the raw samples.")] = False,
) -> None:
    """Latency of real calls, measured on the wire by a caller in another process."""
    from voxtrunk.bench.calls import CallsBenchOptions, run_calls_bench
    from voxtrunk.bench.report import print_result
    from voxtrunk.recording import DEMO_SPEECH

    options = CallsBenchOptions(
        flow=flow,
        calls=calls,
        seconds=seconds,
        turns=turns,
        codec=codec,
        busy_gil=busy_gil,
        target=target,
        speech=speech or DEMO_SPEECH,
    )
    try:
        result = asyncio.run(run_calls_bench(options))
    except (ValueError, RuntimeError) as error:
        typer.echo(f"voxtrunk: {error}", err=True)
        raise typer.Exit(1) from None
    print_result(result, as_json=json)

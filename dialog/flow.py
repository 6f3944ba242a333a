"""What a flow is: the words of a conversation, without the mechanics of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from dialog.settings import FlowSettings
from dialog.speaker import Said
from telephony.leg import Frame, Leg, LegInfo


class UnknownFlow(Exception):
    """There is no flow of that name; the message lists those that exist."""


class FlowContext(Protocol):
    """The call, as a flow sees it."""

    @property
    def info(self) -> LegInfo:
        """Who calls, on what codec. Personal data: it does not belong in a log."""

    @property
    def leg(self) -> Leg:
        """The leg itself, for what the other members do not offer (live audio, transfer)."""

    @property
    def settings(self) -> FlowSettings:
        """The phrases and limits of the configuration."""

    async def say(self, text: str, *, interruptible: bool = True) -> Said:
        """Speak; returns when it was played, or when the caller cut it short.

        When the caller has interrupted this hook before, or is speaking now, an interruptible text is not
        begun: a flow needs no check of its own, it runs to its end, and the caller's words come as the next
        :meth:`Flow.on_turn`.

        Raises:
            SynthesisError: the engine failed.
            LegClosed: the call is over.
        """

    async def hangup(self) -> None:
        """End the call. What was said with :meth:`say` has been played by then."""


class Flow:
    """A conversation. Subclass it, override the hooks you need, and register it with :func:`flow`.

    The hooks of one call run one at a time, in the order in which things happened. An exception in a hook
    ends this call with a short apology; ``LegClosed`` just ends the hook.
    """

    listens: ClassVar[bool] = True
    """False: no speech detection or recognition; the flow gets every frame through :meth:`on_frame`."""

    def __init__(self, call: FlowContext) -> None:
        self.call = call

    async def on_start(self) -> None:
        """The call was answered; the caller waits for a first word."""

    async def on_turn(self, text: str) -> None:
        """The caller said ``text`` (never empty)."""

    async def on_not_understood(self) -> None:
        """The caller spoke, but recognition failed or was overloaded."""
        await self.call.say(self.call.settings.not_understood)

    async def on_dtmf(self, digit: str) -> None:
        """The caller pressed a key; by default ``#`` ends the call politely."""
        if digit == "#":
            await self.say_goodbye()

    async def on_silence(self, count: int) -> None:
        """Nobody has spoken for long: ``count`` is 1 the first time, 2 when the call should end."""
        if count == 1:
            await self.call.say(self.call.settings.still_there)
        else:
            await self.say_goodbye()

    async def on_end(self) -> None:
        """The call is over, for whatever reason; nothing can be said any more."""

    def on_frame(self, frame: Frame) -> None:
        """The next 20 ms of the caller, for flows that do not listen.

        Called on the media thread, so that nothing on the event loop can delay it; must return at once.
        """

    async def say_goodbye(self) -> None:
        """Say goodbye, which cannot be interrupted, and hang up."""
        await self.call.say(self.call.settings.goodbye, interruptible=False)
        await self.call.hangup()


FLOWS: dict[str, type[Flow]] = {}
"""Every registered flow by its name, which is the user part of the address that callers dial."""

F = TypeVar("F", bound=type[Flow])


def flow(name: str) -> Callable[[F], F]:
    """Class decorator: register a flow under ``name``.

    Raises:
        ValueError: the name is taken.
    """

    def register(cls: F) -> F:
        if name in FLOWS:
            raise ValueError(f"there are two flows named {name!r}: {FLOWS[name].__qualname__}, {cls.__qualname__}")
        FLOWS[name] = cls
        return cls

    return register


def find_flow(name: str) -> type[Flow]:
    """The flow of that name.

    Raises:
        UnknownFlow: there is none.
    """
    try:
        return FLOWS[name]
    except KeyError:
        raise UnknownFlow(f"there is no flow {name!r}; available: {', '.join(sorted(FLOWS))}") from None

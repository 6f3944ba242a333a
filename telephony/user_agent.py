"""The SIP user agent as the rest of the program sees it, whatever stack is behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from telephony.leg import Leg


class Registration(StrEnum):
    """State toward the registrar (RFC 3261 s10); ``OFF`` for an IP trunk."""

    OFF = "off"
    REGISTERED = "registered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A final response to an INVITE that is not taken.

    Attributes:
        status: SIP status code, 400-699 (RFC 3261 s21).
        reason: its reason phrase.
    """

    status: int
    reason: str


BUSY = Refusal(486, "Busy Here")
UNAVAILABLE = Refusal(503, "Service Unavailable")
FORBIDDEN = Refusal(403, "Forbidden")


@dataclass(frozen=True, slots=True)
class Invitation:
    """What an INVITE says before it is answered; the fields are those of ``LegInfo``.

    ``source_ip`` is the address that the request came from, empty where the stack does not tell.
    """

    call_id: str
    remote_uri: str
    called_user: str
    source_ip: str
    headers: Mapping[str, str] = field(default_factory=dict)


CallHandler = Callable[[Leg], Awaitable[None]]
"""Runs one answered call; the leg is hung up when it returns or raises."""

RefusalHandler = Callable[[Invitation, Refusal], None]
"""Told of every call that was refused before it was answered."""


class UserAgent(ABC):
    """Answers calls, places calls, registers, drains.

    All methods are called on the event loop's thread.
    """

    @abstractmethod
    async def start(self, on_call: CallHandler, on_refused: RefusalHandler) -> None:
        """Bind the sockets, register where configured, and answer calls from now on.

        Args:
            on_call: started as one task for each answered call.
            on_refused: told of each refused one.

        Raises:
            TelephonyError: a port is in use, a certificate is unreadable, a codec is missing.
        """

    @abstractmethod
    async def dial(self, uri: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0) -> Leg:
        """Call somebody and wait for the answer.

        Args:
            uri: e.g. ``sip:echo@127.0.0.1:5060;transport=tcp``.
            headers: extra headers for the INVITE.
            timeout_s: give up ringing after this long.

        Raises:
            TelephonyError: busy, declined, unreachable, not answered in time; the message says which.
        """

    @property
    @abstractmethod
    def listening(self) -> tuple[str, ...]:
        """The bound addresses, e.g. ``("udp:127.0.0.1:5060", "tcp:127.0.0.1:5060")``."""

    @property
    @abstractmethod
    def registration(self) -> Registration:
        """State toward the registrar."""

    @property
    @abstractmethod
    def live_calls(self) -> int:
        """Calls that have not ended."""

    @abstractmethod
    async def drain(self, limit_s: float) -> int:
        """Refuse new calls with 503 and let the live ones finish.

        Returns:
            Calls still alive after ``limit_s`` seconds; they were hung up.
        """

    @abstractmethod
    async def close(self) -> None:
        """Unregister, end every call, release the sockets."""

"""Who may call: capacity, source networks, and a rate for each source address.

Decided before a call is answered and before any model hears of it (RFC 3261 s26.3.2.4: scanners and floods).
"""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import ip_address
from typing import Final

from probes.clock import Clock
from telephony.settings import SipSettings
from telephony.user_agent import FORBIDDEN, UNAVAILABLE, Refusal

SOURCES_KEPT: Final = 4096
"""Source addresses remembered at once; the one longest silent is forgotten first, so a flood cannot grow it."""


class Admission:
    """Says yes or why not, for each new call."""

    def __init__(self, settings: SipSettings, clock: Clock) -> None:
        """
        Args:
            settings: limits and networks.
            clock: monotonic time, for the rate.
        """
        self._settings = settings
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self.draining = False

    def decide(self, source_ip: str, live_calls: int) -> Refusal | None:
        """
        Args:
            source_ip: where the INVITE came from; empty where unknown, which only an open door lets in.
            live_calls: calls that are up already.

        Returns:
            None to take the call, else the response to refuse it with.
        """
        settings = self._settings
        if self.draining:
            return UNAVAILABLE
        if settings.allowed_sources and not self._is_allowed(source_ip):
            return FORBIDDEN
        if not self._has_token(source_ip):
            return Refusal(503, "Too Many Calls")
        if live_calls >= settings.max_calls:
            return Refusal(settings.busy_status, "Busy Here" if settings.busy_status == 486 else "All Lines Busy")
        return None

    def _is_allowed(self, source_ip: str) -> bool:
        if not source_ip:
            return False
        address = ip_address(source_ip)
        return any(address in network for network in self._settings.allowed_sources)

    def _has_token(self, source_ip: str) -> bool:
        """Token bucket of one second's worth of calls for each source."""
        rate = self._settings.max_new_calls_per_s
        depth = max(rate, 1.0)
        now_ns = self._clock.now_ns()
        tokens, then_ns = self._buckets.pop(source_ip, (depth, now_ns))
        tokens = min(depth, tokens + rate * (now_ns - then_ns) / 1e9)
        taken = bool(tokens >= 1.0)
        self._buckets[source_ip] = (tokens - 1.0 if taken else tokens, now_ns)
        if len(self._buckets) > SOURCES_KEPT:
            self._buckets.popitem(last=False)
        return taken

"""How long nobody has spoken."""

from __future__ import annotations


class IdleTimer:
    """Counts silence in media time and says when to ask (1) and when to end the call (2), once each."""

    def __init__(self, prompt_s: float, hangup_s: float) -> None:
        """
        Args:
            prompt_s: silence after which the bot asks.
            hangup_s: silence after which it ends the call, longer than ``prompt_s``.
        """
        self._limits_ms = (prompt_s * 1000, hangup_s * 1000)
        self._silent_ms = 0.0
        self._reached = 0

    def tick(self, elapsed_ms: float) -> int | None:
        """Add silence. Call it only while nobody speaks and the caller is not on hold."""
        self._silent_ms += elapsed_ms
        if self._reached < len(self._limits_ms) and self._silent_ms >= self._limits_ms[self._reached]:
            self._reached += 1
            return self._reached
        return None

    def reset(self) -> None:
        """The caller did something: start over."""
        self._silent_ms = 0.0
        self._reached = 0

"""Decides whether a ``call.stats`` line is worth an operator's attention."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from probes.log_line import LogLine

POOR_MOS: Final = 3.6
"""R = 70: below it many users are dissatisfied (ITU-T G.107 Annex B)."""

CALLS_KEPT: Final = 4096
"""Calls remembered at once; the one longest without a line goes first, as its end was probably not seen."""

_COUNTERS: Final = {
    "frames_lost": "lost",
    "frames_late": "late",
    "frames_dropped": "dropped",
    "underruns": "underruns",
}


class QualityWatch:
    """Compares each call's counters with those of its line before."""

    def __init__(self) -> None:
        self._before: OrderedDict[str, dict[str, float]] = OrderedDict()

    def complaint(self, line: LogLine) -> str | None:
        """What got worse since the call's last line, or None when all is well.

        Args:
            line: a ``call.stats`` event.
        """
        call = line.text("call")
        before = self._before.pop(call, {})
        now = {name: line.number(name) or 0.0 for name in _COUNTERS}
        self._before[call] = now
        if len(self._before) > CALLS_KEPT:
            self._before.popitem(last=False)
        worse = [
            f"{now[name] - before.get(name, 0.0):.0f} {word}"
            for name, word in _COUNTERS.items()
            if now[name] > before.get(name, 0.0)
        ]
        mos = line.number("mos")
        if mos is not None and mos < POOR_MOS:
            worse.append(f"MOS {mos:.1f}")
        return ", ".join(worse) or None

    def forget(self, call: str) -> None:
        """The call is over."""
        self._before.pop(call, None)

"""The echo: returns the caller's own audio. What it adds to the delay is the floor for every other flow."""

from __future__ import annotations

from typing import Final

from dialog.flow import Flow, flow
from telephony.leg import Frame

MAX_AHEAD_MS: Final = 40.0
"""Two frames: one being sent and one ready; beyond that the echo would only get later."""


@flow("echo")
class Echo(Flow):
    """Returns every frame untouched; ``#`` ends the call."""

    listens = False
    _echoing = True

    def on_frame(self, frame: Frame) -> None:
        if self._echoing:
            self.call.leg.write(frame.pcm, max_ahead_ms=MAX_AHEAD_MS)

    async def say_goodbye(self) -> None:
        self._echoing = False
        await super().say_goodbye()

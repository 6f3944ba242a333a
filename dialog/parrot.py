"""The parrot: says back what it heard. It needs no configuration and no model beyond the embedded ones."""

from __future__ import annotations

import re
from typing import Final

from dialog.flow import Flow, flow

_FAREWELL: Final = re.compile(r"\b(?:good[\s-]?bye|bye(?:[\s-]bye)?)\W*$", re.IGNORECASE)


def is_farewell(text: str) -> bool:
    """Whether the last words are a goodbye: "Okay, thanks, bye!", but not "Goodbye is a word."."""
    return _FAREWELL.search(text) is not None


@flow("parrot")
class Parrot(Flow):
    """Greets, listens, repeats; "goodbye" or ``#`` ends the call."""

    async def on_start(self) -> None:
        await self.call.say(self.call.settings.greeting)

    async def on_turn(self, text: str) -> None:
        if is_farewell(text):
            await self.say_goodbye()
        else:
            await self.call.say(f"You said: {text}")

"""Speech of constant phrases, kept ready."""

from __future__ import annotations

from collections import OrderedDict

from synth.synthesizer import Pcm


class PhraseCache:
    """Bounded; the least recently used phrase goes first.

    Only phrases that the operator wrote belong here: what a caller said must not stay in memory.
    """

    def __init__(self, capacity: int) -> None:
        """
        Args:
            capacity: phrases held, at least 1.
        """
        self._capacity = capacity
        self._phrases: OrderedDict[str, tuple[Pcm, ...]] = OrderedDict()

    def get(self, text: str) -> tuple[Pcm, ...] | None:
        """The phrase's pieces, or None."""
        pieces = self._phrases.get(text)
        if pieces is not None:
            self._phrases.move_to_end(text)
        return pieces

    def put(self, text: str, pieces: tuple[Pcm, ...]) -> None:
        """Keep a phrase; its samples become read-only."""
        for piece in pieces:
            piece.flags.writeable = False
        self._phrases[text] = pieces
        self._phrases.move_to_end(text)
        while len(self._phrases) > self._capacity:
            self._phrases.popitem(last=False)

    def __len__(self) -> int:
        return len(self._phrases)

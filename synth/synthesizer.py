"""What a synthesiser is to everyone else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE_HZ: Final = 16_000

Pcm = NDArray[np.float32]


class SynthesisError(Exception):
    """Text could not be turned into speech; the message says what to do about it."""


class Synthesizer(Protocol):
    """Turns text into 16 kHz speech. Shared by all calls; methods run on the event loop's thread."""

    @property
    def sample_rate_hz(self) -> int:
        """Always 16000."""

    def stream(self, text: str, on_frames: Callable[[], None] | None = None) -> AsyncGenerator[Pcm, None]:
        """Speech for ``text``, piece by piece, each as soon as it exists.

        Args:
            text: plain text of any length. Text without a letter or digit gives nothing.
            on_frames: called when the acoustic model is done with a sentence, before its first piece; not for
                speech that was kept ready.

        Yields:
            float32, shape (n,), mono, 16 kHz, in [-1, 1]; n > 0. Read-only by contract. Every sentence ends
            with its pause, so that pieces are played one after another without a gap.

        Raises:
            SynthesisError: the engine failed.

        Cancelling the reader, or closing the iterator, stops the work after the sentence in hand.
        """

    async def warm_up(self, phrases: Sequence[str] = ()) -> None:
        """Load the model and speak once, so that the first caller does not wait; keep ``phrases`` ready.

        Raises:
            SynthesisError: the model cannot be loaded.
        """

    async def close(self) -> None:
        """Stop the engine's threads; nothing can be synthesised afterwards."""

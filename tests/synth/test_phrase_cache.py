from __future__ import annotations

import numpy as np
import pytest

from synth.phrase_cache import PhraseCache


def test_the_least_recently_used_phrase_goes_first() -> None:
    cache = PhraseCache(2)
    for text in ("a", "b"):
        cache.put(text, (np.ones(4, np.float32),))
    assert cache.get("a") is not None
    cache.put("c", (np.ones(4, np.float32),))
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert len(cache) == 2


def test_kept_samples_cannot_be_changed() -> None:
    cache = PhraseCache(1)
    cache.put("a", (np.ones(4, np.float32),))
    pieces = cache.get("a")
    assert pieces is not None
    with pytest.raises(ValueError, match="read-only"):
        pieces[0][0] = 2.0

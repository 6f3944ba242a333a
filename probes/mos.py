"""How good a call sounds, estimated from loss and delay: the E-model of ITU-T G.107, simplified.

All of its parameters have their default values but delay, codec and packet loss. What is estimated is what the
packets allow, on the narrow-band scale: it hears neither the voices nor the line's noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

BEST_R: Final = 93.2
"""Transmission rating with every parameter at its default (G.107 s7.7)."""


@dataclass(frozen=True, slots=True)
class _Impairment:
    """Ie, what the codec costs without loss, and Bpl, its robustness against loss (ITU-T G.113 Appendix I)."""

    ie: float
    bpl: float


_WITHOUT_CONCEALMENT: Final = _Impairment(0.0, 4.3)

_IMPAIRMENTS: Final = {
    "pcmu": _WITHOUT_CONCEALMENT,
    "pcma": _WITHOUT_CONCEALMENT,
    # G.113 rates G.722 and Opus on the wide-band scale only. On this one neither costs anything without loss;
    # G.722 is taken to suffer from loss as G.711 does, Opus, which conceals it, as GSM-EFR does.
    "g722": _WITHOUT_CONCEALMENT,
    "opus": _Impairment(0.0, 10.0),
    "g729": _Impairment(11.0, 19.0),
}


def estimate_mos(loss_percent: float, one_way_delay_ms: float, codec: str) -> float:
    """Mean opinion score of the caller's audio.

    Args:
        loss_percent: frames that did not arrive in time, 0..100, lost at random.
        one_way_delay_ms: mouth to ear: packetisation, network, jitter buffer.
        codec: name as in SDP, any case. An unknown one is taken for G.711.

    Returns:
        1.0 (bad) .. 4.5 (excellent); at best 4.4.

    Raises:
        ValueError: loss or delay is out of range.
    """
    return _mos(rating(loss_percent, one_way_delay_ms, codec))


def rating(loss_percent: float, one_way_delay_ms: float, codec: str) -> float:
    """Transmission rating R, at most 93.2; below 70 many users are dissatisfied (G.107 Annex B).

    Arguments and errors are those of :func:`estimate_mos`.
    """
    if not 0.0 <= loss_percent <= 100.0:
        raise ValueError(f"loss_percent must be 0..100, not {loss_percent}")
    if not 0.0 <= one_way_delay_ms < math.inf:
        raise ValueError(f"one_way_delay_ms must be a finite number of at least 0, not {one_way_delay_ms}")
    codec_impairment = _IMPAIRMENTS.get(codec.lower(), _WITHOUT_CONCEALMENT)
    loss_factor = loss_percent / (loss_percent + codec_impairment.bpl)
    ie_eff = codec_impairment.ie + (95.0 - codec_impairment.ie) * loss_factor
    return BEST_R - _delay_impairment(one_way_delay_ms) - ie_eff


def _delay_impairment(one_way_delay_ms: float) -> float:
    """Id without echo, by the two straight lines of Cole and Rosenbluth (2001) through G.107's curve."""
    return 0.024 * one_way_delay_ms + 0.11 * max(one_way_delay_ms - 177.3, 0.0)


def _mos(r: float) -> float:
    """G.107 Annex B, equation B-4; the cubic dips below 1 for R under 6.5."""
    if r <= 0.0:
        return 1.0
    r = min(r, 100.0)
    return max(1.0, 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r))

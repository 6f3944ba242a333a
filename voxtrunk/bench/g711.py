"""G.711 mu-law and A-law by table (ITU-T G.711); int16 samples in and out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]
Codes = NDArray[np.uint8]

_MU_BIAS = 132
_MU_CLIP = 32635


def _exponent(magnitude: NDArray[np.int32]) -> NDArray[np.int32]:
    """Segment number 0..7 of a 15-bit magnitude: the place of its top bit above bit 7."""
    top_bit = np.floor(np.log2(np.maximum(magnitude, 1))).astype(np.int32)
    exponent: NDArray[np.int32] = np.maximum(top_bit - 7, 0)
    return exponent


def _mu_law_codes() -> Codes:
    linear = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int32)
    magnitude = np.minimum(np.abs(linear), _MU_CLIP) + _MU_BIAS
    exponent = _exponent(magnitude)
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    sign = np.where(linear < 0, 0x80, 0)
    codes: Codes = (~(sign | exponent << 4 | mantissa) & 0xFF).astype(np.uint8)
    return codes


def _mu_law_levels() -> Samples:
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    magnitude = (((code & 0x0F) << 3) + _MU_BIAS << (code >> 4 & 7)) - _MU_BIAS
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)


def _a_law_codes() -> Codes:
    linear = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int32)
    magnitude = np.where(linear < 0, -linear - 1, linear)
    exponent = _exponent(magnitude)
    mantissa = (magnitude >> np.maximum(exponent + 3, 4)) & 0x0F
    # Even bits are inverted on the line (G.711 table 1a, note); positive values carry the top bit.
    return ((exponent << 4 | mantissa) ^ np.where(linear < 0, 0x55, 0xD5)).astype(np.uint8)


def _a_law_levels() -> Samples:
    code = np.arange(256, dtype=np.int32) ^ 0x55
    exponent = code >> 4 & 7
    mantissa = code & 0x0F
    magnitude = np.where(exponent == 0, (mantissa << 4) + 8, ((mantissa << 4) + 0x108) << np.maximum(exponent - 1, 0))
    return np.where(code & 0x80, magnitude, -magnitude).astype(np.int16)


_MU_CODES, _MU_LEVELS = _mu_law_codes(), _mu_law_levels()
_A_CODES, _A_LEVELS = _a_law_codes(), _a_law_levels()


def encode_mu_law(pcm: Samples) -> bytes:
    """int16, shape (n,) -> n octets."""
    return bytes(_MU_CODES[pcm.view(np.uint16)])


def decode_mu_law(data: bytes) -> Samples:
    """n octets -> int16, shape (n,)."""
    return _MU_LEVELS[np.frombuffer(data, np.uint8)]


def encode_a_law(pcm: Samples) -> bytes:
    """int16, shape (n,) -> n octets."""
    return bytes(_A_CODES[pcm.view(np.uint16)])


def decode_a_law(data: bytes) -> Samples:
    """n octets -> int16, shape (n,)."""
    return _A_LEVELS[np.frombuffer(data, np.uint8)]

"""G.711 against the points of the standard's tables."""

from __future__ import annotations

import numpy as np
import pytest

from voxtrunk.bench import g711

ALL = np.arange(65536, dtype=np.uint16).view(np.int16)


@pytest.mark.parametrize(
    ("sample", "code"),
    [(0, 0xFF), (32767, 0x80), (-32768, 0x00), (1000, 0xCE), (-1000, 0x4E), (8159 * 4, 0x80)],
)
def test_mu_law_codes(sample: int, code: int) -> None:
    assert g711.encode_mu_law(np.array([sample], np.int16)) == bytes([code])


@pytest.mark.parametrize(("sample", "code"), [(0, 0xD5), (32767, 0xAA), (-32768, 0x2A), (-1, 0x55), (1000, 0xFA)])
def test_a_law_codes(sample: int, code: int) -> None:
    assert g711.encode_a_law(np.array([sample], np.int16)) == bytes([code])


@pytest.mark.parametrize(
    ("encode", "decode"),
    [(g711.encode_mu_law, g711.decode_mu_law), (g711.encode_a_law, g711.decode_a_law)],
)
def test_every_sample_comes_back_within_its_step(encode: object, decode: object) -> None:
    back = decode(encode(ALL)).astype(int)  # type: ignore[operator]
    error = np.abs(back - ALL.astype(int))
    # A segment has 16 steps of 1/16 of its width: at most 1/32 of the value, or half a smallest step.
    assert np.all(error <= np.maximum(16, np.abs(ALL.astype(int)) / 32 + 8) + (np.abs(ALL.astype(int)) > 32635) * 700)


@pytest.mark.parametrize(
    ("encode", "decode", "zeros"),
    [(g711.encode_mu_law, g711.decode_mu_law, {0x7F}), (g711.encode_a_law, g711.decode_a_law, set())],
)
def test_every_code_is_its_own_level(encode: object, decode: object, zeros: set[int]) -> None:
    codes = bytes(code for code in range(256) if code not in zeros)
    assert encode(decode(codes)) == codes  # type: ignore[operator]

"""Stateful resampling: chunked equals whole, the pass band is flat, images and aliases are gone."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
import soxr

from dsp.resample import Pcm, Resampler, to_float, to_int16

INTEGER = [(8000, 16000), (48000, 16000), (16000, 8000), (16000, 48000), (16000, 16000)]
RATIONAL = [(24000, 16000), (22050, 16000), (44100, 16000), (16000, 24000), (16000, 22050)]
RATES = INTEGER + RATIONAL


def tone(frequency_hz: float, rate_hz: int, seconds: float = 1.0) -> Pcm:
    return np.sin(2 * np.pi * frequency_hz * np.arange(int(seconds * rate_hz)) / rate_hz).astype(np.float32)


def in_chunks(resampler: Resampler, pcm: Pcm, sizes: list[int]) -> Pcm:
    parts, start, turn = [], 0, 0
    while start < len(pcm):
        size = sizes[turn % len(sizes)]
        parts.append(resampler.push(pcm[start : start + size]))
        start, turn = start + size, turn + 1
    return np.concatenate(parts)


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
@pytest.mark.parametrize("sizes", [[1], [160], [320, 960], [7, 1, 333]])
def test_chunked_equals_whole(rate_in_hz: int, rate_out_hz: int, sizes: list[int]) -> None:
    pcm = np.random.default_rng(1).standard_normal(4800).astype(np.float32)
    whole = Resampler(rate_in_hz, rate_out_hz).push(pcm)
    chunked = in_chunks(Resampler(rate_in_hz, rate_out_hz), pcm, sizes)
    np.testing.assert_allclose(chunked, whole, atol=1e-5)


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
def test_every_20_ms_in_gives_20_ms_out_from_the_first_on(rate_in_hz: int, rate_out_hz: int) -> None:
    resampler = Resampler(rate_in_hz, rate_out_hz)
    for _ in range(5):
        assert len(resampler.push(np.zeros(rate_in_hz // 50, np.float32))) == rate_out_hz // 50


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
def test_the_count_of_samples_does_not_drift(rate_in_hz: int, rate_out_hz: int) -> None:
    resampler, taken, made = Resampler(rate_in_hz, rate_out_hz), 0, 0
    for turn in range(2000):
        pcm = np.zeros(1 + turn % 257, np.float32)
        taken += len(pcm)
        made += len(resampler.push(pcm))
        assert made == ceil(taken * rate_out_hz / rate_in_hz)


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
@pytest.mark.parametrize("frequency_hz", [300, 1000, 3400])
def test_speech_band_passes_within_half_a_db(rate_in_hz: int, rate_out_hz: int, frequency_hz: float) -> None:
    resampled = Resampler(rate_in_hz, rate_out_hz).push(tone(frequency_hz, rate_in_hz))
    level_db = 20 * np.log10(np.sqrt(2 * np.mean(resampled[rate_out_hz // 10 :] ** 2)))
    assert abs(level_db) < 0.5


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATIONAL)
def test_rational_ratios_agree_with_soxr(rate_in_hz: int, rate_out_hz: int) -> None:
    # Noise up to 6 kHz: the pass band of both.
    spectrum = np.fft.rfft(np.random.default_rng(2).standard_normal(rate_in_hz))
    spectrum[6000:] = 0.0
    pcm = np.fft.irfft(spectrum, rate_in_hz).astype(np.float32)
    resampler = Resampler(rate_in_hz, rate_out_hz)
    # Ours is later by no whole number of samples: 16 at the lower rate less half a step of the common rate, because
    # the number of taps is even. Turn its spectrum by that.
    delay_s = resampler.delay_ms / 1000 - 0.5 / np.lcm(rate_in_hz, rate_out_hz)
    turned = np.fft.rfft(resampler.push(pcm)) * np.exp(2j * np.pi * np.arange(rate_out_hz // 2 + 1) * delay_s)
    ours = np.fft.irfft(turned, rate_out_hz)
    theirs = soxr.resample(pcm, rate_in_hz, rate_out_hz, quality="VHQ")
    middle = slice(rate_out_hz // 4, 3 * rate_out_hz // 4)
    error = np.sqrt(np.mean((ours - theirs)[middle] ** 2) / np.mean(theirs[middle] ** 2))
    assert 20 * np.log10(error) < -55


@pytest.mark.parametrize(("rate_in_hz", "frequency_hz"), [(16000, 5000), (24000, 10000), (44100, 10000)])
def test_what_the_lower_rate_cannot_carry_is_removed_not_aliased(rate_in_hz: int, frequency_hz: float) -> None:
    rate_out_hz = 8000 if rate_in_hz == 16000 else 16000
    assert np.abs(Resampler(rate_in_hz, rate_out_hz).push(tone(frequency_hz, rate_in_hz))[200:]).max() < 1e-3


def test_upsampling_leaves_no_image() -> None:
    spectrum = np.abs(np.fft.rfft(Resampler(8000, 16000).push(tone(3000, 8000))[1000:9000] * np.hanning(8000)))
    assert spectrum[5000 // 2] < 1e-3 * spectrum[3000 // 2]


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), [(8000, 16000), (16000, 8000), *RATIONAL])
def test_delay_is_as_stated(rate_in_hz: int, rate_out_hz: int) -> None:
    impulse = np.zeros(640, np.float32)
    impulse[0] = 1.0
    resampler = Resampler(rate_in_hz, rate_out_hz)
    peak = int(np.argmax(resampler.push(impulse)))
    assert abs(1000 * peak / rate_out_hz - resampler.delay_ms) < 0.1


@pytest.mark.parametrize("rates_hz", [(0, 16000), (16000, -1)])
def test_rates_that_are_none_are_refused(rates_hz: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"cannot convert -?[0-9]+ Hz to -?[0-9]+ Hz: rates are above 0"):
        Resampler(*rates_hz)


def test_int16_round_trip_and_clipping() -> None:
    samples = np.array([-32768, -1, 0, 1, 32767], np.int16)
    assert np.abs(to_int16(to_float(samples)).astype(int) - samples).max() <= 1
    assert to_int16(np.array([2.0, -2.0], np.float32)).tolist() == [32767, -32768]


def test_stereo_is_mixed_down_and_doubled_up() -> None:
    assert to_float(np.array([16384, 0], np.int16), channels=2).tolist() == [0.25]
    assert to_int16(np.array([0.5], np.float32), channels=2).tolist() == [16384, 16384]

"""Pulses without clicks, and an STFT that gives the signal back."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from synth.bigvgan_layers import State, Stateful, Step
from synth.bigvgan_source import FFT_SIZE, OVERLAP, Analysis, PulseSource, Synthesis, harmonics
from synth.mel import SAMPLE_RATE_HZ

NOISE_SCALE = 1.0 / math.sqrt(FFT_SIZE * 3.0 / 8.0)


def fresh(layer: Stateful, name: str = "layer") -> State:
    layer.name = name
    return layer.init(1, torch.device("cpu"))


def pulses(f0_hz: list[float], chunk: int = 1000) -> Tensor:
    source = PulseSource()
    state, parts = fresh(source), []
    for piece in torch.tensor([f0_hz]).split(chunk, dim=1):
        step = Step(state, piece.shape[1])
        parts.append(source(piece, step))
        state = step.after
    return torch.cat(parts, dim=1)[0]


TRACK = [0.0] * 3 + [110.0, 120.0, 131.0, 260.0, 128.0, 0.0, 0.0, 90.0] + [95.0] * 9 + [0.0] * 2


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_chunks_give_the_same_pulses(chunk: int) -> None:
    torch.testing.assert_close(pulses(TRACK, chunk), pulses(TRACK), atol=2e-4, rtol=1e-4)


def test_pulses_keep_their_phase_for_an_hour() -> None:
    source = PulseSource()
    state = fresh(source)
    frames = 6000
    for _ in range(60):
        step = Step(state, frames)
        last = source(torch.full((1, frames), 123.375), step)
        state = step.after
    n = torch.arange(60 * frames * 160 - 160, 60 * frames * 160, dtype=torch.float64)
    # The first frame starts from silence, at the same pitch.
    exact = harmonics((123.375 * n / SAMPLE_RATE_HZ).fmod(1.0).float(), torch.tensor(123.375))
    torch.testing.assert_close(last[0, -160:], exact, atol=0.1, rtol=0.0)


def test_the_pitch_is_that_asked_for() -> None:
    spectrum = torch.fft.rfft(pulses([200.0] * 100)[160:].double() * torch.hann_window(15840, dtype=torch.float64))
    hz = torch.arange(len(spectrum)) * SAMPLE_RATE_HZ / 15840
    magnitude = spectrum.abs() / (15840 / 4)
    for harmonic in range(1, 39):
        near = (hz - 200.0 * harmonic).abs() < 3.0
        assert magnitude[near].max() == pytest.approx(1.0, abs=0.02)
    assert magnitude[hz > 7_850.0].max() < 1e-3


def test_unvoiced_frames_are_silent() -> None:
    assert pulses([0.0] * 5).abs().max() == 0.0
    assert pulses([100.0] * 5 + [0.0] * 5)[6 * 160 :].abs().max() == 0.0


def test_voicing_fades_over_one_frame() -> None:
    started = pulses([0.0, 100.0, 100.0])
    assert started[160].abs() == 0.0
    assert started[160:168].abs().max() < 5.0
    assert started[320:480].max() > 50.0


def largest_step(signal: Tensor) -> float:
    """Largest step of the low harmonics, where a click would stand out from the pulses themselves."""
    spectrum = torch.fft.rfft(signal)
    spectrum[int(1000 * len(signal) / SAMPLE_RATE_HZ) :] = 0
    return float(torch.fft.irfft(spectrum, len(signal)).diff().abs().max())


def test_an_octave_error_does_not_click() -> None:
    steady = largest_step(pulses([120.0] * 40))
    jumping = largest_step(pulses([120.0] * 20 + [240.0] + [120.0] * 19))
    assert jumping < 1.5 * steady


def test_harmonics_fade_in_and_out_as_f0_moves() -> None:
    # 7800 / 200 = 39 harmonics: just below and just above, the pulse must be nearly the same.
    cycles = torch.linspace(-0.5, 0.5, 301)
    below, above = (harmonics(cycles, torch.full_like(cycles, hz)) for hz in (199.999, 200.001))
    torch.testing.assert_close(below, above, atol=2e-3, rtol=0.0)


def test_the_pulse_itself_is_the_number_of_harmonics() -> None:
    assert harmonics(torch.zeros(1), torch.full((1,), 200.0)).item() == pytest.approx(39.0, abs=1e-3)


def test_synthesis_undoes_analysis() -> None:
    torch.manual_seed(0)
    pulses, noise = torch.randn(1, 3200), torch.randn(1, 3200)
    analysis, synthesis = Analysis(), Synthesis()
    spectra = analysis(pulses, noise, Step(fresh(analysis), 20))
    for signal, spectrum, scale in zip((pulses, noise), spectra, (4.0 / FFT_SIZE, NOISE_SCALE), strict=True):
        assert spectrum.shape == (1, 40, FFT_SIZE + 2)
        back = synthesis(spectrum / scale, Step(fresh(synthesis), 20))
        torch.testing.assert_close(back[:, OVERLAP:], signal[:, :-OVERLAP], atol=1e-5, rtol=1e-5)


def test_a_unit_harmonic_is_one_in_its_bin() -> None:
    analysis = Analysis()
    tone = torch.cos(2 * math.pi * 1000.0 * torch.arange(1600) / SAMPLE_RATE_HZ).unsqueeze(0)
    spectrum, _ = analysis(tone, torch.zeros_like(tone), Step(fresh(analysis), 10))
    real, imag = spectrum[0, 10].chunk(2)
    assert torch.hypot(real, imag)[20].item() == pytest.approx(1.0, abs=1e-4)


def test_white_noise_has_unit_power_in_every_bin() -> None:
    analysis = Analysis()
    noise = torch.randn(1, 320_000, generator=torch.Generator().manual_seed(0))
    _, spectrum = analysis(torch.zeros_like(noise), noise, Step(fresh(analysis), 2000))
    real, imag = spectrum[0, 4:].chunk(2, dim=1)
    power = (real.square() + imag.square()).mean(0)[1:-1]
    torch.testing.assert_close(power, torch.ones_like(power), atol=0.15, rtol=0.0)

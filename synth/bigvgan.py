"""The streaming vocoder: a causal BigVGAN trunk that shapes pulses and noise into 16 kHz speech.

Mel (80 bands, 100 Hz) and F0 pass causal Snake/AMP stages at 100 and 200 Hz. The head reads from them, for each STFT
bin, the filter of the pulses (magnitude and phase), the gain of the noise and a free complex part, all relative to the
envelope that the mel itself gives; their sum is synthesised by overlap-add (n_fft 320, hop 80).

Delay: sample ``n`` of the output is sample ``n - 400`` of the speech that the mel was made of, so 25 ms of lookahead
all told, the mel's window included. There is no other: output up to ``160 * t`` depends on the first ``t`` frames only.

PyTorch is needed for training and export only; the service runs the exported graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from synth import mel as mels
from synth.bigvgan_envelope import Envelope
from synth.bigvgan_layers import AmpStage, CausalConv1d, State, Step, StreamingModel, pixel_shuffle
from synth.bigvgan_source import BINS, FRAMES_PER_MEL, Analysis, PulseSource, Synthesis

LOOKAHEAD_SAMPLES: Final = 400
LOOKAHEAD_MS: Final = 1000.0 * LOOKAHEAD_SAMPLES / mels.SAMPLE_RATE_HZ
_LOUDNESS_SCALE: Final = 0.15
"""Brings speech to about 1."""
_REFERENCE_HZ: Final = 150.0
_MAX_LOG_GAIN: Final = 6.5
"""exp(4.4) is a full scale sine; two nats more keep a wild weight from making infinities."""


@dataclass(frozen=True)
class BigVganConfig:
    """Size of a model: channels and AMP kernels at 100 Hz and at 200 Hz, and the dilations of both."""

    name: str
    channels: tuple[int, int]
    kernels: tuple[tuple[int, ...], tuple[int, ...]]
    dilations: tuple[int, ...] = (1, 3, 5)


SIZES: Final = {
    "nano": BigVganConfig("nano", (160, 128), ((3, 7), (3,))),
    "base": BigVganConfig("base", (384, 256), ((3, 7), (3, 7))),
}


class BigVgan(StreamingModel):
    """Vocoder with explicit state.

    ``state = model.init(batch)``, then ``pcm, state = model.step(mel, f0_hz, noise, state)`` as often as needed with
    any number of frames; the samples are those of one call with all frames, to rounding.
    """

    def __init__(self, config: BigVganConfig) -> None:
        super().__init__()
        self.config = config
        low, high = config.channels
        self.pulses = PulseSource()
        self.spectra = Analysis()
        self.envelope = Envelope()
        self.entry = CausalConv1d(mels.BANDS + 2, low, 5)
        self.slow = AmpStage(low, config.kernels[0], config.dilations)
        self.upsample = CausalConv1d(low, FRAMES_PER_MEL * high, 3)
        self.pulse_entry = nn.Conv1d(2 * BINS, high, 1)
        self.fast = AmpStage(high, config.kernels[1], config.dilations, FRAMES_PER_MEL)
        self.head = CausalConv1d(high, 5 * BINS, 3, per_frame=FRAMES_PER_MEL)
        self.synthesis = Synthesis()
        self.name_layers()

    def step(self, mel: Tensor, f0_hz: Tensor, noise: Tensor, state: State) -> tuple[Tensor, State]:
        """Turn the next frames into samples.

        Args:
            mel: log mel of :mod:`synth.mel`, shape (batch, 80, frames), frames >= 1.
            f0_hz: shape (batch, frames); frame ``i`` is F0 in Hz at sample ``160 * i``, 0 where unvoiced.
            noise: standard normal, shape (batch, 160 * frames).
            state: what the previous call returned, or :meth:`init`. It is not changed.

        Returns:
            PCM, shape (batch, 160 * frames), 25 ms behind the mel; and the new state.
        """
        step = Step(state, mel.shape[2])
        with torch.no_grad():
            pulse, hiss = self.spectra(self.pulses(f0_hz, step), noise, step)
        # Silence is 0, so that zeros as history mean silence before the first frame.
        loudness = mel.transpose(1, 2) - mels.SILENCE
        envelope = self.envelope(loudness, step)
        voiced = (f0_hz > 0).float()
        pitch = voiced * torch.log(torch.clamp(f0_hz, min=1.0) / _REFERENCE_HZ)
        x = torch.cat([loudness * _LOUDNESS_SCALE, voiced.unsqueeze(2), pitch.unsqueeze(2)], dim=2)
        x = self.slow(self.entry(x, step), step)
        x = pixel_shuffle(self.upsample(x, step), FRAMES_PER_MEL)
        x = self.fast(x + functional.linear(pulse, self.pulse_entry.weight[..., 0], self.pulse_entry.bias), step)
        spectrum = _mix(self.head(x, step), envelope, pulse, hiss)
        return self.synthesis(spectrum, step), step.after

    def forward(self, mel: Tensor, f0_hz: Tensor, noise: Tensor) -> Tensor:
        """Whole utterances: :meth:`step` from the initial state."""
        return self.step(mel, f0_hz, noise, self.init(mel.shape[0]))[0]


def _mix(parts: Tensor, envelope: Tensor, pulse: Tensor, hiss: Tensor) -> Tensor:
    """Spectrum (batch, time, 322) from the head's five parts (batch, time, 805) and the source spectra."""
    harmonic, angle, breath, free_real, free_imag = parts.chunk(5, dim=2)
    gain = torch.exp(torch.clamp(envelope + harmonic, max=_MAX_LOG_GAIN))
    real, imag = gain * torch.cos(angle), gain * torch.sin(angle)
    pulse_real, pulse_imag = pulse.chunk(2, dim=2)
    hiss_real, hiss_imag = hiss.chunk(2, dim=2)
    noise_gain = torch.exp(torch.clamp(envelope + breath, max=_MAX_LOG_GAIN))
    free_gain = torch.exp(torch.clamp(envelope, max=_MAX_LOG_GAIN))
    return torch.cat(
        [
            real * pulse_real - imag * pulse_imag + noise_gain * hiss_real + free_gain * free_real,
            real * pulse_imag + imag * pulse_real + noise_gain * hiss_imag + free_gain * free_imag,
        ],
        dim=2,
    )

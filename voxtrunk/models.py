"""``voxtrunk models``: vocoders that the operator brings."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synth.vocoder_file import VocoderError
from synth.vocoder_models import installed, models_folder
from telephony.leg import SAMPLE_RATE_HZ
from voxtrunk.recording import DEMO_SPEECH, load_recording

if TYPE_CHECKING:
    from synth.official.convert import Conversion

_NEEDED: Final = ("torch", "onnx")


def add_bigvgan(folder: Path, *, name: str | None = None, lookahead_frames: int | None = None) -> str:
    """Convert an official BigVGAN checkpoint and keep it among the operator's models.

    Args:
        folder: with ``config.json`` and ``bigvgan_generator.pt``.
        name: of the model; None for that of the folder.
        lookahead_frames: at most; None for the exact network.

    Returns:
        What was made and measured, for the terminal.

    Raises:
        VocoderError: the checkpoint cannot be used, or what converts it is not installed.
        OSError: the models' folder cannot be written.
    """
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        raise VocoderError(f"{', '.join(missing)} not installed; run: pip install 'voxtrunk[train]'")
    from synth.official.convert import convert

    speech = load_recording(DEMO_SPEECH)
    made = convert(folder, models_folder(), speech, SAMPLE_RATE_HZ, name=name, lookahead_frames=lookahead_frames)
    return _in_words(made)


def list_models() -> str:
    """All models, a line each, for the terminal."""
    return "\n".join(f"{of.name:<24} {of.precision:<5} {of.path}" for of in installed())


def _in_words(made: Conversion) -> str:
    ms = 1000.0 / made.sample_rate_hz
    delay_ms = (made.lookahead_samples + made.lead_samples) * ms
    lines = [
        f"{made.path}: {made.name}, {made.sample_rate_hz} Hz, float32",
        f"delay {delay_ms:.0f} ms: the network looks {made.lookahead_samples * ms:.0f} ms ahead, "
        f"the mel {made.lead_samples * ms:.0f} ms; exact would be {made.wanted_samples * ms:.0f} ms",
        f"in chunks of two frames: real-time factor {made.real_time_factor:.2f} on one thread here, "
        f"{made.mismatch:.1g} from the network it was made of",
    ]
    if made.shortened is not None:
        lines.append(
            f"error of the shorter lookahead on a recording: signal to error {made.shortened.snr_db:.1f} dB, "
            f"log mel {made.shortened.log_mel_distance:.3f} nats"
        )
    lines.append(f'use it with: synth.vocoder = "{made.name}", synth.vocoder_precision = "fp32"')
    return "\n".join(lines)

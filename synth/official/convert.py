"""A checkpoint's folder -> a vocoder's file, checked against the network that it was made of, and measured.

Float32 only: INT8 as in :mod:`synth.quantise` took 12 % less time at 31 dB of signal to error, which nobody would
choose. The activations, and not the products, take most of the time there.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from synth.mel import SILENCE, log_mel
from synth.official.config import CONFIG_NAME, read_config
from synth.official.graph import OfficialBigVgan
from synth.official.weights import fill, find_weights, read_weights
from synth.step_graph import about, write_onnx
from synth.vocoder_file import VocoderError, VocoderFile, checksum_path, sha256

Array = NDArray[np.float32]

_TOLERANCE: Final = 1e-3
_CHUNK_FRAMES: Final = 2
_CHECKED_FRAMES: Final = 60
_MEASURED_S: Final = 3.0
_WHOLE_FRAMES: Final = 32
"""Frames a step when nothing waits for them; more do not fit the processor's caches."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Shortened:
    """What less lookahead costs, against the exact network on the same mel.

    Attributes:
        snr_db: of the samples.
        log_mel_distance: mean absolute difference of the log mels of both, in nats.
    """

    snr_db: float
    log_mel_distance: float


@dataclass(frozen=True)
class Conversion:
    """A model that was made.

    Attributes:
        name: of the model.
        path: of its file.
        sample_rate_hz, hop_samples: of the model.
        lookahead_samples: it looks ahead.
        wanted_samples: the exact network looks ahead.
        lead_samples: that the mel needs on top.
        mismatch: largest difference between the file in chunks of two frames and the network at once.
        real_time_factor: of the file in those chunks, one thread, on this machine as busy as it is.
        shortened: what less lookahead costs; None for an exact model.
    """

    name: str
    path: Path
    sample_rate_hz: int
    hop_samples: int
    lookahead_samples: int
    wanted_samples: int
    lead_samples: int
    mismatch: float
    real_time_factor: float
    shortened: Shortened | None


def convert(
    folder: Path,
    target: Path,
    speech: Array,
    speech_rate_hz: int,
    *,
    name: str | None = None,
    lookahead_frames: int | None = None,
) -> Conversion:
    """Convert a checkpoint.

    Args:
        folder: with ``config.json`` and ``bigvgan_generator.pt``, or ``g_...`` of the first release.
        target: folder to write ``<name>.fp32.onnx`` and its checksum into; made if missing.
        speech: a recording to check and measure with, (n,), at least half a second.
        speech_rate_hz: of the recording.
        name: of the model; None for that of the folder, with ``-ahead<N>`` if the lookahead is shortened.
        lookahead_frames: at most, in mel frames; None for the exact network.

    Raises:
        VocoderError: the checkpoint cannot be used, the file does not do what the network does, or an argument is
            out of range.
        OSError: ``target`` cannot be written.
    """
    if lookahead_frames is not None and lookahead_frames < 0:
        raise VocoderError(f"lookahead of {lookahead_frames} frames: expected 0 or more")
    config = read_config(folder / CONFIG_NAME)
    weights = find_weights(folder)
    tensors = read_weights(weights)
    exact = OfficialBigVgan(config).eval()
    fill(exact, tensors, weights)
    model = exact
    if lookahead_frames is not None and lookahead_frames * config.mel.hop_samples < exact.lookahead_samples:
        model = OfficialBigVgan(config, lookahead_frames).eval()
        fill(model, tensors, weights)
    chosen = _checked_name(name or _default_name(folder, None if model is exact else lookahead_frames))
    mel = _mel(exact, speech, speech_rate_hz)
    own = {"name": chosen, "weights_sha256": sha256(weights), "source": "bigvgan"}
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{chosen}.fp32.onnx"
    with tempfile.TemporaryDirectory(dir=target, prefix=".convert-") as made_in:
        made = Path(made_in) / path.name
        example = {"mel": torch.zeros(2, config.mel.bands, 3)}
        write_onnx(model, example, made, about(config.mel, model.lookahead_samples) | own)
        mismatch, real_time_factor = _compare(made, model, mel[:, :_CHECKED_FRAMES])
        made.replace(path)
        checksum_path(made).replace(checksum_path(path))
    return Conversion(
        name=chosen,
        path=path,
        sample_rate_hz=config.mel.sample_rate_hz,
        hop_samples=config.mel.hop_samples,
        lookahead_samples=model.lookahead_samples,
        wanted_samples=exact.lookahead_samples,
        lead_samples=config.mel.lead_samples,
        mismatch=mismatch,
        real_time_factor=real_time_factor,
        shortened=None if model is exact else shortened_error(exact, model, mel),
    )


def shortened_error(exact: OfficialBigVgan, short: OfficialBigVgan, mel: Array) -> Shortened:
    """Measure what less lookahead costs.

    Args:
        exact, short: of the same weights.
        mel: log mel of speech, (bands, frames).
    """
    wanted, found = vocode(exact, mel), vocode(short, mel)
    definition = exact.config.mel
    distance = np.abs(log_mel(wanted, definition) - log_mel(found, definition)).mean()
    error = max(float(np.square(wanted - found).mean()), 1e-20)
    return Shortened(10.0 * float(np.log10(np.square(wanted).mean() / error + 1e-20)), float(distance))


@torch.no_grad()
def vocode(model: OfficialBigVgan, mel: Array) -> Array:
    """All samples of a mel (bands, frames), in time with it: (hop * frames,)."""
    hop = model.config.mel.hop_samples
    late = np.full((mel.shape[0], -(-model.lookahead_samples // hop)), SILENCE, np.float32)
    state, made = model.init(1), []
    for chunk in _chunks(np.concatenate([mel, late], axis=1), _WHOLE_FRAMES):
        pcm, state = model.step(torch.from_numpy(chunk[None]), state)
        made.append(pcm[0].numpy())
    return np.concatenate(made)[model.lookahead_samples :][: hop * mel.shape[1]]


@torch.no_grad()
def _compare(path: Path, model: OfficialBigVgan, mel: Array) -> tuple[float, float]:
    file = VocoderFile.open(path)
    names = [output.name for output in file.session.get_outputs()]
    state, made, took_s = file.zero_state(1), [], []
    chunks = list(_chunks(mel, _CHUNK_FRAMES))
    for chunk in chunks:
        began_s = time.perf_counter()
        outputs = dict(zip(names, file.session.run(names, {"mel": chunk[None], **state}), strict=True))
        took_s.append(time.perf_counter() - began_s)
        made.append(outputs.pop("pcm")[0])
        state = {key.replace("next.", "state.", 1): value for key, value in outputs.items()}
    expected, _ = model.step(torch.from_numpy(mel[None]), model.init(1))
    mismatch = float(np.abs(np.concatenate(made) - expected[0].numpy()).max())
    if not mismatch <= _TOLERANCE:
        raise VocoderError(
            f"{path.name}: differs by {mismatch:.2g} from the network it was made of, at most {_TOLERANCE:g} is "
            "rounding; report this with the versions of torch and onnxruntime"
        )
    chunk_s = _CHUNK_FRAMES * file.hop_samples / file.sample_rate_hz
    return mismatch, float(np.median(took_s)) / chunk_s


def _chunks(mel: Array, frames: int) -> Iterator[Array]:
    for at in range(0, mel.shape[1], frames):
        yield np.ascontiguousarray(mel[:, at : at + frames])


def _mel(model: OfficialBigVgan, speech: Array, rate_hz: int) -> Array:
    import soxr

    definition = model.config.mel
    pcm = soxr.resample(speech[: int(_MEASURED_S * rate_hz)], rate_hz, definition.sample_rate_hz)
    if len(pcm) < definition.sample_rate_hz / 2:
        raise VocoderError(
            f"the recording to measure with has {len(speech)} samples at {rate_hz} Hz; half a second is the least"
        )
    return log_mel(np.asarray(pcm, np.float32), definition)


def _default_name(folder: Path, frames: int | None) -> str:
    return folder.resolve().name + ("" if frames is None else f"-ahead{frames}")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise VocoderError(f"{name!r} is no name for a model: use letters, digits, '.', '_' and '-' (--name)")
    return name

"""INT8: the exported graph with its matrix products in eight bits, per output channel, calibrated on real speech.

Weights and activations are both unsigned. With signed weights, as is usual, processors without VNNI add pairs of
products in 16 bits and saturate: PESQ-WB 2.91 instead of 3.29. Unsigned ones take the exact way, at the same speed.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.mel import log_mel
from synth.vocoder_file import VocoderError, VocoderFile, write_checksum

Feeds = Mapping[str, NDArray[Any]]

_FIXED = ("spectra", "envelope", "synthesis")
"""Transforms without weights to learn. Their inputs span 100 dB, which eight bits do not."""


def layers(source: Path) -> list[str]:
    """Names of the matrix products that can be quantised, in the order of the graph."""
    import onnx

    products = [node.name for node in onnx.load(source).graph.node if node.op_type == "MatMul"]
    return [name for name in products if not any(part in name for part in _FIXED)]


def quantise(source: Path, target: Path, calibration: Iterable[Feeds], keep: Sequence[str] = ()) -> None:
    """Write the INT8 version of ``source``, and its checksum beside it.

    Args:
        source: what :func:`synth.export.export_onnx` wrote.
        target: ``.onnx`` file to write.
        calibration: inputs of whole utterances, from :func:`utterance`; the range of each activation is what they show.
        keep: names of :func:`layers` that stay in float32.

    Raises:
        VocoderError: all are kept.
    """
    import onnx
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    properties = {entry.key: entry.value for entry in onnx.load(source).metadata_props}
    with tempfile.TemporaryDirectory() as folder, _quiet():
        prepared, made = Path(folder) / "prepared.onnx", Path(folder) / "made.onnx"
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        chosen = [name for name in layers(source) if name not in keep]
        if not chosen:
            raise VocoderError("no layer is left to quantise; the float32 file is what you want")
        quantize_static(
            prepared,
            made,
            _Reader(calibration),
            quant_format=QuantFormat.QDQ,
            nodes_to_quantize=chosen,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QUInt8,
            calibrate_method=CalibrationMethod.MinMax,
            extra_options={"OpTypesToExcludeOutputQuantization": ["MatMul"]},
        )
        quantised = onnx.load(made)
    onnx.helper.set_model_props(quantised, properties | {"precision": "int8"})
    temporary = target.with_name(target.name + ".tmp")
    onnx.save(quantised, temporary)
    temporary.replace(target)
    write_checksum(target)


def utterance(file: VocoderFile, mel: NDArray[np.float32], f0_hz: NDArray[np.float32], seed: int = 0) -> Feeds:
    """Inputs of one whole utterance from the initial state.

    Args:
        file: whose inputs they are.
        mel: (bands, frames).
        f0_hz: (frames,).
        seed: of the noise.
    """
    frames = mel.shape[1]
    noise = np.random.default_rng(seed).standard_normal((1, frames * file.hop_samples), np.float32)
    given = {"mel": mel[None], "f0_hz": f0_hz[None].astype(np.float32), "noise": noise}
    return {name: value for name, value in given.items() if name in file.inputs} | file.zero_state(1)


def sensitivity(source: Path, calibration: Sequence[Feeds], judged: Sequence[Feeds]) -> Iterator[tuple[str, float]]:
    """What each layer costs when it alone is quantised: name, and mean distance of the outputs' log mels in nats."""
    before = _outputs(source, judged)
    names = layers(source)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / "one.onnx"
            quantise(source, changed, calibration, [other for other in names if other != name])
            after = _outputs(changed, judged)
        yield name, float(np.mean([np.abs(one - other).mean() for one, other in zip(before, after, strict=True)]))


def _outputs(path: Path, judged: Sequence[Feeds]) -> list[NDArray[np.float32]]:
    session = VocoderFile.open(path).session
    return [log_mel(session.run(["pcm"], dict(feeds))[0][0]) for feeds in judged]


class _Reader:
    """What ONNX Runtime's calibration reads from."""

    def __init__(self, feeds: Iterable[Feeds]) -> None:
        self._feeds: Iterator[Feeds] = iter(feeds)

    def get_next(self) -> dict[str, NDArray[Any]] | None:
        feeds = next(self._feeds, None)
        return None if feeds is None else dict(feeds)


@contextmanager
def _quiet() -> Iterator[None]:
    """The quantiser's advice on the root logger does not concern who runs the export."""
    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)

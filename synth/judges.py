"""How good a copy of speech is: PESQ-WB, STOI and DNSMOS."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from synth.mel import SAMPLE_RATE_HZ

Array = NDArray[np.float32]

_DNSMOS_SAMPLES: Final = 144_160
"""9.01 s: what its network takes."""
_OVRL_LINE: Final = np.array([-0.06766283, 1.11546468, 0.04602535])
"""From the network's overall answer to the scale of listeners, as speechmos publishes it."""


class JudgeError(Exception):
    """A measure cannot be taken; the message says what to install."""


@dataclass(frozen=True)
class Marks:
    """Of one clip.

    Attributes:
        pesq_wb: ITU-T P.862.2 against the original, 1.04 to 4.64.
        stoi: intelligibility against the original, 0 to 1.
        ovrl: DNSMOS P.835 overall quality, 1 to 5, which needs no original.
    """

    pesq_wb: float
    stoi: float
    ovrl: float


class Judge:
    """All three measures of clips at 16 kHz."""

    def __init__(self) -> None:
        """
        Raises:
            JudgeError: a package is missing.
        """
        missing = [name for name in ("pesq", "pystoi", "speechmos") if find_spec(name) is None]
        if missing:
            raise JudgeError(f"{', '.join(missing)} not installed; run: pip install 'voxtrunk[train,eval]'")
        self._dnsmos = _dnsmos()

    def marks(self, original: Array, copy: Array) -> Marks | None:
        """Compare.

        Args:
            original: float32, 16 kHz, (n,), n >= 2 s.
            copy: of the same length and timing.

        Returns:
            None where PESQ finds no speech in the original.
        """
        from pesq import PesqError, pesq
        from pystoi import stoi

        quality = float(pesq(SAMPLE_RATE_HZ, original, copy, "wb", on_error=PesqError.RETURN_VALUES))
        if quality < 0:
            return None
        return Marks(quality, float(stoi(original, copy, SAMPLE_RATE_HZ)), self.ovrl(copy))

    def ovrl(self, pcm: Array) -> float:
        """DNSMOS overall quality: the mean over windows of 9 s, one a second; shorter speech is repeated."""
        repeated = np.clip(pcm, -1.0, 1.0)
        while len(repeated) < _DNSMOS_SAMPLES:
            repeated = np.concatenate([repeated, repeated])
        starts = range(0, len(repeated) - _DNSMOS_SAMPLES + 1, SAMPLE_RATE_HZ)
        windows = np.stack([repeated[start : start + _DNSMOS_SAMPLES] for start in starts])
        answers = self._dnsmos.run(None, {"input_1": windows.astype(np.float32)})[0]
        return float(np.polyval(_OVRL_LINE, answers[:, 2]).mean())


def _dnsmos() -> Any:
    # Importing the package's own code would need librosa, which its wheel does not bring.
    import onnxruntime

    spec = find_spec("speechmos")
    assert spec is not None and spec.submodule_search_locations
    weights = Path(spec.submodule_search_locations[0]) / "dnsmos_models" / "sig_bak_ovr.onnx"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])

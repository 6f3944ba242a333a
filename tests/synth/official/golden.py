"""Writes what the published network makes of the checkpoints of these tests; needs ``pip install bigvgan==2.4.1``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tests.synth.official.checkpoints import mel, tensors
from tests.synth.official.test_exact import CASES, FRAMES, GOLDEN


@torch.no_grad()
def published() -> dict[str, np.ndarray]:
    """Samples of each case, (hop * frames,)."""
    from bigvgan.bigvgan import BigVGAN
    from bigvgan.env import AttrDict

    made: dict[str, np.ndarray] = {}
    for case, values in CASES.items():
        settings: Any = AttrDict(values | {"use_cuda_kernel": False})
        network = BigVGAN(settings).eval()
        kept = network.state_dict()
        weights = tensors(values)
        missing = [name for name in kept if name not in weights and not name.endswith("filter")]
        assert not missing, missing
        network.load_state_dict(kept | weights)
        made[case] = network(mel(values["num_mels"], FRAMES))[0, 0].numpy()
    return made


if __name__ == "__main__":
    np.savez_compressed(GOLDEN, **published())

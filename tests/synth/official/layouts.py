"""Values of ``config.json``: a tiny generator's, and what the published layouts differ in."""

from __future__ import annotations

from typing import Any

Values = dict[str, Any]

TINY: Values = {
    "resblock": "1",
    "activation": "snakebeta",
    "snake_logscale": True,
    "upsample_rates": [4, 2],
    "upsample_kernel_sizes": [8, 4],
    "upsample_initial_channel": 16,
    "resblock_kernel_sizes": [3, 7],
    "resblock_dilation_sizes": [[1, 3], [1, 3]],
    "num_mels": 8,
    "n_fft": 32,
    "hop_size": 8,
    "win_size": 32,
    "sampling_rate": 8000,
    "fmin": 0,
    "fmax": 4000,
}
OTHER: Values = TINY | {
    "resblock": "2",
    "activation": "snake",
    "snake_logscale": False,
    "use_tanh_at_final": False,
    "use_bias_at_final": False,
    "fmax": None,
}

_BLOCKS: Values = {"resblock_kernel_sizes": [3, 7, 11], "resblock_dilation_sizes": [[1, 3, 5]] * 3}
_BASE: Values = (
    TINY
    | _BLOCKS
    | {
        "upsample_rates": [8, 8, 2, 2],
        "upsample_kernel_sizes": [16, 16, 4, 4],
        "n_fft": 1024,
        "hop_size": 256,
        "win_size": 1024,
    }
)
_V2: Values = _BASE | {
    "upsample_rates": [4, 4, 2, 2, 2, 2],
    "upsample_kernel_sizes": [8, 8, 4, 4, 4, 4],
    "use_tanh_at_final": False,
    "use_bias_at_final": False,
    "fmax": None,
}
OFFICIAL: dict[str, Values] = {
    "bigvgan_base_24khz_100band": _BASE | {"sampling_rate": 24000, "num_mels": 100, "fmax": 12000},
    "bigvgan_base_22khz_80band": _BASE | {"sampling_rate": 22050, "num_mels": 80, "fmax": 8000},
    "bigvgan_v2_24khz_100band_256x": _V2 | {"sampling_rate": 24000, "num_mels": 100, "fmax": 12000},
    "bigvgan_v2_22khz_80band_256x": _V2 | {"sampling_rate": 22050, "num_mels": 80},
    "bigvgan_v2_44khz_128band_256x": _V2 | {"sampling_rate": 44100, "num_mels": 128},
    "bigvgan_v2_44khz_128band_512x": _V2
    | {
        "sampling_rate": 44100,
        "num_mels": 128,
        "upsample_rates": [8, 4, 2, 2, 2, 2],
        "upsample_kernel_sizes": [16, 8, 4, 4, 4, 4],
        "n_fft": 2048,
        "hop_size": 512,
        "win_size": 2048,
    },
}
"""By name; channels are set by who uses them."""

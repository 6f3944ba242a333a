"""BigVGAN's generator as a streaming module: frames in, samples out, state explicit, delay known.

With all the lookahead that the layers want, it gives the samples of the whole-utterance network, later. Before the
first frame there is silence, where the whole-utterance network pads with zeros: for as long as the network looks
back, the first samples differ.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from synth.bigvgan_layers import State, StreamingModel
from synth.mel import SILENCE
from synth.official.config import OfficialConfig
from synth.official.layers import Activation, BlockStep, Convolution, Delay
from synth.official.lookahead import StagePlan, plan

_BEHIND: Final = 3
"""Of the first and the last convolution, which have 7 taps."""


class Pair(nn.Module):
    """One residual branch of a block: activation and convolution, once or twice; the way around is as late."""

    def __init__(self, channels: int, kernel: int, dilation: int, ahead: tuple[int, ...], per_frame: int) -> None:
        super().__init__()
        self.activations = nn.ModuleList()
        self.convolutions = nn.ModuleList()
        for index in range(len(ahead) // 2):
            spread = dilation if index == 0 else 1
            taps = kernel // 2 + ahead[2 * index + 1] // spread + 1
            self.activations.append(Activation(channels, ahead[2 * index], per_frame))
            self.convolutions.append(Convolution(channels, channels, taps, spread, per_frame=per_frame))
        self.around = Delay(channels, sum(ahead))

    def forward(self, x: Tensor, step: BlockStep) -> Tensor:
        y = x
        for activation, convolution in zip(self.activations, self.convolutions, strict=True):
            y = convolution(activation(y, step), step)
        around: Tensor = self.around(x, step)
        return around + y


class Block(nn.Module):
    """A block of :attr:`~synth.official.config.OfficialConfig.block_kernels`, delayed to the longest."""

    def __init__(
        self, channels: int, kernel: int, dilations: tuple[int, ...], ahead: tuple[int, ...], late: int, per_frame: int
    ) -> None:
        super().__init__()
        each = len(ahead) // len(dilations)
        self.pairs = nn.ModuleList(
            Pair(channels, kernel, dilation, ahead[index * each : (index + 1) * each], per_frame)
            for index, dilation in enumerate(dilations)
        )
        self.until = Delay(channels, late)

    def forward(self, x: Tensor, step: BlockStep) -> Tensor:
        for pair in self.pairs:
            x = pair(x, step)
        y: Tensor = self.until(x, step)
        return y


class Stage(nn.Module):
    """Upsampling, and the blocks side by side, averaged.

    A transposed convolution is one plain convolution for each phase of its output: step ``i`` of the input gives
    ``rate`` steps, of which :attr:`shift` less than the original's padding lie ahead.
    """

    def __init__(self, config: OfficialConfig, index: int, shares: StagePlan, per_frame: int) -> None:
        super().__init__()
        self.channels = config.channels // 2 ** (index + 1)
        self.rate, self.kernel = config.upsample_rates[index], config.upsample_kernels[index]
        self.shift = (self.kernel - self.rate) // 2 - shares.up
        channels = self.channels
        taps = (self.kernel - 1 - self.shift) // self.rate + 1
        self.up = Convolution(2 * channels, self.rate * channels, taps, per_frame=per_frame)
        self.blocks = nn.ModuleList(
            Block(channels, kernel, dilations, ahead, shares.block - sum(ahead), per_frame * self.rate)
            for kernel, dilations, ahead in zip(
                config.block_kernels, config.block_dilations, shares.blocks, strict=True
            )
        )

    def forward(self, x: Tensor, step: BlockStep) -> Tensor:
        x = self.up(x, step).reshape(step.batch, -1, self.channels)
        total: Tensor = self.blocks[0](x, step)
        for block in self.blocks[1:]:
            total = total + block(x, step)
        return total / len(self.blocks)


class OfficialBigVgan(StreamingModel):
    """The generator.

    Attributes:
        config: of the original.
        lookahead_samples: output sample ``n`` is the original's sample ``n - lookahead_samples``.
    """

    def __init__(self, config: OfficialConfig, frames: int | None = None) -> None:
        """
        Args:
            config: of the original.
            frames: mel frames to look ahead at most; None for all that the original does.
        """
        super().__init__()
        shares = plan(config, frames)
        self.config, self.lookahead_samples = config, shares.samples
        self.first = Convolution(config.mel.bands, config.channels, _BEHIND + 1 + shares.first)
        self.stages = nn.ModuleList()
        per_frame = 1
        for index, stage in enumerate(shares.stages):
            self.stages.append(Stage(config, index, stage, per_frame))
            per_frame *= config.upsample_rates[index]
        channels = config.channels // 2 ** len(shares.stages)
        self.activation = Activation(channels, shares.activation, per_frame)
        self.last = Convolution(channels, 1, _BEHIND + 1 + shares.last, per_frame=per_frame)
        self.name_layers()

    def init(self, batch: int) -> State:
        """State of ``batch`` streams before their first frame: zeros; its names are module paths."""
        return {"frames": torch.zeros(batch, 1, device=self.first.weight.device), **super().init(batch)}

    def step(self, mel: Tensor, state: State) -> tuple[Tensor, State]:
        """Turn the next frames into samples.

        Args:
            mel: log mel of the config's definition, (batch, bands, frames), frames >= 1.
            state: what the previous call returned, or :meth:`init`. It is not changed.

        Returns:
            PCM, (batch, hop * frames), in [-1, 1], ``lookahead_samples`` behind the mel and silent until then; and the
            new state.
        """
        step = BlockStep(state, *mel.shape[::2])
        # Taken from silence, so that the zeros of a new state are silence.
        x = self.first(mel.transpose(1, 2) - SILENCE, step)
        for stage in self.stages:
            x = stage(x, step)
        x = self.last(self.activation(x, step), step).squeeze(2)
        pcm = torch.tanh(x) if self.config.tanh_at_final else torch.clamp(x, -1.0, 1.0)
        return self._gated(pcm, mel.shape[2], step), step.after

    def _gated(self, pcm: Tensor, frames: int, step: BlockStep) -> Tensor:
        """What comes before the first frame's own samples is what new layers make of nothing: a noise."""
        hop = self.config.mel.hop_samples
        past = step.before["frames"]
        most = float(-(-self.lookahead_samples // hop))
        step.after["frames"] = torch.clamp(past + frames, max=most)
        at = past * hop + torch.arange(frames * hop, device=pcm.device)
        return pcm * (at >= self.lookahead_samples)

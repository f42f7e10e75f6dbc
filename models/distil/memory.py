"""A teacher's outputs for the newest positions of one size of board, kept on the training device."""

from __future__ import annotations

import torch
from torch import Tensor

from ...engine.games.encoder import Encoder
from ..families.losses import TorchBatch

_BITS, _OWNER = 8, 100.0
_SYMMETRIES = 8


class Memory:
    """A ring of ``capacity`` labelled positions of one size of board."""

    def __init__(self, capacity: int, encoder: Encoder, history: int, device: torch.device) -> None:
        """encoder: of the networks, the teacher's or one made from it. history: moves that they are shown."""
        planes, height, width = encoder.planes
        self._lines, self.capacity, self.count, self.written = (height, width), capacity, 0, 0
        self.device, self.actions = device, height * width + 1
        points, constants = height * width, encoder.constants
        self._encoder, self._history = encoder, history
        self._spatial = planes - constants

        def room(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros((capacity, *shape), dtype=dtype, device=device)

        self._packed = room(-(-self._spatial // _BITS), points, dtype=torch.uint8)
        self._constants = room(constants, dtype=torch.uint8)
        self._policy = room(points + 1, dtype=torch.float16)
        self._wdl = room(3, dtype=torch.float32)
        self._score = room(dtype=torch.float32)
        self._owners = room(points, dtype=torch.int8)
        self._shifts = torch.arange(_BITS, device=device, dtype=torch.uint8)

    def add(self, planes: Tensor, outputs: dict[str, Tensor], usable: Tensor) -> None:
        """Keep positions: planes u1[G, C, H, W] as the teacher sees them, its outputs, usable bool[G]."""
        kept = usable.nonzero()[:, 0]
        given = {name: output[kept] for name, output in outputs.items()}
        policy, wdl = given["policy"].softmax(1), given["wdl"].softmax(1)
        self.keep(self.shown(planes[kept]), policy, wdl, given["score"][:, 0], given["ownership"].flatten(1))

    def keep(self, planes: Tensor, policy: Tensor, wdl: Tensor, score: Tensor, owners: Tensor) -> None:
        """Keep positions: planes u1[B, C, H, W] as the networks see them, policy f4[B, A], wdl f4[B, 3].

        score f4[B]: the lead of the side to move on the board, in points; owners f4[B, H * W], 1 the side to move's.
        """
        count = len(planes)
        at = (self.written + torch.arange(count, device=planes.device)) % self.capacity
        spatial = planes[:, : self._spatial].flatten(2)
        for i in range(self._packed.shape[1]):
            part = spatial[:, _BITS * i : _BITS * (i + 1)]
            self._packed[at, i] = (part << self._shifts[: part.shape[1], None]).sum(1, dtype=torch.uint8)
        self._constants[at] = planes[:, self._spatial :, 0, 0]
        self._policy[at] = policy.to(torch.float16)
        self._wdl[at] = wdl
        self._score[at] = score
        self._owners[at] = (owners * _OWNER).round().to(torch.int8)
        self.written += count
        self.count = min(self.written, self.capacity)

    def shown(self, planes: Tensor) -> Tensor:
        """The planes u1[B, C, H, W] that the teacher sees as the networks see them."""
        if self._encoder.planes_from is None:
            return planes
        ours: Tensor = self._encoder.planes_from(planes, self._history)
        return ours

    def draw(self, size: int) -> TorchBatch:
        """``size`` positions, each eighth under one of the board's symmetries."""
        rows = torch.randint(self.count, (size,), device=self._score.device)
        height, width = self._lines
        bits = (self._packed[rows][:, :, None] >> self._shifts[None, None, :, None]) & 1
        spatial = bits.flatten(1, 2)[:, : self._spatial].reshape(size, -1, height, width)
        policy = self._policy[rows].float()
        points = policy[:, :-1].reshape(size, height, width)
        owners = self._owners[rows].reshape(size, height, width).float() / _OWNER
        turned = [_turned(part, height == width) for part in (spatial, points, owners)]
        constants = self._constants[rows][:, :, None, None].expand(-1, -1, height, width)
        planes = torch.cat([turned[0], constants], 1)
        probabilities = torch.cat([turned[1].flatten(1), policy[:, -1:]], 1)
        wdl = self._wdl[rows]
        actions = torch.arange(height * width + 1, device=rows.device).expand(size, -1)
        return TorchBatch(
            planes=planes,
            actions=actions,
            probabilities=probabilities / probabilities.sum(1, keepdim=True),
            legal=None,
            wdl=wdl,
            z=wdl[:, 0] - wdl[:, 2],
            ownership=turned[2],
            score=self._score[rows],
            after=None,
            after_wdl=None,
        )


def _turned(boards: Tensor, square: bool) -> Tensor:
    """[B, ..., H, W], the i-th eighth of the rows under symmetry i."""
    parts = []
    for i, part in enumerate(boards.chunk(_SYMMETRIES)):
        axes = [axis for bit, axis in ((1, -2), (2, -1)) if i & bit]
        y = part.flip(axes) if axes else part
        parts.append(y.transpose(-1, -2) if i & 4 and square else y)
    return torch.cat(parts)

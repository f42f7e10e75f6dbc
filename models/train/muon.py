"""Muon for the convolutions of the tower and the heads, AdamW for everything else, as one optimiser.

Muon (Jordan et al. 2024) takes the momentum of a matrix and makes all its singular values about equal before it is
added; the step is scaled so that AdamW's learning rate and decay fit (Liu et al. 2025, 'Muon is scalable for LLM
training'). A convolution is the matrix of its filters: torch's Muon knows matrices only, so it is shown as one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.95


class MuonAdamW:
    """The part of torch's optimiser that the learner uses, over both.

    matrices: f4 [out, in, kh, kw] each, channels last. others: AdamW's groups. All share the learning rate, which the
    caller sets in ``param_groups``. On a GPU matrices of one shape are worked on together: they are small.
    """

    def __init__(self, matrices: list[nn.Parameter], others: list[dict[str, Any]], rate: float, decay: float) -> None:
        self.matrices = matrices
        self.flat = [nn.Parameter(_rows(matrix)) for matrix in matrices]
        self.muon = torch.optim.Muon(
            self.flat, lr=rate, weight_decay=decay, momentum=MOMENTUM, adjust_lr_fn="match_rms_adamw"
        )
        self.adamw = torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), capturable=matrices[0].is_cuda)
        self.param_groups = [*self.muon.param_groups, *self.adamw.param_groups]
        self._alike: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for flat in self.flat:
            self._alike.setdefault(tuple(flat.shape), []).append(flat)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for matrix in self.matrices:
            matrix.grad = None
        self.adamw.zero_grad(set_to_none)

    def step(self) -> None:
        for matrix, flat in zip(self.matrices, self.flat, strict=True):
            assert matrix.grad is not None
            flat.grad = matrix.grad.permute(0, 2, 3, 1).flatten(1)
        if self.flat[0].is_cuda:
            for alike in self._alike.values():
                self.step_together(alike)
        else:
            self.muon.step()  # type: ignore[no-untyped-call]
        self.adamw.step()

    @torch.no_grad()
    def step_together(self, flats: list[nn.Parameter]) -> None:
        """Muon's step for matrices of one shape, as torch.optim.Muon takes it for each."""
        group = self.muon.param_groups[0]
        for flat in flats:
            if not self.muon.state[flat]:
                self.muon.state[flat]["momentum_buffer"] = torch.zeros_like(flat)
        buffers = [self.muon.state[flat]["momentum_buffer"] for flat in flats]
        gradients = [flat.grad for flat in flats if flat.grad is not None]
        torch._foreach_lerp_(buffers, gradients, 1 - MOMENTUM)
        update = torch.stack(gradients).lerp(torch.stack(buffers), MOMENTUM)
        step = -0.2 * math.sqrt(max(update.shape[1:])) * group["lr"]
        weights = [flat.data for flat in flats]
        torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(weights, list((step * orthogonal(update).float()).unbind()))

    def state_dict(self) -> dict[str, Any]:
        """Tensors by number, those of the matrices first."""
        states = dict(self.muon.state_dict()["state"])
        states |= {len(self.flat) + i: state for i, state in self.adamw.state_dict()["state"].items()}
        return {"state": states}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        count = len(self.flat)
        for optimiser, first, last in ((self.muon, 0, count), (self.adamw, count, 1 << 30)):
            states = {i - first: state for i, state in saved["state"].items() if first <= i < last}
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
        self.param_groups = [*self.muon.param_groups, *self.adamw.param_groups]


def orthogonal(matrices: Tensor) -> Tensor:
    """bf16 [N, rows, columns] with the singular vectors of the matrices, and singular values near 1 (Newton-Schulz)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x: Tensor = matrices.bfloat16()
    wide = x.shape[1] <= x.shape[2]
    x = x if wide else x.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x if wide else x.mT


def _rows(convolution: Tensor) -> Tensor:
    """f4 [out, kh * kw * in], a view of the same memory."""
    rows = convolution.detach().permute(0, 2, 3, 1).flatten(1)
    assert rows.data_ptr() == convolution.data_ptr()
    return rows

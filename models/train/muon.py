"""Muon for the convolutions of the tower and the heads, AdamW for everything else, as one optimiser.

Muon (Jordan et al. 2024) takes the momentum of a matrix and makes all its singular values about equal before it is
added; the step is scaled so that AdamW's learning rate and decay fit (Liu et al. 2025, 'Muon is scalable for LLM
training'). A convolution is the matrix of its filters: torch's Muon knows matrices only, so it is shown as one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class MuonAdamW:
    """The part of torch's optimiser that the learner uses, over both.

    matrices: f4 [out, in, kh, kw] each, channels last. others: AdamW's groups. All share the learning rate, which the
    caller sets in ``param_groups``.
    """

    def __init__(self, matrices: list[nn.Parameter], others: list[dict[str, Any]], rate: float, decay: float) -> None:
        self.matrices = matrices
        self.flat = [nn.Parameter(_rows(matrix)) for matrix in matrices]
        self.muon = torch.optim.Muon(
            self.flat, lr=rate, weight_decay=decay, momentum=0.95, adjust_lr_fn="match_rms_adamw"
        )
        self.adamw = torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98))
        self.param_groups = [*self.muon.param_groups, *self.adamw.param_groups]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for matrix in self.matrices:
            matrix.grad = None
        self.adamw.zero_grad(set_to_none)

    def step(self) -> None:
        for matrix, flat in zip(self.matrices, self.flat, strict=True):
            assert matrix.grad is not None
            flat.grad = matrix.grad.permute(0, 2, 3, 1).flatten(1)
        self.muon.step()  # type: ignore[no-untyped-call]
        self.adamw.step()

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


def _rows(convolution: Tensor) -> Tensor:
    """f4 [out, kh * kw * in], a view of the same memory."""
    rows = convolution.detach().permute(0, 2, 3, 1).flatten(1)
    assert rows.data_ptr() == convolution.data_ptr()
    return rows

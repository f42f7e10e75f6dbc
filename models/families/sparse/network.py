"""A sparse network in torch: shallow, its inputs a list of features, its policy one row a move.

Value and policy each sum the rows of the position's features in a first layer of their own, clip the sums to 0..1 and
multiply one half by the other. A small net, one for every bucket of like numbers of features, makes win, draw and loss
of the value's products; a move's logit is the product of its row and the policy's products. The kernels of
:mod:`features` gather and scatter the first layers and the rows: a position touches some thirty rows of thousands.

What features share that are alike (chess: a man on a square, attacked or not) is learned by itself, and each has its
own part beside it; likewise for the rows of a move. :meth:`SparseNetwork.keep_bounds` holds the weights to what the
integers of the exported file can say, see :mod:`sparse_export`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ....engine.nets.families.sparse.integers import COARSE, FIRST_BOUND, HIDDEN, OUT_BOUND, SMALL_BOUND, UNIT
from ...train.config import NetConfig
from .kernels import gather_features, gather_rows, scatter_features, scatter_rows
from .value import Joined, SparseValue

_OF_INPUTS_AND_MOVES = ("value_shared", "value_own", "policy_shared", "policy_own", "rows_shared", "rows_own")


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, planes: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        context.planes, context.shape = planes, weight.shape
        out = torch.empty(len(planes), weight.shape[1])
        gather_features(planes.numpy(), weight.detach().numpy(), bias.detach().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        gradient = gradients[0].contiguous()
        out = torch.zeros(context.shape)
        scatter_features(context.planes.numpy(), gradient.numpy(), out.numpy())
        return None, out, gradient.sum(0)


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, hidden: Tensor, weight: Tensor, bias: Tensor, actions: Tensor) -> Tensor:
        context.save_for_backward(hidden, weight)
        context.actions = actions
        out = torch.empty(actions.shape)
        gather_rows(
            hidden.detach().numpy(), weight.detach().numpy(), bias.detach().numpy(), actions.numpy(), out.numpy()
        )
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        hidden, weight = context.saved_tensors
        parts = torch.zeros_like(hidden), torch.zeros_like(weight), torch.zeros(len(weight))
        gradient = gradients[0].contiguous()
        scatter_rows(
            hidden.detach().numpy(),
            weight.detach().numpy(),
            context.actions.numpy(),
            gradient.numpy(),
            *(part.numpy() for part in parts),
        )
        return *parts, None


class RowLogits:
    """The policy's logits [B, A], of which only those asked for are computed."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor) -> None:
        self._parts = hidden.contiguous(), weight, bias

    def gather(self, dim: int, actions: Tensor) -> Tensor:
        """Logits [B, K] of actions i8 [B, K], 0 for those below 0; ``dim`` is 1."""
        return _Rows.apply(*self._parts, actions.contiguous())  # type: ignore[no-any-return]

    def all(self) -> Tensor:
        hidden, weight, bias = self._parts
        return nn.functional.linear(hidden, weight, bias)

    def logsumexp(self, dim: int) -> Tensor:
        return self.all().logsumexp(dim)


class SparseNetwork(nn.Module):
    """A network of the kind "sparse"."""

    def __init__(self, config: NetConfig, features: int, alike: tuple[int, int]) -> None:
        """features, alike: of the game's encoder."""
        super().__init__()
        self.config, self.alike = config, alike
        self.coarse_value = self.coarse_policy = True  # whether their first layers are in steps that a byte can say
        self.threads = 1  # that compute the value side by side
        widths = value, width = config.filters * config.value_filters, config.filters
        kinds, per_move = alike

        def random(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-0.1, 0.1))

        def zero(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(shape))

        self.value_shared, self.policy_shared = (random(features // kinds, wide) for wide in widths)
        self.value_own, self.policy_own = (zero(features, wide) for wide in widths)
        self.value_bias, self.policy_bias = (nn.Parameter(torch.full((wide,), 0.4)) for wide in widths)
        units = config.value_buckets * HIDDEN
        self.value_hidden = nn.Linear(value // 2, units)
        self.value_out = nn.Linear(units, 3)
        self.rows_shared = random(config.actions // per_move, width // 2)
        self.rows_own = zero(config.actions, width // 2)
        self.row_bias = zero(config.actions)

    @property
    def value_first(self) -> Tensor:
        """The value's first layer [F, V]; the gradient sees no steps."""
        return self._joined(self.value_shared, self.value_own, self.coarse_value)

    @property
    def policy_first(self) -> Tensor:
        """The policy's first layer [F, H], likewise."""
        return self._joined(self.policy_shared, self.policy_own, self.coarse_policy)

    @staticmethod
    def _joined(shared: Tensor, own: Tensor, coarse: bool) -> Tensor:
        return Joined.apply(shared, own, FIRST_BOUND, COARSE / UNIT if coarse else 0.0)  # type: ignore[no-any-return]

    @property
    def rows(self) -> Tensor:
        """The moves' rows [A, H / 2]."""
        return (self.rows_shared.repeat_interleave(self.alike[1], 0) + self.rows_own).clamp(-SMALL_BOUND, SMALL_BOUND)

    @staticmethod
    def _products(planes: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        left, right = _Features.apply(planes.flatten(1), weight, bias).clamp(0, 1).chunk(2, 1)
        return left * right  # type: ignore[no-any-return]

    def value_of(self, planes: Tensor) -> Tensor:
        """WDL logits [B, 3] of planes u1 [B, 2, H, W]."""
        hidden, out = self.value_hidden, self.value_out
        layers = self.value_first, self.value_bias, hidden.weight, hidden.bias, out.weight, out.bias
        return SparseValue.apply(planes.flatten(1).contiguous(), self.threads, *layers)  # type: ignore[no-any-return]

    def policy_of(self, planes: Tensor) -> RowLogits:
        """The policy's logits of planes u1 [B, 2, H, W]."""
        return RowLogits(self._products(planes, self.policy_first, self.policy_bias), self.rows, self.row_bias)

    def forward(self, planes: Tensor) -> tuple[RowLogits, Tensor]:
        return self.policy_of(planes), self.value_of(planes)

    @torch.no_grad()
    def keep_bounds(self) -> None:
        """Clip the weights to what the exported integers can say."""
        for bias in (self.value_bias, self.policy_bias):
            bias.clamp_(-FIRST_BOUND, FIRST_BOUND)
        self.value_hidden.weight.clamp_(-SMALL_BOUND, SMALL_BOUND)
        self.value_out.weight.clamp_(-OUT_BOUND, OUT_BOUND)

    def widened(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The state of a network with a narrower value or policy, or with one bucket, in this one's sizes.

        New units say nothing yet; each bucket says what the one did. Any other state is returned as it is.
        """
        own, found = self.state_dict(), dict(state)
        if not own.keys() <= state.keys() or any(len(state[name]) != len(own[name]) for name in _OF_INPUTS_AND_MOVES):
            return state
        for part, behind in (("value", ["value_hidden.weight"]), ("policy", ["rows_shared", "rows_own"])):
            bias = f"{part}_bias"
            narrow, wide = len(state[bias]) // 2, len(own[bias]) // 2
            if narrow >= wide:
                continue
            for name in (f"{part}_shared", f"{part}_own", bias):
                found[name] = own[name].clone()
                found[name][..., :narrow] = state[name][..., :narrow]
                found[name][..., wide : wide + narrow] = state[name][..., narrow:]
            for name in behind:
                found[name] = own[name].new_zeros(len(state[name]), wide)
                found[name][:, :narrow] = state[name]
        buckets = len(own["value_hidden.bias"]) // HIDDEN
        if buckets > 1 and len(state["value_hidden.bias"]) == HIDDEN:
            for name in ("value_hidden.weight", "value_hidden.bias"):
                found[name] = found[name].repeat(buckets, *[1] * (found[name].dim() - 1))
            found["value_out.weight"] = found["value_out.weight"].repeat(1, buckets)
        return found

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

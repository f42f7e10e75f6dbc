"""A sparse network in torch: shallow, its inputs a list of features, its policy one row a move.

Value and policy each sum the rows of the position's features in a first layer of their own, clip the sums to 0..1 and
multiply one half by the other. A small net, one for every bucket of like numbers of features, makes win, draw and loss
of the value's products; a move's logit is the product of its row and the policy's products. The kernels of
:mod:`kernels` gather and scatter the first layers and the rows: a position touches some thirty rows of thousands.

What features share that are alike (chess: a piece on a square, attacked or not) is learned by itself, and each has its
own part beside it; likewise for the rows of a move. :meth:`SparseNetwork.after_step` holds the weights to what the
integers of the exported file can say.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ....engine.errors import NetError
from ....engine.games.encoder import Encoder
from ....engine.nets.families.sparse import integers
from ....engine.nets.families.sparse.integers import SparseNet, joined, split
from ....engine.nets.netinfo import NetInfo
from ....engine.nets.onnx.session import raw_session
from ...net.probes import run
from ..losses import Logits, Outputs
from ..network import Network, Planes
from .config import SparseConfig
from .graph import SparseWriter, graph_of
from .kernels import gather_features, gather_rows, scatter_features, scatter_rows
from .value import Joined, Rows, SparseValue

TOLERANCE = 0.35  # greatest mean difference of a logit from torch's that counts as the same network
_WHOLE = {  # arrays of a SparseNet: the tensor that each is made of, and what 1 is in it
    "value_bias": ("value_bias", integers.UNIT),
    "policy_bias": ("policy_bias", integers.UNIT),
    "hidden": ("value_hidden.weight", integers.SMALL_UNIT),
    "hidden_bias": ("value_hidden.bias", integers.PRODUCT * integers.SMALL_UNIT),
    "out": ("value_out.weight", integers.SMALL_UNIT),
    "out_bias": ("value_out.bias", integers.HIDDEN_ONE * integers.SMALL_UNIT),
    "row_bias": ("row_bias", integers.PRODUCT * integers.ROW_UNIT),
}
_OF_INPUTS_AND_MOVES = ("value_shared", "value_own", "policy_shared", "policy_own", "rows_shared", "rows_own")


def _alike(encoder: Encoder, count: int) -> Rows:
    """Of each of the first features the number of those that are alike, i8[count]."""
    kinds, first = encoder.alike[0], encoder.policy_features
    parts = [np.tile(np.arange(first // kinds), kinds)]
    if count > first:
        parts.append(first // kinds + np.tile(np.arange((count - first) // kinds), kinds))
    return np.concatenate(parts)


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


def _longer(table: Tensor, rows: int) -> Tensor:
    """The table with zeros for the rows that it lacks."""
    return torch.cat([table, table.new_zeros(max(0, rows - len(table)), table.shape[1])])


class RowLogits(Logits):
    """The policy's logits [B, A], of which only the wanted ones are computed."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor) -> None:
        self._parts = hidden.contiguous(), weight, bias

    def of(self, actions: Tensor) -> Tensor:
        """See :meth:`Logits.of`; 0 for actions below 0."""
        return _Rows.apply(*self._parts, actions.contiguous())  # type: ignore[no-any-return]

    def all(self) -> Tensor:
        hidden, weight, bias = self._parts
        return nn.functional.linear(hidden, weight, bias)


class SparseNetwork(Network):
    """A shallow network of a list of features, whose value and policy share nothing."""

    quantisation = "int8"
    fused = True

    def __init__(self, config: SparseConfig, encoder: Encoder) -> None:
        super().__init__(config)
        self.alike = encoder.alike
        sees = encoder.features, encoder.policy_features
        self._value_alike, self._policy_alike = (_alike(encoder, count) for count in sees)
        self.coarse_value = self.coarse_policy = True  # whether their first layers are in steps that a byte can say
        self.value_threads = 1  # that compute the value side by side
        widths = value, width = config.filters * config.value_filters, config.filters
        kinds, per_move = encoder.alike

        def random(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-0.1, 0.1))

        def zero(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(shape))

        self.value_shared, self.policy_shared = (random(n // kinds, wide) for n, wide in zip(sees, widths, strict=True))
        self.value_own, self.policy_own = (zero(n, wide) for n, wide in zip(sees, widths, strict=True))
        self.value_bias, self.policy_bias = (nn.Parameter(torch.full((wide,), 0.4)) for wide in widths)
        units = config.value_buckets * integers.HIDDEN
        self.value_hidden = nn.Linear(value // 2, units)
        self.value_out = nn.Linear(units, 3)
        self.rows_shared = random(config.actions // per_move, width // 2)
        self.rows_own = zero(config.actions, width // 2)
        self.row_bias = zero(config.actions)

    @property
    def value_first(self) -> Tensor:
        """The value's first layer [F, V]; the gradient sees no steps."""
        return self._joined(self.value_shared, self.value_own, self._value_alike, self.coarse_value)

    @property
    def policy_first(self) -> Tensor:
        """The policy's first layer [P, H], likewise."""
        return self._joined(self.policy_shared, self.policy_own, self._policy_alike, self.coarse_policy)

    @staticmethod
    def _joined(shared: Tensor, ours: Tensor, alike: Rows, coarse: bool) -> Tensor:
        step = integers.COARSE / integers.UNIT if coarse else 0.0
        return Joined.apply(shared, ours, alike, integers.FIRST_BOUND, step)  # type: ignore[no-any-return]

    @property
    def rows(self) -> Tensor:
        """The moves' rows [A, H / 2]."""
        bound = integers.SMALL_BOUND
        return (self.rows_shared.repeat_interleave(self.alike[1], 0) + self.rows_own).clamp(-bound, bound)

    @staticmethod
    def _products(planes: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        left, right = _Features.apply(planes.flatten(1), weight, bias).clamp(0, 1).chunk(2, 1)
        return left * right  # type: ignore[no-any-return]

    def value_of(self, planes: Tensor) -> Tensor:
        """WDL logits [B, 3] of planes u1 [B, 2, H, W]."""
        hidden, out = self.value_hidden, self.value_out
        layers = self.value_first, self.value_bias, hidden.weight, hidden.bias, out.weight, out.bias
        return SparseValue.apply(planes.flatten(1).contiguous(), self.value_threads, *layers)  # type: ignore[no-any-return]

    def policy_of(self, planes: Tensor) -> RowLogits:
        """The policy's logits of planes u1 [B, 2, H, W]."""
        return RowLogits(self._products(planes, self.policy_first, self.policy_bias), self.rows, self.row_bias)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return self.policy_of(planes).all(), self.value_of(planes)

    def outputs(self, planes: Tensor, names: Collection[str] = ()) -> Outputs:
        made = {"policy": self.policy_of, "wdl": self.value_of}
        return {name: make(planes) for name, make in made.items() if name in (names or made)}

    # ---- learning

    def prepare(self, learned: Collection[str], threads: int) -> None:
        """Its kernels have their own threads, and what is not learned is not rounded either."""
        super().prepare(learned, min(threads, 1))
        self.coarse_policy, self.coarse_value = ("policy" in learned), ("wdl" in learned)
        self.value_threads = max(1, threads)

    @property
    def threads(self) -> int:
        return self.value_threads

    @torch.no_grad()
    def after_step(self) -> None:
        """Clip the weights to what the exported integers can say."""
        for bias in (self.value_bias, self.policy_bias):
            bias.clamp_(-integers.FIRST_BOUND, integers.FIRST_BOUND)
        self.value_hidden.weight.clamp_(-integers.SMALL_BOUND, integers.SMALL_BOUND)
        self.value_out.weight.clamp_(-integers.OUT_BOUND, integers.OUT_BOUND)

    def widened(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The state of a network with a narrower value or policy, fewer features or one bucket, in this one's sizes.

        New units and features say nothing yet; each bucket says what the one did. Any other state is returned as it is.
        """
        ours = self.state_dict()
        if not ours.keys() <= state.keys():
            return state
        state = {**state, **{name: _longer(state[name], len(ours[name])) for name in ("value_shared", "value_own")}}
        if any(len(state[name]) != len(ours[name]) for name in _OF_INPUTS_AND_MOVES):
            return state
        result = dict(state)
        for part, behind in (("value", ["value_hidden.weight"]), ("policy", ["rows_shared", "rows_own"])):
            bias = f"{part}_bias"
            narrow, wide = len(state[bias]) // 2, len(ours[bias]) // 2
            if narrow >= wide:
                continue
            for name in (f"{part}_shared", f"{part}_own", bias):
                result[name] = ours[name].clone()
                result[name][..., :narrow] = state[name][..., :narrow]
                result[name][..., wide : wide + narrow] = state[name][..., narrow:]
            for name in behind:
                result[name] = ours[name].new_zeros(len(state[name]), wide)
                result[name][:, :narrow] = state[name]
        buckets = len(ours["value_hidden.bias"]) // integers.HIDDEN
        if buckets > 1 and len(state["value_hidden.bias"]) == integers.HIDDEN:
            for name in ("value_hidden.weight", "value_hidden.bias"):
                result[name] = result[name].repeat(buckets, *[1] * (result[name].dim() - 1))
            result["value_out.weight"] = result["value_out.weight"].repeat(1, buckets)
        return result

    # ---- files

    def to_integers(self) -> SparseNet:
        """The network in whole numbers. Errors: NetError when a weight is not finite."""
        if not all(bool(p.isfinite().all()) for p in self.parameters()):
            raise NetError("a weight is not finite; go on from an earlier checkpoint")

        def whole(tensor: Tensor, unit: float, kind: str) -> NDArray[Any]:
            bounds = np.iinfo(kind)
            rounded = np.rint(tensor.detach().cpu().double().numpy() * unit)
            return np.ascontiguousarray(np.clip(rounded, bounds.min, bounds.max).astype(kind))

        state = self.state_dict()
        made = {name: whole(state[ours], unit, integers.KINDS[name]) for name, (ours, unit) in _WHOLE.items()}
        for part, layer in (("value", self.value_first), ("policy", self.policy_first)):
            first = np.concatenate([np.zeros((1, layer.shape[1]), np.int16), whole(layer, integers.UNIT, "int16")])
            made[f"{part}_first"], made[f"{part}_rest"] = split(first)
        return SparseNet(rows=whole(self.rows, integers.ROW_UNIT, integers.KINDS["rows"]), **made)

    def take_integers(self, net: SparseNet) -> None:
        """Take over the weights of a net of the same sizes; the inverse of :meth:`to_integers`.

        What is shared is the mean of what is alike.
        """
        kinds, per_move = self.alike

        def numbers(values: NDArray[Any], unit: float) -> Tensor:
            return torch.from_numpy(values.astype(np.float64) / unit).float()

        state = {ours: numbers(getattr(net, name), unit) for name, (ours, unit) in _WHOLE.items()}
        firsts = {
            "value": (joined(net.value_first, net.value_rest), self._value_alike),
            "policy": (joined(net.policy_first, net.policy_rest), self._policy_alike),
        }
        for name, (first, alike) in firsts.items():
            rows, same = _longer(numbers(first[1:], integers.UNIT), len(alike)), torch.from_numpy(alike)
            shared = torch.zeros(len(alike) // kinds, rows.shape[1]).index_add_(0, same, rows) / kinds
            state[f"{name}_shared"], state[f"{name}_own"] = shared, rows - shared[same]
        rows = numbers(net.rows, integers.ROW_UNIT)
        state["rows_shared"] = rows.reshape(-1, per_move, rows.shape[1]).mean(1)
        state["rows_own"] = rows - state["rows_shared"].repeat_interleave(per_move, 0)
        self.load_state_dict(state)

    def graph(self, info: NetInfo) -> SparseWriter:
        return graph_of(self.to_integers(), info.planes[1] * info.planes[2])

    def parity(self, model: onnx.ModelProto, planes: Planes) -> float:
        """The greatest mean difference between torch's float32 and the file's whole numbers over both outputs.

        Errors: NetError when it is above TOLERANCE or not finite.
        """
        got = run(raw_session(model.SerializeToString()), planes)
        difference = max(float(np.abs(mine - file).mean()) for mine, file in zip(self.arrays(planes), got, strict=True))
        if not difference <= TOLERANCE:
            raise NetError(f"the exported net differs from the trained one by {difference:.2g}; it was not written")
        return difference

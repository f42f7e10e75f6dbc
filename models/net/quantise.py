"""fp32 ONNX -> static int8 (QDQ): weights per output channel, activations per tensor, calibrated on real positions.

What stays fp32 is chosen by measurement, see :func:`agreement`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

from ...engine.errors import NetError
from ...engine.nets.netinfo import PREFIX
from ...engine.nets.onnx.session import raw_session
from ...engine.nets.opinions import expected_points
from ..data.dataset import Batch
from .firstlayer import rounded_first
from .probes import check, run

PERCENTILE = 99.9999  # below it, what is rare on one size of board is cut off by what is common on larger ones
_MOVES = ("Concat", "Flatten", "Gather", "Reshape", "Squeeze")  # operators that only move values
BATCH = 64  # positions that the calibration takes at a time


class PlanesReader(CalibrationDataReader):  # type: ignore[misc]
    """Feeds sets of planes u8 [N, C, H, W] to the calibration, BATCH at a time (all together when there are fewer).

    The histograms want batches of one size, so a remainder is left out; sets of different boards are taken one by one.
    """

    def __init__(self, sets: list[NDArray[np.uint8]]) -> None:
        self.sets = [list(self._feeds(planes)) for planes in sets]
        self.set_range(0, 1)

    @staticmethod
    def _feeds(planes: NDArray[np.uint8]) -> Iterator[dict[str, Any]]:
        size = min(BATCH, len(planes))
        return ({"planes": planes[i : i + size]} for i in range(0, len(planes) - size + 1, size))

    def __len__(self) -> int:
        return len(self.sets)

    def set_range(self, start_index: int, end_index: int) -> None:
        """Feed the sets start_index .. end_index - 1 from now on."""
        self.batches = iter([feed for one in self.sets[start_index:end_index] for feed in one])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.batches, None)


def quantise(
    model: onnx.ModelProto,
    calibration: list[NDArray[np.uint8]],
    *,
    keep: tuple[str, ...] = (),
    operators: tuple[str, ...] | None = None,
    first: str = "",
) -> onnx.ModelProto:
    """The int8 version of an exported net, calibrated on planes u8 [N, C, H, W], a set for each size of board.

    ``keep``: nodes that stay fp32, by name or (ending in a dot) by the beginning of it; ``operators``: the kinds of
    nodes that are looked at, None = all that can be int8; ``first``: the first convolution, if it shall be int8, too.

    Errors: NetError when the calibration fails, or the planes do not suit int8.
    """
    ranges: dict[str, Any] = {}
    if first:
        model, tensor, greatest = rounded_first(model, first, calibration)
        limits = {"rmin": np.array(0, np.float32), "rmax": np.array(greatest, np.float32)}
        ranges = {"TensorQuantOverrides": {tensor: [limits]}}
    prefixes, outputs = tuple(k for k in keep if k.endswith(".")), {output.name for output in model.graph.output}
    excluded = [
        n.name
        for n in model.graph.node
        if n.name in keep or n.name.startswith(prefixes) or (n.op_type in _MOVES and n.output[0] in outputs)
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "fp32.onnx"), Path(folder, "int8.onnx")
        onnx.save(model, source)
        try:
            with quiet():
                quantize_static(
                    str(source),
                    str(target),
                    PlanesReader(calibration),
                    quant_format=QuantFormat.QDQ,
                    op_types_to_quantize=None if operators is None else list(operators),
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    per_channel=True,
                    nodes_to_exclude=excluded,
                    calibrate_method=CalibrationMethod.Percentile,
                    extra_options={
                        "CalibPercentile": PERCENTILE,
                        "CalibStridedMinMax": 1,  # sets of the reader at a time, whatever its name says
                        "WeightSymmetric": True,
                        "ActivationSymmetric": False,
                        **ranges,
                    },
                )
        except ValueError as error:  # the histogram of a layer that says the same for every position
            raise NetError(f"the net cannot be quantised: a layer is constant ({error}); train it longer") from error
        result = onnx.load(target)
    props = {p.key: p.value for p in model.metadata_props}
    props[PREFIX + "quantisation"] = "int8"
    del result.metadata_props[:]
    helper.set_model_props(result, props)
    del result.graph.value_info[:]
    used = {node.domain for node in result.graph.node}
    for opset in [o for o in result.opset_import if o.domain and o.domain not in used]:
        result.opset_import.remove(opset)
    check(result)
    return result


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """onnxruntime's quantiser prints and logs its progress: not here."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far an int8 net judges as its fp32 original does, over the same positions and legal moves."""

    top1: float  # fraction of positions with the same best legal move
    kl: float  # mean KL(fp32 || int8) of the policies over the legal moves, nats
    value: float  # mean absolute difference of the expected outcome in [-1, 1]
    regret: float  # mean of what the original's best move is more probable than the int8 net's, by the original
    cross_entropy: tuple[float, float]  # of the targets under fp32 and int8, nats; NaN without targets


def legal_log_policy(logits: NDArray[np.float32], legal: NDArray[np.int32]) -> NDArray[np.float64]:
    """Log-softmax over each row's legal actions i4 [B, M] (padded with -1, which gives -inf) -> f8 [B, M]."""
    x = np.take_along_axis(logits, np.maximum(legal, 0).astype(np.int64), axis=1).astype(np.float64)
    x[legal < 0] = -np.inf
    x -= x.max(axis=1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


def agreement(
    fp32: onnx.ModelProto,
    int8: onnx.ModelProto,
    planes: NDArray[np.uint8],
    legal: NDArray[np.int32],
    targets: Batch | None = None,
) -> Agreement:
    """Agreement over positions: planes u1[N, C, H, W], legal actions i4[N, M] padded with -1."""
    exact, rounded = (run(raw_session(m.SerializeToString()), planes) for m in (fp32, int8))
    return agreement_of(exact, rounded, legal, targets)


def agreement_of(
    exact: list[NDArray[np.float32]],
    rounded: list[NDArray[np.float32]],
    legal: NDArray[np.int32],
    targets: Batch | None = None,
) -> Agreement:
    """Agreement of two nets by their outputs: logits f4[N, A] and values f4[N, 3 or 1]; legal i4[N, M]."""
    (p, v, *_), (q, w, *_) = exact, rounded
    log_p, log_q = legal_log_policy(p, legal), legal_log_policy(q, legal)
    used = legal >= 0
    kl = np.where(used, np.exp(log_p) * (np.where(used, log_p, 0) - np.where(used, log_q, 0)), 0).sum(axis=1)
    chosen = np.take_along_axis(log_p, log_q.argmax(axis=1)[:, None], axis=1)[:, 0]
    return Agreement(
        top1=float((log_p.argmax(axis=1) == log_q.argmax(axis=1)).mean()),
        regret=float((np.exp(log_p.max(axis=1)) - np.exp(chosen)).mean()),
        kl=float(kl.mean()),
        value=float(2 * np.abs(expected_points(v) - expected_points(w)).mean()),
        cross_entropy=(math.nan, math.nan)
        if targets is None
        else (_cross_entropy(p, log_p, targets), _cross_entropy(q, log_q, targets)),
    )


def _cross_entropy(logits: NDArray[np.float32], log_policy: NDArray[np.float64], batch: Batch) -> float:
    """Mean cross-entropy of the batch's policy targets; log_policy = logits - the legal moves' normaliser."""
    assert batch.legal is not None
    first = np.take_along_axis(logits, batch.legal[:, :1].astype(np.int64), axis=1)
    chosen = np.take_along_axis(logits, batch.actions.astype(np.int64), axis=1) - first + log_policy[:, :1]
    return float(-(batch.probabilities * chosen).sum(axis=1).mean())


def speed(model: onnx.ModelProto, planes: NDArray[np.uint8], *, batch: int = 8, seconds: float = 1.0) -> float:
    """Evaluations a second of one thread at ``batch`` positions a call (the best of five slices of the time)."""
    running = raw_session(model.SerializeToString())
    feed = {"planes": planes[:batch]}
    return batch * rate(lambda: running.run(None, feed), seconds)


def rate(call: Callable[[], object], seconds: float = 1.0) -> float:
    """Calls a second, the best of five slices of the time."""
    for _ in range(5):
        call()
    best = 0.0
    for _ in range(5):
        calls, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds / 5:
            call()
            calls += 1
        best = max(best, calls / (time.perf_counter() - start))
    return best

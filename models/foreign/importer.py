"""``az-engine import``: a net of another program as an ONNX file of ours."""

from __future__ import annotations

import argparse
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...engine.errors import NetError, OptionError, counted
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.nets.netinfo import NetInfo
from ...engine.nets.onnx.session import raw_session
from ...engine.os.files import check_writable, write_atomically
from ...engine.os.system import limit_process
from ..net.probes import Probes, games_of_net
from .families import convert_file
from .source import Converted

if TYPE_CHECKING:
    import onnx

    from ..net.quantise import Agreement

HELP = """\
Convert a net of another program: Lc0 (.pb, .pb.gz), dlshogi, FukauraOu and miniosl (.onnx), KataGo (.bin.gz, .txt.gz).

The file is checked and converted, and what it is gets printed. Set WeightsFile (in shogi also DNN_Model) to the result,
or to the foreign file itself: then it is converted once and kept in the user's cache. With --int8 the net is quantised,
too, for speed on a CPU: calibrated on games that it plays with itself, and compared with the original over others."""

_CALIBRATED = 1 << 15  # points of boards: what a layer says of all of them is held in memory at once
_CHECKED, _COMPARED, _COMPARED_FAST = 128, 512, 256  # positions of a board ...
_EVERY = 17  # ... of those to check, the slow way, this many apart
# Up to which differences an int8 net takes its original's place unasked, on the average of positions: nats of the
# policy, what the original's best move is more probable than the int8 net's, and expected outcome in [-1, 1].
_MOST_KL, _MOST_REGRET, _MOST_VALUE = 0.02, 0.01, 0.03
_LEAST_GAIN, _SPEED_S = 1.2, 0.5  # times as fast; s of each measurement
_BYTES, _BYTES_FOR_EACH = 4 << 30, 16  # of address space with --bounded, the second for each byte of the file
_SIZES = (19, 13, 9)  # boards to calibrate on, for nets that play on many
# What stays fp32 in every family, as in our own nets: the planes, which are counts, and the heads beside the policy.
_KEEP_FP32 = ("planes.", "value.", "wdl", "value", "ownership", "score", "board.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  az-engine import maia-1900.pb.gz --int8
  az-engine import kata1-b6c96.bin.gz --out go.onnx"""
    parser.add_argument("file", type=Path, help="the other program's net")
    parser.add_argument("-o", "--out", type=Path, help="the ONNX file to write (default: NAME.onnx here)")
    parser.add_argument("--int8", action="store_true", help="quantise it (needs the onnx package)")
    parser.add_argument("--quiet", action="store_true", help="convert only: check and print nothing more")
    # for the engine, which is given files that nobody has looked at
    parser.add_argument("--bounded", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--fast", action="store_true", help=argparse.SUPPRESS)  # see fast()


def main(args: argparse.Namespace) -> int:
    if args.bounded and args.file.is_file():
        limit_process(_BYTES + _BYTES_FOR_EACH * args.file.stat().st_size)
    if args.out is not None:
        check_writable(args.out)
    converted = convert_file(args.file)
    out = args.out or Path(f"{converted.info.name}{'-int8' if args.int8 else ''}.onnx")
    if out.exists() and out.samefile(args.file):
        raise OptionError(f"{out} is the net itself; give another file with -o")
    model = converted.model
    if not args.quiet:
        print("\n".join((f"{converted.info.name}: {converted.info.summary()}", *converted.facts)))
        print(parity(converted))
    if args.int8:
        int8, agreements = quantised(converted, _COMPARED)
        model = int8.SerializeToString()
        print("\n".join(each.sentence(speeds(converted, int8, each)) for each in agreements))
    elif args.fast:
        model, text = fast(converted)
        print(text)
    write_atomically(out, model)
    if not args.quiet:
        print(f"written: {out} ({len(model) / 1e6:.1f} MB)")
    return 0


def boards(info: NetInfo) -> list[Game]:
    """The games, as the net sees them, that it is tried on: one, or one for each of some sizes of board."""
    game = get_game(info.game)
    sizes = [size for size in _SIZES if size in info.boards]
    return [(game.sized(size) if sizes else game).using(info.encoder) for size in sizes or [0]]


def parity(converted: Converted) -> str:
    """One line: how far onnxruntime is from ONNX's own reference implementation on positions of the net's games."""
    if importlib.util.find_spec("onnx") is None:
        return "parity: not checked, for it needs the onnx package"
    import onnx
    from onnx.reference import ReferenceEvaluator

    running, info = raw_session(converted.model), converted.info
    reference = ReferenceEvaluator(onnx.load_model_from_string(converted.model))
    names = ["policy", info.value_head]
    worst = dict.fromkeys(names, 0.0)
    number = 0
    for game in boards(info):
        planes = games_of_net(game, running, info, _CHECKED, 0).planes[::_EVERY]
        number += len(planes)
        for name, ours, theirs in zip(
            names, running.run(names, {"planes": planes}), reference.run(names, {"planes": planes}), strict=True
        ):
            worst[name] = max(worst[name], float(np.abs(ours - theirs).max()))
    differences = ", ".join(f"{name} {value:.1e}" for name, value in worst.items())
    return f"parity: onnxruntime and ONNX's reference differ at most by {differences} on {counted(number, 'position')}"


def _whole_batches(game: Game) -> int:
    """Positions to calibrate on, a multiple of what the calibration takes at a time."""
    from ..net.quantise import BATCH

    return max(1, _CALIBRATED // (game.planes[1] * game.planes[2]) // BATCH) * BATCH


@dataclass(frozen=True, slots=True)
class Compared:
    """How an int8 net judges beside its original on one board."""

    positions: Probes
    agreement: Agreement

    @property
    def size(self) -> str:
        return "x".join(map(str, self.positions.planes.shape[2:]))

    @property
    def alike(self) -> bool:
        """Whether the difference is too small to matter in a search."""
        agreement = self.agreement
        return agreement.kl <= _MOST_KL and agreement.regret <= _MOST_REGRET and agreement.value <= _MOST_VALUE

    def sentence(self, speeds: tuple[float, float]) -> str:
        """What ``import --int8`` prints; speeds: positions a second, int8 and fp32."""
        agreement = self.agreement
        return (
            f"int8 on {counted(len(self.positions.planes), 'position')} ({self.size}): the same best move in "
            f"{agreement.top1:.1%}, KL of the policy {agreement.kl:.4f}, value differs by {agreement.value:.4f}; "
            f"{speeds[0]:,.0f} positions/s, fp32 {speeds[1]:,.0f} (one thread, batch 8)"
        )


def quantised(converted: Converted, count: int) -> tuple[onnx.ModelProto, list[Compared]]:
    """The int8 net, and how it judges on ``count`` positions of each board. Errors: NetError when that fails."""
    import onnx

    from ..net import quantise

    info, fp32 = converted.info, onnx.load_model_from_string(converted.model)
    running = raw_session(converted.model)
    sets = [games_of_net(game, running, info, _whole_batches(game), 1).planes for game in boards(info)]
    keep, operators = (*_KEEP_FP32, *converted.keep_fp32), None
    if converted.int8 is not None:
        suited = [node for node in fp32.graph.node if node.name in set(converted.int8)]
        if not suited:
            raise NetError("this net has no layers that int8 suits; leave --int8 out")
        keep = tuple({node.name for node in fp32.graph.node}.difference(converted.int8))
        operators = tuple({node.op_type for node in suited})
    int8 = quantise.quantise(fp32, sets, keep=keep, operators=operators, first=converted.first)
    compared = []
    for game in boards(info):
        positions = games_of_net(game, running, info, count, 2)
        compared.append(Compared(positions, quantise.agreement(fp32, int8, positions.planes, positions.legal)))
    return int8, compared


def speeds(
    converted: Converted, int8: onnx.ModelProto, compared: Compared, seconds: float = 1.0
) -> tuple[float, float]:
    """Positions a second of the int8 net and of its original, measured for so long each."""
    import onnx

    from ..net import quantise

    fp32, planes = onnx.load_model_from_string(converted.model), compared.positions.planes
    one, other = (quantise.speed(model, planes, seconds=seconds) for model in (int8, fp32))
    return one, other


def fast(converted: Converted) -> tuple[bytes, str]:
    """The int8 net where it is faster on this machine and judges nearly as its original does, else the original.

    With the end of the sentence "the net is converted, ...".
    """
    try:
        int8, compared = quantised(converted, _COMPARED_FAST)
    except NetError as error:
        return converted.model, f"in fp32: {error}"
    one, other = speeds(converted, int8, compared[0], _SPEED_S)
    if objection := objection_to(compared, one / other):
        return converted.model, f"in fp32: {objection}"
    least = min(each.agreement.top1 for each in compared)
    return int8.SerializeToString(), (
        f"in int8, {one / other:.1f} times as fast: the same best move in {least:.0%} of positions, a probable one in "
        "the others; Int8 false keeps the original"
    )


def objection_to(compared: list[Compared], ratio: float) -> str:
    """Why an int8 net, so many times as fast, shall not take its original's place unasked; "" if it shall."""
    for each in compared:
        agreement = each.agreement
        if not each.alike:
            return (
                f"int8 would judge otherwise (on {each.size}: {agreement.top1:.0%} the same best move, KL of the "
                f"policy {agreement.kl:.3f}, value differs by {agreement.value:.3f})"
            )
    return f"int8 would be {ratio:.1f} times as fast on this machine" if ratio < _LEAST_GAIN else ""

"""``az-engine import``: a net of another program as an ONNX file of ours."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import numpy as np

from ...engine.errors import NetError, OptionError
from ...engine.files import check_writable, write_atomically
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.nets.netinfo import NetInfo
from ...engine.nets.session import raw_session
from ...engine.system import limit_process
from ..net.probes import own_games
from .families import convert_file
from .source import Converted

HELP = """\
Convert a net of another program: Lc0 (.pb, .pb.gz), dlshogi, FukauraOu and miniosl (.onnx), KataGo (.bin.gz, .txt.gz).

The file is checked and converted, and what it is gets printed. Set WeightsFile (in shogi also DNN_Model) to the result,
or to the foreign file itself: then it is converted once and kept in the user's cache. With --int8 the net is quantised,
too, for speed on a CPU: calibrated on games that it plays with itself, and compared with the original over others."""

_CALIBRATED = 1 << 15  # points of boards: what a layer says of all of them is held in memory at once
_CHECKED, _COMPARED = 128, 512  # positions ...
_EVERY = 17  # ... of those to check, the slow way, this many apart
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
        model, judged = quantised(converted)
        print(judged)
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
        planes = own_games(game, running, info, _CHECKED, 0).planes[::_EVERY]
        number += len(planes)
        for name, ours, theirs in zip(
            names, running.run(names, {"planes": planes}), reference.run(names, {"planes": planes}), strict=True
        ):
            worst[name] = max(worst[name], float(np.abs(ours - theirs).max()))
    differences = ", ".join(f"{name} {value:.1e}" for name, value in worst.items())
    return f"parity: onnxruntime and ONNX's reference differ at most by {differences} on {number} positions"


def _whole_batches(game: Game) -> int:
    """Positions to calibrate on, a multiple of what the calibration takes at a time."""
    from ..net.quantise import BATCH

    return max(1, _CALIBRATED // (game.planes[1] * game.planes[2]) // BATCH) * BATCH


def quantised(converted: Converted) -> tuple[bytes, str]:
    """The int8 net, and in one line how far it judges as the original does. Errors: NetError when that fails."""
    import onnx

    from ..net import quantise

    info, fp32 = converted.info, onnx.load_model_from_string(converted.model)
    running = raw_session(converted.model)
    sets = [own_games(game, running, info, _whole_batches(game), 1).planes for game in boards(info)]
    keep, operators = (*_KEEP_FP32, *converted.keep_fp32), None
    if converted.int8 is not None:
        suited = [node for node in fp32.graph.node if node.name in set(converted.int8)]
        if not suited:
            raise NetError("this net has no layers that int8 suits; leave --int8 out")
        keep = tuple({node.name for node in fp32.graph.node}.difference(converted.int8))
        operators = tuple({node.op_type for node in suited})
    int8 = quantise.quantise(fp32, sets, keep=keep, operators=operators)
    agreements = []
    for game in boards(info):
        positions = own_games(game, running, info, _COMPARED, 2)
        agreement = quantise.agreement(fp32, int8, positions.planes, positions.legal)
        speeds = [quantise.speed(model, positions.planes) for model in (fp32, int8)]
        size = "x".join(map(str, game.planes[1:]))
        agreements.append(
            f"int8 on {_COMPARED} positions ({size}): the same best move in {agreement.top1:.1%}, KL of the policy "
            f"{agreement.kl:.4f}, value differs by {agreement.value:.4f}; {speeds[1]:,.0f} positions/s, "
            f"fp32 {speeds[0]:,.0f} (one thread, batch 8)"
        )
    return int8.SerializeToString(), "\n".join(agreements)

"""``az-engine export``: a net of ours as a file of another program."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ...engine.games import get_game
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.netinfo import NetInfo
from ...engine.nets.onnx.session import raw_session
from ...engine.nets.opinions import expected_points
from ...engine.os.files import check_writable, write_atomically
from ..net.probes import games_of_net
from .dlshogi import to_dlshogi
from .families import convert_file
from .lc0_export import to_lc0
from .source import Converted

HELP = """\
Hand a net to another program. It must have been trained with that program's planes and be the fp32 file:

  az-engine train --planes lc0 --policy-head flat --policy-filters 32 --value-filters 32 --value-hidden 128 ...
  az-engine export RUN/NET_fp32.onnx --to lc0          gives NET.pb.gz for Lc0 and its GUIs
  az-engine train --game shogi --planes dlshogi ...    (dlshogi-119 for the architecture of WCSC35)
  az-engine export RUN/NET_fp32.onnx --to dlshogi      gives NET-dlshogi.onnx for dlshogi and FukauraOu

The file is read back and compared with the net on positions of games that it plays with itself."""

_POSITIONS = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("net", type=Path, help="an fp32 ONNX file of az-engine train")
    parser.add_argument("--to", choices=("lc0", "dlshogi"), required=True, help="the program it is for")
    parser.add_argument("-o", "--out", type=Path, help="file to write (default: NAME.pb.gz or NAME-dlshogi.onnx here)")


def main(args: argparse.Namespace) -> int:
    """Export, read back, compare, print; 0. Errors: NetError when the program knows no such net, OSError."""
    out = args.out or Path(f"{args.net.stem}{'.pb.gz' if args.to == 'lc0' else '-dlshogi.onnx'}")
    check_writable(out)
    outline, content = read_outline(args.net)
    info = NetInfo.from_metadata(outline.metadata)
    if args.to == "lc0":
        file, notes = to_lc0(content)
    else:
        file, notes = to_dlshogi(content), []
    write_atomically(out, file)
    for note in notes:
        print(f"note: {note}")
    print(f"written: {out} ({len(file) / 1e6:.1f} MB)")
    print(compared(content, info, convert_file(out)))
    return 0


def compared(content: bytes, info: NetInfo, again: Converted) -> str:
    """One line: how far the file, read back, is from the net."""
    game = get_game(info.game).using(info.encoder)
    ours, theirs = raw_session(content), raw_session(again.model)
    planes = games_of_net(game, ours, info, _POSITIONS, 0).planes
    policy, value = ours.run(["policy", info.value_head], {"planes": planes})
    policy_again, value_again = theirs.run(["policy", again.info.value_head], {"planes": planes})
    chances = [expected_points(each) for each in (value, value_again)]
    return (
        f"read back: logits differ at most by {np.abs(policy - policy_again).max():.1e}, values by "
        f"{2 * np.abs(chances[0] - chances[1]).max():.1e} on {_POSITIONS} positions"
    )

"""The flags of ``az-engine train``."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...arguments import Parser
from ...engine.games import game_names, get_game
from ...engine.games.encoder import GAME_ENCODER
from ...protocols.serve.runpage import PORT
from ..data.shards import TargetOptions
from ..families import all_settings, shorthands
from ..fields import Help, add_flags, remember_given
from ..selfplay import command as selfplay
from ..selfplay.config import LoopConfig, MachineConfig, RunConfig
from ..selfplay.presets import preset
from .config import Intervals, LearnerConfig, Length

COMMON = (  # what --help shows
    *("supervised", "game", "size", "out", "init", "finish", "web", "preset", "set", "workers", "minutes", "steps"),
    *("blocks", "filters", "batch", "rate", "threads", "device"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train a network from games against itself, as in the papers (az-engine train --game go --size 9), or on "
        "labelled positions or game records with --supervised (then the run ends with an fp32 and an int8 ONNX file "
        "and a card). The same command resumes a run that was stopped or killed."
    )
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine train --game go --size 9 --minutes 600 --out runs/go9
  az-engine train --supervised runs/data --minutes 60 --out runs/first
  az-engine train --supervised games/ --blocks 4 --filters 64 --out runs/small"""
    remember_given(parser)
    add = parser.add_argument
    add(
        "--supervised",
        metavar="DATA",
        type=Path,
        nargs="+",
        help="learn from folders (or files) of .npz shards made by az-engine label, or of game records "
        "(.pgn, .csa, .kif ...)",
    )
    add("--game", default="chess", choices=game_names(), help="the game")
    add(
        "--planes",
        default=GAME_ENCODER,
        metavar="NAME",
        help="planes and actions of another program: lc0 (chess), dlshogi or dlshogi-119 (shogi), so that az-engine "
        "export can convert the net for it; with --supervised",
    )
    add(
        "--size",
        type=_sizes,
        default=(),
        metavar="N[,N]",
        help="lines of the board, in games that have several (default: the game's own); several sizes make one net for "
        "all of them (--policy-head pooled), each learned from its own DATA, in the same order; in self-play the first "
        "is rated and the others are played beside it",
    )
    add(
        "--also-plays",
        type=_sizes,
        default=(),
        metavar="N[,N]",
        help="further board sizes that the net may play although it has not learned from them (--policy-head pooled); "
        "measure its strength there first",
    )
    add(
        "--shares",
        type=_shares,
        default=(),
        metavar="X,X",
        help="shares for each of several sizes: of the steps (default: in proportion to their positions), in self-play "
        "of the positions played (default: alike)",
    )
    add(
        "--out",
        metavar="RUN",
        type=Path,
        help="folder of the run: checkpoints, log, nets, card; self-play without it: runs/GAME",
    )
    add(
        "--init",
        metavar="RUN",
        type=Path,
        help="initial weights: the averaged weights of another run of either kind (its folder or a checkpoint file), "
        "or of a net (an ONNX file of az-engine train; 'default': the package's own); flags may change its network",
    )
    add("--name", default="", help="the net's name in its metadata and card; empty = game and architecture")
    add(
        "--net-search",
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="search settings that the net brings, where it plays best with others than the engine's: "
        "policy_temperature=1.3 mate_plies=1",
    )
    add("--about-data", default="", help="origin of DATA and how to reproduce it: a sentence for the card")
    add(
        "--web",
        type=int,
        nargs="?",
        const=PORT,
        metavar="PORT",
        help="show the run's page, live, to the browsers of this machine; 0 = a free port (without PORT: 8767)",
    )
    add("--finish", action="store_true", help="stop training: export the newest checkpoint and write its card")
    selfplay.add_arguments(parser)

    add_flags(parser.add_argument_group("length (give one)"), Length)
    network = parser.add_argument_group("network")
    for name, shorthand in shorthands().items():
        network.add_argument(f"--{name}", type=int, choices=tuple(shorthand.values), help=shorthand.meaning)
    add_flags(network, all_settings())
    add_flags(parser.add_argument_group("learning"), LearnerConfig)
    targets = parser.add_argument_group("targets")
    add_flags(targets, TargetOptions)
    add_flags(targets, LoopConfig, "symmetries")
    running = parser.add_argument_group("running")
    add_flags(running, MachineConfig, "device", "threads")
    add_flags(running, Intervals)
    _show_self_play_defaults(parser)
    if isinstance(parser, Parser):
        parser.show_first(*COMMON)


def _show_self_play_defaults(parser: argparse.ArgumentParser) -> None:
    """Add to the help what a self-play run of chess takes where a flag is left out, if that is something else."""
    run = RunConfig.from_values({"game": "chess", **preset("az,small", get_game("chess"))})
    values = {"loop.": run.loop, "learner.": run.learner_config(), "net.": run.net_config(get_game("chess"))}
    for action in parser._actions:
        section, _, name = selfplay.FLAGS.get(action.dest, "").rpartition(".")
        ours = getattr(values.get(f"{section}."), name, action.default)
        if ours != action.default and action.nargs != 0:
            action.help = f"{action.help} (default: %(default)s; in self-play {ours})"


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word)


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(word) for word in text.split(","))
    if min(shares) <= 0:
        raise ValueError
    return tuple(share / sum(shares) for share in shares)

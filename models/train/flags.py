"""The flags of ``az-engine train``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from ...engine.games import game_names
from ...engine.games.base import OWN_ENCODER
from ..data.shards import TargetOptions
from ..selfplay import reinforce
from .settings import Intervals, Kind, LearnerConfig, PolicyHead, Schedule, ValueHead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Train a network from games against itself, as in the papers (az-engine train --game go --size 9), or on "
        "labelled positions or game records with --supervised (then it is exported as fp32 and int8 ONNX, with a card, "
        "when the run ends). A run that was killed goes on where it was when the same command is given again."
    )
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    reinforce.remember_given(parser)
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
        default=OWN_ENCODER,
        metavar="NAME",
        help="whose planes and actions the net knows: lc0 (chess), dlshogi or dlshogi-119 (shogi), so that az-engine "
        "export can hand it to those programs; with --supervised",
    )
    add(
        "--size",
        type=_sizes,
        default=(),
        metavar="N[,N]",
        help="lines of the board, in games that have several (default: the game's own); several sizes make one net for "
        "all of them (--policy-head pooled), each learned from its own DATA, in the same order",
    )
    add(
        "--also-plays",
        type=_sizes,
        default=(),
        metavar="N[,N]",
        help="sizes of board that the net may play without having learned from them (--policy-head pooled): measure "
        "first whether it should",
    )
    add(
        "--shares",
        type=_shares,
        default=(),
        metavar="X,X",
        help="of the steps that each of several sizes gets (default: as many positions as there are)",
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
        help="begin with the averaged weights of another run of either kind (its folder, or a file of its checkpoints) "
        "in place of random ones, or with those of a net (an ONNX file of az-engine train; 'default': the one inside "
        "the package); the network is the same unless flags say otherwise",
    )
    add("--name", default="", help="the net's name in its metadata and card; empty = game and architecture")
    add("--about-data", default="", help="where DATA comes from and how to make it again: a sentence for the card")
    add("--finish", action="store_true", help="train no further: export the newest checkpoint and write its card")
    reinforce.add_arguments(parser)

    group = parser.add_argument_group("length (give one)")
    group.add_argument(
        "--minutes", type=float, default=0.0, help="training time over all starts; the schedule ends with it"
    )
    group.add_argument("--steps", type=int, default=0, help="training steps; 0 = by --minutes")

    group = parser.add_argument_group("network")
    add = group.add_argument
    add(
        "--paper",
        type=int,
        choices=(20, 40),
        help="the papers' network of that many blocks (256 filters, tanh value); other network options are ignored",
    )
    add("--kind", choices=get_args(Kind), default="dual-res", help="one tower for both heads or two, residual or plain")
    add("--blocks", type=int, default=6, help="residual blocks, or plain convolutional blocks")
    add("--filters", type=int, default=64, help="filters of every convolution of the tower")
    add("--squeeze", type=int, default=0, help="hidden units of squeeze-excitation; 0 = none, as in the papers")
    add("--history", type=int, default=8, help="positions looked at (the papers: 8); fewer is faster")
    add(
        "--policy-head",
        choices=get_args(PolicyHead),
        default="conv",
        help="conv: AlphaZero, flat: AlphaGo Zero, pooled: one net for boards of every size (value head included)",
    )
    add(
        "--policy-filters",
        type=int,
        default=0,
        help="filters inside the policy head; 0 = as the papers: --filters (conv), 2 (flat); 32 (pooled)",
    )
    add(
        "--value-head",
        choices=get_args(ValueHead),
        default="wdl",
        help="wdl: win, draw, loss; value: tanh, as in the papers",
    )
    add("--value-filters", type=int, default=1, help="filters of the value head's convolution (the papers: 1)")
    add("--value-hidden", type=int, default=256, help="units of the value head's hidden layer (the papers: 256)")
    add("--ownership", action="store_true", help="also learn whose each point will be, where the data say it")
    add("--score", action="store_true", help="also learn by how many points the side to move leads")

    group = parser.add_argument_group("learning")
    add = group.add_argument
    default = LearnerConfig()
    add("--batch", type=int, default=default.batch, help="positions a step")
    add(
        "--optimiser",
        choices=("adamw", "muon", "sgd"),
        default=default.optimiser,
        help="muon: AdamW with Muon for the convolutions, learns more from as many positions; sgd: momentum 0.9 and "
        "L2 1e-4, as in the papers",
    )
    add(
        "--schedule",
        choices=get_args(Schedule),
        default=default.schedule,
        help="az, az-go, agz, supervised: the papers' learning rates, stretched over the run",
    )
    add("--rate", type=float, default=default.rate, help="greatest learning rate of cosine and constant")
    add("--warmup", type=int, default=default.warmup, help="steps of linear warm-up")
    add("--weight-decay", type=float, default=default.weight_decay, help="AdamW's decay of the weights")
    add(
        "--value-weight",
        type=float,
        default=default.value_weight,
        help="weight of the value loss (supervised learning in the paper: 0.01)",
    )
    add("--ownership-weight", type=float, default=default.ownership_weight, help="weight of the ownership's loss")
    add("--score-weight", type=float, default=default.score_weight, help="weight of the score's loss")
    add("--clip", type=float, default=default.clip, help="greatest norm of the gradient; 0 = no limit")
    add(
        "--ema",
        type=float,
        default=default.ema,
        help="decay of the averaged weights, which are measured and exported; 0 = none",
    )
    add(
        "--precision",
        choices=("bf16", "fp32"),
        default=default.precision,
        help="arithmetic of the network; bf16 needs a recent CPU or a GPU",
    )
    add(
        "--freeze",
        type=float,
        default=default.freeze,
        help="fraction of the run after which batch normalisation keeps its statistics; about 0.5 with several sizes",
    )
    add("--seed", type=int, default=default.seed, help="of the first weights and the order of the positions")

    group = parser.add_argument_group("targets")
    add = group.add_argument
    targets = TargetOptions()
    add(
        "--policy",
        choices=("soft", "best", "played"),
        default=targets.policy,
        help="soft: softmax over the labelled lines; best or played move: one-hot (game records: always played)",
    )
    add(
        "--temperature",
        type=float,
        default=targets.temperature,
        help="of the soft policy, in expected points; for labels that are scores (chess), as the next two",
    )
    add(
        "--centipawns",
        type=float,
        default=targets.centipawns,
        help="scale of the soft policy: expected points of a score = 1 / (1 + exp(-cp / scale))",
    )
    add(
        "--value-target",
        choices=("score", "wdl"),
        default=targets.value,
        help="the teacher's chances: from its score (a net can tell a won piece from a won queen), or its own WDL",
    )
    add(
        "--teacher-weight",
        type=float,
        default=targets.teacher,
        help="weight of the teacher's chances; the rest is the game's result",
    )
    add(
        "--symmetries",
        action="store_true",
        help="turn and mirror each position at random, in games that allow it (agz: always; az: never)",
    )
    add("--no-mask", action="store_true", help="let the policy's softmax run over illegal moves too")

    group = parser.add_argument_group("running")
    add = group.add_argument
    intervals = Intervals()
    add("--device", default="cpu", help="cpu, or cuda for a GPU")
    add("--threads", type=int, default=1, help="CPU threads of the training steps")
    add("--checkpoint-minutes", type=float, default=intervals.checkpoint_minutes, help="between checkpoints")
    add(
        "--measure-minutes",
        type=float,
        default=intervals.measure_minutes,
        help="between measurements on held-out positions",
    )
    add(
        "--export-minutes",
        type=float,
        default=intervals.export_minutes,
        help="between candidate nets (candidate_<minutes>_int8.onnx); 0 = none",
    )


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word)


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(word) for word in text.split(","))
    if min(shares) <= 0:
        raise ValueError
    return tuple(share / sum(shares) for share in shares)

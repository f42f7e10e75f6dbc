"""``az-engine train``: train a network and make it ready for playing."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..engine.errors import DataError, NetError, OptionError
from ..engine.files import write_atomically
from ..engine.games import game_names, get_game
from ..engine.games.base import OWN_ENCODER, Game
from ..engine.record import is_record
from .dataset import Dataset, Mixture, Positions
from .files import RunLock
from .formats import shards_of
from .log import read_config
from .records import read_files
from .settings import HISTORY, Intervals, Kind, LearnerConfig, Length, NetConfig, PolicyHead, ValueHead, paper
from .shards import TargetOptions

if TYPE_CHECKING:  # what needs torch is imported when it is used: --help does without
    from .card import Release
    from .learner import Learner, Measured

HELP = "train a network on labelled positions or game records"
LICENCE = "GPL-3.0-or-later"
TARGET_FLAGS = {  # of the TargetOptions that not all data know
    "temperature": "--temperature",
    "centipawns": "--centipawns",
    "value": "--value-target",
    "teacher": "--teacher-weight",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Train a network and export it (fp32 and int8 ONNX, with a card) when the run ends. A run that was killed "
        "goes on where it was when the same command is given again."
    )
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    add = parser.add_argument
    add(
        "--supervised",
        metavar="DATA",
        required=True,
        type=Path,
        nargs="+",
        help="folders (or files) of .npz shards made by az-engine label, or of game records (.pgn, .csa, .kif ...)",
    )
    add("--game", default="chess", choices=game_names(), help="the game")
    add(
        "--planes",
        default=OWN_ENCODER,
        metavar="NAME",
        help="whose planes and actions the net knows: lc0 (chess), dlshogi or dlshogi-119 (shogi), so that az-engine "
        "export can hand it to those programs",
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
    add("--out", metavar="RUN", required=True, type=Path, help="folder of the run: checkpoints, log, nets, card")
    add("--name", default="", help="the net's name in its metadata and card; empty = game and architecture")
    add("--about-data", default="", help="where DATA comes from and how to make it again: a sentence for the card")
    add("--finish", action="store_true", help="train no further: export the newest checkpoint and write its card")

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
        choices=("adamw", "sgd"),
        default=default.optimiser,
        help="sgd: momentum 0.9 and L2 1e-4, as in the papers",
    )
    add(
        "--schedule",
        choices=("cosine", "az", "agz", "supervised", "constant"),
        default=default.schedule,
        help="az, agz, supervised: the papers' learning rates, stretched over the run",
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


def main(args: argparse.Namespace) -> int:
    """Run the command. Errors: AzError."""
    import torch

    from .checkpoint import load_newest
    from .learner import Learner

    torch.set_num_threads(args.threads)
    console = Console(stderr=True)
    game = get_game(args.game)
    games = [each.using(args.planes) for each in [game.sized(size) for size in args.size] or [game]]
    game = games[0]
    config = LearnerConfig(**{f.name: getattr(args, f.name) for f in fields(LearnerConfig)})
    net = net_config(args, game)
    if args.device != "cpu" and not torch.cuda.is_available():
        raise OptionError(
            f"--device {args.device} needs a GPU and a torch built for it; leave --device out to use the CPU"
        )
    with RunLock(args.out):
        train, heldout = read_sizes(args, games, console)
        for learned, kept in zip(train.parts, heldout.parts, strict=True):
            learned.symmetries = args.symmetries
            learned.history = kept.history = net.history
        console.print(f"{train.description}, {len(heldout):,} held out; {net.architecture}")
        learner = Learner(game, net, config, device=args.device)
        work = Work(args, game, train, heldout, learner, console)
        work.remember()
        if args.finish:
            saved = load_newest(args.out / "checkpoints", work.problem)
            if saved is None:
                raise DataError(f"{args.out} holds no checkpoint to finish; train first")
            learner.restore(saved)
            for part in heldout.parts:
                work.measured(learner, learner.measure(part))
        elif not work.train():
            console.print(f"stopped and saved at step {learner.step:,}; give the same command to go on")
            return 130
        work.finish()
    return 0


def net_config(args: argparse.Namespace, game: Game) -> NetConfig:
    """The network that the arguments describe."""
    if args.paper:
        return paper(game, args.paper - 1)
    if args.also_plays and args.policy_head != "pooled":
        raise OptionError("--also-plays is for nets that fit every board (--policy-head pooled)")
    if game.encoder != OWN_ENCODER and args.history != HISTORY:
        raise OptionError(f"the planes of {game.encoder} are taken whole; leave --history out")
    names = {f.name for f in fields(NetConfig)} - {"planes", "actions"}
    return NetConfig(game.planes, game.num_actions, **{name: getattr(args, name) for name in names})


def target_options(args: argparse.Namespace) -> TargetOptions:
    """How labels become targets."""
    return TargetOptions(
        policy=args.policy,
        temperature=args.temperature,
        centipawns=args.centipawns,
        value=args.value_target,
        teacher=args.teacher_weight,
        mask=not args.no_mask,
    )


def read_sizes(args: argparse.Namespace, games: list[Game], console: Console) -> tuple[Dataset, Dataset]:
    """Training and held-out positions of every size of board. Errors: DataError, OptionError."""
    sources: list[Path] = args.supervised
    if len(games) == 1:
        return read_data(args, games[0], sources, console)
    if len(sources) != len(games):
        raise OptionError(f"{len(games)} sizes need {len(games)} DATA, one for each size in the same order")
    if args.policy_head != "pooled" or args.paper:
        raise OptionError("only --policy-head pooled makes a net for several sizes of board")
    pairs = [read_data(args, game, [source], console) for game, source in zip(games, sources, strict=True)]
    train, heldout = (tuple(parts) for parts in zip(*pairs, strict=True))
    shares = args.shares or tuple(len(part) / sum(map(len, train)) for part in train)
    if len(shares) != len(games):
        raise OptionError(f"--shares needs {len(games)} numbers, one for each size")
    return Mixture(train, shares), Mixture(heldout, shares)


def read_data(
    args: argparse.Namespace, game: Game, sources: list[Path], console: Console
) -> tuple[Positions, Positions]:
    """Training and held-out positions of one size of board.

    Errors: DataError; OptionError for a target that the data does not know.
    """
    paths: list[Path] = []
    for source in sources:
        if not source.exists():
            raise DataError(f"{source} does not exist; give a folder of .npz shards or of game records")
        paths += sorted(source.iterdir()) if source.is_dir() else [source]
    shards = [p for p in paths if p.suffix == ".npz"]
    games = [p for p in paths if is_record(game, p)]
    options = target_options(args)
    name = ", ".join(map(str, sources))
    with console.status(f"reading {name}"):
        if shards:
            reader = shards_of(game.name)
            _check_targets(options, reader.unused, f"the labels of {game.name} are probabilities and values, no scores")
            return reader.read_folder(game, shards, options)
        if games:
            _check_targets(options, tuple(TARGET_FLAGS), "game records hold no labels, only moves and results")
            return read_files(game, games, console.print, mask=options.mask)
    suffixes = [suffix for form in game.record_formats for suffix in form.suffixes]
    raise DataError(f"{name} holds neither .npz nor {', '.join(suffixes) or 'other'} files of {game.name}")


def _check_targets(options: TargetOptions, unused: tuple[str, ...], reason: str) -> None:
    """Refuse what would be ignored. Errors: OptionError."""
    usual = TargetOptions()
    for name in unused:
        if getattr(options, name) != getattr(usual, name):
            raise OptionError(f"{TARGET_FLAGS[name]} means nothing here: {reason}; leave it out")


class Work:
    """One start of a run: the progress bar, the candidates, and what is written at the end."""

    def __init__(
        self,
        args: argparse.Namespace,
        game: Game,
        train: Dataset,
        heldout: Dataset,
        learner: Learner,
        console: Console,
    ) -> None:
        self.args, self.game, self.train_data, self.heldout = args, game, train, heldout
        self.learner, self.console = learner, console
        self.latest: dict[str, Measured] = {}  # by size of board
        self.stopping = False
        self.started = (time.monotonic(), learner.step)
        self.progress = Progress(
            TextColumn("step {task.fields[step]}"),
            BarColumn(),
            TextColumn("{task.percentage:.1f} %  loss {task.fields[loss]}  {task.fields[speed]} positions/s"),
            TimeElapsedColumn(),
            TextColumn("left {task.fields[left]}"),
            console=console,
            refresh_per_second=2,
        )
        self.task = self.progress.add_task("", total=1.0, step="0", loss="-", speed="-", left="-")
        self.average: float | None = None
        self.first_command = self.command()

    def described(self) -> dict[str, Any]:
        """The run's settings, for people and for ``az-engine plot``."""
        return {
            "game": self.game.name,
            "net": self.learner.net_config.to_json(),
            "learner": asdict(self.learner.config),
            "targets": asdict(target_options(self.args)) | ({"symmetries": True} if self.args.symmetries else {}),
            "data": self.train_data.description,
            "command": self.first_command,
        }

    def remember(self) -> None:
        """Write the settings when the run begins. Errors: DataError when it goes on with other targets."""
        path = self.args.out / "config.json"
        described = json.loads(json.dumps(self.described()))
        if path.exists():
            earlier = read_config(path)
            if earlier.get("targets") != described["targets"] or earlier.get("data") != described["data"]:
                raise DataError(
                    f"{self.args.out} was started with other data or targets; give them again or a new --out"
                )
            self.first_command = str(earlier.get("command", self.first_command))
        else:
            write_atomically(path, json.dumps(described, indent=1).encode())

    def command(self) -> str:
        """The command as anyone can repeat it: the data and the run's folder are named DATA and RUN."""
        words = list(sys.argv[1:])
        names = {str(path): "DATA" + (str(i) if i > 1 else "") for i, path in enumerate(self.args.supervised, 1)}
        names[str(self.args.out)] = "RUN"
        return shlex.join(["az-engine", *(names.get(word, word) for word in words)])

    def train(self) -> bool:
        """Run to the end; False when it was stopped by a signal."""
        from .learner import Hooks, run

        hooks = Hooks(self.stepped, self.measured, self.problem, self.candidate, lambda: self.stopping)
        intervals = Intervals(
            checkpoint_minutes=self.args.checkpoint_minutes,
            measure_minutes=self.args.measure_minutes,
            export_minutes=self.args.export_minutes,
        )
        before = {s: signal.signal(s, self.stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            with self.progress:
                length = Length(self.args.steps, self.args.minutes)
                return run(self.learner, self.train_data, self.heldout, self.args.out, length, intervals, hooks)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self, number: int, frame: object) -> None:
        """Signal handler: end after this step."""
        self.stopping = True

    def stepped(self, learner: Learner, losses: dict[str, float]) -> None:
        """Show one step."""
        self.average = losses["loss"] if self.average is None else 0.98 * self.average + 0.02 * losses["loss"]
        seconds, steps = time.monotonic() - self.started[0], learner.step - self.started[1]
        if steps == 1 or steps < 0:
            self.started = (time.monotonic(), learner.step)
            return
        if steps % 5 == 0:
            speed = steps * learner.config.batch / seconds
            if self.args.steps:
                left = (self.args.steps - learner.step) * learner.config.batch / speed
            else:
                left = self.args.minutes * 60 - learner.seconds
            self.progress.update(
                self.task,
                completed=learner.progress,
                step=f"{learner.step:,}",
                loss=f"{self.average:.3f}",
                speed=f"{speed:,.0f}",
                left=f"{max(0.0, left) / 60:.0f} min",
            )

    def measured(self, learner: Learner, measured: Measured) -> None:
        """Show one measurement."""
        self.latest[measured.board] = measured
        board = f" {measured.board}" if len(self.heldout.parts) > 1 else ""
        self.console.print(
            f"step {learner.step:,}{board}: top-1 {measured.top1:.1%}, policy {measured.policy:.3f}, "
            f"result error {measured.result_error:.4f}, value error {measured.teacher_error:.4f} "
            f"on {measured.positions:,} held-out positions"
        )

    def problem(self, text: str) -> None:
        """Say what went wrong and was got over."""
        self.console.print(text)

    def candidate(self, learner: Learner) -> None:
        """Export the run so far."""
        try:
            released = self.release(f"candidate_{learner.seconds / 60:03.0f}")
        except NetError as error:  # a young net may be unfit; the run goes on
            self.console.print(f"no candidate: {error}")
        else:
            self.console.print(f"candidate at {learner.seconds / 60:.0f} min: {summary(released)}")

    def name(self) -> str:
        """The net's name."""
        return self.args.name or f"{self.game.name} {self.learner.net_config.architecture}"

    def boards(self) -> tuple[int, ...]:
        """Sizes of board that the net's metadata names; none for a net of one fixed size."""
        if not self.learner.net_config.any_size:
            return ()
        learned = {part.game.planes[1] for part in self.train_data.parts}
        return tuple(sorted(learned.union(self.args.also_plays)))

    def release(self, stem: str) -> Release:
        """Export to files of that stem in the run's folder."""
        from .card import release

        info = {
            "name": self.name(),
            "trained_on": self.train_data.description,
            "license": LICENCE,
            "boards": self.boards(),
        }
        return release(self.learner, self.game, self.train_data, self.heldout, self.args.out / stem, info)

    def finish(self) -> None:
        """Export the final net and write its card."""
        from .card import card

        assert self.latest is not None
        released = self.release("net")
        text = card(
            self.learner,
            self.game,
            self.train_data,
            list(self.latest.values()),
            released,
            name=self.name(),
            command=self.first_command,
            targets=asdict(target_options(self.args)),
            about_data=self.args.about_data,
            licence=LICENCE,
        )
        write_atomically(self.args.out / "card.md", text.encode())
        self.console.print(f"{summary(released)}\nwritten: {self.args.out}/net_int8.onnx, net_fp32.onnx, card.md")


def summary(released: Release) -> str:
    """One line for people."""
    return "; ".join(
        f"{j.board}: int8 {j.speed_int8:,.0f} against fp32 {j.speed_fp32:,.0f} evaluations/s, "
        f"same best move {j.agreement.top1:.1%}, KL {j.agreement.kl:.4f}"
        for j in released.judgements
    )

"""``az-engine train``: train a network and make it ready for playing."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ...engine.errors import DataError, NetError, OptionError
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.games.encoder import GAME_ENCODER
from ...engine.nets.netinfo import read_search
from ...engine.os.files import write_atomically
from ...engine.records.formats import is_record
from ...protocols.serve.runpage import show_run
from ..data.dataset import Dataset, Mixture, Positions, Sampling
from ..data.formats import shards_of
from ..data.records import read_files
from ..data.shards import TargetOptions
from ..families import all_settings, config_of, family_of, shorthands
from ..families.config import HISTORY, NetConfig
from ..fields import Values, flags_of, from_flags
from ..report.runpage import STOPPED, LivePage
from ..selfplay import command as selfplay
from ..signals import StopSignals
from ..storage import RunLock
from . import flags
from .config import Intervals, LearnerConfig, Length
from .log import read_config

if TYPE_CHECKING:  # imported where it is used, so that --help needs no torch
    from ..net.card import Release
    from .learner import Learner, Measured

HELP = "train a network from games against itself, or on labelled positions or game records"
NOT_IN_RECORDS = ("temperature", "centipawns", "value", "teacher")  # of the TargetOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    if args.supervised is None:
        return selfplay.main(args)
    if args.out is None:
        raise OptionError("--supervised needs --out RUN, the folder of the run")
    import torch

    from .checkpoint import load_newest
    from .learner import Learner
    from .loop import check
    from .origin import origin

    brought(args.net_search)  # a fault comes before the training
    adopt(args)
    console = Console(stderr=True)
    game, family = get_game(args.game), family_of(args.kind)
    planes = args.planes if "planes" in args.given else family.encoder
    games = [each.using(planes) for each in [game.sized(size) for size in args.size] or [game]]
    game = games[0]
    config = from_flags(LearnerConfig, args)
    net = net_config(args, game)
    if args.device != "cpu" and not family.on_gpu:
        raise OptionError(f"a {net.kind} network learns on the CPU; leave --device out")
    if args.device != "cpu" and not torch.cuda.is_available():
        raise OptionError(
            f"--device {args.device} needs a GPU and a torch built for it; leave --device out to use the CPU"
        )
    with RunLock(args.out), show_run(args.out, args.web, console.print):
        follow = family.follows and config.value_weight > 0
        sampling = Sampling(args.symmetries, config.policy_weight > 0, follow, net.history)
        train, heldout = read_sizes(args, games, net, sampling, console)
        console.print(f"{train.description}, {len(heldout):,} held out; {net.architecture}")
        if advice := config.advice(args.device):
            console.print(advice)
        learner = Learner(game, net, config, device=args.device, threads=args.threads)
        work = Work(args, game, train, heldout, learner, console)
        saved = load_newest(args.out / "checkpoints", work.problem)
        if args.init is not None and saved is None:
            learner.begin_from(origin(args.init, game))
        if args.finish and saved is None:
            raise DataError(f"{args.out} holds no checkpoint to finish; train first")
        if not args.finish:
            check(learner.config, train, from_flags(Length, args))
        work.remember()
        if saved is not None and args.finish:
            learner.restore(saved)
            for part in heldout.parts:
                work.measured(learner, learner.measure(part))
        elif not work.train():
            console.print(f"stopped and saved at step {learner.step:,}; give the same command to go on")
            return 130
        work.finish()
    return 0


def adopt(args: argparse.Namespace) -> None:
    """Take over what the run in --out was started with, where no flag says otherwise. Errors: AzError."""
    path = args.out / "config.json"
    if not path.exists():
        return
    earlier, given = read_config(path), set(args.given)
    if "run" in earlier:
        raise OptionError(f"{args.out} holds a self-play run; leave --supervised out to go on, or give another --out")
    if not {"game", "size"} & given:
        args.game, args.size = earlier["game"], tuple(earlier.get("sizes", ()))
    for name in ("planes", "symmetries"):
        if name not in given:
            setattr(args, name, earlier.get(name, getattr(args, name)))
    sections: list[tuple[str, type]] = [("learner", LearnerConfig), ("targets", TargetOptions)]
    if not {"minutes", "steps"} & given:
        sections.append(("length", Length))
    family = family_of(earlier["net"]["kind"])
    if not given & set(shorthands()) and ("kind" not in given or family_of(args.kind) is family):
        sections.append(("net", family.config))
    for section, part in sections:
        values = earlier.get(section, {})
        for flag, dest, f, _, _ in flags_of(part):
            if dest not in given and f.name in values and (f.name, values[f.name]) != ("precision", "bf16"):
                setattr(args, dest, not values[f.name] if flag.startswith("--no-") else values[f.name])
                args.given = {*args.given, dest}


def net_config(args: argparse.Namespace, game: Game) -> NetConfig:
    """The network that the flags name, with the settings of --init where they are silent. Errors: AzError."""
    family = family_of(args.kind)
    if not family.sees(game.encoder):
        raise OptionError(f"a {args.kind} network does not see the planes of {game.encoder.name}; leave --planes out")
    if game.encoder.name != GAME_ENCODER and args.history != HISTORY:
        raise OptionError(f"the planes of {game.encoder.name} are taken whole; leave --history out")
    short = next((name for name in shorthands() if name in args.given), None)
    values = given_values(args) if short is None else shorthands()[short].values[getattr(args, short)]
    if args.init is not None and short is None:
        from .checkpoint import load_newest
        from .origin import network_at

        saved = load_newest(args.out / "checkpoints", lambda _: None)
        network = network_at(args.init, game) if saved is None else config_of(saved.state["net"])
        if family_of(network.kind) is not family:
            raise OptionError(f"{args.init} holds a {network.kind} network; give --kind {network.kind}")
        values = {f.name: getattr(network, f.name) for _, _, f, _, _ in flags_of(family.config)} | values
    net = family.configured(game, values)
    if args.also_plays and not net.any_size:
        raise OptionError("--also-plays is for nets that fit every board (--policy-head pooled)")
    return net


def given_values(args: argparse.Namespace) -> Values:
    """The network's settings that flags were given for. Errors: OptionError for one that its kind does not have."""
    ours = {f.name for _, _, f, _, _ in flags_of(family_of(args.kind).config)}
    given = {
        f.name: (flag, getattr(args, dest)) for flag, dest, f, _, _ in flags_of(all_settings()) if dest in args.given
    }
    for name, (flag, _) in given.items():
        if name not in ours:
            raise OptionError(f"a {args.kind} network has no {flag}; leave it out")
    return {name: value for name, (_, value) in given.items()}


def commands_before(origin: Path) -> list[str]:
    """The commands of the runs behind ``origin``, oldest first, its own last; empty for a net or a lone checkpoint."""
    path = (origin.parent.parent if origin.suffix in (".json", ".safetensors") else origin) / "config.json"
    if not path.exists():
        return []
    earlier = read_config(path)
    ours = [str(earlier.get("command", "")), *earlier.get("later", [])]
    return [*earlier.get("before", []), "\n".join(ours)]


def read_sizes(
    args: argparse.Namespace, games: list[Game], net: NetConfig, sampling: Sampling, console: Console
) -> tuple[Dataset, Dataset]:
    """Training and held-out positions of every size of board; ``sampling``: of training. Errors: AzError."""
    sources: list[Path] = args.supervised

    def read(game: Game, sources: list[Path]) -> tuple[Positions, Positions]:
        train, heldout = read_data(args, game, sources, console)
        return replace(train, sampling=sampling), replace(heldout, sampling=Sampling(history=sampling.history))

    if len(games) == 1:
        return read(games[0], sources)
    if len(sources) != len(games):
        raise OptionError(f"{len(games)} sizes need {len(games)} DATA, one for each size in the same order")
    if not net.any_size:
        raise OptionError("only --policy-head pooled makes a net for several sizes of board")
    pairs = [read(game, [source]) for game, source in zip(games, sources, strict=True)]
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
    games = [p for p in paths if is_record(game.record_formats, p)]
    options = from_flags(TargetOptions, args)
    name = ", ".join(map(str, sources))
    with console.status(f"reading {name}"):
        if shards:
            reader = shards_of(game.name)
            _check_targets(options, reader.unused, f"the labels of {game.name} are probabilities and values, no scores")
            return reader.read_folder(game, shards, options)
        if games:
            _check_targets(options, NOT_IN_RECORDS, "game records hold no labels, only moves and results")
            return read_files(game, games, console.print, mask=options.mask)
    suffixes = [suffix for form in game.record_formats for suffix in form.suffixes]
    raise DataError(f"{name} holds neither .npz nor {', '.join(suffixes) or 'other'} files of {game.name}")


def _check_targets(options: TargetOptions, unused: tuple[str, ...], reason: str) -> None:
    """Errors: OptionError for a target option that the data ignore."""
    for flag, _, f, _, _ in flags_of(TargetOptions):
        if f.name in unused and getattr(options, f.name) != f.default:
            raise OptionError(f"{flag} means nothing here: {reason}; leave it out")


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
        self.learner, self.console, self.targets = learner, console, from_flags(TargetOptions, args)
        self.latest: dict[str, Measured] = {}  # by size of board
        self.started: tuple[float, int] | None = None  # time and number of this start's first step
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
        self.page, self.summary = LivePage(args.out, console.print), dict[str, str]()
        self.first_command = self.command()
        self.before = commands_before(args.init) if args.init is not None else []
        self.later: list[str] = []  # other commands that the run went on with

    def described(self) -> dict[str, Any]:
        """The run's settings, for people and for ``az-engine plot``."""
        return {
            "game": self.game.name,
            "net": self.learner.net_config.to_json(),
            "learner": asdict(self.learner.config),
            "targets": asdict(self.targets),
            "symmetries": self.args.symmetries,
            "planes": self.game.encoder.name,
            "sizes": self.args.size,
            "length": asdict(from_flags(Length, self.args)),
            "data": self.train_data.description,
            "command": self.first_command,
            **({"before": self.before} if self.before else {}),
            **({"later": self.later} if self.later else {}),
        }

    def remember(self) -> None:
        """Write the settings. Errors: DataError when the run goes on with other targets."""
        path = self.args.out / "config.json"
        if path.exists():
            earlier, now = read_config(path), self.described()
            targets = {**earlier.get("targets", {})}
            symmetries = targets.pop("symmetries", earlier.get("symmetries", False))  # once one of the targets
            if (targets, symmetries, earlier.get("data")) != (now["targets"], now["symmetries"], now["data"]):
                raise DataError(
                    f"{self.args.out} was started with other data or targets; give them again or a new --out"
                )
            command, self.first_command = self.first_command, str(earlier.get("command", self.first_command))
            self.before, self.later = list(earlier.get("before", [])), list(earlier.get("later", []))
            if command not in (self.first_command, *self.later):
                self.later.append(command)
        write_atomically(path, json.dumps(self.described(), indent=1).encode())

    def command(self) -> str:
        """The command with placeholders for paths: DATA, RUN, and EARLIER or NET for --init."""
        from .origin import EMBEDDED

        words = list(sys.argv[1:])
        names = {str(path): "DATA" + (str(i) if i > 1 else "") for i, path in enumerate(self.args.supervised, 1)}
        names[str(self.args.out)] = "RUN"
        if self.args.init is not None and str(self.args.init) != EMBEDDED:
            names[str(self.args.init)] = "NET" if self.args.init.suffix == ".onnx" else "EARLIER"
        return shlex.join(["az-engine", *(names.get(word, word) for word in words)])

    def train(self) -> bool:
        """Train to the end; False when a signal stopped it."""
        from .loop import Callbacks, run

        length, intervals = from_flags(Length, self.args), from_flags(Intervals, self.args)
        with self.progress, StopSignals() as signals:
            callbacks = Callbacks(self.stepped, self.measured, self.problem, self.candidate, signals, signals.attempt)
            finished = run(self.learner, self.train_data, self.heldout, self.args.out, length, intervals, callbacks)
        if not finished:
            self.page.write(lambda: STOPPED, now=True)
        return finished

    def stepped(self, learner: Learner, losses: dict[str, float]) -> None:
        self.average = losses["loss"] if self.average is None else 0.98 * self.average + 0.02 * losses["loss"]
        if self.started is None:
            self.started = (time.monotonic(), learner.step)
        seconds, steps = time.monotonic() - self.started[0], learner.step - self.started[1]
        if steps and (steps % 5 == 0 or learner.progress >= 1):
            speed = steps * learner.config.batch / seconds
            if self.args.steps:
                left = (self.args.steps - learner.step) * learner.config.batch / speed
            else:
                left = self.args.minutes * 60 - learner.seconds
            step, loss, rate = f"{learner.step:,}", f"{self.average:.3f}", f"{speed:,.0f}"
            rest = f"{max(0.0, left) / 60:.0f} min"
            self.progress.update(self.task, completed=learner.progress, step=step, loss=loss, speed=rate, left=rest)
            self.summary = {"training steps": step, "loss": loss, "positions a second": rate, "time left, about": rest}
            self.page.write(lambda: self.summary)

    def measured(self, learner: Learner, measured: Measured) -> None:
        self.latest[measured.board] = measured
        board = f" {measured.board}" if len(self.heldout.parts) > 1 else ""
        self.console.print(
            f"step {learner.step:,}{board}: top-1 {measured.top1:.1%}, policy {measured.policy:.3f}, "
            f"result error {measured.result_error:.4f}, value error {measured.teacher_error:.4f} "
            f"on {measured.positions:,} held-out positions"
        )
        self.page.write(lambda: self.summary, now=True)

    def problem(self, text: str) -> None:
        self.console.print(text)

    def candidate(self, learner: Learner) -> None:
        try:
            released = self.release(f"candidate_{learner.seconds / 60:03.0f}")
        except NetError as error:  # a young net may fail the checks; the run goes on
            self.console.print(f"no candidate: {error}")
        else:
            self.console.print(f"candidate at {learner.seconds / 60:.0f} min: {summary(released)}")

    def name(self) -> str:
        return self.args.name or f"{self.game.name} {self.learner.net_config.architecture}"

    def boards(self) -> tuple[int, ...]:
        """Board sizes in the net's metadata; empty for a net of one fixed size."""
        if not self.learner.net_config.any_size:
            return ()
        learned = {part.game.planes[1] for part in self.train_data.parts}
        return tuple(sorted(learned.union(self.args.also_plays)))

    def release(self, stem: str) -> Release:
        """Export to ``<stem>_fp32.onnx`` and ``<stem>_int8.onnx`` in the run's folder."""
        from ..net.card import release

        info = {
            "name": self.name(),
            "trained_on": self.train_data.description,
            "boards": self.boards(),
            "search": brought(self.args.net_search),
        }
        return release(self.learner, self.game, self.train_data, self.heldout, self.args.out / stem, info)

    def finish(self) -> None:
        from ..net.card import card

        assert self.latest is not None
        released = self.release("net")
        text = card(
            self.learner,
            self.game,
            self.train_data,
            list(self.latest.values()),
            released,
            name=self.name(),
            commands=[*self.before, "\n".join([self.first_command, *self.later])],
            targets=asdict(self.targets),
            about_data=self.args.about_data,
        )
        write_atomically(self.args.out / "card.md", text.encode())
        files = "net_int8.onnx, net_fp32.onnx" if released.bytes_fp32 else "net_int8.onnx"
        self.console.print(f"{summary(released)}\nwritten: {self.args.out}/{files}, card.md")
        self.page.write(lambda: {**self.summary, "state": "finished"}, now=True)


def brought(words: list[str]) -> tuple[tuple[str, float], ...]:
    """The search settings that a net shall bring. Errors: OptionError."""
    try:
        return read_search(" ".join(words))
    except ValueError as error:
        raise OptionError(f"--net-search {' '.join(words)!r} must be NAME=VALUE: {error}") from error


def summary(released: Release) -> str:
    """A line about the export's speed and agreement for each size of board."""
    return "; ".join(
        f"{j.board}: int8 {j.speed_int8:,.0f} against fp32 {j.speed_fp32:,.0f} evaluations/s, "
        f"same best move {j.agreement.top1:.1%}, KL {j.agreement.kl:.4f}"
        for j in released.judgements
    )

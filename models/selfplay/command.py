"""``az-engine train`` without --supervised: a whole self-play run, from its settings to its last net."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ...engine.errors import DataError, OptionError, counted
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.kernels.cache import cores
from ...engine.nets.onnx.session import nvidia_driver
from ...engine.os.files import write_atomically
from ...protocols.serve.runpage import show_run
from ..families import DEFAULT_KIND, family_of, shorthands
from ..fields import Values, add_flags, assignment, differences, flags_of, merged, nested, read_toml
from ..net.providers import TORCH
from ..signals import StopSignals
from ..storage import RunLock
from ..train.config import LASTING
from ..train.log import read_config
from .config import NEVER, MachineConfig, RunConfig, sections, used_settings
from .play.processes import worker_command
from .presets import preset

if TYPE_CHECKING:  # imported where it is used, so that --help needs no torch
    from .run import SelfPlayRun
    from .show.status import Status

# settings that a resumed run keeps
FIXED = ("game", "boards", "seed", "init", "net", *(f"learner.{name}" for name in LASTING))
FOR_SEVERAL_SIZES: Values = {"net": {"policy_head": "pooled"}, "learner": {"freeze": 0.5}}  # see Learner.freeze
# attributes of the flags that set something of the run, and the settings' names
FLAGS = {dest: section + f.name for section, part in sections().items() for _, dest, f, _, _ in flags_of(part)} | {
    "seed": "seed"
}
NOT_SETTINGS = ("game", "size", "shares", "out", "preset", "config", "set", "tensorboard", "web", "given")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("self-play (without --supervised)")
    add = group.add_argument
    add(
        "--preset",
        default="",
        help="az or agz (the papers), small or gpu laid over one of them, as in agz,small; empty = az,small on a CPU "
        "and az,gpu with --device cuda",
    )
    add("--config", metavar="FILE", type=Path, help="TOML file with settings of any section, over the preset")
    add(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set anything, as in --set selfplay.visits=100; the run's config.json lists all settings; may be repeated",
    )
    add_flags(group, MachineConfig, "workers", "ray", "provider", workers=cores())
    add("--tensorboard", action="store_true", help="write to RUN/tensorboard for TensorBoard, which must be installed")


def overrides(args: argparse.Namespace) -> Values:
    """The settings of --config, flags and --set, in this order. Errors: OptionError."""
    values: Values = read_toml(args.config) if args.config else {}
    for name in sorted(args.given):
        if name in FLAGS:
            value = getattr(args, name)
            values = merged(values, nested(FLAGS[name], str(value) if isinstance(value, Path) else value))
        elif name in shorthands():
            values = merged(values, {"net": shorthands()[name].values[getattr(args, name)]})
        elif name not in NOT_SETTINGS:
            raise OptionError(f"--{name.replace('_', '-')} is for --supervised; leave it out for self-play")
    for text in args.set:
        values = merged(values, assignment(text))
    for section in fields(RunConfig):
        value = values.get(section.name, {})
        if section.default_factory is not MISSING and not isinstance(value, Mapping):
            raise OptionError(f"{section.name} is a section, not {value!r}; set {section.name}.NAME=VALUE")
    return used_settings(values)


def game_name(args: argparse.Namespace) -> str:
    """The game with the size of the run's own board, a name for get_game."""
    return "".join(map(str, (args.game, *args.size[:1])))


def shares_of(args: argparse.Namespace) -> Values:
    """What RunConfig.boards keeps of --size and --shares. Errors: OptionError."""
    if not args.size[1:]:
        if args.shares:
            raise OptionError("--shares is for several sizes of board; give these with --size 9,7")
        return {}
    shares = args.shares or (1 / len(args.size),) * len(args.size)
    if len(shares) != len(args.size):
        raise OptionError(f"--shares needs {len(args.size)} numbers, one for each size of board")
    if len(set(args.size)) < len(args.size):
        raise OptionError("give each size of board once")
    return dict(zip(map(str, args.size[1:]), shares[1:], strict=True))


def default_out(game: str) -> Path:
    return Path("runs") / game


def settings(args: argparse.Namespace, folder: Path) -> tuple[RunConfig, list[str]]:
    """The run's settings, and the changes since its last start. Errors: OptionError, DataError."""
    over, boards = overrides(args), shares_of(args)
    if not (folder / "config.json").exists():
        if boards:
            over = merged({**FOR_SEVERAL_SIZES, "boards": boards}, over)
        return begun(game_name(args), over, args.preset), []
    earlier = used_settings(read_config(folder / "config.json").get("run", {}))
    for flag, value in (("preset", args.preset), ("game", game_name(args))):
        given = flag in args.given or (flag == "game" and "size" in args.given and not boards)
        if given and earlier and earlier.get(flag) != value:
            raise OptionError(f"{folder} was started with {flag} {earlier.get(flag)}, not {value}; give another --out")
    return resumed(folder, merged(over, {"boards": boards}) if boards else over)


def begun(name: str, over: Values, names: str = "") -> RunConfig:
    """The settings of a new run: a preset's with ``over`` laid over them; names: of presets. Errors: OptionError."""
    game, machine, init = get_game(name), over.get("machine", {}), over.get("init")
    names = names or ("az,gpu" if machine.get("device", "cpu") != "cpu" else "az,small")
    workers = 0 if machine.get("ray") else cores()  # 0: all of the cluster
    first = first_net(Path(init), game) if init else {}
    kind = merged(first, over.get("net", {})).get("kind", DEFAULT_KIND)
    values = merged({"machine": {"workers": workers}}, preset(names, game))
    ours = {f.name for f in fields(family_of(kind).config)}
    values["net"] = {name: value for name, value in values["net"].items() if name in ours}
    values = merged(merged(values, {"net": first}), over)
    return RunConfig.from_values({**suited(values, over), "game": name, "preset": names})


def resumed(folder: Path, over: Values) -> tuple[RunConfig, list[str]]:
    """The settings of a run that goes on, and what ``over`` changes. Errors: OptionError, DataError."""
    earlier = used_settings(read_config(folder / "config.json").get("run", {}))
    if not earlier:
        raise OptionError(f"{folder} holds a supervised run; give another folder")
    if over.get("loop", {}).get("steps") and not over["loop"].get("minutes"):
        over["loop"]["minutes"] = 0.0
    now = RunConfig.from_values(merged(earlier, over)).to_json()
    was = RunConfig.from_values(earlier).to_json()  # a setting newer than the run has its default
    changed = differences(was, now)
    for text in changed:
        name = text.partition(" ")[0]
        if any(name == fixed or name.startswith(f"{fixed}.") for fixed in FIXED):
            raise OptionError(
                f"{text}: this cannot change while a run goes on; leave it out, or begin a new run in another "
                f"folder with what this one has learned: init={folder}"
            )
    return RunConfig.from_values(now), changed


def suited(values: Values, given: Values) -> Values:
    """A new run's settings with a preset's int8 and evaluators where they can serve it, and cores left for processes.

    ``given``: what the user set, which stays.
    """
    machine, chosen = values["machine"], given.get("machine", {})
    provider, device = machine.get("provider", "auto"), machine.get("device", "cpu")
    on_cpu = provider == "cpu" or (provider == "auto" and device == "cpu" and not nvidia_driver())
    if machine.get("int8") and "int8" not in chosen and (machine.get("evaluators") or not on_cpu):
        values = merged(values, {"machine": {"int8": False}})
        machine = values["machine"]
    if "evaluators" in chosen or not machine.get("evaluators"):
        return values
    serves = machine.get("device") != "cpu" and machine.get("provider", "auto") in ("auto", TORCH)
    if not serves or not machine["workers"] or machine.get("ray") or machine.get("int8") or values.get("boards"):
        return merged(values, {"machine": {"evaluators": 0}})
    if "workers" in chosen:
        return values
    return merged(values, {"machine": {"workers": max(1, cores() - machine["evaluators"] - 1)}})  # 1: the learner


def first_net(path: Path, game: Game) -> Values:
    """The network of ``path`` without ownership and score, which --ownership and --score keep.

    Errors: DataError, NetError.
    """
    from ..train.origin import network_at

    net = network_at(path, game).to_json()
    return {name: value for name, value in net.items() if name not in ("planes", "actions", "ownership", "score")}


def described(run: RunConfig, game: Game, command: str) -> Values:
    return {
        "game": game.name,
        "net": run.net_config(game).to_json(),
        "run": run.to_json(),
        "data": f"games of {run.game} against itself",
        "command": command,
    }


def remember(folder: Path, run: RunConfig, command: str) -> None:
    """Write the run's config.json, in which its first command stays. Errors: DataError."""
    path = folder / "config.json"
    first = str(read_config(path)["command"]) if path.exists() else command
    try:
        write_atomically(path, json.dumps(described(run, run.get_game(), first), indent=1).encode())
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror}); give another folder or make room") from error


def main(args: argparse.Namespace, command: Callable[[Path, int], Sequence[str]] = worker_command) -> int:
    import torch

    from .run import SelfPlayRun
    from .show.status import Observer
    from .show.table import LiveView
    from .show.tensorboard import tensorboard

    folder: Path = args.out or default_out(game_name(args))
    console = Console(stderr=True)
    with RunLock(folder), show_run(folder, args.web, console.print):
        run, changed = settings(args, folder)
        game = run.get_game()
        run.net_config(game), run.learner_config()  # errors come before anything is written
        if run.machine.device != "cpu" and not torch.cuda.is_available():
            raise OptionError(
                f"--device {run.machine.device} needs a GPU and a torch built for it; leave --device out for the CPU"
            )
        track = tensorboard(folder / "tensorboard") if args.tensorboard else None
        remember(folder, run, shlex.join(["az-engine", *sys.argv[1:]]))
        net = run.net_config(game)
        heading = f"{run.game}, {net.architecture}, preset {run.preset}, in {folder}"
        with LiveView(console, heading) as view, StopSignals() as signals:
            for text in (*changed, run.learner_config().advice(run.machine.device)):
                if text:
                    view.say(text)

            def on_status(status: Status) -> None:
                if view.due():
                    loop.show_workers()
                    view.show(status)

            def on_row(row: dict[str, Any]) -> None:
                nonlocal track
                if track is not None:
                    try:
                        track(row)
                    except OSError as error:
                        view.say(f"{folder}/tensorboard cannot be written ({error.strerror}): no more is written there")
                        track = None

            observer = Observer(on_status, view.say, on_row, signals, signals.attempt, command)
            loop = SelfPlayRun(folder, run, observer)
            finished = loop.train()
        if not finished:
            console.print(f"stopped and saved at step {loop.learner.step:,}; give the same command to go on")
            return 130
        if not loop.learner.step:
            return finish_unlearned(loop, console)
        finish(loop, console)
    return 0


def finish_unlearned(loop: SelfPlayRun, console: Console) -> int:
    """Print why no step was trained. Returns the exit status: 0 when the run was to play only (NEVER)."""
    first, folder = loop.run.loop.first_positions, loop.folder
    games = f"{counted(loop.games, 'game')} with {counted(loop.positions, 'position')} are in {folder.games}"
    if loop.games and first >= NEVER:
        console.print(f"{games}; no step was to be trained", soft_wrap=True)
        return 0
    reason = f"{games} and the first step needs loop.first_positions = {first:,}"
    if not loop.games:
        reason = f"no game was finished, see {folder.workers}/*.log"
    minutes = loop.run.loop.minutes
    length, flag = (
        (f"{minutes:g} minutes", "--minutes") if minutes else (counted(loop.run.loop.steps, "step"), "--steps")
    )
    console.print(f"az-engine: nothing was learned in {length}: {reason}; give more {flag}", soft_wrap=True)
    return 1


def finish(loop: SelfPlayRun, console: Console) -> None:
    folder = loop.folder
    console.print(
        f"the last net: {folder.net(folder.net_steps[-1])} (WeightsFile of any engine command)", soft_wrap=True
    )
    share = loop.run.ladder.share
    if folder.net_steps[-1] not in loop.ladder.rated:
        reason = f"its games would take more than {share:.0%} of the run" if share else "the rating is off"
        console.print(f"it is not rated: {reason} (ladder.share)")
    for name, (elo, low, high) in loop.status.elo.items():
        console.print(
            f"{name}: Elo {elo:+.0f}, 95 % [{low:+.0f}, {high:+.0f}]; 0 = {loop.status.anchor}", soft_wrap=True
        )
    console.print(f"{folder.folder}/run.html shows its curves and games", soft_wrap=True)
    console.print(learned(loop), soft_wrap=True)


def learned(loop: SelfPlayRun) -> str:
    """What a run has learned, one line: Elo above its first net, or the moves that the net finds."""
    from .nets.rating import searching
    from .show.table import span

    visits, ratings, rated = loop.run.ladder.visits, loop.ladder.ratings(), loop.ladder.rated
    names = [searching(step, visits) for step in rated if searching(step, visits) in ratings]
    summary = (
        f"learned in {span(loop.learner.seconds)} from {counted(loop.games, 'game')}, "
        f"{counted(loop.learner.step, 'step')}: "
    )
    if len(names) > 1:
        gain = ratings[names[-1]].elo - ratings[names[0]].elo
        return f"{summary}{names[-1]} is {gain:+.0f} Elo above {names[0]}"
    if loop.status.held_out:
        return f"{summary}it finds {loop.status.held_out['top1']:.0%} of the search's moves in games kept apart"
    return f"{summary}too little to be rated; give more --minutes"

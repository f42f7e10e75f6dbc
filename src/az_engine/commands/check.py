"""``az-engine check``: tests what playing a game needs on this machine, and prints how to set up other programs."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .. import __version__
from ..engine.engine import Engine
from ..engine.errors import AzError, counted
from ..engine.games import game_names, get_game
from ..engine.info import BestMove, ThinkingInfo
from ..engine.kernels.cache import cache_directory, cache_problem, compiled_kernels, cores
from ..engine.limits import Limits
from ..engine.nets.onnx.session import available_providers
from ..engine.nets.weights import embedded_net
from ..engine.os.system import cpu_name, memory_bytes
from ..engine.params import EngineOptions
from .guis import recipes
from .installation import Installation
from .nets import find_net

HELP = """\
Check that everything a game needs works on this machine: versions, onnxruntime, the nets inside the package, the cache
of compiled kernels (the first run compiles them and shows how far), a short real search, and a start of the command
that other programs run. It prints a verdict and what needs mending. Exit status 0 only if games can be played.

  az-engine check                 the whole check, a few seconds once the kernels are compiled
  az-engine check --programs      what to enter in each GUI and match tool, at once
  az-engine check --details       everything that was found
  az-engine check --seconds 10    a longer search, for a steadier speed
  az-engine check --json          everything, one JSON object a line, for scripts and bug reports"""

_BUILDS = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
_HANDSHAKE_SECONDS = 20.0
_LINE_SECONDS = 5.0
_COLOURS = {"ok": "green", "hint": "yellow", "fail": "red"}


class Report:
    """Findings, printed as they come: for people what matters, or all details; or one JSON object a line."""

    def __init__(self, *, as_json: bool, details: bool = True) -> None:
        self.failed = False
        self._as_json, self._details = as_json, details
        self._console = Console(highlight=False, soft_wrap=True)

    def say(self, status: Literal["ok", "hint", "fail"], what: str, text: str, *, detail: bool = True) -> None:
        """Report a finding: "hint": games can be played, "fail": they cannot; ``text`` says how to mend it.

        ``detail``: if it is "ok", only those who ask for all details see it.
        """
        self.failed |= status == "fail"
        if self._as_json:
            print(json.dumps({"what": what, "status": status, "text": text}), flush=True)
        elif self._details or status != "ok" or not detail:
            self._console.print(f"[{_COLOURS[status]}]{status:4}[/] {what:12} ", end="")
            self._console.print(text, markup=False)

    def recipes(self, game: str, pairs: Sequence[tuple[str, str]]) -> None:
        if self._as_json:
            for program, text in pairs:
                print(json.dumps({"what": program, "status": "recipe", "text": text}), flush=True)
            return
        self._console.print(f"\n{game}, in your programs:")
        for program, text in pairs:
            self._console.print(f"  {program}\n      {text}", markup=False)

    @contextlib.contextmanager
    def faults_of(self, what: str) -> Iterator[None]:
        """Report an AzError raised inside as a fault."""
        try:
            yield
        except AzError as error:
            self.say("fail", what, str(error))


def check_machine(report: Report, where: Installation) -> None:
    report.say("ok", "az-engine", f"{__version__}, started as {where.command}")
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "numba"))
    report.say("ok", "Python", f"{platform.python_version()} ({sys.executable}), {packages}")
    text = f"{cpu_name()}, {counted(cores(), 'core')}, {platform.system()} {platform.machine()}"
    report.say("ok", "machine", text, detail=False)
    hash_mb, present = EngineOptions().hash_mb, memory_bytes() >> 20
    text = f"{present:,} MiB, of which an engine takes up to {hash_mb} MiB for its tree, as it needs it (Hash)"
    report.say("ok", "memory", text)


def check_onnxruntime(report: Report, where: Installation) -> None:
    builds = {}
    for name in _BUILDS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            builds[name] = importlib.metadata.version(name)
    repair = f"{where.install} onnxruntime (or, with an NVIDIA card, 'onnxruntime-gpu[cuda,cudnn]')"
    try:
        providers = [p.removesuffix("ExecutionProvider") for p in available_providers()]
    except AzError as error:
        if builds:
            report.say("fail", "onnxruntime", f"{error}: {where.uninstall} {' '.join(builds)} && {repair}")
        else:
            report.say("fail", "onnxruntime", f"no onnxruntime is installed, so no net can be run: {repair}")
        return
    names = ", ".join(f"{name} {version}" for name, version in builds.items()) or "onnxruntime"
    report.say("ok", "onnxruntime", f"{names}; can run nets on {', '.join(providers)}")
    if len(builds) > 1:
        report.say(
            "hint",
            "onnxruntime",
            f"{' and '.join(builds)} are both installed and have overwritten each other's files, so that a graphics "
            f"card may go unused; keep one: {where.uninstall} {' '.join(builds)} && {repair}",
        )
    elif "CUDA" not in providers and shutil.which("nvidia-smi"):
        report.say("hint", "onnxruntime", f"there is an NVIDIA card; to use it: {where.add('gpu')}")


def check_cache(report: Report) -> None:
    problem = cache_problem()
    if problem:
        report.say("hint", "cache", problem)
    else:
        report.say("ok", "cache", f"compiled kernels are kept in {cache_directory()}")


def check_game(report: Report, game_name: str, seconds: float) -> None:
    """The net inside the package, the kernels, and a search from the start position that must end in a legal move."""
    with report.faults_of(game_name):
        report.say("ok", game_name, f"net: {find_net(game_name).line()}")
        engine = Engine(game_name, None)
        try:
            began = time.perf_counter()
            compiled = compiled_kernels()
            with progress(f"loading {game_name}") as on_progress:
                engine.ready(on_progress)
            compiled = compiled_kernels() - compiled
            how = f"{counted(compiled, 'kernel')} compiled, net loaded" if compiled else "kernels and net loaded"
            runner = engine.description.rpartition("; ")[2]
            report.say("ok", game_name, f"{how} in {time.perf_counter() - began:.1f} s; the net runs on {runner}")
            engine.set_position(None, [])
            best, info = _search(engine, seconds)
        finally:
            engine.close()
        if best.error is not None or best.move is None:
            raise AzError(f"the search from the start position failed ({best.error or 'no move'}); please report it")
        game = get_game(game_name)
        game.parse_move(game.initial(), best.move)
        line = info.lines[0]
        win, draw, loss = (round(100 * chance) for chance in (line.wdl.win, line.wdl.draw, line.wdl.loss))
        report.say(
            "ok",
            game_name,
            f"searched {counted(info.nodes, 'node')} in {info.time_ms / 1000:.1f} s ({info.nps:,} a second): "
            f"best {best.move}, "
            f"win/draw/loss {win}/{draw}/{loss} %, line {' '.join(line.pv[:6])}",
            detail=False,
        )


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what the engine loads: a bar in a terminal, else a line now and then; yields what names a step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        with _Lines(title) as lines:
            yield lines.say
        return
    columns = (TextColumn("{task.description}"), BarColumn(pulse_style="cyan"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda step: bar.update(task, description=f"{title}: {step[:60]}")


class _Lines:
    """Progress for a log: a line for the first step, then one every ``_LINE_SECONDS``, also within a long step."""

    def __init__(self, title: str) -> None:
        self._title, self._step = title, ""
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="progress", daemon=True)

    def say(self, step: str) -> None:
        first, self._step = not self._step, step
        if first:
            self._print()

    def _print(self) -> None:
        seconds = time.monotonic() - self._began
        print(f"{self._title}: {self._step}, {seconds:.0f} s", file=sys.stderr, flush=True)

    def _repeat(self) -> None:
        while not self._ended.wait(_LINE_SECONDS):
            if self._step:
                self._print()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def _search(engine: Engine, seconds: float) -> tuple[BestMove, ThinkingInfo]:
    """Search the engine's position for so long. Errors: AzError when it does not answer."""
    infos: list[ThinkingInfo] = []
    answers: list[BestMove] = []
    engine.go(Limits(movetime=round(1000 * seconds)), infos.append, answers.append)
    if not engine.wait(seconds + 30):
        raise AzError("the search from the start position did not answer in time; please report it")
    spoken = [info for info in infos if info.lines]
    if not spoken:
        raise AzError(f"the search ended without a report ({answers[0].error}); please report it")
    return answers[0], spoken[-1]


def check_command(report: Report, protocol: str, where: Installation) -> None:
    """Start the command that GUIs start; time it to its greeting."""
    hello = {"uci": ("uci", "uciok"), "usi": ("usi", "usiok"), "gtp": ("protocol_version", "= 2")}[protocol]
    command = where.executable(protocol)
    if command is None:
        repair = f"{where.install} {where.requirement()}"
        report.say("hint", protocol, f"{where.folder} has no az-engine-{protocol}; to have one: {repair}")
        return
    words = f"{hello[0]}\nquit\n"
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [command], input=words, capture_output=True, text=True, timeout=_HANDSHAKE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no answer in {_HANDSHAKE_SECONDS:.0f} s"
        report.say("fail", protocol, f"{command} does not start ({reason}); install az-engine again")
        return
    if hello[1] in done.stdout.splitlines() and done.returncode == 0:
        milliseconds = 1000 * (time.perf_counter() - began)
        report.say("ok", protocol, f"{command} starts, greets and quits in {milliseconds:.0f} ms")
    else:
        report.say("fail", protocol, f"{command} does not greet: {(done.stderr or done.stdout).strip()[-300:]}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=2.0, help="length of the search (default 2)")
    parser.add_argument("--programs", action="store_true", help="print what to enter in GUIs and match tools")
    parser.add_argument("--details", action="store_true", help="print all findings")
    parser.add_argument("--json", action="store_true", help="print all findings, one JSON object a line")


def main(args: argparse.Namespace) -> int:
    """Check; 0 when a game can be played."""
    if not 0 < args.seconds <= 3600:
        raise AzError(f"--seconds must be more than 0 and at most 3600, not {args.seconds}")
    where = Installation.current()
    report = Report(as_json=args.json, details=args.details)
    games = [name for name in game_names() if embedded_net(name)]
    protocols = {name: get_game(name).protocol for name in games}
    if args.programs:
        for name, protocol in protocols.items():
            report.recipes(name, recipes(protocol, where))
        return 0
    check_machine(report, where)
    check_onnxruntime(report, where)
    check_cache(report)
    for name in game_names():
        if name in games:
            check_game(report, name, args.seconds)
        else:
            report.say("hint", name, f"no net inside this package; make one with az-engine train --game {name}")
    if not games:
        report.say(
            "fail",
            "nets",
            f"there is no net inside this package: {where.install} --force-reinstall {where.requirement()}",
        )
    for protocol in protocols.values():
        check_command(report, protocol, where)
    if not args.json:
        print(_verdict(report, where))
    return report.failed


def _verdict(report: Report, where: Installation) -> str:
    if report.failed:
        return "\nGames cannot be played yet: mend what is marked fail, then check again."
    return f"""
Everything works. Next:
  {where.command}                    play, analyse and review in your browser
  {where.command} play               in this terminal; --game shogi, --game go
  {where.command} check --programs   what to enter in your chess, shogi or Go program"""

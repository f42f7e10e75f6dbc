"""The command line: ``az-engine COMMAND ...``.

A command is a module with ``HELP`` (what it does, for ``--help``), ``add_arguments(parser)`` and ``main(args) -> int``
(the exit status); it is imported only when it is called. Known faults (:class:`AzError`) end here as one sentence.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import importlib
import io
import os
import sys
import threading
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from . import __version__
from .arguments import Parser
from .engine.errors import AzError

START = "start"  # what az-engine alone does
COMMANDS = {
    START: ("az_engine.commands.start", "the page in your browser: play, analyse and review; az-engine alone does it"),
    "uci": (
        "az_engine.protocols.uci.uci",
        "play chess in any UCI program (also the argument-free command az-engine-uci)",
    ),
    "usi": (
        "az_engine.protocols.uci.usi",
        "play shogi in any USI program (also the argument-free command az-engine-usi)",
    ),
    "gtp": ("az_engine.protocols.gtp", "play Go in any GTP program (also the argument-free command az-engine-gtp)"),
    "analysis": ("az_engine.protocols.analysis", "analyse many positions at a time, as `katago analysis` does"),
    "play": ("az_engine.terminal.command", "play any of the games in this terminal"),
    "serve": ("az_engine.protocols.serve", "play with many clients over the network, all games in one process"),
    "connect": ("az_engine.protocols.connect", "play on a machine where az-engine serve runs, from a program here"),
    "lichess": ("az_engine.protocols.lichess", "analyse on lichess.org with the engine of this machine"),
    "check": ("az_engine.commands.check", "see that everything works, and how to enter az-engine in each program"),
    "nets": ("az_engine.commands.nets", "list the nets inside the package"),
    "bench": ("az_engine.bench.speed.command", "measure speed: rules, search, self-play, starts, the server, a GPU"),
    "match": ("az_engine.bench.match.command", "let engines play each other, with Elo differences"),
    "rate": ("az_engine.bench.ratings.command", "ratings of all players from files of results"),
    "review": ("az_engine.commands.review", "judge a whole game: a page with its mistakes, a record with comments"),
    "regret": ("az_engine.bench.positions.regret", "what the moves of players give away, judged by a stronger engine"),
    "suite": ("az_engine.bench.positions.suite", "how many positions of a suite (chess: EPD, Go: .tst) players solve"),
    "convert": ("az_engine.commands.convert", "game records from one format to another: PGN, CSA, KIF, position lines"),
    "import": ("az_engine.models.foreign.importer", "convert a net of Lc0, KataGo, dlshogi or miniosl"),
    "export": ("az_engine.models.foreign.exporter", "hand a net to Lc0 or dlshogi"),
    "label": ("az_engine.models.label.command", "make training data with any UCI, USI or GTP engine, or a net"),
    "train": ("az_engine.models.train.command", "train a net: from games against itself, or on labelled positions"),
    "distil": ("az_engine.models.distil.command", "train Go nets that see komi and rules from a KataGo net"),
    "selfplay": (
        "az_engine.models.selfplay.play.worker",
        "play games for a run, beside the processes that train starts",
    ),
    "report": ("az_engine.models.report.command", "figures of the papers: search, scaling with time, architectures"),
    "plot": ("az_engine.models.report.runpage", "write the page of a training run: curves, settings, games"),
    "completion": ("az_engine.completion", "complete commands and options in bash, zsh and fish"),
}
_GROUPS = {
    "play": (START, "play", "uci", "usi", "gtp", "serve", "connect", "lichess"),
    "look": ("check", "review", "analysis", "convert", "nets"),
    "measure": ("match", "rate", "bench", "suite", "regret"),
    "make nets": ("train", "distil", "label", "selfplay", "plot", "report", "import", "export"),
    "more": ("completion", "version"),
}
# command -> (what of it, the extra that this needs)
_NEEDS = {
    "train": (("it", "train"), ("--ray", "ray")),
    "distil": (("it", "train"),),
    "selfplay": (("it", "train"),),
    "report": (("it", "train"),),
    "import": (("--int8", "int8"),),
    "label": (("--ray", "ray"),),
    "match": (("--ray", "ray"),),
}

_LEAST_STACK = 256 << 10  # bytes; with 64 KiB the process crashes
_EXTRA_OF = {  # packages that only an extra brings -> the extra
    "onnxruntime": "cpu",
    "ray": "ray",
    "matplotlib": "plots",
    "onnx": "int8",
    "safetensors": "train",
    "torch": "train",
}


def run() -> NoReturn:
    """The program: :func:`main`, then the end of the process, also in the middle of a net's loading."""
    status = main()
    daemons = [thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()]
    if daemons and all(daemons):
        # The interpreter's own end would unwind each of these threads where it is: within C++ that aborts the process.
        atexit._run_exitfuncs()  # noqa: SLF001  nothing public runs them
        os._exit(status)
    sys.exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status: 0 success, 1 a failed check, 2 a known fault, in one sentence, 130 Ctrl-C.

    It is 1, too, where standard output is full or closed; where its reader has seen enough, 0.
    """
    name, *arguments = [*(sys.argv[1:] if argv is None else argv)] or [START]
    if sys.stdout is None:  # `az-engine nets >&-`, or a program without a terminal on Windows
        sys.stdout = _ClosedOutput()
    try:
        try:
            return _status(name, arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `az-engine nets | head`: the reader has seen enough
        _discard_output()
        return 0
    except OSError as error:
        if not _is_output_lost():
            raise
        _discard_output()
        reason = error.strerror
    print(f"az-engine: the output cannot be written ({reason}); make room, or write it elsewhere", file=sys.stderr)
    return 1


def _status(name: str, arguments: list[str]) -> int:
    """The exit status of one command; its known fault is written on stderr."""
    try:
        return _run(name, arguments)
    except AzError as error:
        fault = str(error)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA_OF:
            raise
        fault = f"{name} needs {package}, which is not installed: {_how_to_add(_EXTRA_OF[package])}"
    except KeyboardInterrupt:
        return 130
    print(f"az-engine: {fault}", file=sys.stderr)
    return 2


class _ClosedOutput(io.TextIOBase):
    """In place of a standard output that is closed: refuses what a command writes; not one that writes nothing."""

    encoding = "utf-8"
    _refused = False

    def write(self, text: str) -> int:
        self._refused |= bool(text)
        self.flush()
        return 0

    def flush(self) -> None:
        if self._refused:
            raise OSError(errno.EBADF, "it is closed")


def _is_output_lost() -> bool:
    """Whether standard output takes no more: what did not fit may be forgotten, so that a flush alone does not tell."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _discard_output() -> None:
    """Let what was not written go nowhere, so that the end of the process does not try once more."""
    if isinstance(sys.stdout, _ClosedOutput):
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    else:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_stack() -> None:
    """Errors: AzError where the libraries' threads would have so little stack that they end the process."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:  # Windows has none, and no such limits
        return
    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if 0 <= size < _LEAST_STACK:
        raise AzError(f"the stack is limited to {size >> 10} KiB, which is too little: ulimit -s 8192, and again")


def _run(name: str, arguments: list[str]) -> int:
    if name in ("-h", "--help", "help") and arguments:
        name, arguments = arguments[0], [*arguments[1:], "--help"]
    if name in ("-h", "--help", "help"):
        print(_help())
        return 0
    if name in ("-V", "--version", "version"):
        Parser(prog="az-engine version", description="Print the version.").parse_args(arguments)
        print(f"az-engine {__version__} (Python {sys.version.split()[0]}, {sys.platform})")
        return 0
    command, parsed = parse(name, arguments)
    _check_stack()
    try:
        status: int = command.main(parsed)
        return status
    except OSError as error:
        if not _is_given(error.filename, parsed):
            raise
        raise AzError(
            f"{error.filename} cannot be read or written ({error.strerror}); give another path or make room"
        ) from error


def _is_given(file: object, arguments: argparse.Namespace) -> bool:
    """Whether a path is one that an argument names, or lies above or below it."""
    if not isinstance(file, str):
        return False
    path = Path.cwd() / file
    values = (v for value in vars(arguments).values() for v in (value if isinstance(value, list | tuple) else [value]))
    given = [Path.cwd() / value for value in values if isinstance(value, str | Path)]
    return any(path.is_relative_to(one) or one.is_relative_to(path) for one in given)


def parse(name: str, arguments: Sequence[str]) -> tuple[ModuleType, argparse.Namespace]:
    """The module of a command and its parsed arguments.

    Errors: AzError for an unknown command; argparse ends the process (status 2) when it does not like the arguments.
    """
    if name.startswith("-"):
        raise AzError(
            f"{name} is no command, and one comes first, as in az-engine play --game go; az-engine --help lists them"
        )
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise AzError(f"there is no command {name!r}{meant}: choose among {', '.join(COMMANDS)}, version")
    command, parser = parser_of(name)
    return command, parser.parse_args(arguments)


def parser_of(name: str) -> tuple[ModuleType, Parser]:
    """The module of an existing command and the parser of its arguments."""
    command = importlib.import_module(COMMANDS[name][0])
    parser = Parser(prog=f"az-engine {name}", description=command.HELP)
    parser.note = lambda: _missing(name)
    command.add_arguments(parser)
    return command, parser


def _missing(name: str) -> str:
    """Lines that say which extras a command needs that are not installed, and what adds them."""
    from .commands.installation import Installation

    here = Installation.current()
    needs = [(what, extra) for what, extra in _NEEDS.get(name, ()) if not here.has(extra)]
    return "\n".join(f"{what} needs the extra {extra}; to add it: {here.add(extra)}" for what, extra in needs)


def _how_to_add(extra: str) -> str:
    from .commands.installation import Installation

    return Installation.current().add(extra)


def uci() -> int:
    return main(["uci", *sys.argv[1:]])


def usi() -> int:
    return main(["usi", *sys.argv[1:]])


def gtp() -> int:
    return main(["gtp", *sys.argv[1:]])


def _help() -> str:
    lines = {name: line for name, (_, line) in COMMANDS.items()} | {"version": "the version"}
    width = max(map(len, lines)) + 2
    groups = (
        f"{title}:\n" + "\n".join(f"  {name:{width}}{lines[name]}" for name in names)
        for title, names in _GROUPS.items()
    )
    commands = "\n\n".join(groups)
    return f"""\
az-engine {__version__}: AlphaZero and AlphaGo Zero as an engine

usage: az-engine [COMMAND [arguments]]     az-engine help COMMAND says more

{commands}

first steps:
  az-engine                        play, analyse and review in a browser
  az-engine check                  does everything work here? --programs: what to enter in your program
  az-engine play                   play chess in this terminal; --game go, --game shogi
  az-engine uci                    what a chess program starts; type `uci`, `go nodes 400`, `quit` to see it talk
  az-engine train --game go --size 9 --minutes 60     train a net of your own"""

"""An analysis that nobody stops, in bounded memory: speed, memory, reports and pauses.

    python -m tests.load.endless --game GAME --flag=--threads=1

Further options look into what makes room in a full tree, see ``--help``. Linux only, but for these: it reads /proc.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from az_engine.bench.speed.measure import Measurement, show
from az_engine.bench.speed.startup import add_net_argument, ask, check_net, dialogue, engine_of
from az_engine.engine.blocking import search as searched
from az_engine.engine.engine import Engine
from az_engine.engine.errors import EngineProcessError, OptionError, counted
from az_engine.engine.games import game_names, get_game
from az_engine.engine.games.base import Game
from az_engine.engine.limits import Limits
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.nodes import DEPTH_SUM, NODES
from az_engine.engine.search.tree.recycling import recycle
from az_engine.engine.search.tree.tree import Tree
from az_engine.protocols.clients.process import EngineProcess

_PART = 0.1  # of the search, at its beginning and its end, whose speeds are compared
_LEAST_S = 4.0  # of an analysis, so that it reports
_PAUSES = 7  # recyclings of each tree that are timed
_MOVE_MS = 1000  # of a search whose time is measured
_CLOSE = 0.02  # of the visits, by which two searches of one position may differ
_SHIFT = 1.001  # of CPuct in a control search: too little to matter, enough for other nodes at some time
POSITIONS = (  # of chess: openings, middlegames and endgames, quiet and sharp
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbqkb1r/ppp2ppp/4pn2/8/2PpP3/3P4/PPQ2PPP/RNB1KBNR w KQkq - 0 5",
    "r1bqkb1r/1pppnppp/p1n5/4p3/2P5/P3P3/1PQP1PPP/RNB1KBNR w KQkq - 1 5",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "rnbqkbnr/1pp2ppp/p2p4/8/P2pP3/5N2/1PP2PPP/RNBQKB1R w KQkq - 0 5",
    "8/5pk1/4p1p1/3pP2p/1p1P3P/1P3PP1/1rR3K1/8 w - - 0 40",
    "8/2p2k2/3p2p1/1p1P1p2/pP3P2/P1P2K2/6P1/8 w - - 0 40",
    "5r2/7k/2p5/2P1p2p/4P2P/1BPP1P2/1K6/8 w - - 0 1",
    "r5k1/8/8/p5p1/P5P1/1N2p3/4K1P1/8 w - - 0 1",
)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", choices=game_names(), default="chess", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    add_net_argument(parser)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="M", help="of the search (default: %(default)s)")
    usual = EngineOptions().hash_mb
    parser.add_argument("--hash", type=int, default=usual, metavar="MIB", help="memory allowed (default: %(default)s)")
    parser.add_argument("--size", type=int, default=19, metavar="N", help="lines of a Go board (default: %(default)s)")
    help_text = "of the engine, such as --flag=--threads=1"
    parser.add_argument("--flag", action="append", default=[], metavar="FLAG", help=help_text)
    others = parser.add_mutually_exclusive_group()
    others.add_argument(
        "--pauses", metavar="MIB,MIB", default="", help="instead, time recyclings of trees of these sizes"
    )
    others.add_argument(
        "--against",
        type=int,
        default=0,
        metavar="MIB",
        help="instead, compare the best moves' shares of the visits in ten chess positions with those by this Hash",
    )
    help_text = "instead, have the engine move in a second N times, its Hash full"
    others.add_argument("--moves", type=int, default=0, metavar="N", help=help_text)
    help_text = "instead, compare the first tenth of --nodes simulations in one tree with the last, by plies, too"
    others.add_argument("--plies", action="store_true", help=help_text)
    help_text = "of each search of --against, or of --plies (default: %(default)s)"
    parser.add_argument("--nodes", type=int, default=2_000_000, metavar="N", help=help_text)
    args = parser.parse_args(words)
    check_net(args)
    if args.pauses:
        if not re.fullmatch("[0-9]+(,[0-9]+)*", args.pauses):
            raise OptionError("--pauses takes sizes in MiB, such as 16,64,256")
        measurements: Iterable[Measurement] = (_pause(args, int(size)) for size in args.pauses.split(","))
    elif args.against:
        if args.game != "chess":
            raise OptionError("--against has positions of chess only")
        measurements = _shares(args)
    elif args.moves:
        measurements = _moves(args)
    elif args.plies:
        measurements = _plies(args)
    elif Path("/proc/self/status").is_file():
        measurements = _endless(args)
    else:
        raise OptionError("this bench reads /proc and works on Linux only")
    show(measurements, as_json=args.json)
    return 0


class _Reports:
    """What an engine reports of an analysis, in seconds that its process computed: other work does not count."""

    def __init__(self, pid: int) -> None:
        self._pid, self._idle = pid, computed(pid)
        self.start = self.last = time.perf_counter()
        self.silence = 0.0  # s, the longest between two reports
        self.seconds = self.work = 0.0  # of the whole search: by the clock, and computed
        self.nodes: list[tuple[float, int]] = [(0.0, 0)]  # (seconds, simulations) of each report
        self.hashfull: list[int] = [0]
        self.messages: list[str] = []

    def read(self, line: str) -> None:
        """Read a line of UCI, USI or GTP; simulations are the visits of all moves where nothing else tells them."""
        if line.startswith("info string"):
            self.messages.append(line.strip())
        counts = re.findall(r"\bnodes (\d+)", line) or re.findall(r"\bvisits (\d+)", line)
        if not line.startswith("info") or not counts:
            return
        now = time.perf_counter()
        self.silence, self.last = max(self.silence, now - self.last), now
        self.nodes.append((self.computed, sum(map(int, counts))))
        self.hashfull += [int(full) for full in re.findall(r"\bhashfull (\d+)", line)]

    @property
    def computed(self) -> float:
        """Since the search began."""
        return computed(self._pid) - self._idle

    def speed(self, begin: float, end: float) -> float:
        """Simulations a second between two times, as far as reports tell."""
        within = [report for report in self.nodes[1:] if report[0] <= end]
        until, after = (within or self.nodes[:2])[-1]
        since, before = [(0.0, 0), *(report for report in self.nodes if report[0] <= begin and report[0] < until)][-1]
        return (after - before) / max(until - since, 1e-3)


def _endless(args: argparse.Namespace) -> Iterator[Measurement]:
    game = get_game(args.game)
    talk = dialogue(game)
    flags = [flag for flag in talk.flags if flag not in ("--nodes-limit", "1")]
    with engine_of(args, "--hash", str(args.hash), *flags, *args.flag) as process:
        ask(process, talk.hello)
        ask(process, (talk.ready[0].replace("boardsize 9", f"boardsize {args.size}"), talk.ready[1]))
        reports, idle, most = _analyse(process, game, 60 * args.minutes)
        again, _, _ = _analyse(process, game, max(60 * args.minutes * _PART, _LEAST_S))
    seconds, work = reports.seconds, reports.work
    messages = "; ".join(reports.messages) or "nothing"
    note = f"in {seconds / 60:.1f} minutes of {talk.think}, of which it computed {work / 60:.1f}; it said {messages}"
    yield Measurement("simulations", reports.nodes[-1][1], "", note=note)
    first, last = reports.speed(0.0, _PART * work), reports.speed((1 - _PART) * work, work)
    how = f"a second that it computed, in {_PART:.0%} of them"
    yield Measurement("speed at the end", last, "simulations/s", "speed at the beginning", first, note=how)
    peer = "a new analysis after it, as long as its beginning"
    yield Measurement("speed at the end", last, "simulations/s", peer, again.speed(0.0, again.work), note=how)
    yield Measurement("longest silence", reports.silence, "s")
    full = f"hashfull at the end {reports.hashfull[-1]}, most {max(reports.hashfull)}"
    yield Measurement("most resident", most, "MiB", "Hash and its first report", args.hash + idle, note=full)


def _analyse(process: EngineProcess, game: Game, seconds: float) -> tuple[_Reports, float, float]:
    """An analysis of a new game's start position; what it reports, and its resident MiB at first and at most."""
    talk = dialogue(game)
    if game.protocol != "gtp":
        process.send("ucinewgame" if game.protocol == "uci" else "usinewgame")
    for text in talk.position(game, ()):
        process.send(text)
    process.send(talk.think)
    process.until("info", 120.0)  # GTP loads the net no sooner
    idle = most = _resident(process.pid)
    reports = _Reports(process.pid)
    while reports.seconds < seconds:
        process.drain(1.0, reports.read)
        reports.seconds = time.perf_counter() - reports.start
        most = max(most, _resident(process.pid))
    reports.silence = max(reports.silence, time.perf_counter() - reports.last)
    reports.work = reports.computed
    ask(process, talk.stop)
    return reports, idle, most


_TICKS = 100  # a second, in Linux's /proc


def computed(pid: int) -> float:
    """Seconds that a process has computed, on all cores together. Errors: EngineProcessError when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError as error:
        raise EngineProcessError(f"process {pid} has ended") from error
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise EngineProcessError(f"process {pid} has ended")


def _pause(args: argparse.Namespace, megabytes: int) -> Measurement:
    """How long one recycling takes, in the start position."""
    game = get_game(args.game)
    evaluator = load_evaluator(args.net or "", game)
    line, tree = game.initial(), Tree(megabytes << 20)
    times, chosen, nodes = list[float](), list[float](), 0
    recycle(Tree(1 << 20), 1)  # its kernels are compiled

    def late() -> bool:
        chosen.append(time.thread_time())
        return False

    while len(times) < _PAUSES:
        search = Search(game, tree, evaluator, SearchParams(), game.window(line))
        search.run(lambda: tree.full)
        if search.error is not None:
            raise search.error
        nodes = int(tree.counters[NODES])
        start = time.thread_time()
        recycle(tree, 1, late)
        times.append(1000 * (time.thread_time() - start))
        chosen[-1] = 1000 * (chosen[-1] - start)
    left = int(tree.counters[NODES])
    first = statistics.median(chosen)
    note = (
        f"computed by one thread; worst {max(times):.1f} ms of {_PAUSES}; a stop ends the first {first:.1f}; "
        f"{counted(nodes, 'node')}, of which {left:,} stay"
    )
    return Measurement(f"pause, {megabytes} MiB", statistics.median(times), "ms", note=note)


def _shares(args: argparse.Namespace) -> Iterator[Measurement]:
    """How searches of two sizes of Hash share out their visits; a control, of the large one, shows what chance does."""
    close = alike = 0
    limits, params = Limits(nodes=args.nodes), SearchParams()
    shifted = replace(params, c_puct=_SHIFT * params.c_puct)
    for number, fen in enumerate(POSITIONS, 1):
        shares, nodes = list[dict[str, float]](), list[int]()
        for size, settings in ((args.against, params), (args.hash, params), (args.against, shifted)):
            options = EngineOptions(hash_mb=size, threads=1, move_stats=True, weights_file=args.net or "")
            engine = Engine(args.game, replace(options, search=settings))
            engine.set_position(fen, [])
            best, last = searched(engine, limits)
            engine.close()
            if best.error is not None or last is None:
                raise EngineProcessError(f"the search failed: {best.error}")
            visits = sum(move.visits for move in last.move_stats)
            shares.append({move.move: move.visits / visits for move in last.move_stats})
            nodes.append(best.nodes)
        large, small, control = shares
        move = max(large, key=large.__getitem__)
        close += abs(small[move] - large[move]) <= _CLOSE
        alike += abs(control[move] - large[move]) <= _CLOSE
        note = f"{fen}; {nodes[1]:,} nodes; best with Hash {args.hash}: {max(small, key=small.__getitem__)}"
        what = f"{number}: share of {move} with Hash {args.hash}"
        yield Measurement(what, small[move], "", f"Hash {args.against}", large[move], note=note)
        what = f"{number}: with Hash {args.against} and CPuct times {_SHIFT}"
        yield Measurement(what, control[move], "", f"Hash {args.against}", large[move])
    yield Measurement(f"within {_CLOSE}", close, "", "positions", len(POSITIONS))
    yield Measurement(f"within {_CLOSE}, control", alike, "", "positions", len(POSITIONS))


def _plies(args: argparse.Namespace) -> Iterator[Measurement]:
    """Whether a search slows down because its paths grow longer, or because each step takes longer."""
    game = get_game(args.game)
    evaluator = load_evaluator(args.net or "", game)
    line, tree = game.initial(), Tree(args.hash << 20)
    visits, speeds = round(_PART * args.nodes), list[tuple[float, float]]()
    for part in (1, *[visits] * round(1 / _PART)):  # the first compiles
        before, start = int(tree.counters[DEPTH_SUM]), time.thread_time()
        search = Search(game, tree, evaluator, SearchParams(), game.window(line), visits=part)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        seconds = time.thread_time() - start
        speeds.append((part / seconds, (int(tree.counters[DEPTH_SUM]) - before) / seconds))
    (_, first, *_, last), how = speeds, f"a second that it computed; {visits:,} simulations each"
    for number, unit in enumerate(("simulations/s", "plies/s")):
        yield Measurement("last tenth", last[number], unit, "first tenth", first[number], note=how)


def _moves(args: argparse.Namespace) -> Iterator[Measurement]:
    """What ``Limits.movetime`` gives while the tree is full."""
    engine = Engine(args.game, EngineOptions(hash_mb=args.hash, threads=1, weights_file=args.net or ""))
    engine.set_position(None, [])
    full = list[int]()
    while not full or full[-1] > full[0]:  # it has recycled once
        _, last = searched(engine, Limits(movetime=4 * _MOVE_MS))
        full.append(0 if last is None else last.hashfull)
    times, nodes = list[float](), list[int]()
    for _ in range(args.moves):
        start = time.perf_counter()
        best, _ = searched(engine, Limits(movetime=_MOVE_MS))
        times.append(time.perf_counter() - start)
        nodes.append(best.nodes)
    engine.close()
    note = f"{args.moves} searches of {_MOVE_MS} ms less MoveOverhead, Hash {args.hash}; shortest {min(times):.3f} s"
    yield Measurement("longest", max(times), "s", note=note)
    yield Measurement("fewest nodes", min(nodes), "", "median", statistics.median(nodes))


if __name__ == "__main__":
    main()

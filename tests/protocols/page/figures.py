"""How fast the page is: first board, first analysis, what reports cost browser and server, reviews, a run's page.

    python -m tests.protocols.page.figures [SECONDS]

Needs Chromium and a quiet machine.
"""

from __future__ import annotations

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.info import ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.tree import Tree
from az_engine.models.report.runpage import write_run_page
from az_engine.protocols.page import report
from az_engine.protocols.page.review import judge_game
from az_engine.protocols.page.scoresheet import Scoresheet

from ...models.report.test_runpage import make_run
from .browser import PATIENCE_S, Browser, Chromium

GAMES = {"chess": "e2e4 e7e5 g1f3", "shogi": "7g7f 3c3d 2g2f", "go": "E5 E3 G4"}
ROUNDS = 5
SETTLING_S = 2.0  # of the page that has just opened
SOONER_S = 5.0  # a sparse net fills its tree in some seconds: reports are counted in this time
REVIEWED = (("chess", ""), ("chess", "chess-conv"), ("shogi", ""), ("go9", ""))
PLIES, VISITS = 60, 200
PIECES = "document.querySelectorAll('.board .piece').length > 2"
COUNT = """(() => { window.reports = 0; const hear = az.view.hear;
  az.view.hear = function (told) { if (told.is === "report") window.reports++; hear.call(this, told); }; })()"""


@contextmanager
def running_server() -> Iterator[int]:
    """``az-engine serve`` with everything loaded; gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", "--port", "0", "--http-port", str(port)]
    process = subprocess.Popen([sys.executable, "-m", "az_engine", *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        while '"ready"' not in process.stderr.readline():
            assert process.poll() is None, "the server has ended"
        yield port
    finally:
        process.terminate()
        process.communicate()


def cpu_seconds(root: int) -> float:
    """CPU time of a process and of those below it."""
    total, todo = 0, [root]
    while todo:
        process = todo.pop()
        try:
            words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += int(words[11]) + int(words[12])
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                todo += map(int, children.read_text().split())
        except OSError:  # it has ended
            continue
    return total / os.sysconf("SC_CLK_TCK")


def open_page(server: str, chromium: Chromium, game: str, seconds: float) -> None:
    """Seconds to the board and from there to the first report; the browser's share of a core while reports come."""
    boards, analyses, share, rate = [], [], 0.0, 0.0
    for turn in range(ROUNDS + 1):
        with Browser(chromium) as browser:
            began = time.monotonic()
            browser.open(f"{server}/#game={game}&moves={quote(GAMES[game])}&view=analyse")
            browser.wait(f"window.az && az.match.here && {PIECES}")
            boards.append(time.monotonic() - began)
            browser.wait("az.view.report")
            analyses.append(time.monotonic() - began - boards[-1])
            if turn == ROUNDS:
                browser.do(COUNT)
                time.sleep(SETTLING_S)
                began, before, seen = time.monotonic(), cpu_seconds(chromium.pid), browser.do("reports")
                time.sleep(seconds)
                elapsed = time.monotonic() - began
                share = (cpu_seconds(chromium.pid) - before) / elapsed
                rate = (browser.do("reports") - seen) / elapsed
            assert browser.faults == []
    print(
        f"{game}: board {statistics.median(boards[1:]):.2f} s, analysis {statistics.median(analyses[1:]):.2f} s later; "
        f"{rate:.1f} reports a second, browser {share:.1%} of a core, {share / rate * 10:.1%} at 10 a second",
        flush=True,
    )


def tell_search(game: str, seconds: float) -> None:
    """CPU time of the server for a report: that of the search's own thread, and of the session that writes it."""
    name = "go9" if game == "go" else game
    engine, sheet = Engine(name, EngineOptions(threads=1, multipv=5, move_stats=True)), Scoresheet(game)
    infos: list[ThinkingInfo] = []
    engine.ready()
    sheet.hold(None, GAMES[game].split())
    engine.set_position(None, GAMES[game].split())
    limits = Limits(movetime=round(1000 * seconds), report_ms=100, estimates=game == "go")
    engine.go(limits, infos.append, lambda _: None)
    engine.wait()
    reports = [info for info in infos if info.message is None]
    shares = []
    for _ in range(3):
        began = time.process_time()
        for info in reports:
            json.dumps(report.of_search(info, sheet.written))
        shares.append((time.process_time() - began) / len(reports))
    inform = _seconds_to_inform(engine)
    engine.close()
    written = statistics.median(shares)
    print(
        f"{game}: a report takes the server {1000 * (inform + written):.2f} ms, "
        f"{10 * (inform + written):.1%} of a core at 10 a second",
        flush=True,
    )


def _seconds_to_inform(engine: Engine) -> float:
    """CPU time that a report takes from the search."""
    thinking, told = engine._thinking, list[ThinkingInfo]()
    assert thinking is not None
    search = engine._search
    assert search is not None
    thinking._search, thinking._on_info = search, told.append
    began = time.process_time()
    for _ in range(20):
        thinking._inform(search)
    assert len(told) == 20
    return (time.process_time() - began) / 20


def review(name: str, net: str) -> None:
    """CPU time of a review with one thread, beside that of bare searches of the same positions with as many visits."""
    game, source = get_game(name), random.Random(5)
    lines, moves = [game.initial()], list[str]()
    while len(moves) < PLIES:
        move = source.choice(game.legal_moves(lines[-1]).tolist())
        moves.append(game.format_move(lines[-1][-1], move))
        lines.append(game.play(lines[-1], move))
    sheet, ends = Scoresheet(name.rstrip("0123456789")), game.territory is not None
    sheet.hold(game.format_position(lines[0][-1]), moves)
    evaluator, cache = load_evaluator(net, game), PositionCache(16 << 20, game.branching)
    assert evaluator.info is not None
    params, points = evaluator.info.settings(SearchParams()), game.planes[1] * game.planes[2] if ends else 0
    engine = Engine(name, EngineOptions(weights_file=net, threads=1))
    engine.ready()
    judge_game(engine, sheet, VISITS)
    reviews, searches = [], []
    for _ in range(3):
        engine.new_game()
        began = time.process_time()
        judge_game(engine, sheet, VISITS)
        reviews.append(time.process_time() - began)
        cache.clear()
        spent = 0.0
        for line in lines:
            tree = Tree(8 << 20, points)
            search = Search(
                game,
                tree,
                evaluator,
                params,
                game.window(line),
                cache=cache,
                visits=VISITS,
                scope=Scope(ownership=ends),
            )
            began = time.process_time()
            search.run(lambda: False)
            spent += time.process_time() - began
        searches.append(spent)
    engine.close()
    took, bare = statistics.median(reviews), statistics.median(searches)
    print(f"{name} {net}: review {took:.2f} s of CPU, its searches alone {bare:.2f} s, {bare / took:.2f}", flush=True)


def draw_run(chromium: Chromium, folder: Path) -> None:
    """The page of a run with 100 checkpoints and 50 games: its size, and the time to draw it."""
    points = [(x, y) for y in range(19) for x in range(19)][::2]
    words = "".join(f";{'BW'[i % 2]}[{chr(97 + x)}{chr(97 + y)}]C[+0.10]" for i, (x, y) in enumerate(points))
    run = make_run(folder / "run", 100, f"(;GM[1]SZ[19]{words})")
    page, times = run / "run.html", []
    write_run_page(run, page, {"learner": "waiting"})
    for _ in range(ROUNDS):
        with Browser(chromium) as browser:
            began = time.monotonic()
            browser.open(page.as_uri())
            browser.wait("document.querySelectorAll('.board .piece, .plot path').length > 20")
            times.append(time.monotonic() - began)
    games = page.read_text().count('"first":')
    size = page.stat().st_size / 1000
    print(f"a run's page, {games} games: {size:.0f} kB, drawn after {statistics.median(times):.2f} s")


def main(seconds: float = 20.0) -> None:
    print(f"load {os.getloadavg()[0]:.1f}, patience {PATIENCE_S:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as home, Chromium(Path(home) / "chromium") as chromium:
        with running_server() as port:
            for game in GAMES:
                open_page(f"http://localhost:{port}", chromium, game, SOONER_S if game == "chess" else seconds)
        for game in GAMES:
            tell_search(game, 3.0)
        for name, net in REVIEWED:
            review(name, net)
        draw_run(chromium, Path(home))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))

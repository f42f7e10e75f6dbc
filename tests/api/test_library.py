"""The Python library: what ``import az_engine`` offers, against python-chess, python-shogi and our own search."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import io
import json
import math
import re
import shutil
import subprocess
import sys
import threading
import time
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import chess
import chess.pgn
import chess.variant
import pytest
import shogi

import az_engine as az
from az_engine.api.options import Options
from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.params import EngineOptions, SearchParams

CHILD = [sys.executable, "-I", "-c"]


@pytest.fixture(scope="module")
def engine() -> Any:
    with az.Engine("chess", threads=1, hash_mb=16) as engine:
        yield engine


@pytest.mark.slow
@pytest.mark.parametrize("module", ["", ".api.engine", ".api.position", ".api.net", ".api.training"])
def test_examples_in_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"az_engine{module}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_import_loads_nothing() -> None:
    heavy = "{'numba', 'numpy', 'onnxruntime', 'torch', 'chess'}"
    code = f"import sys, az_engine; dir(az_engine); print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([*CHILD, code], capture_output=True, text=True, check=True).stdout == "[]\n"


SMALL: dict[str, float] = {
    "net.blocks": 1,
    "net.filters": 8,
    "learner.batch": 8,
    "selfplay.games": 4,
    "selfplay.max_moves": 12,
}
SMALL |= {"window.start": 1, "loop.first_positions": 8, "ladder.share": 0.0, "machine.workers": 0, "loop.log_steps": 1}


@pytest.mark.slow
def test_a_run_takes_a_loss_and_a_rate_of_ones_own(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []

    def loss(network: Any, batch: Any) -> Any:
        return {"own": 0.5 * network.losses(batch)["policy"]}

    run = az.Run(tmp_path / "run", "go3", steps=4, settings=SMALL)
    assert run.train(loss=loss, rate=lambda progress: 0.01 * (1 - progress), on_row=rows.append)
    steps = [row for row in rows if "own" in row]
    assert [row["loss"] == pytest.approx(row["own"]) for row in steps] == [True] * 4
    assert [row["rate"] for row in steps] == pytest.approx([0.01, 0.0075, 0.005, 0.0025], rel=0.01)
    assert not {"policy", "value"} & set(steps[0])
    assert az.Net(str(run.net), "go3").evaluate([az.Position("go3")])[0].priors
    longer = az.Run(tmp_path / "run", "go3", steps=6)
    assert longer.train()
    assert longer.log()[-1]["step"] == 6
    with pytest.raises(az.AzError, match="net"):
        az.Run(tmp_path / "run", "go3", settings={"net.blocks": 2})
    with pytest.raises(az.AzError, match="holds a run of go3"):
        az.Run(tmp_path / "run", "go5")
    with pytest.raises(az.AzError, match=r"selfplay\.visit"):
        az.Run(tmp_path / "other", "go3", settings={"selfplay.visit": 2})


@pytest.mark.slow
def test_self_play_gives_legal_games() -> None:
    games = list(az.self_play("go3", games=5, visits=6, max_moves=8, seed=1))
    assert len(games) == 5
    for game in games:
        position = az.Position("go3", moves=game.moves[:-1])
        assert game.moves[-1] in position.legal_moves
        assert all(sum(policy.values()) == pytest.approx(1) for policy in game.policies if policy)
        assert all(abs(value) <= 1 for value in game.values)


def test_self_play_with_the_net_inside() -> None:
    [game] = az.self_play("go7", "default", visits=2, max_moves=2)
    assert len(game.moves) == 2


LOOSE: Any = az  # for calls that type checkers refuse


def test_limits_have_two_names() -> None:
    assert az.Limits(visits=5, time=2) == az.Limits(nodes=5, seconds=2)
    assert replace(az.Limits(visits=5), nodes=7) == az.Limits(nodes=7)


def test_options_are_the_engines() -> None:
    decided = {"weights_file", "search", "multipv", "move_stats", "chess960"}
    of_engine = {f.name: f.type for cls in (EngineOptions, SearchParams) for f in fields(cls) if f.name not in decided}
    assert {name: kind.__forward_arg__ for name, kind in Options.__annotations__.items()} == of_engine


def test_positions_are_equal_after_the_same_game() -> None:
    start = az.Position("chess")
    assert start == az.Position("chess", start.text) == az.Position.of(chess.Board())
    assert hash(start) == hash(az.Position("chess"))
    assert start != start.play("e2e4")
    assert start.play("e2e4") == az.Position("chess", moves=["e2e4"])
    there_and_back = start.play("g1f3", "g8f6", "f3g1", "f6g8")
    assert there_and_back != start
    assert az.Position("go9") != az.Position("go9", komi=5.5)
    assert az.Position("go9") != az.Position("go13")
    assert start != "chess"
    assert len({start, az.Position("chess"), start.play("e2e4")}) == 2


@pytest.mark.parametrize(
    "position",
    [
        az.Position("chess", moves=["e2e4"]),
        az.Position("chess", variant="chess960"),
        az.Position("go9", komi=5.5),
        az.Position("shogi", moves=["7g7f"]),
    ],
)
def test_a_deep_copy_is_equal(position: az.Position) -> None:
    """It has all that another process gets."""
    other = deepcopy(position)
    assert (other, hash(other), other.variant) == (position, hash(position), position.variant)
    assert other.play(*other.legal_moves[:1]) == position.play(*position.legal_moves[:1])


@pytest.mark.slow
@pytest.mark.parametrize(("game", "moves"), [("shogi", "7g7f 3c3d 2g2f 8c8d 2f2e"), ("go9", "E5 C3 G7 C7 F3")])
def test_positions_are_equal_whatever_memory_holds(game: str, moves: str) -> None:
    assert len({az.Position(game, moves=moves.split()) for _ in range(30)}) == 1


@pytest.mark.slow
def test_the_next_call_ends_an_analysis_that_was_left(engine: az.Engine) -> None:
    reports = engine.analysis(az.Position())
    for _ in reports:
        assert engine.play(az.Position(moves=["e2e4"]), az.Limits(nodes=3)).move
    left = engine.analysis(az.Position())
    next(left)
    assert next(engine.analysis(az.Position())).nodes
    assert next(left, None) is None


@pytest.mark.slow
def test_an_analysis_is_a_context_and_asynchronous(engine: az.Engine) -> None:
    with engine.analysis(az.Position()) as reports:
        first = next(reports)
        assert next(reports).nodes >= first.nodes
    assert next(reports, None) is None

    async def growing() -> list[int]:
        seen = []
        async with engine.analysis(az.Position()) as reports:
            async for report in reports:
                seen.append(report.nodes)
                if len(seen) == 3:
                    break
        return seen

    async def cancelled() -> None:
        async with engine.analysis(az.Position()) as reports:
            async for _ in reports:
                pass

    seen = asyncio.run(growing())
    assert len(seen) == 3
    assert seen == sorted(seen)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(cancelled(), 0.5))
    assert engine.play(az.Position(), az.Limits(nodes=3)).move


def test_every_name_is_there() -> None:
    assert set(az.__all__) <= set(dir(az))
    for name in az.__all__:
        assert getattr(az, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'motor'"):
        az.motor  # noqa: B018


def test_games_and_nets() -> None:
    assert {"chess", "go", "shogi"} <= set(az.games())
    assert {net.info.game for net in az.nets()} >= {"chess", "shogi"}
    assert all(net.path.is_file() and len(net.sha256) == 64 for net in az.nets())


def test_a_position_is_what_python_chess_says() -> None:
    board = chess.Board()
    position = az.Position("chess")
    for uci in "e2e4 c7c5 g1f3 d7d6 f1b5 c8d7 b5d7 d8d7 e1g1".split():
        board.push_uci(uci)
        position = position.play(uci)
        assert position.text == board.fen(en_passant="legal")
        assert sorted(position.legal_moves) == sorted(move.uci() for move in board.legal_moves)
        assert position.turn == (0 if board.turn else 1)
    assert az.Position.of(board).text == position.text
    assert az.Position.of(board).moves == position.moves
    assert az.Position.of(position) is position
    with pytest.raises(TypeError, match="AtomicBoard is no board of chess"):
        az.Position.of(chess.variant.AtomicBoard())


def test_play_leaves_the_position_as_it_was() -> None:
    start = az.Position("shogi")
    legal = start.legal_moves
    later = start.play("7g7f", "3c3d")
    assert start.moves == ()
    assert start.legal_moves == legal
    assert later.moves == ("7g7f", "3c3d")
    assert later.text != start.text


def test_a_board_of_python_shogi() -> None:
    board = shogi.Board("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSN1 b - 1")
    for usi in ("7g7f", "3c3d", "8h2b+"):
        board.push_usi(usi)
    position = az.Position.of(board)
    assert position.text == board.sfen()
    assert len(position.moves) == len(board.move_stack) == 3


def test_chess960(engine: az.Engine) -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/RK6 w A - 0 1", chess960=True)
    position = az.Position.of(board)
    assert set(position.legal_moves) == {move.uci() for move in board.legal_moves}
    assert engine.play(board, az.Limits(nodes=20, moves=("b1a1",))).move == "b1a1"  # castles
    with pytest.raises(az.AzError, match="chess960"):
        az.Position("go9", variant="chess960")


def test_outcomes() -> None:
    mate = az.Position("chess", moves=["f2f3", "e7e5", "g2g4", "d8h4"])
    assert mate.outcome == az.Outcome(winner=1)
    assert mate.legal_moves == ()
    repeated = az.Position("chess", moves=["g1f3", "g8f6", "f3g1", "f6g8"] * 2)
    assert repeated.outcome == az.Outcome(winner=None)
    counted = az.Position("go9", moves=["E5", "pass", "pass"], komi=5.5)
    assert counted.outcome == az.Outcome(winner=0, lead=75.5)
    assert az.Position("go9").outcome is None


@pytest.mark.parametrize(
    ("name", "text", "moves"),
    [
        ("game.pgn", "1. e4 e5 2. Nf3 *\n", ("e2e4", "e7e5", "g1f3")),
        ("game.sgf", "(;GM[1]SZ[13]KM[6.5];B[cc];W[kk])", ("C11", "L3")),
        ("game.csa", "V2\nPI\n+\n+7776FU\n-3334FU\n", ("7g7f", "3c3d")),
    ],
)
def test_game_records(tmp_path: Path, name: str, text: str, moves: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert az.Position.load(path).moves == moves
    assert az.Position.load(str(path), ply=1).moves == moves[:1]
    with pytest.raises(az.AzError, match="no game 2"):
        az.Position.load(path, number=2)


def test_what_a_record_lacks_is_told(tmp_path: Path) -> None:
    (tmp_path / "game.sgf").write_text("(;SZ[9]KM[abc];B[ee];W[ee])")
    with pytest.warns(UserWarning, match=r"game\.sgf, game 1: ") as told:
        assert az.Position.load(tmp_path / "game.sgf").moves == ("E5",)
    komi, move = (str(each.message) for each in told)
    assert "the komi 'abc' is no number" in komi
    assert move == "game.sgf, game 1: move 2 is illegal"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: az.Position("halma"), "no game is called 'halma'"),
        (lambda: az.Position("chess", moves=["e2e5"]), "e2e5"),
        (lambda: az.Position("chess", "no position"), "8 ranks"),
        (lambda: az.Position("chess", komi=7), "komi"),
        (lambda: az.Position("go9", rules="anarchy"), "anarchy"),
        (lambda: az.Position.load("game.doc"), "no game record"),
        (lambda: az.Position.load("missing.pgn"), "missing.pgn"),
        (lambda: az.Position.load("game.pgn", ply=-1), "ply 0 or more, not 1 and -1"),
        (lambda: az.Position.load("game.pgn", number=0), "number must be 1 or more"),
        (lambda: az.Position.load("."), ". is no game record"),
        (lambda: az.Limits(seconds=float("nan")), "must be a number"),
        (lambda: az.Net("missing.onnx"), "missing.onnx"),
        (lambda: az.match("default", "default", games=0, visits=1), "games is 0; it must be 1 or more"),
        (lambda: az.match("default", "uniform", visits=0), "visits is 0; it must be 1 or more"),
        (lambda: az.match("default", "uniform", seconds=-1), "the time for a move must be 0.001 to 600 seconds, not"),
        (lambda: az.match("default", "uniform", seconds=math.inf), "the time for a move must be 0.001 to 600 seconds"),
        (lambda: az.match("default", "uniform"), "default has no limit; give visits or seconds, or a limit"),
        (lambda: az.match("uniform", "uniform", "go7", visits=1, openings="paper"), "for go7; give random:6 or a file"),
        (lambda: LOOSE.Engine("chess", threads=0), "threads is 0; it must be 1 to 128"),
        (lambda: LOOSE.Engine("chess", hash_mb=-1), "hash_mb is -1; it must be 1 to"),
        (lambda: LOOSE.Engine("chess", hash_mb=1.5), "hash_mb is 1.5; it must be a whole number"),
        (lambda: LOOSE.Engine("chess", threads="2"), "threads is '2'; it must be a whole number"),
        (lambda: LOOSE.Engine("chess", c_puct=float("nan")), "c_puct is nan; it must be a number"),
        (lambda: LOOSE.Engine("chess", solver=1), "solver is 1; it must be True or False"),
        (lambda: LOOSE.Engine("chess", provider="gpu"), "provider is 'gpu'; it must be one of auto, cpu"),
        (lambda: LOOSE.Engine("chess", puct="lc0"), "puct is 'lc0'; it must be one of az, agz"),
        (lambda: LOOSE.Engine("chess", thread=2), "there is no option 'thread'; there are"),
        (lambda: LOOSE.Limits(nodes=True), "nodes is True; it must be a whole number"),
        (lambda: LOOSE.Limits(nodes=2.5), "nodes is 2.5; it must be a whole number"),
        (lambda: LOOSE.Limits(visits=0), "visits must be more than 0, not 0"),
        (lambda: LOOSE.Limits(time=-1), "time must be more than 0"),
        (lambda: LOOSE.Limits(visits="x"), "visits is 'x'; it must be a whole number"),
        (lambda: LOOSE.Engine("chess", net=5), "net is 5; it must be a text"),
        (lambda: LOOSE.Limits(time=math.inf), "leave it out for no limit"),
        (lambda: LOOSE.Limits(clock=(60.0, math.inf)), "clock must be seconds from 0 on"),
        (lambda: LOOSE.Limits(clock=(-1, 60)), "clock must be seconds from 0 on"),
        (lambda: LOOSE.Limits(seconds="1"), "seconds is '1'; it must be a number"),
        (lambda: LOOSE.Limits(nodes=5, visits=6), "nodes and visits are the same"),
        (lambda: LOOSE.Limits(clock=60.0), "clock is 60.0; it must be the seconds of both players"),
        (lambda: LOOSE.Limits(clock=("1", "2")), "clock is '1'; it must be a number"),
        (lambda: LOOSE.Limits(nodes=5, moves="e2e4"), "moves is 'e2e4'; it must be several moves"),
        (lambda: LOOSE.Position("go9", komi="7"), "komi is '7'; it must be a number"),
        (lambda: LOOSE.Position("go9", handicap=2.0), "handicap is 2.0; it must be a whole number"),
        (lambda: LOOSE.Position("chess", moves="e2e4"), "moves is 'e2e4'; it must be several moves"),
        (lambda: LOOSE.Position("chess").play(5), "move is 5; it must be a text"),
        (lambda: LOOSE.Position(5), "game is 5; it must be a text"),
        (lambda: LOOSE.Position("chess", moves=5), "moves is 5; it must be several moves"),
        (lambda: LOOSE.Position("chess", moves=[5]), "move is 5; it must be a text"),
        (lambda: LOOSE.Position("chess", variant=960), "variant is 960; it must be a text"),
        (lambda: LOOSE.Position().read(5), "text is 5; it must be a text"),
        (lambda: LOOSE.Position().notation(5), "move is 5; it must be a text"),
        (lambda: LOOSE.Position.load(5), "path is 5; it must be the name of a file"),
        (lambda: LOOSE.Limits(moves=5), "moves is 5; it must be several moves"),
        (lambda: LOOSE.Engine(5), "game is 5; it must be a text"),
        (lambda: LOOSE.Net(5), "net is 5; it must be a text"),
        (lambda: LOOSE.Net("uniform", batch_size=0), "batch_size is 0; it must be 1 or more"),
        (lambda: LOOSE.Net("uniform").evaluate(az.Position()), "it must be several, as in [position]"),
        (lambda: LOOSE.match("default", "uniform", games="2", visits=1), "games is '2'; it must be a whole number"),
        (lambda: LOOSE.match(None, "uniform", visits=1), "a is None; it must be a text"),
        (lambda: LOOSE.self_play("go3", visits="2"), "visits is '2'; it must be a whole number"),
        (lambda: LOOSE.self_play("go3", visit=2), "there is no option 'visit'; there are"),
        (lambda: LOOSE.self_play("go3", visits=0), "selfplay.visits is 0; it must be at least 1"),
        (lambda: LOOSE.self_play("nogo"), "no game is called 'nogo'"),
        (lambda: LOOSE.Limits(increment=-1.0), "increment must be 0 or more, not -1.0"),
    ],
)
def test_errors_are_one_sentence(make: Any, words: str) -> None:
    with pytest.raises(az.AzError, match=re.escape(words)) as raised:
        make()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"net.ownership": True}, "chess has no territory to own; leave net.ownership and net.score out"),
        ({"net.kind": "sparse"}, "choose another net.kind"),
        ({"machine.evaluators": 1, "machine.provider": "cpu"}, "set machine.provider=torch"),
        ({"machine.evaluators": 1, "machine.int8": False, "machine.workers": 0}, "set machine.workers"),
    ],
)
def test_errors_of_runs_name_settings(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(az.AzError, match=re.escape(words)) as raised:
        az.Run(tmp_path / "run", "chess", settings={"machine.provider": "auto", "machine.workers": 1, **settings})
    assert "--" not in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (lambda engine: engine.analyse(az.Position(), az.Limits(nodes=3), -3), "lines is -3; it must be 1 to 500"),
        (lambda engine: engine.analyse(az.Position(), az.Limits(nodes=3), True), "lines is True; it must be a whole"),
        (lambda engine: engine.play(az.Position(), az.Limits(nodes=3, moves=("e2e5",))), "e2e5 is not legal"),
        (lambda engine: engine.play(az.Position(), LOOSE.Limits(nodes=3, moves=(5,))), "move is 5; it must be a text"),
        (lambda engine: engine.play(az.Position(), az.Limits()), "nothing ends this search"),
        (lambda engine: engine.play(az.Position("shogi"), az.Limits(nodes=1)), "plays chess, the position is of shogi"),
    ],
)
def test_searches_that_are_refused(engine: az.Engine, search: Any, words: str) -> None:
    with pytest.raises(az.AzError, match=words):
        search(engine)


def test_what_is_no_position(engine: az.Engine) -> None:
    with pytest.raises(TypeError, match="int is no position"):
        engine.play(3, az.Limits(nodes=1))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["play", "analyse", "analysis"])
@pytest.mark.parametrize("limits", [None, 100, {"visits": 100}])
def test_what_is_no_limits(method: str, limits: Any, engine: az.Engine) -> None:
    if (method, limits) != ("analysis", None):  # which goes on until it is stopped
        with pytest.raises(OptionError, match=re.escape("it must be Limits, as in Limits(visits=100)")):
            getattr(engine, method)(az.Position("chess"), limits)


def test_play_takes_a_board_of_python_chess(engine: az.Engine) -> None:
    board = chess.Board("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")
    result = engine.play(board, az.Limits(nodes=200))
    assert result.move == "a1a8"
    assert not result.resign
    assert result.info.lines[0].mate == 1
    board.push_uci(result.move)
    over = engine.play(board, az.Limits(nodes=200))
    assert over.move is None


def test_analysis_adds_up(engine: az.Engine) -> None:
    engine.new_game()
    info = engine.analyse(az.Position(moves=["d2d4"]), az.Limits(nodes=400), lines=3)
    assert len(info.lines) == 3
    assert {stats.move for stats in info.moves} == set(info.position.legal_moves)
    assert abs(sum(stats.prior for stats in info.moves) - 1) < 1e-3
    assert info.wdl.win + info.wdl.draw + info.wdl.loss == pytest.approx(1)
    assert info.pv[0] == max(info.moves, key=lambda stats: stats.visits).move
    assert str(info).splitlines()[1].split()[0] == info.pv[0]
    assert "<svg" in info._repr_html_()


def test_only_the_moves_asked_for(engine: az.Engine) -> None:
    info = engine.analyse(az.Position(), az.Limits(nodes=50, moves=("a2a3", "h2h3")), lines=5)
    assert {line.pv[0] for line in info.lines} == {"a2a3", "h2h3"}


def test_analysis_grows_and_ends_with_the_loop(engine: az.Engine) -> None:
    nodes = []
    for info in engine.analysis(az.Position(moves=["c2c4"])):
        nodes.append(info.nodes)
        if len(nodes) == 3:
            break
    assert nodes == sorted(nodes)
    again = [info.nodes for info in engine.analysis(az.Position(moves=["b2b3"]), az.Limits(nodes=300))]
    assert again[-1] >= 300


def test_loading_again_leaves_a_search_its_tree(engine: az.Engine) -> None:
    for info in engine.analysis(az.Position(moves=["e2e3"])):
        engine.load()
        assert engine.description
        if info.nodes >= 200:
            break
    again = engine.analyse(az.Position(moves=["e2e3"]), az.Limits(nodes=3))
    assert sum(stats.visits for stats in again.moves) >= 199


def test_calls_of_several_threads_are_searched_one_after_another(engine: az.Engine) -> None:
    results: dict[str, az.Analysis] = {}

    def search(move: str) -> None:
        results[move] = engine.analyse(az.Position(moves=[move]), az.Limits(nodes=100))

    threads = [threading.Thread(target=search, args=(move,)) for move in ("a2a3", "b2b3", "c2c3")]
    for thread in threads:
        thread.start()
    for _ in range(20):
        engine.load()
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert {info.position.moves for info in results.values()} == {("a2a3",), ("b2b3",), ("c2c3",)}
    assert all(info.pv[0] in info.position.legal_moves for info in results.values())


def test_another_thread_stops_a_search(engine: az.Engine) -> None:
    results: list[az.PlayResult] = []
    position, forever = az.Position(moves=["g2g3"]), az.Limits(nodes=10**9)
    thread = threading.Thread(target=lambda: results.append(engine.play(position, forever)))
    thread.start()
    while thread.is_alive():
        engine.stop()
        thread.join(0.05)
    assert results[0].move in position.legal_moves


def test_a_closed_engine_says_so() -> None:
    engine = az.Engine("chess")
    engine.close()
    with pytest.raises(az.AzError, match="closed"):
        engine.play(az.Position(), az.Limits(nodes=1))


def test_go_counts_points() -> None:
    with az.Engine("go9", threads=1, hash_mb=16) as engine:
        info = engine.analyse(az.Position("go9", moves=["E5"], komi=0.5), az.Limits(nodes=60))
    assert info.lead is not None
    assert info.lead < 0  # white to move behind black's centre stone, nearly without komi
    assert info.ownership is not None
    assert len(info.ownership) == 81


@pytest.mark.slow
def test_a_net_alone() -> None:
    net = az.Net("default", "shogi", batch_size=2)
    positions = [az.Position("shogi"), az.Position("shogi", moves=["7g7f"]), az.Position("shogi", moves=["2g2f"])]
    together = net.evaluate(positions)
    for position, evaluation in zip(positions, together, strict=True):
        assert set(evaluation.priors) == set(position.legal_moves)
        assert sum(evaluation.priors.values()) == pytest.approx(1)
        assert list(evaluation.priors.values()) == sorted(evaluation.priors.values(), reverse=True)
        alone = net.evaluate([position])[0]
        assert alone.value == pytest.approx(evaluation.value, abs=1e-4)
    with pytest.raises(az.AzError, match="this net plays shogi"):
        net.evaluate([az.Position()])


def test_a_match() -> None:
    seen: list[object] = []
    result = az.match("uniform", "uniform visits=2", games=2, visits=4, on_game=seen.append, seed=1)
    assert result.wins + result.draws + result.losses == 2
    assert len(seen) == len(result.games) == 2
    assert str(result).startswith(f"+{result.wins} ={result.draws} -{result.losses} of 2, score ")


@pytest.mark.parametrize("name", ["chess", "shogi", "go9", "go19"])
def test_boards_are_drawn(name: str) -> None:
    position = az.Position(name)
    move = position.legal_moves[len(position.legal_moves) // 2]
    position = position.play(move)
    height = get_game(name).planes[1]
    lines = str(position).splitlines()
    assert len(lines) == height + 1
    tree = ET.fromstring(position._repr_html_())
    shapes = [element.tag.rpartition("}")[2] for element in tree.iter()]
    assert shapes.count("title") == 1
    if name.startswith("go"):
        assert shapes.count("circle") == 2  # the stone and the mark on it
        column, row = "ABCDEFGHJKLMNOPQRST".index(move[0]), height - int(move[1:])
        assert lines[row].split()[1 + column] == "X"
    if name == "shogi":
        assert shapes.count("polygon") == 40
    if name == "chess":
        drawn = [line.split()[1:] for line in lines[:8]]
        board = [row.split() for row in str(chess.Board(position.text)).splitlines()]
        assert drawn == board


def test_hands_are_shown() -> None:
    position = az.Position("shogi", "4k4/9/9/9/9/9/9/9/4K4 b 2Pr 1")
    assert str(position).splitlines()[-2:] == ["Black holds 2P", "White holds R"]
    assert "White holds R" in position._repr_html_()


ROOT = Path(__file__).resolve().parents[2]
TEXT = "".join((ROOT / name).read_text() for name in ("docs/python.md", "README.md"))
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("block", PROGRAMS)
def test_documented_programs_run(
    block: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "a document", "exec"), {})  # noqa: S102 - our own document
    assert capsys.readouterr().out


@pytest.mark.slow
def test_a_pgn_is_annotated(tmp_path: Path) -> None:
    path = tmp_path / "game.pgn"
    path.write_text("1. e4 e5 2. Nf3 d6 3. Bc4 h6 4. Nc3 Bg4 5. Nxe5 Bxd1 6. Bxf7+ Ke7 7. Nd5# 1-0\n")
    command = [sys.executable, str(ROOT / "examples/annotate_pgn.py"), str(path), "100"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    marked = [node for node in game.mainline() if node.nags]
    assert "Bxd1" in [node.san() for node in marked]  # it walks into Legal's mate
    assert all(len(node.parent.variations) > 1 for node in marked)


@pytest.mark.parametrize(
    ("name", "words"),
    [("annotate_pgn.py", "GAMES.pgn [VISITS]"), ("go_terminal.py", "[SIZE] [SECONDS]"), ("gpu-day.sh", "MINUTES")],
)
def test_examples_have_help(name: str, words: str, tmp_path: Path) -> None:
    program = sys.executable if name.endswith(".py") else "sh"
    if shutil.which(program) is None:
        pytest.skip("there is no sh")
    command = [program, str(ROOT / "examples" / name), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr, [*tmp_path.iterdir()]) == (0, "", [])
    assert words in done.stdout


def run_cell(source: str, names: dict[str, Any]) -> None:
    """Run a notebook's cell and show its last value, as notebooks do."""
    *statements, last = ast.parse(source).body
    if isinstance(last, ast.Expr):
        exec(compile(ast.Module(statements, []), "a cell", "exec"), names)  # noqa: S102 - our own notebook
        value = eval(compile(ast.Expression(last.value), "a cell", "eval"), names)  # noqa: S307
        assert value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
    else:
        exec(compile(source, "a cell", "exec"), names)  # noqa: S102


TOUR = json.loads((ROOT / "examples" / "tour.ipynb").read_text())["cells"]
CELLS = ["".join(cell["source"]) for cell in TOUR if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_the_notebook_runs() -> None:
    names: dict[str, Any] = {}
    for source in CELLS[:-1]:
        run_cell(source, names)
    assert names["answer"].move in names["position"].legal_moves
    assert names["after"].lead is not None


@pytest.mark.slow
def test_the_notebook_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_cell(CELLS[-1], {})
    assert (tmp_path / "runs" / "tour" / "nets" / "current.json").is_file()


def test_the_notebook_carries_what_it_showed() -> None:
    """As .ci/notebook.py writes it: readers who run nothing see boards, tables and lines."""
    cells = [cell for cell in TOUR if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell["outputs"] for cell in cells[:-1])
    kinds = {kind for cell in cells for output in cell["outputs"] for kind in output.get("data", {})}
    assert kinds >= {"text/plain", "text/html"}
    assert "error" not in {output["output_type"] for cell in cells for output in cell["outputs"]}


@pytest.mark.slow
def test_go_is_played_in_a_terminal() -> None:
    command = [sys.executable, str(ROOT / "examples/go_terminal.py"), "9", "0.05"]
    said = "C3\nundo\nZ9\nC3\nquit\n"
    text = subprocess.run(command, input=said, capture_output=True, text=True, check=True).stdout
    assert text.count("White: ") == 2
    assert "Z9" in text  # why it is refused

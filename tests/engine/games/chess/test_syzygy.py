"""Endgame tables: outcomes and moves that make progress, the fifty-move rule, won endings won against best defence."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.syzygy
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.games.chess.syzygy import BUNDLED_TABLES, SyzygyTables
from az_engine.engine.games.databases import Databases
from az_engine.engine.games.outcome import DRAW, LOSS, WIN
from az_engine.engine.info import BestMove
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions

GAME = get_game("chess")
OWN = SyzygyTables((), most_pieces=7, rule50=True)


@pytest.fixture(scope="module")
def tables() -> Iterator[chess.syzygy.Tablebase]:
    with chess.syzygy.open_tablebase(str(BUNDLED_TABLES)) as tables:
        yield tables


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=16, threads=1))
    yield engine
    engine.close()


def answer(
    engine: Engine, root: str, moves: list[str], nodes: int, told: list[str] | None = None, movetime: int | None = None
) -> BestMove:
    engine.set_position(root, moves)
    done, answers = threading.Event(), list[BestMove]()

    def on_done(best: BestMove) -> None:
        answers.append(best)
        done.set()

    said = [] if told is None else told
    engine.go(Limits(nodes=nodes, movetime=movetime), lambda info: said.append(info.message or ""), on_done)
    assert done.wait(120)
    assert engine.wait(60)
    return answers[0]


def random_board(men: str, source: random.Random) -> chess.Board:
    while True:
        board = chess.Board(None)
        for square, man in zip(source.sample(range(64), len(men)), men, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        board.turn = bool(source.getrandbits(1))
        if board.is_valid() and board.legal_moves:
            return board


def test_outcomes_are_python_chesss(tables: chess.syzygy.Tablebase) -> None:
    source = random.Random(3)
    for men in ("KRk", "KQk", "Krk", "Kpk", "KBBk", "KBNk", "KNNk", "KQkr", "KQkb", "KRkn", "KRkb", "KPkp", "Kkbn"):
        for _ in range(20):
            board = random_board(men, source)
            state = GAME.parse_position(board.fen())[0][-1]
            assert OWN.outcome(state) == (tables.probe_wdl(board) > 0) - (tables.probe_wdl(board) < 0)


@pytest.mark.parametrize(
    "fen", ["8/8/8/8/8/2k5/8/K6R w - - 1 9", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "4k3/8/8/8/8/8/pp6/4K2R w - - 0 1"]
)
def test_what_tables_do_not_tell(fen: str) -> None:
    """The clock has begun to run, a king may castle, there are too many pieces."""
    assert OWN.outcome(GAME.parse_position(fen)[0][-1]) is None


@pytest.mark.parametrize(
    ("fen", "outcome", "moves"),
    [
        ("7k/R7/6K1/8/8/8/8/8 w - - 10 40", WIN, {"a7a8"}),  # mate
        ("8/8/8/8/8/4k3/4P3/4K3 w - - 0 1", DRAW, {"e1d1", "e1f1"}),
        ("8/8/8/1k6/8/2K3R1/8/8 w - - 98 80", DRAW, None),  # a win that comes too late
        ("8/8/8/1k6/8/2K3R1/8/8 b - - 0 1", LOSS, None),
        ("8/4P1k1/8/8/8/8/8/K7 w - - 99 90", WIN, {"e7e8q", "e7e8r"}),  # promotes in time
    ],
)
def test_best_moves(fen: str, outcome: int, moves: set[str] | None) -> None:
    line = GAME.parse_position(fen)[0]
    legal = GAME.legal_moves(line)
    ranks = OWN.rank_moves(line, legal)
    assert ranks is not None
    best = max(rank for _, rank in ranks)
    found = {int(move): code for move, (code, rank) in zip(legal, ranks, strict=True) if rank == best}
    assert set(found.values()) == {outcome}
    if moves is not None:
        assert {GAME.format_move(line[-1], move) for move in found} <= moves


def test_without_the_fifty_move_rule_a_late_win_is_one() -> None:
    line = GAME.parse_position("8/8/8/1k6/8/2K3R1/8/8 w - - 98 80")[0]
    ranks = SyzygyTables((), most_pieces=7, rule50=False).rank_moves(line, GAME.legal_moves(line))
    assert ranks is not None
    assert max(ranks, key=lambda found: found[1])[0] == WIN


def test_folders_that_are_none(tmp_path: Path, engine: Engine) -> None:
    missing = tmp_path / "missing"
    engine.configure(syzygy_path=os.pathsep.join((str(missing), str(tmp_path), str(BUNDLED_TABLES))))
    told = list[str]()
    for _ in range(2):
        answer(engine, chess.STARTING_FEN, [], 2, told)
    told = [message for message in told if message]
    assert len(told) == 2
    assert "cannot be read" in told[0]
    assert "holds no Syzygy tables" in told[1]


@pytest.mark.parametrize(
    ("root", "told_first"),
    [("8/8/8/3k4/3r4/8/1RP1K3/8 w - - 0 1", True), ("8/8/8/3k3r/8/1p6/1RP1K3/8 w - - 0 1", False)],
)
def test_a_table_that_is_cut_off_is_left_out(tmp_path: Path, engine: Engine, root: str, told_first: bool) -> None:
    """As a download leaves it that was broken off; at the root, and at leaves, where the next search tells it."""
    for ending in ("rtbw", "rtbz"):
        whole = (BUNDLED_TABLES / f"KQvKR.{ending}").read_bytes()
        (tmp_path / f"KRPvKR.{ending}").write_bytes(whole[: len(whole) // 2])
    engine.configure(syzygy_path=str(tmp_path))
    told: list[list[str]] = []
    for _ in range(3):
        said: list[str] = []
        best = answer(engine, root, [], 300, said)
        assert best.error is None
        assert (best.move in engine.legal_moves(), best.nodes) == (True, 300)
        told.append([message for message in said if message])
    (sentence,) = told.pop(0 if told_first else 1)
    assert sentence.startswith("SyzygyPath: a table cannot be read and is left out (")
    assert "KRPvKR.rtbw" in sentence
    assert told == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize("men", ["KRk", "KQk", "KPk", "KBBk", "KBNk", "KQkr", "KQkb", "KQkn", "KRkn", "KRBk", "KPkp"])
def test_won_endings_are_won_against_the_best_defence(men: str, engine: Engine, tables: chess.syzygy.Tablebase) -> None:
    """Without tables the rook won 16 of 20 games at 1,000 nodes, none of 16 with two bishops or bishop and knight."""
    source = random.Random(5)
    for _ in range(2):
        board = random_board(men, source)
        while board.turn != chess.WHITE or tables.probe_wdl(board) != 2:
            board = random_board(men, source)
        root, moves = board.fen(), list[str]()
        while not (board.is_game_over() or board.is_repetition(3) or board.halfmove_clock >= 100):
            if board.turn == chess.WHITE:
                moves.append(answer(engine, root, moves, nodes=4).move or "")
            else:
                moves.append(longest_defence(board, tables, source).uci())
            board.push_uci(moves[-1])
        assert board.result() == "1-0", root


def longest_defence(board: chess.Board, tables: chess.syzygy.Tablebase, source: random.Random) -> chess.Move:
    def worth(move: chess.Move) -> tuple[int, int, float]:
        board.push(move)
        men = chess.popcount(board.occupied)
        wdl, dtz = (tables.get_wdl(board) or 0, tables.get_dtz(board) or 0) if men > 2 else (0, 0)
        board.pop()
        return -wdl, dtz, source.random()

    return max(board.legal_moves, key=worth)


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        (Limits(time=(900, 900), increment=(10, 10)), False),
        (Limits(time=(900, 900), byoyomi=200), True),
        (Limits(time=(None, 900), nodes=10), True),
        (Limits(movetime=100), False),
        (Limits(movetime=250), True),
        (Limits(nodes=10), True),
    ],
    ids=str,
)
def test_a_move_in_a_hurry_waits_for_no_table(
    limits: Limits, asked: bool, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[int]()
    monkeypatch.setattr(SyzygyTables, "rank_moves", lambda *_: looked.append(1))
    engine.new_game()
    engine.set_position("8/8/8/1k6/8/2K3R1/8/8 w - - 0 1", [])
    engine.go(limits, lambda _: None, lambda _: None)
    assert engine.wait(60)
    assert bool(looked) == asked


def test_scores_are_the_tables(engine: Engine) -> None:
    drawn = answer(engine, "8/8/8/8/8/4k3/4P3/4K3 w - - 0 1", [], nodes=40).lines[0]
    assert (drawn.cp, drawn.mate, drawn.wdl.draw) == (0, None, 1.0)
    won = answer(engine, "8/8/8/1k6/8/2K3R1/8/8 w - - 0 1", [], nodes=4).lines[0]
    assert (won.wdl.win, won.mean, won.cp > 10_000) == (1.0, 1.0, True)
    engine.configure(syzygy_probe_limit=0)
    assert answer(engine, "8/8/8/1k6/8/2K3R1/8/8 w - - 0 1", [], nodes=4).lines[0].wdl.win < 1.0


def test_a_position_that_was_looked_up_as_a_leaf_is_searched_like_any_other() -> None:
    """Its many visits as a leaf are none of its moves: they made a search in a hurry spread out over bad ones."""
    engine = Engine("chess", EngineOptions(hash_mb=16, threads=1))
    visits = []
    for known in (True, False):
        engine.new_game()
        if known:
            assert answer(engine, "8/8/8/8/3k4/3p4/2r1R3/4K3 w - - 0 1", [], 20_000).lines[0].visits > 10_000
        best = answer(engine, "8/8/8/8/3k4/3p4/2r1R3/4K3 w - - 0 1", ["e2c2"], 400, movetime=199)
        assert best.move == "d3c2"
        visits.append(best.lines[0].visits / best.nodes)
    engine.close()
    assert visits[0] == pytest.approx(visits[1], rel=0.03)


def test_a_search_without_the_tables_believes_nothing_that_they_told(engine: Engine) -> None:
    root = "4k3/8/8/8/8/1p6/q6R/K7 w - - 0 1"
    known = answer(engine, root, [], nodes=400)
    assert (known.lines[0].wdl.draw, known.nodes < 400) == (1.0, True)
    engine.configure(syzygy_probe_limit=0)
    alone = answer(engine, root, [], nodes=400)
    assert (alone.lines[0].wdl.draw < 1.0, alone.nodes) == (True, 400)


def test_leaves_are_looked_up(engine: Engine) -> None:
    """Taking the queen leaves king and rook against king: won, though no mate is in sight."""
    best = answer(engine, "4k3/8/8/8/8/8/q6R/K7 w - - 0 1", [], nodes=40)
    assert best.move in ("a1a2", "h2a2")
    assert best.lines[0].wdl.win == 1.0
    assert best.lines[0].mate is None
    assert len(best.lines[0].pv) >= 1


@pytest.mark.parametrize(
    ("root", "moves", "drawn"),
    [
        ("4k3/R7/8/8/8/8/8/4K3 b - - 0 1", "e8f8 a7a1 f8e8 a1a7 e8f8 a7a1 f8e8", "a1a7"),  # the best one for the tables
        ("4k3/8/8/8/8/8/r7/4K3 w - - 0 1", "e1f1 a2a8 f1e1 a8a2 e1f1 a2a8 f1e1 a8a2 e1f1 a2a8", "f1e1"),
    ],
)
def test_a_move_that_repeats_a_position_too_often_is_a_draw(root: str, moves: str, drawn: str) -> None:
    """Which tables do not see: it is worse than a win, and better than a loss."""
    line, databases = GAME.parse_position(root)[0], Databases()
    databases.open_tables(GAME, "", most_pieces=7, rule50=True)
    for move in moves.split():
        line = GAME.play(line, GAME.parse_move(line, move))
    known = databases.at_root(GAME, line, GAME.legal_moves(line))[1]
    assert known is not None
    code, rank = known.pop(GAME.parse_move(line, drawn))
    assert code == DRAW
    others = {(other == WIN) - (other == LOSS): place for other, place in known.values()}
    assert all(place > rank for side, place in others.items() if side > 0)
    assert all(place < rank for side, place in others.items() if side < 0)
    assert others

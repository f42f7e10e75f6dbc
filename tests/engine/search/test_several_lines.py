"""Several lines (MultiPV): the best move is that of one line, lines come in order of worth, none is made up."""

from __future__ import annotations

import random

import chess
import pytest

from az_engine.engine.blocking import search
from az_engine.engine.engine import Engine
from az_engine.engine.info import BestMove, ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions

REPEATED = "6k1/5pp1/7p/8/q7/1r6/5PPP/3Q2K1 w - - 0 1"
SHUFFLE = "d1d8 g8h7 d8d3 h7g8 d3d8 g8h7 d8d3 h7g8".split()


def analysed(fen: str, moves: list[str], lines: int, nodes: int) -> tuple[BestMove, ThinkingInfo]:
    engine = Engine("chess", EngineOptions(threads=1, hash_mb=16, multipv=lines))
    try:
        engine.set_position(fen, moves)
        best, last = search(engine, Limits(nodes=nodes))
    finally:
        engine.close()
    assert last is not None
    return best, last


@pytest.mark.parametrize(
    ("fen", "moves", "lines", "wanted"),
    [
        ("7k/8/8/8/8/8/r7/K7 w - - 0 1", [], 2, "a1a2"),  # takes the last piece: a draw; the other move loses
        (REPEATED, SHUFFLE, 3, "d3d8"),  # the third repetition; what else there is loses
        (REPEATED, SHUFFLE, 5, "d3d8"),
    ],
)
def test_a_proven_draw_comes_before_what_loses(fen: str, moves: list[str], lines: int, wanted: str) -> None:
    single, _ = analysed(fen, moves, 1, 5000)
    best, last = analysed(fen, moves, lines, 5000)
    assert best.move == single.move == last.lines[0].pv[0] == wanted
    assert last.lines[0].cp == 0
    values = [line.wdl.value for line in last.lines]
    assert values[0] == max(values)


def test_endgame_tables_order_all_lines() -> None:
    fen = "8/8/8/1k6/8/2K3R1/8/8 w - - 0 1"
    single, _ = analysed(fen, [], 1, 500)
    best, last = analysed(fen, [], 40, 500)
    assert last.tbhits > 0
    assert best.move == last.lines[0].pv[0]
    assert single.lines[0].wdl.win == last.lines[0].wdl.win == 1.0
    values = [line.wdl.value for line in last.lines]
    assert values == sorted(values, reverse=True)
    assert set(values) <= {1.0, 0.0, -1.0}


def test_moves_without_a_visit_have_no_line() -> None:
    _, last = analysed("5r1k/6pp/7N/3Q4/8/8/8/7K w - - 0 1", [], 40, 300)
    assert all(line.visits > 0 for line in last.lines)
    assert last.lines[0].mate is not None
    assert [line for line in last.lines if line.cp > 12000 and line.mate is None] == []


def positions(seed: int) -> list[tuple[str, list[str]]]:
    """200: after random moves, before a third repetition, and endings that tables know or nearly know."""
    source, found = random.Random(seed), list[tuple[str, list[str]]]()
    while len(found) < 140:
        board, moves = chess.Board(), list[str]()
        while len(moves) < len(found) and not board.is_game_over():
            moves.append(source.choice(list(board.legal_moves)).uci())
            board.push_uci(moves[-1])
        if not board.is_game_over():
            moves += back_and_forth(board, source) if len(found) >= 90 else []
            found.append((chess.STARTING_FEN, moves))
    endings = ("KQkp", "KRkp", "KBNk", "KQkr", "KRPkr", "KPPkp", "KQPkq", "KRkbp", "KBPkn", "KRRkq")
    while len(found) < 200:
        men, board = endings[len(found) % len(endings)], chess.Board(None)
        for square, man in zip(source.sample(range(64), len(men)), men, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        board.turn = bool(source.getrandbits(1))
        if board.is_valid() and any(board.legal_moves):
            found.append((board.fen(), []))
    return found


def back_and_forth(start: chess.Board, source: random.Random) -> list[str]:
    """Moves after which the next one can bring about a position for the third time; none where they are not found."""
    for _ in range(20):
        board, moves = start.copy(), list[chess.Move]()
        for ply in range(7):
            quiet = [m for m in board.legal_moves if not board.is_zeroing(m) and not board.is_castling(m)]
            back = chess.Move(moves[-2].to_square, moves[-2].from_square) if ply > 1 else None
            wanted = [m for m in quiet if back in (m, None)]
            if not wanted or board.is_repetition(3):
                break
            moves.append(source.choice(wanted))
            board.push(moves[-1])
        else:
            return [m.uci() for m in moves]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("men", [7, 0])
def test_lines_of_many_positions(men: int) -> None:
    """With and without endgame tables: the best move is that of one line, or one that the tables rank alike."""
    engine = Engine("chess", EngineOptions(threads=1, hash_mb=16, syzygy_probe_limit=men))
    proven = 0
    try:
        for fen, moves in positions(7):
            best, hits = list[BestMove](), 0
            for lines in (1, 2, 5, 40):
                engine.configure(multipv=lines)
                engine.new_game()
                engine.set_position(fen, moves)
                answer, last = search(engine, Limits(nodes=200))
                assert last is not None
                best.append(answer)
                hits += last.tbhits
                assert answer.move == last.lines[0].pv[0]
                assert all(line.visits > 0 for line in last.lines)
                assert len({line.pv[0] for line in last.lines}) == len(last.lines) <= lines
                known = [line for line in last.lines if {0.0, 1.0} >= {line.wdl.win, line.wdl.draw}]
                mates = [1 / line.mate for line in known if line.mate]  # the quickest first, or the longest defence
                for worth in ([line.wdl.value for line in known], mates):
                    assert worth == sorted(worth, reverse=True), (fen, moves)
                proven += len(known)
            ranked_alike = hits > 0 and len({answer.lines[0].wdl for answer in best}) == 1
            assert ranked_alike or len({answer.move for answer in best}) == 1, (fen, moves)
    finally:
        engine.close()
    assert proven > 100

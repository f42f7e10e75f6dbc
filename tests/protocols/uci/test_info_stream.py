"""The stream of ``info`` lines of real searches, as a GUI and uci-test-suite look at it: it never goes back."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

import chess
import pytest

from az_engine.engine.engine import Engine

from ...fakes.clock import FakeClock
from ..talk import Talk

pytestmark = pytest.mark.slow

LINE = re.compile(
    r"info depth (?P<depth>\d+) seldepth (?P<seldepth>\d+) multipv (?P<multipv>\d+) "
    r"score (?P<kind>cp|mate) (?P<score>-?\d+) wdl (?P<win>\d+) (?P<draw>\d+) (?P<loss>\d+) nodes (?P<nodes>\d+) "
    r"nps (?P<nps>\d+) hashfull (?P<hashfull>\d+)( tbhits \d+)? time (?P<time>\d+) pv (?P<pv>[a-h1-8qrbn ]+)"
)
GROWING = ("depth", "seldepth", "nodes", "time", "hashfull")
TACTICS = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
ENDING = "8/8/4k3/8/2p5/8/B2P4/4K3 w - - 40 60"


def games() -> Iterator[tuple[str, list[str]]]:
    """(the position that a game begins with, its moves): of openings, random middle games, a mate, an ending."""
    rng = random.Random(21)
    for plies in (0, 2, 6, 12, 20, 30, 40, 60):
        board = chess.Board()
        while board.ply() < plies and not board.is_game_over():
            board.push(rng.choice(list(board.legal_moves)))
        if not board.is_game_over():
            yield "startpos", [move.uci() for move in board.move_stack]
    yield f"fen {TACTICS}", []
    yield f"fen {ENDING}", []


def check_stream(lines: list[str], board: chess.Board, multipv: int) -> Mapping[str, str]:
    """That the lines of one search never go back and agree with themselves; the last one's words."""
    found = [match for match in (LINE.fullmatch(line) for line in lines if " string " not in line) if match]
    assert len(found) == sum(" string " not in line for line in lines), lines
    most = min(multipv, board.legal_moves.count())
    last: Mapping[str, str] = {}
    for k, words in enumerate(found):
        if words["multipv"] == "1":
            assert k == 0 or int(found[k - 1]["multipv"]) <= most
            last = words.groupdict()
        else:
            assert int(words["multipv"]) == int(found[k - 1]["multipv"]) + 1
            assert all(words[name] == last[name] for name in ("depth", "seldepth", "nodes", "nps", "time"))
        if k:
            for name in GROWING:
                assert int(words[name]) >= int(found[k - 1][name]), (name, lines)
        assert int(words["depth"]) <= int(words["seldepth"])
        assert int(words["nps"]) == 1000 * int(words["nodes"]) // int(words["time"])
        assert int(words["win"]) + int(words["draw"]) + int(words["loss"]) == 1000
        assert int(words["hashfull"]) <= 1000
        after = board.copy()
        for move in words["pv"].split():
            after.push(after.parse_uci(move))  # raises for an illegal one
    return last


@pytest.mark.parametrize(("threads", "multipv"), [(1, 1), (3, 1), (2, 3)])
def test_no_stream_goes_back(threads: int, multipv: int, clock: FakeClock) -> None:
    """Two searches in each game: of its position, and two plies later with what the tree has kept."""
    clock.tick = 0.15  # a look at the clock comes once in 256 simulations
    start = {"hash": 32, "threads": threads, "multipv": multipv, "show_wdl": True}
    searches, reports = 0, 0
    with Talk(lambda options: Engine("chess", options), start) as talk:
        talk.patience_s = 240.0
        for root, played in games():
            board = chess.Board() if root == "startpos" else chess.Board(root.removeprefix("fen "))
            moves = list(played)
            for move in moves:
                board.push_uci(move)
            talk.send("ucinewgame")
            for nodes in (6000, 4000):
                if board.is_game_over():
                    break
                talk.send(f"position {root} moves {' '.join(moves)}", f"go nodes {nodes}")
                *lines, best = [line for line in talk.until("bestmove.*") if line]
                last = check_stream(lines, board, multipv)
                searches, reports = searches + 1, reports + len(lines)
                words = best.split()
                assert words[1] == [line for line in lines if " multipv 1 " in line][-1].split(" pv ")[1].split()[0]
                if last["kind"] == "cp" and abs(int(last["score"])) < 12_000:  # else endgame tables know who wins
                    assert nodes <= int(last["nodes"]) <= nodes + 256 * threads
                for move in (words[1], words[3]) if len(words) > 3 else (words[1],):
                    board.push_uci(move)
                    moves.append(move)
    assert searches >= 16
    assert reports > 2 * searches * multipv

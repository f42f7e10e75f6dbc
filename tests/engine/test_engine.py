"""The engine's promises to protocols and matches: one answer a go, limits, reuse of the tree, honest reports."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import chess
import numpy as np
import pytest

from az_engine.engine import thinking
from az_engine.engine.clock import Budget, Stopwatch
from az_engine.engine.engine import Engine
from az_engine.engine.errors import IllegalMoveError, NetError, OptionError, PositionError, ThreadError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove, ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.recycling import recycle
from az_engine.engine.search.tree.tree import Tree

from ..fakes.clock import FakeClock
from .driving import Recorder, go, think

SHUFFLE = "g1f3 g8f6 f3g1 f6g8".split()
MATE_IN_THREE = "1k5r/pP3ppp/3p2b1/1BN1n3/1Q2P3/P1B5/KP3P1P/7q w - - 1 0"
MATE_IN_TWO = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=16, threads=1, batch_size=8))
    yield engine
    engine.close()


def board_after(root: str | None, moves: Sequence[str]) -> chess.Board:
    board = chess.Board() if root is None else chess.Board(root)
    for move in moves:
        board.push_uci(move)
    return board


def assert_legal_lines(board: chess.Board, report: ThinkingInfo) -> None:
    for line in report.lines:
        after = board.copy()
        assert line.pv
        for move in line.pv:
            after.push_uci(move)


def test_nodes(engine: Engine) -> None:
    for nodes in (1, 2, 100, 777):
        engine.new_game()
        recorder = think(engine, nodes=nodes)
        assert recorder.answer.nodes == nodes == recorder.report.nodes
        assert chess.Move.from_uci(recorder.answer.move or "") in chess.Board().legal_moves
        assert_legal_lines(chess.Board(), recorder.report)


@pytest.mark.parametrize("nodes", [0, -5])
def test_senseless_nodes_still_move(engine: Engine, nodes: int) -> None:
    assert think(engine, nodes=nodes).answer.move is not None


def test_nothing_to_search(engine: Engine) -> None:
    assert go(engine, nodes=10).done.wait(60)
    assert think(engine, "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", nodes=10).answer.move is None
    stalemate = think(engine, "7k/5Q2/8/8/8/8/8/7K b - - 0 1", nodes=10)
    assert stalemate.answer.move is None
    assert stalemate.answer.lines[0].cp == 0


def test_a_refused_position_leaves_none(engine: Engine) -> None:
    engine.set_position(None, ["e2e4"])
    with pytest.raises(PositionError):
        engine.set_position("8/8/8/8/8/8/8/8 w - - 0 1", [])
    assert engine.position is None
    recorder = go(engine, nodes=5)
    assert recorder.done.wait(60)
    assert recorder.answer.move is None
    with pytest.raises(IllegalMoveError, match="move 2 of 3"):
        engine.set_position(None, ["e2e4", "e2e4", "e7e5"])
    assert engine.position is None
    assert think(engine, None, ["e2e4"], nodes=5).answer.move is not None


@pytest.mark.parametrize(
    ("game", "root", "words"),
    [
        ("chess", None, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8 e2e4"),
        ("shogi", None, "7g7f 3c3d 8h2b+ 3a2b B*4e 2b3a 4e3d 8c8d"),
        ("go5", "5/5/5/5/5 b - 7.5 tromp-taylor 0 0 0", "C3 C2 pass pass B2 D2 skip A1"),
    ],
)
def test_what_two_positions_share_is_played_once(game: str, root: str | None, words: str) -> None:
    moves = words.split()
    other = Engine(game, EngineOptions(weights_file="uniform"))
    for head in (moves, moves[:3], moves, moves[:4] + moves[:1] if game == "chess" else moves[:4], [], moves):
        fresh = Engine(game, EngineOptions(weights_file="uniform"))
        fresh.set_position(root, head)
        other.set_position(root, head)
        assert np.array_equal(other._line.held(), fresh._line.held())
        assert other._line.moves == fresh._line.moves
        other.undo() if head else other.play(moves[0])
    with pytest.raises(IllegalMoveError, match=f"move {len(moves) + 1} of ") as caught:
        other.set_position(root, [*moves, "Z99"])
    assert caught.value.place == len(moves)


def test_a_move_without_a_thread(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.set_position(None, ["e2e4"])
    for starts in (0, 1):  # the thread of the search, then that of its tree
        with monkeypatch.context() as patch:
            patch.setattr(thinking, "start_thread", Starter(starts))
            recorder = go(engine, infinite=True)
            engine.stop()
            assert recorder.done.wait(60)
        (answer,) = recorder.answers
        assert isinstance(answer.error, ThreadError)
        assert answer.move in engine.legal_moves()
        assert "no thread can be started" in answer.messages
        assert engine.wait(60)
    assert think(engine, None, ["e2e4"], nodes=5).answer.messages == ()


class Starter:
    """Starts so many threads."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, thread: threading.Thread) -> None:
        self.left -= 1
        if self.left < 0:
            raise ThreadError("no thread can be started")
        thread.start()


@pytest.mark.slow
def test_infinite_waits_for_stop_even_when_all_is_known(engine: Engine) -> None:
    for root in (None, MATE_IN_TWO, "7k/5Q2/8/8/8/8/8/7K b - - 0 1", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"):
        engine.set_position(root, [])
        recorder = go(engine, infinite=True)
        assert not recorder.done.wait(0.5)
        assert engine.searching
        engine.stop()
        engine.stop()
        assert recorder.done.wait(60)
        engine.stop()
        assert len(recorder.answers) == 1


def test_ponder_waits_for_the_hit(engine: Engine, clock: FakeClock) -> None:
    engine.set_position(None, ["e2e4", "e7e5"])
    recorder = go(engine, ponder=True, time=(600, 600))
    clock.advance(500.0)
    assert not recorder.done.wait(0.2)
    engine.ponderhit()
    clock.advance(5.0)
    assert recorder.done.wait(60)
    recorder = go(engine, ponder=True, nodes=20)
    assert not recorder.done.wait(0.2)
    engine.stop()
    assert recorder.done.wait(60)
    engine.ponderhit()
    assert len(recorder.answers) == 1


def test_a_second_go_ends_the_first(engine: Engine) -> None:
    engine.set_position(None, [])
    recorders = [go(engine, infinite=True) for _ in range(5)]
    for recorder in recorders[:-1]:
        assert recorder.done.wait(60)
    assert not recorders[-1].done.is_set()
    engine.stop()
    assert recorders[-1].done.wait(60)
    assert all(len(recorder.answers) == 1 for recorder in recorders)


def test_many_goes(engine: Engine) -> None:
    """Nothing piles up and every go is answered once."""
    engine.set_position(None, [])
    threads = threading.active_count()
    for i in range(200):
        recorder = go(engine, nodes=1 + i % 3)
        assert recorder.done.wait(60)
        assert len(recorder.answers) == 1
    assert engine.wait(60)
    left_over = Stopwatch()
    while threading.active_count() > threads + 1:  # one that has just answered may still be ending
        assert left_over.seconds < 60
        time.sleep(0.01)


def test_wait_ends_after_the_answer_was_taken(engine: Engine) -> None:
    """Even by a caller who takes his time."""
    engine.set_position(None, [])
    taking, taken, answers = threading.Event(), threading.Event(), list[BestMove]()

    def on_done(answer: BestMove) -> None:
        taking.set()
        taken.wait(60)
        answers.append(answer)

    engine.go(Limits(nodes=5), lambda _: None, on_done)
    assert taking.wait(60)
    assert not engine.wait(0.05)
    assert not engine.searching  # the next search need not wait for him
    taken.set()
    assert engine.wait(60)
    assert len(answers) == 1


def test_an_answer_may_start_the_next_search_and_close(engine: Engine) -> None:
    engine.set_position(None, [])
    second = Recorder()

    def on_done(_: BestMove) -> None:
        assert engine.wait()  # for itself: at once
        engine.go(Limits(nodes=5), second.infos.append, second.on_done)
        engine.close()

    engine.go(Limits(nodes=5), lambda _: None, on_done)
    assert second.done.wait(60)
    assert engine.wait(60)
    assert len(second.answers) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_movetime(engine: Engine, threads: int, clock: FakeClock) -> None:
    engine.configure(threads=threads, move_overhead_ms=20)
    think(engine, nodes=1)
    clock.tick = 0.001
    for ms in (0, 1, 50, 300):
        assert ms - 20 <= think(engine, movetime=ms).answer.time_ms < ms + 20


def test_time_that_no_later_move_has_is_used(clock: FakeClock) -> None:
    """A queen is to be taken: with a clock the search ends early, a byoyomi is used."""
    taken = "rnb1kbnr/pppp1ppp/8/4p3/4P2q/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 3"
    engine = Engine("chess", EngineOptions(hash_mb=16, threads=1))
    clock.tick, used = 0.002, []
    for limits in ({"time": (60_000, 60_000)}, {"time": (0, 0), "byoyomi": 1500}):
        engine.new_game()
        begun = clock.now
        assert think(engine, taken, **limits).answer.move == "f3h4"
        used.append(clock.now - begun)
    engine.close()
    assert used[0] < 1.0
    assert 1.3 < used[1] < 1.6


def test_no_time_at_all(engine: Engine, clock: FakeClock) -> None:
    clock.tick = 0.001
    for left in ((0, 0), (-100, 5), (1, 1)):
        answer = think(engine, time=left).answer
        assert answer.move is not None
        assert answer.time_ms < 20


def test_depth_and_mate(engine: Engine) -> None:
    assert think(engine, depth=1).report.depth >= 1
    assert think(engine, depth=3).report.depth == 3
    recorder = think(engine, MATE_IN_TWO, mate=2)
    assert recorder.answer.move == "a1a6"
    assert recorder.report.lines[0].mate == 2


@pytest.mark.parametrize(
    ("root", "limits", "mate", "told"),
    [
        (MATE_IN_THREE, {"mate": 4}, 3, None),  # the search of the tree finds one in eight
        (MATE_IN_THREE, {"mate": 50}, 3, None),
        (MATE_IN_THREE, {"mate": 2}, None, "there is no mate in 2"),
        (None, {"mate": 3}, None, "there is no mate in 3"),
        (None, {"mate": 40, "nodes": 50}, None, "no mate in 40 was found"),
        (None, {"mate": 40, "movetime": 50}, None, "no mate in 40 was found"),
        (MATE_IN_TWO, {"mate": 2, "searchmoves": ("a1a5",), "nodes": 50}, None, "no mate in 2 was found"),
    ],
)
def test_a_mate_in_so_many_moves_is_found_or_there_is_none(
    engine: Engine, root: str | None, limits: dict[str, Any], mate: int | None, told: str | None
) -> None:
    for lines in (1, 3):
        engine.configure(multipv=lines)
        recorder = think(engine, root, **limits)
        (line,) = recorder.answer.lines
        assert [info.message for info in recorder.infos if info.message] == ([] if told is None else [told])
        assert recorder.answer.move == line.pv[0] == recorder.report.lines[0].pv[0]
        assert len({shown.pv[0] for shown in recorder.report.lines}) == len(recorder.report.lines) <= lines
        if mate is not None:
            assert line.mate == recorder.report.lines[0].mate == mate
            assert board_after(root, line.pv).is_checkmate()


@pytest.mark.parametrize("nodes", [1, 20, 60])
def test_a_mate_that_is_known_is_the_answer_while_a_shorter_one_is_looked_for(engine: Engine, nodes: int) -> None:
    recorder = think(engine, MATE_IN_THREE, mate=60, nodes=nodes)
    mate = recorder.answer.lines[0].mate
    assert [info.message for info in recorder.infos if info.message] == ([] if mate else ["no mate in 60 was found"])
    assert nodes == 1 or mate


def test_an_endless_analysis_shows_the_mate_that_is_asked_for(engine: Engine) -> None:
    engine.set_position(MATE_IN_THREE, [])
    recorder = go(engine, mate=3, infinite=True)
    assert not recorder.done.wait(0.5)
    engine.stop()
    assert recorder.answer.lines[0].mate == 3


def test_mate_scores_of_both_sides(engine: Engine) -> None:
    won = think(engine, MATE_IN_TWO, nodes=100_000)
    assert won.report.lines[0].mate == 2
    assert won.report.lines[0].wdl.win == 1.0
    assert won.answer.nodes < 100_000
    lost = think(engine, MATE_IN_TWO, ["a1a6"], nodes=100_000)
    assert lost.report.lines[0].mate == -1
    assert lost.report.lines[0].cp < -1000
    mating = think(engine, MATE_IN_TWO, ["a1a6", "b7a6"], nodes=100_000)
    assert mating.answer.move == "b6b7"
    assert mating.report.lines[0].mate == 1
    assert mating.report.lines[0].pv == ("b6b7",)


@pytest.mark.parametrize(
    ("root", "moves", "mate", "plies"),
    [
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", [], 3, 5),
        (MATE_IN_TWO, [], 2, 3),
        ("8/6k1/R7/8/8/8/1R6/6K1 b - - 0 1", ["g7h7"], 2, 3),
    ],
)
def test_the_line_of_a_mate_goes_to_its_end(engine: Engine, root: str, moves: list[str], mate: int, plies: int) -> None:
    line = think(engine, root, moves, nodes=100_000).report.lines[0]
    assert line.mate == mate
    assert len(line.pv) == plies
    board = board_after(root, moves)
    for word in line.pv:
        board.push_uci(word)
    assert board.is_checkmate()


def test_multipv(engine: Engine) -> None:
    engine.configure(multipv=4)
    recorder = think(engine, nodes=2000)
    lines = recorder.report.lines
    assert len({line.pv[0] for line in lines}) == 4
    assert lines[0].pv[0] == recorder.answer.move
    assert [line.visits for line in lines] == sorted((line.visits for line in lines), reverse=True)
    assert_legal_lines(chess.Board(), recorder.report)
    one_move = think(engine, "7k/8/8/8/8/8/5PPP/r5K1 w - - 0 1", nodes=10)  # no move at all: mated
    assert one_move.answer.move is None
    engine.configure(multipv=500)
    assert len(think(engine, nodes=50).report.lines) == 20
    assert len(think(engine, nodes=1).report.lines) == 20


def test_multipv_shows_other_moves_beside_a_mate(engine: Engine) -> None:
    fen = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"
    alone = think(engine, fen, nodes=500)
    assert alone.report.nodes < 100
    engine.configure(multipv=3)
    beside = think(engine, fen, nodes=500)
    for recorder in (alone, beside):
        assert recorder.answer.move == "a1a8"
        assert recorder.report.lines[0].mate == 1
    assert [line.mate for line in beside.report.lines[1:]] == [None, None]
    assert all(line.visits > 10 for line in beside.report.lines[1:])
    assert beside.report.nodes >= 500
    clocked = think(engine, fen, time=(60_000, 60_000))
    assert clocked.report.nodes < 600


def test_searchmoves(engine: Engine) -> None:
    recorder = think(engine, nodes=300, searchmoves=("a2a3", "e2e5", "h2h4"))
    assert recorder.answer.move in ("a2a3", "h2h4")
    assert any("e2e5" in (info.message or "") for info in recorder.infos)
    free = think(engine, nodes=300)  # the tree that lacked moves is not used again
    assert sum(stat > 0 for stat in root_visits(engine).values()) > 2
    assert free.answer.move is not None
    recorder = think(engine, nodes=50, searchmoves=("e2e5",))
    assert recorder.answer.move is not None


def root_visits(engine: Engine) -> dict[str, int]:
    """N of the root's moves, asked for by a search of one more visit."""
    engine.configure(move_stats=True)
    recorder = go(engine, nodes=1)
    assert recorder.done.wait(60)
    engine.configure(move_stats=False)
    return {stats.move: stats.visits for stats in recorder.report.move_stats}


def test_move_stats_add_up(engine: Engine) -> None:
    engine.configure(move_stats=True)
    report = think(engine, nodes=500).report
    stats = report.move_stats
    assert {s.move for s in stats} == {move.uci() for move in chess.Board().legal_moves}
    assert sum(s.visits for s in stats) == 499
    assert sum(s.prior for s in stats) == pytest.approx(1.0, abs=0.01)
    assert all(-1 <= s.value <= 1 and 0 <= s.draw <= 1 for s in stats)
    assert [s.visits for s in stats] == sorted(s.visits for s in stats)


def test_the_tree_is_reused_along_the_game(engine: Engine) -> None:
    moves: list[str] = []
    for _ in range(6):
        recorder = think(engine, None, moves, nodes=2000)
        line = recorder.report.lines[0]
        expected = list(line.pv[:2])
        kept = visits_below(engine, None, moves, expected)
        moves += expected
        again = think(engine, None, moves, nodes=1)
        assert again.report.visits == kept + 1
        assert kept > 1


def visits_below(engine: Engine, root: str | None, moves: Sequence[str], path: Sequence[str]) -> int:
    """N of the node that ``path`` leads to from the position of the last search; looks into the tree."""
    tree = engine._memory.tree
    assert tree is not None
    from az_engine.engine.games import get_game

    game = get_game("chess")
    line = game.initial() if root is None else game.parse_position(root)[0]
    for text in moves:
        line = game.play(line, game.parse_move(line[-1], text))
    node = tree.root
    for text in path:
        move = game.parse_move(line[-1], text)
        line = game.play(line, move)
        node = tree.child(node, move)
        assert node >= 0
    return int(tree.nodes[node]["n"])


def test_reports_only_grow_within_a_search_and_agree_with_themselves(engine: Engine, clock: FakeClock) -> None:
    """The mean depth fell when the simulations of a search that had kept a tree went wide."""
    clock.tick = 0.01
    moves: list[str] = []
    for _ in range(8):
        recorder = think(engine, None, moves, nodes=1500)
        infos = [info for info in recorder.infos if info.message is None]
        assert len(infos) > 4
        for what in ("depth", "seldepth", "nodes", "visits", "time_ms"):
            values = [getattr(info, what) for info in infos]
            assert values == sorted(values), (what, values)
        assert all(info.nps == 1000 * info.nodes // info.time_ms for info in infos)
        assert all(info.depth <= info.seldepth for info in infos)
        assert infos[-1].nodes == recorder.answer.nodes == 1500
        moves.append(recorder.answer.move or "")
    assert infos[-1].visits > 1500


def test_the_depth_counts_what_was_kept(engine: Engine) -> None:
    recorder = think(engine, "4k3/ppp5/8/8/8/8/5PPP/4K3 w - - 0 1", nodes=20_000)
    whole, expected = recorder.report, list(recorder.report.lines[0].pv[:1])
    again = think(engine, "4k3/ppp5/8/8/8/8/5PPP/4K3 w - - 0 1", expected, nodes=2)
    assert again.report.depth >= whole.depth - 2 >= 1


def test_a_limit_of_depth_is_reached_and_reported(engine: Engine) -> None:
    moves: list[str] = []
    for depth in (3, 4, 4, 3):
        recorder = think(engine, None, moves, depth=depth)
        assert recorder.report.depth == depth
        moves.append(recorder.answer.move or "")


def test_another_game_does_not_reuse_it(engine: Engine) -> None:
    think(engine, nodes=500)
    assert think(engine, "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", nodes=10).report.nodes == 10
    think(engine, nodes=500)
    engine.new_game()
    assert think(engine, nodes=10).report.nodes == 10


@pytest.mark.parametrize(
    ("root", "moves"),
    [
        (None, [*SHUFFLE, *SHUFFLE]),  # the third repetition, and the game goes on
        ("4k3/p6p/8/8/8/8/4P3/R3K3 w Q - 98 80", ["a1a2", "e8e7"]),  # 50 moves have passed, and it goes on
        ("4k3/8/8/8/8/8/8/4K2n w - - 0 1", ["e1f1", "e8e7", "f1g1", "e7e6", "g1h1"]),  # two bare kings
    ],
)
def test_a_draw_nobody_claims(engine: Engine, root: str | None, moves: list[str]) -> None:
    """The engine had judged the position a draw inside its tree; once it is on the board it must still find a move."""
    for end in range(len(moves) - 2, len(moves)):
        think(engine, root, moves[:end], nodes=3000)
    board = board_after(root, moves)
    recorder = think(engine, root, moves, nodes=300)
    assert chess.Move.from_uci(recorder.answer.move or "") in board.legal_moves
    assert recorder.answer.messages == ()
    assert recorder.report.nodes > board.legal_moves.count()  # the root and every move
    assert sum(n > 0 for n in root_visits(engine).values()) > 1


def test_full_memory(engine: Engine, clock: FakeClock) -> None:
    engine.configure(hash_mb=1)
    for nodes, visits in ((8_001, 8_001), (4_001, 12_002)):  # the second search begins with a full tree
        recorder = think(engine, nodes=nodes)
        assert recorder.answer.nodes == recorder.report.nodes == nodes
        assert recorder.report.visits == visits
        assert 300 < recorder.report.hashfull <= 1000
        assert not any(info.message for info in recorder.infos)
    clock.tick = 0.0001
    recorder = think(engine, movetime=300)
    assert recorder.answer.nodes > 100
    assert 260 <= recorder.answer.time_ms < 320  # less the overhead of a move


def test_a_full_tree_is_taken_over(engine: Engine) -> None:
    """Whether or not it has recycled itself meanwhile, and when a move is taken back."""
    engine.configure(hash_mb=1)
    moves: list[str] = []
    for _ in range(8):
        visits = think(engine, None, moves, nodes=4_001).report.visits
        favourite = max(root_visits(engine).items(), key=lambda item: item[1])
        again = think(engine, None, moves, nodes=1)
        assert again.report.visits == visits + 2
        moves.append(favourite[0])
        taken = think(engine, None, moves, nodes=1)
        assert favourite[1] <= taken.report.visits <= favourite[1] + 2
        assert taken.answer.move is not None
        assert chess.Move.from_uci(taken.answer.move) in board_after(None, moves).legal_moves
    assert think(engine, None, moves[:3], nodes=100).report.visits >= 100


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_stop_in_the_middle_of_a_recycling(engine: Engine, monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    """Before or after it is known what goes: then the tree has to be moved first."""
    engine.configure(hash_mb=1)
    results = list[object]()

    def stopped(tree: Tree, lines: int, given_up: Callable[[], bool] = lambda: False) -> object:
        stops = len(results) == 3
        if stops and not late:
            engine.stop()

        def look() -> bool:
            stop = given_up()
            if stops:
                engine.stop()
            return stop

        results.append(recycle(tree, lines, look))
        return results[-1]

    monkeypatch.setattr("az_engine.engine.search.search.recycle", stopped)
    engine.set_position(None, [])
    recorder = go(engine, infinite=True)
    assert recorder.answer.move is not None
    assert recorder.answer.nodes == recorder.report.nodes > 1_000
    assert (results[3] is None) == (not late)
    assert think(engine, nodes=2_001).answer.nodes == 2_001


def test_the_last_report_has_an_average_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever earlier ones kept."""
    estimates = []
    for renewed in (1.0, 1e9):
        monkeypatch.setattr(thinking, "_RENEWED", renewed)
        engine = Engine("go9", EngineOptions(threads=1, hash_mb=16, batch_size=8))
        estimates.append(think(engine, nodes=100, report_ms=1).report.estimate)
        engine.close()
    assert estimates[0] is not None
    assert estimates[0].ownership is not None
    assert estimates[0] == estimates[1]


def test_nodes_limit(engine: Engine) -> None:
    engine.configure(nodes_limit=50)
    assert think(engine, movetime=5000).answer.nodes == 50
    engine.new_game()
    assert think(engine, nodes=20).answer.nodes == 20


def test_chess960_notation(engine: Engine) -> None:
    root = "4k3/8/8/8/8/8/8/1R3KR1 w GB - 0 1"
    engine.configure(chess960=True)
    assert engine.set_position(root, ["f1g1"]) == []
    assert engine.position == "4k3/8/8/8/8/8/8/1R3RK1 b - - 1 1"
    engine.set_position(root, [])
    assert "f1g1" in engine.legal_moves()
    assert "f1b1" in engine.legal_moves()
    engine.set_position("4k3/8/8/8/8/8/8/RK6 w A - 0 1", [])  # b1c1 is the king's step, b1a1 castling
    assert sorted(engine.perft(1)) == sorted((move, 1) for move in set(engine.legal_moves()))
    assert len(engine.perft(1)) == 12
    engine.configure(chess960=False)
    engine.set_position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", ["e1h1"])
    assert "e8g8" in engine.legal_moves() or engine.position == "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1"


@pytest.mark.slow
def test_long_games(engine: Engine) -> None:
    assert think(engine, None, SHUFFLE * 150, nodes=100).answer.move is not None
    assert engine.set_position(None, SHUFFLE * 1500) == []


def test_bad_options(engine: Engine) -> None:
    with pytest.raises(OptionError):
        engine.configure(no_such_option=1)
    engine.configure(hash_mb=10**9)
    with pytest.raises(OptionError):
        engine.ready()


def test_a_bad_net_leaves_the_good_one(engine: Engine) -> None:
    engine.ready()
    engine.configure(weights_file="/no/such/net.onnx")
    with pytest.raises(NetError):
        engine.ready()
    recorder = think(engine, nodes=10)
    assert recorder.answer.move is not None
    assert any("no/such" in (info.message or "") for info in recorder.infos)


def test_a_net_that_cannot_be_loaded_is_replaced_by_the_one_inside() -> None:
    engine = Engine("chess", EngineOptions(weights_file="/no/such/net.onnx"))
    recorder = think(engine, nodes=10)
    assert recorder.answers[0].move is not None
    assert isinstance(recorder.answers[0].error, NetError)
    assert any("no/such" in (info.message or "") for info in recorder.infos)
    engine.configure(weights_file="uniform")
    assert think(engine, nodes=10).answer.move is not None


def test_limited_strength_varies_and_is_weaker(engine: Engine) -> None:
    engine.configure(elo=1000)
    answers = set()
    for seed in range(12):
        engine.new_game()
        engine.configure(search=EngineOptions(weights_file="uniform").search.__class__(seed=seed))
        recorder = think(engine, nodes=5000)
        assert recorder.answer.nodes < 5000
        answers.add(recorder.answer.move)
    assert len(answers) > 2


def test_a_closed_engine_frees_its_memory_without_the_collector() -> None:
    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=8, threads=1))
    engine.set_position(None, [])
    engine.go(Limits(nodes=5), lambda info: None, lambda best: None)
    assert engine._thinking is not None
    engine._thinking._thread.join()
    engine.close()
    tree = weakref.ref(engine._memory.tree)
    gc.disable()
    try:
        del engine
        assert tree() is None
    finally:
        gc.enable()


def test_a_net_that_kernels_judge_needs_no_thread_to_watch_it() -> None:
    engine = Engine("chess", EngineOptions(hash_mb=16, threads=1))
    try:
        engine.set_position(None, [])
        for net in ("", "chess-conv"):
            names: set[str] = set()
            engine.configure(weights_file=net)
            engine.go(
                Limits(nodes=30),
                lambda _, names=names: names.update(each.name for each in threading.enumerate()),  # type: ignore[misc]
                lambda _: None,
            )
            assert engine.wait(240)
            assert ("worker 0" in names) == bool(net)
    finally:
        engine.close()


def test_a_search_that_began_late_looks_beyond_the_root() -> None:
    """As long as the move may take longer than planned."""
    game = get_game("chess")
    search = Search(game, Tree(1 << 20), UniformEvaluator(game), SearchParams(), game.initial(), visits=1)
    search.run(lambda: False)
    late = thinking.Thinking(Limits(time=(1000, 1000)), print, print, None)
    for maximum, simulations, over in ((60.0, 1, False), (60.0, 2, True), (0.0, 1, True)):
        late._budget, search.simulations = Budget(0.0, maximum), simulations
        assert late._limit_reached(search) is over

"""The rules of Go against known cases, a naive implementation, and the search's view of finished games."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import IllegalMoveError, OptionError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.games.go import Go
from az_engine.engine.games.go.notation import point_of, vertex
from az_engine.engine.games.go.rulesets import BONUS_N, NO_BONUS, POSITIONAL, SIMPLE, SITUATIONAL, RuleSet, rule_set
from az_engine.engine.games.go.score import GoTerritory
from az_engine.engine.games.go.state import BLACK, EMPTY, WHITE, State, stones_to_array
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.tree import Tree

from ..agreement import TIMES, chance
from ..test_contract import compare_leaves, random_paths
from . import agreement, gnugo
from .naive import NaiveGame, area

KO = {"positional": POSITIONAL, "situational": SITUATIONAL, "simple": SIMPLE}
CASES = [json.loads(line) for line in (Path(__file__).parents[3] / "data" / "go_cases.jsonl").read_text().splitlines()]


def go(columns: int, rows: int = 0) -> Go:
    """rows: 0 for a square board."""
    game = get_game(f"go{columns}x{rows or columns}")
    assert isinstance(game, Go)
    return game


def with_rules(line: State, ko: str, suicide: bool) -> State:
    line["rules"] = RuleSet("", KO[ko], suicide, NO_BONUS).flags
    return line


def to_move(game: Go, line: State, colour: str) -> State:
    if line[-1]["turn"] == "bw".index(colour):
        return line
    return game.play(line, game.parse_move(line, "skip"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_known_cases(case: dict[str, Any]) -> None:
    game, expect = go(case["size"]), case["expect"]
    rows = [
        re.sub(r"\.+", lambda empty: str(len(empty[0])), row)
        for row in case["setup"] or ["." * case["size"]] * case["size"]
    ]
    line = game.parse_position(f"{'/'.join(rows)} b - {case['komi']}")[0]
    queries = expect.get("queries", [])
    first = [colour for colour, _ in case["moves"]] + [query["color"] for query in queries] + ["b"]
    line["turn"] = "bw".index(first[0])
    with_rules(line, case["rules"]["ko"], case["rules"]["suicide"] == "all")
    taken = [0, 0]
    for colour, text in case["moves"]:
        line = to_move(game, line, colour)
        before = stones_to_array(line[-1])
        move = game.parse_move(line, text)
        line = game.play(line, move)
        after = stones_to_array(line[-1])
        for side in (BLACK, WHITE):
            placed = move < case["size"] ** 2 and "bw".index(colour) == side
            taken[side] += int((before == side).sum() + placed - (after == side).sum())
    for query in queries:
        asked = to_move(game, line, query["color"])
        place = point_of(query["vertex"], case["size"], case["size"])
        assert (place in game.legal_moves(asked)) == query["legal"], query
    if "board" in expect:
        board = stones_to_array(line[-1]).reshape(case["size"], case["size"])
        assert ["".join("XO."[c] for c in row) for row in board] == expect["board"]
    if "captures" in expect:
        assert taken == [expect["captures"]["black_captured_by_white"], expect["captures"]["white_captured_by_black"]]
    if "legal_vertices_without_pass" in expect:
        asked = to_move(game, line, expect["to_move"])
        assert len(game.legal_moves(asked)) - 1 == expect["legal_vertices_without_pass"]
    if "area" in expect:
        score, owner = GoTerritory().score(line[-1])
        assert [(owner == c).sum() for c in (BLACK, WHITE, EMPTY)] == [expect["area"][k] for k in ("b", "w", "neutral")]
        result = "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"
        assert result == expect["result"]


def compare_game(size: int, ko: str, suicide: bool, rng: random.Random, plies: int, rows: int = 0) -> int:
    """Play one random game in both implementations; the moves played. rows: 0 for a square board."""
    game, naive = go(size, rows), NaiveGame(size, ko, suicide, rows)
    line = with_rules(game.initial(komi=7.5), ko, suicide)
    for ply in range(plies):
        legal = game.legal_moves(line)
        assert legal.tolist() == naive.legal_moves()
        assert tuple(stones_to_array(line[-1])) == naive.board
        assert GoTerritory().score(line[-1])[0] == area(size, naive.board) - 7.5
        assert (game.outcome(line) != RUNNING) == (naive.passes >= 2)
        if naive.passes >= 2:
            return ply
        few_passes = legal[:-1] if len(legal) > 1 and rng.random() < 0.95 else legal
        move = int(rng.choice(few_passes.tolist()))
        line = game.play(line, move)
        naive.play(move)
    return plies


@pytest.mark.slow
@pytest.mark.parametrize(("ko", "suicide"), list(itertools.product(KO, (False, True))))
def test_random_games_agree_with_the_naive_rules(ko: str, suicide: bool) -> None:
    rng = random.Random(f"{ko} {suicide}")
    played = 0
    for size, games, plies in ((2, 20, 40), (3, 10, 60), (4, 4, 100), (5, 2, 60), (9, 1, 15)):
        for _ in range(games):
            played += compare_game(size, ko, suicide, rng, plies)
    assert played > 400
    for columns, rows, games, plies in ((2, 5, 6, 60), (4, 3, 6, 60), (3, 7, 2, 60), (9, 4, 1, 30)):
        for _ in range(games):
            compare_game(columns, ko, suicide, rng, plies, rows)
    compare_game(25, ko, suicide, rng, 3)


@pytest.mark.parametrize(("ko", "suicide"), list(itertools.product(KO, (False, True))))
def test_the_search_knows_what_the_game_forbids_below_its_root(ko: str, suicide: bool) -> None:
    """On boards so small that earlier positions come back all the time, before the root and behind it."""
    rng = random.Random(f"{suicide} {ko}")
    for size in (2, 3):
        game = go(size)
        for plies in range(0, 30, 3):
            line = with_rules(game.initial(komi=7.5), ko, suicide)
            for _ in range(plies):
                legal = game.legal_moves(line)
                line = game.play(line, int(rng.choice((legal[:-1] if len(legal) > 1 else legal).tolist())))
            if game.outcome(line) == RUNNING:
                compare_leaves(game, [(line, *random_paths(game, line, rng, 12))])


@pytest.mark.slow
def test_whole_random_games_agree_with_flood_filling() -> None:
    rng, seen = chance(4), Counter[str]()
    for ko, suicide in itertools.product(KO.values(), (False, True)):
        sizes = (2, 3, 5, 7) if TIMES == 1 else (agreement.random_size(rng) for _ in range(4 * TIMES))
        for size in sizes:
            assert not agreement.compare(size, ko, suicide, rng, seen)
    assert seen["games"] == 24 * TIMES
    assert seen["captures"] > 200
    assert seen["forbidden"] > 500


@pytest.mark.skipif(shutil.which("gnugo", path="/usr/games:/usr/bin") is None, reason="GNU Go is not installed")
def test_gnu_go_agrees() -> None:
    rng, seen = chance(3), Counter[str]()
    for ko, suicide in ((POSITIONAL, False), (SITUATIONAL, True)):
        engine = gnugo.GnuGo(ko, suicide)
        for size in (3, 5) * TIMES:
            assert not gnugo.compare(engine, size, ko, suicide, rng, seen)
        engine.close()
    assert seen["games"] == 4 * TIMES


def test_the_lead_counts_what_the_rules_add() -> None:
    for rules, extra in (("tromp-taylor", 0), ("chinese", 3), ("aga", 2)):
        black, white = (go(9).parse_position(f"9/9/9/9/9/9/9/9/9 {c} - 6.5 {rules} 3")[0][-1] for c in "bw")
        assert GoTerritory().lead(black, 10.0) == 10 - 6.5 - extra
        assert GoTerritory().lead(white, 10.0) == 10 + 6.5 + extra
        assert GoTerritory().score(black)[0] == GoTerritory().lead(black, 0.0)


@pytest.mark.parametrize("rules", ["tromp-taylor", "aga", "japanese", "aga-button"])
def test_leads_at_the_ends_of_paths_are_those_of_the_positions(rules: str) -> None:
    game, rng = go(5), chance(4)
    for turn, _ in itertools.product("bw", range(20 * TIMES)):
        root = game.parse_position(f"5/2X2/5/5/5 {turn} - 6.5 {rules} 3")[0]
        line, path = root, list[int]()
        while len(path) < rng.randrange(9):
            path.append(25 if rng.random() < 0.4 else rng.choice(game.look(line)[0].tolist()))
            line = game.play(line, path[-1])
        paths, lengths = np.zeros((1, 12), np.uint16), np.array([len(path)])
        paths[0, : len(path)] = path
        (lead,) = GoTerritory().leads(root[-1], paths, lengths, np.full(1, 10.0, np.float32))
        assert lead == GoTerritory().lead(line[-1], 10.0)


def test_points_in_a_seki_that_the_rules_do_not_count_are_not_counted_by_a_search() -> None:
    """White leads by half a point less the eyes; a search has to leave that to the net."""
    rows = [".OO.XXX..", "OOOOXXXXX", "XXXXOOOOO", *["...XO...."] * 6]
    text = "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)
    game = go(9)
    root = game.parse_position(f"{text} w - -4.5 koSIMPLEscoreAREAtaxSEKIsui0 0 1")[0]
    assert game.outcome(game.play(root, 81)) == LOSS, "black's turn"
    tree = Tree(1 << 20)
    Search(game, tree, UniformEvaluator(game), SearchParams(), root, visits=200).run(lambda: False)
    assert tree.nodes[tree.root]["bound"] == RUNNING
    children = tree.nodes[1 : tree.nodes[tree.root]["children"] + 1]
    assert (children["bound"] == RUNNING).all()


def test_perft_agrees_with_the_naive_rules() -> None:
    def leaves(game: NaiveGame, depth: int) -> int:
        if depth == 0:
            return 1
        if game.passes >= 2:
            return 0
        total = 0
        for move in game.legal_moves():
            after = NaiveGame(game.columns, game.ko, game.suicide)
            after.past, after.turn, after.passes = list(game.past), game.turn, game.passes
            after.play(move)
            total += leaves(after, depth - 1)
        return total

    game = go(2)
    for depth in range(1, 5):
        expected = leaves(NaiveGame(2, "positional", True), depth)
        assert sum(game.perft(game.initial()[-1], depth).values()) == expected


def test_handicap_points_follow_the_rule_set() -> None:
    game = go(9)
    for rules, expected in (
        ("tromp-taylor", 75),
        ("chinese", 72),
        ("chinese-ogs", 72),
        ("aga", 73),
        ("new-zealand", 75),
    ):
        line = game.parse_position(f"9/9/9/9/3X1X3/9/4X4/9/9 w - 6 {rules} 3")[0]
        assert GoTerritory().score(line[-1])[0] == expected
    assert rule_set("chinese").bonus == BONUS_N


@pytest.mark.parametrize("seed", range(10))
def test_territory_and_prisoners_are_the_area_less_the_stones_played(seed: int) -> None:
    """Random games, against a count by flood fill of what each side surrounds, and of what it has captured."""
    game, rng = go(5), np.random.default_rng(seed)
    line, prisoners = game.initial(6.5, "koSIMPLEscoreTERRITORYtaxNONEsui0"), [0, 0]  # seki counts as any territory
    while len(line) < 60:
        before = stones_to_array(line[-1])
        line = game.play(line, int(rng.choice(game.legal_moves(line))))
        taken = (before != EMPTY) & (stones_to_array(line[-1]) == EMPTY)
        for colour in (BLACK, WHITE):
            prisoners[1 - colour] += int((taken & (before == colour)).sum())
        board = tuple(stones_to_array(line[-1]).tolist())
        surrounded = area(5, board) - board.count(BLACK) + board.count(WHITE)
        assert GoTerritory().score(line[-1])[0] == surrounded + prisoners[BLACK] - prisoners[WHITE] - 6.5
        again = game.parse_position(game.format_position(line[-1]))[0]
        assert again[-1]["played"] == line[-1]["played"]


def test_two_passes_are_scored_for_the_side_to_move() -> None:
    game = go(5)
    for komi, black_to_move in ((0.5, LOSS), (-0.5, WIN), (0, DRAW)):
        line = game.initial(komi)
        for _ in range(2):
            assert game.outcome(line) == RUNNING
            line = game.play(line, 25)
        assert game.outcome(line) == black_to_move
        assert len(game.legal_moves(line)) == 26  # a protocol may play on


def test_the_search_finds_the_winning_pass() -> None:
    """After black's pass white wins by passing: a leaf whose own side to move has won is a loss for the side before."""
    game = go(5)
    line = game.parse_position("XXXXX/5/5/OOOOO/5 b - 0.5")[0]
    line = game.play(line, 25)
    for solver in (True, False):
        tree = Tree(1 << 22)
        params = SearchParams(solver=solver)
        search = Search(game, tree, UniformEvaluator(game, 8), params, game.window(line), visits=600)
        search.run(lambda: False)
        assert search.error is None
        edges, children = tree.children_of(tree.root)
        ended = next(child for edge, child in zip(edges, children, strict=False) if edge["move"] == 25)
        assert ended["terminal"]
        assert game.outcome(game.play(line, 25)) == (WIN if GoTerritory().score(line[-1])[0] > 0 else LOSS)
        assert ended["bound"] == game.outcome(game.play(line, 25))
        assert ended["w"] / ended["n"] == ended["bound"]


def test_a_terminal_win_is_a_proven_loss_for_the_one_who_moved() -> None:
    """Komi so great that white always wins: black's pass, the game's end, is WIN for white to move."""
    game = go(2)
    line = game.play(game.initial(komi=100), 0)
    line = game.play(line, 4)  # white passes; black to move
    tree = Tree(1 << 22)
    search = Search(game, tree, UniformEvaluator(game, 4), SearchParams(solver=True), game.window(line), visits=2_000)
    search.run(lambda: False)
    assert search.error is None
    edges, children = tree.children_of(tree.root)
    ended = next(child for edge, child in zip(edges, children, strict=False) if edge["move"] == 4)
    assert (ended["bound"], ended["terminal"]) == (WIN, 1)
    root = tree.nodes[tree.root]
    assert root["bound"] == LOSS  # the solver found that black loses whatever it does


def test_positions_as_text() -> None:
    game = go(3)
    line = game.parse_position("3/1X1/3 w - 7.5 tromp-taylor 0 0 1")[0]
    assert game.format_position(line[-1]) == "3/1X1/3 w - 7.5 tromp-taylor 0 0 1"
    for text in ("3/1X1/3", "3/1X1/4 b", "3/1X1 b", "1/X/1 b", "26/26 b", "3/1X1/3 x", "3/1X1/3 b Z9", "3/1X1/3 b B2"):
        with pytest.raises((PositionError, OptionError)):
            game.parse_position(text)
    for text in ("3/1X1/3 b - nan", "3/1X1/3 b - 0 0 ing", "3/1X1/3 b - 1 go"):
        with pytest.raises(PositionError):
            game.parse_position(text)
    for text in ("3/1X1/3 b - 7.3", "3/1X1/3 b - inf", "XXX/XXX/XXX b"):
        with pytest.raises(PositionError):
            game.parse_position(text)
    for text in ("3/1X1/3 w - 6.5 japanese 0 0 1 0", "3/1X1/3 w - 6.5 japanese 0 0 9 -2"):
        assert game.format_position(game.parse_position(text)[0][-1]) == text
    for text in ("I1", "A4", "D1", "A0", "", "b2 ", "²1"):
        with pytest.raises(IllegalMoveError):
            game.parse_move(line, text)
    with pytest.raises(IllegalMoveError, match="stone"):
        game.parse_move(line, "b2")
    assert [vertex(p, 9, 9) for p in (0, 8, 80, 81)] == ["A9", "J9", "J1", "pass"]


def test_sizes() -> None:
    assert get_game("go").planes == (17, 9, 9)
    assert get_game("go19") is get_game("go").sized(19)
    assert get_game("go9") is get_game("go")
    for name in ("go1", "go26", "go99999", "chess9"):
        with pytest.raises(OptionError):
            get_game(name)


def test_boards_that_are_not_square() -> None:
    game = go(13, 9)
    assert get_game("go13x9") is game is not get_game("go9x13")
    assert get_game("go9x9") is get_game("go9")
    assert (game.planes, game.num_actions) == ((17, 9, 13), 118)
    text = "13/13/13/13/11X1/13/13/13/O12 b - 6.5 chinese 0 0 2"
    line = game.parse_position(text)[0]
    assert game.format_position(line[-1]) == text
    assert [game.format_move(line[-1], move) for move in (0, 12, 13, 116, 117, 118)] == [
        "A9", "N9", "A8", "N1", "pass", "skip",
    ]  # fmt: skip
    assert game.parse_move(line, "n1") == 116
    assert game.parse_move(line, "A8") == 13
    for word in ("O1", "A10", "M5", "A1"):
        with pytest.raises(IllegalMoveError):
            game.parse_move(line, word)
    with pytest.raises(OptionError, match="13x9 board, not 9x13"):
        go(9, 13).parse_position(text)
    for name in ("go9x", "gox9", "go9x1", "go9x26", "go9x9x9", "chess8x8"):
        with pytest.raises(OptionError):
            get_game(name)
    assert 0 < go(3, 5).random_games(10, 2) <= 10 * 30


def test_random_games_of_the_bench_are_whole() -> None:
    assert go(5).random_games(10, 1) == go(5).random_games(10, 1)
    assert 0 < go(5).random_games(10, 2) <= 10 * 50
    assert np.all(stones_to_array(go(5).initial()[-1]) == EMPTY)

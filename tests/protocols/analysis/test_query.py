"""Queries: every field, KataGo's words for what is wrong, and hostile JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from az_engine.protocols.gtp.board import handicap_of

from .talk import GO, AnalysisTalk

PAIRS = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
RULES = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with detailed rules parameters.'
)
SIZE = "Must provide an integer from 2 to 25"
VISITS = "Must be an integer from 1 to 2^50"
KOMI = "Must be a integer or half-integer from -400.0 to 400.0"
TURNS = "Must specify an array of integers indicating turns to analyze"
ENTRIES = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
HUGE = 10**400
CORNER = {"player": "B", "moves": ["A1"], "untilDepth": 1}


@pytest.fixture(scope="module")
def talk() -> Iterator[AnalysisTalk]:
    with AnalysisTalk() as talk:
        yield talk


@pytest.mark.parametrize(
    ("fields", "field", "error"),
    [
        ({"moves": None}, "moves", "Must specify an array of [player,location] pairs"),
        ({"moves": "B E5"}, "moves", PAIRS),
        ({"moves": [["B"]]}, "moves", PAIRS),
        ({"moves": [["B", 5]]}, "moves", PAIRS),
        ({"moves": [["red", "C3"]]}, "moves", "Could not parse player: red"),
        ({"moves": [["B", "J5"]]}, "moves", "Could not parse board location: J5"),
        ({"moves": [["B", "(5,0)"]]}, "moves", "Could not parse board location: (5,0)"),
        ({"moves": [["B", "null"]]}, "moves", "Could not parse board location: null"),
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "moves", "Illegal move 1: C3"),
        ({"moves": [["W", "C3"], ["W", "B2"], ["W", "B2"]]}, "moves", "Illegal move 2: B2"),
        ({"moves": [["B", "C3"]] * 10_001}, "moves", "Must be at most 2000 moves"),
        ({"initialStones": [["B", "pass"]]}, "initialStones", "Could not parse board location: pass"),
        ({"initialStones": {}}, "initialStones", PAIRS),
        ({"initialPlayer": "x"}, "initialPlayer", 'Must be "b" or "w"'),
        ({"initialPlayer": 1}, "initialPlayer", 'Must be "b" or "w"'),
        ({"rules": None}, "rules", RULES),
        ({"rules": 7}, "rules", RULES),
        ({"rules": "marsian"}, "rules", "Could not parse rules: marsian"),
        ({"rules": {"ko": "X"}}, "rules", 'Could not parse rules: {"ko": "X"}'),
        ({"komi": "7"}, "komi", KOMI),
        ({"komi": 0.3}, "komi", KOMI),
        ({"komi": HUGE}, "komi", KOMI),
        ({"komi": 401}, "komi", KOMI),
        ({"whiteHandicapBonus": 3}, "whiteHandicapBonus", "Must be a string"),
        ({"boardXSize": None}, "boardXSize", SIZE),
        ({"boardXSize": 26}, "boardXSize", SIZE),
        ({"boardXSize": 5.0}, "boardXSize", SIZE),
        ({"boardXSize": True}, "boardXSize", SIZE),
        ({"boardYSize": HUGE}, "boardYSize", SIZE),
        ({"boardYSize": 1}, "boardYSize", SIZE),
        ({"analyzeTurns": 0}, "analyzeTurns", TURNS),
        ({"analyzeTurns": [0.5]}, "analyzeTurns", TURNS),
        ({"analyzeTurns": []}, "analyzeTurns", "Must be one to 10000 turns"),
        ({"analyzeTurns": [True]}, "analyzeTurns", TURNS),
        ({"analyzeTurns": [1]}, "analyzeTurns", "Invalid turn number: 1"),
        ({"analyzeTurns": [-1]}, "analyzeTurns", "Invalid turn number: -1"),
        ({"priorities": [1]}, "priorities", "Can only specify when also specifying analyzeTurns"),
        ({"analyzeTurns": [0], "priorities": []}, "priorities", "Must be of matching length to analyzeTurns"),
        ({"analyzeTurns": [0], "priorities": [2**62]}, "priorities", f"Invalid priority: {2**62}"),
        ({"priority": 2**62}, "priority", "Must be a number between -2^62 and 2^62"),
        (
            {"analyzeTurns": [0], "priority": 1, "priorities": [1]},
            "priority",
            "Cannot specify both priority and priorities",
        ),
        ({"maxVisits": 0}, "maxVisits", VISITS),
        ({"maxVisits": 1.5}, "maxVisits", VISITS),
        ({"maxVisits": HUGE}, "maxVisits", VISITS),
        ({"analysisPVLen": 0}, "analysisPVLen", "Must be an integer from 1 to 1000"),
        ({"rootFpuReductionMax": 3}, "rootFpuReductionMax", "Must be a number from 0.0 to 2.0"),
        ({"rootPolicyTemperature": 0}, "rootPolicyTemperature", "Must be a number from 0.01 to 100.0"),
        ({"includePolicy": 1}, "includePolicy", "Must be a boolean"),
        ({"includeOwnership": "yes"}, "includeOwnership", "Must be a boolean"),
        (
            {"reportDuringSearchEvery": 0},
            "reportDuringSearchEvery",
            "Must be number of seconds from 0.001 to 1000000.0",
        ),
        ({"overrideSettings": []}, "overrideSettings", "Must be an object"),
        (
            {"overrideSettings": {"maxTime": "soon"}},
            "overrideSettings",
            "Could not set settings: maxTime must be a number from 0.001 to 1e+06",
        ),
        (
            {"overrideSettings": {"cpuctExploration": -1}},
            "overrideSettings",
            "Could not set settings: cpuctExploration must be a number from 0 to 100, not '-1'",
        ),
        (
            {"allowMoves": [CORNER], "avoidMoves": [CORNER]},
            "allowMoves",
            "Cannot specify both allowMoves and avoidMoves",
        ),
        ({"avoidMoves": [3]}, "avoidMoves", ENTRIES),
        ({"avoidMoves": [{"player": "b", "moves": []}]}, "avoidMoves", ENTRIES),
        ({"avoidMoves": [{**CORNER, "untilDepth": 0}]}, "avoidMoves", "Must be a positive integer"),
        ({"avoidMoves": [{**CORNER, "moves": ["Z9"]}]}, "avoidMoves", "Could not parse board location: Z9"),
        ({"avoidMoves": [{**CORNER, "moves": "A1"}]}, "avoidMoves", "Must be an array of GTP board vertices"),
        ({"allowMoves": [CORNER, CORNER]}, "allowMoves", "Currently allowMoves only allows one entry per player"),
    ],
)
def test_katagos_words_for_what_is_wrong(talk: AnalysisTalk, fields: dict[str, Any], field: str, error: str) -> None:
    assert talk.one(**fields) == {"error": error, "field": field, "id": "q"}


def test_lines_that_are_no_query(talk: AnalysisTalk) -> None:
    id_error = {"error": 'Request must have a string "id" field'}
    for name in (3, None, ["a"]):
        talk.tell({"id": name})
        assert talk.answer() == id_error
    for line in ("[]", '"a"', "3", "null"):
        talk.send(line)
        assert talk.answer()["error"].startswith("Request line was valid json but was not an object, ignoring: ")
    for line in ("{", "nonsense", '{"id":"a","komi":NaN}', '{"id":"a","komi":-Infinity}', "[" * 100_000):
        talk.send(line)
        assert "could not parse input line as json request: " in talk.answer()["error"]
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    talk.tell({"id": "q", "action": "query_version", "deep": deep})
    assert "more than 60 levels - could not parse" in talk.answer()["error"]
    talk.send('{"id":"q","maxVisits":' + "9" * 5000 + "}")
    assert "could not parse" in talk.answer()["error"]
    talk.send("x" * (1 << 20) + "y")
    assert talk.answer() == {"error": "a line longer than 1 MiB - could not parse input line as json request"}
    talk.tell({**GO, "id": "z" * 900_000})
    assert len(talk.answer()["id"]) == 900_000
    talk.send("", "   ")
    talk.tell({"id": "\udc80\x00é", "action": "clear_cache"})
    assert talk.answer() == {"id": "\udc80\x00é", "action": "clear_cache"}


def test_warnings_come_before_the_answer(talk: AnalysisTalk) -> None:
    talk.ask(komy=7, overrideSettings={"maxTme": 1, "wideRootNoise": 0.04, "antiMirror": True})
    partial = {"id": "q", "isDuringSearch": True, "noResults": True}
    assert [talk.answer() for _ in range(3)] == [
        {"warning": "antiMirror has no effect here", "field": "overrideSettings", **partial},
        {"warning": "Unknown config params: maxTme", "field": "overrideSettings", **partial},
        {"warning": "Unexpected or unused field, do you have a typo?", "field": "komy", **partial},
    ]
    assert talk.answer()["isDuringSearch"] is False
    talk.ask(avoidMoves=[{**CORNER, "untilDepth": 9}])
    assert "untilDepth" in talk.answer()["warning"]
    assert talk.answer()["isDuringSearch"] is False


def test_a_root_temperature_levels_the_priors() -> None:
    greatest = []
    with AnalysisTalk(weights_file="", analysts=1) as talk:
        for more in ({}, {"rootPolicyTemperature": 100.0}, {"overrideSettings": {"rootPolicyTemperature": 100.0}}):
            talk.ask(boardXSize=9, boardYSize=9, **more)
            greatest.append(max(info["prior"] for info in talk.answer()["moveInfos"]))
        both = {"rootPolicyTemperature": 100.0, "rootPolicyTemperatureEarly": 100.0}
        talk.ask(boardXSize=9, boardYSize=9, overrideSettings=both)
        greatest.append(max(info["prior"] for info in talk.answer()["moveInfos"]))
        talk.ask(boardXSize=9, boardYSize=9, overrideSettings={"rootPolicyTemperatureEarly": 1.5})
        assert talk.answer()["warning"] == "rootPolicyTemperatureEarly has no effect here"
        assert talk.answer()["moveInfos"]
    assert greatest[0] > 5 * greatest[1]
    assert greatest[1] == greatest[2] == greatest[3]


def moves_of(answer: dict[str, Any]) -> set[str]:
    return {info["move"] for info in answer["moveInfos"]}


def test_moves_can_be_allowed_and_avoided(talk: AnalysisTalk) -> None:
    assert moves_of(talk.one(allowMoves=[{"player": "B", "moves": ["a1", "(2,2)"], "untilDepth": 1}])) == {"A1", "C3"}
    without = talk.one(avoidMoves=[CORNER, {"player": "W", "moves": ["B1"], "untilDepth": 1}], maxVisits=100)
    assert "A1" not in moves_of(without)
    assert "B1" in moves_of(without)
    nothing = talk.one(moves=[["B", "A1"]], allowMoves=[{"player": "W", "moves": ["A1"], "untilDepth": 1}])
    assert nothing == {"id": "q", "turnNumber": 1, "isDuringSearch": False, "noResults": True}


def test_the_start_of_a_game(talk: AnalysisTalk) -> None:
    stones = [["B", "B2"], ["b", "D4"]]
    assert talk.one(initialStones=stones)["rootInfo"]["currentPlayer"] == "W"  # a handicap
    assert talk.one(initialStones=[*stones, ["W", "C3"]])["rootInfo"]["currentPlayer"] == "B"
    assert talk.one(initialStones=stones, initialPlayer="black")["rootInfo"]["currentPlayer"] == "B"
    assert talk.one(moves=[["W", "C3"], ["W", "B2"]])["rootInfo"]["currentPlayer"] == "B"
    same = talk.one(moves=[["B", "(0,4)"]], rules={"ko": "POSITIONAL", "scoring": "AREA"}, komi=7.5)
    assert same["rootInfo"]["thisHash"] == talk.one(moves=[["B", "A1"]])["rootInfo"]["thisHash"]


def test_a_board_that_is_not_square(talk: AnalysisTalk) -> None:
    """Seven columns, four rows: columns go up to G, rows to 4, and the policy is told row by row from the top."""
    size = {"boardXSize": 7, "boardYSize": 4}
    answer = talk.one(**size, moves=[["B", "(6,0)"], ["W", "A1"]], includePolicy=True)
    assert [i for i, p in enumerate(answer["policy"]) if p == -1] == [6, 21]
    assert len(answer["policy"]) == 29
    for place in ("A5", "H1", "(0,4)", "(7,0)"):
        assert talk.one(**size, moves=[["B", place]])["error"].startswith("Could not parse board location")


def test_what_an_answer_holds(talk: AnalysisTalk) -> None:
    answer = talk.one(moves=[["B", "C3"]], includePolicy=True, includePVVisits=True, includeNoResultValue=True,
                      analysisPVLen=2, maxVisits=200)  # fmt: skip
    assert answer["turnNumber"] == 1
    assert answer["rootInfo"]["visits"] == 200
    assert answer["rootInfo"]["currentPlayer"] == "W"
    assert len(answer["policy"]) == 26
    assert answer["policy"][12] == -1
    assert sum(p for p in answer["policy"] if p >= 0) == pytest.approx(1.0, abs=1e-4)
    infos = answer["moveInfos"]
    assert sum(info["visits"] for info in infos) == 199
    assert [info["order"] for info in infos] == [*range(len(infos))]
    assert all(info["pv"][0] == info["move"] and len(info["pv"]) <= 2 for info in infos)
    assert all(len(info["pvVisits"]) == len(info["pv"]) and info["pvVisits"][0] == info["visits"] for info in infos)
    assert infos[0]["noResultValue"] == 0.0
    black = talk.one(moves=[["B", "C3"]], maxVisits=1)
    assert black["moveInfos"] == []
    assert black["rootInfo"]["visits"] == 1


def test_a_hash_of_symmetric_positions(talk: AnalysisTalk) -> None:
    corners = [talk.one(moves=[["B", place]], komi=komi)["rootInfo"] for place in ("A2", "B1", "E4") for komi in (0, 7)]
    assert len({root["symHash"] for root in corners}) == 1
    assert len({root["thisHash"] for root in corners}) == 3, "komi is no part of it"
    other = talk.one(moves=[["B", "A2"]], boardXSize=7)["rootInfo"]
    assert other["symHash"] not in {root["symHash"] for root in corners}


def test_fields_that_programs_read(talk: AnalysisTalk) -> None:
    root = talk.one()["rootInfo"]
    assert root["weight"] == root["visits"] == 20
    assert [root[name] for name in ("rawStWrError", "rawStScoreError", "rawVarTimeLeft")] == [-0.5, -1, -1], "not told"


@pytest.mark.parametrize(
    ("fields", "visits"),
    [
        ({"overrideSettings": {"maxVisits": 9}, "maxVisits": None}, 9),
        ({"overrideSettings": {"maxPlayouts": 7}}, 7),
        ({"overrideSettings": {"maxPlayouts": 1 << 50, "maxVisits": 1 << 50}}, 20),
        ({"overrideSettings": {"playoutDoublingAdvantage": 0, "playoutDoublingAdvantagePla": "BLACK"}}, 20),
        ({"overrideSettings": {"playoutDoublingAdvantage": 0.0, "wideRootNoise": 0.04}}, 20),
        ({"overrideSettings": {"ignorePreRootHistory": False}}, 20),
        ({"overrideSettings": {"ignorePreRootHistory": "true"}}, 20),
        *(
            ({"rules": rules}, 20)
            for rules in ("aga-button", "stone_scoring", "ancient-territory", "中国规则", "日本式")
        ),
        ({"rules": {"scoring": "AREA", "tax": "ALL", "hasButton": True, "ko": "SIMPLE", "suicide": False}}, 20),
    ],
)
def test_what_programs_send_is_obeyed_without_a_warning(
    talk: AnalysisTalk, fields: dict[str, Any], visits: int
) -> None:
    answer = talk.one(**fields)
    assert answer["rootInfo"]["visits"] == visits


def test_settings_that_mean_nothing(talk: AnalysisTalk) -> None:
    for given in ({"ignorePreRootHistory": 3}, {"maxPlayouts": "many"}, {"maxVisits": -1}):
        assert talk.one(overrideSettings=given)["error"].startswith("Could not set settings: ")


@pytest.mark.parametrize(
    ("stones", "left"),
    [
        (["W A1", "B A2", "B B1"], {"A2", "B1"}),  # the last one takes it
        (["B A2", "B B1", "W A1"], {"A2", "B1"}),  # a lone stone without liberties is not put down
        (["B A2", "B B2", "B C1", "W A1", "W B1"], {"A2", "B2", "C1"}),  # a chain dies with its last stone
        (["W C3", "B C3"], {"C3"}),
    ],
)
def test_stones_without_liberties_are_taken_off(talk: AnalysisTalk, stones: list[str], left: set[str]) -> None:
    """As KataGo does, which puts them down one after another."""
    given = [word.split() for word in stones]
    answer = talk.one(initialStones=given, initialPlayer="B", includePolicy=True)
    columns = "ABCDE"
    taken = {f"{columns[i % 5]}{5 - i // 5}" for i, p in enumerate(answer["policy"][:25]) if p == -1}
    assert taken == left


def test_black_moves_before_whites_first_are_a_handicap() -> None:
    """By the rules that give white points for it; a second white move in a row makes it a problem."""
    b, w = ["B", "A1"], ["W", "E5"]
    two, passing = [b, ["B", "A3"]], [b, ["W", "pass"], ["B", "A3"]]
    for moves, points in ((two, 2), (passing, 2), ([*two, w], 2), ([b, w], 0), ([*two, w, ["W", "E3"]], 0)):
        assert handicap_of("", [(colour.lower(), place) for colour, place in moves]) == points
    assert handicap_of("X", [("b", "C3")]) == 2
    assert handicap_of("XO", [("b", "C3"), ("b", "C4")]) == 0


def test_points_of_view(talk: AnalysisTalk) -> None:
    sides = ("BLACK", "WHITE", "SIDETOMOVE")
    moves = [["B", "C3"], ["W", "pass"], ["B", "B3"]]
    infos = [talk.one(moves=moves, overrideSettings={"reportAnalysisWinratesAs": side}, maxVisits=300,
                      )["moveInfos"][0] for side in sides]  # fmt: skip
    black, white, mover = (info["winrate"] for info in infos)
    assert black == pytest.approx(1 - white, abs=2e-6)
    assert white == mover
    assert infos[0]["utility"] == -infos[1]["utility"]

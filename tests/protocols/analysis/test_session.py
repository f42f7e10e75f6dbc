"""Conversations: many queries at a time, terminations, priorities, actions, the end, other games."""

from __future__ import annotations

import json
import random
import threading
import weakref
from collections import Counter
from typing import Any

import pytest

from az_engine import __version__
from az_engine.engine.engine import Engine
from az_engine.engine.errors import ThreadError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions
from az_engine.engine.thinking import OnDone, OnInfo
from az_engine.protocols.analysis import analyst
from az_engine.protocols.analysis.analyst import Replay, Turn, Turns
from az_engine.protocols.analysis.positions import GoNotation
from az_engine.protocols.analysis.query import read_query
from az_engine.protocols.options import OptionValues

from .talk import GO, PLAIN, AnalysisTalk

ENDLESS = 10**9  # up to a full tree


def test_actions() -> None:
    with AnalysisTalk() as talk:
        talk.tell({"id": "v", "action": "query_version", "mine": [1]})
        assert talk.answer() == {
            "id": "v", "action": "query_version", "mine": [1], "version": __version__, "git_hash": "",
        }  # fmt: skip
        talk.tell({"id": "c", "action": "clear_cache"})
        assert talk.answer() == {"id": "c", "action": "clear_cache"}
        talk.tell({"id": "m", "action": "query_models"})
        (model,) = talk.answer()["models"]
        assert model["internalName"] == "no net: every move is as likely"
        talk.tell({"id": "x", "action": "dance"})
        assert talk.answer()["error"].startswith("'action' field must be 'query_version' or ")
        talk.tell({"id": "x", "action": "terminate"})
        error = 'Requests for a terminate action must have a string "terminateId" field'
        assert talk.answer() == {"error": error, "field": "terminateId", "id": "x"}
        talk.tell({"id": "x", "action": "terminate_all", "turnNumbers": ["a"]})
        error = "If provided, must be an array of integers indicating turns to terminate"
        assert talk.answer() == {"error": error, "field": "turnNumbers", "id": "x"}
        talk.tell({"id": "x", "action": "terminate", "terminateId": "nobody"})
        assert talk.answer() == {"id": "x", "action": "terminate", "terminateId": "nobody"}


def test_every_turn_gets_its_answer() -> None:
    moves = [["B", "C3"], ["W", "D3"], ["B", "C4"]]
    with AnalysisTalk() as talk:
        talk.ask(moves=moves, analyzeTurns=[3, 0, 2, 0])
        answers = [talk.answer() for _ in range(3)]
        assert {answer["turnNumber"] for answer in answers} == {0, 2, 3}
        assert all(answer["rootInfo"]["visits"] == 20 for answer in answers)


def test_greater_priorities_first() -> None:
    with AnalysisTalk(analysts=1, hash=1024) as talk:
        talk.ask(id="first", maxVisits=ENDLESS, reportDuringSearchEvery=0.05)
        assert talk.answer()["isDuringSearch"]
        talk.ask(id="low", priority=-1)
        talk.ask(id="two", moves=[["B", "C3"]], analyzeTurns=[0, 1], priorities=[5, 7])
        talk.ask(id="high", priority=6)
        talk.tell({"id": "t", "action": "terminate", "terminateId": "first"})
        answers: list[dict[str, Any]] = []
        while len(answers) < 6:
            answer = talk.answer()
            if not answer.get("isDuringSearch"):  # a report that was under way
                answers.append(answer)
    assert [(answer["id"], answer.get("turnNumber")) for answer in answers if "action" not in answer] == [
        ("first", 0), ("two", 1), ("high", 0), ("two", 0), ("low", 0),
    ]  # fmt: skip


def test_terminations() -> None:
    with AnalysisTalk(analysts=1, hash=1024) as talk:
        talk.ask(id="a", maxVisits=ENDLESS, reportDuringSearchEvery=0.05)
        assert talk.answer()["isDuringSearch"]
        talk.ask(id="b", moves=[["B", "C3"]], analyzeTurns=[0, 1])
        talk.tell({"id": "t", "action": "terminate", "terminateId": "b", "turnNumbers": [1]})
        answer = talk.answer()
        while answer.get("isDuringSearch"):
            answer = talk.answer()
        assert answer == {"id": "b", "turnNumber": 1, "isDuringSearch": False, "noResults": True}
        talk.tell({"id": "t", "action": "terminate_all"})
        finals = Counter[tuple[str, int]]()
        while len(finals) < 2:
            answer = talk.answer()
            if answer.get("isDuringSearch") is False:
                finals[answer["id"], answer["turnNumber"]] += 1
                assert answer["id"] == "b" or answer["rootInfo"]["visits"] > 1
        assert finals == {("a", 0): 1, ("b", 0): 1}
        assert [a for a in talk.answers() if "action" not in a] == []


class Unanswered(Engine):
    """Its net answers nothing until the search is stopped."""

    def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
        self.on_done = on_done
        begun.set()

    def stop(self) -> None:
        self.on_done(BestMove("a1", messages=("stopped before the net had answered",)))


begun = threading.Event()


def test_no_warning_of_a_turn_terminated_without_a_visit() -> None:
    with AnalysisTalk(make=lambda options: Unanswered("go", options)) as talk:
        talk.ask(id="a", maxVisits=ENDLESS)
        assert begun.wait(talk.patience_s)
        talk.tell({"id": "t", "action": "terminate", "terminateId": "a"})
        answers = [talk.answer(), talk.answer()]
        assert {"id": "a", "turnNumber": 0, "isDuringSearch": False, "noResults": True} in answers
        assert [answer for answer in answers if "warning" in answer] == []


class Plain(Unanswered):
    """Counts how often it is asked for the sizes of the net's boards, for which it reads the net's file."""

    asked = 0

    def sizes(self) -> tuple[int, ...]:
        Plain.asked += 1
        return super().sizes()


def noting(log: list[str], name: str, call: Any) -> Any:
    """The same function, which also notes that it is called."""

    def noted(*arguments: Any) -> Any:
        log.append(name)
        return call(*arguments)

    return noted


def test_queries_are_read_cheaply_beside_a_busy_analyst(monkeypatch: pytest.MonkeyPatch) -> None:
    """No move is looked at or played before an analyst takes the turn, and the net's file is read once."""
    points = [f"{column}{row}" for row in range(1, 20) for column in "ABCDEFGHJKLMNOPQRST"]
    moves = [["BW"[i % 2], point] for i, point in enumerate(random.Random(1).sample(points, 150))]
    worked: list[str] = []
    for kind, names in (
        (type(get_game("go19")), ("parse_move", "play_at", "replay")),
        (Plain, ("set_position", "play")),
    ):
        for name in names:
            monkeypatch.setattr(kind, name, noting(worked, name, getattr(kind, name)))
    begun.clear()
    with AnalysisTalk(make=lambda options: Plain("go", options), analysts=1) as talk:
        talk.ask(id="busy", maxVisits=ENDLESS, boardXSize=19, boardYSize=19)
        assert begun.wait(talk.patience_s)
        assert "set_position" in worked
        worked.clear()
        for i in range(150):
            talk.ask(id=str(i), moves=moves[:i], boardXSize=19, boardYSize=19)
        talk.tell({"id": "v", "action": "query_version"})
        assert talk.answer()["version"] == __version__
        assert (worked, Plain.asked) == ([], 1)
        talk.tell({"id": "t", "action": "terminate_all"})
        assert len(talk.answers()) == 152


def test_the_bytes_of_unanswered_queries_are_bounded() -> None:
    begun.clear()
    with AnalysisTalk(make=lambda options: Unanswered("go", options), analysts=1) as talk:
        talk.session.most_bytes = 300_000
        talk.ask(id="busy", maxVisits=ENDLESS)
        assert begun.wait(talk.patience_s)
        for letter in "abcd":
            talk.ask(id=letter * 100_000)
        text = "Must leave at most 300000 bytes of queries unanswered: wait for answers"
        refused = [talk.answer(), talk.answer()]
        assert refused == [{"error": text, "field": "id", "id": letter * 100_000} for letter in "cd"]
        talk.tell({"id": "t", "action": "terminate_all"})
        assert len({talk.answer()["id"] for _ in range(4)}) == 4
        begun.clear()
        talk.ask(id="e" * 100_000, maxVisits=ENDLESS)  # there is room again
        assert begun.wait(talk.patience_s)
        talk.tell({"id": "t", "action": "terminate_all"})
        assert len(talk.answers()) == 2


def test_an_illegal_move_is_one_error_of_the_whole_query() -> None:
    moves = [["B", "C3"], ["W", "C3"], ["B", "D3"]]
    with AnalysisTalk() as talk:
        talk.ask(moves=moves, analyzeTurns=[0, 1, 2, 3])
        talk.ask(id="next")
        answers = {answer["id"]: answer for answer in talk.answers()}
        assert answers.pop("q") == {"error": "Illegal move 1: C3", "field": "moves", "id": "q"}
        assert [*answers] == ["next"]


def test_the_end_of_the_input_waits_for_answers() -> None:
    with AnalysisTalk() as talk:
        for i in range(6):
            talk.ask(id=str(i))
        assert sorted(answer["id"] for answer in talk.answers()) == [*"012345"]
    with AnalysisTalk(waits=False) as talk:
        talk.ask(id="long", maxVisits=ENDLESS)
        assert [answer["isDuringSearch"] for answer in talk.answers()] == [False]


def test_the_same_search_each_time() -> None:
    with AnalysisTalk(analysts=3) as talk:
        for i in range(9):
            talk.ask(id=str(i), moves=[["B", "C3"]], maxVisits=150)
        answers = talk.answers()
    assert len(answers) == 9
    assert all(answer["moveInfos"] == answers[0]["moveInfos"] for answer in answers)


def test_a_bug_costs_one_turn_only(capsys: pytest.CaptureFixture[str]) -> None:
    class Faulty(Engine):
        def go(self, *args: Any) -> None:
            raise ZeroDivisionError("a bug")

    made: list[int] = []

    def make(options: EngineOptions) -> Engine:
        made.append(1)
        return (Faulty if len(made) == 2 else Engine)("go", options)  # the first tells the sizes

    with AnalysisTalk(analysts=1, make=make) as talk:
        talk.ask(id="a")
        talk.ask(id="b")
        answers = talk.answers()
    assert answers[0] == {"id": "a", "turnNumber": 0, "isDuringSearch": False, "noResults": True}
    error, other = sorted(
        answers[1:], key=lambda answer: answer["id"]
    )  # the session writes the one, the analyst the other
    assert error == {"error": "internal error, please report it: ZeroDivisionError: a bug", "id": "a"}
    assert other["rootInfo"]["visits"] == 20
    assert "a bug" in capsys.readouterr().err


def test_a_net_that_cannot_be_loaded() -> None:
    with AnalysisTalk(weights_file="/nowhere.onnx") as talk:
        answer = talk.one()
        assert "/nowhere.onnx" in answer["error"]
        assert answer["id"] == "q"


def chess(**fields: Any) -> dict[str, Any]:
    return {"boardXSize": None, "boardYSize": None, "rules": None, **fields}


def test_chess_and_shogi() -> None:
    mate = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
    with AnalysisTalk("chess") as talk:
        answer = talk.one(**chess(initialPosition=mate, maxVisits=400, includePolicy=True))
        assert answer["moveInfos"][0]["move"] == "a1a8"
        assert answer["moveInfos"][0]["mate"] == 1
        assert answer["moveInfos"][0]["winrate"] == 1.0
        assert answer["rootInfo"]["currentPlayer"] == "W"
        assert "a1a8" in answer["policy"]
        answer = talk.one(**chess(initialPosition=mate, moves=["a1a8"]))
        assert answer["moveInfos"] == []
        assert answer["rootInfo"]["winrate"] == 1.0
        assert answer["rootInfo"]["currentPlayer"] == "B"
        for fields, field, error in (
            ({"moves": ["e2e4", "e2e4"]}, "moves", "Illegal move 1: e2e4"),
            ({"moves": [["w", "e2e4"]]}, "moves", "Must be an array of moves"),
            ({"initialPosition": "nonsense"}, "initialPosition", None),
            ({"initialPosition": 3}, "initialPosition", "Must be a string"),
            (
                {"allowMoves": [{"player": "w", "moves": ["zz"], "untilDepth": 1}]},
                "allowMoves",
                "Could not parse move: zz",
            ),
        ):
            answer = talk.one(**chess(**fields))
            assert answer["field"] == field
            assert error in (None, answer["error"])
    with AnalysisTalk("shogi") as talk:
        answer = talk.one(**chess(moves=["7g7f"], avoidMoves=[{"player": "w", "moves": ["3c3d"], "untilDepth": 1}]))
        assert answer["rootInfo"]["currentPlayer"] == "W"
        assert "3c3d" not in {info["move"] for info in answer["moveInfos"]}


def test_scores_and_ownership_with_a_net() -> None:
    with AnalysisTalk(weights_file="", analysts=1) as talk:
        moves = [["B", "E5"], ["W", "C3"]]
        answer = talk.one(moves=moves, boardXSize=9, boardYSize=9, maxVisits=60, includeOwnership=True,
                          includeOwnershipStdev=True, includeMovesOwnership=True,
                          includeMovesOwnershipStdev=True)  # fmt: skip
        white = talk.one(moves=moves, boardXSize=9, boardYSize=9, maxVisits=60, includeOwnership=True,
                         overrideSettings={"reportAnalysisWinratesAs": "WHITE"})  # fmt: skip
    best, root = answer["moveInfos"][0], answer["rootInfo"]
    assert len(answer["ownership"]) == len(answer["ownershipStdev"]) == len(best["ownership"]) == 81
    assert len(best["ownershipStdev"]) == 81
    assert answer["ownership"] == [-x + 0.0 for x in white["ownership"]]
    assert answer["ownership"][40] > 0 > answer["ownership"][6 * 9 + 2]
    assert root["scoreLead"] == -white["rootInfo"]["scoreLead"]
    assert root["scoreStdev"] == white["rootInfo"]["scoreStdev"] > 0
    assert len({info["scoreLead"] for info in answer["moveInfos"]}) > 1
    assert best["scoreStdev"] > 0
    assert best["lcb"] < best["winrate"]
    assert white["moveInfos"][0]["lcb"] > white["moveInfos"][0]["winrate"]


def random_queries(number: int, seed: int) -> None:
    """Every turn of every query gets one final answer, whatever is terminated."""
    chance = random.Random(seed)
    asked = Counter[tuple[str, int]]()
    finals = Counter[tuple[str, int]]()
    with AnalysisTalk(analysts=3) as talk:
        found: list[dict[str, Any]] = []
        reader = threading.Thread(target=lambda: found.extend(iter_answers(talk)))
        reader.start()
        for i in range(number):
            moves = [["B" if k % 2 == 0 else "W", f"{'ABCDE'[k % 5]}{k // 5 + 1}"] for k in range(chance.randint(0, 9))]
            turns = [chance.randint(0, len(moves)) for _ in range(chance.randint(1, 4))]
            name = f"{chance.randint(0, number // 2)}" if chance.random() < 0.2 else f"q{i}"
            endless = chance.random() < 0.1
            talk.ask(id=name, moves=moves, analyzeTurns=turns, maxVisits=ENDLESS if endless else chance.randint(1, 40),
                     priority=chance.randint(-3, 3), includePolicy=chance.random() < 0.1,
                     reportDuringSearchEvery=0.001 if chance.random() < 0.3 else None)  # fmt: skip
            asked.update((name, turn) for turn in set(turns))
            if endless or chance.random() < 0.3:
                about = {"turnNumbers": [chance.choice(turns)]} if chance.random() < 0.3 and not endless else {}
                talk.tell({"id": f"t{i}", "action": "terminate", "terminateId": name, **about})
            elif chance.random() < 0.03:
                talk.tell({"id": f"t{i}", "action": "terminate_all"})
        talk.close_input()
        reader.join()
    assert not any("error" in answer for answer in found)
    finals.update((a["id"], a["turnNumber"]) for a in found if a.get("isDuringSearch") is False)
    assert finals == asked


def iter_answers(talk: AnalysisTalk) -> list[dict[str, Any]]:
    answers = []
    while (line := talk.line()) is not None:
        answers.append(json.loads(line))
    return answers


def test_one_final_answer_a_turn() -> None:
    random_queries(1000, 2)


def test_turns_that_end_before_they_begin_are_let_go() -> None:
    query = read_query({**GO, "id": "q"}, GoNotation(lambda: ()), OptionValues("gtp", PLAIN), 10, lambda *_: None)
    turns, left = Turns(), weakref.WeakSet[Replay]()
    for _ in range(1000):
        turn = Turn(query, 0, Replay(query))
        left.add(turn.replay)
        turns.put(turn)
        assert turn.terminate()
        turns.count_ended()
    del turn
    assert len(left) <= 2


def test_without_a_thread_a_query_gets_a_sentence_and_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise ThreadError("no thread can be started")

    monkeypatch.setattr(analyst, "start_thread", refuse)
    with AnalysisTalk() as talk:
        talk.ask(id="one", analyzeTurns=[0])
        assert talk.answer() == {"error": "no thread can be started", "id": "one"}
        monkeypatch.undo()
        talk.ask(id="two")
        assert talk.answer()["id"] == "two"

"""Commands of GNU Go, KataGo and GoGui beyond the standard, each in the form that its inventor gives it."""

from __future__ import annotations

import json
import math
import re

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.info import Estimate

from .talk import SUICIDE, GtpTalk


def test_legality_and_the_moves_so_far() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "kata-set-rules chinese")
        assert talk.ask("last_move", "move_history") == ["? no previous move known", "="]
        talk.ask(*SUICIDE)
        assert talk.ask("is_legal w A1", "is_legal b A1", "is_legal w A2", "is_legal b pass") == [
            "= 0",
            "= 1",
            "= 0",
            "= 1",
        ]
        legal = talk.one("all_legal white")[2:].split()
        assert len(legal) == 25 - 6 - 1
        assert "A1" not in legal
        assert talk.ask("last_move", "move_history") == [
            "= white B1",
            "= white B1\nblack E5\nwhite A2\nblack C1\nblack B2\nblack A3",
        ]
        for bad in ("is_legal b", "is_legal b Z9", "all_legal", "all_legal b w"):
            assert talk.one(bad).startswith("? ")


def test_moves_are_taken_back_and_played_all_or_none() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "gogui-play_sequence b A1 w B2 b C3")
        before = talk.one("showboard")
        assert talk.ask("gogui-play_sequence w D4 b D4", "showboard") == ["? illegal move", before]
        assert talk.ask("gg-undo 4", "showboard") == ["? cannot undo", before]
        assert talk.ask("gg-undo 2", "move_history", "gg-undo", "move_history") == ["=", "= black A1", "=", "="]
        assert talk.ask("gogui-play_sequence b", "gogui-play_sequence") == ["? syntax error", "="]


def test_a_position_is_set_at_once_and_has_no_past() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "play b E5", "komi 3.5")
        assert talk.one("set_position b A1 w C3 b B2") == "="
        board = talk.one("showboard")
        assert board.startswith("= move 1, black")
        assert [line.count("X") for line in board.split("\n")[2:7]] == [0, 0, 0, 1, 1]
        assert talk.ask("undo", "get_komi") == ["? cannot undo", "= 3.5"]
        for bad in ("b A1 w A1", "b A1 w A2 w B1", "b pass", "b", "b Z9"):
            assert talk.ask(f"set_position {bad}", "showboard")[0].startswith("? ")
            assert talk.one("showboard") == board
        assert talk.ask("set_position", "all_legal b")[1].count(" ") == 25


def test_a_search_that_plays_nothing_and_one_that_can_be_cancelled() -> None:
    with GtpTalk(nodes_limit=4) as talk:
        talk.ask("boardsize 5", "play b C3")
        before = talk.ask("showboard", "printsgf")
        assert re.fullmatch(r"= [A-E][1-5]", talk.one("kata-search w"))
        assert re.search(r"\nplay [A-E][1-5]$", talk.one("kata-search_analyze w 10"))
        assert talk.ask("showboard", "printsgf") == before
    with GtpTalk(move_time=600.0) as talk:
        talk.ask("boardsize 5")
        assert talk.ask("kata-search_cancellable b", "name") == ["= cancelled", "= az-engine"]
        talk.send("kata-search_analyze_cancellable b 20", "name")
        assert talk.response().endswith("\nplay cancelled")
        assert talk.response() == "= az-engine"


def test_parameters_have_katagos_names() -> None:
    with GtpTalk() as talk:
        names = talk.one("kata-list-params")[2:].split()
        assert {"maxVisits", "maxTime", "numSearchThreads"} <= set(names)
        assert set(json.loads(talk.one("kata-get-params")[2:])) == set(names)
        assert talk.ask("kata-set-param maxVisits 7", "kata-get-param maxVisits") == ["=", "= 7"]
        assert talk.one('kata-set-params {"maxVisits": 3, "maxTime": 0.5, "nnRandomize": true}') == "="
        assert talk.ask("kata-get-param maxTime", "kata-get-param nnRandomize") == ["= 0.5", "= true"]
        for bad in (
            "kata-set-param maxVisits x",
            "kata-set-param nonsense 1",
            "kata-set-params []",
            "kata-set-params {",
        ):
            assert talk.one(bad).startswith("? ")
        assert talk.one('kata-set-params {"maxVisits": 9, "nonsense": 1}').startswith("? Invalid parameter")
        assert talk.one("kata-get-param maxVisits") == "= 3", "all or none"
        talk.ask("boardsize 5")
        last = talk.one("kata-search_analyze b 1000 rootInfo true")
        assert "rootInfo visits 3 " in last, "the search keeps to them"


def test_the_net_alone_in_katagos_form() -> None:
    with GtpTalk(weights_file="") as talk:
        talk.ask("boardsize 9", "play b C3", "play w G7", "play b D7")
        turned = talk.one("kata-raw-nn all").split("symmetry ")[1:]
        assert [part[0] for part in turned] == [*"01234567"]
        plain = talk.one("kata-raw-nn w 3 0.5")
        assert plain[2:] == "symmetry " + turned[3].rstrip()
        for part in turned:
            fields = part.split()
            policy = fields[fields.index("policy") + 1 : fields.index("policyPass")]
            owners = fields[fields.index("whiteOwnership") + 1 :]
            assert (len(policy), len(owners)) == (81, 81)
            assert [i for i, p in enumerate(policy) if p == "NAN"] == [2 * 9 + 3, 2 * 9 + 6, 6 * 9 + 2]
            total = sum(float(p) for p in policy if p != "NAN") + float(fields[fields.index("policyPass") + 1])
            assert total == pytest.approx(1.0, abs=1e-4)
            assert float(owners[6 * 9 + 2]) < 0 < float(owners[2 * 9 + 6]), "turned back: black's stone, white's stone"
            assert float(fields[fields.index("whiteWin") + 1]) == pytest.approx(1 - float(fields[4]), abs=2e-6)
        other = talk.one("kata-raw-nn b 0").split()
        assert other[other.index("whiteWin") + 1] != turned[0].split()[2]
        for bad in ("kata-raw-nn", "kata-raw-nn 8", "kata-raw-nn x", "kata-raw-nn b", "kata-raw-nn \u00b2"):
            assert talk.one(bad) == "? syntax error"


def test_the_estimate_is_white_s() -> None:
    class Sure(Engine):
        def estimate(self, seconds: float = math.inf) -> Estimate | None:
            return Estimate(2.5 if (self.position or "").split()[1] == "b" else -2.5, (0.6, 0.8, *[1.0] * 23))

    with GtpTalk(lambda options: Sure("go", options)) as talk:
        assert talk.one("boardsize 5") == "="
        for _ in range(2):
            assert talk.one("estimate_score") == "= B+2.5 (upper bound: -1.5, lower: -3.5)"
            talk.one("play b C3")
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "komi 0.5", "play b C3")
        assert talk.one("estimate_score") == "= B+24.5 (upper bound: -24.5, lower: -24.5)"


def test_gogui_finds_its_menu_and_stop_does_nothing() -> None:
    with GtpTalk() as talk:
        known = set(talk.one("list_commands")[2:].split())
        for line in talk.one("gogui-analyze_commands")[2:].split("\n"):
            kind, _, command = line.split("/")
            assert kind in ("string", "hstring", "plist", "none")
            assert command.split()[0] in known
        assert talk.one("stop") == "="

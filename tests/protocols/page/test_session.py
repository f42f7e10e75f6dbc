"""The page's conversation over a WebSocket: games, searches, records, and messages that are none."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import chess
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from az_engine.engine.clock import Stopwatch
from az_engine.engine.errors import DataError, IllegalMoveError
from az_engine.protocols.page import filework
from az_engine.protocols.page.outline import merged, outline, read_tree
from az_engine.protocols.page.scoresheet import MOST_GAMES, Scoresheet, read_records
from az_engine.protocols.page.session import nets_of

from ..serve.lines import PATIENCE_S, RunningServer
from ..serve.test_web import ask, raw, web

TOKEN = "0123456789abcdef-a"
VALUES = [{"score": 0.55, "best": ["d2d4", "d7d5"], "words": ["d4", "d5"]}, {"score": 0.5}, None]
KIF = "手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n"


@pytest.mark.parametrize(
    ("game", "moves", "checks"),
    [
        ("chess", "e2e4 f7f5 d1h5 g7g6 h5g6 h7g6", [3, 5]),
        ("shogi", "7g7f 3c3d 8h2b+ 3a2b B*5e 7a6b 5e2b+ 4a3b", []),
        ("shogi", "5g5f 5c5d 2h5h 8c8d 5f5e 5d5e 5h5e", [7]),
        ("go", "E5 E6", []),
    ],
)
def test_checks_are_told(game: str, moves: str, checks: list[int]) -> None:
    sheet = Scoresheet(game)
    sheet.hold(None, moves.split())
    assert [ply for ply, each in enumerate(sheet.shown(0, 0)["plies"]) if each["check"]] == checks


def test_openings_are_named_whatever_the_order_of_moves() -> None:
    sheet = Scoresheet("chess")
    for moves, name in (
        ("", ""),
        ("c2c4", "A10 English Opening"),
        ("c2c4 d7d5", "A10 English Opening"),
        ("c2c4 d7d5 d2d4 c7c6", "D06 Queen's Gambit"),
        ("a2a3 h7h6", ""),
    ):
        sheet.hold(None, moves.split())
        assert sheet.shown(0, len(sheet.moves))["opening"] == name
        assert sheet.opening(0) == ""
    go = Scoresheet("go")
    go.hold(None, ["E5"])
    assert go.opening(1) == ""


def test_variations_of_a_file_come_to_the_page_and_back() -> None:
    text = "1. e4 {good} e5 (1... c5 2. Nf3 (2. c3) 2... d6) 2. Nf3 *"
    [record] = read_records("chess", text.encode(), "a.pgn")
    tree = [(0, "e2e4"), (1, "e7e5"), (2, "g1f3"), (1, "c7c5"), (4, "g1f3"), (5, "d7d6"), (4, "c2c3")]
    shown = outline("chess", record, 99)
    assert shown.branches == tree
    assert (shown.comments, shown.hidden) == (["", "good", *[""] * 6], 0)
    assert [outline("chess", record, most).hidden for most in (3, 4, 5, 6)] == [2, 2, 2, 1], (
        "1... c5 with 2. c3, 2. Nf3, 2... d6"
    )
    sheet = Scoresheet("chess")
    sheet.hold(None, [])
    assert sheet.words_of(tree) == ["e4", "e5", "Nf3", "c5", "Nf3", "d6", "c3"]
    more = merged(record, None, ["e2e4", "c7c5", "g1f3", "b8c6"], [*tree, (4, "b1c3")])
    assert more.moves == ("e2e4", "c7c5", "g1f3", "b8c6"), "the page's main line"
    assert more.tree.children[0].comment == "good"
    branches = outline("chess", more, 99).branches
    assert {*branches} >= {(0, "e2e4"), (1, "c7c5"), (1, "e7e5")}
    assert len(branches) == len(tree) + 2, "each move is there once"
    with pytest.raises(IllegalMoveError):
        sheet.words_of([(0, "e2e4"), (1, "e2e4")])
    for wrong in ("1 e2e4", "0", "x e2e4", "-1 e2e4", "0 "):
        with pytest.raises(DataError, match="each move of a tree follows one before it"):
            read_tree([wrong])


class Page:
    """What the browser does."""

    def __init__(self, client: ClientConnection) -> None:
        self.client, self.number = client, 0
        self.hello = self.hear()
        assert self.hello["is"] == "hello"

    def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.client.recv(timeout=PATIENCE_S))
        return found

    def ask(self, what: str, **fields: Any) -> int:
        self.number += 1
        self.client.send(json.dumps({"do": what, "id": self.number, **fields}))
        return self.number

    def until(self, number: int, *kinds: str) -> list[dict[str, Any]]:
        """Messages to a question, up to the first of these kinds."""
        said = []
        while True:
            heard = self.hear()
            if heard["id"] == number:
                said.append(heard)
                if heard["is"] in kinds:
                    return said

    def one(self, what: str, **fields: Any) -> dict[str, Any]:
        """The answer to a question that has one."""
        return self.until(self.ask(what, **fields), "game", "count", "record", "file", "answer", "error")[-1]


def test_sentences_are_in_the_reader_s_language(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        about = {"moves": ["e2e4", "e2e5"]}
        assert "move 2: " in page.one("game", **about)["text"]
        said = page.one("game", language="ja", **about)["text"]
        assert said.startswith("2手目：")
        assert "この局面では指せません" in said
        assert "move 2: " in page.one("game", language="xx", **about)["text"]
        assert page.one("read", language="ja", text="hello there")["text"].startswith("棋譜（")


def test_a_game_of_chess(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        assert page.hello["games"] == ["chess", "shogi", "go"]
        assert page.hello["sizes"] == []
        start = page.one("game")
        assert [ply["text"] for ply in start["plies"]] == [chess.STARTING_FEN]
        assert sorted(start["legal"]) == sorted(move.uci() for move in chess.Board().legal_moves)
        moves = ["f2f3", "e7e5", "g2g4", "d8h4"]
        mate = page.one("game", moves=moves, known=3)
        assert mate["from"] == 3
        assert [ply["word"] for ply in mate["plies"]] == ["g4", "Qh4#"]
        assert mate["over"] == {"winner": 1, "why": "mate"}
        back = page.one("game", moves=moves, known=5, at=1)
        assert (back["at"], back["plies"], back["over"]) == (1, [], None)
        assert "e7e5" in back["legal"]


def test_a_game_of_go(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        begun = page.one("game", start={"size": 7, "komi": 6.5, "handicap": 2})
        assert begun["root"] == "7/7/4X2/7/2X4/7/7 w - 6.5 tromp-taylor 2 0 0"
        over = page.one("game", root=begun["root"], moves=["pass", "pass"], known=2)
        assert over["over"] == {"winner": 0, "why": "score", "lead": 42.5}
        bad = page.one("game", root=begun["root"], moves=["C3"])
        assert (bad["is"], bad["text"]) == ("error", "move 1: C3 is not legal: there is a stone")
        assert " 8000 " in page.one("game", start={"size": 7, "komi": 8000})["root"]
        assert page.one("game", start={"size": 7, "komi": 8000.5})["text"] == "komi must be from -8000 to 8000"


def test_dead_stones_change_the_score(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        over = {"root": "3/3/3 b - 0.5", "moves": ["B2", "A1", "B1", "pass", "pass"]}
        assert page.one("game", **over)["over"]["lead"] == 0.5
        counted = page.one("count", **over, toggle="A1")
        assert (counted["winner"], counted["lead"], counted["dead"]) == (0, 8.5, ["A1"])
        both = page.one("count", **over, dead=["A1"], toggle="B1")
        assert (both["lead"], sorted(both["dead"])) == (-0.5, ["A1", "B1", "B2"])
        assert page.one("count", **over, dead=["A1"], toggle="A1")["dead"] == []
        assert page.one("count", **over, propose=True)["dead"] == []  # no net: no proposal


def test_the_net_proposes_dead_stones() -> None:
    sheet = Scoresheet("go")
    sheet.hold("3/3/3 b - 0.5", ["B2", "A1", "B1", "pass", "pass"])
    assert sheet.before_passes == 3
    assert sheet.points([frozenset({6})]) == ["A1"]


def test_nets_are_chosen_by_name_alone(server: RunningServer) -> None:
    assert nets_of("chess", "") == {"chess": "", "chess-conv": "chess-conv"}
    assert list(nets_of("chess", "chess-conv")) == ["chess-conv", "chess"]
    assert nets_of("go", "/a/b.onnx") == {
        "the server's": "/a/b.onnx",
        "go": "",
        "go-large": "go-large",
        "go-stones": "go-stones",
    }
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        assert page.hello["nets"] == ["chess", "chess-conv"]
        for path in ("/tmp/good.onnx", "good.onnx", "uniform", ""):
            refused = page.one("search", visits=5, net=path)
            assert refused["text"] == "net must be one of chess, chess-conv"
        said = page.until(page.ask("search", visits=5, net="chess"), "answer")
        assert said[0]["net"] == "the embedded net"


def test_a_clock_ends_the_search(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        root = page.one("game", start={"size": 5})["root"]
        clock = {"first": 300, "second": 60_000, "add": 0, "byoyomi": 0}
        answer = page.until(page.ask("search", root=root, play=True, clock=clock), "answer")[-1]
        assert answer["move"]
        assert "must be from 0" in page.one("search", root=root, play=True, clock={"first": -1})["text"]


def test_a_search_reports_and_answers(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        root = page.one("game", start={"size": 5})["root"]
        *said, answer = page.until(page.ask("search", root=root, visits=50), "answer")
        reports = [message for message in said if message["is"] == "report"]
        assert said[0]["is"] == "begun"
        assert reports[-1]["visits"] == 50
        rows = reports[-1]["moves"]
        assert sum(row[2] for row in rows if len(row) > 2) == 49
        assert abs(sum(row[1] for row in rows) - 1) < 0.01
        assert answer["move"] == reports[-1]["lines"][0]["pv"][0]
        only = page.until(page.ask("search", root=root, visits=20, only=["C3", "D3"]), "answer")[-2]
        assert {row[0] for row in only["moves"]} == {"C3", "D3"}


def test_a_question_ends_the_search_before(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        first = page.ask("search")
        page.until(first, "report")
        second = page.ask("game", moves=["E5"])
        order: list[tuple[int, str]] = []
        while len(order) < 2:
            heard = page.hear()
            if heard["is"] in ("answer", "game"):
                order.append((heard["id"], heard["is"]))
        assert order == [(first, "answer"), (second, "game")]
        for _ in range(3):
            page.ask("search")
        last = page.ask("stop") - 1
        assert page.until(last, "answer")[-1]["is"] == "answer"


def test_two_sizes_of_board_on_one_page(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        for size in (5, 7, 5):
            root = page.one("game", start={"size": size})["root"]
            assert len(page.until(page.ask("search", root=root, visits=3), "answer")[-2]["moves"]) == size**2 + 1


@pytest.mark.parametrize(
    ("game", "text", "moves"),
    [
        ("chess", '[White "A"]\n[Black "B"]\n\n1. e4 e5 2. Nf3 *\n', ["e2e4", "e7e5", "g1f3"]),
        (
            "shogi",
            KIF,
            ["7g7f", "3c3d"],
        ),
        ("shogi", "position startpos moves 7g7f", ["7g7f"]),
        ("go", "(;GM[1]SZ[5];B[cc];W[dd])", ["C3", "D2"]),
        ("chess", "8/8/8/8/8/4k3/4p3/4K3 w - - 0 1", []),
    ],
)
def test_records_are_read(server: RunningServer, game: str, text: str, moves: list[str]) -> None:
    with web(server, f"/page?game={game}") as client:
        record = Page(client).one("read", text=text)
        assert record["is"] == "record", record
        assert record["moves"] == moves


def test_how_a_record_was_read_is_told(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        record = page.one("read", text="(;GM[1]SZ[5]KM[x];B[cc])")
        assert record["fault"] == "the komi 'x' is no number of half points and is read as 0"
        assert record["moves"] == ["C3"]
        record = page.one("read", text="(;GM[1]SZ[5]KM[x];B[cc];W[cc])")
        assert record["fault"] == "the komi 'x' is no number of half points and is read as 0; move 2 is illegal"


def test_records_are_written_with_comments(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        told = {"moves": ["e2e4", "e7e5"], "names": ["A", "B"], "result": 0, "values": VALUES}
        file = page.one("write", format="PGN", **told)
        assert file["suffix"] == ".pgn"
        text = " ".join(file["text"].split())
        remark = "[%eval 0.00] az-engine: Inaccuracy, gives away 5 %; better d4 d5"
        assert f"1. e4 $6 {{ {remark} }} ( 1. d4 d5 ) 1... e5" in text
        assert '[White "A"]' in file["text"]
        for numbers, shown in (({"cp": 53, "mate": None}, "0.53"), ({"cp": -12700, "mate": -1}, "#-1")):
            values = [VALUES[0], {"score": 0.4, "best": ["d7d5"], **numbers}]
            text = page.one("write", format="PGN", **(told | {"values": values}))["text"]
            assert f"[%eval {shown}]" in text, "the search's own score, not one made from the chances"
        assert page.one("write", format="../x", **told)["is"] == "error"


GO9 = "9/9/9/9/9/9/9/9/9 b - 7 chinese 0 0 0"
RESIGNED = '[Result "0-1"]\n[Termination "resignation"]\n\n1. e4 e5 0-1\n'


@pytest.mark.parametrize(
    ("game", "moves", "more", "part"),
    [
        ("chess", "f2f3 e7e5 g2g4 d8h4", {}, '[Result "0-1"] [Termination "mate"]'),
        ("chess", "e2e4 e7e5", {}, '[Result "*"]'),
        ("chess", "e2e4", {"ended": {"winner": 0, "why": "resigned"}}, '[Result "1-0"] [Termination "resignation"]'),
        ("chess", "e2e4", {"ended": {"winner": None, "why": "time"}}, '[Result "1/2-1/2"] [Termination "time'),
        ("shogi", "7g7f", {"ended": {"winner": 0, "why": "resigned"}}, "まで1手で先手の勝ち"),
        ("go", "E5 pass pass", {"root": GO9}, "RE[B+74]"),
        ("go", "E5 pass pass", {"root": GO9, "dead": ["E5"]}, "RE[W+7]"),
        ("go", "E5 pass pass", {"root": GO9, "ended": {"winner": 1, "why": "resigned"}}, "RE[B+74]"),
        ("go", "E5", {"root": GO9, "ended": {"winner": 1, "why": "time"}}, "RE[W+T]"),
        ("chess", "e2e4 e7e5", {"source": RESIGNED}, '[Result "0-1"] [Termination "resignation"]'),
        ("chess", "e2e4 e7e5", {"source": RESIGNED, "ended": {"winner": 0, "why": "time"}}, '[Result "1-0"]'),
        ("chess", "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7", {"source": RESIGNED}, '[Result "1-0"] [Termination "mate"]'),
        ("chess", "e2e4 e7e5 d1h5", {"source": RESIGNED}, '[Result "0-1"]'),
    ],
)
def test_a_game_is_saved_with_its_result(
    server: RunningServer, game: str, moves: str, more: dict[str, Any], part: str
) -> None:
    form = {"chess": "PGN", "shogi": "KIF", "go": "SGF"}[game]
    if "source" in more:
        more = more | {"source": {"format": form, "text": more["source"]}}
    with web(server, f"/page?game={game}") as client:
        saved = Page(client).one("write", format=form, moves=moves.split(), **more)
        assert part in " ".join(saved["text"].split())


def test_lines_of_the_review_are_no_loss_of_a_format_without_variations(server: RunningServer) -> None:
    values = [{"score": 0.9, "best": ["2g2f"], "words": ["2g2f"]}, {"score": 0.5}]
    fields = {"format": "CSA", "moves": ["7g7f"], "values": values}
    with web(server, "/page?game=shogi") as client:
        page = Page(client)
        assert page.one("write", **fields)["note"] == ""
        assert "variations" in page.one("write", **fields, tree=["0 7g7f", "0 2g2f"])["note"]


TWO = (
    '[White "A"]\n[Annotator "x"]\n\n1. e4 { mine } ( 1. d4 $1 ) e5 *\n\n'
    '[White "Jörg"]\n[Variant "Chess960"]\n[SetUp "1"]\n'
    '[FEN "nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq - 0 1"]\n\n1. g3 g6 2. Bg2 Bg7 3. O-O *\n'
)


def test_a_game_of_a_file_is_chosen_and_saved_with_all_that_stood_in_it(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        data = base64.b64encode(TWO.encode("utf-16")).decode()
        first = page.one("load", data=data, name="two.pgn")
        assert (first["number"], first["games"]) == (1, ["A - ?, 2 moves", "Jörg - ?, 5 moves"])
        fields = {"moves": first["moves"], "source": first["source"], "values": VALUES, "names": ["A", ""]}
        text = " ".join(page.one("write", format="PGN", **fields)["text"].split())
        for part in ('[Annotator "x"]', "mine | az-engine: Inaccuracy, gives away 5 %", "( 1. d4 $1 )", "[%eval 0.00]"):
            assert part in text
        played = page.one("write", format="PGN", **(fields | {"moves": ["e2e4", "c7c5", "g1f3"], "values": []}))
        assert "1. e4 { mine } ( 1. d4 $1 ) 1... c5 ( 1... e5 ) 2. Nf3" in " ".join(played["text"].split())
        second = page.one("load", data=data, name="two.pgn", number=2)
        assert second["moves"][-1] == "g1h1", "castling of Chess960"
        shown = page.one("game", root=second["root"], moves=second["moves"], known=0)
        assert shown["plies"][-1]["word"] == "O-O"
        assert "NQRNBRK1" in shown["plies"][-1]["text"]
        assert page.until(page.ask("search", root=second["root"], moves=second["moves"], visits=3), "answer")
        assert page.one("load", data=data, name="two.pgn", number=3)["is"] == "error"
        assert page.one("load", data="?")["text"] == "data must be a file in base64"
        assert "looks like JSON" in page.one("load", text='{"a":1}')["text"]
        assert "a game of Atomic" in page.one("load", text='[Variant "Atomic"]\n\n1. e4 *\n')["text"]


COMMENTED = {
    "chess": ("{ Before. } 1. e4 { [%clk 0:01:00] Best\nby test. } e5 ( { A reply: } 1... c5 { Sicilian } ) *", "PGN"),
    "shogi": ("手数----指手---------消費時間--\n*Before.\n   1 ７六歩(77)\n*Best\n*by test.\n   2 ３四歩(33)\n", "KIF"),
    "go": ("(;GM[1]SZ[5]C[Before.];B[cc]C[Best\nby test.];W[dd])", "SGF"),
}


@pytest.mark.parametrize("game", list(COMMENTED))
def test_comments_of_a_file_come_to_the_page(server: RunningServer, game: str) -> None:
    text, form = COMMENTED[game]
    with web(server, f"/page?game={game}") as client:
        record = Page(client).one("load", text=text)
        assert record["source"]["format"] == form
        comments = [text.replace("\n", " ") for text in record["comments"]]
        assert comments[:3] == ["Before.", "Best by test.", ""]
        assert comments[3:] == (["A reply: Sicilian"] if game == "chess" else [])
        assert record["hidden"] == 0


@pytest.mark.slow
def test_what_is_no_game_is_one_sentence_and_a_long_list_says_that_it_is_cut(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        for data in (b"", b" \n"):
            answer = page.one("load", data=base64.b64encode(data).decode(), name="a.pgn")
            assert answer["text"] == "there is nothing to read: the file or the text is empty"
        png = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))).decode()
        for name in ("a.png", "a.pgn"):
            assert page.one("load", data=png, name=name)["text"].startswith("this file holds no text")
        for count, more in ((MOST_GAMES, False), (MOST_GAMES + 1, True)):
            record = page.one("load", text='[White "a"]\n\n1. e4 *\n\n' * count)
            assert (len(record["games"]), record["more"]) == (MOST_GAMES, more)
        assert record["games"][0] == "a - ?, 1 move"


def test_variations_that_the_page_does_not_show_are_counted_and_saved(server: RunningServer) -> None:
    """The page begins with the last position that is set up."""
    text = "(;GM[1]SZ[5];B[cc](;W[dd];AB[bb]AW[ee];B[ab](;W[ba])(;W[ca]))(;W[dc];B[aa](;W[ab])(;W[ac])))"
    with web(server, "/page?game=go") as client:
        page = Page(client)
        record = page.one("load", text=text)
        assert record["tree"] == [[0, "A4"], [1, "B5"], [1, "C5"]]
        assert record["hidden"] == 2, "one, and one within it"
        fields = {"root": record["root"], "moves": record["moves"], "source": record["source"]}
        saved = page.one("write", format="SGF", **fields)["text"]
        for part in ("AB[bb]", "AW[ee]", "W[dc]", "W[ab]", "W[ac]"):
            assert part in saved


@pytest.mark.parametrize(
    ("game", "text", "tree", "saved"),
    [
        ("chess", "1. e4 e5 (1... -- 2. d4) (1... c5) 2. Nf3 *", ["e4", "e5", "Nf3", "c5"], "1... -- 2. d4"),
        ("go", "(;GM[1]SZ[9];B[cc];W[dd](;B[ee])(;AE[cc];B[cc];W[ff]))", ["C7", "D6", "E5"], ";AE[cc];B[cc];W[ff]"),
        ("go", "(;GM[1]SZ[9];B[cc];W[dd](;B[ee])(;PL[W];W[ff]))", ["C7", "D6", "E5"], ";PL[W];W[ff]"),
        ("go", "(;GM[1]SZ[9];B[cc];W[dd](;B[ee])(;B[gg];W[cc]))", ["C7", "D6", "E5", "G3"], ";B[gg];W[cc]"),
    ],
)
def test_variations_that_the_rules_do_not_allow_are_hidden_and_saved(
    server: RunningServer, game: str, text: str, tree: list[str], saved: str
) -> None:
    with web(server, f"/page?game={game}") as client:
        page = Page(client)
        record = page.one("load", text=text)
        asked = [f"{parent} {move}" for parent, move in record["tree"]]
        shown = page.one("game", root=record["root"], moves=record["moves"], tree=asked)
        assert (record["hidden"], shown["tree"]) == (1, tree)
        fields = {name: record[name] for name in ("root", "moves", "source")}
        form = record["source"]["format"]
        assert saved in " ".join(page.one("write", format=form, tree=asked, **fields)["text"].split())


@pytest.mark.parametrize(
    "message",
    [
        "nonsense",
        "[]",
        '"x"',
        "{}",
        '{"do":"fly","id":1}',
        '{"do":["game"],"id":1}',
        '{"do":"game","id":"x"}',
        '{"do":"game","id":-1}',
        '{"do":"game","id":true}',
        '{"do":"game","id":1e400}',
        "[" * 100_000,
        '{"do":"game","id":1,"moves":"e2e4"}',
        '{"do":"game","id":1,"moves":[1]}',
        '{"do":"game","id":1,"moves":["e2e9"]}',
        '{"do":"game","id":1,"root":"\\ud800"}',
        '{"do":"game","id":1,"root":"8/8/8/8/8/8/8/8 w - - 0 1"}',
        '{"do":"game","id":1,"start":{"size":9}}',
        '{"do":"search","id":1,"visits":0}',
        '{"do":"search","id":1,"visits":50,"states":99999}',
        '{"do":"search","id":1,"visits":50,"states":[1]}',
        '{"do":"search","id":1,"seconds":NaN}',
        '{"do":"search","id":1,"seconds":1e999}',
        '{"do":"search","id":1,"visits":1e5}',
        '{"do":"read","id":1,"text":"","name":"../../etc/passwd"}',
        '{"do":"write","id":1,"format":"/etc/passwd"}',
        '{"do":"write","id":1,"format":"PGN","values":[null,null]}',
        '{"do":"write","id":1,"format":"PGN","source":{"format":"PGN","text":""}}',
        '{"do":"game","id":1,"root":"' + "/" * 900_000 + '"}',
        '{"do":"game","id":1,"lines":["' + "e2e4 " * 100_000 + '"]}',
        json.dumps({"do": "game", "id": 1, "moves": ["g1f3", "g8f6", "f3g1", "f6g8"] * 2500}),
    ],
)
def test_what_cannot_be_done_is_an_error_and_the_page_goes_on(server: RunningServer, message: str) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        client.send(message)
        error = page.hear()
        assert error["is"] == "error", error
        assert 10 < len(error["text"]) < 500
        assert page.one("game")["is"] == "game"


@pytest.mark.parametrize("message", ['{"id": 7, "do": "dance"}', '{"id": 7, "do": "stop", "language": 1}'])
def test_an_error_has_the_number_of_its_message(server: RunningServer, message: str) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        client.send(message)
        error = page.hear()
        assert (error["is"], error["id"]) == ("error", 7)


@pytest.mark.slow
def test_long_files_have_a_process_of_their_own(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f'[White "{i}"]\n\n1. e4 {{{"x" * 500}}} e5 *\n\n' for i in range(100))
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        page.one("game", kanji=False)
        read = page.one("read", text=text, number=7)
        assert (read["is"], read["moves"], read["names"][0], len(read["games"])) == (
            "record",
            ["e2e4", "e7e5"],
            "6",
            100,
        )
        told = {"moves": ["e2e4"], "source": {"format": "PGN", "text": text}}
        assert "1. e4 { xxx" in " ".join(page.one("write", format="PGN", **told)["text"].split())
        assert "neither a game" in page.one("read", text="/" * 900_000)["text"]
        monkeypatch.setattr(filework, "_PATIENCE_S", 0.1)
        assert (
            page.one("read", text=text)["text"]
            == "this takes too long, more than 10 s of computing: send fewer games at a time"
        )
        assert page.one("game")["is"] == "game"


@pytest.mark.slow
def test_a_page_that_is_gone_ends_the_process_for_its_file(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, before = threading.Event(), {thread.ident for thread in threading.enumerate()}

    def endless(module: str) -> list[str]:
        begun.set()
        return [sys.executable, "-c", "import time; time.sleep(600)"]

    monkeypatch.setattr(filework, "module_command", endless)
    monkeypatch.setattr(filework, "_PATIENCE_S", 600)
    with web(server, "/page?game=chess") as client:
        Page(client).ask("read", text="A1 " * 300_000)
        assert begun.wait(PATIENCE_S)
    watch = Stopwatch()
    while {thread.ident for thread in threading.enumerate() if thread.name == "worker"} - before:
        assert watch.seconds < PATIENCE_S
        time.sleep(0.05)


def test_a_message_that_is_too_long(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        client.send('{"do":"game","root":"' + "x" * (1 << 20))
        with pytest.raises(Exception, match=r"1009|message too big"):
            page.hear()


def test_files_of_the_page(server: RunningServer) -> None:
    assert ask(server, "/")[0] == 200
    assert ask(server, "/web/board/board.js")[0] == 200
    for path in (
        "/web/",
        "/web/no.js",
        "/web/board.js",
        "/web/board",
        "/web/board/../../site.py",
        "/web/../site.py",
        "/web/..%2fsite.py",
        "/web/%2e%2e/site.py",
        "/web/.",
        "//etc",
    ):
        assert ask(server, path)[0] == 404, path
    assert ask(server, "/", b"x")[0] == 405
    head = raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").partition(b"\r\n\r\n")[0]
    assert b"require-trusted-types-for 'script'" in head
    tag = head.lower().partition(b"etag: ")[2].split(b"\r\n")[0].decode()
    assert ask(server, "/", If_None_Match=tag) == (304, b"")


def test_the_conversation_needs_a_token_and_its_own_page(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log", http=True, tokens=(TOKEN,)) as server:
        assert ask(server, "/")[0] == 200
        for path, headers in (
            ("/page", {}),
            ("/page/wrong-wrong-wrong-w", {}),
            (f"/page/{TOKEN}", {"Origin": "https://evil.example"}),
        ):
            with pytest.raises(InvalidStatus), web(server, path, additional_headers=headers):
                pass
        with web(server, f"/page/{TOKEN}?game=chess") as client:
            assert Page(client).hello["game"] == "chess"


def test_states_are_the_most_visited_of_the_tree(server: RunningServer) -> None:
    with web(server, "/page?game=go") as client:
        page = Page(client)
        root = page.one("game", start={"size": 5})["root"]
        answer = page.until(page.ask("search", root=root, visits=200, states=10), "answer")[-1]
        states = answer["states"]
        assert [states[0][key] for key in ("move", "parent", "visits", "share")] == ["", -1, 200, 1]
        assert len(states) == 11
        assert all(state["visits"] <= states[state["parent"]]["visits"] for state in states[1:])
        assert states == sorted(states, key=lambda state: -state["visits"])
        assert all(0 <= state["value"] <= 100 for state in states)


def test_lines_are_written_as_people_do(server: RunningServer) -> None:
    with web(server, "/page?game=chess") as client:
        page = Page(client)
        assert page.one("game")["words"][0] == "a3"
        assert page.one("game")["native"] == []
    with web(server, "/page?game=shogi") as client:
        page = Page(client)
        said = [page.one("game", kanji=kanji) for kanji in (False, True)]
        assert said[0]["native"] == said[1]["words"] != said[0]["words"]
        assert said[1]["native"] == []
    sheet = Scoresheet("chess")
    sheet.hold(None, ["e2e4"])
    assert sheet.written(["e7e5", "g1f3", "b8c6", "f1b5"]) == ["e5", "Nf3", "Nc6", "Bb5"]


def test_the_page_of_a_training_run_is_loaded_again_and_again(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log", http=True, tokens=(TOKEN,), run=tmp_path) as server:
        assert ask(server, "/run")[0] == 401
        assert ask(server, f"/run?token={TOKEN}")[0] == 404
        for text in (b"<p>one", b"<p>two"):
            (tmp_path / "run.html").write_bytes(text)
            assert ask(server, f"/run?token={TOKEN}") == (200, text)
        request = f"GET /run?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        assert b"\r\nrefresh: 10\r\n" in raw(server, request).lower()
    with RunningServer(tmp_path / "log2", http=True) as server:
        assert ask(server, "/run")[0] == 404

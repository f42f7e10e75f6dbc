"""What stands in KIF, KI2, CSA and JKF beside the moves is read, written and converted."""

from __future__ import annotations

import io
import json
import random

import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.records.formats import RecordFormat, format_named, left_out
from az_engine.engine.records.record import Node, Record

SHOGI = get_game("shogi")
KIF, KI2, CSA, JKF, USI = (format_named(SHOGI.record_formats, name) for name in ("kif", "ki2", "csa", "jkf", "usi"))
TREE = """# ---- Kifu for Windows V7 棋譜ファイル ----
開始日時：2026/01/02 10:00
棋戦：名人戦
備考：良い　将棋
手合割：平手
先手：羽生　善治
後手：John Smith
手数----指手---------消費時間--
*開始
&しおり
   1 ７六歩(77)   ( 0:11/00:00:11)
*一手目
   2 ３四歩(33)   ( 0:22/00:00:22)+
   3 ２二角成(88) ( 0:01/00:00:12)
   4 同　銀(31)   ( 0:02/00:00:24)+
   5 投了         ( 0:03/00:00:15)
*投了図
まで4手で後手の勝ち

変化：4手
   4 同　飛(82)   ( 0:05/00:00:27)
*変化の変化
   5 ４五角打     ( 0:00/00:00:12)

変化：5手
   5 ６八銀(79)   ( 0:00/00:00:12)
   6 中断

変化：2手
   2 ８四歩(83)   ( 0:05/00:00:05)
   3 詰み
"""


def read(form: RecordFormat, text: str) -> Record:
    (record,) = form.read(io.BytesIO(text.encode()))
    record.source = form.name
    return record


def moves_of(node: Node) -> list[object]:
    """A tree as nested lists of its moves and ends."""
    return [node.move or node.end, *map(moves_of, node.children)]


def test_a_tree() -> None:
    record = read(KIF, TREE)
    assert record.fault == ""
    assert record.names == ("羽生　善治", "John Smith")
    assert record.headers == {"Date": "2026/01/02 10:00", "Event": "名人戦", "Note": "良い　将棋"}
    assert record.moves == ("7g7f", "3c3d", "8h2b+", "3a2b")
    assert record.times == (11.0, 22.0, 1.0, 2.0)
    first = record.tree.children[0]
    assert [child.move for child in first.children] == ["3c3d", "8c8d"]
    third = first.children[0].children[0]
    assert [child.move for child in third.children] == ["3a2b", "8b2b"]
    end = third.children[0].children[0]
    assert (end.end, end.seconds, end.comment) == (("resignation", -1), 3.0, "投了図")
    assert [node.move for node in third.children[1].children] == ["B*4e", "7i6h"]
    assert first.children[1].children[0].end == ("mate", -1)
    assert record.tree.more["&"] == ("しおり",)
    for form in (KIF, JKF, KI2):
        assert form.write is not None
        again = read(form, form.write(record))
        assert moves_of(again.tree) == moves_of(record.tree), form.name
        comments = [(node.comment, None if form is KI2 else node.seconds) for node in record.tree.descendants()]
        assert [(node.comment, node.seconds) for node in again.tree.descendants()] == comments
    assert left_out(CSA, CSA.lost(record)) == "CSA holds no bookmarks, no variations (3 left out)"
    assert left_out(KI2, KI2.lost(record)) == "KI2 holds no times (9 left out)"
    assert CSA.write is not None
    assert read(CSA, CSA.write(record)).moves == record.moves


@pytest.mark.parametrize(
    ("text", "result", "reason"),
    [
        ("'summary:sennichite:a draw:b draw", 0, "repetition"),
        ("'summary:max_moves:a draw:b draw", 0, "maximum moves"),
        ("'summary:time up:a lose:b win", -1, "time"),
        ("'summary:oute_sennichite:a lose:b win", -1, "perpetual check"),
        ("'summary:uchifuzume:a lose:b win", -1, "pawn drop mate"),
        ("'summary:kachi:a win:b lose", 1, "declaration"),
        ("'summary:toryo:a win:b lose", 1, "resignation"),
    ],
)
def test_summaries_of_csa(text: str, result: int, reason: str) -> None:
    record = read(CSA, f"V2.2\nN+a\nN-b\nPI\n+\n+7776FU\n-3334FU\n{text}\n'$END_TIME:2026/01/01\n")
    assert (record.result, record.reason, record.headers) == (result, reason, {"EndDate": "2026/01/01"})
    assert CSA.write is not None
    assert text in CSA.write(record)
    assert read(CSA, CSA.write(record)) == record


def test_times_of_csa() -> None:
    text = "'CSA encoding=UTF-8\nV3.0\n$TIME:600+10+5\n$TIME+:1+2+3\n$MAX_MOVES:256\nPI\n+\n"
    text += "+7776FU,T3.5\n-3334FU,T1.\n+2726FU\nT4.125\n-8384FU,T\n+2625FU\n'T0\n%TORYO\nT7\n"
    record = read(CSA, text)
    assert record.times == (3.5, 1.0, 4.125, None, 0.0)
    assert record.headers == {"TimeControl": "600+10+5", "BlackTimeControl": "1+2+3", "MaxMoves": "256"}
    assert CSA.write is not None
    written = CSA.write(record)
    assert "V3.0\n" in written
    assert "T4.125" in written
    assert "$TIME+:1+2+3" in written
    assert read(CSA, written) == record
    assert list(record.tree.line())[-1].seconds == 7.0
    assert KIF.lost(record)["fractions of seconds"] == 2


@pytest.mark.parametrize(
    ("word", "result", "reason"),
    [
        ("反則手", 1, "illegal move"),
        ("宣言勝ち", -1, "declaration"),
        ("無勝負", None, "no game"),
        ("切断", None, "disconnection"),
        ("封じ手", None, "sealed move"),
        ("引き分け", 0, "draw"),
        ("何か", None, ""),
    ],
)
def test_words_for_ends(word: str, result: int | None, reason: str) -> None:
    record = read(KIF, f"１ ７六歩(77)\n２ {word}\n")
    assert (record.moves, record.result, record.reason, record.fault) == (("7g7f",), result, reason, "")
    assert KIF.write is not None
    assert f"   2 {word}" in KIF.write(record)
    assert read(KIF, KIF.write(record)) == record


def test_starts() -> None:
    for name, board in (("左七枚落ち", "2sgkg3"), ("右七枚落ち", "3gkgs2")):
        record = read(KIF, f"手合割：{name}\n下手：A\n上手：B\n   1 ６二玉(51)\n")
        assert (record.root or "").startswith(board)
        assert record.moves == ("5a6b",)
        for form in (KIF, KI2, CSA, JKF):
            assert form.write is not None
            assert read(form, form.write(record)).root == record.root
    two_pawns = (
        "後手の持駒：飛二角二金四銀四桂四香四歩十五\n  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n"
        "| ・ ・ ・ ・v玉 ・ ・ ・ ・|一\n" + "| ・ ・ ・ ・ 歩 ・ ・ ・ ・|二\n" * 0
        + "".join(f"| ・ ・ ・ ・ {man} ・ ・ ・ ・|\n" for man in ("・", "歩", "歩", "・", "・", "・", "・", "玉"))
        + "+---------------------------+\n先手の持駒：歩\n手合割：詰将棋\n   1 ５二歩成(53)\n"
    )  # fmt: skip
    record = read(KIF, two_pawns)
    assert record.fault == ""
    assert record.headers == {"手合割": "詰将棋"}
    assert record.moves == ("5c5b+",)
    assert (record.root or "").split()[2] == "P2r2b4g4s4n4l15p"


def test_jkf() -> None:
    text = {
        "header": {"先手": "a", "後手": "b", "場所": "東京"},
        "moves": [
            {"comments": ["分岐の例"]},
            {"move": {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "color": 0, "piece": "FU"}},
            {
                "move": {"from": {"x": 3, "y": 3}, "to": {"x": 3, "y": 4}, "piece": "FU"},
                "time": {"now": {"m": 1, "s": 2}, "total": {"h": 0, "m": 1, "s": 2}},
                "forks": [[{"move": {"from": {"x": 8, "y": 3}, "to": {"x": 8, "y": 4}, "piece": "FU"}}]],
            },
            {"move": {"from": {"x": 8, "y": 8}, "to": {"x": 2, "y": 2}, "piece": "KA", "promote": True}},
            {"move": {"piece": "GI", "same": True, "from": {"x": 3, "y": 1}}},
            {"move": {"to": {"x": 4, "y": 5}, "color": 0, "piece": "KA"}},
            {"special": "CHUDAN"},
        ],
    }
    record = read(JKF, json.dumps(text))
    assert (record.names, record.headers) == (("a", "b"), {"Site": "東京"})
    assert record.moves == ("7g7f", "3c3d", "8h2b+", "3a2b", "B*4e")
    assert (record.times[1], record.comments[0], record.reason) == (62.0, "分岐の例", "interrupted")
    assert [child.move for child in record.moved()[0].children] == ["3c3d", "8c8d"]
    assert JKF.write is not None
    written = json.loads(JKF.write(record))
    assert written["moves"][3]["move"]["capture"] == "KA"
    assert written["moves"][4]["move"]["same"] is True
    assert written["moves"][-1] == {"special": "CHUDAN"}
    for wrong in ("nonsense", "[]", "{}", '{"moves":1}', '{"a":[]}'):
        with pytest.raises(DataError, match="JKF"):
            read(JKF, wrong)
    for damaged in ('{"moves":[{},{"move":{"piece":"XX"}}]}', '{"header":[],"moves":[]}', '{"moves":[1]}',
                    '{"moves":[{},{"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":1},"piece":"FU"}}]}'):  # fmt: skip
        assert read(JKF, damaged).fault


def test_sfen_and_usi_lines() -> None:
    sfen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    for text in (f"sfen {sfen}", sfen, f"position sfen {sfen} moves 7g7f", "startpos moves 7g7f", f"{sfen} moves 7g7f"):
        record = read(USI, text)
        assert record.fault == ""
        assert record.moves == (("7g7f",) if "moves" in text else ())


def test_ki2_tells_every_move_from_the_others() -> None:
    """Random games: what is written is read, and cshogi writes the same."""
    cshogi = pytest.importorskip("cshogi", reason="cshogi has no wheel for this machine")
    from cshogi import KI2 as theirs  # noqa: N811

    rng, same, written = random.Random(4), 0, 0
    for _ in range(6):
        line, words = SHOGI.initial(), list[str]()
        while len(words) < 150 and SHOGI.outcome(line) == RUNNING:
            move = int(rng.choice(SHOGI.legal_moves(line)))
            words.append(SHOGI.format_move(line[-1], move))
            line = SHOGI.play(line, move)
        assert KI2.write is not None
        text = KI2.write(Record.of_line(words))
        assert read(KI2, text).moves == tuple(words)
        ours = [word for row in text.splitlines() if row[:1] in "▲△" and row for word in row.split(" ")]
        board = cshogi.Board()
        for word, ours_word in zip(words, ours, strict=True):
            found = theirs.move_to_ki2(board.move_from_usi(word), board)
            same += found.replace(" ", "").replace("　", "") == ours_word.replace("　", "")
            written += 1
            board.push_usi(word)
    assert same > 0.97 * written, f"{same} of {written}"


@pytest.mark.parametrize(
    ("end", "result", "reason"),
    [
        ("まで1手で後手の勝ち\n*good game", -1, "resignation"),
        ("まで1手で時間切れにより後手の勝ち", -1, "time"),
        ("まで1手で切断により先手の勝ち", 1, "disconnection"),
        ("まで1手で切断により後手の勝ち", -1, "disconnection"),
        ("2 不戦勝", -1, "forfeit"),
        ("2 時間切れ\nまで1手で時間切れにより先手の勝ち", 1, "time"),
    ],
)
def test_results_come_back_whoever_has_won(end: str, result: int, reason: str) -> None:
    record = read(KIF, f"手合割：平手\n1 ７六歩(77)\n{end}\n")
    assert (record.result, record.reason) == (result, reason)
    for form in (KIF, KI2):
        assert form.write is not None
        again = read(form, form.write(record))
        assert (again.result, again.reason) == (result, reason), form.name
        assert [node.comment for node in again.tree.line()] == [node.comment for node in record.tree.line()]
    assert JKF.write is not None
    again = read(JKF, JKF.write(record))
    assert ((again.result, again.reason) == (result, reason)) == (not JKF.lost(record)), "what it cannot say is told"


def test_an_illegal_promotion_is_written_as_it_was() -> None:
    assert CSA.write is not None
    assert "+8877UM" in CSA.write(read(CSA, "V2.2\nPI\n+\n+8877UM\n%ILLEGAL_MOVE\n"))


def test_a_remark_at_the_beginning_of_a_variation_is_its_own() -> None:
    text = (
        "手合割：平手\n1 ７六歩(77)\n*main\n2 ３四歩(33)\n\n変化：2手\n*about the variation\n2 ８四歩(83)\n*its move\n"
    )
    record = read(KIF, text)
    first = record.tree.children[0]
    assert first.comment == "main"
    assert [(child.before, child.comment) for child in first.children] == [
        ("", ""),
        ("about the variation", "its move"),
    ]
    for form in (KIF, KI2):
        assert form.write is not None
        again = read(form, form.write(record)).tree.children[0]
        assert [(each.before, each.comment) for each in again.descendants()] == [
            (each.before, each.comment) for each in first.descendants()
        ]


START = "手合割：平手\n   1 ７六歩(77)\n"


@pytest.mark.parametrize(
    ("form", "end", "lost"),
    [
        (CSA, "   2 切断 ( 0:05/00:00:05)\n*why\n", ["end by disconnection, which is written as CHUDAN"]),
        (CSA, "   2 無勝負\n", ["end by no game, which is written as CHUDAN"]),
        (CSA, "   2 封じ手\n*why\n", ["end by sealed move, which is written as CHUDAN"]),
        (CSA, "   2 何か ( 0:05/00:00:05)\n", ["end by 何か, which is written as CHUDAN"]),
        (CSA, "   2 不戦敗\n", []),
        (
            CSA,
            "   2 不戦敗 ( 0:05/00:00:05)\n*why\n",
            ["remarks on an end by forfeit, which go to the last move", "time of an end by forfeit"],
        ),
        (CSA, "   2 詰み\n", []),
        (CSA, "   2 詰み ( 0:05/00:00:05)\n", []),
        (CSA, "   2 中断 ( 0:05/00:00:05)\n*why\n", []),
        (JKF, "   2 詰み\n変化：2手\n   2 切断\n", ["end by disconnection, which is written as CHUDAN"]),
        (JKF, "   2 投了\n変化：2手\n   2 不戦敗\n", ["end by forfeit, which is written as TORYO"]),
        (JKF, "   2 何か\n変化：2手\n   2 詰み\n", ["end by 何か, which is written as CHUDAN"]),
        (JKF, "   2 ３四歩(33)\n変化：2手\n   2 反則手\n", []),
    ],
)
def test_an_end_stays_or_is_named_as_lost(form: RecordFormat, end: str, lost: list[str]) -> None:
    record = read(KIF, START + end)
    assert sorted(form.lost(record)) == lost
    assert form.write is not None
    again = read(form, form.write(record))
    assert (again.result, again.fault) == (record.result, "")
    if not lost:
        assert again.reason == record.reason
    if "remarks" not in str(lost):
        before, after = ({(n.seconds, n.comment) for n in r.tree.descendants() if not n.move} for r in (record, again))
        assert before == after
    if form is JKF and not lost:
        ends = [[child.end for child in r.tree.children[0].children] for r in (record, again)]
        assert ends[0] == ends[1]


def test_words_that_csa_alone_has_are_kept_there() -> None:
    record = read(CSA, "PI\n+\n+7776FU\n%SOMETHING_NEW\nT5\n")
    for form in (CSA, JKF):
        assert not form.lost(record)
        assert form.write is not None
        assert "SOMETHING_NEW" in form.write(record)
    assert [*KIF.lost(record)] == ["end by SOMETHING_NEW, which is written as 中断"]
    assert [*KIF.lost(read(CSA, "PI\n+\n+7776FU\n%OUTE_SENNICHITE\n"))] == [
        "end by repetition, which is written as 中断"
    ]


def test_moves_behind_the_end_are_kept_as_comments() -> None:
    ended = "PI\n+\n+7776FU\n-3334FU\n%TORYO\nT3\n"
    moves = [{"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}]
    moves += [{"from": {"x": 3, "y": 3}, "to": {"x": 3, "y": 4}, "piece": "FU"}]
    late = {"move": {"from": {"x": 2, "y": 7}, "to": {"x": 2, "y": 6}, "piece": "FU"}}
    entries = [{}, *({"move": move} for move in moves), {"special": "TORYO"}, late, {"special": "KACHI"}]
    for form, text, place, comment in (
        (CSA, f"{ended}+2726FU\nT9\n%KACHI\n", "line 7", "+2726FU\nT9\n%KACHI"),
        (CSA, f"{ended}%KACHI\n", "line 7", "%KACHI"),
        (KIF, "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 投了\n   4 ２六歩(27)\n", "line 4", "   4 ２六歩(27)"),
        (KI2, "▲７六歩 △３四歩\nまで2手で後手の勝ち\n▲２六歩\n", "line 3", "▲２六歩"),
        (JKF, json.dumps({"moves": entries}), "move 4", f'{json.dumps(late)}\n{{"special": "KACHI"}}'),
    ):
        record = read(form, text)
        assert record.moves == ("7g7f", "3c3d")
        assert (record.result, record.reason, record.fault) == (-1, "resignation", "")
        assert record.note == f"{place}: the game has ended; what stands behind is kept as comments"
        *_, end = record.tree.line()
        assert (end.end, end.comment) == (("resignation", -1), comment)
        assert end.seconds == (3.0 if form is CSA else None)
    assert not read(KIF, "   1 ７六歩(77)\n   2 投了\n2026年の名局\n1 局目\n").note


def test_games_of_csa_without_a_line_between_them() -> None:
    game = "'CSA encoding=UTF-8\nV2.2\nN+{}\nPI\n+\n+7776FU\n%TORYO\n"
    for first in (game, game.replace("%TORYO\n", ""), game.replace("7776", "7775")):
        records = list(CSA.read(io.BytesIO((first.format("a") + game.format("b")).encode())))
        assert [record.names[0] for record in records] == ["a", "b"]
        assert records[1].moves == ("7g7f",)
        assert [record.note for record in records] == ["", ""]


@pytest.mark.parametrize(
    "line",
    [
        "手数＝0",
        "手数=0  まで",
        "手数----指手---------消費時間--",
        "手数----指手--消費時間--",
        "  手数－－－指し手－－－消費時間",
        "手数  指手  消費時間",
        "手数━━指手━━",
    ],
)
def test_lines_above_the_moves_are_no_comments(line: str) -> None:
    record = read(KIF, f"手合割：平手\n{line}\n   1 ７六歩(77)\n{line if '指' in line else ''}\n   2 ３四歩(33)\n")
    assert (record.moves, record.comments, record.headers, record.fault) == (("7g7f", "3c3d"), (), {}, "")


def test_the_moves_before_a_diagram_are_a_header() -> None:
    record = read(KIF, "手数＝68  ▲３三角成  まで\n手合割：平手\n   1 ７六歩(77)\n")
    assert (record.comments, record.headers) == ((), {"手数": "68  ▲３三角成  まで"})
    assert KIF.write is not None
    text = KIF.write(record)
    assert "\n手数＝68  ▲３三角成  まで\n" in text
    assert read(KIF, text) == record


def test_remarks_and_ends_on_a_line_of_ki2() -> None:
    note = "line 3: the game has ended; what stands behind is kept as comments"
    for end, behind, comment in (
        ("▲投了 *終局", "", "終局"),
        ("▲投了", "▲５八金右 △３二金 *後", "▲５八金右 △３二金 *後"),
        ("投了", "▲５八金右", "▲５八金右"),
    ):
        record = read(KI2, f"▲７六歩 △３四歩 *角道 ▲\n{end}\n{behind}\nまで2手で後手の勝ち\n")
        assert (record.moves, record.comments[2].split("\n")[0]) == (("7g7f", "3c3d"), "角道 ▲")
        assert (record.result, record.reason, record.fault) == (-1, "resignation", "")
        *_, last = record.tree.line()
        assert (last.end, last.comment, record.note) == (("resignation", -1), comment, note if behind else "")
    record = read(KI2, "▲７六歩 △３四歩 ▲千日手 ▲２六歩\n\n変化：2手\n△８四歩 悪手 ▲中断\n")
    assert (record.moves, record.result, record.reason) == (("7g7f", "3c3d"), 0, "repetition")
    variation = record.tree.children[0].children[1]
    assert (variation.comment, variation.children[0].end) == ("悪手", ("interrupted", None))
    assert read(KI2, "▲７六歩 △３四歩　まで2手で後手の勝ち\n").result == -1
    assert read(KI2, "▲７六歩 △９九歩 △反則負け\n").reason == "illegal move"


def test_what_stands_behind_damage_is_counted() -> None:
    told = "; what follows is left out (2 moves, 2 comments)"
    move = {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}
    entries = [{}, {"move": move}, {"move": move, "comments": ["a"]}, {"move": move, "comments": ["b"]}, {"move": move}]
    for form, text in (
        (KIF, "   1 ７六歩(77)\n   2 ９九歩(77)\n*a\n   3 ２六歩(27)\n   4 ８四歩(83)\n*b\n   5 投了\n"),
        (KI2, "▲７六歩 △９九歩 *a\n▲２六歩 △８四歩 *b\n▲投了\n"),
        (CSA, "PI\n+\n+7776FU\n-9999FU\n'*a\n+2726FU\n-8384FU\n'*b\n%TORYO\n"),
        (JKF, json.dumps({"moves": entries})),
    ):
        record = read(form, text)
        assert record.fault.endswith(told), (form.name, record.fault)
        assert record.moves == ("7g7f",)
    ended = KIF.read(io.BytesIO("   1 ７六歩(77)\n   2 ９九歩(77)\n*a\n   3 反則負け\n".encode()))
    assert [(record.fault, record.reason) for record in ended] == [("", "illegal move")]
    varied = (
        "   1 ７六歩(77)\n   2 ９九歩(77)\n\n変化：1手\n   1 ９九歩(77)\n   2 ３四歩(33)\n\n変化：1手\n   1 ５五角打\n"
    )
    assert [fault.split(":")[0] for fault in read(KIF, varied).fault.split("; ")] == [
        "line 2",
        "line 5, in a variation",
        "what follows is left out (1 move)",
        "line 9, in a variation",
    ]

"""CSA, KIF and KI2: what is read, what is written, and that other programs' readers agree."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from typing import Any

import pytest
import shogi.CSA
import shogi.KIF

from az_engine.engine.errors import DataError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.records.formats import MAX_PLIES, RecordFormat, format_named
from az_engine.engine.records.record import Record
from az_engine.engine.records.text import MAX_BYTES

SHOGI = get_game("shogi")
CSA, KIF, KI2, USI = (format_named(SHOGI.record_formats, name) for name in ("csa", "kif", "ki2", "usi"))
WRITERS = (CSA, KIF, USI)
TWO_PIECES = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
MIDDLE = "lnsgk1snl/6gb1/p1pppp2p/6R2/9/1rP6/P2PPPP1P/1BG6/LNS1KGSNL w 3P2p 1"


def read(form: RecordFormat, text: str | bytes, encoding: str = "utf-8") -> Record:
    """The one game of a text."""
    (record,) = form.read(io.BytesIO(text if isinstance(text, bytes) else text.encode(encoding)))
    return record


def random_moves(rng: random.Random, plies: int, root: str | None = None) -> tuple[tuple[str, ...], int, int]:
    """(moves of a random game, side to move at its end, outcome code)."""
    line = SHOGI.initial() if root is None else SHOGI.parse_position(root)[0]
    moves: list[str] = []
    while len(moves) < plies and SHOGI.outcome(line) == RUNNING:
        move = rng.choice(SHOGI.legal_moves(line).tolist())
        moves.append(SHOGI.format_move(line[-1], move))
        line = SHOGI.play(line, move)
    return tuple(moves), int(line[-1]["turn"]), SHOGI.outcome(line)


def random_records(count: int, seed: int, *, roots: tuple[str | None, ...] = (None,)) -> Iterator[Record]:
    """Games with every kind of end, with and without times and remarks."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        root = rng.choice(roots)
        moves, turn, outcome = random_moves(rng, rng.choice((0, 1, 8, 60)), root)
        if outcome != RUNNING:
            continue
        mover = 1 if turn == 0 else -1
        reason, result = rng.choice(
            [
                ("resignation", -mover),
                ("time", -mover),
                ("declaration", mover),
                ("illegal move", mover),
                ("illegal move", -mover),
                ("repetition", 0),
                ("impasse", 0),
                ("interrupted", None),
            ]
        )
        yield Record.of_line(
            moves,
            root,
            result,
            reason,  # type: ignore[arg-type]
            ("先手 太郎", "Engine 2"),
            tuple(float(rng.randrange(200)) for _ in moves) if made % 2 and moves else (),
            tuple(f"評価値 {i}\n* {rng.random()}" if i else "begin" for i in range(len(moves) + 1)) if made % 3 else (),
            {"Event": "テスト", "Date": "2024/01/31 10:00:00"} if made % 2 else {},
        )
        made += 1


@pytest.mark.parametrize("form", [CSA, KIF], ids=lambda form: str(form.name))
def test_what_is_written_is_read(form: RecordFormat) -> None:
    for record in random_records(24, 1, roots=(None, None, TWO_PIECES, MIDDLE)):
        assert form.write is not None
        assert read(form, form.write(record)) == record


def test_position_lines_keep_root_and_moves() -> None:
    for record in random_records(8, 2, roots=(None, TWO_PIECES, MIDDLE)):
        assert USI.write is not None
        text = USI.write(record)
        assert text.startswith("position startpos" if record.root is None else f"position sfen {record.root}")
        assert read(USI, text) == Record.of_line(record.moves, record.root)
        assert read(USI, text.removeprefix("position ")).moves == record.moves


def test_other_readers_read_what_is_written() -> None:
    """cshogi and python-shogi; the latter takes no boards, and no hands, which are left out here."""
    cshogi = pytest.importorskip("cshogi", reason="cshogi has no wheel for this machine")
    from cshogi import CSA as theirs_csa  # noqa: N811
    from cshogi import KIF as theirs_kif  # noqa: N811

    wins = {1: (1, "b"), -1: (2, "w"), 0: (0, "-"), None: (0, "-")}
    for record in random_records(24, 3, roots=(None, None, TWO_PIECES)):
        assert CSA.write is not None
        assert KIF.write is not None
        csa, kif = CSA.write(record), KIF.write(record)
        (theirs,) = theirs_csa.Parser.parse_str(csa)
        assert tuple(map(cshogi.move_to_usi, theirs.moves)) == record.moves
        assert theirs.win == wins[record.result][0]
        assert theirs.sfen == (record.root or theirs.sfen)
        if record.times:
            assert tuple(theirs.times[: len(record.moves)]) == record.times
        (theirs,) = shogi.CSA.Parser.parse_str(csa)
        assert tuple(theirs["moves"]) == record.moves
        assert theirs["names"] == list(record.names)
        if record.reason in ("resignation", "time"):
            assert theirs["win"] == wins[record.result][1]
        theirs = theirs_kif.Parser.parse_str(kif)
        assert tuple(map(cshogi.move_to_usi, theirs.moves)) == record.moves
        assert theirs.names == list(record.names)
        if record.result is not None:
            assert theirs.win == wins[record.result][0]
        (theirs,) = shogi.KIF.Parser.parse_str(kif)
        assert tuple(theirs["moves"]) == record.moves
        assert theirs["sfen"] == (record.root or theirs["sfen"])
        if record.reason in ("resignation", "time"):
            assert theirs["win"] == wins[record.result][1]


def test_a_kif_file_is_found_by_readers_that_guess_its_encoding(tmp_path: Any) -> None:
    record = Record.of_line(("7g7f",), names=("あ", "い"), result=1, reason="resignation")
    assert KIF.write is not None
    for name in ("x.kifu", "x.kif"):
        (tmp_path / name).write_bytes(KIF.encode(KIF.write(record), name))
        assert shogi.KIF.Parser.parse_file(str(tmp_path / name))[0]["names"] == ["あ", "い"]
    assert b"encoding=Shift_JIS" in (tmp_path / "x.kif").read_bytes()


FLOODGATE = """\
V2
N+Kristallweizen-i9
N-QueenAI
'Max_Moves:256
'Least_Time_Per_Move:0
'Increment:10
$EVENT:wdoor+floodgate-300-10F+Kristallweizen-i9+QueenAI+20200101003000
$START_TIME:2020/01/01 00:30:03
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+
'rating:Kristallweizen-i9+x:QueenAI+y
+2726FU
T1
'** 45 -8384FU +2625FU
-8384FU
T10
+7776FU,T0
%TORYO
'summary:toryo:Kristallweizen-i9 win:QueenAI lose
'$END_TIME:2020/01/01 00:45:02
"""


def test_a_floodgate_record() -> None:
    record = read(CSA, FLOODGATE)
    assert record.moves == ("2g2f", "8c8d", "7g7f")
    assert (record.root, record.result, record.reason, record.fault) == (None, 1, "resignation", "")
    assert record.names == ("Kristallweizen-i9", "QueenAI")
    assert record.times == (1.0, 10.0, 0.0)
    assert record.comments[1] == "* 45 -8384FU +2625FU"
    assert record.headers["Date"] == "2020/01/01 00:30:03"
    without = FLOODGATE.replace("%TORYO\n", "")
    assert read(CSA, without).result == 1  # by the server's summary


@pytest.mark.parametrize(
    ("position", "sfen"),
    [
        ("PI82HI22KA\n-", "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("P-51OU\nP+53GI\nP-00AL\nP+59OU\n+", "4k4/9/4S4/9/9/9/9/9/4K4 b 2r2b4g3s4n4l18p 1"),
        (
            "P-11OU\nP+33KE22KI59OU00FU00FU\nP-00AL\n-",
            "8k/7G1/6N2/9/9/9/9/9/4K4 w 2P2r2b3g4s3n4l16p 1",
        ),
    ],
)
def test_positions_of_csa(position: str, sfen: str) -> None:
    record = read(CSA, f"V2.2\n{position}\n%CHUDAN\n")
    assert (record.root, record.fault) == (sfen, "")


ENDINGS = [  # of both formats, and the last line of KIF
    (
        CSA,
        "PI\n+\n+7776FU\n{}\n",
        [
            ("%TORYO", "resignation", 1),
            ("%TIME_UP", "time", 1),
            ("%ILLEGAL_MOVE", "illegal move", 1),
            ("%+ILLEGAL_ACTION", "illegal move", -1),
            ("%-ILLEGAL_ACTION", "illegal move", 1),
            ("%KACHI", "declaration", -1),
            ("%SENNICHITE", "repetition", 0),
            ("%JISHOGI", "impasse", 0),
            ("%HIKIWAKE", "draw", 0),
            ("%TSUMI", "mate", 1),
            ("%MAX_MOVES", "maximum moves", 0),
            ("%CHUDAN", "interrupted", None),
            ("%SOMETHING_NEW", "", None),
            ("", "", None),
        ],
    ),
    (
        KIF,
        "   1 ７六歩(77)\n   2 {}   ( 0:00/00:00:00)\n",
        [
            ("投了", "resignation", 1),
            ("切れ負け", "time", 1),
            ("反則負け", "illegal move", 1),
            ("反則勝ち", "illegal move", -1),
            ("入玉勝ち", "declaration", -1),
            ("千日手", "repetition", 0),
            ("持将棋", "impasse", 0),
            ("詰み", "mate", 1),
            ("中断", "interrupted", None),
        ],
    ),
    (
        KIF,
        "   1 ７六歩(77)\n{}\n",
        [
            ("まで1手で先手の勝ち", "resignation", 1),
            ("まで1手で後手の勝ち", "resignation", -1),
            ("まで、1手で時間切れにより後手の勝ち", "time", -1),
            ("まで1手で後手の反則負け", "illegal move", 1),
            ("まで1手で先手の入玉勝ち", "declaration", 1),
            ("まで1手で千日手", "repetition", 0),
            ("まで1手で持将棋", "impasse", 0),
            ("まで1手で中断", "interrupted", None),
            ("まで1手で詰み", "mate", 1),
        ],
    ),
]


@pytest.mark.parametrize(
    ("form", "text", "reason", "result"),
    [(form, text.format(word), *meaning) for form, text, ends in ENDINGS for word, *meaning in ends],
)
def test_how_a_game_ended(form: RecordFormat, text: str, reason: str, result: int | None) -> None:
    record = read(form, text)
    assert (record.moves, record.reason, record.result, record.fault) == (("7g7f",), reason, result, "")


def test_several_games_in_one_csa_file() -> None:
    games = list(CSA.read(io.BytesIO(b"V2.2\nPI\n+\n+2726FU\n%TORYO\n/\nN+x\nPI\n+\n+9999FU\n/\n/\nPI\n+\n%CHUDAN\n")))
    assert [len(game.moves) for game in games] == [1, 0, 0]
    assert [bool(game.fault) for game in games] == [False, True, False]


KIFU_FOR_WINDOWS = """\
# ---- Kifu for Windows V6.26 棋譜ファイル ----
# ファイル名：C:\\kifu\\x.kif
開始日時：2005/01/20 10:00
棋戦：順位戦
持ち時間：各6時間
手合割：平手
先手：羽生善治
後手：谷川浩司
手数----指手---------消費時間--
*はじめ
   1 ７六歩(77)   ( 0:16/00:00:16)
   2 ３四歩(33)   ( 0:00/00:00:00)+
*二手目
**評価値 -30
   3 ２二角成(88) ( 1:02/00:01:18)
   4 同　銀(31)   ( 0:03/00:00:03)
   5 ５五角打     ( 0:09/00:01:27)
   6 投了         ( 0:01/00:00:04)
まで5手で先手の勝ち

変化：4手
   4 同　飛(82)   ( 0:00/00:00:00)
   5 ８八銀(79)   ( 0:00/00:00:00)

変化：2手
   2 ８四歩(83)   ( 0:00/00:00:00)
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_record_of_kifu_for_windows(encoding: str, ends: str) -> None:
    text = KIFU_FOR_WINDOWS.replace("平手\n", "平手　　\n").replace("\n", ends)
    record = read(KIF, text, encoding)
    assert record.moves == ("7g7f", "3c3d", "8h2b+", "3a2b", "B*5e")
    assert (record.root, record.result, record.reason, record.fault) == (None, 1, "resignation", "")
    assert record.names == ("羽生善治", "谷川浩司")
    assert record.times == (16.0, 0.0, 62.0, 3.0, 9.0)
    assert record.comments == ("はじめ", "", "二手目\n*評価値 -30", "", "", "")
    assert record.headers == {"Date": "2005/01/20 10:00", "Event": "順位戦", "TimeControl": "各6時間"}


def test_a_handicap_game_of_kif() -> None:
    text = "手合割：二枚落ち\n下手：a\n上手：b\n   1 ６二銀(71)\n   2 ７六歩(77)\n   3 投了\nまで2手で下手の勝ち\n"
    record = read(KIF, text)
    assert (record.root, record.moves, record.names) == (TWO_PIECES, ("7a6b", "7g7f"), ("a", "b"))
    assert (record.result, record.reason) == (1, "resignation")


BOARD = """\
後手の持駒：飛　角二　金四　歩十八
  ９ ８ ７ ６ ５ ４ ３ ２ １
+---------------------------+
| ・ ・ ・ ・v玉 ・ ・ ・ ・|一
| ・ ・ ・ ・ ・ ・ ・ ・ ・|二
| ・ ・ ・ ・ 全 ・ ・ ・ ・|三
| ・ ・ ・ ・ ・ ・ ・ ・ ・|四
| ・ ・ ・ ・ ・ ・ ・ ・ ・|五
| ・ ・ ・ ・ ・ ・ ・ ・ ・|六
| ・ ・ ・ ・ ・ ・ ・ ・ ・|七
| ・ ・ ・ ・ ・ ・ ・ ・ ・|八
| ・ ・ ・ ・ 王 ・ ・ ・ ・|九
+---------------------------+
先手の持駒：竜なし
"""


def test_a_board_of_kif() -> None:
    text = BOARD.replace("竜なし", "銀　桂") + "先手：a\n後手：b\n   1 ５二銀打\n   2 中断\n"
    record = read(KIF, text)
    assert record.root == "4k4/9/4+S4/9/9/9/9/9/4K4 b SNr2b4g18p 1"
    assert record.moves == ("S*5b",)
    assert read(KIF, text.replace("先手：a", "後手番\n先手：a")).fault.startswith(
        "line 18: ５二銀打: S*5b is not legal"
    )
    assert "nothing to have in hand" in read(KIF, BOARD).fault
    assert (
        "instead of nine"
        in read(KIF, BOARD.replace("竜", "").replace("| ・ ・ ・ ・ ・ ・ ・ ・ ・|八\n", "") + "   1 ５二銀打\n").fault
    )


def test_a_move_that_lost_as_illegal_is_left_out() -> None:
    """Two pawns on a file."""
    text = "PI\n+\n+7776FU\n-3334FU\n+8833UM\n-2133KE\n"
    for ending in ("%ILLEGAL_MOVE", "%-ILLEGAL_ACTION", "%+ILLEGAL_ACTION"):
        record = read(CSA, f"{text}+0055FU\nT3\n{ending}\n")
        assert (len(record.moves), record.result, record.reason, record.fault) == (4, -1, "illegal move", "")
    record = read(CSA, f"{text}+0055FU\n-8384FU\n%ILLEGAL_MOVE\n")
    assert (len(record.moves), record.result) == (4, None)
    assert record.fault.startswith("line 7: +0055FU: P*5e is not legal")
    for ending in ("反則負け", "反則勝ち"):
        record = read(KIF, f"   1 ７五歩(77)\n   2 {ending}\n")
        assert (record.moves, record.result, record.reason, record.fault) == ((), -1, "illegal move", "")


def test_the_rules_tell_perpetual_check_and_mate() -> None:
    """Black checks with its rook from 5h and 4h, white's king steps aside."""
    root = "4k4/9/9/9/9/9/9/7R1/K8 b - 1"
    cycle = ("2h5h", "5a4a", "5h4h", "4a5a")
    moves = (*cycle, "4h5h", "5a4a", *("5h4h", "4a5a", "4h5h", "5a4a") * 2)
    text = USI_TO_CSA(root, moves)
    record = read(CSA, text + "%SENNICHITE\n")
    assert (record.result, record.reason) == (-1, "perpetual check")
    record = read(CSA, text + "%+ILLEGAL_ACTION\n")
    assert (record.result, record.reason) == (-1, "perpetual check")
    for form in (CSA, KIF):
        assert form.write is not None
        assert read(form, form.write(record)) == record
    mate = USI_TO_CSA("8k/9/8P/9/9/9/9/9/K8 b G 1", ("G*1b",))
    for ending in ("", "%TORYO\n", "%TSUMI\n"):
        assert (read(CSA, mate + ending).result, read(CSA, mate + ending).reason) == (1, "mate")
    assert read(CSA, mate + "%CHUDAN\n").reason == "interrupted"


def USI_TO_CSA(root: str, moves: tuple[str, ...]) -> str:  # noqa: N802
    assert CSA.write is not None
    return CSA.write(Record.of_line(moves, root)).replace("%CHUDAN\n", "")


def test_ki2_agrees_with_cshogi() -> None:
    cshogi = pytest.importorskip("cshogi", reason="cshogi has no wheel for this machine")
    from cshogi import KI2 as theirs  # noqa: N811

    rng = random.Random(6)
    for _ in range(12):
        board, texts, moves = cshogi.Board(), [], []
        for _ in range(200):
            legal = list(board.legal_moves)
            if not legal or board.is_draw():
                break
            move = rng.choice(legal)
            texts.append(theirs.move_to_ki2(move, board))
            moves.append(cshogi.move_to_usi(move))
            board.push(move)
        lines = ["    ".join(texts[i : i + 6]) for i in range(0, len(texts), 6)]
        record = read(KI2, "\n".join(["手合割：平手", "先手：a", "後手：b", "", *lines, ""]), "cp932")
        assert record.fault == ""
        assert list(record.moves) == moves


@pytest.mark.parametrize(
    ("form", "text", "fault"),
    [
        (CSA, "PI\n+\n+7775FU\n%TORYO\n", "line 3: +7775FU: 7g7e is not legal"),
        (CSA, "PI\n+\n-3334FU\n", "line 3: -3334FU is a move of the side that is not to move"),
        (CSA, "PI\n+\n+7776XX\n", "line 3: '+7776XX' is no move such as +7776FU"),
        (CSA, "PI\n+\n+7776KI\n", "line 3: +7776KI: no such piece can move there"),
        (CSA, "PI\n+\n+0055OU\n", "line 3: +0055OU: such a piece is never in hand"),
        (CSA, "PI\n+\n+7076FU\n", "line 3: +7076FU: there is no square 70"),
        (CSA, "PI55FU\n+\n", "line 1: there is no FU on 55 to take away"),
        (CSA, "P1+FU+FU\n+\n", "kings"),
        (CSA, "PI\nP+" + "00FU" * 300 + "\n+\n", "line 3: there are 117 pawns; a shogi set has 18"),
        (CSA, "P9-XX\n+\n", "line 1: '-XX' in rank 9 is no piece"),
        (CSA, "P+00OU\n+\n", "line 1: OU is never in hand"),
        (CSA, "PI\n+\n+7776FU\nTx\n", "line 4: 'Tx' is no time in seconds"),
        (CSA, "hello\n", "line 1: 'hello' is no CSA statement"),
        (KIF, "手合割：謎\n   1 ７六歩(77)\n", "line 2: the handicap '謎' is not known and no board is given"),
        (KIF, "   1 ７六歩(77)\n   3 ２六歩(27)\n", "line 2: move 3 stands where move 2 should be"),
        (KIF, "   1 ７六歩(77)\n   2 ３四\ufffd(33)\n", "is no move"),
        (KIF, "   1 ７五歩(77)\n", "line 1: ７五歩(77): 7g7e is not legal"),
        (KIF, "   1 同　歩(77)\n", "line 1: '同 歩(77)' goes where the move before it went, and there is none"),
        (KIF, "   1 ５五飛打\n", "line 1: ５五飛打: R*5e is not legal"),
        (KIF, "   1 ７六歩(77)\nxyz\n", "line 2: 'xyz' is no move, remark or end of a game"),
        (KI2, "▲５八金\n", "line 1: ５八金: 2 pieces can play it in"),
        (KI2, "▲５五金\n", "line 1: ５五金: G*5e is not legal"),
        (USI, "position startpos moves 7g7f 7g7f\n", "line 1: 7g7f is not legal in"),
        (USI, "position sfen x b - 1\n", "line 1: a SFEN's board has 9 ranks"),
        (USI, "hello\n", "line 1: a line begins with position startpos or position sfen"),
    ],
)
def test_damage_is_told_in_one_sentence(form: RecordFormat, text: str, fault: str) -> None:
    record = read(form, text)
    assert fault in record.fault
    assert "\n" not in record.fault
    assert record.result is None


@pytest.mark.parametrize("form", [CSA, KIF, KI2, USI], ids=lambda form: str(form.name))
def test_what_is_no_record_is_refused(form: RecordFormat) -> None:
    with pytest.raises(DataError, match="there is no"):
        list(form.read(io.BytesIO(b"\n\n")))
    with pytest.raises(DataError, match=r"longer than any|larger than"):
        list(form.read(io.BytesIO(b"*" * 70_000 + b"x" * (2 << 20))))


class Endless(io.RawIOBase):
    """A file without an end."""

    read_bytes = 0

    def read(self, size: int = -1) -> bytes:
        self.read_bytes += size
        assert size >= 0
        return b"'" * size


def test_an_endless_file_is_read_to_the_limit_alone() -> None:
    endless = Endless()
    with pytest.raises(DataError, match="larger than 16 MiB"):
        list(CSA.read(endless))  # type: ignore[arg-type]
    assert endless.read_bytes == MAX_BYTES + 1


@pytest.mark.slow
def test_endless_games_end() -> None:
    cycle = ("+2838HI", "-8272HI", "+3828HI", "-7282HI")
    text = "PI\n+\n" + "\n".join(cycle[i % 4] for i in range(MAX_PLIES + 50)) + "\n%TORYO\n"
    record = read(CSA, text)
    assert len(record.moves) == MAX_PLIES
    assert "more than 2000 moves" in record.fault
    variations = "   1 ７六歩(77)\n" + "変化：1手\n   1 ２六歩(27)\n" * 20_000
    assert read(KIF, variations).moves == ("7g7f",)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_never_crash(seed: int) -> None:
    """What comes out can be written and is read again."""
    rng = random.Random(seed)
    texts = [
        (form, form.write(r)) for form in WRITERS if form.write for r in random_records(3, seed, roots=(None, MIDDLE))
    ]
    pieces = [
        "変化：2手",
        "同　",
        "投了",
        "(",
        "/",
        "%",
        "+",
        "-",
        "PI",
        "P+00AL",
        "|",
        "：",
        "手合割：",
        "\0",
        "９",
        "T",
        "$",
    ]
    pieces += [
        "'",
        "*",
        ",",
        "▲",
        "まで",
        "\n",
        "+0055FU",
        "   2 ５五角打",
        "十",
        "2",
        "position",
        "moves",
        "sfen",
        "\ufeff",
    ]
    for _ in range(60):
        form, text = rng.choice(texts)
        characters = list(text)
        for _ in range(rng.choice((1, 2, 9))):
            at = rng.randrange(len(characters) + 1)
            kind = rng.random()
            if kind < 0.4:
                characters.insert(at, rng.choice(pieces))
            elif kind < 0.7:
                del characters[at : at + rng.choice((1, 3, 40))]
            else:
                characters[at : at + 1] = rng.choice(text)
        data = bytearray("".join(characters).encode(rng.choice(("utf-8", "cp932", "euc_jp")), "replace"))
        if data and rng.random() < 0.2:
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            records = list(rng.choice((form, KI2)).read(io.BytesIO(bytes(data))))
        except DataError:
            continue
        for record in records:
            assert record.fault.isprintable()
            assert len(record.fault) < 500
            for form in WRITERS:
                assert form.write is not None
                again = read(form, form.write(record))
                assert (again.moves, again.root, again.fault) == (record.moves, record.root, "")
                assert form is USI or record.fault or again.result == record.result


def test_a_record_that_cannot_be_written_is_refused() -> None:
    for form in (CSA, KIF):
        assert form.write is not None
        with pytest.raises(PositionError, match="not legal"):
            form.write(Record.of_line(("7g7e",)))
        with pytest.raises(PositionError, match="9 ranks"):
            form.write(Record.of_line((), "nonsense b - 1"))

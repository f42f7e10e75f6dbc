"""What stands in SGF files beside the moves comes back; other servers' files are read."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.go.records import terms
from az_engine.engine.games.go.records.grammar import sgf_grammar
from az_engine.engine.games.go.records.mended import mended
from az_engine.engine.records.formats import format_named
from az_engine.engine.records.record import Record

GO = get_game("go")
SGF = format_named(GO.record_formats, "sgf")


def read(text: str, form: str = "sgf", encoding: str = "utf-8") -> Record:
    (record,) = format_named(GO.record_formats, form).read(io.BytesIO(text.encode(encoding)))
    record.source = form.upper()
    return record


def written(record: Record) -> str:
    assert SGF.write is not None
    return SGF.write(record)


@pytest.mark.parametrize(
    ("text", "root", "moves"),
    [
        ("(;SZ[13:9]KM[6.5];B[cc];W[kc])", "13/13/13/13/13/13/13/13/13 b - 6.5", ("C7", "L7")),
        ("(;SZ[9]KM[6,5];B[cc];W[gc])", "9/9/9/9/9/9/9/9/9 b - 6.5", ("C7", "G7")),
        ("(;SZ[9]HA[3]KM[0.5];W[gc];B[cc])", "9/9/9/9/9/9/9/9/9 w - 0.5", ("G7", "C7")),
        ("(;SZ[9]HA[3]KM[0.5])", "9/9/9/9/9/9/9/9/9 w - 0.5", ()),
        ("(;SZ[9]PL[white])", "9/9/9/9/9/9/9/9/9 w - 0", ()),
        ("(;SZ[9]AB[aa]PL[W])", "X8/9/9/9/9/9/9/9/9 w - 0", ()),
        ("(;SZ[9];B[cc]W[gc];B[gg])", "9/9/9/9/9/9/9/9/9 b - 0", ("C7", "G7", "G3")),
        ("(;SZ[9];B[cc][gg])", "9/9/9/9/9/9/9/9/9 b - 0", ("C7", "skip", "G3")),
        ("(;FF[3]SiZe[9];Black[cc];White[gc])", "9/9/9/9/9/9/9/9/9 b - 0", ("C7", "G7")),
    ],
)
def test_details(text: str, root: str, moves: tuple[str, ...]) -> None:
    record = read(text)
    assert record.fault == ""
    assert record.root is not None
    assert record.root.startswith(root)
    assert record.moves == moves
    assert read(written(record)).moves == moves
    assert "RU[" not in written(record), "no rules are added where there were none"


def test_nothing_is_lost() -> None:
    text = (
        "(;GM[1]FF[4]CA[UTF-8]SZ[9]KM[6.5]RU[Old Chinese]PB[a\\]b]PW[b]BR[3d]WR[9p]GN[x]RE[W+3.5]TM[1800]OT[5x30]"
        "C[start: a\\\\b\n2](;B[ee]BL[1790.5]C[one]TR[ee][cc]LB[aa:A]N[name];C[only a comment];W[cc]OB[5](;B[gg])"
        "(;B[cg]XX[private][two];AE[ee]AW[ff]PL[W];W[aa]))(;B[cc]GB[1](;W[aa])(;W[bb];W[dd])))"
    )
    record = read(text)
    assert record.fault == ""
    again = read(written(record))
    assert again == record
    assert (record.result, record.margin, record.reason) == (-1, 3.5, "")
    assert record.comments == ("start: a\\b\n2", "one\nonly a comment", "", "")
    kept = "BR[3d] WR[9p] GN[x] RE[W+3.5] TR[ee][cc] LB[aa:A] XX[private][two] OT[5x30] BL[1790.5] AE[ee] ;W[bb];W[dd]"
    for part in (*kept.split(), "RU[Old Chinese]"):
        assert part in written(record).replace("\n", ""), part


@pytest.mark.parametrize(
    "text",
    [
        "AB[ba][bb][bc]AW[ca][cb][cc](;W[aa];B[ab])(;W[ab];B[aa])",
        "(;W[aa](;B[ab])(;B[bb]))(;C[a remark](;W[ab];B[aa])(;W[cc]))(;W[dd])",
        ";B[aa];AW[cc](;W[dd])(;W[ee];B[ff])",
        ";B[cc];W[dd](;B[ee])(;PL[W]B[ff];W[gg];B[hh])",
        ";W[ab]B[ba];W[cc](;B[dd])(;B[ee])",
        "(;B[aa][bb];B[cc])(;W[dd]B[ee];W[ff])",
    ],
)
def test_colours_stay(text: str) -> None:
    text = f"(;GM[1]SZ[9]{text})"
    assert coloured(written(read(text))) == coloured(text)


def coloured(text: str) -> list[list[tuple[str, bytes]]]:
    """The moves with their colours from the root to each last node, by sgfmill alone."""
    results, waiting = [], [(sgf_grammar.parse_sgf_collection(text.encode())[0], list[tuple[str, bytes]]())]
    while waiting:
        tree, line = waiting.pop()
        moves: list[dict[str, list[bytes]]] = tree.sequence
        line = [*line, *((name, v) for node in moves for name in node if name in ("B", "W") for v in node[name])]
        results += [] if tree.children else [line]
        waiting += [(child, line) for child in tree.children]
    return results


@pytest.mark.parametrize("seed", range(100))
def test_colours_stay_in_random_trees(seed: int) -> None:
    rng = random.Random(seed)
    root = rng.choice(("", "", "B[aa]", "PL[W]B[aa]W[bb]", "W[aa]"))
    first = read(text := f"(;GM[1]SZ[9]{root}{''.join(_random_nodes(rng, 3))})")
    assert coloured(written(first)) == coloured(text)
    again = read(written(first))
    assert (again.moves, again.tree.children) == (first.moves, first.tree.children)


def _random_nodes(rng: random.Random, depth: int) -> Iterator[str]:
    """Moves in and out of turn, on stones too, with stones set up and PL between them; then variations."""
    weights: dict[str, Any] = {"B[{}]": 8, "W[{}]": 8, "C[x]": 2, "AB[{}]": 1, "AW[{}]": 1, "AE[{}]": 1, "PL[B]": 1}
    weights |= {"PL[W]": 1, "B[{}]PL[W]": 1, "PL[B]W[{}]": 1, "W[{}]B[]": 1}
    for kind in rng.choices([*weights], [*weights.values()], k=rng.randint(0 if depth == 3 else 1, 4)):
        yield ";" + kind.replace("{}", rng.choice("abcdefghi") + rng.choice("abcdefghi"))
    if depth:
        for _ in range(rng.choice((0, 2, 3))):
            yield f"({''.join(_random_nodes(rng, depth - 1))})"


def test_two_comments_of_a_node_and_escapes_in_a_file_of_two_charsets_stay() -> None:
    record = read("(;SZ[9];B[ee]C[one]C[two])")
    assert record.comments == ("", "one\ntwo")
    games = ("(;SZ[9]CA[GB2312]PB[柯洁]AP[a\\:柯:1];B[ee])".encode("gb18030"), "(;CA[UTF-8]PB[é];B[ee])".encode())
    first, _ = SGF.read(io.BytesIO(b"".join(games)))
    assert first.tree.more["AP"] == ("a\\:柯:1",)


def test_dates_of_our_own_are_written_as_the_format_has_them() -> None:
    ours = Record.of_line(("E5",), "9/9/9/9/9/9/9/9/9 b - 7 chinese")
    ours.headers["Date"] = "2026.11.29"
    assert "DT[2026-11-29]" in written(ours)
    assert "DT[2026.11.29]" in written(read("(;SZ[9]DT[2026.11.29];B[ee])")), "what a file says stays"


def test_a_damaged_main_line_keeps_the_rest() -> None:
    record = read("(;SZ[9];B[ee];W[ee]C[said](;B[cc])(;B[dd]))")
    assert (record.moves, record.fault) == (("E5",), "move 2 is illegal")
    assert "W[ee]" in written(record)
    assert "B[dd]" in written(record)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(;SZ[9];B[ee];W[zz];B[ee];W[cc])", "move 2 is no point of the board"),
        ("(;SZ[9];B[ee];AB[zz];W[cc];B[ee])", "stones are set up on what is no point of the board"),
        ("(;SZ[9];B[ee];AB[aa]AW[ab][ba];W[cc];B[ee])", "stones are set up without a liberty"),
    ],
)
def test_moves_behind_what_cannot_be_read_are_kept_but_are_no_moves_of_the_game(text: str, fault: str) -> None:
    record = read(text)
    assert (record.moves, record.fault) == (("E5",), fault)
    again = read(written(record))
    assert (again.moves, again.fault, written(again)) == (("E5",), fault, written(record))
    assert "B[ee]" in written(record)[20:]


LEFT_OUT = "line 1 holds what is no SGF, which is left out"


@pytest.mark.parametrize(
    ("text", "moves", "fault"),
    [
        ("(;SZ[9];B[ee]C[a ] b];W[cc])", ("E5", "C7"), LEFT_OUT),
        ("(;SZ[9];B[ee]KM;W[cc])", ("E5", "C7"), LEFT_OUT),
        ("(;SZ[9];B[ee]A1[x];W[cc])", ("E5", "C7"), LEFT_OUT),
        ("(;SZ[9];B[ee](;W[cc]);W[dd])", ("E5", "C7"), LEFT_OUT),
        ("(;SZ[9];B[ee]C[a ] b];W[ee])", ("E5",), f"move 2 is illegal; {LEFT_OUT}"),
        ("(;SZ[9];B[ee]()(;W[cc])())", ("E5", "C7"), ""),
        ("(;SZ[9];B[ee](W[cc]))", ("E5", "C7"), ""),
    ],
)
def test_what_is_no_sgf_costs_no_game(text: str, moves: tuple[str, ...], fault: str) -> None:
    record = read(text)
    assert (record.moves, record.fault) == (moves, fault)


def test_a_damaged_game_costs_no_other_one() -> None:
    text = "(;SZ[9]CA[GBK]C[好];B[ee])\nx (;SZ[9];B[cc]C[好 ] 好])\n(;SZ[9];B[gg](;W[gc]x y)(;W[cg])"
    first, second, third = SGF.read(io.BytesIO(text.encode("gb18030")))
    assert (first.moves, second.moves, third.moves) == (("E5",), ("C7",), ("G3", "G7"))
    assert (first.fault, second.fault, third.fault) == ("", LEFT_OUT.replace("1", "2"), LEFT_OUT.replace("1", "3"))
    assert (first.tree.comment, second.comments[1], len(third.tree.children[0].children)) == ("好", "好 ", 2)


def test_files_that_are_no_sgf_are_read_in_linear_time() -> None:
    begun = time.process_time()
    for part in (b"(", b"(;x", b"(;B[aa]x", b"(;a[", b"a", b"a ", b"[", b"\\", b"[a]", b"()", b"(;)x", b"A[b"):
        mended(b"(;SZ[9]" + part * 100_000)
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Chinese", "chinese"),
        ("中国规则", "chinese"),
        ("Japanese", "japanese"),
        ("日本囲碁規約", "japanese"),
        ("Korean", "japanese"),
        ("AGA", "aga"),
        ("NZ", "new-zealand"),
        ("GOE", "koPOSITIONALscoreAREAtaxNONEsui1fpok1"),
        ("Ing rules", "koPOSITIONALscoreAREAtaxNONEsui1fpok1"),
        ("koSIMPLEscoreTERRITORYtaxSEKIsui0", "japanese"),
        ("Tromp-Taylor", "tromp-taylor"),
        ("Old Chinese", ""),
        ("", ""),
    ],
)
def test_rules(text: str, name: str) -> None:
    assert terms.rules_of_text(text) == name


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("B+3.5", (1, "", 3.5)),
        ("w+r", (-1, "resignation", None)),
        ("B+Resign", (1, "resignation", None)),
        ("W+Time", (-1, "time", None)),
        ("Jigo", (0, "", None)),
        ("黑中盘胜", (1, "resignation", None)),
        ("白胜3.5目", (-1, "", 3.5)),
        ("흑 불계승", (1, "resignation", None)),
        ("白番時間切れ勝ち", (-1, "time", None)),
        ("黒3目半勝ち", (1, "", 3.5)),
        ("白6目半勝", (-1, "", 6.5)),
        ("백 3집반승", (-1, "", 3.5)),
        ("黑胜半目", (1, "", 0.5)),
        ("黒2 3/4目勝", (1, "", None)),
        ("B+2½", (1, "", 2.5)),
        ("B+1 1/2", (1, "", 1.5)),
        ("B+½", (1, "", 0.5)),
        ("W+2-3/4", (-1, "", None)),
        ("W+2¾", (-1, "", None)),
        ("B+" + "9" * 400, (1, "", None)),
        ("Void", (None, "no game", None)),
        ("?", (None, "", None)),
    ],
)
def test_results(text: str, result: tuple[int | None, str, float | None]) -> None:
    assert terms.result_of_text(text) == result


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        *(("6½", 6.5), ("6 1/2", 6.5), ("-½", -0.5), ("7目半", 7.5), ("6.5目", 6.5), ("3又3/4子", None)),
        *(("3.25", 6.5), ("-3.75", -7.5), ("7.25", None), ("7.3", None)),
    ],
)
def test_komi(text: str, komi: float | None) -> None:
    record = read(f"(;SZ[9]KM[{text}];B[ee])")
    assert record.headers.get("Komi") == (None if komi is None else f"{komi:g}")
    assert ("no number of half points and is read as 0" in record.note) == (komi is None)


def test_rules_that_are_not_known_are_told() -> None:
    told = "the rules 'mine' are not known and are read as Tromp-Taylor's"
    assert read("(;SZ[9]RU[mine];B[ee])").note == told
    assert read("(;SZ[9]RU[mine]KM[x];B[ee])").note.startswith(f"{told}; the komi 'x' is no number")
    assert not read("(;SZ[9]RU[Chinese];B[ee])").note
    assert not read("(;SZ[9];B[ee])").note


def test_another_game_is_refused_by_name() -> None:
    assert "a game of Othello" in read("(;GM[2]SZ[8];B[d3])").fault


GIB = """\\HS
\\[GAMEBLACKNAME=Black (5D)\\]
\\[GAMEWHITENAME=흰돌 (6D)\\]
\\[GAMEPLACE=타이젬 바둑에서 두었습니다\\]
\\[GAMEINFOMAIN=GBKIND:3,GTIME:1200-30-3,GRLT:1,ZIPSU:35,GONGJE:65,\\]
\\[GAMETAG=S1,R3,D5,G65,W1,Z35,T30-3-1200,C2024:05:06:07:08\\]
\\HE
\\GS
2 1 0
INI 0 1 0 &4
STO 0 2 1 15 3
STO 0 3 2 3 15
SKI 0 4 1
\\GE
"""


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
def test_gib(encoding: str) -> None:
    record = read(GIB, "gib", encoding)
    assert record.names == ("Black", "흰돌")
    assert record.moves == ("Q16", "D4", "pass")
    assert (record.result, record.margin, record.headers["Date"]) == (-1, 3.5, "2024-05-06")
    assert record.root is not None
    assert " 6.5 " in record.root
    assert "BR[5D]" in written(record)
    handicap = read(GIB.replace("INI 0 1 0", "INI 0 1 3"), "gib")
    assert (handicap.root or "").count("X") == 3


@pytest.mark.parametrize("line", ["STO 0 3 2 99 15", "STO 0 3 2 3", "STO 0 3 2 3 x"])
def test_a_move_of_gib_that_cannot_be_read_is_told(line: str) -> None:
    record = read(GIB.replace("STO 0 3 2 3 15", line), "gib")
    assert (record.moves, record.fault) == (("Q16",), "move 2 is no point of the board")


NGF = """Friendly game
19
whiteguy     3D
blackguy     2D
www.wbaduk.com
2
0
0
20240506 [10:20]
5
White wins by resign!
3
PMABWDP
PMACBQD
PMADWAA
"""


def test_ngf() -> None:
    record = read(NGF, "ngf")
    assert record.names == ("blackguy", "whiteguy")
    assert record.moves == ("C5", "Q17", "pass")
    assert (record.result, record.reason, record.headers["Date"]) == (-1, "resignation", "2024-05-06")
    assert (record.root or "").count("X") == 2


UGF = """[Header]
Lang=JPN
PlayerB=本因坊,9d,x
PlayerW=名人,8d,y
Size=19
Hdcp=0,6.50
Rules=JPN
Date=2024/05/06,2024/05/06
Winner=B,C
[Data]
PP,B1,1,30
DD,W1,2,30
[Figure]
.Text,1
良い手
.EndText
"""


@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
def test_ugf(encoding: str) -> None:
    record = read(UGF, "ugf", encoding)
    assert (record.names, record.moves) == (("本因坊", "名人"), ("Q16", "D4"))
    assert (record.result, record.reason, record.comments[1]) == (1, "resignation", "良い手")


def test_handicap_stones_of_ugf_stand_on_its_board() -> None:
    record = read("[Header]\nSize=13\nHdcp=2,0.50\n[Data]\nGG,W1,1,30\n", "ugf")
    assert (record.root or "").startswith("13/13/13/9X3/13/13/13/13/13/3X9/13/13/13 w - 0.5")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("HA[3]KM[0.5];W[gc];B[cc]", "the handicap is 3, but no stones are set up: the board begins empty"),
        ("HA[2];B[gc];W[cc]", "the handicap is 2, but no stones are set up: the board begins empty"),
        ("HA[2];B[gc];B[cc];W[ee]", ""),
        ("HA[2];AB[gc][cc];W[ee]", ""),
        ("HA[2]AB[gc][cc];W[ee]", ""),
        ("HA[1];B[ee]", ""),
        ("HA[0];B[ee]", ""),
        ("AB[cc:dd]AW[dd];B[gg]", "D6 is set up in two ways and is taken as white"),
        ("AB[cc][dd]AE[cc]PL[B];B[gg]", "C7 is set up in two ways and is taken as empty"),
        ("AB[cc][dd];AE[cc]AW[dd];B[gg]", ""),
    ],
)
def test_set_ups_that_say_too_little_or_too_much_are_told(text: str, note: str) -> None:
    record = read(f"(;SZ[9]{text})")
    assert (record.note, record.fault) == (note, "")


def test_the_first_position_of_the_file_has_the_last_word_on_a_point() -> None:
    assert (read("(;SZ[9]AB[aa][ab]AW[aa])").root or "").startswith("O8/X8/")


def test_a_komi_that_nobody_said_is_told_where_positions_are_judged() -> None:
    told = "the file says no komi and is judged at 0; for another add KM[6.5]"
    assert [read(f"(;SZ[9]{text};B[ee])").assumed for text in ("", "KM[]", "KM[0]", "KM[x]")] == [told, told, "", ""]

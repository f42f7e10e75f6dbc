"""``az-engine play``: games by lines of input, and moves as people type them."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import chess
import pytest

import az_engine as az
from az_engine.cli import main
from az_engine.engine.errors import AzError, IllegalMoveError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import read_games
from az_engine.terminal.command import language_of, load
from az_engine.terminal.game import TerminalGame, sides_of

from ..games import DIRECTORY  # noqa: F401 - registers its games


def played(
    game: str,
    side: str,
    lines: Iterable[str],
    *,
    words: bool = False,
    language: str = "en",
    net: str = "uniform",
    **start: Any,
) -> tuple[int, str]:
    out = io.StringIO()
    rules = get_game(game)
    with az.Engine(game, net, threads=1, hash_mb=16) as engine:
        root, sides, limits = az.Position(game, **start), sides_of(rules, side), az.Limits(nodes=20)
        table = TerminalGame(rules, engine, root, sides, limits, words=words, language=language)
        return table.run(lines, out), out.getvalue()


def test_a_game_of_chess_to_the_mate() -> None:
    status, said = played("chess", "both", ["f3", "e5", "g4", "Qh4#", "a3", "quit"])
    assert status == 0
    assert "Black wins." in said
    assert "the game is over: type new, undo or quit" in said
    assert said.endswith("4 moves: f3 e5 g4 Qh4#\n")


def test_no_visits_are_refused_as_they_were_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--visits", "0"]) == 2
    assert capsys.readouterr().err == "az-engine: --visits must be 1 or more, not 0\n"


def test_the_engine_answers_and_undo_takes_both_moves_back() -> None:
    status, said = played("chess", "white", ["e4", "undo", "record", "d4", "swap"])
    assert status == 0
    assert len(re.findall(r"Black plays \S+\. Expects win", said)) == 2
    assert "took back 2 of 2 moves" in said
    assert "no moves yet" in said
    assert re.search(r"you play Black\nWhite plays", said)
    assert said.splitlines()[-1].startswith("3 moves: d4 ")


def test_a_bad_move_gets_one_sentence_and_loses_nothing() -> None:
    start = "4k3/8/8/8/8/8/8/RN2KN2 w - - 0 1"
    _, said = played("chess", "both", ["Ke3", "what?", "--", "Nd2", "Nbd2"], text=start)
    assert "'Ke3' is not a legal move here; type moves" in said
    assert "'what' is no move; write it as Nf3 or g1f3;" in said
    assert "'--' is no move; write it as Nf3 or g1f3;" in said
    assert "several pieces can play 'Nd2'; say which" in said
    assert said.endswith("1 move: Nbd2\n")


def test_a_bad_move_of_shogi_is_named_as_it_was_typed() -> None:
    _, said = played("shogi", "both", ["G-5h", "58金", "5五金", "G-5e", "P-7e"])
    for typed in ("G-5h", "58金"):
        assert f"several pieces can play '{typed}'; say which, as in 5八金右 or 4i5h; type moves" in said
    for typed in ("5五金", "G-5e", "P-7e"):
        assert f"'{typed}' is not a legal move here; type moves" in said
    _, said = played("shogi", "both", ["58金"], language="ja")
    assert "'58金'を指せる駒が複数あります" in said


def test_commands_of_a_game() -> None:
    _, said = played("chess", "white", ["help", "hint", "moves", "resign", "hint", "new", "undo"])
    for command in ("board", "hint", "undo", "swap", "resign", "quit"):
        assert re.search(rf"^{command}: ", said, re.MULTILINE)
    assert "Na3 Nc3 Nf3 Nh3" in said
    assert "White resigns." in said
    assert "there is nothing to take back" in said


def test_undo_of_a_resignation_takes_back_no_move() -> None:
    _, said = played("chess", "white", ["undo", "resign", "undo", "e4", "resign", "undo", "undo", "quit"])
    assert said.count("the game goes on") == 2
    assert said.count("took back") == 1
    assert said.endswith("no moves yet\n")


def test_one_move_is_no_moves() -> None:
    _, said = played("go5", "both", ["C3", "undo", "pass", "pass"], komi=1)
    assert "took back 1 of 1 move\n" in said
    assert "White wins by 1 point.\n" in said


@pytest.mark.parametrize(
    ("game", "moves", "written"),
    [
        ("chess", ["f3", "Zz9", "Ke5", "e5", "g4", "Qh4#", "a3"], "f3 e5 g4 Qh4#"),
        ("shogi", ["7g7f", "9z", "5i5e", "3c3d", "resign", "declare"], "▲７六歩 △３四歩"),
        ("go5", ["C3", "Z9", "C3", "pass", "pass"], "C3 pass pass"),
    ],
)
def test_a_game_in_japanese(game: str, moves: list[str], written: str) -> None:
    """Nothing is English but moves, commands and the board."""
    words = ["help", "undo", *moves, "moves", "hint", "save", "record", "new", "moves", "undo", "hint", "quit"]
    _, said = played(game, "both", words, language="ja")
    assert f"手：{written}\n" in said  # noqa: RUF001
    commands = "help board words moves record save hint undo swap resign new quit declare game"
    known = "|".join([*commands.split(), "[a-h][1-8][a-h][1-8]", "e7e8q", "UCI|USI", "pgn|csa|kif|sgf", "pass"])
    english = [line for line in said.splitlines() if re.search(r"[A-Za-z]{3,}", re.sub(rf"\b({known})\b", "", line))]
    assert [line for line in english if re.search("[ぁ-ん。]", line) or re.search("[a-z]{3,} [a-z]{2,}", line)] == []


def test_the_engine_s_moves_and_the_board_in_japanese() -> None:
    said = played("shogi", "first", ["7g7f", "words", "quit"], language="ja")[1]
    assert "後手、△" in said
    assert "先手：玉 5九, 飛車 2八, " in said  # noqa: RUF001
    assert not re.search("White|Black|king", said)
    traded = "7g7f 3c3d 8h2b+ 3a2b board".split()
    assert "先手の持ち駒：B\n" in played("shogi", "both", traded, language="ja")[1]  # noqa: RUF001
    assert "白、" in played("chess", "black", ["quit"], language="ja")[1]
    assert "黒：盤上になし。" in played("go5", "both", ["words"], language="ja")[1]  # noqa: RUF001


def test_the_language_of_a_terminal() -> None:
    assert language_of({}) == "en"
    assert language_of({"LANG": "ja_JP.UTF-8"}) == "ja"
    assert language_of({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}) == "en"
    assert language_of({"LANG": "de_DE.UTF-8"}) == "en"


def test_moves_as_they_stand_in_records() -> None:
    _, said = played("chess", "both", ["1. e4!", "1... e5", "2.Nf3?!", "quit"])
    assert said.endswith("3 moves: e4 e5 Nf3\n")
    assert played("shogi", "both", ["▲７六歩", "☖３四歩(33)", "quit"])[1].endswith("2 moves: 7g7f 3c3d\n")


@pytest.mark.parametrize(
    ("game", "moves", "name"),
    [("chess", ["e4", "e5"], "a.pgn"), ("shogi", ["7g7f", "3c3d"], "a.kif"), ("go9", ["D4", "E5"], "a.sgf")],
)
def test_a_game_is_saved(
    game: str, moves: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, said = played(game, "both", [*moves, "save", f"save {name}", "save some.doc", f"save no/such{name}", "resign"])
    assert "there is no folder" in said
    assert f"give it a name, as in: save game{get_game(game).record_formats[0].suffixes[0]}" in said
    assert f"written: {name}" in said
    assert "is no format for games of this kind" in said
    assert len(az.Position.load(name).moves) == 2
    _, said = played(game, "both", [*moves, "resign", f"save other{name}", "quit"])
    [record] = read_games(get_game(game).record_formats, Path(f"other{name}"))
    assert record.result == -1
    assert record.names == ("Human", "Human")
    assert re.fullmatch(r"20\d\d\D\d\d\D\d\d", record.headers["Date"])
    played(game, "second", ["save mine.csa" if game == "shogi" else f"save mine{name}", "quit"])
    [path] = Path().glob("mine*")
    [record] = read_games(get_game(game).record_formats, path)
    assert record.names == ("az-engine", "Human")


def test_a_file_of_others_is_not_saved_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "keep.pgn").write_text("mine")
    _, said = played("chess", "both", ["e4", "save ~/keep.pgn", "save ~/b.pgn", "e5", "save ~/b.pgn"])
    assert "~/keep.pgn is there already; name another file\n" in said
    assert (tmp_path / "keep.pgn").read_text() == "mine"
    assert said.count("written: ~/b.pgn") == 2
    assert len(az.Position.load(tmp_path / "b.pgn").moves) == 2


def test_the_board_marks_the_last_move_and_draws_pieces() -> None:
    chess_board = az.Position("chess", moves=["e2e4"])
    assert chess_board.drawn().splitlines()[4] == "4 . . . .(P). . ."
    assert chess_board.drawn(pictures=True).splitlines()[4] == "4 . . . .(♙). . ."
    assert chess_board.drawn(pictures=True).splitlines()[0] == "8 ♜ ♞ ♝ ♛ ♚ ♝ ♞ ♜"
    shogi = az.Position("shogi", moves=["7g7f"]).drawn(pictures=True).splitlines()
    assert shogi[0] == "a v香 v桂 v銀 v金 v玉 v金 v銀 v桂 v香"
    assert shogi[5] == "f  ・  ・( 歩) ・  ・  ・  ・  ・  ・"
    go = az.Position("go9", moves=["E5", "C3"]).drawn().splitlines()
    assert (go[4], go[6]) == ("5 . . . . X . . . .", "3 . .(O). . . + . .")
    assert az.Position("go19").drawn().splitlines()[3] == "16 . . . + . . . . . + . . . . . + . . ."
    assert str(az.Position("chess")).splitlines()[0] == "8 r n b q k b n r"


def test_words_draw_nothing() -> None:
    _, said = played("chess", "white", ["e4", "board"], words=True)
    assert "White: king e1, queen d1, rook a1 h1" in said
    assert "pawn e4 a2 b2 c2 d2 f2 g2 h2." in said
    assert " . . " not in said
    assert "\x1b" not in said


def test_ctrl_c_ends_the_game_with_its_moves() -> None:
    def lines() -> Iterator[str]:
        yield "d4"
        raise KeyboardInterrupt

    status, said = played("chess", "both", lines())
    assert (status, said.splitlines()[-1]) == (130, "1 move: d4")


def test_go_with_a_handicap() -> None:
    status, said = played("go9", "both", ["d4", "PASS", "pass", "board"], handicap=2)
    assert status == 0
    assert said.count("X") >= 2
    assert "White to move> " in said
    assert "wins by" in said


@pytest.mark.parametrize(
    ("rules", "said", "result", "dead"),
    [
        ("japanese", "White wins by 15 points.", "W+15", True),
        ("chinese", "White wins by 16 points.", "W+16", True),
        ("tromp-taylor", "White wins by 44 points.", "W+44", False),
    ],
)
def test_go_is_counted_as_its_rules_want(
    rules: str, said: str, result: str, dead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two walls, and a stone of White's that is dead in Black's half; the record has the same count."""
    monkeypatch.chdir(tmp_path)
    walls = [f"{column}{row}" for row in range(1, 10) for column in "DE"]
    lines = [*walls, "pass", "B5", "pass", "pass", "save a.sgf", "undo", "undo", "resign", "save b.sgf", "quit"]
    _, printed = played("go9", "both", lines, net="default", rules=rules)
    assert said in printed
    assert ("Taken off as dead: B5." in printed) == dead
    assert f"RE[{result}]" in Path("a.sgf").read_text()
    assert "RE[W+R]" in Path("b.sgf").read_text()


def test_a_drawn_game_of_go_is_saved_as_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, printed = played("go9", "both", ["pass", "pass", "save a.sgf", "quit"], komi=0.0)
    assert "A draw." in printed
    assert "RE[0]" in Path("a.sgf").read_text()
    _, printed = played("go9", "both", ["pass", "pass", "save b.sgf", "quit"], komi=1.5)
    assert "White wins by 1.5 points." in printed
    assert "RE[W+1.5]" in Path("b.sgf").read_text()


def test_a_handicap_beyond_the_board_is_one_sentence() -> None:
    with pytest.raises(AzError, match="takes a handicap of 2 to 9 stones, not 12"):
        az.Position("go9", handicap=12)


def test_a_game_from_elsewhere() -> None:
    _, said = played("tictactoe", "first", ["resign"])
    assert "First resigns." in said


def test_the_engine_against_itself() -> None:
    status, said = played("tictactoe", "none", [])
    assert status == 0
    assert re.search(r"(A draw|wins)\.", said)


@pytest.mark.parametrize("typed", ["7g7f", "7G7F", "7六歩", "７六歩(77)", "76歩", "P-7f", "p-76"])
def test_shogi_moves_as_people_type_them(typed: str) -> None:
    assert az.Position("shogi").read(typed) == "7g7f"


def test_shogi_captures_promotions_and_drops() -> None:
    position = az.Position("shogi", moves=["7g7f", "3c3d"])
    assert {position.read(text) for text in ("Bx2b+", "2二角成", "8h2b+")} == {"8h2b+"}
    taken = position.play("8h2b+")
    assert {taken.read(text) for text in ("同銀", "Sx2b", "3a2b")} == {"3a2b"}
    held = taken.play("3a2b")
    assert {held.read(text) for text in ("5五角打", "B*5e", "55角")} == {"B*5e"}
    for text in ("+G5e", "5五飛打", "同", "+K2b"):
        with pytest.raises(IllegalMoveError):
            held.read(text)


def test_every_legal_chess_move_is_read_as_it_is_written() -> None:
    for fen in (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    ):
        position, board = az.Position("chess", fen), chess.Board(fen)
        assert {position.notation(move) for move in position.legal_moves} == {board.san(m) for m in board.legal_moves}
        assert all(position.read(position.notation(move)) == move for move in position.legal_moves)


@pytest.mark.parametrize(("typed", "move"), [("nf3", "g1f3"), ("NF3", "g1f3"), ("0-0", "e1g1"), ("o-o", "e1g1")])
def test_lazy_spellings(typed: str, move: str) -> None:
    men = "4K1NR" if move == "g1f3" else "4K2R"
    assert az.Position("chess", f"4k3/8/8/8/8/8/8/{men} w K - 0 1").read(typed) == move


@pytest.mark.parametrize("game", ["chess", "shogi", "go9"])
def test_words_name_every_piece(game: str) -> None:
    position = az.Position(game, moves=["E5"] if game == "go9" else [])
    squares = re.findall(r"\b(?:[a-h][1-8]|[1-9][a-i]|[A-J][1-9])\b", position.words)
    assert len(squares) == {"chess": 32, "shogi": 40, "go9": 1}[game]


@pytest.mark.slow
def test_by_a_pipe() -> None:
    command = [sys.executable, "-m", "az_engine", "play", "--net", "uniform", "--visits", "10", "--words"]
    done = subprocess.run(command, input="e4\r\n\xff\n".encode("latin-1"), capture_output=True, check=True)
    assert done.stderr == b""
    assert b"Black plays " in done.stdout
    assert b"is no move" in done.stdout
    wrong = subprocess.run([*command, "--side", "left"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("az-engine: there is no side 'left'; choose among white, black, first")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--net missing.onnx", "cannot read the net 'missing.onnx': there is no such file"),
        ("--net missing.pb.gz", "cannot read the net 'missing.pb.gz': there is no such file"),
        ("--net .", "'.' is no folder of a self-play run"),
        ("--net game.pgn", "'game.pgn': this is not an ONNX file or it is damaged"),
        ("--net chess-conv --game shogi", "the net 'chess-conv' plays chess, not shogi; give a net for shogi"),
        ("--game go --size 5", "this net plays on 7x7 to 19x19, not on 5x5"),
        ("--game go --net chess-conv", "the net 'chess-conv' plays chess, not go; give a net for go"),
        ("--game go --size 25", "this net plays on 7x7 to 19x19, not on 25x25"),
        ("--game go --size 25 --net go-stones", "this net plays on 7x7 to 19x19, not on 25x25"),
    ],
)
def test_a_net_that_cannot_play_ends_it_before_the_board(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.pgn").write_text("1. e4 *\n")
    assert main(["play", *words.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"az-engine: {said}")
    assert printed.err.count("\n") == 1


def test_a_size_that_is_no_number_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for command, size, said in (
        (["play"], "9x", "'9x' is no size of a board; give its lines, for example 9, or 9x13"),
        (["match", "-B", "uniform"], "9x13", "'9x13' is no size of a square board; give its lines, for example 9"),
    ):
        with pytest.raises(SystemExit):
            main([*command, "--game", "go", "--size", size])
        assert said in capsys.readouterr().err


def test_a_board_may_have_more_rows_than_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("J13\nquit\n"))
    assert main(["play", "--game", "go", "--size", "9x13", "--net", "uniform", "--visits", "2", "--letters"]) == 0
    board = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert [len(board), board[0][:2], board[-1].split()] == [14, "13", [*"ABCDEFGHJ"]]


class _Slow:
    """An engine that is compiled for the first time."""

    def load(self, tell: Callable[[str], None]) -> None:
        for text in (
            "compiling for this machine, once: kernel 1 of 14, about 16 s left",
            "compiling for this machine, once: kernel 2 of 14, about 15 s left",
            "converting a: b",
        ):
            tell(text)
        raise AzError("the first search says it")


def test_the_first_start_says_once_that_it_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    load(cast(az.Engine, _Slow()))
    first, second = capsys.readouterr().err.split("\naz-engine: ")[1:]
    assert first == "compiling for this machine, once: kernel 1 of 14, about 16 s left; you can move meanwhile\n"
    assert second == "converting a: b\n"

"""Where games begin: suites and files of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from az_engine.bench.match.arbiter import new_arbiter
from az_engine.bench.match.openings import choose_openings, suite
from az_engine.engine.errors import DataError, OptionError

from .events import go_start


@pytest.mark.parametrize(("game", "count"), [("chess", 12), ("shogi", 2)])
def test_the_papers_openings(game: str, count: int) -> None:
    openings = choose_openings("paper", game, count, 0)
    assert len({opening.moves for opening in openings}) == len(suite("paper", game)) == count
    for opening in openings:
        arbiter = new_arbiter(game)
        for move in opening.moves:
            arbiter.push(move)
    with pytest.raises(OptionError, match="no 'paper' of openings for go9"):
        choose_openings("paper", "go9", 1, 0)


def one(path: Path, game: str, text: str, suffix: str = "", **more: Any) -> tuple[str, str | None, tuple[str, ...]]:
    path.write_text(text)
    opening = choose_openings(f"{path}{suffix}", game, 1, 0, **more)[0]
    return opening.name, opening.root, opening.moves


def test_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = '[Event "x"]\n[Opening "Mine"]\n\n1. e4 e5 2. Nf3 Nc6 *\n'
    assert one(tmp_path / "a.pgn", "chess", game) == ("Mine", None, ("e2e4", "e7e5", "g1f3", "b8c6"))
    assert one(tmp_path / "a.pgn", "chess", game, ":2") == ("Mine", None, ("e2e4", "e7e5"))
    bad = game.replace("Nc6", "Nd4")
    assert one(tmp_path / "a.pgn", "chess", bad, ":3")[2] == ("e2e4", "e7e5", "g1f3")
    with pytest.raises(DataError, match="game 1"):
        one(tmp_path / "a.pgn", "chess", bad)
    name, root, moves = one(tmp_path / "a.sgf", "go9", "(;GM[1]SZ[9]KM[6.5];B[ee];W[cc];B[gg])", ":2")
    assert (name, moves) == ("a.sgf game 1", ("E5", "C7"))
    assert root is not None
    assert " 6.5 " in root
    over = "1. f3 e5 2. g4 Qh4# 0-1\n\n"
    assert one(tmp_path / "a.pgn", "chess", over + game)[0] == "Mine", "a finished game is skipped"
    assert capsys.readouterr().err == "a.pgn game 1: the game is already over there; it is skipped\n"
    with pytest.raises(DataError, match="holds no opening"):
        one(tmp_path / "a.pgn", "chess", over)


def test_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    epd = 'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - bm Nf3; id "King\'s Pawn";\n'
    fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    assert one(tmp_path / "a.epd", "chess", epd) == ("King's Pawn", fen.replace("0 2", "0 1"), ())
    assert one(tmp_path / "a.fen", "chess", fen) == ("a.fen line 1", fen, ())
    assert one(tmp_path / "a.txt", "chess", f"position fen {fen} moves g1f3\n")[1:] == (fen, ("g1f3",))
    assert one(tmp_path / "a.sfen", "shogi", "startpos moves 7g7f 3c3d\n")[1:] == (None, ("7g7f", "3c3d"))
    sfen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    assert one(tmp_path / "a.sfen", "shogi", f"sfen {sfen}\n")[1:] == (sfen, ())
    start = go_start(9)
    assert one(tmp_path / "a.txt", "go9", "E5 C3\n", start=start)[1:] == (start, ("E5", "C3"))
    assert one(tmp_path / "a.epd", "chess", epd.replace("RNBQKBNR", "RNBQKBNX") + epd)[0] == "King's Pawn"
    assert "a.epd, line 1: 'X' in the FEN's board is neither" in capsys.readouterr().err
    counts = epd.replace("bm Nf3;", "hmvc 4; fmvn 7;")
    assert one(tmp_path / "b.epd", "chess", counts)[1] == fen.replace("0 2", "4 7")
    with pytest.raises(OptionError, match="no file of openings"):
        choose_openings(str(tmp_path / "none.pgn"), "chess", 1, 0)

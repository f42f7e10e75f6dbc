"""What people ask by hand: ``d``, ``eval`` and ``help``, in UCI and USI."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..talk import Talk, UsiTalk

CHESS_BOARD = """\
8 r n b q k b n r
7 p p p p p p p p
6 . . . . . . . .
5 . . . . . . . .
4 . . . . P . . .
3 . . . . . . . .
2 P P P P . P P P
1 R N B Q K B N R
  a b c d e f g h"""


def block(talk: Talk | UsiTalk, command: str, last: str) -> list[str]:
    talk.send(command)
    return talk.until(last)


def test_the_board_of_chess() -> None:
    with Talk() as talk:
        talk.send("position startpos moves e2e4")
        lines = block(talk, "d", "Fen: .*")
        assert lines[-11:-2] == CHESS_BOARD.split("\n")
        assert lines[-1] == "Fen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


def test_the_board_of_shogi() -> None:
    with UsiTalk() as talk:
        lines = block(talk, "d", "Sfen: .*")
        assert lines[-1] == "Sfen: lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
        assert sum(line.count("P") for line in lines[1:-2]) == 9


def test_side_and_moves_of_shogi() -> None:
    with UsiTalk() as talk:
        assert block(talk, "side", "black|white")[-1] == "black"
        talk.send("position startpos moves 7g7f")
        assert block(talk, "side", "black|white")[-1] == "white"
        moves = block(talk, "moves", r"\w+( \w+)*")[-1].split()
        assert len(moves) == 30
        assert "3c3d" in moves


def test_the_opinion_of_the_net() -> None:
    with Talk() as talk:
        talk.send("position startpos moves f2f3 e7e5 g2g4")
        lines = block(talk, "eval", "expected points .*")
        assert lines[-1] == "expected points of the side to move: 0.500 of 1"
        moves = [talk.line() for _ in range(10)]
        assert all(line is not None and line.endswith("3.3 %") for line in moves)
        talk.send("position startpos moves f2f3 e7e5 g2g4 d8h4", "eval")
        talk.until("there is no legal move: the rules tell the result")


def test_no_position_is_said() -> None:
    with Talk() as talk:
        talk.send("position fen 8/8/8/8/8/8/8/8 w - - 0 1")
        talk.until("info string .*")
        for command in ("d", "eval"):
            assert block(talk, command, "info string .*")[-1].startswith("info string no position: ")


def test_the_commands() -> None:
    with Talk() as talk, UsiTalk() as shogi:
        lines = block(talk, "help", "quit .*")
        assert "position fen <FEN> moves" in lines[0]
        assert "position sfen <SFEN> moves" in block(shogi, "help", "quit .*")[0]
        assert {line.split()[0] for line in lines} <= set(talk.session.commands)


def test_kernels_that_only_some_commands_need_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Callable[[str], None]] = []
    monkeypatch.setattr("az_engine.engine.kernels.cache.on_compile", told.append)
    with Talk() as talk:
        for i, (command, last) in enumerate((("eval", "expected points .*"), ("go mate 2", "bestmove .*"))):
            talk.send("position startpos")
            block(talk, command, last)
            if command == "eval":
                for _ in range(10):  # its moves
                    talk.line()
            told[i]("_encode")
            assert talk.line() == "info string compiling for this machine, once: encode"

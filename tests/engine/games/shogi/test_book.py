"""Books of YaneuraOu and Apery, the keys checked against cshogi's."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.book import BookMove
from az_engine.engine.games.shogi import book

GAME = get_game("shogi")
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
HEAD = "#YANEURAOU-DB2016 1.00\n"

CSHOGI_KEYS = {  # Board.book_key() of cshogi 1.1.0
    START: 0xEEBE8EE7E1AD7E15,
    "lng2g1nl/3k3b1/rsp1psp1p/pp1p5/3P1p1p1/PPP5P/4PPPP1/1B2RG1S1/LNSGK2NL w - 32": 0xA033C9F774CEE131,
    "1ng2g1nb/1P2k4/l1p1b3l/Lp1Pp1s1p/PsP6/4PpppP/5PPPL/p2GRGRS1/1NS3KN1 w P 72": 0x8D8EF9DA3B15C24D,
    "1ng1bg2b/LP1pk4/2p4pl/1pPPp1s1p/3L2PP1/1n2PG2P/1l2rPS+pn/p1+s3R2/S4GKN1 w Pp 112": 0xE60C94458EEF52CB,
    "s3+Lg3/Lg1p5/n1P1bk2l/1p1LpbPpp/2p3pP1/1n2Ps2P/PS3P+p1N/p2G2R1g/1P+s2KR2 w Pn 152": 0x48C0B0F7572D9BFB,
}


@pytest.mark.parametrize("sfen", CSHOGI_KEYS)
def test_keys_of_apery(sfen: str) -> None:
    assert book.apery_key(GAME.parse_position(sfen)[0][-1]) == CSHOGI_KEYS[sfen]


def test_an_apery_book(tmp_path: Path) -> None:
    line = GAME.initial()
    moves = {text: GAME.parse_move(line, text) for text in ("7g7f", "2g2f")}
    rows = [(CSHOGI_KEYS[START], moves["7g7f"], 7, 40), (CSHOGI_KEYS[START], moves["2g2f"], 3, 35), (5, 90, 1, 0)]
    rows += [(CSHOGI_KEYS[START], 0xFFFF, 9, 0)]  # no square
    path = tmp_path / "book.bin"
    path.write_bytes(np.sort(np.array(rows, book.ENTRY), order="key", kind="stable").tobytes())
    opened = book.open_book(path)
    assert sorted(opened.find(line[-1])) == [BookMove("2g2f", 3), BookMove("7g7f", 7)]
    assert opened.find(GAME.play(line, moves["7g7f"])[-1]) == []


def test_a_yaneuraou_book_keeps_what_is_nearly_best(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    text = f"{HEAD}# a remark\nsfen {START}\n7g7f 3c3d 50 30 4\n# why\n2g2f none 21 30\n9g9f none 19 30 9\nsfen other\n"
    for ending in ("\n", "\r\n"):
        path.write_bytes(text.replace("\n", ending).encode())
        found = book.open_book(path).find(GAME.initial()[-1])
        assert found == [BookMove("7g7f", 4), BookMove("2g2f", 1)]


def test_a_position_stored_from_the_other_side(tmp_path: Path) -> None:
    """Random positions, held in the book as the other side sees them: the same moves come out."""
    source = random.Random(3)
    for _ in range(30):
        line = GAME.initial()
        for _ in range(source.randrange(80)):
            legal = GAME.legal_moves(line)
            if not len(legal):
                break
            line = GAME.play(line, int(source.choice(legal)))
        legal = GAME.legal_moves(line)
        if not len(legal):
            continue
        board, side, hands, _ = GAME.format_position(line[-1]).split()
        rows = board.replace("+", "^").split("/")[::-1]  # by squares, the slow way
        turned_rows = []
        for row in rows:
            men: list[str] = []
            for letter in row:
                if men and men[-1] == "^":
                    men[-1] = "+" + letter
                else:
                    men.append(letter)
            turned_rows.append("".join(reversed(men)).swapcase())
        blacks = [piece for piece in _counted(hands) if piece[-1].isupper()]
        whites = [piece for piece in _counted(hands) if piece[-1].islower()]
        turned_hands = "".join(whites + blacks).swapcase() or "-"
        moves = [GAME.format_move(line[-1], int(move)) for move in legal[:5]]
        path = tmp_path / "turned.db"
        lines = [f"{_turned(move)} none 0 1 1" for move in moves]
        position = f"{'/'.join(turned_rows)} {'w' if side == 'b' else 'b'} {turned_hands} 9"
        path.write_text(f"{HEAD}sfen {position}\n" + "\n".join(lines) + "\n")
        assert [each.move for each in book.open_book(path).find(line[-1])] == moves, position


def _counted(hands: str) -> list[str]:
    pieces, number = [], ""
    for letter in hands.replace("-", ""):
        if letter.isdigit():
            number += letter
        else:
            pieces.append(number + letter)
            number = ""
    return pieces


def _turned(move: str) -> str:
    def square(text: str) -> str:
        return str(10 - int(text[0])) + "ihgfedcba"["abcdefghi".index(text[1])]

    if move[1] == "*":
        return move[:2] + square(move[2:])
    return square(move[:2]) + square(move[2:4]) + move[4:]


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 17])
def test_files_that_are_no_books(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "book.bin"
    path.write_bytes(content)
    with pytest.raises(OptionError, match="neither a YaneuraOu book"):
        book.open_book(path)


def test_noise_is_read_without_a_fault(tmp_path: Path) -> None:
    source = random.Random(1)
    path = tmp_path / "book.db"
    for _ in range(50):
        path.write_bytes(f"{HEAD}sfen {START}\n".encode() + source.randbytes(300))
        book.open_book(path).find(GAME.initial()[-1])
        path.write_bytes(source.randbytes(16 * 40))
        book.open_book(path).find(GAME.initial()[-1])

"""FEN and UCI moves, in and out: what is read, what is mended with a note, what is refused."""

from __future__ import annotations

import itertools
import random

import chess
import pytest

from az_engine.engine.errors import IllegalMoveError, PositionError

from .agreement import CHESS960, GAME, internal, random_positions

START = chess.STARTING_FEN


def test_round_trips() -> None:
    for match in itertools.islice(random_positions(random.Random(4)), 800):
        fen = GAME.format_position(match.line[-1])
        line, notes = (CHESS960 if match.board.chess960 else GAME).parse_position(fen)
        assert notes == []
        assert GAME.format_position(line[-1]) == fen == match.board.fen()


@pytest.mark.parametrize(
    ("text", "fen"),
    [
        ("  rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR\t w   KQkq -  0 1 ", START),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 0", START),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w qkQK - 0 1", START),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1", START),
        ("rnbqkbnr/pppp1ppp/8/3Pp3/8/8/PPP1PPPP/RNBQKBNR w KQkq e6 0 3",) * 2,
    ],
)
def test_accepted_without_notes(text: str, fen: str) -> None:
    line, notes = GAME.parse_position(text)
    assert notes == []
    assert GAME.format_position(line[-1]) == fen


@pytest.mark.parametrize(
    ("given", "castling", "added"),
    [
        (2, "-", "castling rights -, en-passant square -, half-move clock 0, move number 1"),
        (3, "KQkq", "en-passant square -, half-move clock 0, move number 1"),
        (4, "KQkq", "half-move clock 0, move number 1"),
        (5, "KQkq", "move number 1"),
    ],
)
def test_completed_with_a_note(given: int, castling: str, added: str) -> None:
    line, notes = GAME.parse_position(" ".join(START.split()[:given]))
    assert notes == [f"the FEN is completed: {added}"]
    assert GAME.format_position(line[-1]) == START.replace("KQkq", castling)


@pytest.mark.parametrize(
    ("text", "fen", "dropped"),
    [
        # an en-passant square nobody can take on: no pawn beside it, pinned, wrong rank, no pawn that passed
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", "b KQkq - 0 1", "e3"),
        ("8/8/8/K2pP2q/8/8/8/7k w - d6 0 1", "w - - 0 1", "d6"),
        ("4k3/8/8/8/4Pp2/8/8/4K3 b - e4 0 1", "b - - 0 1", "e4"),
        ("4k3/8/8/8/5p2/8/8/4K3 b - e3 0 1", "b - - 0 1", "e3"),
        ("4k3/8/8/4pP2/8/8/8/4K3 b - e6 0 1", "b - - 0 1", "e6"),
        ("4k3/8/4n3/4pP2/8/8/8/4K3 w - e6 0 1", "w - - 0 1", "e6"),
        ("4k3/4n3/8/4pP2/8/8/8/4K3 w - e6 0 1", "w - - 0 1", "e6"),
        # castling without king or rook in place
        ("4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1", "w K - 0 1", "Q"),
        ("4k3/8/8/8/8/8/8/3K3R w K - 0 1", "w - - 0 1", "K"),
        ("r3k3/8/8/8/4K3/8/8/R6R b KQq - 0 1", "b q - 0 1", "K"),
    ],
)
def test_mended_with_a_note(text: str, fen: str, dropped: str) -> None:
    line, notes = GAME.parse_position(text)
    assert GAME.format_position(line[-1]).split(" ", 1)[1] == fen
    assert any(dropped in note and "dropped" in note for note in notes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "8/8/8/8/8/8/8/8 w - - 0 1",  # no kings
        "4k3/8/8/8/8/8/8/8 w - - 0 1",
        "4k3/8/8/8/8/8/8/3KK3 w - - 0 1",  # two
        "P3k3/8/8/8/8/8/8/4K3 w - - 0 1",  # pawns where none can stand
        "4k3/8/8/8/8/8/8/p3K3 w - - 0 1",
        "4k3/8/8/8/8/PPPPPPPP/P7/4K3 w - - 0 1",  # nine pawns
        "4k3/8/8/8/8/8/PPPPPPPP/QQ2K3 w - - 0 1",  # a second queen beside eight pawns
        "QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/8/8/8/K6k w - - 0 1",
        "4k3/8/8/8/8/8/4r3/4K3 b - - 0 1",  # the side not to move is in check
        "4k3/8/8/8/8/8/8/3Kk3 w - - 0 1",
        "8/8/8/3Kk3/8/8/8/8 w - - 0 1",  # kings side by side
        "4k3/8/8/8/8/8/8/4K4 w - - 0 1",  # nine squares
        "4k3/8/8/8/8/8/8/4K2 w - - 0 1",  # seven
        "4k3/8/8/8/8/8/4K3 w - - 0 1",  # seven ranks
        "4k3/8/8/8/8/8/8/8/4K3 w - - 0 1",
        "4k3/9/8/8/8/8/8/4K3 w - - 0 1",
        "4k3/0/8/8/8/8/8/4K3 w - - 0 1",
        "4k3/8/8/8/8/8/8/4X3 w - - 0 1",
        "4k3/8/8/8/8/8/8/4K3 x - - 0 1",
        "4k3/8/8/8/8/8/8/4K3 W - - 0 1",
        "4k3/8/8/8/8/8/8/4K3",
        "4k3/8/8/8/8/8/8/4K3 w - z9 0 1",
        "4k3/8/8/8/8/8/8/4K3 w ! - 0 1",
        "4k3/8/8/8/8/8/8/4K3 w - - -1 1",
        "4k3/8/8/8/8/8/8/4K3 w - - 0 x",
        "4k3/8/8/8/8/8/8/4K3 w - - ٣ 1",
        "4k3/8/8/8/8/8/8/4K3 w - - 0 1 extra",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(PositionError) as refusal:
        GAME.parse_position(text)
    assert len(str(refusal.value)) > 15
    assert "\n" not in str(refusal.value)


def test_huge_counts_saturate() -> None:
    line, _ = GAME.parse_position("4k3/8/8/8/8/8/8/4K2R w - - 99999999999999999999 99999999999999999999")
    assert len(GAME.legal_moves(line[-1])) > 0
    GAME.parse_position(GAME.format_position(line[-1]))


def test_move_text() -> None:
    for match in itertools.islice(random_positions(random.Random(6)), 0, 1200, 3):
        state, board = match.line[-1], match.board
        for move in board.legal_moves:
            number = internal(board, move)
            king_takes_rook = board.copy(stack=False)
            king_takes_rook.chess960 = True
            assert CHESS960.format_move(state, number) == king_takes_rook.uci(move)
            assert GAME.parse_move(state, king_takes_rook.uci(move)) == number
            if not board.chess960:
                assert GAME.format_move(state, number) == move.uci()
                assert GAME.parse_move(state, move.uci()) == number


@pytest.mark.parametrize(
    ("fen", "text", "meaning"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", "e1h1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1h1", "e1h1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1c1", "e1a1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8c8", "e8a8"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8h8", "e8h8"),
        # a king that steps to g1 is not castling unless it takes the rook there
        ("4k3/8/8/8/8/8/8/5K1R w H - 0 1", "f1g1", "f1g1"),
        ("4k3/8/8/8/8/8/8/5K1R w H - 0 1", "f1h1", "f1h1"),
        ("4k3/8/8/8/8/8/8/5KR1 w G - 0 1", "f1g1", "f1g1"),
        # a rook that moves like a castling king
        ("3k4/8/8/8/8/8/1K6/4R3 w - - 0 1", "e1g1", "e1g1"),
    ],
)
def test_castling_notations(fen: str, text: str, meaning: str) -> None:
    line, _ = CHESS960.parse_position(fen)
    assert CHESS960.format_move(line[-1], CHESS960.parse_move(line[-1], text)) == meaning


@pytest.mark.parametrize(
    ("letters", "rooks"), [("HF", "fh"), ("KQ", "fh"), ("K", "h"), ("Q", "f"), ("F", "f"), ("B", ""), ("HB", "h")]
)
def test_chess960_castling_letters(letters: str, rooks: str) -> None:
    line, notes = CHESS960.parse_position(f"4k3/8/8/8/8/8/8/5RKR w {letters} - 0 1")
    castling = int(line[-1]["castling"])
    assert "".join(chess.FILE_NAMES[square] for square in chess.scan_forward(castling)) == rooks
    assert len(notes) == len(letters) - len(rooks)


def test_x_fen_inner_rook() -> None:
    """K and Q mean the outermost rook, a file letter any; the text names an inner rook by its file."""
    line, _ = CHESS960.parse_position("4k3/8/8/8/8/8/8/R1R1KR1R w CF - 0 1")
    assert chess.SquareSet(int(line[-1]["castling"])) == {chess.C1, chess.F1}
    fen = GAME.format_position(line[-1])
    assert fen.split()[2] == "FC"
    assert CHESS960.parse_position(fen)[0]["castling"] == line["castling"]
    line, _ = CHESS960.parse_position("4k3/8/8/8/8/8/8/R1R1KR1R w KQ - 0 1")
    assert chess.SquareSet(int(line[-1]["castling"])) == {chess.A1, chess.H1}


def test_one_castling_rook_a_side() -> None:
    """Two rooks cannot both have the right to castle on the same side; such a text must not reach the rules."""
    try:
        line, notes = CHESS960.parse_position("4k3/8/8/8/8/8/8/R1R1KR1R w HFCA - 0 1")
    except PositionError:
        return
    assert int(line[-1]["castling"]).bit_count() == 2
    assert len(notes) == 2


@pytest.mark.parametrize(
    "text", ["", "e2e5", "e2e4q", "0000", "(none)", "e9e4", "E2E4", "e2-e4", "e2 e4", "g8f6", "e1g1"]
)
def test_illegal_moves_are_refused(text: str) -> None:
    with pytest.raises(IllegalMoveError) as refusal:
        GAME.parse_move(GAME.initial()[-1], text)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", ["a7a8", "a7a8k", "a7a8p"])
def test_promotions_need_their_piece(text: str) -> None:
    line, _ = GAME.parse_position("7k/P7/8/8/8/8/8/K7 w - - 0 1")
    with pytest.raises(IllegalMoveError):
        GAME.parse_move(line[-1], text)
    assert GAME.format_move(line[-1], GAME.parse_move(line[-1], "a7a8n")) == "a7a8n"


def test_a_promotion_in_upper_case_is_read() -> None:
    line = GAME.parse_position("8/P6k/8/8/8/8/7K/8 w - - 0 1")[0]
    assert GAME.parse_move(line, "a7a8Q") == GAME.parse_move(line, "a7a8q")

"""Our rules against python-chess, position by position, over random games."""

from __future__ import annotations

import random
from collections.abc import Iterator

import chess

from az_engine.engine.games import get_game
from az_engine.engine.games.chess.rules import settle_all
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING

PROMOTIONS = (None, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
GAME = get_game("chess")
CHESS960 = GAME.variant("chess960")


class Match:
    """One game in both libraries at once, and what was seen in it."""

    def __init__(self, board: chess.Board) -> None:
        self.board = board
        self.line, self.notes = (CHESS960 if board.chess960 else GAME).parse_position(board.fen())
        self.seen = {board._transposition_key(): 1}

    def push(self, move: chess.Move) -> None:
        self.line = GAME.play(self.line, internal(self.board, move))
        self.board.push(move)
        key = self.board._transposition_key()
        self.seen[key] = self.seen.get(key, 0) + 1

    @property
    def occurrences(self) -> int:
        """How often the current position has been on the board."""
        return self.seen[self.board._transposition_key()]


def internal(board: chess.Board, move: chess.Move) -> int:
    """The engine's number of a python-chess move: castling is the king taking its rook."""
    move = board._to_chess960(move)
    return move.from_square + 64 * move.to_square + 4096 * PROMOTIONS.index(move.promotion)


def expected_outcome(match: Match) -> int:
    """The outcome by the rules of engines: draws by repetition and by 50 moves need no claim."""
    board = match.board
    if not any(board.generate_legal_moves()):
        return LOSS if board.is_check() else DRAW
    drawn = board.is_insufficient_material() or match.occurrences >= 3 or board.halfmove_clock >= 100
    return DRAW if drawn else RUNNING


def differences(match: Match, keys: dict[int, object]) -> list[str]:
    """What our last state says otherwise than python-chess; empty = agreement.

    keys: our key -> python-chess's key of all positions so far, to see that equal keys mean equal positions.
    """
    board, state = match.board, match.line[-1]
    moves = GAME.legal_moves(state).tolist()
    check, enemy_check, dead = settle_all(state.reshape(1).copy())
    ours: dict[str, object] = {name: int(state[name]) for name in state.dtype.names or ()}
    ours |= {
        "moves": sorted(moves),
        "check": check,
        "enemy check": enemy_check,
        "insufficient material": dead,
        "outcome": GAME.outcome(match.line),
        "fen": GAME.format_position(state),
    }
    theirs: dict[str, object] = {
        "pawns": board.pawns,
        "knights": board.knights,
        "bishops": board.bishops,
        "rooks": board.rooks,
        "queens": board.queens,
        "kings": board.kings,
        "white": board.occupied_co[chess.WHITE],
        "black": board.occupied_co[chess.BLACK],
        "castling": board.clean_castling_rights(),
        "rule50": board.halfmove_clock,
        "ply": board.ply(),
        "ep": board.ep_square if board.has_legal_en_passant() else 64,
        "turn": 0 if board.turn else 1,
        "repetitions": match.occurrences - 1,
        "moves": sorted(internal(board, move) for move in board.legal_moves),
        "check": board.is_check(),
        "enemy check": board.was_into_check(),
        "insufficient material": board.is_insufficient_material(),
        "outcome": expected_outcome(match),
        "fen": board.fen(),
    }
    found = [f"{what}: {ours[what]} instead of {theirs[what]}" for what in theirs if ours[what] != theirs[what]]
    again, notes = (CHESS960 if board.chess960 else GAME).parse_position(board.fen())
    if notes or again[-1]["key"] != state["key"]:
        found.append(f"parsed again from its FEN: key {again[-1]['key']} instead of {state['key']}, notes {notes}")
    position = board._transposition_key()
    if keys.setdefault(int(state["key"]), position) != position:
        found.append(f"key {state['key']} stands for two positions")
    return found


def random_start(rng: random.Random) -> chess.Board:
    """A start position of either game, or a few pieces thrown on the board."""
    kind = rng.random()
    if kind < 0.3:
        return chess.Board()
    if kind < 0.6:
        return chess.Board.from_chess960_pos(rng.randrange(960))
    while True:
        board = chess.Board(None)
        men = "Kk" + "".join(rng.choice("PNBRQpnbrq") for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5, 8))))
        for square, letter in zip(rng.sample(chess.SQUARES, len(men)), men, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        board.turn = rng.random() < 0.5
        board.halfmove_clock = rng.choice((0, 0, 0, 90, 97))
        board.fullmove_number = 60
        if board.is_valid():
            return board


def choose(board: chess.Board, rng: random.Random) -> chess.Move:
    """A random legal move; the rare kinds, checks and the one that takes the last one back more often."""
    moves = list(board.legal_moves)
    if rng.random() < 0.3:
        rare = [m for m in moves if board.is_castling(m) or board.is_en_passant(m) or m.promotion]
        if rare:
            return rng.choice(rare)
    if rng.random() < 0.1:
        checks = [m for m in moves if board.gives_check(m)]
        if checks:
            return rng.choice(checks)
    if rng.random() < 0.4 and len(board.move_stack) >= 2:
        last = board.move_stack[-2]
        back = chess.Move(last.to_square, last.from_square)
        if back in moves:
            return back
    return rng.choice(moves)


def random_positions(rng: random.Random, plies: int = 150) -> Iterator[Match]:
    """Positions of one random game after another, for ever; the games go on after draws that leave moves."""
    while True:
        match = Match(random_start(rng))
        yield match
        for _ in range(plies):
            if not any(match.board.generate_legal_moves()):
                break
            match.push(choose(match.board, rng))
            yield match

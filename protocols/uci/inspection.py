"""What people ask by hand: the board (``d``), the net's opinion (``eval``) and the commands (``help``)."""

from __future__ import annotations

import contextlib

from ...engine.errors import AzError
from ..loader import EngineSeam
from ..session import in_time

_SHOWN = 10  # moves of an opinion

HELP = (
    "position startpos moves e2e4   set up a position; also: position {notation} <{text}> moves ...",
    "go nodes 400                   search; also: go movetime 1000, go infinite (until stop), go perft 3",
    "d                              show the board",
    "eval                           show what the net says of the position, without a search",
    "setoption name Threads value 2 set an option; {protocol} lists them",
    "quit                           leave",
)


def board_lines(engine: EngineSeam, notation: str) -> list[str]:
    """The board that is held, and its text. Errors: PositionError when there is none."""
    from ...engine.games import get_game
    from ...engine.games.diagram import board_text

    engine.legal_moves()  # raises when no position is held
    text = engine.position
    assert text is not None
    return ["", *board_text(get_game(engine.game_name), text).splitlines(), "", f"{notation.capitalize()}: {text}"]


def opinion_lines(engine: EngineSeam) -> list[str]:
    """The net's expected points and its likeliest moves. Blocks for one evaluation. Errors: PositionError, NetError."""
    moves = engine.legal_moves()
    if not moves:
        return ["", "there is no legal move: the rules tell the result"]
    opinion = engine.opinion()
    likeliest = sorted(zip(opinion.policy.tolist(), moves, strict=True), reverse=True)[:_SHOWN]
    return [
        "",
        engine.description,
        f"expected points of the side to move: {opinion.chance:.3f} of 1",
        *(f"{move:<6} {100 * share:5.1f} %" for share, move in likeliest),
    ]


def perft_lines(engine: EngineSeam, depth: int, halt: bytearray) -> list[str]:
    """The leaves of the legal move tree, of each move and of all. Errors: AzError when ``halt`` was set meanwhile."""
    leaves = engine.perft(depth, halt)
    if any(halt):
        raise AzError(f"go perft {depth} was stopped")
    total = sum(count for _, count in leaves)
    return [*(f"{move}: {count}" for move, count in leaves), "", f"Nodes searched: {total}"]


def side_to_move(engine: EngineSeam) -> int:
    """0 when the first player is to move, else 1. Errors: PositionError when no position is held."""
    from ...engine.games import get_game

    engine.legal_moves()  # refuses where there is no position
    game, text = get_game(engine.game_name), engine.position
    assert text is not None
    return game.side_to_move(game.parse_position(text)[0][-1])


def side_lines(engine: EngineSeam) -> list[str]:
    """The side to move, as YaneuraOu answers ``side``. Errors: PositionError when no position is held."""
    engine.legal_moves()
    text = engine.position
    assert text is not None
    return ["black" if text.split()[1] == "b" else "white"]


def moves_lines(engine: EngineSeam) -> list[str]:
    """The legal moves in one line, as YaneuraOu answers ``moves``. Errors: PositionError when no position is held."""
    return [" ".join(engine.legal_moves())]


def any_move(engine: EngineSeam | None) -> str | None:
    """A legal move of the position that is held; None when there is none, or the engine does not tell at once."""
    moves: list[str] = []

    def look() -> None:
        with contextlib.suppress(AzError):
            moves.extend(engine.legal_moves()[:1] if engine is not None else ())

    in_time(look)
    return moves[0] if moves else None

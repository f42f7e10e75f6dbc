"""What a bench says to an engine process in each protocol, and the words that begin its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.games.base import Game


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Lines to send, each with the first word of the line that ends its answer."""

    hello: tuple[str, str]
    ready: tuple[str, str]  # answered once kernels and net are loaded
    stop: tuple[str, str]
    move: tuple[tuple[str, ...], str]  # one visit in the start position
    think: str  # until told to stop
    flags: tuple[str, ...] = ()  # that make ``move`` one visit
    what: tuple[str, str, str] = ("uciok", "readyok", "stop to bestmove")  # what the answers are called

    def position(self, game: Game, moves: Sequence[tuple[int, str]]) -> list[str]:
        """The lines that set up a game: moves of players 0 and 1 as the protocol writes them."""
        if game.protocol == "gtp":
            return ["clear_board", *(f"play {'bw'[player]} {move}" for player, move in moves)]
        return [" ".join(["position startpos", "moves", *(move for _, move in moves)])]


_GO = (("position startpos", "go nodes 1"), "bestmove")
_DIALOGUES = {
    "uci": Dialogue(("uci", "uciok"), ("isready", "readyok"), ("stop", "bestmove"), _GO, "go infinite"),
    "usi": Dialogue(
        ("usi", "usiok"),
        ("isready", "readyok"),
        ("stop", "bestmove"),
        _GO,
        "go infinite",
        what=("usiok", "readyok", "stop to bestmove"),
    ),
    "gtp": Dialogue(
        ("1 protocol_version", "=1"),
        ("2 boardsize 9", "=2"),
        ("4 name", "=4"),
        (("3 genmove b",), "=3"),
        "kata-analyze 10",
        flags=("--nodes-limit", "1"),
        what=("first reply", "boardsize", "analysis to the answer of the next command"),
    ),
}


def dialogue(game: Game) -> Dialogue:
    """Of the protocol in which a game is played."""
    return _DIALOGUES[game.protocol]

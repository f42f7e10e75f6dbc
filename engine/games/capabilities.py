"""What only some games have: each capability is an attribute of :class:`base.Game` that is None in the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..info import Verdict
from .outcome import DRAW, LOSS, WIN

State = NDArray[np.void]
TABLE_OPTIONS = frozenset({"syzygy_path", "syzygy_probe_limit", "syzygy_50_move_rule"})  # see Game.own_options
Planes = TypeVar("Planes", bound=NDArray[Any])


@dataclass(frozen=True, slots=True)
class TrainingDefaults:
    """How the game is usually trained."""

    noise_alpha: float = 0.3  # Dirichlet alpha of self-play, about 10 / typical number of legal moves
    longest_game: int = 512  # plies after which the papers end a game of self-play, see Game.adjudicate
    schedule: str = "az"  # name of AlphaZero's learning rates for the game


@dataclass(frozen=True, slots=True, eq=False)
class Symmetries:
    """The S reflections and rotations of a board that leave the rules as they are; number 0 changes nothing."""

    points: NDArray[np.int32]  # i4[S, H * W]: the image of each point
    actions: NDArray[np.int32]  # i4[S, A]: the image of each action
    _sources: NDArray[np.intp] = field(init=False)  # the point that comes to lie on each point

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sources", self.points.argsort(axis=1))

    def __len__(self) -> int:
        return len(self.points)

    def turn(self, planes: Planes, which: NDArray[np.int64]) -> Planes:
        """Planes [B, C, H, W] each under its symmetry which i8[B]; a new array."""
        flat = planes.reshape(*planes.shape[:2], -1)
        turned: Any = np.empty_like(flat)
        for k in np.unique(which):
            rows = which == k
            turned[rows] = flat[rows].take(self._sources[k], axis=2, mode="clip")
        return cast(Planes, turned.reshape(planes.shape))


def board_symmetries(columns: int, rows: int) -> NDArray[np.int32]:
    """i4[S, H * W]: the image of each point of a board.

    A square has S = 8, symmetry k = 4 * mirrored + quarter turns; another rectangle S = 4, 2 * mirrored + half turns.
    """
    points = np.arange(columns * rows, dtype=np.int32).reshape(rows, columns)
    turns = [(mirrored, quarter) for mirrored in (False, True) for quarter in range(0, 4, 1 if columns == rows else 2)]
    images = np.empty((len(turns), columns * rows), np.int32)
    for k, (mirrored, quarter) in enumerate(turns):
        turned = np.rot90(points[:, ::-1] if mirrored else points, quarter)  # turned[image] = point
        images[k, turned.ravel()] = points.ravel()
    return images


class Declaration(ABC):
    """Winning by declaration instead of a move, and the rules that a position's text leaves out."""

    @abstractmethod
    def possible(self, line: State) -> bool:
        """Whether the side to move may win by declaring at the end of a line; ``outcome`` ignores that choice."""

    @abstractmethod
    def set_rules(self, line: State, *, rule: str = "27", max_plies: int = 0) -> None:
        """Set the rules for every position of a line, in place.

        rule: of the entering king, as in ``EngineOptions.declaration``; max_plies: the ply at which the game is drawn,
        0 = never.
        """


class MateSearch(ABC):
    """A search for a forced mate by the side to move at the end of a line, done in slices."""

    moves: list[int]  # of both sides to the mate, once it is found
    possible: bool = True  # whether there is a king to mate
    plies: int  # of that mate against any defence; the moves may be fewer

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Positions made so far."""

    @abstractmethod
    def advance(self, nodes: int) -> Verdict | None:
        """Search about ``nodes`` more positions; None until the verdict is known. Blocks without the GIL."""


class Quiescence(NamedTuple):
    """Resolving captures below a position, for evaluations from elsewhere."""

    make: Callable[[Any], Any]  # evaluate(net, s, space) -> i64 of the side to move: a device function; to another one,
    # quiet(net, line, frames, moves, space) -> i64 of line[0]: State[depth + 1], frame[depth + 1], u2[1, M]
    depth: int  # plies at most
    frame: np.dtype[Any]
    mated: int  # the value of a side that is mated, less one for each ply before it is


class Tablebase(ABC):
    """Tables of how positions with few pieces end with best play."""

    most_pieces: int  # in the positions that they know
    problems: list[str]  # sentences for the user; may grow, and are emptied by whoever shows them
    hits: int = 0  # positions that were found; whoever counts sets it to 0 before

    @abstractmethod
    def outcome(self, state: State) -> int | None:
        """Outcome code of one State[] for its side to move; None where the tables do not know it."""

    @abstractmethod
    def rank_moves(self, line: State, moves: NDArray[np.uint16]) -> list[tuple[int, int]] | None:
        """(outcome code for the mover, rank) of each of the legal moves u2[K] at the end of a line; None where unknown.

        The greater rank is better: what wins sooner, or loses later, as far as the tables tell; draws rank alike.
        """


class Territory(ABC):
    """Counting points: stones and the points they surround, as in Go."""

    @abstractmethod
    def score(self, state: State, dead: Iterable[Collection[int]] = ()) -> tuple[float, NDArray[np.uint8]]:
        """(black's score minus white's, komi included; owner u1[H * W]: 0 black, 1 white, 2 nobody) of one State[].

        ``dead``: chains to remove first.
        """

    def outcome(self, state: State) -> int:
        """Outcome code of one State[] by its present score, for the side to move."""
        points = self.score(state)[0] * (-1 if state["turn"] else 1)
        return DRAW if points == 0 else WIN if points > 0 else LOSS

    @abstractmethod
    def chains(self, state: State) -> list[frozenset[int]]:
        """The chains of stones of one State[], each as its points."""

    @abstractmethod
    def dead_chains(self, state: State, ownership: Sequence[float], lead: float | None = None) -> list[frozenset[int]]:
        """Chains that are dead by a net's ``ownership``, in [-1, 1] of each point, 1 for the side to move.

        lead: points by which the side to move is expected to be ahead; where the count is far from it, the net's doubts
        about chains are decided as the lead wants it.
        """

    @abstractmethod
    def seki(self, state: State, dead: Iterable[Collection[int]] = ()) -> list[frozenset[int]]:
        """The chains of one State[] that live in seki; ``dead`` chains are taken off first."""

    @abstractmethod
    def settled(self, state: State, ownership: Sequence[float]) -> bool:
        """Whether nothing but neutral points is left to play in one State[]; ``ownership`` as in ``dead_chains``."""

    @abstractmethod
    def unended(self, line: State) -> State:
        """The line; by rules under which passes do not end the game, a copy, where dead stones are agreed on."""

    @abstractmethod
    def passed(self, state: State) -> bool:
        """Whether another pass ends the game at one State[], or it has ended."""

    @abstractmethod
    def agreed(self, state: State) -> bool:
        """Whether players take dead stones off at the end, by the rules of one State[]; else every stone counts."""

    @abstractmethod
    def counts_dead_stones(self, state: State) -> bool:
        """Whether removing dead stones could change the score of one State[]."""

    @abstractmethod
    def lead(self, state: State, points: float) -> float:
        """The mover's lead in one State[] by the rules, komi included; ``points``: its lead on the board."""

    @abstractmethod
    def is_usual(self, state: State) -> bool:
        """Whether one State[] has the komi, and the count, that a net which sees neither has learned."""

    @abstractmethod
    def chances(
        self,
        root: State,
        lengths: NDArray[np.integer],
        given: NDArray[np.float64],
        values: NDArray[np.float64],
        scores: NDArray[np.float64] | None = None,
        owners: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values f8[B] in [-1, 1] and chances of a draw f8[B] by the rules, of what a net says that does not see them.

        Of the positions so many moves after one State[], each for its side to move; given f8[B]: its ``lead`` without
        points on the board; values f8[B], scores f8[B] on the board and owners f8[B, P] are the net's.
        """

    @abstractmethod
    def leads(
        self, root: State, paths: NDArray[np.uint16], lengths: NDArray[np.integer], points: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """``lead`` after each of B paths of moves u2[B, D], of so many moves each, from one State[]; points f4[B]."""

    @abstractmethod
    def stones(self, state: State) -> NDArray[np.uint8]:
        """u1[H * W] of one State[]: 0 black, 1 white, 2 empty at each point."""

    @abstractmethod
    def most_handicap(self, size: int) -> int:
        """The greatest number of fixed handicap stones on a square board; 0 on boards that have none."""

    @abstractmethod
    def handicap(self, size: int, stones: int) -> list[int]:
        """The points of that many fixed handicap stones, at most :meth:`most_handicap`."""

    @abstractmethod
    def rules_named(self, text: str) -> str:
        """Our name of the rules that people name in one of several languages; "" for unknown ones."""

    @abstractmethod
    def start(self, columns: int, rows: int, komi: float | None, rules: str) -> str:
        """An empty board as text; komi None: the fair one, 7 on 9x9 and 7.5 on others. Errors: PositionError."""

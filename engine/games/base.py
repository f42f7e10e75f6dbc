"""A game: the seam between a folder under ``games/`` and everything else."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..info import Calibration, Wdl, centipawns
from ..params import EngineOptions
from ..records.formats import RecordFormat
from ..records.record import Record
from .book import Book
from .capabilities import Declaration, MateSearch, Quiescence, Symmetries, Tablebase, Territory, TrainingDefaults
from .encoder import Encoder
from .outcome import DRAW
from .position_lines import position_lines
from .rules import Rules

State = NDArray[np.void]


class Game(Rules):
    """The rules of a game, an encoder through which a net sees it, and what only some games have."""

    encoder: Encoder
    form: str = ""  # what :meth:`variant` calls it; "": its usual form
    special_options: frozenset[str] = frozenset()  # keys of options that most other games do not offer
    pieces: Literal["discs", "chessmen", "tiles", "stones"] = "discs"  # how boards are drawn
    training: TrainingDefaults = TrainingDefaults()
    openings: Mapping[str, str] = {}  # name: its moves, as the protocol writes them
    symmetries: Symmetries | None = None
    mate_search: Callable[..., MateSearch] | None = None  # of (line, bytes of its table, its greatest length in plies)
    mate_within: Callable[..., MateSearch] | None = None  # the same within so many plies, by moves of any kind
    quiescence: Quiescence | None = None
    territory: Territory | None = None
    declaration: Declaration | None = None
    open_book: Callable[[Path], Book] | None = None  # an opening book in a file; errors: OSError, OptionError
    open_tables: Callable[..., Tablebase] | None = None  # of (folders, most_pieces=, rule50=)
    score_scale: float = 400.0 / math.log(
        10.0
    )  # of other programs' scores: centipawns that make the odds e times as good
    calibration: Calibration | None = None  # of its default net; None: a search's outcomes are shown as they are
    _plain: Game | None = None  # in a view through another encoder: the game with its own

    @property
    def handicaps(self) -> tuple[str, ...]:
        """The positions that games with a handicap begin from, in the game's notation; none in most games."""
        return ()

    def count_pieces(self, state: State) -> int:
        """Pieces of one State[], as tables of endings count them; 0 in games without such tables."""
        return 0

    # ------------------------------------------------------------------ how a net sees it

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        """Encoders of other families of nets, by name."""
        return {}

    @cache  # noqa: B019 - games live as long as the process
    def using(self, encoder: str) -> Game:
        """The game as a net with that encoder sees it, one object for each name.

        Rules, positions and moves stay; planes, actions and their kernels are the encoder's. Errors: OptionError.
        """
        if encoder == self.encoder.name:
            return self
        if self._plain is not None:
            return self._plain.using(encoder)
        if encoder not in self.encoders:
            names = ", ".join((self.encoder.name, *self.encoders))
            raise OptionError(f"{self.name} has no planes called {encoder[:40]!r}; there are {names}")
        view = copy.copy(self)
        vars(view).update(encoder=self.encoders[encoder], _plain=self)
        return view

    @property
    def planes(self) -> tuple[int, int, int]:
        """C, H, W of the network's input."""
        return self.encoder.planes

    @property
    def num_actions(self) -> int:
        """A, size of the policy."""
        return self.encoder.num_actions

    @property
    def max_moves(self) -> int:
        """M, greatest number of legal moves."""
        return self.encoder.max_moves

    def look(self, line: State) -> tuple[NDArray[np.uint16], int]:
        """See :meth:`Encoder.look`."""
        return self.encoder.look(line)

    @property
    def history(self) -> int:
        """Positions shown in the planes; a net may ask for fewer."""
        return self.encoder.history

    def start_planes(self) -> NDArray[np.uint8]:
        """Planes u1[1, C, H, W] of the start position, by the search's own kernel."""
        states, leaves = self.encoder.leaf_after(self.initial())
        self.encoder.describe(states, leaves, 1, self.history, 0)
        return leaves.planes.reshape(1, *self.planes)

    def encode(
        self,
        states: State,
        index: NDArray[np.int64],
        first: NDArray[np.int64],
        out: NDArray[np.uint8],
        history: int = 0,
    ) -> None:
        """Planes of states[index[b]] into out u1[B, C, H, W]; first i8[B] = start of that state's game."""
        self.encoder.encode(states, index, first, history or self.history, out.reshape(len(index), self.encoder.width))

    def actions(
        self, states: State, index: NDArray[np.int64], moves: NDArray[np.uint16], out: NDArray[np.int32]
    ) -> None:
        """Policy indices of moves u2[B, K] in states[index[b]] into out i4[B, K]."""
        self.encoder.actions(states, index, moves, out)

    def legal_actions(
        self, states: State, index: NDArray[np.int64], out: NDArray[np.int32], counts: NDArray[np.int32]
    ) -> None:
        """Policy indices of the legal moves of states[index[b]] into out i4[B, M], their number into counts i4[B]."""
        self.encoder.legal_actions(states, index, out, counts)

    # ------------------------------------------------------------------ what only some games have

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        """File formats of its game records, the usual one first; by default position lines, in files named .GAME."""
        keyword = "sfen" if self.protocol == "usi" else "fen"
        return (position_lines(self, self.protocol, keyword, (f".{self.name}",)),)

    def start_of(self, record: Record) -> State:
        """The line State[1] that a recorded game begins with. Errors: PositionError."""
        game = self.of_record(record)
        return game.initial() if record.root is None else game.parse_position(record.root)[0]

    def of_record(self, record: Record) -> Game:
        """The game in the form that a recorded one has: the size of its board, a variant. Errors: OptionError."""
        return self

    def position_of_line(self, text: str) -> str:
        """A position in the game's notation from a line of a list of positions, where chess has EPD, too."""
        return text

    def sized(self, columns: int, rows: int | None = None) -> Game:
        """The same game on a board of another size, square without ``rows``.

        Errors: OptionError for a game with one size.
        """
        raise OptionError(f"{self.name} has one size of board; leave the size out")

    def variant(self, name: str) -> Game:
        """The same game in another form, which reads and writes other text; its own name stands for the usual form.

        Rules and encoder stay. Errors: OptionError for a form that it does not have.
        """
        if name != self.name:
            raise OptionError(f"{self.name} has no variant {name[:40]!r}")
        return self

    def centipawns(self, wdl: Wdl, options: EngineOptions) -> int:
        """The score to show for such chances, the same side's view; Lc0's where a game's programs have no other."""
        return centipawns(wdl.value)

    def expected_points(self, score: float) -> float:
        """What other programs mean by a score in centipawns: expected points, 0 to 1, the same side's view."""
        return 0.5 + 0.5 * math.tanh(score / self.score_scale / 2.0)

    def alone(self, line: State) -> State:
        """The line as nets see it that are used to positions without a past: its moves hidden; else as it is."""
        return line

    def adjudicate(self, line: State) -> int:
        """Outcome code for the side to move when a game is cut off: by the score where there is one, else a draw."""
        return DRAW if self.territory is None else self.territory.outcome(line[-1])

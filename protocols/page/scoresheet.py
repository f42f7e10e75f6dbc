"""A game as the page shows it: its positions and moves as text, what may be played, and how it ended."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.errors import AzError, DataError, IllegalMoveError, OptionError, PositionError
from ...engine.games import get_game
from ...engine.games.outcome import RUNNING
from ...engine.games.rules import Rules
from ...engine.records.formats import MAX_PLIES, format_named
from ...engine.records.opinion import Kind, Opinion
from ...engine.records.record import Node, Record
from ...engine.records.text import kind_of

if TYPE_CHECKING:
    from ...engine.games.base import Game, State

MOST_HANDICAP = 9
MOST_GAMES = 2000  # of a file, to choose from
MOST_WRITTEN = 12  # moves of a line
_DEEPEST = 20  # plies of an opening
_MOST_AHEAD = 4000  # moves of lines that are remembered


def beginning(family: str, root: str | None) -> tuple[Game, State]:
    """The game, in the form and size of a position, and the line that begins with it. Errors: AzError."""
    game = get_game(family)
    if root is None:
        return game, game.initial()
    game = game.of_record(Record(Node(position=root)))
    return game, game.parse_position(root)[0]


class Scoresheet:
    """One game. Its positions are kept, so that the next move costs one move."""

    def __init__(self, game: str) -> None:
        """``game``: a game's name, without the size of a board."""
        self._family = game
        self.game: Game = get_game(game)
        self.root: str | None = None
        self.moves: list[str] = []
        self._line: State = self.game.initial()
        self._words: list[str] = []  # the moves as people write them
        self.native = False  # in the script of the game's own country
        self._ahead: dict[tuple[str, ...], tuple[str, State]] = {}  # of lines, by ply and moves: (last move, line)

    @property
    def size(self) -> int:
        """Lines of a board that comes in several sizes; 0: it has one."""
        return int(self.game.planes[-1]) if self.game.territory is not None else 0

    def write_native(self, native: bool) -> None:
        """Write moves in the script of the game's own country from now on, or no longer."""
        if native != self.native:
            moves, self.moves, self.native = self.moves, [], native
            self.hold(self.root, moves)

    def hold(self, root: str | None, moves: Sequence[str]) -> None:
        """Hold the game of ``moves`` from ``root``. Errors: AzError, and then the old game is held."""
        if len(moves) > MAX_PLIES:
            raise PositionError(f"a game has at most {MAX_PLIES} moves here, not {len(moves)}")
        game, line = beginning(self._family, root)
        same = 0
        if root == self.root:
            while same < min(len(moves), len(self.moves)) and moves[same] == self.moves[same]:
                same += 1
        states = np.empty(len(moves) + 1, game.state_dtype)
        states[: same + 1] = self._line[: same + 1] if same else line[-1:]
        words = self._words[:same]
        for i, text in enumerate(moves[same:], same):
            try:
                move = game.parse_move(states[: i + 1], text)
            except IllegalMoveError as error:
                raise IllegalMoveError(f"move {i + 1}: {error}") from None
            words.append(self._write(game, states[: i + 1], move))
            game.play_at(states, i, move)
        self.game, self.root, self.moves, self._line, self._words = game, root, list(moves), states, words
        self._ahead.clear()

    def turn(self, ply: int) -> int:
        """Who is to move after so many moves: 0 the first player."""
        return self.game.side_to_move(self._line[ply])

    def word(self, ply: int) -> str:
        """The move that led to a ply, as people write it."""
        return self._words[ply - 1]

    def over(self, ply: int) -> dict[str, Any] | None:
        """Who has won by the rules after so many moves, and why; None while the game goes on."""
        return self._over(self._line[: ply + 1])

    @property
    def before_passes(self) -> int:
        """The ply at which the passes begin that have ended the game of Go, by which both have passed."""
        return max(len(self.moves) - 2, 0) if self.moves[-2:] == ["pass", "pass"] else len(self.moves)

    @property
    def agreed(self) -> bool:
        """Whether players take dead stones off at the end of this game."""
        return self.game.territory is not None and self.game.territory.agreed(self._line[-1])

    def counted(self, dead: Sequence[str], toggle: str | None = None, ply: int = -1) -> dict[str, Any]:
        """Who has won at the end without ``dead`` stones, whole chains; ``toggle``: a stone whose chain changes.

        ply: where two passes have ended the game, which may go on in a record.
        Errors: OptionError when the game has no territory.
        """
        territory, last = self.game.territory, self._line[ply]
        if territory is None:
            raise OptionError(f"{self.game.name} has no dead stones")
        named = set(dead)
        chains = {tuple(self.points([chain])): chain for chain in territory.chains(last)}
        off = [stones for stones in chains if bool(named & {*stones}) != (toggle in stones)]
        lead = float(territory.score(last, [chains[stones] for stones in off])[0])
        winner = None if lead == 0 else int(lead < 0)
        return {"winner": winner, "why": "score", "lead": lead, "dead": [point for stones in off for point in stones]}

    def points(self, chains: Iterable[Collection[int]]) -> list[str]:
        """The points of chains as text."""
        return [self.game.format_move(self._line[-1], point) for chain in chains for point in sorted(chain)]

    def written(self, moves: Sequence[str], ply: int | None = None) -> list[str]:
        """The moves of a line from a ply (None: the last) on, as people write them; the first ones of a long line."""
        if not self._has_words:
            return list(moves[:MOST_WRITTEN])
        ply = len(self.moves) if ply is None else ply
        words, line = list[str](), self._line[: ply + 1]
        for i in range(1, min(len(moves), MOST_WRITTEN) + 1):
            path = (str(ply), *moves[:i])
            if path not in self._ahead:
                if len(self._ahead) > _MOST_AHEAD:
                    self._ahead.clear()
                move = self.game.parse_move(line, path[-1])
                self._ahead[path] = self._write(self.game, line, move), self.game.play(line[-1:], move)
            word, line = self._ahead[path]
            words.append(word)
        return words

    def words_of(self, tree: Sequence[tuple[int, str]]) -> list[str]:
        """The moves of a tree, numbered as in a request, as people write them. Errors: IllegalMoveError."""
        game, states = self.game, [self._line[:1]]
        words = list[str]()
        for parent, text in tree:
            move = game.parse_move(states[parent], text)
            words.append(self._write(game, states[parent], move))
            states.append(game.play(states[parent][-1:], move)[-1:])
        return words

    def _write(self, game: Game, line: State, move: int) -> str:
        return game.write_native(line, move) if self.native else game.write_move(line, move)

    @property
    def _has_words(self) -> bool:
        """Whether people write moves in another way than the protocol."""
        kind = type(self.game)
        return kind.write_move is not Rules.write_move or (self.native and kind.write_native is not Rules.write_native)

    @property
    def name(self) -> str:
        """What :func:`get_game` and an engine call the game, with the size of its board."""
        if self.game.territory is None:
            return self._family
        _, rows, columns = self.game.planes
        return f"{self._family}{columns}" if rows == columns else f"{self._family}{columns}x{rows}"

    def counted_move(self, ply: int) -> str:
        """The move after so many moves, with its number."""
        skipped = self.moves[:ply].count("skip")
        return self.game.count_move(self._line[ply], ply - skipped, self.word(ply + 1))

    def opinion(self, ply: int, line: Sequence[str], values: dict[str, Any], kind: Kind, remark: str) -> Opinion:
        """What a search says of a ply, for a record."""
        position = self.game.format_position(self._line[ply])
        over = self.over(ply) is not None
        return Opinion(position, line=tuple(line[:MOST_WRITTEN]), over=over, kind=kind, remark=remark, **values)

    def shown(self, known: int, at: int) -> dict[str, Any]:
        """The plies of the game from ``known`` on, what may be played at ply ``at``, and how the game ends."""
        game, words = self.game, ["", *self._words]
        at = min(at, len(self.moves))
        line = self._line[: at + 1]
        plies = [
            {
                "text": game.format_position(state),
                "turn": game.side_to_move(state),
                "word": words[i],
                "check": game.in_check(state),
            }
            for i, state in enumerate(self._line[known:], known)
        ]
        over, end = self._over(line), self._over(self._line)
        moves = [] if over else game.legal_moves(line).tolist()
        legal = [game.format_move(line[-1], move) for move in moves]
        written = [self._write(game, line, move) for move in moves] if self._has_words else legal
        scripts = type(game).write_native is not Rules.write_native
        native = [game.write_native(line, move) for move in moves] if scripts and not self.native else written
        return {
            "root": self.root,
            "from": known,
            "plies": plies,
            "at": at,
            "legal": legal,
            "words": written,
            "native": native if native is not written else [],  # for moves that are typed
            "declares": not over and game.declaration is not None and game.declaration.possible(line),
            "over": over,
            "end": end,
            "opening": self.opening(at),
        }

    def opening(self, ply: int) -> str:
        """The name of the opening that a ply belongs to, whatever the order of its moves; "": none that is known."""
        known = _openings(self._family)
        deepest = min(ply, _DEEPEST) if known else -1
        places = (_place(self.game, state) for state in self._line[: deepest + 1][::-1])
        return next((known[place] for place in places if place in known), "")

    def _over(self, line: State) -> dict[str, Any] | None:
        """Who has won by the rules at the end of a line, and why; None while the game goes on."""
        game = self.game
        code = game.outcome(line)
        if code == RUNNING:
            return None
        turn = game.side_to_move(line[-1])
        winner = None if code == 0 else turn if code > 0 else 1 - turn
        if game.territory is not None:
            return {"winner": winner, "why": "score", "lead": game.territory.score(line[-1])[0]}
        stuck = not len(game.legal_moves(line))
        return {"winner": winner, "why": "mate" if winner is not None and stuck else "rule"}


def _place(game: Game, state: State) -> str:
    """What tells positions of an opening apart: the board, who is to move, castling or hands."""
    return " ".join(game.format_position(state).split()[:3])


@cache
def _openings(family: str) -> dict[str, str]:
    """The names of the game's openings by their positions."""
    game, result = get_game(family), dict[str, str]()
    for name, moves in game.openings.items():
        line = game.initial()
        for word in moves.split():
            line = game.play(line, game.parse_move(line, word))
        result[_place(game, line[-1])] = name
    return result


def empty_board(family: str, size: int, komi: float | None, rules: str, handicap: int) -> str:
    """The start of a game of Go as text. Errors: AzError."""
    game = get_game(family).sized(size)
    territory = game.territory
    if territory is None:
        raise OptionError(f"{family} has no komi and no handicap")
    if not handicap:
        return territory.start(size, size, komi, rules)
    if not 2 <= handicap <= min(territory.most_handicap(size), MOST_HANDICAP):
        raise OptionError(f"a board of {size}x{size} takes no handicap of {handicap} stones")
    points = set(territory.handicap(size, handicap))
    cells = ["X" if point in points else "1" for point in range(size * size)]
    rows = ["".join(cells[i : i + size]) for i in range(0, size * size, size)]
    fields = territory.start(size, size, 0.5 if komi is None else komi, rules).split()
    text = " ".join(["/".join(map(_joined, rows)), "w", *fields[2:5], str(handicap), *fields[6:]])
    return game.format_position(game.parse_position(text)[0][-1])


def _joined(row: str) -> str:
    """A row of points whose empty ones, each a 1, are counted."""
    parts = row.replace("X", " X ").split(" ")
    return "".join(str(len(part)) if part.strip("X") else part for part in parts if part)


def read_records(family: str, data: bytes, name: str) -> list[Record]:
    """The games of a file, or a position in the game's notation, by its name or by trying; at most MOST_GAMES + 1.

    Errors: DataError.
    """
    game = get_game(family)
    formats = list(game.record_formats)
    with contextlib.suppress(OptionError):
        formats = [format_named(formats, name)] if name else formats
    results: list[Record] = []
    for form in formats:
        with contextlib.suppress(DataError):
            records = list(islice(form.read(io.BytesIO(data)), MOST_GAMES + 1))
            for record in records:
                record.source = form.name
            if _size_of(records) > _size_of(results):
                results = records
    if any(record.moves or record.root or record.fault for record in results):
        return results
    return [_read_position(family, data.decode("utf-8", "replace"), results)]


def _size_of(records: Sequence[Record]) -> int:
    """How much of a text a format has understood: moves, and positions that are set up."""
    return sum(2 * len(record.moves) + (record.root is not None) + bool(record.headers) for record in records)


def _read_position(family: str, text: str, result: Sequence[Record]) -> Record:
    """The game of one line such as "fen ... moves e2e4", or what is left of a file without moves. Errors: DataError."""
    game = get_game(family)
    position = text.strip().removeprefix("position ").removeprefix("fen ").removeprefix("sfen ")
    root, _, moves = position.partition(" moves ")
    sheet = Scoresheet(family)
    try:
        sheet.hold(None if root == "startpos" else root, moves.split())
    except AzError as error:
        names = ", ".join(form.name for form in game.record_formats)
        if result:
            raise DataError("this game has no moves") from None
        if kind := kind_of(text.encode()):
            raise DataError(f"this looks like {kind}, but no game of {family} ({names}) can be read from it") from None
        raise DataError(f"this is neither a game ({names}) nor a position: {error}") from None
    return Record.of_line(tuple(sheet.moves), sheet.root)


def read_any(family: str, others: Iterable[str], data: bytes, name: str) -> tuple[str, list[Record]]:
    """The game that a file holds records or a position of, ``family`` if it can be, and them. Errors: DataError."""
    try:
        return family, read_records(family, data, name)
    except DataError as error:
        for other in others:
            with contextlib.suppress(DataError):
                return other, read_records(other, data, name)
        raise error from None

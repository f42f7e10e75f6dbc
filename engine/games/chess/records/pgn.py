"""Reads PGN: python-chess knows the moves, :mod:`movetext` the text around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, get_args

import chess

from ....errors import DataError, counted, quoted
from ....records.formats import MAX_PLIES
from ....records.record import ILLEGAL, Node, Reason, Record
from ....records.text import BoundedLines
from .. import notation
from . import letters
from .movetext import RawGame, Token, raw_games

RESULTS = {"1-0": 1, "1/2-1/2": 0, "0-1": -1}
TERMINATIONS: dict[Reason, str] = {
    "time": "time forfeit",
    "illegal move": "rules infraction",
    "interrupted": "abandoned",
}
ROSTER = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?", "Result": "*"}
STANDARD = frozenset({"", "standard", "chess", "normal", "from position", "fromposition", "classic", "orthodox"})
_MOST_NAGS = 256  # of a move
_MOST_FAULTS = 3  # of a game, that are told one by one
_DEEPEST = 200  # variations in variations
_TIME = re.compile(r"\[%emt (\d{1,4}):(\d\d):(\d\d(?:\.\d{1,6})?)\]\s*", re.ASCII)
_REASONS: dict[str, Reason] = {reason: reason for reason in get_args(Reason) if reason}
_REASONS |= {words: reason for reason, words in TERMINATIONS.items()}
_SUFFIXES = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
_SYMBOLS = {
    "=": 10, "∞": 13, "⩲": 14, "+/=": 14, "+=": 14, "⩱": 15, "=/+": 15, "=+": 15, "±": 16, "+/-": 16, "+/−": 16,
    "∓": 17, "-/+": 17, "−/+": 17, "+-": 18, "+−": 18, "+--": 18, "-+": 19, "−+": 19, "N": 146, "⨀": 22, "⟳": 32,
    "↑": 36, "→": 40, "⇆": 132, "⊕": 138, "D": 220, "□": 7,
}  # fmt: skip
_NULL = ("--", "Z0", "0000", "@@@@", "null", "pass")


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a file. Errors: DataError when it is no PGN file or has no game."""
    lines = BoundedLines(stream)
    count = 0
    for game in raw_games(lines):
        record = _read_game(game)
        if game.headers or game.result or record.fault or record.tree.children:
            record.note = "; ".join(filter(None, ("" if count else lines.note, record.note)))
            count += 1
            yield record
    if not count:
        raise DataError("there is no PGN game in it")


def _read_game(game: RawGame) -> Record:
    """The game in English letters, or in those of the one language that its moves are right in."""
    first = _Tree(game, None)
    first.read()
    if not first.stumbled:
        return first.record()
    words = [token.text for token in game.tokens if token.kind == ""]
    result = letters.letters_of(words)
    readings: list[_Tree] = []
    for language in letters.languages_of(result):
        tree = _Tree(game, language)
        tree.read()
        if not tree.stumbled and not any(tree.tree == other.tree for other in readings):
            readings.append(tree)
    if len(readings) == 1:
        return readings[0].record()
    if letters.languages_of(result) or not result <= {*letters.ENGLISH, "P"}:
        strange = ", ".join(sorted(result - {*letters.ENGLISH, "P"}))
        first.hint = f"pieces are written {strange}: write them as K, Q, R, B and N"
    return first.record()


class _EndedError(DataError):
    """A move stands behind mate or stalemate."""


@dataclass(slots=True)
class _Rest:
    """What is not played any more: behind a fault or an end, up to the end of its line of play."""

    fault: str  # "" = an end: the words are kept
    depth: int = 0  # of variations in it
    moves: int = 0
    comments: int = 0
    words: list[str] = field(default_factory=list)

    def take(self, token: Token) -> None:
        self.depth += (token.kind == "(") - (token.kind == ")")
        self.moves += token.kind == "" and (letters.is_move(token.text) or token.text in _NULL)
        self.comments += token.kind in ("{", ";") and bool(token.text)
        if not self.fault:
            self.words += filter(None, (token.number, f"${token.text}" if token.kind == "$" else token.text))

    def told(self) -> str:
        """The fault, and how much it takes with it."""
        lost = ((self.moves, "move"), (self.comments, "comment"))
        counts = ", ".join(counted(number, noun) for number, noun in lost if number)
        return f"{self.fault}; what follows is left out ({counts})" if counts else self.fault


class _Tree:
    """One game on its way from tokens to a record."""

    def __init__(self, game: RawGame, language: str | None) -> None:
        self._game, self._language = game, language
        self.tree = Node()
        self.stumbled = False
        self.hint = ""  # about the letters of pieces
        self._null = ""  # where a null move of the main line stands
        self._faults = [game.fault] if game.fault else []
        self._rest: _Rest | None = None
        self._strange = ""  # the first word that is neither a move nor prose
        self._behind = ""  # where something stands behind an end
        self._line = [self.tree]  # of the variation that is read; the first node stands before it
        self._fresh = False  # a variation has begun, no move of it is read
        self._before = ""  # comment before its first move
        self._outer: list[tuple[list[Node], chess.Board]] = []
        self._board = chess.Board()

    def read(self) -> None:
        try:
            self._board = self._start()
        except (ValueError, DataError) as error:
            self._faults.append(str(error))
            return
        for index, token in enumerate(self._game.tokens):
            if index == self._game.behind and self._rest is None:
                self._end(token)
            if self._rest is not None:
                self._skip(self._rest, token)
            elif token.kind == "":
                try:
                    self._word(token)
                except _EndedError:
                    self._skip(self._end(token), token)
                except (ValueError, DataError) as error:
                    place = ", in a variation" if self._outer else ""
                    self._rest = _Rest(f"line {token.line}{place}: {error}")
            elif token.kind == "(":
                self._open(token)
            else:
                self._mark(token)
        if self._rest is not None:
            self._settle(self._rest)

    def _end(self, token: Token) -> _Rest:
        """The line of play has ended before a token: the rest of it is kept as a comment."""
        line = "the variation" if self._outer else "the game"
        self._behind = self._behind or f"line {token.line}: {line} has ended; what stands behind is kept as comments"
        self._rest = _Rest("")
        return self._rest

    def _settle(self, rest: _Rest) -> None:
        """Keep what stands behind an end, or tell what was cut."""
        if rest.fault:
            self._faults.append(rest.told())
        else:
            self._say(" ".join(rest.words))
        self._rest = None

    def _skip(self, rest: _Rest, token: Token) -> None:
        """Do not play a token, or end the variation that is left out."""
        if self._outer and rest.depth == 0 and token.kind == ")":
            self._settle(rest)
            self._close()
        else:
            rest.take(token)

    def _start(self) -> chess.Board:
        headers = self._game.headers
        variant = headers.get("Variant", "")
        chess960 = notation.is_chess960(Record(headers=headers))
        if variant.strip().lower() not in STANDARD and not chess960:
            raise DataError(
                f"this is a game of {variant[:40]}, which is not played here; give games of chess or Chess960"
            )
        board = chess.Board(headers.get("FEN", chess.STARTING_FEN), chess960=chess960)
        board.chess960 = chess960 or board.has_chess960_castling_rights()
        if board.fen() != chess.STARTING_FEN:
            self.tree.position = board.fen()
        return board

    # ------------------------------------------------------------------ moves

    def _word(self, token: Token) -> None:
        """A move, or a sign about the last one. Errors: ValueError, DataError."""
        word = token.text
        if word in _SYMBOLS or word in _SUFFIXES:
            self._annotate(_SYMBOLS.get(word) or _SUFFIXES[word])
            return
        text = word.rstrip("!?⩲⩱±∓∞□=")
        move = self._parse(text or word, word)
        if move is None:
            self._say(word)
            if word[0].isalpha() and re.search("[0-9]", word):  # meant as a move, unlike "mate" and "e.p."
                self._strange = self._strange or f"line {token.line}: {quoted(word, 20)} is no move: kept as a comment"
            return
        if not self._outer and len(self._line) > MAX_PLIES:
            raise DataError(f"the game has more than {MAX_PLIES} moves")
        node = Node(self._board.uci(move) if move else "0000")
        if not move and not self._outer:
            node.more[ILLEGAL] = ()
            where = "a move is left out (--): the game is read up to it, what follows stays in PGN alone"
            self._null = self._null or f"line {token.line}: {where}"
        if text != word:
            mark = word[len(text) :]
            signs = re.findall(r"[!?]+|=$|[⩲⩱±∓∞□]", mark)
            node.nags = tuple(_SUFFIXES.get(sign) or _SYMBOLS.get(sign, 0) for sign in signs if sign)
        self._play(node, move)

    def _parse(self, text: str, word: str) -> chess.Move | None:
        """A move, which stands in the file as ``word``; None for a text that is none. Errors: DataError."""
        try:
            return self._known(text)
        except ValueError as error:
            if not self._board.legal_moves:
                raise _EndedError("the game has ended") from None
            self.stumbled = True
            if isinstance(error, chess.InvalidMoveError):
                raise DataError(f"{quoted(word, 20)} is no move") from None
            kind = str(error).partition(":")[0]  # illegal san or ambiguous san
            raise DataError(f"{kind}: {quoted(word, 20)} in {self._board.fen()}") from error

    def _known(self, text: str) -> chess.Move | None:
        """A move; None for a text that is none. Errors: ValueError."""
        try:
            if self._language is None:
                return self._board.parse_san(text)
        except chess.InvalidMoveError:
            pass
        if text in _NULL:
            return chess.Move.null()
        return self._board.parse_san(letters.in_english(text, self._language)) if letters.is_move(text) else None

    def _play(self, node: Node, move: chess.Move) -> None:
        node.before, self._before = self._before, ""
        parent = self._line[-1]
        if not self._outer and parent is self.tree:
            parent.children.insert(0, node)  # a variation may stand before the first move
        else:
            parent.children.append(node)
        self._line.append(node)
        self._fresh = False
        self._board.push(move)

    # ------------------------------------------------------------------ what stands around them

    @property
    def _node(self) -> Node:
        return self._line[-1]

    def _mark(self, token: Token) -> None:
        if token.kind in "{;":
            self._say(token.text)
        elif token.kind == "$":
            if not 1 <= len(token.text) <= 9:
                raise DataError(f"line {token.line} is no PGN: an annotation is $ and a number")
            if len(self._node.nags) == _MOST_NAGS:
                raise DataError(f"line {token.line} is no PGN: a move has more than {_MOST_NAGS} annotations")
            self._annotate(int(token.text))
        elif token.kind == ")" and self._outer:
            self._close()

    def _annotate(self, nag: int) -> None:
        if nag not in self._node.nags:
            self._node.nags += (nag,)

    def _say(self, text: str) -> None:
        """Add to the comment that stands here."""
        if self._fresh:
            self._before = " ".join(filter(None, (self._before, text)))
            return
        node = self._node
        if node.move and node.seconds is None and (match := _TIME.match(text)):
            node.seconds = 3600 * int(match[1]) + 60 * int(match[2]) + float(match[3])
            text = text[match.end() :]
        node.comment = " ".join(filter(None, (node.comment, text)))

    def _open(self, token: Token) -> None:
        """Begin a variation in place of the last move."""
        self._outer.append((self._line, self._board))
        if len(self._outer) > _DEEPEST:
            self._rest = _Rest(f"line {token.line}: variations nest deeper than {_DEEPEST}")
            return
        board = self._board.copy(stack=1)
        if len(self._line) > 1:
            board.pop()
            self._line = [self._line[-2]]
        else:
            self._line = [self._line[-1]]
        self._board, self._fresh = board, True

    def _close(self) -> None:
        """End a variation."""
        if self._before:  # a variation without a move is a remark
            self._outer[-1][0][-1].comment = " ".join(filter(None, (self._outer[-1][0][-1].comment, self._before)))
        self._line, self._board = self._outer.pop()
        self._fresh, self._before = False, ""

    def record(self) -> Record:
        headers = dict(self._game.headers)
        names = (headers.pop("White", "").strip(), headers.pop("Black", "").strip())
        token = headers.pop("Result", "*")
        reason = _REASONS.get(headers.get("Termination", "").lower(), "")
        ended, notes = self._game.result, [self._strange, self._behind]
        if token in RESULTS and ended in RESULTS and token != ended:
            notes.append(f"the header says {token}, which is taken, and the moves end with {ended}")
        for used in ("FEN", "SetUp"):
            headers.pop(used, None)
        return Record(
            self.tree,
            RESULTS.get(token if token in RESULTS else ended),
            reason,
            names=("" if names[0] == "?" else names[0], "" if names[1] == "?" else names[1]),
            headers={name: value for name, value in headers.items() if ROSTER.get(name) != value},
            fault=self._fault(),
            whole_in="PGN" if self._null and not self._faults else "",
            note="; ".join(filter(None, notes)),
        )

    def _fault(self) -> str:
        """All faults in one sentence."""
        told = [self._null, *self._faults[:_MOST_FAULTS]]
        more = len(self._faults) - _MOST_FAULTS
        told.append(f"and {counted(more, 'more fault')}" if more > 0 else "")
        return "; ".join(filter(None, [*told, self.hint]))

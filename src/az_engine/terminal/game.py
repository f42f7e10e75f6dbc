"""A game in a terminal: lines in, lines out, nothing that moves the cursor."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import TextIO

from ..api.analysis import Analysis
from ..api.engine import Engine
from ..api.limits import Limits
from ..api.position import Outcome, Position
from ..engine.errors import AzError, IllegalMoveError, NetError, OptionError, counted
from ..engine.games.base import Game
from ..engine.os.files import write_atomically
from ..engine.records.formats import format_games, format_named
from ..engine.records.record import Reason
from ..protocols.languages import ENGLISH, translated


def sides_of(game: Game, text: str) -> frozenset[int]:
    """The players (0 the first, 1 the second) that a person plays. Errors: OptionError."""
    named = {side.lower(): frozenset({i}) for i, side in enumerate(game.sides)}
    known = {**named, "first": frozenset({0}), "second": frozenset({1}), "both": frozenset({0, 1}), "none": frozenset()}
    if text.lower() not in known:
        raise OptionError(f"there is no side {text[:20]!r}; choose among {', '.join(known)}")
    return frozenset[int](known[text.lower()])


class TerminalGame:
    """One game between a person and the engine, or two people, or nobody."""

    def __init__(
        self,
        game: Game,
        engine: Engine,
        root: Position,
        yours: Collection[int],
        limits: Limits,
        *,
        words: bool = False,
        pictures: bool = False,
        language: str = ENGLISH,
        opponent: str = "az-engine",
    ) -> None:
        """yours: the players whose moves are read from the input; words: describe the board instead of drawing it.

        pictures: draw pieces as Unicode has them; language: of the sentences; opponent: the engine's name in records.
        """
        self._language, self._opponent = language, opponent
        self._pictures = pictures
        self._winner: int | None = None  # where it ended by more than the rules
        self._outcome: Outcome | None = None  # where it ended by the rules
        self._game, self._engine, self._root, self._limits = game, engine, root, limits
        self._yours = frozenset(yours)
        self._words = words
        self._history = [root]  # positions so far
        self._moves: list[str] = []  # between them, as people write them
        self._over = False
        self._saved: set[Path] = set()  # files that were written here, and may be again
        self._commands: dict[str, tuple[str, Callable[[], None]]] = {
            "help": ("list the commands", self._help),
            "board": ("show the board", self._board),
            "words": ("describe the board in words from now on, or draw it again", self._switch_words),
            "moves": ("list the legal moves", lambda: self._say(" ".join(self._legal()))),
            "record": ("list the moves so far", self._record),
            "save": ("write the game to a file: save game.pgn", self._save),
            "hint": ("ask the engine for a move, without playing it", self._hint),
            "undo": ("take back your last move, and the engine's reply", self._undo),
            "swap": ("change sides: the engine moves for you", self._swap),
            "resign": ("give up", self._resign),
            "new": ("begin again", self._new),
            "quit": ("leave", lambda: None),
        }
        if game.declaration is not None:
            self._commands["declare"] = ("win by entering king, where the rules allow it", self._declare)

    @property
    def _position(self) -> Position:
        return self._history[-1]

    def _say(self, text: str) -> None:
        self._out.write(self._translated(text) + "\n")
        self._out.flush()

    def _notation(self, position: Position, move: str) -> str:
        """A move as people write it, in the script of the game's own country where sentences are not English."""
        if self._language == ENGLISH:
            return position.notation(move)
        return self._game.write_native(position.line, self._game.parse_move(position.line, move))

    def _translated(self, text: str) -> str:
        return translated(text, self._language, self._game.name)

    def _translated_board(self, line: str) -> str:
        """A line of the board, drawn or in words, each name of a piece and a side by itself."""
        if self._language == ENGLISH or " holds " in line or ": " not in line:
            return self._translated(line)
        side, _, pieces = line.partition(": ")
        pieces = re.sub("[a-z]{2,}(?: [a-z]{2,})*", lambda name: self._translated(name[0]), pieces)
        if self._game.pieces == "tiles":  # squares as in moves
            pieces = re.sub("([1-9])([a-i])", lambda at: at[1] + "一二三四五六七八九"["abcdefghi".index(at[2])], pieces)
        return self._translated(f"{side}: {pieces}")

    def run(self, lines: Iterable[str], out: TextIO) -> int:
        """Play until the input ends, `quit` or Ctrl-C; the exit status.

        A blank in front of the person's turn is no move; after the end of a game only commands are read.
        """
        self._out = out
        sides = " and ".join(self._game.sides[i] for i in sorted(self._yours)) or "no side"
        self._say(f"{self._game.name}: you play {sides}. Type a move, or help.")
        try:
            self._board()
            self._engine_moves()
            self._ask()
            for line in lines:
                text = line.strip()
                if text.lower() in ("quit", "exit", "q"):
                    break
                self._obey(text)
                self._engine_moves()
                self._ask()
            else:
                self._say("")  # the input ended behind the prompt
        except KeyboardInterrupt:
            self._say("")
            self._record()
            return 130
        self._record()
        return 0

    def _ask(self) -> None:
        prompt = "The game is over; new, undo or quit" if self._over else f"{self._side()} to move"
        self._out.write(self._translated(f"{prompt}> "))
        self._out.flush()

    def _side(self) -> str:
        return self._game.sides[self._position.turn]

    def _obey(self, text: str) -> None:
        """Do a command or play a move; what is neither gets one sentence."""
        text = re.sub(r"^\d+\s*\.+\s*|[!?]+$", "", text) or text  # as people paste it: 1. e4!
        word, _, self._argument = text.partition(" ")
        whole = text.lower() if word.lower() != "save" else "save"
        _, command = self._commands.get("help" if text == "?" else whole, ("", None))
        try:
            if command is not None:
                command()
            elif self._over and text:
                self._say("the game is over: type new, undo or quit")
            elif text:
                self._play(self._position.read(text))
        except IllegalMoveError as error:
            self._say(f"{error}; type moves for the legal ones, or help")
        except AzError as error:
            self._say(str(error))

    def _play(self, move: str) -> None:
        before = self._position
        self._history.append(before.play(move))
        self._moves.append(self._notation(before, move))
        outcome = self._outcome = self._count()
        if outcome is not None:
            if not self._words:
                self._board()
            if outcome.dead:
                self._say(f"Taken off as dead: {' '.join(outcome.dead)}.")
            lead = abs(outcome.lead or 0)
            points = f" by {lead:g} point{'s' * (lead != 1)}" if lead else ""
            self._end("a draw" if outcome.winner is None else f"{self._game.sides[outcome.winner]} wins{points}")

    def _count(self) -> Outcome | None:
        """How the game ended by the rules; BLOCKS where the net has to tell dead stones."""
        try:
            return self._engine.count(self._position)
        except NetError as error:
            self._say(f"{error}; every stone on the board counts as alive")
            return self._position.outcome

    def _engine_moves(self) -> None:
        """The engine's moves until it is a person's turn or the game is over."""
        while not self._over and self._position.turn not in self._yours:
            side = self._side()
            result = self._engine.play(self._position, self._limits)
            if result.win:
                self._winner = self._position.turn
                self._end(f"{side} declares a win by entering king")
            elif result.resign:
                self._winner = 1 - self._position.turn
                self._end(f"{side} resigns")
            elif result.move is None:
                self._end("there is no move left")
            else:
                word, opinion = self._notation(self._position, result.move), self._opinion(result.info)
                self._say(f"{side} plays {word}. {opinion}".rstrip())
                self._play(result.move)
                if not (self._words or self._over):
                    self._board()

    @staticmethod
    def _opinion(info: Analysis) -> str:
        """What the mover expects; empty without a search."""
        if not info.lines:
            return ""
        return "Expects win {}%, draw {}%, loss {}%.".format(*info.wdl.shares(100))

    def _end(self, how: str) -> None:
        self._over = True
        self._say(f"{how[0].upper()}{how[1:]}.")

    # ------------------------------------------------------------------ commands

    def _help(self) -> None:
        for name, (what, _) in self._commands.items():
            self._say(f"{name}: {what}")
        if self._game.territory is not None:
            self._say(
                "Two passes end the game. By Tromp-Taylor rules every stone then counts as alive, so capture dead ones "
                "first; by others those that the net judges dead are taken off."
            )

    def _board(self) -> None:
        drawn = self._position.words if self._words else f"\n{self._position.drawn(pictures=self._pictures)}\n"
        self._out.write("\n".join(map(self._translated_board, drawn.split("\n"))) + "\n")
        self._out.flush()

    def _switch_words(self) -> None:
        self._words = not self._words
        self._board()

    def _legal(self) -> list[str]:
        return [self._notation(self._position, move) for move in self._position.legal_moves]

    def _record(self) -> None:
        self._say(f"{counted(len(self._moves), 'move')}: {' '.join(self._moves)}" if self._moves else "no moves yet")

    def _hint(self) -> None:
        if self._over:
            self._say("the game is over: type new, undo or quit")
            return
        info = self._engine.analyse(self._position, self._limits)
        self._say(
            f"{self._notation(self._position, info.pv[0])}. {self._opinion(info)}"
            if info.pv
            else "there is no move left"
        )

    def _undo(self) -> None:
        if self._winner is not None and self._position.turn in self._yours:  # who moves has given up, or declared a win
            self._over, self._winner = False, None
            self._say("the game goes on")
            return
        if not self._moves:
            self._say("there is nothing to take back")
            return
        was = len(self._moves)
        while self._moves:
            self._history.pop()
            self._moves.pop()
            if self._position.turn in self._yours:
                break
        self._over, self._winner, self._outcome = False, None, None
        self._say(f"took back {was - len(self._moves)} of {counted(was, 'move')}")
        self._board()

    def _swap(self) -> None:
        self._yours = frozenset({0, 1}) - self._yours
        self._say(f"you play {' and '.join(self._game.sides[i] for i in sorted(self._yours)) or 'no side'}")

    def _resign(self) -> None:
        if self._over:
            self._say("the game is over: type new, undo or quit")
        else:
            self._winner = 1 - self._position.turn
            self._end(f"{self._side()} resigns")

    def _save(self) -> None:
        name = self._argument.strip()
        if not name:
            form = self._game.record_formats[0]
            self._say(f"give it a name, as in: save game{form.suffixes[0]}")
            return
        form = format_named(self._game.record_formats, name, to_write=True)
        reason: Reason = "resignation" if self._winner is not None else ""
        first, second = ("Human" if player in self._yours else self._opponent for player in (0, 1))
        record = self._position.record(self._winner, reason=reason, names=(first, second), outcome=self._outcome)
        record.headers["Date"] = datetime.now().astimezone().strftime("%Y.%m.%d")
        text = format_games([record], form)
        try:
            path = Path(name).expanduser()
            whole = path.resolve()
            if path.exists() and whole not in self._saved:
                raise OptionError(f"{name} is there already; name another file")
            if not whole.parent.is_dir():
                raise OptionError(f"there is no folder {whole.parent}; name another file")
            write_atomically(path, form.encode(text, name))
        except (OSError, RuntimeError) as error:  # RuntimeError: ~ of nobody
            why = error.strerror if isinstance(error, OSError) else error
            raise OptionError(f"{name} cannot be written ({why}); give another name") from error
        self._saved.add(whole)
        self._say(f"written: {name}")

    def _declare(self) -> None:
        declaration = self._game.declaration
        if not self._over and declaration is not None and declaration.possible(self._position.line):
            self._winner = self._position.turn
            self._end(f"{self._side()} wins by declaration")
        else:
            self._say("the rules do not allow a declaration here")

    def _new(self) -> None:
        self._history, self._moves, self._over, self._winner = [self._root], [], False, None
        self._outcome = None
        self._engine.new_game()
        self._board()

"""Regression suites of Go programs, such as GNU Go's .tst files: GTP commands, each question with its answers below it.

    loadsgf games/seki04.sgf
    1 reg_genmove white
    #? [B2|B1|A2]

The words in brackets are a regular expression; with ! before them the answer must not match it. A star behind them, for
answers that the suite's own program misses, means nothing here. Files are named from the suite's folder.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...engine.errors import DataError
from ...engine.limits import Limits
from ...protocols.clients.gtp import GtpClient
from ...protocols.lines import one_line
from ..match.players import PlayerSpec
from .players import READY_S, running, track

QUESTION: Final = "reg_genmove"
SET_UP: Final = frozenset(
    "boardsize rectangular_boardsize clear_board komi kata-set-rules play black white undo loadsgf fixed_handicap "
    "set_free_handicap".split()
)
ANEW: Final = ("loadsgf", "clear_board", "boardsize")
_ANSWER = re.compile(r"#\?\s*\[(!?)(.*)\]\S*\s*")
_COMMAND = re.compile(r"(?:(\d+)\s+)?(\S+)\s*(.*)")


@dataclass(frozen=True, slots=True)
class Question:
    """A command that asks for a move, and the moves that are right."""

    name: str
    commands: tuple[str, ...]  # since the question before
    colour: str  # as GTP writes it
    pattern: str
    refused: bool  # right is what does not match

    def solved_by(self, move: str | None) -> bool:
        return move is not None and bool(re.fullmatch(self.pattern, move, re.IGNORECASE)) != self.refused

    @property
    def mover(self) -> int:
        """Who is to move: 0 Black, 1 White."""
        return int(self.colour[:1].lower() == "w")

    @property
    def solution(self) -> str:
        words = self.pattern.strip("()").replace("|", ", ")
        return f"not {words}" if self.refused else words

    def san(self, move: str | None) -> str:
        return move or "no move"


def read_regression(path: Path) -> list[Question]:
    """The questions for a move in a .tst file; other questions are left out, with their number on stderr.

    Errors: DataError for a file that cannot be read or asks for no move.
    """
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a suite in EPD or a .tst file") from error
    result, commands, request, others = list[Question](), list[str](), ("", ""), 0
    for number, line in enumerate(lines, 1):
        answer = _ANSWER.fullmatch(line)
        if answer is not None and request[0]:
            try:
                re.compile(answer[2])
            except re.error as error:
                print(f"{path.name}, line {number}: {error}; it is skipped", file=sys.stderr)
                continue
            name, colour = request
            result.append(Question(f"{path.stem} {name}", tuple(commands), colour, answer[2], answer[1] == "!"))
            commands, request = [], ("", "")
        command = _COMMAND.match(line.partition("#")[0].strip())
        if command is None:
            continue
        if command[2] == QUESTION:
            request = (command[1] or f"line {number}", command[3].strip() or "black")
            continue
        request = ("", "")
        if command[2] in SET_UP:
            commands.append(_located(f"{command[2]} {command[3]}".strip(), path.parent))
        else:
            others += 1
    if not result:
        raise DataError(f"{path} asks for no move: it has no {QUESTION} with an answer such as #? [D4|E5] below it")
    if others:
        print(f"{path.name}: left out are commands that ask for no move: {others}", file=sys.stderr)
    return result


def _located(command: str, folder: Path) -> str:
    """A command with the whole path of the file that it loads."""
    word, *arguments = command.split()
    if word == "loadsgf" and arguments:
        arguments[0] = str((folder / arguments[0]).resolve())
    return " ".join((word, *arguments))


def answers_of(spec: PlayerSpec, questions: Sequence[Question]) -> list[str | None]:
    """The move that a player chooses at each question; None: it resigns, or refuses the position. BLOCKS.

    A player without reg_genmove, such as KataGo, plays its move, and takes it back.

    Errors: EngineProcessError, NetError.
    """
    limits, moves = Limits(nodes=spec.limit.nodes, movetime=spec.limit.movetime_ms), list[str | None]()
    with running(spec, "go") as player:
        assert isinstance(player, GtpClient)
        word = QUESTION if QUESTION in player.offered else "genmove"
        lost = False  # its board is not the suite's
        for question in track(questions, spec.name):
            lost &= not any(command.startswith(ANEW) for command in question.commands)
            move = None
            for command in () if lost else (*question.commands, f"{word} {question.colour}"):
                if command.startswith(word):
                    player.limit(limits, question.mover)
                success, text = player.ask(command, READY_S + (limits.movetime or 0) / 1000)
                if not success:
                    print(f"{question.name}: {spec.name} refuses {command}: {one_line(text, 80)}", file=sys.stderr)
                    lost = True
                    break
                move = text.upper()
            moves.append(None if lost or move == "RESIGN" else move)
            if word != QUESTION and not lost and move != "RESIGN":
                lost = not player.ask("undo", READY_S)[0]
    return moves

"""An engine process for tests, which speaks UCI, USI or GTP and does what its command line says.

Without answers it weighs the legal moves of chess, shogi or Go by a hash of the position; see :func:`score`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, str(Path(__file__))]
FAULTS = ("close", "die", "exit", "flood", "hang", "refuse", "slow", "spam", "wrong-id")
CHECKED = ("MultiPV type spin default 1 min 1 max 500", "Threads type spin default 1 min 1 max 8")
GTP = "protocol_version name list_commands boardsize clear_board komi play genmove time_settings time_left quit Log"


def score(position: str, move: str) -> int:
    """Centipawns of a move of chess or shogi in -300..300."""
    return zlib.crc32(f"{position} {move}".encode()) % 601 - 300


def visits(position: str, what: str) -> int:
    """Visits of a move of Go in 5..104, and the source of whatever else is said of a position."""
    return zlib.crc32(f"{position} {what}".encode()) % 100 + 5


def say(text: str) -> None:
    """Write at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def fail(fault: str) -> None:
    """Go wrong in a way that needs no protocol."""
    if fault == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "exit":
        sys.exit(3)
    if fault == "close":
        os.close(1)
    if fault in ("close", "hang"):
        time.sleep(60)
    if fault == "slow":
        time.sleep(0.4)
    while fault == "flood":
        say("no line of any protocol\n" * 1000)
    while fault == "spam":
        say("info depth 1 score cp 1 pv e2e4\ninfo move E5 visits 1 winrate 0.5 order 0 pv E5\n" * 100)


class Board:
    """A position of chess or shogi, by a library that is not ours; ``words`` stand behind ``position``."""

    def __init__(self, protocol: str, words: list[str]) -> None:
        library: Any = importlib.import_module("chess" if protocol == "uci" else "shogi")
        end = words.index("moves") if "moves" in words else len(words)
        self._board = library.Board() if words[:1] == ["startpos"] else library.Board(" ".join(words[1:end]))
        self._push: Callable[[str], object] = getattr(self._board, f"push_{protocol}")
        for move in words[end + 1 :]:
            self._push(move)
        text = self._board.fen() if protocol == "uci" else self._board.sfen()
        moves = [getattr(move, protocol)() for move in self._board.legal_moves]
        self.best_first: list[str] = sorted(moves, key=lambda move: (-score(text, move), move))
        self.scores = [score(text, move) for move in self.best_first]

    def mates(self, move: str) -> bool:
        """Whether the move ends the game."""
        self._push(move)
        mates = bool(self._board.is_checkmate())
        self._board.pop()
        return mates


class Goban:
    """A game of Go, by our own rules."""

    def __init__(self) -> None:
        self._size, self._komi, self._rules = "9", "7", "chinese-ogs"
        self._set_up()

    def _set_up(self) -> None:
        from az_engine.engine.games import get_game

        self._game = get_game(f"go{self._size}")
        rows = "/".join([self._size] * int(self._size))
        self._line = self._game.parse_position(f"{rows} b - {self._komi} {self._rules} 0 0 0")[0]

    def hear(self, name: str, words: list[str]) -> bool:
        """Take part in a command. False when it cannot be obeyed."""
        if name == "boardsize":
            self._size = words[0]
        elif name == "komi":
            self._komi = words[0]
        elif name == "kata-set-rules":
            self._rules = words[0]
        elif name == "play":
            if "bw"[self._game.side_to_move(self._line[-1])] != words[0]:
                return False
            self._line = self._game.play(self._line, self._game.parse_move(self._line, words[1]))
        if name in ("boardsize", "clear_board", "komi", "kata-set-rules"):
            self._set_up()
        return True

    def report(self, command: str, words: list[str], *, owners: bool) -> str:
        """One line of an analysis."""
        position = self._game.format_position(self._line[-1])
        chance = visits(position, "chance") / 105
        legal = [self._game.format_move(self._line[-1], int(move)) for move in self._game.legal_moves(self._line)]
        most = int(words[words.index("maxmoves") + 1]) if "maxmoves" in words else 9
        kata = command.startswith("kata")
        winrate = f"{chance:.6f} scoreMean 2.5 scoreStdev 9 scoreLead 2.5" if kata else str(round(10_000 * chance))
        parts = []
        for order, move in enumerate(sorted(legal, key=lambda move: (-visits(position, move), move))[:most]):
            count = visits(position, move)
            parts.append(f"info move {move} visits {count} winrate {winrate} prior 0.1 order {order} pv {move}")
        if owners and "ownership" in words:
            point = "0.98" if visits(position, "owner") > 50 else "-0.5"
            parts.append("ownership" + f" {point}" * int(self._size) ** 2)
        return " ".join(parts)


class Program:
    """What the protocols have in common: answers, faults and the log."""

    def __init__(self, script: argparse.Namespace) -> None:
        self.script = script
        self._heard: Counter[str] = Counter()
        self._log = Path(os.devnull)
        self._faults = []
        for text in script.fault:
            command, _, fault = text.rpartition("=")
            command, _, number = (command or ("genmove" if script.protocol == "gtp" else "go")).partition("@")
            self._faults.append((command, int(number or 1), fault))

    def hear(self, command: str, line: str, log: str = "") -> str:
        """Note a command. Returns what goes wrong at it and the protocol has to do: an answer, or nothing."""
        if log:
            self._log = Path(log)
        with self._log.open("a") as file:
            file.write(line + "\n")
        self._heard[command] += 1
        for name, number, fault in self._faults:
            if name == command and self._heard[command] >= number:
                fail(fault)
                return "" if fault == "slow" else fault
        return ""

    def answer(self, ply: int) -> str:
        """The scripted answer after so many plies."""
        text: str = self.script.answers[ply % len(self.script.answers)]
        fault, _, rest = text.partition("=")
        if fault not in FAULTS:
            return text
        fail(fault)
        return rest


class UciProgram(Program):
    """UCI and USI."""

    def __init__(self, script: argparse.Namespace) -> None:
        super().__init__(script)
        self._position = ["startpos"]
        self._multipv = 1

    def greet(self) -> None:
        hash_name = "Hash" if self.script.protocol == "uci" else "USI_Hash"
        options = ["Log type string default <empty>", *self.script.offers]
        if not self.script.answers:
            options += [*CHECKED, f"{hash_name} type spin default 16 min 1 max 64"]
        if self.script.wdl:
            options.append("UCI_ShowWDL type check default false")
        lines = ["banner", "id name Fake  One", "id author nobody", *(f"option name {text}" for text in options)]
        say("\n".join([*lines, f"{self.script.protocol}ok"]) + "\n")

    def think(self, limits: list[str], instead: str) -> None:
        """Answer ``go``, or say something ``instead``."""
        if self.script.answers:
            ply = len(self._position) - self._position.index("moves") - 1 if "moves" in self._position else 0
            say("".join(f"{line}\n" for line in self.script.info))
            if not {"infinite", "ponder"} & set(limits):
                say(f"bestmove {instead or self.answer(ply)}\n")
            return
        board = Board(self.script.protocol, self._position)
        for index, move in enumerate(board.best_first[: self._multipv]):
            value = "mate 1" if board.mates(move) else f"cp {board.scores[index]}"
            wdl = " wdl 600 300 100" if self.script.wdl else ""
            say(f"info depth 3 multipv {index + 1} score {value}{wdl} nodes {limits[-1]} pv {move}\n")
        say(f"bestmove {instead or board.best_first[0]}\n")

    def run(self) -> None:
        for line in sys.stdin:
            words = line.split()
            instead = self.hear(words[0], line.strip(), words[4] if words[2:3] == ["Log"] else "")
            match words:
                case ["uci" | "usi"]:
                    self.greet()
                case ["isready"]:
                    say("readyok\n")
                case ["setoption", "name", "MultiPV", "value", count]:
                    self._multipv = int(count)
                case ["position", *position]:
                    self._position = position
                case ["go", "perft", depth]:
                    say(f"Nodes searched: {20 if depth == '1' else 400}\n")
                case ["go", *limits]:
                    self.think(limits, instead)
                case ["stop"] | ["ponderhit"]:
                    say(f"bestmove {self.answer(0).split()[0]}\n")
                case ["quit"]:
                    return


class GtpProgram(Program):
    """GTP."""

    def __init__(self, script: argparse.Namespace) -> None:
        super().__init__(script)
        self._goban = None if script.answers else Goban()
        self._known = [*GTP.split(), *script.offers, *(["final_score"] if script.score else [])]
        self._ply = 0

    def analyse(self, number: str, name: str, words: list[str]) -> None:
        """Answer a command that reports: at once and with a move, or until the next command comes."""
        if self._goban is not None:
            say(f"={number}\n{self._goban.report(name, words, owners=self.script.owners)}\n")
        else:
            say(f"={number}\n" + "".join(f"{line}\n" for line in self.script.info))
        if name.endswith("genmove_analyze"):
            say(f"play {self.answer(self._ply)}\n\n")
            self._ply += 1
            return
        number = sys.stdin.readline().split()[0]
        say(f"\n={number}\n\n")

    def run(self) -> None:
        for line in sys.stdin:
            number, name, *words = line.split()
            instead = self.hear(name, " ".join([name, *words]), words[0] if name == "Log" else "")
            refused = name not in self._known or instead == "refuse"
            if self._goban is not None and not refused:
                refused = not self._goban.hear(name, words)
            if refused:
                say(f"?{number} refused\n\n")
                continue
            if name.endswith("analyze"):
                self.analyse(number, name, words)
                continue
            if name in ("boardsize", "clear_board"):
                self._ply = 0
            said = {"name": "Fake  One", "list_commands": "\n".join(self._known), "final_score": self.script.score}
            if instead == "wrong-id":
                number = "999"
            elif name == "genmove":
                said[name] = instead or self.answer(self._ply)
            if name in ("play", "genmove"):
                self._ply += 1
            say(f"={number} {said.get(name, '')}\n\n")
            if name == "quit":
                return


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("protocol", choices=["uci", "usi", "gtp"])
    parser.add_argument("answers", nargs="*", help="by ply, over and over; die, slow=MOVE...: a fault instead or first")
    parser.add_argument("--fault", action="append", default=[], help="[COMMAND[@N]=]FAULT, from its N-th time on")
    parser.add_argument("--offers", action="append", default=[], help="an option's line, or a command of GTP")
    parser.add_argument("--info", action="append", default=[], help="a line before each answer")
    parser.add_argument("--complaint", default="", help="written to stderr at the start")
    parser.add_argument("--score", default="", help="what it counts at the end, over GTP")
    parser.add_argument("--wdl", action="store_true", help="tell chances in UCI")
    parser.add_argument("--owners", action="store_true", help="tell who owns what in GTP")
    return parser.parse_args(words)


def main() -> None:
    """Talk, more or less."""
    script = parse()
    sys.stderr.write(script.complaint)
    sys.stderr.flush()
    program = GtpProgram(script) if script.protocol == "gtp" else UciProgram(script)
    program.hear("start", "")
    program.run()


if __name__ == "__main__":
    main()

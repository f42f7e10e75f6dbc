"""Compare the rules of Go with GNU Go over random games: legality, boards, captures, and the score of settled boards.

GNU Go plays by the ko rule that its options name and is asked for all legal moves before every move. One thing is
left out: suicides that bring an earlier board back (that of a single stone always does); superko forbids them, that
of a single stone all rules here, but GNU Go does not look there. Its counts are compared at the end of games in which
nobody fills an own eye, where every stone left should be alive.
"""

from __future__ import annotations

import itertools
import random
import re
import shutil
import subprocess
from collections import Counter

import numpy as np

from az_engine.engine.games import get_game
from az_engine.engine.games.go import Go
from az_engine.engine.games.go.notation import vertex
from az_engine.engine.games.go.rulesets import NO_BONUS, POSITIONAL, SIMPLE, SITUATIONAL, RuleSet
from az_engine.engine.games.go.score import GoTerritory
from az_engine.engine.games.go.state import BLACK, EMPTY, WHITE, State, stones_to_array

from .naive import put

KO = {POSITIONAL: ["--positional-superko"], SITUATIONAL: ["--situational-superko"], SIMPLE: ["--simple-ko"]}
COLOURS = ("black", "white")


class GnuGo:
    """One GNU Go process."""

    def __init__(self, ko: int, suicide: bool) -> None:
        path = shutil.which("gnugo") or "/usr/games/gnugo"
        options = [*KO[ko], "--allow-all-suicide" if suicide else "--forbid-suicide", "--chinese-rules"]
        self.process = subprocess.Popen(
            [path, "--mode", "gtp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, command: str) -> str:
        """The reply, without its mark; ValueError for a failure."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if not line.strip():
                break
            lines.append(line.strip())
        text = " ".join(lines)
        if not text.startswith("="):
            raise ValueError(f"{command}: {text}")
        return text[1:].strip()

    def close(self) -> None:
        """End the process."""
        self.ask("quit")
        self.process.communicate()


def own_eye(board: np.ndarray, size: int, point: int, colour: int) -> bool:
    """Whether all neighbours of an empty point and all but one of its diagonals (none at the edge) are ``colour``."""
    row, column = divmod(point, size)
    diagonals = bad = 0
    for dr, dc in itertools.product((-1, 0, 1), repeat=2):
        r, c = row + dr, column + dc
        if (dr, dc) == (0, 0) or not (0 <= r < size and 0 <= c < size):
            continue
        mine = board[r * size + c] == colour
        if 0 in (dr, dc):
            if not mine:
                return False
        else:
            diagonals += 1
            bad += not mine
    return bad == 0 or (diagonals == 4 and bad == 1)


def is_suicide(state: State, move: int, *, alone: bool) -> bool:
    """Whether a stone put there, ko aside, is taken off at once; alone: and no other."""
    board = tuple(stones_to_array(state).tolist())
    after = put(int(state["columns"]), board, move, int(state["turn"]))
    return after[move] == EMPTY and (not alone or after == board)


def compare(gnugo: GnuGo, size: int, ko: int, suicide: bool, rng: random.Random, seen: Counter[str]) -> str:
    """Play one random game in both; "" or the first difference."""
    game = get_game(f"go{size}")
    assert isinstance(game, Go)
    gnugo.ask(f"boardsize {size}")
    gnugo.ask("clear_board")
    gnugo.ask("komi 7.5")
    limit = 3 * size * size
    line = np.repeat(game.initial(7.5), limit + 2)
    line[0]["rules"] = RuleSet("", ko, suicide, NO_BONUS).flags
    clean = rng.random() < 0.5  # no own eye is filled: the game comes to an end
    taken = [0, 0]
    moves: list[str] = []
    for ply in range(limit):
        what = f"{size}x{size}, ko {ko}, suicide {suicide}, after {' '.join(moves)}"
        colour = int(line[ply]["turn"])
        board = stones_to_array(line[ply])
        legal = game.legal_moves(line[: ply + 1]).tolist()[:-1]
        theirs = set(gnugo.ask(f"all_legal {COLOURS[colour]}").split())
        mine = {vertex(p, size, size).upper() for p in legal}
        if mine != theirs and suicide:
            names = {vertex(p, size, size).upper(): p for p in range(size * size)}
            suicides = {v for v in theirs - mine if is_suicide(line[ply], names[v], alone=ko == SIMPLE)}
            theirs -= suicides
            seen["suicides forbidden"] += len(suicides)
        if mine != theirs:
            return f"{what}: ours alone {sorted(mine - theirs)}, theirs alone {sorted(theirs - mine)}"
        for side in (BLACK, WHITE):
            stones = set(gnugo.ask(f"list_stones {COLOURS[side]}").split())
            if stones != {vertex(int(p), size, size).upper() for p in np.flatnonzero(board == side)}:
                return f"{what}: other stones"
            if int(gnugo.ask(f"captures {COLOURS[side]}")) != taken[1 - side]:
                return f"{what}: other captures"
        seen["positions"] += 1
        choices = [p for p in legal if not (clean and own_eye(board, size, p, colour))]
        move = rng.choice(choices) if choices and (clean or rng.random() < 0.99) else size * size
        gnugo.ask(f"play {COLOURS[colour]} {vertex(move, size, size)}")
        game.play_at(line, ply, move)
        moves.append(vertex(move, size, size))
        after = stones_to_array(line[ply + 1])
        for side in (BLACK, WHITE):
            placed = move < size * size and side == colour
            taken[side] += int((board == side).sum() + placed - (after == side).sum())
        if line[ply + 1]["passes"] >= 2:
            break
    seen["games"] += 1
    seen["captures"] += sum(taken)
    if clean and not choices and size <= 19:
        seen["counted"] += 1
        said = gnugo.ask("final_score")
        found = re.match(r"([BW])\+([0-9.]+)", said)
        theirs_score = 0.0 if found is None else float(found[2]) * (1 if found[1] == "B" else -1)
        ours = GoTerritory().score(line[ply + 1])[0]
        if theirs_score != ours:
            seen["counted otherwise"] += 1
            owner = GoTerritory().score(line[ply + 1])[1].reshape(size, size)
            print(f"{what}: {said} instead of {ours:+}; ours:")
            print("\n".join("".join("XO."[c] for c in row) for row in owner))
    return ""

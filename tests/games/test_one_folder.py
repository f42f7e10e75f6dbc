"""One folder is enough: every command takes a game that nothing outside its folder knows."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import RUNNING

from ..protocols.process import EngineProcess
from . import DIRECTORY

NEW = ("connect_four", "tictactoe")
ENVIRONMENT = {"AZ_ENGINE_GAMES": str(DIRECTORY)}


def az_engine(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-m", "az_engine", *map(str, words)]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("name", NEW)
def test_it_plays_over_its_protocol(name: str) -> None:
    """Whole games of random and of searched moves, from its own notation of positions, too."""
    game, rng = get_game(name), random.Random(1)
    flags = ("--game", name, "--weights-file", "uniform", "--hash", "16", "--threads", "1")
    with EngineProcess(*flags, env=ENVIRONMENT) as engine:
        greeting = engine.ask([game.protocol], "uciok")
        assert any("Hash" in line for line in greeting)
        assert not any(name in line for line in greeting for name in ("Chess960", "Elo", "MatePlies"))
        engine.ask(["isready"], timeout=200)
        for root in (None, game.format_position(game.play(game.initial(), 0)[-1])):
            line = game.initial() if root is None else game.parse_position(root)[0]
            moves: list[str] = []
            while game.outcome(line) == RUNNING:
                here = "startpos" if root is None else f"fen {root}"
                best = engine.ask([f"position {here} moves {' '.join(moves)}", "go nodes 30"], "bestmove")[-1].split()[
                    1
                ]
                legal = game.legal_moves(line)
                move = game.parse_move(line, best) if len(moves) % 2 else rng.choice(legal.tolist())
                assert game.parse_move(line, best) in legal
                moves.append(game.format_move(line[-1], move))
                line = game.play(line, move)
        assert "Nodes searched" in engine.ask(["position startpos", "go perft 2"], "Nodes")[-1]
        engine.send("quit")
        assert engine.end(10)[0] == 0


def test_the_wrong_protocol_is_told_in_one_sentence() -> None:
    for words, sentence in (
        (("usi", "--game", "connect_four"), "is played over UCI: start az-engine uci --game connect_four"),
        (("uci", "--game", "connect_four", "--chess960"), "--chess960 means nothing to connect_four"),
        (("uci", "--game", "ludo"), "no game is called 'ludo'"),
    ):
        done = az_engine(*words)
        assert done.returncode == 2
        assert done.stdout == ""
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1

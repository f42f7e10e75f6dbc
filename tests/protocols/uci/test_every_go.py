"""Exactly one legal answer for each search asked for: nets that fail, the end of the input, floods of lines."""

from __future__ import annotations

import random
import resource
import threading
from collections.abc import Callable
from typing import Any

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.params import EngineOptions
from az_engine.protocols.uci.uci import UciSession

from ...engine.failing import FAULTS, let_fail
from ...fakes.engine import FakeShogiEngine, faulty
from ..gtp.talk import GtpTalk
from ..talk import INFO, READY, Talk, UsiTalk

START = {"hash": 16, "threads": 2}


def real(game: str) -> Callable[[EngineOptions], Engine]:
    return lambda options: Engine(game, options)


def legal(game: str, moves: list[str]) -> list[str]:
    rules = get_game(game)
    line = rules.initial()
    for text in moves:
        line = rules.play(line, rules.parse_move(line, text))
    return [rules.format_move(line[-1], int(move)) for move in rules.legal_moves(line)]


def commands(game: str, rng: random.Random) -> tuple[list[str], list[list[str]]]:
    """Lines of a session, and the moves before each ``go``."""
    lines, asked = ["isready"], []
    moves: list[str] = []
    for _ in range(5):
        if rng.random() < 0.5:
            moves = []
            for _ in range(rng.randrange(8)):
                moves.append(rng.choice(legal(game, moves)))
            lines.append(" ".join(["position startpos moves", *moves]))
        lines.append(rng.choice(["go nodes 20", "go infinite", "go movetime 30", "go depth 2", "go ponder"]))
        asked.append([*moves])
        lines += rng.choice(
            [[], ["stop"], ["ponderhit"], ["isready"], ["ponderhit", "stop"], ["setoption name Hash value 17"]]
        )
    return [*lines, rng.choice(["stop", "isready", "ponderhit"])], asked


@pytest.mark.parametrize(("talk", "game"), [(Talk, "chess"), (UsiTalk, "shogi")])
@pytest.mark.parametrize("seed", range(2))
def test_sessions_with_nets_that_fail(monkeypatch: pytest.MonkeyPatch, talk: type[Talk], game: str, seed: int) -> None:
    let_fail(monkeypatch)
    rng = random.Random(seed)
    lines, asked = commands(game, rng)
    weights = f"{rng.choice(FAULTS[:4])}-{rng.randrange(12)}"
    with talk(real(game), {**START, "weights_file": weights}) as session:
        session.patience_s = 120.0
        session.send(*lines)
        session.close_input()
        answers = [line.split()[1] for line in session.rest() if line.startswith("bestmove")]
    assert len(answers) == len(asked)
    for move, moves in zip(answers, asked, strict=True):
        assert move in legal(game, moves), (lines, weights)


@pytest.mark.parametrize("fault", FAULTS[:4])
def test_go_with_nets_that_fail(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    let_fail(monkeypatch)
    rng = random.Random(fault)
    names = ("genmove b", "genmove w", "reg_genmove b", "lz-genmove_analyze w 10", "kata-analyze b 5")
    lines = ["boardsize 9", *(rng.choice(names) for _ in range(8))]
    with GtpTalk(real("go"), weights_file=f"{fault}-{rng.randrange(12)}") as session:
        session.send(*lines)
        session.close_input()
        responses = [session.response() for _ in lines]
    for line, response in zip(lines, responses, strict=True):
        assert response.startswith("="), (line, response)
        if "genmove" in line:
            assert response.split()[-1] in ("pass", *(f"{x}{y}" for x in "ABCDEFGHJ" for y in range(1, 10)))


@pytest.mark.slow
@pytest.mark.parametrize("talk", [Talk, UsiTalk])
def test_the_end_of_the_input_waits_for_what_was_asked(talk: type[Talk]) -> None:
    gate = threading.Event()
    make = faulty(gate=gate) if talk is Talk else faulty(FakeShogiEngine, gate=gate)
    with talk(make) as session:
        session.send("isready", "position startpos", "go nodes 10", "go infinite")
        session.close_input()
        session.silence(1.5)
        gate.set()
        answers = [line for line in session.rest() if line.startswith("bestmove")]
    assert len(answers) == 2
    assert not any("none" in line or "resign" in line for line in answers)


def test_the_end_of_the_input_does_not_stop_a_move() -> None:
    with GtpTalk(move_time=0.5) as session:
        session.send("boardsize 5", "genmove b")
        session.close_input()
        assert [session.response(), session.response()[:2]] == ["=", "= "]


def test_a_closed_output_ends_the_wait_after_the_end_of_the_input() -> None:
    talk = Talk()
    talk.run(READY)
    talk.send("go nodes 1000000000")
    talk.close_input()
    talk.until(INFO)
    talk.writer.close()  # as a write to a closed pipe does
    assert talk.status() == 0


@pytest.mark.slow
def test_many_searches_and_stops_are_counted_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command looks at few searches, however many wait."""
    stops: list[object] = []
    stop = UciSession._stop  # noqa: SLF001

    def count(session: UciSession, go: Any) -> None:
        stops.append(go)
        stop(session, go)

    monkeypatch.setattr(UciSession, "_stop", count)
    gate = threading.Event()
    pairs = 500
    with Talk(faulty(gate=gate)) as talk:
        talk.send("position startpos", *["go nodes 10", "stop"] * pairs)
        talk.send("isready", "quit")
        answers = [line for line in talk.rest() if line.startswith("bestmove")]
    gate.set()
    assert len(answers) == pairs
    assert len(stops) <= 2 * pairs


def test_a_flood_of_positions_is_bounded_in_memory() -> None:
    """Each line would take 15 MB as words; those beyond the bound are thrown away, and said to be."""

    def megabytes() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

    long = "position startpos moves " + "e2e4 " * 200_000
    with Talk() as talk:
        talk.run(READY)
        talk.send("go infinite")
        talk.until(INFO)
        before = megabytes()
        for _ in range(60):
            talk.raw(long.encode() + b"\n")
        talk.send("isready", "go nodes 10", "stop")
        talk.until("readyok")
        lines = talk.until("bestmove .*")
        assert lines[-1] == "bestmove a2a3 ponder a7a5"
        lines = talk.until("bestmove .*")
        assert megabytes() - before < 200
        said = "\n".join(lines)
        assert "too much was waiting: " in said
        assert lines[-1] == "bestmove (none)"  # it is not known in which position
        talk.send("position startpos", "go nodes 10")
        talk.until("bestmove a2a3 ponder a7a5")

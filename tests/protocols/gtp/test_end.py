"""The end of a game over GTP: scores, dead stones, passing, cleaning up, resigning."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from az_engine.engine.clock import Stopwatch
from az_engine.engine.engine import Engine
from az_engine.engine.info import BestMove, Estimate, Wdl
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions
from az_engine.engine.thinking import OnDone, OnInfo
from az_engine.protocols.gtp.board import Size, vertex
from az_engine.protocols.gtp.game import GoEngine, GtpGame
from az_engine.protocols.gtp.rules import read_rules

from .talk import SUICIDE, GtpTalk, engine_that_says


def test_the_score_without_a_net_counts_every_stone_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "komi 0.5", "play b C3")
        assert talk.ask("final_score", "play w A1", "final_score") == ["= B+24.5", "=", "= W+0.5"]
        assert talk.ask("final_status_list alive", "final_status_list dead", "final_status_list seki") == [
            "= C3\nA1",
            "=",
            "=",
        ]
        talk.ask("komi 0", "clear_board", "kata-set-rules chinese", "set_free_handicap B2 D4")
        assert talk.one("final_score") == "= B+23", "white gets a point for each handicap stone"
        assert talk.ask("clear_board", "final_score") == ["=", "= 0"]
    assert "every stone on the board counts as alive" in capfd.readouterr().err


def black_owns(position: str) -> list[float]:
    """A net that believes in black."""
    return [1.0 if position.split()[1] == "b" else -1.0] * 25


def test_the_score_with_a_net_leaves_dead_stones_out() -> None:
    with GtpTalk(engine_that_says(black_owns)) as talk:
        talk.ask("boardsize 5", "komi 0.5", "play b C3", "play w A1", "play w B1")
        assert talk.ask("final_status_list dead", "final_status_list alive", "final_score") == [
            "= A1 B1",
            "= C3",
            "= B+24.5",
        ]


def test_by_tromp_taylor_nothing_is_dead_after_two_passes() -> None:
    with GtpTalk(engine_that_says(black_owns)) as talk:
        talk.ask("boardsize 5", "komi 0.5", "play b C3", "play w A1", "play b pass")
        assert talk.ask("final_status_list dead", "final_score") == ["= A1", "= B+24.5"]
        talk.one("play w pass")
        assert talk.ask("final_status_list dead", "final_score") == ["=", "= W+0.5"]
        talk.ask("kata-set-rules chinese")
        assert talk.ask("final_status_list dead", "final_score") == ["= A1", "= B+24.5"]


SEKI = (".OO.XXXX.", "OOOOXXXXX", "XXXXOOOOO", *["...XO...."] * 6)  # two groups with an eye each, D9 between them


def place(rows: Sequence[str]) -> str:
    """The command that sets up a drawing."""
    size = Size(len(rows[0]), len(rows))
    stones = [
        f"{'b' if stone == 'X' else 'w'} {vertex(row * size.columns + column, size)}"
        for row, line in enumerate(rows)
        for column, stone in enumerate(line)
        if stone != "."
    ]
    return f"set_position {' '.join(stones)}"


@pytest.mark.parametrize(("rules", "score"), [("chinese", "W+11"), ("japanese", "W+13")])
def test_seki_is_told_and_counted(rules: str, score: str) -> None:
    """With our own net, which takes one of the groups for dead at first sight. No points in seki by Japanese rules."""
    with GtpTalk(weights_file="") as talk:
        talk.ask("boardsize 9", f"kata-set-rules {rules}", "komi 7", place(SEKI))
        assert talk.ask("final_score", "final_status_list dead") == [f"= {score}", "="]
        seki = talk.one("final_status_list seki")[2:].split()
        assert {"A8", "B9", "E9", "J8"} <= set(seki)
        assert len(seki) == 15
        assert set(talk.one("final_status_list alive")[2:].split()).isdisjoint(seki)


WHOLE = {  # white stones that are dead all over the board, and what is right
    (
        "X.X.X.X.X",
        ".XXXXXXX.",
        "XX.O.O.XX",
        ".X.OOO.X.",
        "XX..O..XX",
        ".X.....X.",
        "XX.O.O.XX",
        ".XXXXXXX.",
        "X.X.X.X.X",
    ): (
        "B+74",
        "B+42",
    ),
    (
        "OO.....OO",
        "O.XXXXX.O",
        ".XX.X.XX.",
        ".X.....X.",
        "XX..O..XX",
        ".X.....X.",
        ".XX.X.XX.",
        "O.XXXXX.O",
        "OO.....OO",
    ): (
        "B+74",
        "B+59",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("passes", [(), ("play b pass", "play w pass")])
@pytest.mark.parametrize(("rows", "scores"), WHOLE.items())
def test_the_score_and_its_estimate_agree_where_stones_are_dead(
    rows: Sequence[str], scores: Sequence[str], passes: Sequence[str]
) -> None:
    with GtpTalk(weights_file="") as talk:
        for rules, score in zip(("chinese", "japanese"), scores, strict=True):
            talk.ask("boardsize 9", f"kata-set-rules {rules}", "komi 7", place(rows), *passes)
            assert talk.one("final_score") == f"= {score}"
            assert talk.one("estimate_score").startswith(f"= {score} (upper bound")


def test_doubts_about_chains_are_decided_as_the_expected_lead_wants_it() -> None:
    """White's stones are as good as dead, though the net is not sure of any: the lead is that without them."""
    doubt = [-0.3 if stone == "O" else 0.3 for stone in "".join([*WHOLE][1])]
    for lead, dead in ((60.0, True), (-13.5, False), (None, False)):

        class Doubting(Engine):
            def estimate(self, seconds: float = math.inf, lead: float | None = lead) -> Estimate | None:
                black = (self.position or "").split()[1] == "b"
                owners = tuple(abs(x) if black else -abs(x) for x in doubt)
                return Estimate(lead if black or lead is None else -lead, owners)

        with GtpTalk(lambda options, made=Doubting: made("go", options)) as talk:  # type: ignore[misc]
            talk.ask("boardsize 9", "kata-set-rules chinese", "komi 7", place([*WHOLE][1]))
            assert (talk.one("final_score") == "= B+74") == dead


def engine_that_expects(rows: Sequence[str]) -> Callable[[EngineOptions], GoEngine]:
    """Makes engines whose searches expect each point to end as drawn."""
    black = [{"X": 1.0, "O": -1.0, ".": 0.0}[owner] for owner in "".join(rows)]

    class Seeing(Engine):
        def seen(self) -> Estimate:
            turn = (self.position or "").split()[1]
            return Estimate(0.0, tuple(x if turn == "b" else -x for x in black))

        def estimate(self, seconds: float = math.inf) -> Estimate | None:
            return self.seen()

        def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
            seen = self.seen()
            super().go(limits, lambda info: on_info(replace(info, estimate=seen)), on_done)

    return lambda options: Seeing("go", options)


def test_a_net_that_does_not_know_territory_says_so_once(capfd: pytest.CaptureFixture[str]) -> None:
    with GtpTalk(nodes_limit=2) as talk:
        talk.ask("boardsize 5", "genmove b")
        assert "territory" not in capfd.readouterr().err
        talk.ask("kata-set-rules japanese", "genmove w", "genmove b")
    assert capfd.readouterr().err.count("this net has learned area scoring") == 1


def test_by_territory_rules_it_passes_when_only_neutral_points_are_left() -> None:
    """White's stone on A5 is dead: taking it off would cost points, as long as it does not change the winner."""
    board = ("O.X.O", "..XO.", "..X.O", "..XO.", "..XO.")
    owners = ("XXX.O", "XXXOO", "XXX.O", "XXXOO", "XXXOO")
    for komi, passes in ((0.5, True), (5.5, True), (6.5, False), (20.5, True)):
        # 10 points and a prisoner against 3 points and komi; two less if the stone is not agreed to be dead
        with GtpTalk(engine_that_expects(owners), nodes_limit=4) as talk:
            talk.ask("boardsize 5", "kata-set-rules japanese", f"komi {komi}", place(board))
            assert (talk.one("genmove b") == "= pass") == passes, komi
    with GtpTalk(engine_that_expects(owners), nodes_limit=4) as talk:
        talk.ask("boardsize 5", "kata-set-rules chinese", "komi 0.5", place(board))
        assert talk.one("genmove b") != "= pass", "a neutral point is a point of area"
        talk.ask("kata-set-rules japanese", place(("O.X..", *board[1:])))
        assert talk.one("genmove b") != "= pass", "white's side is still open"


WON = ("boardsize 5", "komi 0.5", *(f"play b C{n}" for n in range(1, 6)), *(f"play w D{n}" for n in range(1, 6)))


@pytest.mark.parametrize("colour", ["b", "w"])
def test_a_pass_is_answered_with_a_pass_exactly_when_that_wins(colour: str) -> None:
    """Black has 15 points of 25: whoever is behind plays on."""
    opponent = "w" if colour == "b" else "b"
    with GtpTalk(nodes_limit=1) as talk:
        talk.ask(*WON, f"play {opponent} pass")
        assert (talk.one(f"genmove {colour}") == "= pass") == (colour == "b")


def test_dead_stones_are_counted_as_the_arbiter_counts_them() -> None:
    """White's dead stone spoils black's area by Tromp-Taylor, so black must not pass; agreement would remove it."""
    spoilt = ("play w A1", "play w pass")
    with GtpTalk(engine_that_says(black_owns), nodes_limit=1) as talk:
        talk.ask("boardsize 5", "komi 20.5", *(f"play b C{n}" for n in range(1, 6)), "play w A1")
        assert talk.one("final_score") == "= B+4.5"
        talk.one("play w pass")
        assert talk.one("genmove b") != "= pass"
    with GtpTalk(engine_that_says(black_owns), nodes_limit=1) as talk:
        talk.ask("kata-set-rules chinese", *WON, *spoilt)
        assert talk.one("genmove b") != "= pass", "5 points without the corner"


def engine_that_prefers_to_pass(options: EngineOptions) -> GoEngine:
    """Passes unless it is kept from it."""

    class Tired(Engine):
        def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
            super().go(replace(limits, searchmoves=limits.searchmoves or ("pass",)), on_info, on_done)

    return Tired("go", options)


def test_cleanup_passes_only_when_dead_stones_are_captured() -> None:
    """By an engine that would rather pass. Black moves again and again, so that every other move is out of turn."""

    class Tired(Engine):
        def estimate(self, seconds: float = math.inf) -> Estimate | None:
            return Estimate(None, tuple(black_owns(self.position or "")))

        def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
            choice = [m for m in ("A2", "B1", "C3", "D4") if m in self.legal_moves()]
            super().go(
                replace(limits, searchmoves=tuple(choice[:1]) if limits.searchmoves else ("pass",)), on_info, on_done
            )

    for rules in ("tromp-taylor", "chinese"):
        with GtpTalk(lambda options: Tired("go", options), nodes_limit=1) as talk:
            talk.ask("boardsize 5", "komi 0.5", f"kata-set-rules {rules}", "play b B2", "play w A1")
            assert [talk.one("kgs-genmove_cleanup b") for _ in range(4)] == ["= A2", "= B1", "= pass", "= pass"]
            assert "O" not in "".join(talk.one("showboard").split("\n")[2:])


def test_without_a_net_cleanup_passes_when_it_is_ahead() -> None:
    with GtpTalk(engine_that_prefers_to_pass, nodes_limit=1) as talk:
        talk.ask(*WON)
        assert talk.one("kgs-genmove_cleanup b") == "= pass"
        assert talk.one("kgs-genmove_cleanup w") != "= pass"


def test_the_status_of_every_chain_is_told_once() -> None:
    """What the net thinks dead is dead; what it is not sure of lives."""

    def unsure(position: str) -> list[float]:
        black = [1.0] * 5 + [0.9] * 5 + [0.0] * 5 + [-0.2] * 5 + [-1.0] * 5
        return black if position.split()[1] == "b" else [-x for x in black]

    with GtpTalk(engine_that_says(unsure)) as talk:
        talk.ask("boardsize 5", "play b A1", "play w A2", "play b C1", "play w C5", "play b E3", "play w D5")
        for _ in range(2):  # whoever is to move
            assert talk.one("final_status_list dead").split("\n") == ["= C5 D5", "A1", "C1"]
            assert talk.one("final_status_list alive").split("\n") == ["= E3", "A2"]
            assert talk.one("final_status_list seki") == "="
            talk.one("play b pass")
        assert talk.ask("clear_board", "final_status_list dead", "final_status_list alive") == ["="] * 3


class Gloomy(Engine):
    """Takes every position for lost."""

    def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
        def gloomy(best: BestMove) -> None:
            lines = tuple(replace(line, wdl=Wdl(0.04, 0.0, 0.96)) for line in best.lines)
            on_done(replace(best, lines=lines))

        super().go(limits, on_info, gloomy)


def test_it_resigns_only_after_three_hopeless_moves_and_never_early() -> None:
    def play(resign: float) -> tuple[list[str], GtpTalk]:
        talk = GtpTalk(lambda options: Gloomy("go", options), resign=resign, nodes_limit=1)
        talk.ask("boardsize 5", "play b C3")
        return [talk.one(f"genmove {'wb'[n % 2]}") for n in range(9)], talk

    answers, talk = play(5.0)
    with talk:
        assert "= resign" not in answers[:5]
        assert set(answers[6:]) == {"= resign"}, "a quarter of the board's points have been played"
        before = talk.one("showboard")
        assert talk.ask("genmove b", "showboard") == ["= resign", before]
        assert talk.one("reg_genmove b") != "= resign"
        assert talk.one("kgs-genmove_cleanup b") != "= resign"
    for threshold in (0.0, 3.0):
        answers, talk = play(threshold)
        with talk:
            assert "= resign" not in answers


def test_a_suicide_that_the_rules_allow_is_still_not_what_it_plays() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", *SUICIDE)
        assert talk.one("lz-genmove_analyze w 5 allow w A1 1").endswith("\nplay pass")
        assert talk.ask("undo", "play w A1", "undo") == ["=", "=", "="], "whoever wants to may"
        assert talk.one("lz-genmove_analyze w 5 allow w A1,C3 1").endswith("\nplay C3")


def test_reg_genmove_plays_nothing() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "play b E5")
        before = talk.ask("showboard", "printsgf")
        for colour in "bw":
            assert re.fullmatch(r"= [A-HJ][1-9]", talk.one(f"reg_genmove {colour}"))
            assert talk.ask("showboard", "printsgf") == before


FIGHT = (  # 9x9, komi 6.5, by Japanese rules
    "D7 E4 F6 G4 C4 H6 D3 E3 D5 G7 E2 F2 D2 F1 F7 G8 F8 F9 E9 G9 G5 H5 D8 E5 E6 F5 G6 E1 D1 D4 F3 F4 G3 H4 G2 C3 C5 H3 "
    "G1 H2 H1 J2 pass J1"
)
LATER = "pass F1 F2 C2 B3 B2 A2 B4 A3 A4 B1 A1 A2 B5"
HANDICAP = ("komi 0.5", "fixed_handicap 4")


@pytest.mark.slow
@pytest.mark.parametrize("visits", [50, 2000])
@pytest.mark.parametrize(
    ("before", "moves"),
    [
        ((), FIGHT),  # KataGo's count: Black leads by 16.6, and is 10.7 behind after a pass
        ((), f"{FIGHT} {LATER}"),  # ... by 8.5, 24.7 behind
        (HANDICAP, "F3"),
        (HANDICAP, "F3 F4 H5"),
    ],
    ids=["loses 27 points", "loses 33 points", "move 2", "move 4"],
)
def test_no_pass_while_there_is_something_to_lose(before: Sequence[str], moves: str, visits: int) -> None:
    first = "wb" if before else "bw"
    plays = [f"play {first[ply % 2]} {point}" for ply, point in enumerate(moves.split())]
    with GtpTalk(weights_file="", nodes_limit=visits, move_time=60.0) as talk:
        *_, answer = talk.ask("boardsize 9", "komi 6.5", "kata-set-rules japanese", *before, *plays, "genmove b")
    assert re.fullmatch(r"= [A-HJ][1-9]", answer)


@pytest.mark.slow
def test_a_pass_that_the_net_takes_for_unlikely_costs_no_long_look() -> None:
    """Where all is lost few visits may find it best; to see what it is worth took thousands of visits."""
    with GtpTalk(weights_file="", nodes_limit=50, move_time=60.0) as talk:
        talk.ask("boardsize 13", "kata-set-rules japanese", "fixed_handicap 9", "genmove w", "undo")
        watch = Stopwatch()
        answers = [talk.one(f"genmove {colour}") for colour in "wbwbw"]
        assert watch.seconds < 10.0
    assert "= pass" not in answers


CLOSED = (  # 9x9, by Japanese rules: only passes are left
    "E4 E7 E3 C6 F6 F7 G6 C3 D6 C7 D7 D8 C8 B8 C5 B5 B6 B7 E8 C9 G7 D2 E2 F8 B4 C4 D5 A6 B2 B3 C2 G8 H8 D3 D1 A2 "
    "C1 H9 J8 E6 E5 G9 E9 D9 H7 A4 E1 D4 J9 F9 A1 A3 E8 E9 B1 G4 G3 H3 G2 H5 G5 F4 H4 J4 F5 H2 H1 J2 F3 J6 H4 G4 "
    "H6 H4 G1 F2 J1 F4 F1 A5 B9 A9 A7"
)


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False], ids=["told what is left", "by its own clock"])
def test_what_a_pass_is_worth_takes_no_time_that_is_not_there(told: bool) -> None:
    plays = [f"play {'bw'[ply % 2]} {point}" for ply, point in enumerate(CLOSED.split())]
    with GtpTalk(weights_file="") as talk:
        talk.ask(
            "boardsize 9", "komi 6.5", "kata-set-rules japanese", *plays, "genmove w", "undo", "time_settings 0 4 1"
        )
        watch = Stopwatch()
        assert talk.ask(*["time_left w 4 1"] * told, "genmove w")[-1] == "= pass"
        assert 3.05 < watch.seconds < 4.0, "the search takes three quarters"


@pytest.mark.slow
def test_a_move_of_the_opening_by_territory_rules_keeps_to_its_byoyomi() -> None:
    with GtpTalk(weights_file="") as talk:
        talk.ask("boardsize 9", "kata-set-rules japanese", "genmove b", "time_settings 0 1 1")
        for colour in "wbw":
            watch = Stopwatch()
            assert talk.ask(f"time_left {colour} 1 1", f"genmove {colour}")[1] != "= pass"
            assert watch.seconds < 1.0


class Slow(Engine):
    """Sees dead stones in as much time as it gets."""

    def estimate(self, seconds: float = math.inf) -> Estimate | None:
        time.sleep(min(seconds, 3.0))
        return Estimate(0.0, tuple(black_owns(self.position or "")))


@pytest.mark.parametrize("command", ["genmove b", "kgs-genmove_cleanup b"])
@pytest.mark.parametrize("system", ["byoyomi 0 1 5", "absolute 2", "fischer-capped 3 0 3 1"])
def test_what_is_dead_is_found_in_the_time_of_the_move(command: str, system: str) -> None:
    with GtpTalk(lambda options: Slow("go", options), move_overhead=100.0) as talk:
        talk.ask("boardsize 5", "kata-set-rules chinese", *WON, "play w pass", "genmove b", "undo")
        watch = Stopwatch()
        talk.ask(f"kata-time_settings {system}", command)
        assert watch.seconds < 1.0


def test_a_search_alone_gives_no_game_up() -> None:
    with GtpTalk(lambda options: Gloomy("go", options), resign=5.0, nodes_limit=1) as talk:
        talk.ask("boardsize 5", *WON)
        answers = [talk.one(command) for command in ("kata-search w", "reg_genmove w") * 3]
        assert not {"= resign"} & {*answers}
        assert "= resign" not in talk.ask("genmove w", "genmove b", "genmove w"), "nor counts towards it"


def test_ownership_is_read_alike_out_of_turn() -> None:
    owners = [1.0] * 15 + [-1.0] * 10
    engine = Engine("go", EngineOptions(weights_file="uniform", threads=1))
    game = GtpGame(lambda: engine, lambda _: None)
    game.resize(Size(5, 5))
    game.set_rules(read_rules("japanese"))
    for column in "ABCDE":
        for colour, row in (("b", 3), ("w", 2)):
            game.play(colour, f"{column}{row}")
    for colour, seen in (("b", owners), ("w", [-owner for owner in owners])):
        assert game.settled(colour, seen)
        assert not game.dead_by(colour, seen)
        with game.to_move(colour):
            assert game.settled(colour, seen)
            assert not game.dead_by(colour, seen)

"""Analysis over GTP: its arguments, its lines as Sabaki, Lizzie and q5Go read them, and how it ends."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.info import Estimate, Line, ThinkingInfo, Wdl
from az_engine.protocols.gtp.analysis import Analysis, analysis_line, read_analysis, searched
from az_engine.protocols.gtp.board import GtpError, Size

from ...fakes.clock import FakeClock
from .talk import GtpTalk, engine_that_says

SIZE = Size(9, 9)
VERTEX = r"(?:[A-HJ-Z]\d+|pass)"
LINE = rf"info move {VERTEX} visits \d+ winrate NUMBER prior NUMBER( lcb -?NUMBER)? order \d+ pv {VERTEX}(?: {VERTEX})*"
MOVE = re.compile(LINE.replace("NUMBER", r"\d+"))
KATA = re.compile(LINE.replace("NUMBER", r"[01]\.\d+"))


def info(*, score: float | None = None, estimate: Estimate | None = None) -> ThinkingInfo:
    """Three moves, of which the last was not visited."""
    owners = None if estimate is None else estimate.ownership
    lines = (
        Line(50, None, Wdl(0.6, 0.1, 0.3), 60, 0.5, ("D4", "pass", "C3"), Estimate(score, owners)),
        Line(-5, None, Wdl(0.4, 0.2, 0.4), 30, 0.25, ("pass",)),
        Line(-9, None, Wdl(0.0, 0.0, 1.0), 0, 0.2, ("C3",)),
    )
    return ThinkingInfo(2, 3, 90, 91, 900, 0, lines, estimate=estimate)


def test_fields_of_leela_zero_and_sabaki() -> None:
    assert analysis_line(info(), Analysis()) == (
        "info move D4 visits 60 winrate 6500 prior 5000 order 0 pv D4 pass C3 "
        "info move pass visits 30 winrate 5000 prior 2500 order 1 pv pass"
    )


def test_fields_of_katago_with_what_the_net_says() -> None:
    seen = Estimate(-2.25, (0.6, -1.0, 0.0, 0.8))
    stdev = "scoreStdev 1.41"  # of 0.64 + 0 + 1 + 0.36
    assert analysis_line(info(score=3.5, estimate=seen), Analysis(kata=True, ownership=True, root=True, most=1)) == (
        f"info move D4 visits 60 winrate 0.650000 scoreMean 3.50 {stdev} scoreLead 3.50 prior 0.500000 "
        "order 0 pv D4 pass C3 "
        f"rootInfo visits 91 winrate 0.600000 scoreMean -2.25 {stdev} scoreLead -2.25 "
        "ownership 0.600 -1.000 0.000 0.800"
    )
    plain = analysis_line(info(score=3.5), Analysis(kata=True, ownership=True, root=True, least=3))
    assert "ownership" not in plain, "the net has none"
    assert "scoreMean 3.50 scoreLead 3.50" in plain, "and so nothing is known of the spread"
    assert plain.count("info move") == 2, "a move without a visit has no line, whatever minmoves says"
    assert "rootInfo visits 91 winrate 0.600000" in plain


def test_bounds_visits_and_spreads_of_katago() -> None:
    """As its GTP extensions lay them down."""
    spread = Estimate(1.0, (0.5, -0.5), (0.25, 0.125))
    line = Line(50, None, Wdl(0.6, 0.1, 0.3), 60, 0.5, ("D4", "pass", "C3"), spread, (60, 20), bound=0.1)
    seen = ThinkingInfo(2, 3, 90, 91, 900, 0, (line, replace(line, visits=0)), estimate=spread)
    flags = "ownership ownershipStdev movesOwnership movesOwnershipStdev pvVisits pvEdgeVisits".replace(" ", " true ")
    assert analysis_line(seen, read_analysis(f"{flags} true".split(), SIZE, kata=True)) == (
        "info move D4 visits 60 winrate 0.650000 scoreMean 1.00 scoreStdev 1.22 scoreLead 1.00 prior 0.500000 "
        "lcb 0.550000 order 0 pv D4 pass C3 pvVisits 60 20 0 pvEdgeVisits 60 20 0 "
        "movesOwnership 0.500 -0.500 movesOwnershipStdev 0.250 0.125 "
        "ownership 0.500 -0.500 ownershipStdev 0.250 0.125"
    )
    below = replace(line, bound=-1.5, estimate=None)
    assert " lcb -2500 " in analysis_line(replace(seen, lines=(below,)), Analysis()), (
        "as in Leela Zero, perhaps below 0"
    )
    unvisited = replace(seen, lines=(replace(line, visits=0),))
    for request in (Analysis(), Analysis(least=1), Analysis(kata=True, ownership=True, root=True)):
        assert analysis_line(unvisited, request) == "", "nothing is printed while there is no move to show"


def test_sabaki_parses_every_line() -> None:
    """Its parser: the parts between the words info, each ending in a pv of vertices."""
    for part in re.split(r"\s*info\s+", analysis_line(info(), Analysis()))[1:]:
        found = re.search(r"(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$", part.strip())
        assert found is not None
        words = part[: found.start()].split()[:-1]
        fields = dict(zip(words[::2], words[1::2], strict=True))
        assert {"move", "visits", "winrate", "prior", "order"} <= set(fields)
        assert "." not in fields["winrate"]


def test_q5go_finds_its_fields() -> None:
    seen = Estimate(1.0, (0.5,))
    first, *others = analysis_line(info(score=1.0, estimate=seen), Analysis(kata=True)).split("info move ")[1:]
    for part, fields in ((first, ("scoreMean", "scoreStdev")), *((other, ()) for other in others)):
        for field in ("visits", "winrate", *fields):
            assert re.search(rf"\s+{field}\s+([^\s]+)\s+", part)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", Analysis()),
        ("b", Analysis("b")),
        ("White 20", Analysis("w", 200)),
        ("20", Analysis(interval_ms=200)),
        ("0", Analysis(interval_ms=50)),
        ("b interval 10 maxmoves 3", Analysis("b", 100, most=3)),
        ("w 50 minmoves 60", Analysis("w", 500, least=60, most=60)),
        ("maxmoves 0", Analysis(most=1)),
        ("b avoid w D4,pass 1 avoid b C3 20", Analysis("b", avoid=(("w", "D4"), ("w", "pass"), ("b", "C3")))),
        ("allow b d4,E5 1", Analysis(allow=(("b", "D4"), ("b", "E5")))),
        ("allow b D4 1 allow w A1 1 allow b E5 1", Analysis(allow=(("w", "A1"), ("b", "E5")))),
        ("b 10 ownership true rootInfo true", Analysis("b", 100, ownership=True, root=True)),
        (
            "b 10 ownership false movesOwnership true pvVisits true noResultValue true",
            Analysis("b", 100, moves_ownership=True, pv_visits=True),
        ),
        (
            "ownershipStdev true movesOwnershipStdev true pvEdgeVisits true",
            Analysis(ownership_stdev=True, moves_ownership_stdev=True, pv_edge_visits=True),
        ),
    ],
)
def test_argument_forms(words: str, expected: Analysis) -> None:
    assert read_analysis(words.split(), SIZE, kata=False) == expected


@pytest.mark.parametrize(
    "words", ["green", "b x", "b interval", "b minmoves -1", "b avoid b Z9 1", "b 10 20", "\u0664"]
)
def test_bad_arguments(words: str) -> None:
    with pytest.raises(GtpError):
        read_analysis(words.split(), SIZE, kata=False)


def test_moves_to_search() -> None:
    legal = ["C3", "D4", "pass"]
    assert searched(Analysis(), "b", legal) == ()
    assert searched(Analysis(avoid=(("b", "D4"),)), "b", legal) == ("C3", "pass")
    assert searched(Analysis(avoid=(("b", "D4"),), allow=(("b", "E5"),)), "w", legal) == (), "white's are not named"
    assert searched(Analysis(allow=(("b", "D4"), ("b", "E5"))), "b", legal) == ("D4",)
    with pytest.raises(GtpError, match="no legal move is left"):
        searched(Analysis(allow=(("b", "E5"),)), "b", legal)


@pytest.mark.parametrize("name", ["analyze", "lz-analyze", "kata-analyze"])
@pytest.mark.parametrize("stop", ["", "# comment", "protocol_version", "7 name", "lz-analyze b 100"])
def test_g11_analysis_answers_at_once_and_any_line_ends_it(name: str, stop: str) -> None:
    with GtpTalk(hash=64) as talk:
        talk.ask("boardsize 9", "genmove b")
        talk.send(f"3 {name} w 5")
        assert talk.line() == "=3"
        pattern = KATA if name == "kata-analyze" else MOVE
        for _ in range(3):
            line = str(talk.line())
            assert re.fullmatch(f"{pattern.pattern}(?: {pattern.pattern})*", line), line
        talk.send(stop)
        while talk.line():
            continue
        if stop.startswith("lz"):
            assert talk.line() == "="
            talk.send("")
            while talk.line():
                continue
        elif stop and stop[0] != "#":
            assert talk.response() in ("= 2", "=7 az-engine")
        assert talk.one("undo") == "="


def test_lines_come_at_the_interval_and_memory_does_not_grow_when_nobody_reads(clock: FakeClock) -> None:
    with GtpTalk(hash=1024) as talk:  # a full tree has nothing new to say
        clock.tick = 0.001
        talk.ask("boardsize 9", "genmove b")
        clock.tick = 0.0
        talk.send("lz-analyze 20")
        assert talk.line() == "="
        talk.line()
        for _ in range(4):
            talk.silence(0.1)
            clock.advance(0.21)
            talk.line()
        talk.send("")
        while talk.line():
            continue


def test_analysis_that_another_line_has_overtaken_ends_before_it_begins() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 9")
        assert talk.ask(*["lz-analyze 1", "kata-analyze b"] * 20, "name") == ["="] * 40 + ["= az-engine"]


def test_analysis_of_either_colour_changes_nothing() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "play b E5")
        before = talk.ask("showboard", "printsgf")
        for command in ("lz-analyze b 5", "lz-analyze w 5 avoid w E5,C3 10", "kata-analyze 5 allow w C3,D3 1"):
            talk.send(command)
            assert talk.line() == "="
            line = str(talk.line())
            moves = set(re.findall(rf"info move ({VERTEX})", line))
            assert moves
            if "avoid" in command:
                assert "C3" not in moves
            elif "allow" in command:
                assert moves <= {"C3", "D3"}
            talk.send("")
            while talk.line():
                continue
            assert talk.ask("showboard", "printsgf") == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["genmove_analyze", "lz-genmove_analyze", "kata-genmove_analyze"])
def test_genmove_with_analysis_is_a_normal_move(name: str) -> None:
    with GtpTalk(move_time=0.6, hash=128) as talk:
        talk.ask("boardsize 9", "genmove b")
        talk.send(f"4 {name} w 10", "5 showboard")
        head, *infos, last = talk.response().split("\n")
        assert head == "=4"
        assert len(infos) >= 3
        pattern = KATA if name.startswith("kata") else MOVE
        assert all(pattern.match(line) for line in infos)
        played = last.removeprefix("play ")
        assert infos[-1].startswith(f"info move {played} ")
        assert talk.response().startswith("=5 move 3, black")
        assert talk.one(f"{name} b 10 allow b J9 1").endswith("\nplay J9")


def test_ownership_and_scores_of_a_net_are_printed_from_the_movers_view() -> None:
    class Scoring(Engine):
        def estimate(self, seconds: float = math.inf) -> Estimate | None:
            return Estimate(-17.5, (0.25,) * 25)  # Black's stone is in doubt, but the lead counts it

    with GtpTalk(lambda options: Scoring("go", options)) as talk:
        talk.one("boardsize 5")
        assert talk.ask("play b C3", "final_status_list dead") == ["=", "="]
    with GtpTalk(engine_that_says(lambda _: None)) as talk:
        talk.one("boardsize 5")
        assert " ownership " not in talk.one("kata-genmove_analyze b 5 ownership true")


LEFT = ("boardsize 9", "komi 6.5", *(f"play b D{n}" for n in range(1, 10)), *(f"play w F{n}" for n in range(1, 10)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "passes", [("play b H7",), ("play b H7", "play w pass"), ("play b H7", "play w pass", "play b pass")]
)
def test_after_a_pass_dead_stones_are_still_dead(passes: Sequence[str]) -> None:
    """Black's stone on H7 is, and white leads. By Tromp-Taylor it counts, so that a pass wins."""
    colour = "b" if len(passes) == 2 else "w"
    for rules in ("chinese", "japanese", "aga"):
        with GtpTalk(weights_file="") as talk:
            talk.ask(f"kata-set-rules {rules}", *LEFT, *passes, "kata-set-param maxVisits 100")
            line = talk.one(f"kata-search_analyze {colour} 10000 rootInfo true").split("\n")[-2]
        chance = float(line.split("rootInfo")[1].split()[3])
        assert chance < 0.1 if colour == "b" else chance > 0.9, rules
        assert not re.search("scoreLead (-2|2)[0-9]", line)


@pytest.mark.slow
def test_a_pass_that_wins_by_tromp_taylor_decides() -> None:
    with GtpTalk(weights_file="") as talk:
        talk.ask(*LEFT, "play b H7", "play w pass", "kata-set-param maxVisits 100")
        answer = talk.one("kata-search_analyze b 10000 rootInfo true")
    assert "info move pass visits" in answer
    assert float(answer.split("rootInfo")[1].split()[3]) == 1.0
    assert answer.endswith("play pass")

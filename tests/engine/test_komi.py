"""Komi, rules and handicap: chances that know them though the net does not, and caches that do not mix them up."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import az_engine as az
from az_engine.engine.blocking import search
from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.games.go.chances import chances
from az_engine.engine.info import ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.nets.opinions import RawNet
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.models.data.games.go import read_shard
from tests.models.foreign.katago_files import random_net, to_bytes
from tests.protocols.analysis.talk import AnalysisTalk
from tests.protocols.gtp.talk import GtpTalk

from .games.go.katago_rows import foreign
from .search.tree.test_ownership import counting_net

SAMPLE = Path(__file__).parents[1] / "data" / "go9_train_sample.npz"
BOARD = "9/9/2X3O2/9/4X4/9/2O3X2/3O5/9"
SETTINGS = [  # of one board: komi, rules, handicap; none of them is in the planes of the default
    f"{BOARD} {turn} - {komi} {rules} {handicap}"
    for turn, (komi, rules, handicap) in itertools.product(
        "bw",
        [
            *((komi, "chinese", 0) for komi in ("7", "7.5", "6.5", "5.5", "0.5", "-20", "60", "-60")),
            ("7", "chinese", 4),
            ("7", "aga", 4),
            ("7", "japanese", 0),
            ("6.5", "japanese", 4),
            ("7", "tromp-taylor", 0),
            ("7", "koSITUATIONALscoreTERRITORYtaxNONEsui1", 0),
        ],
    )
]


@pytest.fixture(scope="module", params=["own", "go-stones", "counting", "silent", "katago"])
def net(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("net")
    if request.param == "own":
        return ""
    if request.param == "go-stones":
        return "go-stones"
    if request.param == "katago":
        path = folder / "random.bin.gz"
        path.write_bytes(to_bytes(random_net(1, 11, ("ordinary_block",))))
        return str(path)
    return str(counting_net(folder / "counting.onnx", extra=request.param == "counting"))


def seen(engine: Engine, position: str) -> tuple[list[float], ThinkingInfo]:
    """Chances and leads: the net's, and a search's."""
    engine.set_position(position, [])
    opinion = engine.opinion()
    best, last = search(engine, Limits(nodes=40, report_ms=10**9))
    assert last is not None
    lead = None if last.estimate is None else last.estimate.score
    numbers = [opinion.chance, opinion.lead, last.lines[0].wdl.value, last.lines[0].wdl.draw, lead]
    assert best.move == last.lines[0].pv[0]
    return [0.0 if number is None else number for number in numbers], last


def engine_of(net: str) -> Engine:
    return Engine("go9", EngineOptions(weights_file=net, threads=1, batch_size=4, hash_mb=16, int8=False))


@pytest.mark.slow
def test_nothing_is_kept_that_the_net_does_not_see(net: str) -> None:
    """One engine after all settings finds what engines find that know one only."""
    used = engine_of(net)
    for _ in range(2):
        together = [seen(used, position)[0] for position in SETTINGS]
    used.close()
    for position, numbers in list(zip(SETTINGS, together, strict=True))[:: 1 if "counting" in net else 5]:
        fresh = engine_of(net)
        assert seen(fresh, position)[0] == pytest.approx(numbers, abs=0.02), position
        fresh.close()


@pytest.mark.parametrize("name", ["policy_temperature", "root_policy_temperature"])
def test_a_policy_temperature_is_not_kept(net: str, name: str) -> None:
    if "counting" in net:
        pytest.skip("to it every move is as likely")
    engine, priors = engine_of(net), []
    for temperature in (1.0, 3.0, 1.0):
        changed: dict[str, Any] = {name: temperature}
        engine.configure(search=SearchParams(**changed))
        priors.append([line.prior for line in seen(engine, SETTINGS[0])[1].lines])
    engine.close()
    assert priors[0] == priors[2] != priors[1]


@pytest.mark.parametrize(("komi", "low", "high"), [("60", 0.0, 0.02), ("-60", 0.98, 1.0)])
def test_a_great_komi_decides(net: str, komi: str, low: float, high: float) -> None:
    if "random" in net:
        pytest.skip("a random net says anything")
    engine = engine_of(net)
    numbers, _ = seen(engine, f"9/9/9/9/9/9/9/9/9 b - {komi} chinese")
    engine.close()
    assert low <= numbers[0] <= high
    assert low <= (1 + numbers[2]) / 2 <= high


@pytest.mark.parametrize("rules", ["chinese", "tromp-taylor", "japanese"])
@pytest.mark.parametrize("board", [BOARD, "10/10/2X7/10/10/4O5/10/6X3/10/10"])
def test_chances_of_white_rise_with_komi(board: str, rules: str) -> None:
    """Also from 5.5 to 6.5, which come to the same where area counts. The rounding to int8 leaves 5 points of 100."""
    size = board.count("/") + 1
    options = EngineOptions(threads=1, batch_size=4, hash_mb=16)
    with contextlib.closing(Engine(f"go{size}", options)) as engine:
        chances = []
        for half_points in range(-20, 61):
            engine.set_position(f"{board} b - {half_points / 2:g} {rules}", [])
            chances.append(1.0 - engine.opinion().chance)
    assert (np.diff(chances) >= -0.05).all()
    assert chances[-1] - chances[0] > 0.5


def test_white_gets_what_the_rules_give(net: str) -> None:
    """Points for handicap stones, and by territory rules the stones played, count as komi does."""
    if not net or "random" in net:
        pytest.skip("its planes show the rules")
    engine = engine_of(net)

    def chance(rest: str) -> float:
        engine.set_position(f"{BOARD} b - {rest}", [])
        return engine.opinion().chance

    assert chance("3 chinese 4") == chance("7 chinese 0") == chance("4 aga 4")
    assert chance("7 japanese 0 0 0 -1") == pytest.approx(chance("8 chinese 0"), abs=1e-6)
    engine.close()


CASES = [(7.5, "chinese"), (0.5, "chinese"), (60, "chinese"), (-60, "japanese"), (6.5, "japanese"), (7.5, "aga")]


@pytest.mark.slow
def test_the_analysis_protocol_mixes_nothing() -> None:
    """One analyst after all queries answers as one that gets only the last."""
    query = {"moves": [["B", "E5"], ["W", "C3"]], "boardXSize": 9, "boardYSize": 9, "maxVisits": 60}
    with AnalysisTalk(weights_file="", analysts=1) as talk:
        together = [talk.one(**query, komi=komi, rules=rules)["rootInfo"] for komi, rules in CASES]
    for (komi, rules), found in zip(CASES[:4], together[:4], strict=True):
        with AnalysisTalk(weights_file="", analysts=1) as talk:
            alone = talk.one(**query, komi=komi, rules=rules)["rootInfo"]
        assert found["scoreLead"] == pytest.approx(alone["scoreLead"], abs=0.5)
        assert found["winrate"] == pytest.approx(alone["winrate"], abs=0.05)
    assert together[1]["scoreLead"] - together[0]["scoreLead"] == pytest.approx(7, abs=2)
    assert together[2]["winrate"] < 0.02
    assert together[3]["winrate"] > 0.98


@pytest.mark.slow
def test_gtp_mixes_nothing() -> None:
    def leads(*settings: str) -> list[float]:
        with GtpTalk(weights_file="", nodes_limit=60, move_time=60.0) as talk:
            talk.ask("boardsize 9", "play b E5", "play w C3")
            found = []
            for setting in settings:
                talk.ask(*setting.split(", "))
                said = talk.one("kata-search_analyze b 1000 rootInfo true")
                found.append(float(said.partition("rootInfo")[2].partition("scoreLead ")[2].split()[0]))
            return found

    last = ["kata-set-rules chinese, komi 0.5"]
    both = leads("komi 7.5", "komi 0.5", "komi 7.5", "kata-set-rules japanese, komi -60", *last)
    assert both[1] - both[0] == pytest.approx(7, abs=2)
    assert both[2] == pytest.approx(both[0], abs=0.5)
    assert both[4] == pytest.approx(leads(*last)[0], abs=0.5)


@pytest.mark.slow
def test_the_library_mixes_nothing() -> None:
    with az.Engine("go9", threads=1) as engine:
        found = [engine.analyse(az.Position("go9", komi=k), az.Limits(nodes=400)) for k in (-20, 7, 60, -60)]
    assert found[1].lead == pytest.approx(0, abs=1.5)
    assert found[0].lead == pytest.approx(27, abs=2)
    assert found[2].wdl.win < 0.01
    assert found[3].wdl.win > 0.99


def test_what_nobody_says_is_the_usual_komi() -> None:
    for game, komi in (("go9", 7), ("go13", 7.5), ("go19", 7.5)):
        position = az.Position(game)
        assert position.line[0]["komi"] == 2 * komi
        board = position.text.split()[0]
        assert az.Position(game, f"{board} w").line[0]["komi"] == 2 * komi


floats = st.floats(-1, 1)


@given(floats, st.floats(-80, 80), st.floats(0, 1), st.sampled_from([7.0, 7.5, -7.0]), st.sampled_from([64, 81, 361]))
def test_chances_fall_as_komi_rises(value: float, score: float, owned: float, learned: float, points: int) -> None:
    komi = np.concatenate([[-400.0], np.arange(-100, 100.5, 0.5), [400.0]])
    ones = np.ones(len(komi))
    owners = np.full((len(komi), points), owned)
    for more in ((None, None), (score * ones, None), (None, owners), (score * ones, owners)):
        values, draws = chances(komi, learned * ones, points, value * ones, *more)
        assert (np.diff(values) <= 1e-9).all()
        assert (draws >= -1e-9).all()
        assert (np.abs(values) + draws <= 1 + 1e-9).all()
        assert (draws[komi % 2 != points % 2] < 1e-9).all(), "draws need a lead of the board's parity"
        assert values[0] > 0.9
        assert values[-1] < -0.9


def test_komis_between_the_same_leads_are_one_komi() -> None:
    """With every point owned a lead on 9x9 is odd: 5.5 and 6.5 make no difference, 7.5 does."""
    komi = np.array([5.5, 6.0, 6.5, 7.0, 7.5])
    values, draws = chances(komi, np.full(5, 7.0), 81, np.full(5, 0.1), np.full(5, 7.0), np.zeros((5, 81)))
    assert values[0] == values[1] == values[2] > values[3] == pytest.approx(0.1, abs=0.01)
    assert values[3] > values[4]
    assert draws[3] > 0
    assert not draws[[0, 1, 2, 4]].any()


KOMIS = (-60.0, -20.0, 0.0, 0.5, 3.5, 5.5, 6.5, 7.0, 7.5, 9.5, 20.0, 60.0)


def sampled() -> list[np.ndarray]:
    """Lines of the sample's games, every fifth position."""
    game = get_game("go9")
    records, games = read_shard(SAMPLE, 81)
    lines = []
    for row in games:
        line = game.parse_position(game.territory.start(9, 9, None, "chinese-ogs"))[0]  # type: ignore[union-attr]
        for move in row["open"][: row["nopen"]]:
            line = game.play(line, int(move))
        for number, record in enumerate(records[row["first"] : row["first"] + row["count"]]):
            if number % 5 == 0:
                lines.append(line)
            line = game.play(line, int(record["played"]))
    return lines


@pytest.mark.slow
def test_chances_are_about_those_of_a_net_that_sees_komi() -> None:
    """``go-stones`` beside KataGo's g170-b6c96; docs/reference/nets.md quotes what ``-rP`` shows."""
    path = foreign("nets/g170-b6c96-s175395328-d26788732.bin.gz")
    own, judge, lines = (*(RawNet(net, get_game("go9"), 8) for net in ("go-stones", str(path))), sampled())
    print(f"{len(lines)} positions, mean difference of the expected score from g170-b6c96's, in points of 100")
    differences = {}
    for komi in KOMIS:
        for line in lines:
            line["komi"] = round(2 * komi)
        pairs = zip(own.opinions(lines), judge.opinions(lines), strict=True)
        differences[komi] = 100 * np.mean([abs(a.chance - b.chance) for a, b in pairs])
        print(f"komi {komi:g}: {differences[komi]:.1f}")
    assert max(differences.values()) < differences[7.0] + 1, "no komi is judged worse than the one it has learned"

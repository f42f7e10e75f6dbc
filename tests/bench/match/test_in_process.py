"""This engine as a player in the same process, and as one over GTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from az_engine.bench.match.in_process import OurPlayer
from az_engine.bench.match.openings import choose_openings
from az_engine.bench.match.players import MoveLimit, PlayerSpec, launch
from az_engine.engine.errors import NetError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.limits import Limits
from az_engine.engine.nets.file.netfile import EMBEDDED
from az_engine.engine.records.formats import read_games
from az_engine.protocols.clients.gtp import GtpClient

from .events import Match, go_start

MATE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"  # Ra8
UNIFORM = PlayerSpec("uniform", limit=MoveLimit(nodes=1), net="uniform")


def test_it_plays_and_says_what_it_thinks() -> None:
    player = OurPlayer("x", "chess", "uniform", {"Threads": "1"})
    answer = player.play(MATE, [], Limits(nodes=500))
    assert answer.move == "a1a8"
    assert answer.lines[0].mate == 1
    assert answer.lines[0].chance == 1
    assert answer.seconds > 0
    player.new_game()
    assert player.play(None, ["e2e4"], Limits(nodes=100)).lines[0].nodes == 100
    player.close()


def test_what_it_cannot_be() -> None:
    with pytest.raises(OptionError, match="player x: no such option"):
        OurPlayer("x", "chess", "uniform", {"Contempt": "1"})
    with pytest.raises(OptionError, match="player x: Threads must be"):
        OurPlayer("x", "chess", "uniform", {"Threads": "none"})
    with pytest.raises(NetError):
        OurPlayer("x", "chess", "/no/such/net.onnx", {})


@pytest.mark.parametrize(
    ("net", "board", "said"),
    [
        ("chess-conv", "go7", "the net 'chess-conv' plays chess, not go; give a net for go"),
        ("missing.onnx", "go7", "cannot read the net 'missing.onnx': there is no such file"),
        ("", "go5", "this net plays on 7x7 to 19x19, not on 5x5"),
    ],
)
def test_no_other_net_plays_over_gtp_in_place_of_one_that_cannot(net: str, board: str, said: str) -> None:
    for spec in (replace(UNIFORM, net=net), replace(UNIFORM, net="", options={"weights-file": net})):
        with pytest.raises(NetError, match=f"player uniform: {said}"):
            launch(spec, board, ready_s=60, endless_s=60)


def test_a_net_without_search_plays_its_most_probable_move() -> None:
    raw = OurPlayer("x", "chess", "", {"Threads": "1"})
    searched = OurPlayer("y", "chess", "", {"Threads": "1"})
    for moves in ([], ["e2e4"], ["e2e4", "c7c5"]):
        move = raw.play(None, moves, Limits(nodes=1)).move
        engine = searched._engine
        answer = searched.play(None, moves, Limits(nodes=50))
        assert answer.lines
        assert engine._memory.tree is not None
        edges, _ = engine._memory.tree.children_of(engine._memory.tree.root)
        game = get_game("chess")
        line = game.initial()
        for text in moves:
            line = game.play(line, game.parse_move(line, text))
        assert game.format_move(line[-1], int(edges[edges["prior"].argmax()]["move"])) == move
    raw.close()
    searched.close()


@pytest.mark.parametrize(
    ("value", "trouble"),
    [("true", None), ("false", None), ("perhaps", "player uniform: option.random-symmetry: must be true or false")],
)
def test_a_flag_of_gtp_is_on_or_off(value: str, trouble: str | None) -> None:
    spec = replace(UNIFORM, options={"random-symmetry": value}, limit=MoveLimit(nodes=4))
    if trouble is None:
        player = launch(spec, "go5", ready_s=120, endless_s=120)
        assert isinstance(player, GtpClient)
        assert player._command("kata-get-param nnRandomize", 10.0) == value
        player.close()
        return
    with pytest.raises(OptionError, match=trouble):
        launch(spec, "go5", ready_s=120, endless_s=120)


def test_an_option_of_gtp_has_the_name_of_a_flag_or_of_uci(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def start(command: list[str], **limits: float) -> None:
        started.append(command)

    monkeypatch.setattr("az_engine.bench.match.players.client_of", lambda protocol: start)
    for name in ("c-puct", "CPuct", "c_puct"):
        launch(replace(UNIFORM, options={name: "2"}), "go5", ready_s=1, endless_s=1)
    assert all(command[command.index("--c-puct") + 1] == "2" for command in started)
    with pytest.raises(
        OptionError, match="player uniform: Go has no option 'Contempt'; az-engine gtp --help lists them"
    ):
        launch(replace(UNIFORM, options={"Contempt": "2"}), "go5", ready_s=1, endless_s=1)


@pytest.mark.parametrize(("options", "int8"), [({}, True), ({"int8": "false"}, False)])
def test_a_net_is_converted_before_the_engine_that_plays_it_starts(
    options: dict[str, str], int8: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversion may take longer than an engine has for its first answer."""
    happened: list[object] = []

    def convert(path: Path, tell: object, *, int8: bool) -> Path:
        happened.append((path.name, int8))
        return EMBEDDED / "go.onnx"

    def start(command: list[str], **limits: float) -> None:
        happened.append(Path(command[command.index("--weights-file") + 1]).name)

    monkeypatch.setattr("az_engine.engine.nets.weights.native_net", convert)
    monkeypatch.setattr("az_engine.bench.match.players.client_of", lambda protocol: start)
    launch(replace(UNIFORM, net="b6c96.bin.gz", options=options), "go9", ready_s=1, endless_s=1)
    assert happened == [("b6c96.bin.gz", int8), "b6c96.bin.gz"]


def test_shogi_is_kept_in_both_formats(tmp_path: Path) -> None:
    openings = choose_openings("random:4", "shogi", 1, 0)
    match = Match("shogi", (UNIFORM, UNIFORM), openings, 2, tmp_path, max_plies=8)
    assert [len(game.moves) for game in match.finished] == [8, 8]
    kif = [
        next(iter(read_games(get_game("shogi").record_formats, path))) for path in sorted((tmp_path / "kif").iterdir())
    ]
    assert [record.moves for record in kif] == [game.moves for game in match.finished]
    assert all(game.record.comments[5] for game in match.finished)  # evaluations


@pytest.mark.slow
def test_go_is_played_over_gtp() -> None:
    player = launch(replace(UNIFORM, limit=MoveLimit(nodes=8)), "go5", ready_s=120, endless_s=120)
    assert player.name == "az-engine"
    start = go_start(5)
    assert player.play(start, ["C3"], Limits()).lines[0].chance == 0.5
    player.close()
    match = Match("go5", (UNIFORM, UNIFORM), choose_openings("none", "go5", 1, 0, start), 1, max_plies=6)
    assert match.finished[0].fault is None
    assert match.finished[0].record.times[0] is not None

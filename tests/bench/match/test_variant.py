"""Matches of Chess960: castling is never lost, whatever the openings come from."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from az_engine.bench.match.command import form_of, in_form
from az_engine.bench.match.game import MatchSettings
from az_engine.bench.match.openings import Opening, choose_openings
from az_engine.bench.match.players import PlayerSpec
from az_engine.cli import main
from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import read_games

SETTINGS = MatchSettings("chess", (PlayerSpec("a"), PlayerSpec("b")))
FEN = "nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq - 0 1"


def test_the_names_of_the_variant() -> None:
    assert {form_of(name, "chess") for name in ("chess960", "fischerandom", "Fischer Random", "960")} == {"chess960"}
    assert form_of(None, "chess") == form_of("chess", "chess") == ""
    for game, name in (("chess", "atomic"), ("go9", "chess960")):
        with pytest.raises(OptionError, match="no variant"):
            form_of(name, game)


def test_openings_are_start_positions_of_the_variant() -> None:
    openings = choose_openings("book", "chess", 8, 3, shuffled=True)
    assert len({opening.root for opening in openings}) > 4
    assert openings == choose_openings("none", "chess", 8, 3, shuffled=True)
    few, more = (choose_openings("random:4", "chess", count, 1, shuffled=True) for count in (3, 5))
    assert few == more[:3], "a longer match begins with the same ones"
    assert all(len(opening.moves) == 4 for opening in more)


def test_players_are_told_and_moves_rewritten() -> None:
    castled = Opening("x", None, ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "e1g1"))
    settings, openings = in_form(SETTINGS, "chess960", [castled])
    assert openings[0].moves[-1] == "e1h1"
    assert [player.options for player in settings.players] == [{"UCI_Chess960": "true"}] * 2
    assert in_form(SETTINGS, "", [castled]) == (SETTINGS, [castled])
    settings, _ = in_form(SETTINGS, "", [Opening("y", FEN)])
    assert settings.players[0].options == {"UCI_Chess960": "true"}, "by the rights of an opening"


@pytest.mark.parametrize("text", [
    f"{FEN}\n",
    f'[Variant "Chess960"]\n[SetUp "1"]\n[FEN "{FEN}"]\n\n1. g3 g6 2. Bg2 Bg7 3. O-O O-O *\n',
])  # fmt: skip
def test_a_match(tmp_path: Path, text: str) -> None:
    path = tmp_path / ("o.epd" if text.startswith("nq") else "o.pgn")
    path.write_text(text)
    words = ["match", "-A", "uniform", "-B", "uniform name=b", "--games", "2", "--visits", "2", "--max-plies", "12"]
    assert main([*words, "--openings", str(path), "--variant", "fischerandom", "--out", str(tmp_path / "m")]) == 0
    records = list(read_games(get_game("chess").record_formats, tmp_path / "m" / "games.pgn"))
    assert [(record.headers["Variant"], record.root, record.fault) for record in records] == [("Chess960", FEN, "")] * 2
    assert "[Variant" in io.StringIO((tmp_path / "m" / "games.pgn").read_text()).read()

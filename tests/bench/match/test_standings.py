"""The tables of a tournament, as they are shown."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from az_engine.bench.match.arbiter import Ending
from az_engine.bench.match.game import MatchGame, MatchSettings, Pairing
from az_engine.bench.match.openings import Opening
from az_engine.bench.match.players import MoveLimit, PlayerSpec
from az_engine.bench.match.standings import colour_table, standings_table
from az_engine.engine.records.record import Record

SETTINGS = MatchSettings(
    "chess", tuple(PlayerSpec(name, limit=MoveLimit(nodes=9)) for name in ("az-engine default", "old [x]"))
)


def played(number: int, result: int, *, crash: bool = False) -> MatchGame:
    """A game of player 0 as white."""
    record = Record.of_line((), None, result, "", ("", ""), (), ("",), {})
    pairing, ending = Pairing(number, 0, 1, Opening("o")), Ending(result, "mate")
    return MatchGame(pairing, ending, record, "crash" if crash else None, 1 if crash else None)


def shown(table: Table) -> str:
    file = io.StringIO()
    Console(file=file, width=80).print(table)
    return file.getvalue()


def test_brackets_are_no_markup() -> None:
    lost = [played(i, 1 if i == 0 else -1) for i in range(40)]
    text = shown(standings_table(SETTINGS, lost))
    assert "-636 [no limit, -381]" in text
    assert "old [x]" in text
    assert "old [x]" in shown(colour_table(SETTINGS, lost, ("White", "Black")))


def test_faults_have_a_column_when_there_are_some() -> None:
    assert "faults" not in shown(standings_table(SETTINGS, [played(0, 1)]))
    text = shown(standings_table(SETTINGS, [played(0, 1, crash=True)]))
    assert "faults" in text
    assert [line.split("│")[-2].strip() for line in text.splitlines() if "nodes" in line] == ["0", "1"]


def test_a_table_fits_eighty_columns() -> None:
    games = [played(0, 1), played(1, 0), played(2, -1)]
    lines = shown(standings_table(SETTINGS, games)).splitlines()
    assert any("az-engine default" in line and "9 nodes" in line for line in lines)

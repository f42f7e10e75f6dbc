"""Sources and teachers by their flags: which are meant, what they refuse, and that each goes with each."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from az_engine.cli import main
from az_engine.engine.errors import DataError, OptionError
from az_engine.models.data.games.chess import FORMAT
from az_engine.models.label import command, sources
from az_engine.models.label.command import SOURCES, TEACHERS, chosen
from az_engine.models.label.flags import kinds_in

from ..reference import board_of, move_of
from ..samples import GO9_SAMPLE, SAMPLE
from .labelling import UCI, arguments, job, task

ROOT = Path(__file__).parents[3]
DOCUMENTS = [*(ROOT / "models" / "nets").glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
GAME = '[Result "1-0"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n'
FLAGS = {  # of small runs
    "games": ("--games", 1, "--max-plies", 12, "--student", "default"),
    "records": (),
    "lines": ("--search", 20),
    "walks": ("--positions", 20, "--student", "default"),
    "trees": ("--positions", 20, "--search", 20),
    "quick": ("--positions", 20, "--max-plies", 4, "--openings", "0,2"),
}


def commands() -> list[str]:
    """The commands of the nets' cards and of the documents, each in one line."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text().replace("\\\n", " ")
        found += re.findall(r"(?:^|`)(?:\./)?az-engine label (--[^`\n]*)", text, re.MULTILINE)
    return found


def test_the_commands_of_cards_and_documents_are_read() -> None:
    assert len(commands()) > 30
    for line in commands():
        words = shlex.split(line, comments=True)
        if {"--engine", "--net", "--nnue"} & set(words):  # else it is a part of one
            source, teacher = chosen(arguments("--out", "unused", *words))
            assert type(source) in SOURCES.values(), line
            assert type(teacher) in TEACHERS.values(), line


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ("--engine E", "games"),
        ("--net N --games 5 --student default", "games"),
        ("--engine E --records a.pgn b.pgn", "records"),
        ("--nnue F --records a.pgn", "records"),
        ("--net N --records a.pgn --search 9 --student N", "lines"),
        ("--net N --around DATA --temperatures 1,2", "walks"),
        ("--engine E --around DATA --ahead 8 --nodes 9", "walks"),
        ("--nnue F --around DATA --search 9 --within 0.2 --least-visits 2 --judge-moves 3", "trees"),
        ("--nnue F --starts handicap --positions 5", "quick"),
        ("--nnue F --source walks --around DATA", "walks"),
        ("--nnue F --source games --games 3", "games"),
        ("--engine E --source quick", "quick"),
        ("--net N --source trees --around DATA --search 9", "trees"),
    ],
)
def test_the_source_is_the_one_meant(words: str, source: str) -> None:
    assert type(chosen(arguments("--out", "unused", *words.split()))[0]) is SOURCES[source]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--net N --visits 5", "--visits means nothing to games and net; it is for engine"),
        ("--net N --option Hash=1", "--option means nothing to games and net; it is for engine"),
        ("--nnue F --visits 9", "--visits means nothing to quick and nnue; it is for engine"),
        ("--net N --around DATA --games 5", "--games means nothing to walks and net; it is for games, lines, records"),
        ("--net N --positions 5", "--positions means nothing to games and net; it is for quick, trees, walks"),
        ("--nnue F --around DATA --blunders 0.5", "--blunders means nothing to trees and nnue"),
        ("--net N --around DATA --search 9", "--search means nothing to walks and net; it is for lines, trees"),
        ("--engine E --search 9", "--search means nothing to games and engine"),
        ("--net N --around DATA --judge-moves 9", "--judge-moves means nothing to walks and net; it is for nnue"),
        ("--net N --around DATA --within 0.2", "--within means nothing to walks and net; it is for trees"),
        ("--nnue F --games 2", "--games means nothing to quick and nnue"),
        ("--engine E --starts handicap --records games.kif", "--starts means nothing to records and engine"),
        ("--engine E --source lines --records a.pgn", "--source lines needs --search"),
        ("--nnue F --around DATA --within 0.7", "--within is 0.7; it must be greater than 0 and at most 0.5"),
        ("--nnue F --around DATA --search 0", "--search is 0; it must be at least 1"),
        ("--nnue F --judge-moves 0", "--judge-moves is 0; it must be at least 1"),
        ("--game go --net default --records F --komi-spread inf", "--komi-spread is inf; it must be a finite number"),
        ("--nnue F --positions 0", "--positions is 0; it must be at least 1"),
        ("--engine E --ahead 257", "--ahead is 257; it must be 1 to 256"),
        ("--net N --temperatures 0,1", "--temperatures is 0.0; it must be greater than 0"),
    ],
)
def test_what_means_nothing_is_refused(words: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        chosen(arguments("--out", "unused", *words.split()))


def test_what_a_game_has_not_is_refused(nnue: Path) -> None:
    for words, said in (
        (("--game", "go", "--nnue", nnue), "judges chess and shogi; leave it out for go"),
        (("--game", "go", "--net", "default", "--around", GO9_SAMPLE), "records of go hold no positions"),
        (("--game", "go", "--net", "default", "--source", "quick"), "records of go hold no positions"),
    ):
        with pytest.raises(OptionError, match=said):
            job(*words)
    with pytest.raises(DataError, match="no net of Stockfish"):
        job("--nnue", SAMPLE)


def test_a_teacher_must_be_named_and_only_one(capfd: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--net", "default", "--engine", "stockfish"]):
        with pytest.raises(SystemExit):
            main(["label", "--out", "unused", *words])
        assert "--engine" in capfd.readouterr().err


NEW = """
from dataclasses import dataclass
from az_engine.engine.settings import setting
from az_engine.models.label.job import Question, Source

@dataclass(frozen=True)
class Starts(Source):
    meaning = "the start position, again and again: --copies N"
    needs = ("copies",)
    copies: int = setting(1, "label so many copies", 1, flag=True)

    @property
    def total(self):
        return self.copies

    def open(self, job):
        def label(number, teacher):
            teacher.new_game(None)
            line = job.game.initial()
            records = job.form.record(job.game, line, teacher.teach([Question(line, [])])[0])
            records["game"] = number
            return records
        return label

SOURCE = Starts
"""


def test_a_source_is_one_file_found_by_being_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "starts.py").write_text(NEW)
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path)])
    monkeypatch.setattr(command, "SOURCES", kinds_in(sources, "SOURCE"))
    records = task(job("--net", "default", "--copies", "5", "--first-game", "3"), 4)
    assert records["game"].tolist() == [4]
    with pytest.raises(OptionError, match="--copies means nothing to records and net; it is for starts"):
        chosen(arguments("--out", "unused", "--net", "N", "--records", "a.pgn", "--source", "records", "--copies", "2"))


@pytest.fixture
def teachers(nnue: Path) -> dict[str, tuple[object, ...]]:
    words = {"engine": ("--engine", UCI, "--visits", 9), "net": ("--net", "default"), "nnue": ("--nnue", nnue)}
    return {**words, "searched": ("--searched", 1.25)}


def test_every_source_and_every_teacher_is_tried(teachers: dict[str, tuple[object, ...]]) -> None:
    assert (set(FLAGS), set(teachers)) == (set(SOURCES), set(TEACHERS))


@pytest.mark.slow
@pytest.mark.parametrize("teacher", TEACHERS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_teacher_judges_every_source(
    tmp_path: Path, around: Path, teachers: dict[str, tuple[object, ...]], source: str, teacher: str
) -> None:
    """Its records can be learned from, hold legal moves alone, and say who judged."""
    pgn = tmp_path / "game.pgn"
    pgn.write_text(GAME)
    files = {"records": pgn, "around": around}
    named = [word for name in SOURCES[source].needs if name in files for word in (f"--{name}", files[name])]
    words = (*teachers[teacher], "--source", source, *named, *FLAGS[source])
    if teacher == "searched" and not SOURCES[source].searches:
        with pytest.raises(OptionError, match="positions of searches"):
            job(*words)
        return
    made = job(*words)
    records = task(made, made.first_game // made.source.each)
    assert FORMAT.first_fault(records) == ""
    for record in records[:: max(1, len(records) // 50)]:
        legal = set(board_of(record).legal_moves)
        assert {move_of(int(move)) for move in record["mv"][: record["n"]]} <= legal
    if teacher == "engine":
        assert set(records["depth"]) == {3}
    elif teacher == "net":
        assert set(records["depth"]) == {0}
    assert len(np.unique(records["game"])) >= 1

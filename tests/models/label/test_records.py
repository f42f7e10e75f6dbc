"""Labels of recorded games: every position of theirs, their moves and results, as the teacher judges them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_games, format_named
from az_engine.engine.records.record import Record
from az_engine.models.data.formats import labels_of
from az_engine.models.data.games.go import read_folder, read_shard
from az_engine.models.data.shards import Records, TargetOptions
from az_engine.models.label.recorded import read_played
from az_engine.models.selfplay.store.replay import ShardWriter, shard_path, title

from .. import reference
from ..selfplay.games import random_game
from .labelling import GTP, UCI, label, read

EMPTY = "5/5/5/5/5 b - 7 chinese-ogs"
MOVES = "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7"
GAMES = """[Result "1-0"]

1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0

[Result "1/2-1/2"]
[SetUp "1"]
[FEN "8/P6k/8/8/8/8/6K1/8 b - - 0 1"]

1... Kg7 2. a8=Q Kf7 1/2-1/2

[Result "*"]

1. d4 *
"""


def from_files(out: Path, records: list[Path], *words: object, game: str = "chess") -> Path:
    engine = f"{GTP} --owners" if game == "go" else UCI
    return label(out, "--game", game, "--engine", engine, "--records", *records, *words)


def kept(folder: Path) -> Records:
    records = read(folder)
    return records[np.argsort(records["game"], kind="stable")]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.slow
def test_every_position_of_finished_games_is_labelled(tmp_path: Path) -> None:
    pgn = write(tmp_path / "games.pgn", GAMES)
    from_files(tmp_path / "out", [pgn], "--first-game", "100")
    records = kept(tmp_path / "out")
    board = chess.Board()
    first = records[records["game"] == 100]
    assert len(first) == 7
    for i, (record, word) in enumerate(zip(first, MOVES.split(), strict=True)):
        assert reference.board_of(record).board_fen() == board.board_fen()
        assert reference.move_of(int(record["played"])).uci() == word
        assert record["z"] == (1 if i % 2 == 0 else -1)
        assert record["ply"] == i
        assert record["n"] >= 1
        assert reference.move_of(int(record["mv"][0])) in board.legal_moves
        board.push_uci(word)
    second = records[records["game"] == 101]
    assert (second["z"] == 0).all()
    assert [reference.move_of(int(m)).uci() for m in second["played"]] == ["h7g7", "a7a8q", "g7f7"]
    assert set(records["game"]) == {100, 101}


@pytest.mark.slow
def test_a_run_goes_on_and_may_take_a_part(tmp_path: Path) -> None:
    pgn = write(tmp_path / "games.pgn", GAMES)
    from_files(tmp_path / "out", [pgn], "--games", "1")
    assert set(kept(tmp_path / "out")["game"]) == {0}
    from_files(tmp_path / "out", [pgn])
    both = kept(tmp_path / "out")
    assert set(both["game"]) == {0, 1}
    assert len(both) == 10


@pytest.mark.slow
def test_go_games_become_what_the_learner_reads(tmp_path: Path) -> None:
    go = get_game("go5")
    rng = np.random.default_rng(5)
    records = []
    for number in range(3):
        line, words = go.initial(), []
        for _ in range(12):
            moves = [int(m) for m in go.legal_moves(line)][:-1]
            move = moves[int(rng.integers(len(moves)))]
            words.append(go.format_move(line[-1], move))
            line = go.play(line, move)
        if number:
            records.append(Record.of_line(tuple(words), EMPTY, 1, "resignation"))
        else:
            records.append(Record.of_line((*words, "pass", "pass"), EMPTY, -1))
    sgf = tmp_path / "games.sgf"
    sgf.write_text(format_games(records, format_named(go.record_formats, "sgf")))
    from_files(tmp_path / "out", [sgf], "--size", "5", "--nodes", "5", game="go")
    d, g = read_shard(next((tmp_path / "out").glob("*.npz")), 25)
    assert sorted(g["game"]) == [0, 1, 2]
    assert g["reason"][np.argsort(g["game"])].tolist() == [1, 2, 2]
    assert (np.bincount(d["game"]) == [14, 12, 12]).all()
    for number in (1, 2):
        part = d[d["game"] == number]
        assert (part["z"] == np.where(part["turn"] == 1, 1, -1)).all()
    held = d["game"] == 2
    np.savez_compressed(tmp_path / "holdout.npz", d=d[held], g=g[g["game"] == 2])
    np.savez_compressed(tmp_path / "rest.npz", d=d[~held], g=g[g["game"] != 2])
    train, heldout = read_folder(go, [tmp_path / "holdout.npz", tmp_path / "rest.npz"], TargetOptions())
    assert (len(train.drawn), len(heldout.drawn)) == (26, 12)


@pytest.mark.slow
def test_games_against_itself_are_labelled(tmp_path: Path) -> None:
    """A self-play run's own file holds as good games as any; one of another game is refused."""
    chess_game = get_game("chess")
    writer = ShardWriter(tmp_path, 0, title(chess_game, "a seed"))
    games = [random_game(chess_game, number, plies=9) for number in range(2)]
    for game in games:
        assert writer.write(game)
    writer.close()
    stored = shard_path(tmp_path, 0, 0)
    from_files(tmp_path / "out", [stored], "--first-game", "50")
    records = kept(tmp_path / "out")
    assert records["game"].tolist() == [50] * 9 + [51] * 9
    for number, game in enumerate(games):
        board = chess.Board()
        line = chess_game.initial()
        for record, move in zip(records[records["game"] == 50 + number], game.moves.tolist(), strict=True):
            assert reference.board_of(record).board_fen() == board.board_fen()
            board.push_uci(chess_game.format_move(line[-1], move))
            line = chess_game.play(line, move)
    with pytest.raises(DataError, match="holds games of another board"):
        from_files(tmp_path / "other", [stored], game="shogi")
    moves = games[0].moves.copy()
    moves[3] = moves[2]
    writer = ShardWriter(tmp_path, 1, title(chess_game, "a seed"))
    assert writer.write(replace(games[0], moves=moves))
    writer.close()
    with pytest.raises(DataError, match="game 0 breaks the rules at move 4; leave the file out"):
        from_files(tmp_path / "other", [shard_path(tmp_path, 1, 0)])


@pytest.mark.slow
def test_go_games_are_labelled_under_the_rules_of_labels(tmp_path: Path) -> None:
    """Tromp-Taylor lets a stone be its own capture; records do not, and keep one komi."""
    root = "5/5/5/5/5 b - 7.5 tromp-taylor 0 0 0"
    words = ("A3", "A1", "B2", "E5", "B1", "A2", "pass", "pass")  # A2 is the suicide of two stones
    sgf = tmp_path / "games.sgf"
    games = [Record.of_line(words, root, -1), Record.of_line((*words[:5], "E4", "pass", "pass"), root, 1)]
    sgf.write_text(format_games(games, format_named(get_game("go5").record_formats, "sgf")))
    said: list[str] = []
    first, second = read_played(get_game("go5"), labels_of("go5"), [sgf], said.append)
    assert said == ["games.sgf: 1 game cut where the rules of labels forbid a move"]
    assert (len(first.moves), len(second.moves)) == (5, 8)
    start = labels_of("go5").start
    assert start is not None
    for played in (first, second):
        assert get_game("go5").format_position(played.line[0]) == start
    from_files(tmp_path / "out", [sgf], "--size", "5", "--nodes", "5", game="go")
    d, g = read_shard(next((tmp_path / "out").glob("*.npz")), 25)
    assert np.unique(g["komi"]).tolist() == [float(start.split()[3])]
    assert g["reason"][np.argsort(g["game"])].tolist() == [2, 1]
    assert (d["z"][d["game"] == 0] == np.where(d["turn"][d["game"] == 0] == 1, -1, 1)).all()


@pytest.mark.slow
def test_komi_is_drawn_for_each_game(tmp_path: Path) -> None:
    """A net that sees komi learns little about it from games at one komi."""
    sgf, words = tmp_path / "games.sgf", ("A3", "C1", "B2", "E5")
    games = [Record.of_line(words, EMPTY, 1, "resignation")] * 40
    sgf.write_text(format_games(games, format_named(get_game("go5").record_formats, "sgf")))
    komis = []
    for number, seed in enumerate((1, 1, 2)):
        out, flags = tmp_path / str(number), ("--size", "5", "--nodes", "5", "--komi-spread", "4", "--seed", seed)
        from_files(out, [sgf], *flags, game="go")
        d, g = read_shard(next(out.glob("*.npz")), 25)
        komis.append(g["komi"][np.argsort(g["game"])].tolist())
        assert (d["z"] == np.sign(d["w"].astype(int) - 32767.5)).all()  # the result is that of another komi
    assert komis[0] == komis[1] != komis[2]
    assert -12.5 <= min(komis[0]) < 4 < 10 < max(komis[0]) <= 12.5
    assert len(set(komis[0])) > 10
    with pytest.raises(OptionError, match="means nothing to chess"):
        from_files(tmp_path / "chess", [write(tmp_path / "games.pgn", GAMES)], "--komi-spread", "4")


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    pgn = write(tmp_path / "games.pgn", GAMES)
    with pytest.raises(OptionError, match="--student means nothing to records and engine"):
        from_files(tmp_path / "out", [pgn], "--student", "default")
    unfinished = write(tmp_path / "unfinished.pgn", '[Result "*"]\n\n1. d4 *\n')
    with pytest.raises(DataError, match="no finished game"):
        from_files(tmp_path / "out", [unfinished])
    with pytest.raises(DataError, match="cannot be read"):
        from_files(tmp_path / "out", [tmp_path / "nothing.pgn"])
    with pytest.raises(OptionError, match="no format for games"):
        from_files(tmp_path / "out", [write(tmp_path / "games.txt", GAMES)])

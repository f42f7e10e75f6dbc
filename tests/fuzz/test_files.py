"""Mutated nets, game records, labelled positions and self-play games: a fault is said, what is read is legal."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import AzError, DataError, NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.nets.weights import embedded_net, load_evaluator
from az_engine.engine.params import SearchParams
from az_engine.engine.records.formats import RecordFormat, format_games, read_games
from az_engine.engine.records.record import Record
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.tree import Tree
from az_engine.models.data.formats import shards_of
from az_engine.models.data.shards import TargetOptions, read_arrays
from az_engine.models.selfplay.store.frames import frame
from az_engine.models.selfplay.store.replay import ShardReader, ShardWriter, shard_path, title

from ..engine.nets.test_nets import tiny_net
from ..games import DIRECTORY
from ..models.selfplay.games import random_game
from .campaign import TIMEOUT, Campaign, mutate_bytes, mutate_words

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT)]

GAMES = ("chess", "shogi", "go9", *(folder.parent.name for folder in DIRECTORY.glob("*/rules.py")))
DATA = Path(__file__).parents[1] / "data"
SHARDS = {"chess": "chess", "shogi": "shogi", "go": "go9", "go19": "go19"}  # game -> its sample's name


def random_records(game: Game, rng: random.Random, count: int) -> list[Record]:
    """Games of random moves, with names, times, comments and headers."""
    found = []
    for _ in range(count):
        line, moves = game.initial(), list[str]()
        root = game.format_position(line[0]) if game.territory is not None else None  # SGF tells the board's size
        for _ in range(rng.randrange(40)):
            legal = game.legal_moves(line)
            if not len(legal) or game.outcome(line) != RUNNING:
                break
            move = int(rng.choice(legal.tolist()))
            moves.append(game.format_move(line[-1], move))
            line = game.play(line, move)
        times = tuple(rng.choice((None, 0.5, 61.25)) for _ in moves)
        comments = tuple(
            rng.choice(("", "a (comment) {with} 'marks' ; and more", "+0.31/12")) for _ in range(len(moves) + 1)
        )
        headers = {"Event": "x", "Date": "2026.01.02", "Round": "1"}
        result = rng.choice((1, 0, -1, None))
        found.append(Record.of_line(tuple(moves), root, result, "", ("First", "Second [x]"), times, comments, headers))
    return found


@cache
def usual_files(game: Game, form: RecordFormat) -> list[bytes]:
    """Files of one format to mutate."""
    rng = random.Random(0)
    count = 1 if form.between is None else 3
    return [form.encode(format_games(random_records(game, rng, count), form), "x" + form.suffixes[0]) for _ in range(4)]


def formats() -> Iterator[tuple[Game, RecordFormat]]:
    """All formats that can be written."""
    for name in GAMES:
        game = get_game(name)
        yield from ((game, form) for form in game.record_formats if form.write is not None)


def test_game_records(tmp_path: Path) -> None:
    campaign, known = Campaign("game records"), list(formats())
    for rng in campaign.cases():
        game, form = rng.choice(known)
        path = tmp_path / f"x{rng.choice(form.suffixes)}"
        content = rng.choice(usual_files(game, form))
        if rng.random() < 0.5:
            words = (
                "e2e4",
                "Nf3",
                "O-O",
                "+7776FU",
                "B[aa]",
                "(",
                ")",
                "{",
                "*",
                "%TORYO",
                "1.",
                ";W[tt]",
                "\u6295\u4e86",
            )
            lines = [mutate_words(line, rng, words) for line in content.decode("utf-8", "replace").split("\n")]
            content = "\n".join(lines).encode("utf-8", "surrogateescape")
        path.write_bytes(mutate_bytes(content, rng) if rng.random() < 0.7 else content)
        try:
            records = list(read_games(game.record_formats, path))
        except DataError as error:
            campaign.refuse(error)
            continue
        for record in records:
            check_record(game, record, campaign.case)
            campaign.count("games")
            campaign.count("damaged games", bool(record.fault))


def check_record(game: Game, record: Record, case: str) -> None:
    """Every move is legal, and the lists fit."""
    if record.root is not None and game.territory is not None:  # SGF tells the size of the board
        game = game.sized(record.root.partition(" ")[0].count("/") + 1)
    line = game.initial() if record.root is None else game.parse_position(record.root)[0]
    for text in record.moves:
        if text == "skip":  # Go's, for two moves of one colour in a row
            line = game.play(line, game.parse_move(line, text))
            continue
        move = game.parse_move(line, text)
        assert move in game.legal_moves(line), f"{case}: {text}"
        line = game.play(line, move)
    assert len(record.times) in (0, len(record.moves)), case
    assert len(record.comments) in (0, len(record.moves) + 1), case
    assert "\n" not in record.fault, case


def test_nets(tmp_path: Path) -> None:
    campaign, path = Campaign("nets"), tmp_path / "net.onnx"
    game = get_game("chess")
    embedded = embedded_net("chess")
    assert embedded is not None
    seeds = (tiny_net().SerializeToString(), embedded.read_bytes())
    for rng in campaign.cases():
        content = rng.choice(seeds)
        head = rng.choice((200, 2000, len(content)))  # where the structure is; most of a net is weights
        if rng.random() < 0.5:
            content = mutate_bytes(content[:head], rng) + content[head:]
        else:
            content = content[:-head] + mutate_bytes(content[-head:], rng)
        path.write_bytes(content)
        try:
            evaluator = load_evaluator(str(path), game, provider="cpu", batch_size=4)
        except NetError as error:
            campaign.refuse(error)
            continue
        search = Search(game, Tree(1 << 20), evaluator, SearchParams(), game.window(game.initial()), visits=30)
        search.run(lambda: False)
        assert search.error is None or isinstance(search.error, NetError), f"{campaign.case}: {search.error!r}"
        campaign.count("nets that play" if search.error is None else "nets that fail in a search")


def test_labelled_positions(tmp_path: Path) -> None:
    campaign = Campaign("labelled positions")
    for rng in campaign.cases():
        name = rng.choice([*SHARDS])
        game, source = get_game(name), DATA / f"{SHARDS[name]}_train_sample.npz"
        arrays = {array: read_arrays(source, (array,))[0] for array in ("d", *(("g",) if game.name == "go" else ()))}
        path = tmp_path / "shard.npz"
        if rng.random() < 0.3:
            path.write_bytes(mutate_bytes(source.read_bytes(), rng))
        else:
            spoiled = rng.choice([*arrays])
            content = mutate_same_size(arrays[spoiled].tobytes(), rng)
            arrays[spoiled] = np.frombuffer(content, arrays[spoiled].dtype)
            with path.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
        try:
            train, kept = shards_of(name).read_folder(game, [path], TargetOptions())
            batch = train.batch(np.arange(min(16, len(train))))
        except AzError as error:
            campaign.refuse(error)
            continue
        assert len(kept), campaign.case
        for values in (batch.probabilities, batch.wdl):
            assert np.isfinite(values).all(), campaign.case
        campaign.count("read")


def mutate_same_size(content: bytes, rng: random.Random) -> bytes:
    """A few other bytes, in place."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 2, 5, 40))):
        changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
    return bytes(changed)


def test_self_play_games(tmp_path: Path) -> None:
    campaign, folder = Campaign("self-play games"), tmp_path
    for rng in campaign.cases():
        game = get_game(rng.choice(GAMES))
        heading = title(game, "1")
        path = shard_path(folder, 0, 0)
        path.unlink(missing_ok=True)
        writer = ShardWriter(folder, 0, heading)
        good = [random_game(game, rng.randrange(1000) * 10 + i, plies=rng.randrange(1, 30)) for i in range(3)]
        for record in good:
            writer.write(record)
        writer.close()
        if rng.random() < 0.5:  # with a checksum that fits
            spoil = mutate_bytes if rng.random() < 0.3 else mutate_same_size
            payload = good[0].to_bytes() if rng.random() < 0.8 else b"\0" + json.dumps(heading).encode()
            with path.open("ab") as file:
                file.write(frame(spoil(payload, rng)))
        else:
            path.write_bytes(mutate_bytes(path.read_bytes(), rng))
        reader = ShardReader(path, heading, game)
        try:
            records = reader.read()
        except DataError as error:
            campaign.refuse(error)
            continue
        campaign.count("games", len(records))
        campaign.count("damaged stretches", reader.damaged)
        for found in records:
            line = game.initial()
            for move in found.moves.tolist():
                assert move in game.legal_moves(line), f"{campaign.case}: move {move} of game {found.id}"
                line = game.play(line, move)


def test_the_usual_files_are_read_whole(tmp_path: Path) -> None:
    """So that the fuzzers begin from what is right."""
    for game, form in formats():
        for content in usual_files(game, form):
            path = tmp_path / f"x{form.suffixes[0]}"
            path.write_bytes(content)
            records = list(read_games(game.record_formats, path))
            assert records
            assert not any(record.fault for record in records), (form.name, records)

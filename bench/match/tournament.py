"""A tournament: every pairing's games, several at a time, saved so that it can be interrupted and resumed at any time.

The journal, one JSON object a line, is the truth: a game counts once its line is complete. A line is one write, forced
to the disk; a line that a kill cut short is dropped on resuming. The record file (PGN, CSA, SGF) is made from the
journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from ...engine.errors import DataError, EngineProcessError, OptionError
from ...engine.games import get_game
from ...engine.nets.weights import sha256_of
from ...engine.os.files import write_atomically
from ...engine.os.system import lock
from ...engine.records.formats import format_games
from .game import EnginePool, GameStopped, MatchGame, MatchSettings, Pairing, play_game
from .openings import Opening

JOURNAL, SETTINGS = "games.jsonl", "event.json"
NETS = "nets"  # of what identifies a match: the SHA-256 of each player's net, "" of a program or none
FILE = "openings file"  # ... and that of the file of openings, "" where they are named
_LATER = (NETS, FILE, "openings", "seed", "start")  # what folders of earlier versions may lack of it
FAULTS_IN_ROW = 20  # games that a player may lose one after another by faults other than time


def pairs_of(players: int, *, gauntlet: bool = False) -> list[tuple[int, int]]:
    """Pairs of players: all of them, or in a gauntlet player 0 with each other one."""
    return [pair for pair in combinations(range(players), 2) if pair[0] == 0 or not gauntlet]


def schedule(pairs: Sequence[tuple[int, int]], openings: Sequence[Opening], games: int) -> list[Pairing]:
    """``games`` for each pair; two running have one opening and swapped colours. All pairs meet before any meets again.

    A game's number does not depend on how many games there are.
    """
    plan = []
    for opening, line in enumerate(openings[: (games + 1) // 2]):
        for place, (a, b) in enumerate(pairs):
            for swapped in range(min(2, games - 2 * opening)):
                number = 2 * (opening * len(pairs) + place) + swapped
                plan.append(Pairing(number, b if swapped else a, a if swapped else b, line))
    return plan


class Journal:
    """The folder of a tournament; only one process at a time can open it."""

    def __init__(self, folder: Path, settings: MatchSettings, identity: dict[str, Any]) -> None:
        """Open or create it. ``identity``: what a resumed tournament must share with this one.

        Errors: OptionError when it cannot be written, is in use, or holds another one; DataError when it is damaged.
        """
        forms = get_game(settings.game).record_formats
        self._form = forms[0] if forms else None  # a game without a record format has the journal alone
        self._records = folder / f"games{forms[0].suffixes[0] if forms else ''}"
        self._single = next((form for form in forms if form.between is None and form.write is not None), None)
        self._folder = folder
        try:
            files = (folder / JOURNAL, folder / SETTINGS, self._records)
            self._made = [path for path in (*files, folder, *folder.parents) if not path.exists()]
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / JOURNAL).open("a+b")
        except OSError as error:
            raise OptionError(f"cannot write to {folder}: {error.strerror}; choose another --out") from None
        try:
            lock(self._file.fileno())
        except OSError:
            self._file.close()
            raise OptionError(f"another match is writing to {folder}; choose another --out") from None
        try:
            self.games = self._read(folder, identity)
        except BaseException:
            self._file.close()
            raise
        self._rewrite_records()

    def _read(self, folder: Path, identity: dict[str, Any]) -> list[MatchGame]:
        """Read the games so far and cut off a line that a kill left unfinished."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        path = folder / SETTINGS
        games = parse_journal(content[:whole].decode("utf-8", "replace"), str(folder / JOURNAL))
        if games:
            known = read_identity(path)
            known = {name: identity[name] for name in _LATER if name in identity} | known
            changed = [name for name, value in identity.items() if known.get(name) != value]
            if changed:
                raise OptionError(
                    f"{folder} holds another match already ({', '.join(changed)} differ); choose another --out, or "
                    "give the same settings to go on with it"
                )
        write_atomically(path, (json.dumps(identity, indent=2) + "\n").encode())
        return games

    def _rewrite_records(self) -> None:
        if self._form is not None:
            text = format_games([game.record for game in self.games], self._form)
            write_atomically(self._records, text.encode())
        for game in self.games:
            self._write_single(game)

    def _write_single(self, game: MatchGame) -> None:
        """Write the game's own file as well, where a format holds one game a file (KIF)."""
        if self._single is not None:
            name = f"{game.pairing.number + 1:04}{self._single.suffixes[0]}"
            text = format_games([game.record], self._single)
            write_atomically(self._folder / self._single.name.lower() / name, self._single.encode(text, name))

    def add(self, game: MatchGame) -> None:
        """Append a game; it is on the disk afterwards. Errors: DataError when the disk is full or gone."""
        line = json.dumps(game.to_json(), ensure_ascii=False).encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
            if self._form is not None:
                text = format_games([game.record], self._form)
                with self._records.open("a", encoding="utf-8") as file:
                    file.write((self._form.between or "") * bool(self.games) + text)
            self._write_single(game)
        except OSError as error:
            raise DataError(
                f"a game cannot be kept in {self._folder} ({error.strerror}); make room and give the command again"
            ) from error
        self.games.append(game)

    def close(self) -> None:
        self._file.close()

    def drop_empty(self) -> None:
        """Close it, and remove the files and folders that were made for it. Only without games."""
        with contextlib.suppress(OSError):  # somebody else has put something there, or the disk is full
            self.close()
            for path in self._made:
                if path.is_dir():
                    path.rmdir()
                else:
                    path.unlink(missing_ok=True)


def parse_journal(text: str, name: str) -> list[MatchGame]:
    """The games of a journal, each once. Errors: DataError, naming the line that is wrong."""
    games: dict[int, MatchGame] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
        try:
            game = MatchGame.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{name}, line {number} is no game of a match; remove it, or choose another folder"
            ) from error
        games.setdefault(game.pairing.number, game)
    return list(games.values())


def each_once(paths: Sequence[Path]) -> list[Path]:
    """Files of results, or matches' folders, without those whose games are there already, which are reported."""
    files = [(path / JOURNAL if path.is_dir() else path).resolve() for path in paths]
    given, results = set(files), dict[Path, Path]()
    for path, file in zip(paths, files, strict=True):
        journal = file.with_name(JOURNAL)
        if file in results or (file != journal and file.stem == journal.stem and journal in given):
            print(f"{path}: its games are given twice and are counted once", file=sys.stderr)
        else:
            results[file] = path
    return list(results.values())


def identity_of(settings: MatchSettings) -> dict[str, Any]:
    """What of its settings identifies a match: game, players, and what their nets hold. BLOCKS. Errors: NetError."""
    game, players = get_game(settings.game), settings.players
    return {
        "game": settings.game,
        "players": [player.describe() for player in players],
        NETS: ["" if player.command else sha256_of(player.net, game) for player in players],
    }


def read_identity(path: Path) -> dict[str, Any]:
    """What a match's folder says of the match, from its ``SETTINGS``. Errors: DataError."""
    try:
        identity = json.loads(path.read_bytes())
    except (OSError, ValueError):
        identity = None
    if not isinstance(identity, dict):
        raise DataError(f"{path} is missing or damaged: it is not known which match this was; choose another --out")
    return identity


@dataclass(slots=True)
class Tournament:
    """The plan of a tournament and its finished games."""

    settings: MatchSettings
    plan: Sequence[Pairing]
    journal: Journal | None = None
    finished: list[MatchGame] = field(default_factory=list)
    _faults: Counter[int] = field(default_factory=Counter)  # of each player, without a game between

    def __post_init__(self) -> None:
        if self.journal is not None:
            planned = {pairing.number for pairing in self.plan}
            self.finished += [game for game in self.journal.games if game.pairing.number in planned]

    @property
    def missing(self) -> list[Pairing]:
        played = {game.pairing.number for game in self.finished}
        return [pairing for pairing in self.plan if pairing.number not in played]

    def add(self, game: MatchGame) -> None:
        """Take a finished game.

        Errors: DataError when it cannot be kept; EngineProcessError when it is the last of too many that its player
        lost by faults.
        """
        if self.journal is not None:
            self.journal.add(game)
        self.finished.append(game)
        for player in (game.pairing.first, game.pairing.second):
            guilty = game.at_fault == player and game.fault != "time loss"
            self._faults[player] = self._faults[player] + 1 if guilty else 0
            if self._faults[player] == FAULTS_IN_ROW:
                again = "" if self.journal is None else ", and give the command again to go on"
                raise EngineProcessError(
                    f"{game.ending.words}. So it has lost its last {FAULTS_IN_ROW} games by faults, and the match "
                    f"stops; mend the player{again}"
                )

    def run(
        self,
        concurrency: int = 1,
        on_game: Callable[[MatchGame], None] = lambda game: None,
        decided: Callable[[], bool] = lambda: False,
        pool: EnginePool | None = None,
    ) -> None:
        """Play what is missing, ``concurrency`` games at a time, until ``decided``. BLOCKS.

        pool: engines that already run, for the first worker. Errors: AzError when a player does not start or fails in
        game after game; a KeyboardInterrupt leaves the finished games.
        """
        waiting: queue.SimpleQueue[Pairing] = queue.SimpleQueue()
        for pairing in self.missing:
            waiting.put(pairing)
        lock, stop = threading.Lock(), threading.Event()
        errors: list[BaseException] = []
        ready = [] if pool is None else [pool]

        def work(done: threading.Event) -> None:
            pool = ready.pop() if ready else EnginePool(self.settings)
            try:
                pairing = waiting.get_nowait()
                pool.fill(pairing.first, pairing.second)
                loaded.wait()
                while not stop.is_set():
                    game = play_game(pairing, self.settings, pool, stop)
                    with lock:
                        self.add(game)
                        on_game(game)
                        if decided():
                            stop.set()
                    pairing = waiting.get_nowait()
            except (queue.Empty, GameStopped, threading.BrokenBarrierError):
                return
            except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
                errors.append(error)
                stop.set()
                loaded.abort()
            finally:
                pool.close()
                done.set()

        finished = [threading.Event() for _ in range(min(concurrency, waiting.qsize()))]
        loaded = threading.Barrier(max(len(finished), 1))  # loading would take time off the clocks of other games
        for i, done in enumerate(finished):
            threading.Thread(target=work, name=f"match {i}", args=(done,)).start()
        try:  # not Thread.join: until Python 3.13 an interrupted join takes a running thread for ended
            for done in finished:
                while not done.wait(0.2):
                    pass
        except KeyboardInterrupt:
            stop.set()
            for done in finished:
                done.wait()
            raise
        if errors:
            raise errors[0]


def repeated(games: Iterable[MatchGame]) -> int:
    """Number of games that repeat another one of the same players move for move: they add no information."""
    counts = Counter(
        (frozenset((game.pairing.first, game.pairing.second)), game.pairing.opening.root, game.moves) for game in games
    )
    return sum(count - 1 for count in counts.values())

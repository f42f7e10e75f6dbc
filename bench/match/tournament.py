"""An event: every pairing's games, several at a time, kept so that it can be broken off at any moment and gone on with.

The journal, one JSON object a line, is the truth: a game is played when its line is there, whole. It is written with
one write and forced to the disk; a line that a kill cut short is dropped when the event goes on. The record file (PGN,
CSA, SGF) is made of the journal.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from ...engine.errors import DataError, OptionError
from ...engine.files import write_atomically
from ...engine.games import get_game
from ...engine.games.record import format_games
from .game import Abandoned, Game, Pairing, Seats, Terms, play_game
from .openings import Opening

JOURNAL, SETTINGS = "games.jsonl", "event.json"


def pairs_of(players: int, *, gauntlet: bool = False) -> list[tuple[int, int]]:
    """Who meets whom: all, or in a gauntlet player 0 all others."""
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
    """The folder of an event. One process at a time may hold it."""

    def __init__(self, folder: Path, terms: Terms, settings: dict[str, Any]) -> None:
        """Open or create it. ``settings``: what makes it the same event when it goes on.

        Errors: OptionError when it cannot be written, is in use, or holds another event; DataError when it is damaged.
        """
        forms = get_game(terms.game).record_formats
        self._form = forms[0] if forms else None  # a game without a record format has the journal alone
        self._records = folder / f"games{forms[0].suffixes[0] if forms else ''}"
        self._single = next((form for form in forms if form.between is None and form.write is not None), None)
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / JOURNAL).open("a+b")
        except OSError as error:
            raise OptionError(f"cannot write to {folder}: {error.strerror}; choose another --out") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise OptionError(f"another match is writing to {folder}; choose another --out") from None
        try:
            self.games = self._read(folder, settings)
        except BaseException:
            self._file.close()
            raise
        self._rewrite_records()

    def _read(self, folder: Path, settings: dict[str, Any]) -> list[Game]:
        """The games so far; ends with the file's end behind the last whole line."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        path = folder / SETTINGS
        games = parse_journal(content[:whole].decode("utf-8", "replace"), str(folder / JOURNAL))
        if games:
            known = _read_settings(path)
            changed = [name for name, value in settings.items() if known.get(name) != value]
            if changed:
                raise OptionError(
                    f"{folder} holds another match already ({', '.join(changed)} differ); choose another --out, or "
                    "give the same settings to go on with it"
                )
        write_atomically(path, (json.dumps(settings, indent=2) + "\n").encode())
        return games

    def _rewrite_records(self) -> None:
        if self._form is not None:
            text = format_games([game.record for game in self.games], self._form)
            write_atomically(self._records, text.encode())
        for game in self.games:
            self._write_single(game)

    def _write_single(self, game: Game) -> None:
        """In a game that has a format of one file a game (KIF), also that."""
        if self._single is not None:
            name = f"{game.pairing.number + 1:04}{self._single.suffixes[0]}"
            text = format_games([game.record], self._single)
            write_atomically(self._folder / self._single.name.lower() / name, self._single.encode(text, name))

    def add(self, game: Game) -> None:
        """Keep one game more; it is on the disk afterwards. Errors: DataError when the disk is full or gone."""
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
        """Let others have it."""
        self._file.close()


def parse_journal(text: str, name: str) -> list[Game]:
    """The games of a journal, each once. Errors: DataError, naming the line that is wrong."""
    games: dict[int, Game] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            game = Game.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{name}, line {number} is no game of a match; remove it, or choose another folder"
            ) from error
        games.setdefault(game.pairing.number, game)
    return list(games.values())


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError):
        settings = None
    if not isinstance(settings, dict):
        raise DataError(f"{path} is missing or damaged: it is not known which match this was; choose another --out")
    return settings


@dataclass(slots=True)
class Event:
    """What to play, and what has been played."""

    terms: Terms
    plan: Sequence[Pairing]
    journal: Journal | None = None
    finished: list[Game] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take up what the journal holds of the plan."""
        if self.journal is not None:
            planned = {pairing.number for pairing in self.plan}
            self.finished += [game for game in self.journal.games if game.pairing.number in planned]

    @property
    def missing(self) -> list[Pairing]:
        """Still to be played."""
        played = {game.pairing.number for game in self.finished}
        return [pairing for pairing in self.plan if pairing.number not in played]

    def run(
        self,
        concurrency: int = 1,
        on_game: Callable[[Game], None] = lambda game: None,
        decided: Callable[[], bool] = lambda: False,
        seats: Seats | None = None,
    ) -> None:
        """Play what is missing, ``concurrency`` games at a time, until ``decided``. BLOCKS.

        seats: players that are running already, for the first worker. Errors: AzError when a player does not start; a
        KeyboardInterrupt leaves the finished games.
        """
        waiting: queue.SimpleQueue[Pairing] = queue.SimpleQueue()
        for pairing in self.missing:
            waiting.put(pairing)
        lock, stop = threading.Lock(), threading.Event()
        errors: list[BaseException] = []
        ready = [] if seats is None else [seats]

        def work(done: threading.Event) -> None:
            seats = ready.pop() if ready else Seats(self.terms)
            try:
                pairing = waiting.get_nowait()
                seats.fill(pairing.first, pairing.second)
                seated.wait()
                while not stop.is_set():
                    game = play_game(pairing, self.terms, seats, stop)
                    with lock:
                        if self.journal is not None:
                            self.journal.add(game)
                        self.finished.append(game)
                        on_game(game)
                        if decided():
                            stop.set()
                    pairing = waiting.get_nowait()
            except (queue.Empty, Abandoned, threading.BrokenBarrierError):
                return
            except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
                errors.append(error)
                stop.set()
                seated.abort()
            finally:
                seats.close()
                done.set()

        ends = [threading.Event() for _ in range(min(concurrency, waiting.qsize()))]
        seated = threading.Barrier(max(len(ends), 1))  # kernels and nets that load would cost the other games' clocks
        for i, done in enumerate(ends):
            threading.Thread(target=work, name=f"match {i}", args=(done,)).start()
        try:  # not Thread.join: until Python 3.13 an interrupted join takes a running thread for ended
            for done in ends:
                while not done.wait(0.2):
                    pass
        except KeyboardInterrupt:
            stop.set()
            for done in ends:
                done.wait()
            raise
        if errors:
            raise errors[0]


def repeated(games: Iterable[Game]) -> int:
    """How many games are move for move what another one was, whoever played them; they tell nothing new."""
    counts = Counter((game.pairing.opening.root, game.moves) for game in games)
    return sum(count - 1 for count in counts.values())

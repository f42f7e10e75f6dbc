"""Rating while training: each rated checkpoint plays fixed opponents and earlier checkpoints.

Each net makes two players: the raw network, which plays its most probable move, and the net with a search of a few
visits. The fixed opponents are uniformly random moves and a search without a net. The latter is the anchor (0 Elo), as
random moves are soon too weak to measure by. Opponents that a net is known to beat every time are skipped.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from ....bench.ratings.bayes import PairScore, Rating, rate
from ....engine.errors import DataError
from ....engine.games.base import Game
from ....engine.nets.evaluator import Evaluator, UniformEvaluator
from ....engine.os.files import write_atomically
from ....engine.search.arena import NetPlayer, play_pairs, random_openings
from ...net.providers import own_evaluator
from ...storage import Patience
from ...train.log import read_log
from ..config import RunConfig
from ..folder import RunFolder

RANDOM = "random"
FIXED = -1  # "step" of a player that does not learn
KNOWN = 0.97  # share of the points from which an opponent counts as beaten and is skipped
RESERVE = 0.25  # share of the rating's time reserved for the last net
ENOUGH = 2  # matches after which the next net may be rated instead: a curve needs many points
_KEPT_NETS = 4  # loaded at a time


@dataclass(frozen=True, slots=True)
class Match:
    """Colour-swapped pairs of games to play."""

    a: str
    b: str
    step: int  # of the net that is being rated


def raw(step: int) -> str:
    """Name of the raw network of a step."""
    return f"net {step} raw"


def searching(step: int, visits: int) -> str:
    """Name of the net of a step with a search."""
    return f"net {step} @{visits}"


def plain(visits: int) -> str:
    """Name of the search without a net."""
    return f"search @{visits}"


class Ladder:
    """The rating matches of a run, played and waiting, and the ratings."""

    def __init__(self, folder: RunFolder, run: RunConfig, game: Game, patiently: Patience) -> None:
        self.folder, self.run, self.game, self.patiently = folder, run, game, patiently
        self.config = run.ladder
        self.waiting: list[Match] = []
        self._longest: dict[bool, float] = {}  # seconds of a match, by whether a net-less search takes part
        self.rows = [r for r in read_log(folder.ladder) if "a" in r] if folder.ladder.exists() else []
        self._evaluators: OrderedDict[str, Evaluator] = OrderedDict()

    def forget_after(self, step: int) -> None:
        """Drop results of nets of later steps, which will be trained again."""
        kept = [r for r in self.rows if int(r["step"]) <= step]
        if len(kept) < len(self.rows):
            self.rows = kept
            text = "".join(json.dumps(r) + "\n" for r in kept)
            self.patiently(lambda: write_atomically(self.folder.ladder, text.encode()), "the rating")

    # ---- what to play

    @property
    def seconds(self) -> float:
        """Time spent on the matches that count, over all starts."""
        return sum(float(r["seconds"]) for r in self.rows)

    @property
    def rated(self) -> list[int]:
        """Steps of the nets that have played, oldest first."""
        return sorted({int(r["step"]) for r in self.rows})

    def enqueue(self, step: int, *, last: bool = False) -> bool:
        """Plan the matches of a net that has not played enough; returns whether there are any.

        Waits until the net before has played ENOUGH matches, unless this is the ``last`` net; further matches of the
        net before are then dropped.
        """
        if self.config.share <= 0 or self._enough(step) or any(m.step == step for m in self.waiting):
            return False
        if self.waiting and not last:
            if not self._enough(self.waiting[0].step):
                return False
            self.waiting.clear()
        visits = self.config.visits
        here, here_raw = searching(step, visits), raw(step)
        others = [s for s in self.rated if s != step and self.folder.net(s).exists()]
        others.sort(key=lambda s: abs(s - step))
        near = others[: self.config.earlier]
        if last and others and others[-1] not in near:
            near = [*near, others[-1]]
        matches = [(here, searching(s, visits)) for s in near[:1]] + [(here, plain(self.config.plain_visits))]
        matches += [(here, searching(s, visits)) for s in near[1:]] + [(here, here_raw)]
        matches += [(here_raw, raw(s)) for s in near[:1]] + [(here_raw, RANDOM), (here, RANDOM)]
        if not self.rows:
            matches.insert(0, (plain(self.config.plain_visits), RANDOM))
        played = {(r["a"], r["b"]) for r in self.rows}
        new = [(a, b) for a, b in matches if (a, b) not in played]
        self.waiting = [Match(a, b, step) for a, b in new if b.startswith("net") or not self._known(a, b)]
        return bool(self.waiting)

    def enqueue_left_out(self) -> bool:
        """Plan the matches of the unrated net farthest in steps from all rated ones; returns whether there is one."""
        steps = self.folder.net_steps
        rated = [s for s in steps if self._enough(s)]
        left_out = [s for s in steps if s not in rated]
        left_out.sort(key=lambda s: -min((abs(s - r) for r in rated), default=s))
        return not self.waiting and any(self.enqueue(s) for s in left_out)

    def _enough(self, step: int) -> bool:
        """Whether a net has played enough for the next one to be rated."""
        return [int(r["step"]) for r in self.rows].count(step) >= ENOUGH

    def _known(self, a: str, b: str) -> bool:
        """Whether an earlier net that plays like ``a`` has beaten the fixed player ``b`` (almost) every time."""
        way = a.rpartition(" ")[2]
        before = next((s for s in reversed(self.scores()) if s.b == b and s.a.endswith(f" {way}")), None)
        return before is not None and (before.wins + 0.5 * before.draws) / before.games >= KNOWN

    # ---- playing

    def play_waiting(
        self, compute_seconds: float, *, last: bool = False, stopping: Callable[[], bool] = lambda: False
    ) -> int:
        """Play waiting matches within ``ladder.share`` of ``compute_seconds``; returns how many were played.

        compute_seconds: of the run so far, over all its processes and starts; stopping: True ends the rating.
        """
        played = 0
        while self.waiting and not stopping():
            match = self.waiting[0]
            share = self.config.share * (1.0 if last else 1.0 - RESERVE)
            slow = any(name.startswith("search") for name in (match.a, match.b))
            if self.seconds + self._longest.get(slow, 0.0) > share * compute_seconds:
                break
            self.waiting.pop(0)
            self.play(match)
            played += 1
        return played

    def play(self, match: Match) -> PairScore:
        begun = time.monotonic()
        seed = hash_of(f"{self.run.seed} {match.a} {match.b} {len(self.rows)}")
        openings = random_openings(self.game, self.config.pairs, self.config.opening_plies, seed)
        a, b, longest = self.player(match.a), self.player(match.b), self.run.selfplay.max_moves
        games = play_pairs(self.game, a, b, openings, seed=seed, max_moves=longest)
        points = [g.result if i % 2 == 0 else -g.result for i, g in enumerate(games)]
        score = PairScore(match.a, match.b, points.count(1), points.count(0), points.count(-1))
        seconds = time.monotonic() - begun
        slow = any(name.startswith("search") for name in (match.a, match.b))
        self._longest[slow] = max(seconds, 0.5 * self._longest.get(slow, 0.0))
        row = {"step": match.step, **asdict(score), "seconds": round(seconds, 3)}
        self.rows.append(row)
        self.patiently(lambda: self._append(json.dumps(row) + "\n"), "a result of the rating")
        return score

    def _append(self, text: str) -> None:
        """Append to ``ladder.jsonl``, all of it or nothing."""
        with self.folder.ladder.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                if file.write(text.encode()) < len(text):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                file.truncate(size)
                raise

    def player(self, name: str) -> NetPlayer:
        search = self.run.selfplay.search
        kind, _, rest = name.partition(" ")
        if name == RANDOM:
            return NetPlayer(name, self._evaluator("uniform"), 0, search)
        if kind == "search":
            return NetPlayer(name, self._evaluator("uniform"), int(rest[1:]), search)
        step, _, how = rest.partition(" ")
        visits = 0 if how == "raw" else int(how[1:])
        return NetPlayer(name, self._evaluator(step), visits, search)

    def _evaluator(self, net: str) -> Evaluator:
        if net in self._evaluators:
            self._evaluators.move_to_end(net)
            return self._evaluators[net]
        size = 2 * self.config.pairs
        made: Evaluator
        if net == "uniform":
            made = UniformEvaluator(self.game, size)
        else:
            machine = self.run.machine
            made = own_evaluator(
                self.folder.net(int(net)),
                self.game,
                provider=machine.provider,
                batch_size=size,
                precision=machine.precision,
            )
        self._evaluators[net] = made
        while len(self._evaluators) > _KEPT_NETS:
            self._evaluators.popitem(last=False)
        return made

    # ---- results

    def scores(self) -> list[PairScore]:
        return scores_of(self.rows)

    def ratings(self) -> dict[str, Rating]:
        """Elo of every player above :func:`anchor`; empty before the first games."""
        return ratings_of(self.scores())


def scores_of(rows: list[dict[str, object]]) -> list[PairScore]:
    return [PairScore(str(r["a"]), str(r["b"]), *(int(str(r[k])) for k in ("wins", "draws", "losses"))) for r in rows]


def anchor(scores: Sequence[PairScore]) -> str:
    """Name of the player whose Elo is 0: the search without a net that has played most."""
    games: dict[str, int] = {}
    for score in scores:
        for name in (score.a, score.b):
            if name.startswith("search"):
                games[name] = games.get(name, 0) + score.games
    return max(games, key=lambda name: games[name], default=RANDOM)


def ratings_of(scores: Sequence[PairScore]) -> dict[str, Rating]:
    """Elo of every player above :func:`anchor`; empty before its first games."""
    try:
        return rate(scores, anchor(scores))
    except DataError:
        return {}


def learning_curves(rows: list[dict[str, object]]) -> dict[str, list[tuple[int, Rating]]]:
    """Ratings by way of playing ("raw", "@64"): (step, rating) pairs, oldest first.

    A fixed player has one entry of step FIXED under its own name.
    """
    found: dict[str, list[tuple[int, Rating]]] = {}
    for name, rating in ratings_of(scores_of([r for r in rows if "a" in r])).items():
        match = re.fullmatch(r"net (\d+) (raw|@\d+)", name)
        way, step = (match[2], int(match[1])) if match else (name, FIXED)
        found.setdefault(way, []).append((step, rating))
    return {way: sorted(points, key=lambda p: p[0]) for way, points in found.items()}


def described(name: str) -> str:
    """A fixed player's description."""
    return "random moves" if name == RANDOM else f"search without a net, {int(name.partition('@')[2]):,} visits"


def hash_of(text: str) -> int:
    return zlib.crc32(text.encode())

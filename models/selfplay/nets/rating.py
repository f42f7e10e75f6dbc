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
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from ....bench.ratings.bayes import PairScore, Rating, rate
from ....engine.errors import DataError, counted
from ....engine.games.base import Game
from ....engine.nets.evaluator import Evaluator, UniformEvaluator
from ....engine.os.files import write_atomically
from ....engine.search.selfplay.matches import NetPlayer, play_pairs, random_openings
from ...net.providers import run_evaluator
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
    pairs: int


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
        self._pair_s: dict[bool, float] = {}  # seconds of a pair of games, by whether a net-less search takes part
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

        Waits until the net before has played ENOUGH matches, unless this is the ``last`` net, which plays the anchor
        first; further matches of the net before are then dropped.
        """
        if self.config.share <= 0 or self._enough(step) or any(m.step == step for m in self.waiting):
            return False
        if self.waiting and not last:
            if not self._enough(self.waiting[0].step):
                return False
            self.waiting.clear()
        visits = self.config.visits
        player, player_raw = searching(step, visits), raw(step)
        others = [s for s in self.rated if s != step and self.folder.net(s).exists()]
        others.sort(key=lambda s: abs(s - step))
        near = others[: self.config.earlier]
        if last and others and others[-1] not in near:
            near = [*near, others[-1]]
        matches = [(player, searching(s, visits)) for s in near[:1]]
        matches.insert(0 if last else 1, (player, plain(self.config.plain_visits)))
        matches += [(player, searching(s, visits)) for s in near[1:]] + [(player, player_raw)]
        matches += [(player_raw, raw(s)) for s in near[:1]] + [(player_raw, RANDOM), (player, RANDOM)]
        if not self.rows:
            matches.insert(1, (plain(self.config.plain_visits), RANDOM))
        played: Counter[tuple[str, str]] = Counter()
        for score in self.scores():
            played[score.a, score.b] += score.games // 2
        new = [Match(a, b, step, self.config.pairs - played[a, b]) for a, b in matches]
        self.waiting = [m for m in new if m.pairs > 0 and (m.b.startswith("net") or not self._known(m.a, m.b))]
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
        games = sum(int(r["wins"]) + int(r["draws"]) + int(r["losses"]) for r in self.rows if int(r["step"]) == step)
        return games >= 2 * ENOUGH * self.config.pairs

    def _known(self, a: str, b: str) -> bool:
        """Whether an earlier net that plays like ``a`` has beaten the fixed player ``b`` (almost) every time."""
        way = a.rpartition(" ")[2]
        points: Counter[str] = Counter()
        games: Counter[str] = Counter()
        for score in self.scores():
            if score.b == b and score.a.endswith(f" {way}"):
                points[score.a] += score.wins + 0.5 * score.draws  # type: ignore[assignment]
                games[score.a] += score.games
        whole = [name for name, count in games.items() if count >= 2 * self.config.pairs]
        return bool(whole) and points[whole[-1]] / games[whole[-1]] >= KNOWN

    # ---- playing

    def allowance(self, compute_seconds: float, *, last: bool = False) -> float:
        """Seconds that ``ladder.share`` leaves for matches; compute_seconds: of all processes and starts so far."""
        share = self.config.share * (1.0 if last else 1.0 - RESERVE)
        return share * compute_seconds - self.seconds

    def affordable(self, seconds: float) -> int:
        """How many pairs of the next match fit into ``seconds``; one where none of its kind has been played yet."""
        if not self.waiting or seconds <= 0:
            return 0
        match = self.waiting[0]
        pair_s = self._pair_s.get(_is_slow(match))
        return 1 if pair_s is None else min(match.pairs, int(seconds / max(pair_s, 1e-9)))

    def play_waiting(self, seconds: float, stopping: Callable[[], bool] = lambda: False) -> int:
        """Play waiting matches for at most ``seconds``, save that a kind's first pair may take longer.

        stopping: True ends the rating. Returns how many pairs were played.
        """
        played, end = 0, time.monotonic() + seconds
        while not stopping() and (pairs := self.affordable(end - time.monotonic())):
            match = self.waiting[0]
            self.play(match, pairs)
            left = replace(match, pairs=match.pairs - pairs)
            self.waiting[:1] = [left] if left.pairs else []
            played += pairs
        return played

    def play(self, match: Match, pairs: int) -> PairScore:
        begun = time.monotonic()
        seed = hash_of(f"{self.run.seed} {match.a} {match.b} {len(self.rows)}")
        openings = random_openings(self.game, pairs, self.config.opening_plies, seed)
        a, b, longest = self.player(match.a), self.player(match.b), self.run.selfplay.max_moves
        games = play_pairs(self.game, a, b, openings, seed=seed, max_moves=longest)
        points = [g.result if i % 2 == 0 else -g.result for i, g in enumerate(games)]
        score = PairScore(match.a, match.b, points.count(1), points.count(0), points.count(-1))
        seconds, slow = time.monotonic() - begun, _is_slow(match)
        self._pair_s[slow] = max(seconds / pairs, 0.5 * self._pair_s.get(slow, 0.0))
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
            made = run_evaluator(
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

    def zero(self) -> str:
        """What an Elo of 0 is: the anchor, and how far it is above random moves where they have met."""
        name, ratings = anchor(self.scores()), self.ratings()
        if name == RANDOM or RANDOM not in ratings:
            return described(name)
        return f"{described(name)}, {-ratings[RANDOM].elo:+.0f} above random moves"


def _is_slow(match: Match) -> bool:
    return any(name.startswith("search") for name in (match.a, match.b))


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
    results: dict[str, list[tuple[int, Rating]]] = {}
    for name, rating in ratings_of(scores_of([r for r in rows if "a" in r])).items():
        match = re.fullmatch(r"net (\d+) (raw|@\d+)", name)
        way, step = (match[2], int(match[1])) if match else (name, FIXED)
        results.setdefault(way, []).append((step, rating))
    return {way: sorted(points, key=lambda p: p[0]) for way, points in results.items()}


def described(name: str) -> str:
    """A fixed player's description."""
    return (
        "random moves" if name == RANDOM else f"search without a net, {counted(int(name.partition('@')[2]), 'visit')}"
    )


def hash_of(text: str) -> int:
    return zlib.crc32(text.encode())

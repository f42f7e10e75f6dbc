"""The move to play: a search's best, unless that is a pass that loses, or the game is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...engine import blocking
from ...engine.clock import Stopwatch
from ...engine.errors import AzError, NetError
from ...engine.info import BestMove, Estimate, Line, ThinkingInfo
from ...engine.limits import Limits
from ..lines import LineWriter
from ..loader import Loader
from ..options import OptionValues
from .analysis import Analysis, analysis_line, searched
from .board import PASS, STONES, GtpError, Size, other
from .clock import PlayerClock, TimeSystem
from .command import GtpCommand
from .game import GoEngine, GtpGame

_PASS_S, _PASS_BY_VISITS_S = 5.0, 30.0  # for what a pass is worth, at most, where no clock runs
_LEAST_PASS_S = 0.02  # for it, at least
_SAFETY_MS = 50.0  # of a clock, kept beyond the overhead: a look at an answer may take longer than its limit
_BEFORE_A_PASS = 0.75  # of a move's own time, where a pass is likely: the rest is for what that is worth
_CHOICES = 4  # lines that a search for a move reports: the best may be a pass or a suicide that we do not play
RESIGN = "resign"
_EARLY = 4  # no resignation before points / _EARLY moves
_AT_THE_END = 10**9  # ms between reports: but for the last there is none
_POINTS_LOST, _VALUE_LOST = 0.25, 0.05  # that two searches may differ in: a needless move costs a point, or nothing
_OTHERS = 400  # visits of the search for the best move but the pass
_LIKELY = 0.02  # probability of a pass by the net from which on a search may choose it
_LIKELIEST = 8  # answers by the net's policy, at least
_FIRST_LOOK = 16.0  # times that: what a first look at an answer finds is lost beyond doubt
_LOOKS = ((40, 12), (200, 4), (800, 0))  # visits for each answer to the pass, and how many of them get the next look


def _shorter(limits: Limits) -> Limits:
    """The search's part of a move's own time, where a pass is likely."""
    movetime = None if limits.movetime is None else round(_BEFORE_A_PASS * limits.movetime)
    return replace(limits, movetime=movetime, byoyomi=round(_BEFORE_A_PASS * limits.byoyomi))


class Worth(NamedTuple):
    """What a search found: its best move, and what that leads to for a player."""

    move: str
    score: float | None  # points ahead; None where the net does not tell
    value: float  # in [-1, 1]

    def as_good_as(self, other: Worth, doubt: float) -> bool:
        """Whether nothing is lost by it, in points or, where those are not known, in chances.

        doubt: 1 for searches as large as may be; more for smaller ones.
        """
        if self.score is None or other.score is None:
            return self.value >= other.value - doubt * _VALUE_LOST
        return self.score >= other.score - doubt * _POINTS_LOST

    @property
    def order(self) -> tuple[float, float]:
        """The greater, the better."""
        return (0.0 if self.score is None else self.score), self.value

    @property
    def of_opponent(self) -> Worth:
        return Worth(self.move, None if self.score is None else -self.score, -self.value)


def _worth_of(best: BestMove, last: ThinkingInfo | None) -> Worth:
    """Of the move that a search found, for the side to move."""
    line = best.lines[0] if best.lines else None
    estimate = (line.estimate if line is not None else None) or (last.estimate if last is not None else None)
    value = line.wdl.value if line is not None else 0.0
    return Worth(best.move or PASS, None if estimate is None else estimate.score, value)


def _likely_to_pass(moves: Sequence[str], policy: Sequence[float]) -> bool:
    """Whether a search is likely to choose a pass, by the net's probabilities of the legal moves."""
    return dict(zip(moves, policy, strict=True)).get(PASS, 0.0) >= _LIKELY


def _another_than_an_unlikely_pass(lines: Sequence[Line]) -> str | None:
    """The best move but the pass where the net takes that for unlikely: few visits pass where all seems lost or won."""
    others = [line.pv[0] for line in lines if line.pv[0] != PASS]
    unlikely = any(line.pv[0] == PASS and line.prior < _LIKELY for line in lines)
    return others[0] if others and unlikely else None


def _best_or_pass(
    engine: GoEngine, find: Callable[[Limits], tuple[BestMove, ThinkingInfo | None]], seconds: float
) -> str | None:
    """The pass, where no answer to it takes anything of what the best other move gives; else that move. BLOCKS.

    None where the time has ended before the likeliest answers were looked at.

    engine: holds a position in which both sides have about the same chances, else chances tell nothing of points; find:
    searches within limits. Every answer gets a small search of its own, since a net that takes a group for settled
    gives the move that kills it no visit; those that come out best get greater ones (sequential halving), for a small
    one often ends before the kill.
    """
    others = tuple(move for move in engine.legal_moves() if move != PASS)
    if not others:
        return PASS
    watch = Stopwatch()

    def worth(move: Sequence[str], visits: int) -> Worth:
        left = min(seconds / 2, seconds - watch.seconds)
        limits = Limits(
            movetime=max(round(1000 * left), 1), report_ms=_AT_THE_END, nodes=visits, searchmoves=tuple(move)
        )
        return _worth_of(*find(limits))

    best = worth(others, _OTHERS)
    engine.play(PASS)
    try:
        policy = engine.opinion().policy.tolist()
        answers = [answer for _, answer in sorted(zip(policy, engine.legal_moves(), strict=True), reverse=True)]
        answers.remove(PASS)
        for visits, kept in _LOOKS:
            enough = min(_LIKELIEST, len(answers))
            first, result = (visits, kept) == _LOOKS[0], list[Worth]()
            for answer in answers:
                if watch.seconds > (seconds / 2 if first else seconds):
                    break
                result.append(worth([answer], visits))
                if not result[-1].of_opponent.as_good_as(best, _FIRST_LOOK if first else 1.0):
                    return best.move
            if first and len(result) < enough:
                return None
            answers = [worth.move for worth in sorted(result, key=lambda each: each.order, reverse=True)[:kept]]
    finally:
        engine.undo()
    return PASS


class MoveChooser:
    """Chooses move after move, and counts how long the game has looked lost to each player."""

    def __init__(self, percent: float, patience: int) -> None:
        """Resign when the chance to win stays below ``percent`` for ``patience`` moves running; 0: never."""
        self._threshold, self._patience = percent / 100.0, patience
        self._hopeless: dict[str, int] = {}  # by colour, moves running that looked lost

    def forget(self) -> None:
        self._hopeless.clear()

    def choose(self, best: BestMove, lines: Sequence[Line], lead: float, *, last: bool) -> str:
        """The vertex to play, or pass.

        lines: the last report's, which has one more than the best. lead: points ahead if the game ended now. last:
        whether the opponent has passed, so that a pass ends the game.
        """
        move = best.move or PASS
        if last and lead > 0:
            return PASS
        if move != PASS or lead > 0:
            return move
        value = best.lines[0].wdl.value if best.lines else 0.0
        if value <= 0 and (not last or lead == 0):  # nothing is given away
            return PASS
        return next((line.pv[0] for line in lines if line.pv[0] != PASS), PASS)

    def resigns(self, colour: str, best: BestMove, moves: int, points: int) -> bool:
        """Whether a colour should give up now, after ``moves`` moves on a board of so many points. Call once a move."""
        value = best.lines[0].wdl.value if best.lines else 0.0
        lost = (1.0 + value) / 2.0 < self._threshold
        self._hopeless[colour] = self._hopeless.get(colour, 0) + 1 if lost else 0
        return self._hopeless[colour] >= self._patience and _EARLY * moves >= points


class MoveMaker:
    """Searches for the moves of one conversation and plays them, on each player's clock. All methods may block."""

    def __init__(
        self,
        game: GtpGame,
        loader: Loader[GoEngine],
        values: OptionValues,
        writer: LineWriter,
        tell: Callable[[str], None],
    ) -> None:
        """Load nothing. ``writer``: for reports of a search; ``tell``: sentences for the user."""
        self._game, self._loader, self._values, self._writer, self._tell = game, loader, values, writer, tell
        self._ready_size: Size | None = None  # the board that the net was loaded for
        self._chooser = MoveChooser(float(values["resign"]), int(values["resign_moves"]))
        self.set_time(TimeSystem())

    def set_time(self, system: TimeSystem) -> None:
        """Begin to time moves: both clocks start anew."""
        self._system = system
        self.clocks = {colour: PlayerClock(system) for colour in STONES}

    def new_game(self) -> None:
        """Another game begins: the clocks start anew, and none has looked lost."""
        self.forget()
        self.set_time(self._system)

    def forget(self) -> None:
        """A move was taken back: no move before has looked lost."""
        self._chooser.forget()

    def ready(self) -> None:
        """Load the net for the board; what cannot be loaded is reported, and the engine does without."""
        self._game.engine()
        if self._ready_size != self._game.size:
            self._loader.again()
        if self._loader.prepare() is None:
            self._ready_size = self._game.size
        if self._game.rules.territory and not self._game.engine().knows_rules:
            self._tell(
                "this net has learned area scoring: by territory rules its score is the area less the stones played, "
                "dead stones are those that it expects to be captured, and it passes when only neutral points are left"
            )

    def search(
        self, engine: GoEngine, command: GtpCommand, limits: Limits, request: Analysis | None, *, lines: int
    ) -> tuple[BestMove, ThinkingInfo | None]:
        """Search, and print reports if requested. Errors: GtpError when there is no move."""
        engine.configure(multipv=lines)
        if request is not None:
            spread = request.moves_ownership or request.moves_ownership_stdev
            limits = replace(limits, report_ms=request.interval_ms, moves_ownership=spread)
            command.begin(self._writer)

        def show(info: ThinkingInfo) -> None:  # on the search's thread, which waits for it
            if info.message is not None:
                self._tell(info.message)
            line = "" if request is None or not info.lines else analysis_line(info, request)
            if line and not self._writer.write(line):
                command.interrupt()

        best, last = blocking.search(engine, limits, show, lambda: command.on_interrupt(engine.stop))
        command.on_interrupt(None)
        for text in best.messages:
            self._tell(text)
        if best.error is not None and not isinstance(best.error, AzError):
            self._tell(f"internal error, please report it: {type(best.error).__name__}: {best.error}")
        if best.move is None and not command.endless:
            raise GtpError(best.messages[-1] if best.messages else "there is no move")
        return best, last

    def decide(
        self, command: GtpCommand, colour: str, request: Analysis | None, *, cleanup: bool = False
    ) -> tuple[str, BestMove]:
        """Choose a move for a colour, and leave the game as it was."""
        watch, game = Stopwatch(), self._game
        self.ready()
        is_last = game.passed and game.moves[-1].colour == other(colour)
        with game.to_move(colour) as engine:
            moves = game.moves_of_cleanup(colour, self._seconds_for_a_pass(colour, watch, 0)) if cleanup else ()
            if request is not None:
                moves = searched(request, colour, moves or engine.legal_moves())
            by_territory = game.rules.territory and not (cleanup or moves)  # a pass that loses nothing is looked for
            takes_off = game.rules.agreed and is_last and not (cleanup or moves)  # what is dead is looked for
            limits = self._limits(colour, watch.seconds)
            own_time = bool(limits.movetime or limits.byoyomi)
            if own_time and (takes_off or (by_territory and (is_last or self._may_pass(engine, colour)))):
                limits = _shorter(self._limits(colour, watch.seconds))
            limits = replace(limits, searchmoves=moves, report_ms=_AT_THE_END if game.rules.territory else None)
            best, last = self.search(engine, command, limits, request, lines=request.most if request else _CHOICES)
        lines = last.lines if last is not None else ()
        move = best.move or PASS
        if by_territory:
            another = _another_than_an_unlikely_pass(lines)
            if is_last or game.over(colour, None if last is None else last.estimate):
                move = self._pass_or_move(command, colour, watch, best, last) or move
            elif move == PASS:
                move = another or self._pass_or_move(command, colour, watch, best, last) or move
        elif not (cleanup or moves) and (move == PASS or is_last):
            lead = game.sure_lead(colour, self._seconds_for_a_pass(colour, watch, best.time_ms))
            move = self._chooser.choose(best, lines, lead, last=is_last)
        move = game.without_suicide(colour, (move, *(line.pv[0] for line in lines)))
        return move, best

    def make(self, command: GtpCommand, colour: str, request: Analysis | None, *, cleanup: bool = False) -> str:
        """Choose a move, play it or resign, and take the time off the clock."""
        watch, game = Stopwatch(), self._game
        move, best = self.decide(command, colour, request, cleanup=cleanup)
        if not (cleanup or move == PASS) and self._chooser.resigns(colour, best, len(game.moves), game.size.points):
            move = RESIGN
        if move != RESIGN:
            game.play(colour, move)
        self.clocks[colour].spend(watch.seconds)
        return move

    def _pass_or_move(
        self, command: GtpCommand, colour: str, watch: Stopwatch, best: BestMove, last: ThinkingInfo | None
    ) -> str | None:
        """By rules that count territory a pass that loses nothing, else the best other move; None: no time is left."""
        seconds = self._seconds_for_a_pass(colour, watch, best.time_ms)
        if seconds < _LEAST_PASS_S:
            return None
        visits = int(self._values["nodes_limit"])
        with self._game.evened(colour, _worth_of(best, last).score or 0.0), self._game.to_move(colour) as engine:
            engine.configure(nodes_limit=0)  # that of a move is too small for a pass, which may end the game
            try:
                return _best_or_pass(engine, lambda given: self.search(engine, command, given, None, lines=1), seconds)
            finally:
                engine.configure(nodes_limit=visits)

    def _may_pass(self, engine: GoEngine, colour: str) -> bool:
        """Whether a search is likely to choose a pass, or nothing is left but to pass. BLOCKS for an evaluation."""
        try:
            opinion = engine.opinion()
        except NetError:  # the search says why
            return False
        if _likely_to_pass(engine.legal_moves(), opinion.policy.tolist()):
            return True
        return self._game.over(colour, Estimate(opinion.lead, opinion.ownership or None))

    def _seconds_for_a_pass(self, colour: str, watch: Stopwatch, used_ms: int) -> float:
        """Seconds to see what a pass is worth: what the move's own time has left, or little of a clock's.

        used_ms: of the move's own time, by its search.
        """
        visits = int(self._values["nodes_limit"])
        seconds = max(used_ms / 1000, _PASS_BY_VISITS_S if visits else _PASS_S)
        limits, reserve = self._limits(colour, watch.seconds), float(self._values["move_overhead"]) + _SAFETY_MS
        left = limits.time[[*STONES].index(colour)]
        if left is None:
            return seconds if visits else min(seconds, ((limits.movetime or 0) - used_ms) / 1000)
        left = max(left, 0)
        some = left / 20 + limits.byoyomi / 4 if left else limits.byoyomi
        most = left + limits.byoyomi if limits.movetime is None else min(left + limits.byoyomi, limits.movetime)
        return min(seconds, min(some, most - reserve) / 1000)

    def _limits(self, colour: str, gone: float) -> Limits:
        """Bounds of the next move, ``gone`` seconds of which have passed; untimed: what the user set for a move."""
        untimed = Limits(movetime=round(1000 * float(self._values["move_time"])))
        return self.clocks[colour].limits([*STONES].index(colour), gone) or untimed

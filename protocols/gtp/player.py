"""What GTP's commands do, one after another: :class:`GtpPlayer` knows all of them by name."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ... import __version__
from ...engine.limits import Limits
from ..lines import LineWriter
from ..loader import Loader
from ..options import OptionValues
from .analysis import read_analysis, searched
from .board import (
    PASS,
    STONES,
    GtpError,
    fixed_handicap,
    most_handicap,
    point,
    read_colour,
    read_pairs,
    read_size,
    read_vertex,
    result,
    vertex,
)
from .clock import KINDS, TimeSystem, read_kind, read_time_settings, seconds, whole
from .command import GtpCommand
from .game import GoEngine, GtpGame, Start, empty
from .genmove import MoveMaker
from .params import Params, read_params
from .questions import (
    ANALYZE_COMMANDS,
    all_legal,
    estimate_score,
    is_legal,
    last_move,
    model,
    move_history,
    raw_net,
)
from .rules import Rules, read_kgs_rules, read_rules
from .sgf import contents, read_sgf, write_sgf

Handler = Callable[[GtpCommand], str | None]  # the response's text, None when it has been written already


class GtpPlayer:
    """The game, the clocks and the engine behind one conversation. Not safe to call from two threads at once."""

    def __init__(
        self, loader: Loader[GoEngine], values: OptionValues, writer: LineWriter, tell: Callable[[str], None]
    ) -> None:
        """Load nothing. ``writer``: for responses that come line by line; ``tell``: sentences for the user."""
        self._values, self._writer, self._tell = values, writer, tell
        self._game = GtpGame(loader.configured, tell)
        self._params = Params(values)
        self._maker = MoveMaker(self._game, loader, values, writer, tell)
        self.commands: dict[str, Handler] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: "az-engine",
            "version": lambda _: __version__,
            "known_command": lambda command: "true" if command.rest in self.commands else "false",
            "list_commands": lambda _: "\n".join(self.commands),
            "quit": lambda _: "",
            "boardsize": self._boardsize,
            "rectangular_boardsize": self._rectangular_boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "get_komi": lambda _: f"{self._game.komi:g}",
            "kata-set-rules": lambda command: self._rules(read_rules(command.rest)),
            "kata-set-rule": self._set_rule,
            "kata-get-rules": lambda _: self._game.rules.text,
            "kata-list-params": lambda _: self._params.names(),
            "kata-get-param": lambda command: self._params.value(*command.arguments(1)),
            "kata-get-params": lambda _: self._params.text(),
            "kata-get-models": self._models,
            "kata-set-param": self._set_param,
            "kata-set-params": self._set_params,
            "kgs-rules": lambda command: self._rules(read_kgs_rules(command.rest)),
            "play": self._play,
            "undo": self._undo,
            "gg-undo": self._undo_moves,
            "gogui-play_sequence": self._play_sequence,
            "set_position": self._set_position,
            "is_legal": lambda command: is_legal(self._game, command.words),
            "all_legal": lambda command: all_legal(self._game, command.words),
            "last_move": lambda _: last_move(self._game),
            "move_history": lambda _: move_history(self._game),
            "estimate_score": self._estimate_score,
            "kata-raw-nn": self._raw_nn,
            "gogui-analyze_commands": lambda _: ANALYZE_COMMANDS,
            "stop": lambda _: "",
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "kgs-genmove_cleanup": self._cleanup,
            "genmove_analyze": self._genmove_analyze,
            "lz-genmove_analyze": self._genmove_analyze,
            "kata-genmove_analyze": self._genmove_analyze,
            "kata-search": self._kata_search,
            "kata-search_cancellable": self._kata_search,
            "kata-search_analyze": self._kata_search_analyze,
            "kata-search_analyze_cancellable": self._kata_search_analyze,
            "analyze": self._analyze,
            "lz-analyze": self._analyze,
            "kata-analyze": self._analyze,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "time_settings": lambda command: self._set_time(read_time_settings(command.words)),
            "kgs-time_settings": lambda command: self._set_time(read_kind(command.words)),
            "kata-time_settings": lambda command: self._set_time(read_kind(command.words)),
            "kata-list_time_settings": lambda _: " ".join(KINDS),
            "time_left": self._time_left,
            "final_score": lambda _: result(self._game.margin(self._dead())),
            "final_status_list": self._final_status_list,
            "showboard": lambda _: "\n".join([self._summary(), *self._game.board.drawing()]),
            "loadsgf": self._loadsgf,
            "printsgf": self._printsgf,
            "clear_cache": self._clear_cache,
            "cputime": lambda _: f"{time.process_time():.3f}",
        }

    def ready(self) -> None:
        """Load the net for the board. BLOCKS."""
        self._maker.ready()

    # ------------------------------------------------------------------ the game

    def _boardsize(self, command: GtpCommand) -> str:
        """``N``, or KataGo's ``COLUMNS ROWS``."""
        self._game.resize(read_size(command.words))
        self._new_game()
        return ""

    def _rectangular_boardsize(self, command: GtpCommand) -> str:
        command.arguments(2)
        return self._boardsize(command)

    def _clear_board(self, _: GtpCommand) -> str:
        self._game.clear()
        self._new_game()
        return ""

    def _new_game(self) -> None:
        self._maker.new_game()

    def _komi(self, command: GtpCommand) -> str:
        (word,) = command.arguments(1)
        try:
            komi = float(word) if word.isascii() and "_" not in word else None
        except ValueError:
            komi = None
        if komi is None or komi - komi != 0:  # no number, or not finite
            raise GtpError("komi not a float")
        self._game.set_komi(komi)
        return ""

    def _rules(self, rules: Rules) -> str:
        self._game.set_rules(rules)
        return ""

    def _set_rule(self, command: GtpCommand) -> str:
        key, value = command.arguments(2)
        return self._rules(self._game.rules.with_field(key, value))

    def _play(self, command: GtpCommand) -> str:
        colour, place = command.arguments(2)
        self._game.play(read_colour(colour), read_vertex(place, self._game.size))
        return ""

    def _undo(self, _: GtpCommand) -> str:
        self._game.undo()
        self._maker.forget()
        return ""

    def _undo_moves(self, command: GtpCommand) -> str:
        """``[N]``: all of them or none."""
        count = whole(command.words[0]) if command.words else 1
        if len(command.words) > 1 or count > len(self._game.moves):
            raise GtpError("cannot undo")
        for _ in range(count):
            self._game.undo()
        self._maker.forget()
        return ""

    def _play_sequence(self, command: GtpCommand) -> str:
        """``COLOUR VERTEX ...``: all of them or none."""
        game, played = self._game, 0
        moves = read_pairs(command.words, game.size)
        try:
            for colour, place in moves:
                game.play(colour, place)
                played += 1
        except GtpError:
            for _ in range(played):
                game.undo()
            raise
        return ""

    def _set_position(self, command: GtpCommand) -> str:
        """``COLOUR VERTEX ...``: an empty board with these stones, black to move."""
        game = self._game
        stones = {place: colour for colour, place in read_pairs(command.words, game.size)}
        if PASS in stones or 2 * len(stones) < len(command.words):
            raise GtpError("Illegal stone placements - overlapping stones or stones with no liberties?")
        places = {point(place, game.size): STONES[colour] for place, colour in stones.items()}
        game.load(Start(empty(game.size).board.with_stones(places)), (), komi=game.komi, rules=game.rules)
        self._new_game()
        return ""

    def _summary(self) -> str:
        game = self._game
        side = "black" if game.turn == "b" else "white"
        return (
            f"move {len(game.moves) + 1}, {side} (X is black, O is white), komi {game.komi:g}, {game.rules.name} rules"
        )

    def _set_param(self, command: GtpCommand) -> str:
        name, value = command.arguments(2)
        self._params.set({name: value})
        return ""

    def _set_params(self, command: GtpCommand) -> str:
        self._params.set(read_params(command.rest))
        return ""

    def _models(self, _: GtpCommand) -> str:
        """The net, as KataGo's analysis engine describes it, too."""
        self._maker.ready()
        return json.dumps([model(self._game.engine(), self._values)])

    # ------------------------------------------------------------------ handicap

    def _fixed_handicap(self, command: GtpCommand) -> str:
        return self._handicap(fixed_handicap(self._game.size, self._stones(command)))

    def _place_free_handicap(self, command: GtpCommand) -> str:
        """As many of the stones as have a fixed place, which the specification allows."""
        size, stones = self._game.size, self._stones(command)
        if stones >= size.points:
            raise GtpError("invalid number of stones")
        return self._handicap(fixed_handicap(size, min(stones, most_handicap(size))))

    def _set_free_handicap(self, command: GtpCommand) -> str:
        size = self._game.size
        try:
            stones = [read_vertex(word, size) for word in command.words]
        except GtpError:
            raise GtpError("bad vertex list") from None
        if len(stones) < 2 or PASS in stones or len(set(stones)) < len(stones):
            raise GtpError("bad vertex list")
        self._handicap(stones)
        return ""

    def _stones(self, command: GtpCommand) -> int:
        (word,) = command.arguments(1)
        stones = whole(word)
        if stones < 2:
            raise GtpError("invalid number of stones")
        return stones

    def _handicap(self, stones: Sequence[str]) -> str:
        self._game.set_handicap(stones)
        return " ".join(stones)

    # ------------------------------------------------------------------ time

    def _set_time(self, system: TimeSystem) -> str:
        self._maker.set_time(system)
        return ""

    def _time_left(self, command: GtpCommand) -> str:
        colour, left, stones = command.arguments(3)
        self._maker.clocks[read_colour(colour)].correct(seconds(left, negative=True), whole(stones))
        return ""

    # ------------------------------------------------------------------ thinking

    def _genmove(self, command: GtpCommand) -> str:
        (word,) = command.arguments(1)
        return self._maker.make(command, read_colour(word), None)

    def _reg_genmove(self, command: GtpCommand) -> str:
        (word,) = command.arguments(1)
        return self._maker.decide(command, read_colour(word), None)[0]

    def _cleanup(self, command: GtpCommand) -> str:
        (word,) = command.arguments(1)
        return self._maker.make(command, read_colour(word), None, cleanup=True)

    def _genmove_analyze(self, command: GtpCommand) -> None:
        request = read_analysis(command.words, self._game.size, kata=command.name.startswith("kata"))
        move = self._maker.make(command, request.colour or self._game.turn, request)
        self._writer.write(f"play {move}")
        command.succeed(self._writer)

    def _kata_search(self, command: GtpCommand) -> str:
        """A move that is not played; "cancelled" where another line may end the search and has."""
        (word,) = command.arguments(1)
        move, _ = self._maker.decide(command, read_colour(word), None)
        return "cancelled" if command.endless and command.interrupted else move

    def _kata_search_analyze(self, command: GtpCommand) -> None:
        request = read_analysis(command.words, self._game.size, kata=True)
        move, _ = self._maker.decide(command, request.colour or self._game.turn, request)
        self._writer.write(f"play {'cancelled' if command.endless and command.interrupted else move}")
        command.succeed(self._writer)

    def _raw_nn(self, command: GtpCommand) -> str:
        self._maker.ready()
        return raw_net(self._game, command.words)

    def _analyze(self, command: GtpCommand) -> None:
        request = read_analysis(command.words, self._game.size, kata=command.name.startswith("kata"))
        colour = request.colour or self._game.turn
        with self._game.to_move(colour) as engine:
            moves = searched(request, colour, engine.legal_moves())
            if command.interrupted:  # the next line is here already
                command.begin(self._writer)
            else:
                self._maker.ready()
                limits = Limits(infinite=True, searchmoves=moves, alone=True)
                self._maker.search(engine, command, limits, request, lines=request.most)
        command.succeed(self._writer)

    def _clear_cache(self, _: GtpCommand) -> str:
        self._game.engine().new_game()
        return ""

    # ------------------------------------------------------------------ the end of the game

    def _dead(self) -> list[frozenset[int]]:
        """Dead chains; none, with a note to the user, when the net has no ownership output."""
        if self._game.board.empty or (self._game.ended and not self._game.rules.agreed):
            return []
        self._maker.ready()
        dead = self._game.dead()
        if dead is None:
            self._tell("no net tells dead stones here: every stone on the board counts as alive")
        return dead or []

    def _estimate_score(self, _: GtpCommand) -> str:
        self._maker.ready()
        return estimate_score(self._game, self._game.margin())

    def _final_status_list(self, command: GtpCommand) -> str:
        (status,) = command.arguments(1)
        if status not in ("alive", "dead", "seki"):
            raise GtpError("invalid status")
        dead, size = self._dead(), self._game.size
        counts_all = self._game.ended and not self._game.rules.agreed
        seki = [] if counts_all else self._game.seki(dead)
        kinds = {"dead": dead, "seki": seki}
        alive = [points for points in self._game.chains() if points not in dead and points not in seki]
        chosen = kinds.get(status, alive)
        return "\n".join(" ".join(vertex(p, size) for p in sorted(points)) for points in chosen)

    # ------------------------------------------------------------------ SGF

    def _loadsgf(self, command: GtpCommand) -> str:
        *_, last = command.words or [""]
        name, count = command.rest, None
        if len(command.words) > 1 and last.isascii() and last.isdigit():
            name, count = command.rest[: -len(last)].rstrip(), max(whole(last) - 1, 0)
        if not name:
            raise GtpError("syntax error")
        if self._values.remote:
            raise GtpError("cannot load file: files are not read over the network")
        record = read_sgf(Path(name))
        start, komi, rules, moves = contents(record)
        game = self._game
        game.admit(start.board.size)
        if rules is None:
            rules = game.rules
            named = record.headers.get("Rules")
            if named is not None:
                self._tell(f"the file's rules, {named[:40]!r}, are not known; {rules.name} stay in force")
        if komi is None and (text := "".join(record.tree.more.get("KM", ())).strip()):
            self._tell(f"the file's komi, {text[:40]!r}, is no number of half points; {game.komi:g} stays in force")
        game.load(start, moves[:count], komi=game.komi if komi is None else komi, rules=rules)
        self._new_game()
        return ""

    def _printsgf(self, command: GtpCommand) -> str:
        if command.words:
            raise GtpError("printsgf writes no file: leave the name out")
        return write_sgf(self._game)

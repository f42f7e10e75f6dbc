"""This engine as a player in the same process: no pipes, no protocol, the same search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine.blocking import search
from ...engine.clock import Stopwatch
from ...engine.engine import Engine
from ...engine.errors import NetError, OptionError
from ...engine.games import get_game
from ...engine.limits import Limits
from ...protocols.clients.base import Answer, PvInfo
from ...protocols.clients.process import EngineDied
from ...protocols.options import OptionValues


class OurPlayer:
    """This engine as a :class:`.players.Player`; options have their names in the game's protocol."""

    def __init__(self, name: str, game: str, net: str, options: Mapping[str, str]) -> None:
        """BLOCKS until kernels and net are loaded. Errors: NetError, OptionError."""
        self.name = name
        values = OptionValues(get_game(game).protocol, {"weights_file": net})
        for option, value in options.items():
            try:
                values.set(*values.read(option, value))
            except OptionError as error:
                raise OptionError(f"player {name}: {error}") from error
        self._engine = Engine(game, values.engine_options())
        try:
            self._engine.ready()
        except NetError as error:
            raise NetError(f"player {name}: {error}") from error
        self.description = self._engine.description

    def new_game(self) -> None:
        self._engine.new_game()

    def play(self, root: str | None, moves: Sequence[str], limits: Limits) -> Answer:
        """Search and answer. BLOCKS. Errors: EngineDied when the search fails, which is a bug of ours."""
        self._engine.set_position(root, moves)
        watch = Stopwatch()
        best = search(self._engine, limits).best
        seconds = watch.seconds
        if best.error is not None:
            raise EngineDied(f"{self.name} failed ({type(best.error).__name__}: {best.error})") from best.error
        lines = tuple(
            PvInfo(
                rank,
                cp=line.cp,
                mate=line.mate,
                wdl=line.wdl.permille(),
                nodes=best.nodes,
                pv=line.pv,
                chance=(1 + line.wdl.value) / 2,
                mean=line.mean,
                lead=None if line.estimate is None else line.estimate.score,
            )
            for rank, line in enumerate(best.lines, 1)
        )
        move = None if best.resign or best.win else best.move
        return Answer(move, best.ponder, lines, seconds, resign=best.resign, win=best.win)

    def final_score(self) -> float | None:
        return None

    def game_over(self, result: str) -> None: ...

    def close(self) -> None:
        self._engine.close()

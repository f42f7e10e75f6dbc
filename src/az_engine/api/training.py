"""Training of the Python library: a self-play run as ``az-engine train`` makes it, with parts of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from ..engine.errors import OptionError
from ..engine.games import get_game
from ..engine.settings import check_kind

if TYPE_CHECKING:  # training needs torch, the rest of the library does not, and nothing is loaded before it is used
    from torch import Tensor

    from ..engine.games.base import Game
    from ..engine.search.selfplay.games import SelfPlay
    from ..models.families.losses import TorchBatch
    from ..models.families.network import Network

    Losses = Callable[[Network, TorchBatch], dict[str, Tensor]]
Row = dict[str, Any]


class Run:
    """A self-play run: games, steps, nets and ratings in a folder, which ``az-engine train`` can go on with, and plot.

    >>> import tempfile
    >>> small = {"net.blocks": 1, "net.filters": 8, "learner.batch": 8, "selfplay.games": 4, "selfplay.max_moves": 12}
    >>> small |= {"window.start": 1, "loop.first_positions": 8, "ladder.share": 0.0, "machine.workers": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Run(folder, "go3", steps=2, settings=small)
    ...     run.train(rate=lambda progress: 0.001 * (1 - progress)), run.net.exists()
    (True, True)
    """

    def __init__(
        self,
        folder: str | Path,
        game: str = "chess",
        *,
        preset: str = "",
        minutes: float | None = None,
        steps: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """A new run, or the one that the folder holds.

        game: with the size of its board, as in "go9"; preset, minutes, steps: as ``az-engine train`` has them;
        settings: any others by their names ("selfplay.visits": 50), which the run's config.json lists.
        Errors: OptionError, DataError; ModuleNotFoundError where torch is not installed.
        """
        from ..models.fields import merged, nested
        from ..models.selfplay import command

        values: dict[str, Any] = {}
        for name, value in {"loop.minutes": minutes, "loop.steps": steps, **(settings or {})}.items():
            if value is not None:
                values = merged(values, nested(name, value))
        self.folder, self.game = Path(folder), game
        if (self.folder / "config.json").exists():
            self.config, self.changes = command.resumed(self.folder, values)
            if self.config.get_game() is not get_game(game):
                raise OptionError(f"{folder} holds a run of {self.config.game}, not of {game}; give another folder")
        else:
            self.config, self.changes = command.begun(game, values, preset), []
        self.config.net_config(self.config.get_game()), self.config.learner_config()  # their errors come now

    def train(
        self,
        *,
        loss: Losses | None = None,
        rate: Callable[[float], float] | None = None,
        on_row: Callable[[Row], None] = lambda row: None,
        on_event: Callable[[str], None] = lambda text: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train to the run's end. BLOCKS. False when ``stop`` ended it: it is saved and may go on.

        loss: (network, batch) -> losses by name, f4[] each, in place of the network's own ``network.losses(batch)``;
        those called policy, value, ownership and score have the learner's weights, others 1. rate: the learning rate
        at a share in [0, 1] of the run, in place of the schedule. on_row: gets each row of the log, for a tracker;
        on_event: sentences for people. With ``machine.workers`` = 0 this process plays, too. Errors: AzError.
        """
        from ..models.selfplay.command import remember
        from ..models.selfplay.run import SelfPlayRun
        from ..models.selfplay.show.status import Observer
        from ..models.storage import RunLock

        with RunLock(self.folder):
            remember(self.folder, self.config, "az_engine.Run")
            run = SelfPlayRun(self.folder, self.config, Observer(on_event=on_event, on_row=on_row, stop=stop))
            if loss is not None:
                run.learner.losses = loss
            if rate is not None:
                run.learner.rate = lambda config, step, progress: rate(progress)
            return run.train()

    @property
    def net(self) -> Path:
        """The newest net. Errors: OptionError before there is one."""
        from ..models.selfplay.folder import RunFolder

        folder = RunFolder(self.folder)
        if not folder.net_steps:
            raise OptionError(f"{self.folder} holds no net yet; train first")
        return folder.net(folder.net_steps[-1])

    def log(self) -> list[Row]:
        """The rows of the log so far."""
        from ..models.train.log import read_log

        return read_log(self.folder / "log.jsonl")


@dataclass(frozen=True, slots=True)
class SelfPlayGame:
    """A finished game against oneself, of n moves."""

    moves: tuple[str, ...]  # as the game's protocol writes them
    policies: tuple[dict[str, float], ...]  # pi of the papers at each position; empty where the position is no target
    values: tuple[float, ...]  # of each root after its search, in [-1, 1], the mover's
    result: int  # 1 the first player won, 0 drawn, -1
    reason: str  # why it ended: rules, resigned, max moves ...


def self_play(
    game: str = "chess", net: str = "uniform", games: int = 1, *, seed: int = 0, **options: Any
) -> Iterator[SelfPlayGame]:
    """Games of a net against itself, many side by side. BLOCKS between them. Errors: AzError.

    net: as for :class:`Engine`; options: of ``selfplay`` in a run's config.json, such as visits, temperature, gumbel.

    >>> [game] = self_play("go3", games=1, visits=8, max_moves=6)
    >>> len(game.moves) == len(game.values) <= 6
    True
    """
    from ..engine.nets.weights import load_evaluator
    from ..engine.search.selfplay.games import SelfPlay, SelfPlayConfig

    for name, value, kind in (("game", game, str), ("net", net, str), ("games", games, int), ("seed", seed, int)):
        check_kind(name, value, kind)
    known = get_type_hints(SelfPlayConfig)
    for name, value in options.items():
        if name not in known:
            raise OptionError(f"there is no option {name!r}; there are {', '.join(sorted(known))}")
        check_kind(name, value, known[name])
    rules = get_game(game)
    config = SelfPlayConfig(**{"games": min(games, 64), **options})
    evaluator = load_evaluator("" if net == "default" else net, rules)
    return _played(rules, SelfPlay(rules, evaluator, config, seed, range(games)))


def _played(rules: Game, play: SelfPlay) -> Iterator[SelfPlayGame]:
    while not play.finished:
        for played in play.step():
            line, moves, policies = rules.initial(), [], []
            for i, move in enumerate(played.moves):
                state = line[-1]
                kept = played.target[i] > 0
                named = rules.format_moves(state, played.target_moves[i][kept].tolist())
                policies.append(dict(zip(named, played.target[i][kept].tolist(), strict=True)))
                moves.append(rules.format_move(state, int(move)))
                line = rules.play(line, int(move))
            yield SelfPlayGame(
                tuple(moves), tuple(policies), tuple(played.values.tolist()), played.result, played.reason
            )

"""A net of the Python library: what it says of positions without a search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.errors import OptionError
from ..engine.games import get_game
from ..engine.nets.opinions import RawNet
from ..engine.settings import check_kind
from .position import Position

if TYPE_CHECKING:
    import chess

    from ..commands.nets import EmbeddedNet


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a net says of a position, from the point of view of the side to move."""

    priors: dict[str, float]  # of each legal move (P of the papers), the likeliest first; they add up to 1
    chance: float  # expected points, 0 to 1: chance of a win plus half of that of a draw
    lead: float | None  # points ahead at the end, komi counted; None when the net has no such output
    ownership: tuple[float, ...]  # of each point from the top left, 1 surely ours, -1 surely theirs; or empty

    @property
    def value(self) -> float:
        """v of the papers: the expected outcome in [-1, 1]."""
        return 2 * self.chance - 1


class Net:
    """A net without search.

    >>> evaluation = Net().evaluate([Position()])[0]
    >>> len(evaluation.priors), 0.4 < evaluation.chance < 0.7
    (20, True)
    """

    def __init__(self, net: str = "default", game: str = "chess", batch_size: int = 64) -> None:
        """Load it; blocks. net: as for :class:`Engine`; batch_size: positions a call. Errors: NetError, OptionError."""
        for name, value, kind in (("net", net, str), ("game", game, str), ("batch_size", batch_size, int)):
            check_kind(name, value, kind)
        if batch_size < 1:
            raise OptionError(f"batch_size is {batch_size}; it must be 1 or more")
        self.game = game
        self._game = get_game(game)
        self._net = RawNet(net, self._game, batch_size)

    def evaluate(self, positions: Iterable[Position | chess.Board]) -> list[Evaluation]:
        """One evaluation a position. Blocks. Errors: NetError; OptionError for one alone, or for another game's."""
        if isinstance(positions, Position):
            raise OptionError(f"positions is {positions!r}; it must be several, as in [position]")
        held = [Position.of(position) for position in positions]
        for position in held:
            if get_game(position.game) is not self._game:
                raise OptionError(f"this net plays {self.game}, the position is of {position.game}")
        results = []
        for position, opinion in zip(held, self._net.opinions([p.line for p in held]), strict=True):
            priors = zip(position.legal_moves, opinion.policy.tolist(), strict=True)
            ordered = dict(sorted(priors, key=lambda item: -item[1]))
            results.append(Evaluation(ordered, opinion.chance, opinion.lead, opinion.ownership))
        return results


def nets() -> tuple[EmbeddedNet, ...]:
    """The nets inside the package, each with its path, card and checksum. Errors: NetError."""
    from ..commands.nets import embedded_nets

    return embedded_nets()

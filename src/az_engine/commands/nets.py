"""``az-engine nets``: the nets inside the package and their cards."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import NetError
from ..engine.games import game_names
from ..engine.nets.file.netfile import read_outline
from ..engine.nets.netinfo import NetInfo
from ..engine.nets.weights import embedded_net, other_nets

HELP = """\
List the nets inside the package, one line each: what it plays, its shape, precision and teacher, size and SHA-256.
With a game's name: print that net's card (how it was made, its measured strength, the commands to make it again)."""


@dataclass(frozen=True, slots=True)
class EmbeddedNet:
    path: Path
    info: NetInfo
    sha256: str

    @property
    def card(self) -> Path:
        return self.path.with_suffix(".md")

    def line(self) -> str:
        return f"{self.info.summary()}; {self.path.stat().st_size / 1e6:.1f} MB, SHA-256 {self.sha256[:12]}"


def find_net(name: str) -> EmbeddedNet:
    """The package's net for a game, or of that name; its file is read and checked, not run. Errors: NetError."""
    path = embedded_net(name) or other_nets(name.split("-", maxsplit=1)[0]).get(name)
    if path is None:
        raise NetError(f"there is no net for {name} inside this package; make one with az-engine train")
    outline, _ = read_outline(path)
    return EmbeddedNet(path, NetInfo.from_metadata(outline.metadata), outline.sha256)


def embedded_nets() -> tuple[EmbeddedNet, ...]:
    """The nets inside the package. Errors: NetError for one that is damaged."""
    return tuple(find_net(name) for game in game_names() if embedded_net(game) for name in (game, *other_nets(game)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = [name for game in game_names() for name in (game, *other_nets(game))]
    parser.add_argument("game", nargs="?", choices=names, help="print the card of this game's net, or of the net named")


def main(args: argparse.Namespace) -> int:
    """Print the list or a card; 0."""
    if args.game:
        card = find_net(args.game).card
        if not card.is_file():
            raise NetError(f"the net {card.stem} has no card ({card} is missing)")
        print(card.read_text(encoding="utf-8").strip())
        return 0
    for game in game_names():
        print(find_net(game).line() if embedded_net(game) else f"{game}: no net inside this package")
        for name in other_nets(game):
            print(f"{find_net(name).line()}; WeightsFile {name}")
    return 0

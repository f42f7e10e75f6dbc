"""The parser of every command: nearest names for mistyped options, a short help, and a note behind it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """``note`` gives a last line of the help; it is called when the help is printed."""

    note: Callable[[], str] | None = None
    _common: frozenset[str] = frozenset()

    def show_first(self, *destinations: str) -> None:
        """Let ``--help`` show these options alone, and ``--help-all`` all of them."""
        self._common = frozenset((*destinations, "help", "help_all"))
        self.add_argument("--help-all", action=_HelpAll, nargs=0, default=argparse.SUPPRESS, help="show all options")

    def show_all(self) -> None:
        self._common = frozenset()

    def format_help(self) -> str:
        hidden = [a for a in self._actions if self._common and a.option_strings and a.dest not in self._common]
        meanings = [action.help for action in hidden]
        for action in hidden:
            action.help = argparse.SUPPRESS
        text = super().format_help()
        for action, meaning in zip(hidden, meanings, strict=True):
            action.help = meaning
        if hidden:
            text += f"\n{self.prog} --help-all shows {len(hidden)} more options\n"
        if self.note:
            text += f"\n{self.note()}\n"
        return text

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        words = sys.argv[1:] if args is None else list(args)
        parsed, unknown = self.parse_known_args(words, namespace)
        if unknown:
            chosen = self.innermost(words)
            meant = _meant(unknown[0].partition("=")[0], chosen.options())
            chosen.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return parsed

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help shows the arguments\n")

    def innermost(self, words: Sequence[str]) -> Parser:
        """The parser of the subcommand that these words choose; this one when they choose none."""
        parser = self
        for word in words:
            parser = parser.subcommands().get(word, parser)
        return parser

    def subcommands(self) -> dict[str, Parser]:
        """The parsers of the subcommands by their names."""
        found = [action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
        return {name: parser for choices in found for name, parser in (choices or {}).items()}

    def options(self) -> dict[str, argparse.Action]:
        """The actions of the flags by their names, except those that no help shows."""
        shown = [action for action in self._actions if action.help != argparse.SUPPRESS]
        return {name: action for action in shown for name in action.option_strings}

    def positionals(self) -> list[argparse.Action]:
        return self._get_positional_actions()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices = [str(choice) for choice in action.choices or ()]
            raise argparse.ArgumentError(action, f"{error.message}{_meant(str(value), choices)}") from None


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        assert isinstance(parser, Parser)
        parser.show_all()
        parser.print_help()
        parser.exit()


def _meant(word: str, known: Any) -> str:
    near = get_close_matches(word, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""

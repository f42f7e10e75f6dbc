"""The parser of every command: nearest names for mistyped options, a short help, and a note behind it."""

from __future__ import annotations

import argparse
import copy
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_MOST_IN_USAGE = 10  # options that the line of usage names
_LETTERS: dict[object, str] = {int: "N", float: "X"}
_UNITS = {"seconds": "S", "minutes": "M"}


def board_lines(text: str) -> int:
    """The lines of a square board as an option gives them. Errors: argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no size of a square board; give its lines, for example 9")
    return int(text)


def board_size(text: str) -> str:
    """The size of a board as an option gives it: lines, or columns and rows. Errors: argparse.ArgumentTypeError."""
    if not re.fullmatch(r"[0-9]+(x[0-9]+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no size of a board; give its lines, for example 9, or 9x13")
    return text


class Formatter(argparse.RawDescriptionHelpFormatter):
    """One letter for a number, short defaults, and a usage that does not repeat a long list of options."""

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        letter = _LETTERS.get(action.type)
        return _UNITS.get(action.dest, letter) if letter else super()._get_default_metavar_for_optional(action)

    def wrapped(self, text: str, width: int, indent: str) -> str:
        """A paragraph in lines of ``width``."""
        return argparse.HelpFormatter._fill_text(self, text, width, indent)  # noqa: SLF001

    def _expand_help(self, action: argparse.Action) -> str:
        if isinstance(action.default, float):
            action = copy.copy(action)
            action.default = f"{action.default:g}"
        return super()._expand_help(action)

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any) -> str:
        needed = [action for group in groups if group.required for action in group._group_actions]  # noqa: SLF001
        kept = [action for action in actions if action.required or not action.option_strings or action in needed]
        if usage is not None or len(actions) - len(kept) <= _MOST_IN_USAGE:
            return super()._format_usage(usage, actions, groups, prefix)
        text = super()._format_usage(None, kept, [group for group in groups if group.required], prefix)
        return text.replace(self._prog, f"{self._prog} [options]", 1)


class Parser(argparse.ArgumentParser):
    """``note`` gives the last lines of the help, or ""; it is called when the help is printed."""

    note: Callable[[], str] | None = None
    _common: frozenset[str] = frozenset()

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": Formatter, **more})

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
        if self.note and (note := self.note()):
            text += f"\n{note}\n"
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

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        out = sys.stderr if file is None else file
        if message and out is not None:  # argparse's would be silent where the disk is full
            out.write(message)

    def innermost(self, words: Sequence[str]) -> Parser:
        """The parser of the subcommand that these words choose; this one when they choose none."""
        parser = self
        for word in words:
            parser = parser.subcommands().get(word, parser)
        return parser

    def subcommands(self) -> dict[str, Parser]:
        """The parsers of the subcommands by their names."""
        results = [action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return {name: parser for choices in results for name, parser in (choices or {}).items()}

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


def _meant(word: str, known: Iterable[str]) -> str:
    names = {name.lstrip("-"): name for name in known}  # dashes alone make no two words alike
    near = get_close_matches(word.lstrip("-"), names, 1)
    return f" (did you mean {names[near[0]]}?)" if near else ""

"""``az-engine completion``: completion of commands, options and their values in bash, zsh and fish.

The shell asks ``az-engine completion bash --words ...`` at each TAB, so that it always fits the installed version.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .arguments import Parser
from .cli import COMMANDS, parser_of

HELP = "print what a shell needs to complete commands, options and their values"
SCRIPTS = {
    "bash": """\
_az_engine() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" completion bash --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _az_engine az-engine
""",
    "zsh": """\
_az_engine() {
    local -a found
    found=(${(f)"$(${words[1]} completion zsh --words "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -a found; else _files; fi
}
compdef _az_engine az-engine
""",
    "fish": """\
function __az_engine
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion fish --words $words[2..-1] 2>/dev/null
end
complete -c az-engine -a '(__az_engine)'
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"""\
{HELP[0].upper()}{HELP[1:]}.

  eval "$(az-engine completion bash)"                                       in ~/.bashrc
  eval "$(az-engine completion zsh)"                                        in ~/.zshrc, after compinit
  az-engine completion fish > ~/.config/fish/completions/az-engine.fish     once"""
    parser.add_argument("shell", choices=list(SCRIPTS))
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def main(args: argparse.Namespace) -> int:
    if args.words is None:
        print(SCRIPTS[args.shell], end="")
    else:
        print("\n".join(complete(args.words or [""])))
    return 0


def complete(words: Sequence[str]) -> list[str]:
    """The words that can stand in the place of the last one; none where a file or a free value stands."""
    *before, last = words
    return [word for word in _candidates(before, last) if word.startswith(last)]


def _candidates(before: Sequence[str], last: str) -> list[str]:
    if not before or before == ["help"]:
        return [*COMMANDS, *([] if before else ["help", "version"])]
    if before[0] not in COMMANDS:
        return []
    _, outer = parser_of(before[0])
    parser: Parser = outer.innermost(before[1:])
    if last.startswith("-"):
        return sorted(parser.options())
    option = parser.options().get(before[-1])
    if option and option.nargs != 0:
        return [str(choice) for choice in option.choices or ()]
    if names := list(parser.subcommands()):
        return names
    return [str(choice) for action in parser.positionals() for choice in action.choices or ()]

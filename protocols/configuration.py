"""The values that options start with: from the command line's flags and from the configuration file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from pathlib import Path

from ..engine.errors import OptionError
from .lines import one_line
from .options import BY_KEY, OPTIONS, Option, Value, quote, show


def add_flags(parser: argparse.ArgumentParser, protocol: str, without: Collection[str] = ()) -> None:
    """Declare ``--config`` and one flag for every option that the protocol has, or any of them: "all".

    without: keys of options that get no flag.
    """
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help=f"options from this TOML file, e.g. `hash = 512` (default: {_display(default_config())} if it is there)",
    )
    overridden = "; the protocol's setoption overrides them" if protocol in ("uci", "usi") else ""
    group = parser.add_argument_group("engine options", f"values to start with{overridden}")
    for option in OPTIONS:
        if option.fixed or option.key in without or not (protocol == "all" or option.offered(protocol)):
            continue
        flags = ["--" + option.key.replace("_", "-"), *([option.also] if option.also else [])]
        default = show(option.default_in(protocol)) or "empty"
        text = option.setting.meaning.replace("%", "%%") + f" ({option.range}; default {default})"
        if option.kind == "check":
            group.add_argument(*flags, action=argparse.BooleanOptionalAction, default=None, help=text)
        elif option.kind != "button":
            group.add_argument(*flags, type=_flag_type(option), default=None, metavar=_metavar(option), help=text)


def _flag_type(option: Option) -> type[object]:
    def parse(text: str) -> Value:
        try:
            return option.parse(text)
        except OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse  # type: ignore[return-value]


def _metavar(option: Option) -> str:
    return {"spin": "N", "number": "X", "combo": "NAME", "string": "TEXT"}[option.kind]


def start_values(args: argparse.Namespace) -> tuple[dict[str, Value], list[str]]:
    """Values by key from the command line and the configuration file, and sentences on what the latter has wrong.

    Errors: OptionError when a file named with ``--config`` is missing or wrong. The default file must not keep the
    engine from playing: wrong entries there are reported and ignored.
    """
    given: Path | None = args.config
    path = given or default_config()
    values: dict[str, Value] = {}
    notes: list[str] = []
    if given is not None or path.is_file():
        values, notes = read_config(path)
        if given is not None and notes:
            raise OptionError(notes[0])
    for option in OPTIONS:
        flag = getattr(args, option.key, None)
        if flag is not None:
            values[option.key] = flag
    return values, notes


def default_config() -> Path:
    """The configuration file that is read without ``--config``."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(base) / "az-engine" / "config.toml"


def _display(path: Path) -> str:
    home = str(Path("~").expanduser())
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text


def read_config(path: Path) -> tuple[dict[str, Value], list[str]]:
    """Values by key of a TOML file, and one sentence for each entry that cannot be used; quotes no content."""
    import tomllib  # takes 6 ms, and few users have such a file

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        return {}, [f"the configuration file {path} cannot be read ({reason})"]
    except tomllib.TOMLDecodeError as error:
        return {}, [f"the configuration file {path} is not TOML: {one_line(str(error), 120)}"]
    values: dict[str, Value] = {}
    notes: list[str] = []
    for key, value in table.items():
        option = BY_KEY.get(key)
        if option is None or option.kind == "button":
            notes.append(f"{path}: there is no option {quote(key)}")
            continue
        try:
            if not isinstance(value, (bool, int, float, str)):
                raise OptionError(f"must be a plain value, not a {type(value).__name__}")
            values[key] = option.parse(show(value))
        except OptionError as error:
            notes.append(f"{path}: {key} {error}")
    return values, notes

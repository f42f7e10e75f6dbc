"""Writes docs/options.md: ``python -m tests.protocols.reference > docs/options.md``."""

from __future__ import annotations

import sys

from az_engine.protocols.options import OPTIONS, Option, show

HEAD = """\
# Options

What the engine can be told, in every protocol. A flag `--move-overhead` of `az-engine uci`, `usi` or `gtp` is the key
`move_overhead` of the configuration file; the protocol's `setoption` overrides both. "flag": the option has no name in
that protocol, but a flag and a key. GTP has no names for options at all.

| flag | UCI | USI | GTP | values | default | meaning |
|---|---|---|---|---|---|---|
"""


def reference() -> str:

    def cell(option: Option, protocol: str) -> str:
        flag = "flag" if option.offered(protocol) else ""
        return f"`{option.names[protocol]}`" if protocol in option.names else flag

    rows = []
    for option in OPTIONS:
        settable = not (option.button or option.fixed)
        flag = f"`--{option.key.replace('_', '-')}`" if settable else ""
        default = "" if option.button else f"`{show(option.default)}`" if option.default != "" else "empty"
        if option.usi_default is not None:
            default = f"`{show(option.usi_default)}`" if not option.uci else f"{default}, USI `{option.usi_default}`"
        names = " | ".join(cell(option, protocol) for protocol in ("uci", "usi", "gtp"))
        rows.append(f"| {flag} | {names} | {option.range} | {default} | {option.setting.meaning} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(reference())

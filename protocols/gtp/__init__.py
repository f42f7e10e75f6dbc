"""GTP 2 (draft 2 of the specification, and what GNU Go, KataGo, Leela Zero and Sabaki made of it), and its command.

Bottom up: :mod:`board` and :mod:`rules` know Go as GTP talks of it; :mod:`game` is the game and :mod:`clock` its time;
:mod:`command` is a line and its response, :mod:`genmove` a search and the move it leads to, :mod:`analysis` the lines
printed meanwhile; :mod:`player` has all commands, :mod:`session` is the conversation.
"""

from __future__ import annotations

from functools import partial

from .. import conversation
from .session import GtpSession

HELP = """\
Play Go in any program that speaks GTP (Sabaki, GoGui, q5Go, Lizzie ...): enter this command, or az-engine-gtp, as the
engine. Analysis as in Leela Zero and KataGo: analyze, lz-analyze, kata-analyze.

By hand: type `boardsize 9`, `play b E5`, `genmove w`, `showboard`, `quit`."""

add_arguments = partial(conversation.add_arguments, "gtp")
main = partial(conversation.converse, "gtp", GtpSession)

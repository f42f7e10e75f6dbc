"""The file formats of chess: :mod:`pgn`, which :mod:`movetext` splits into tokens, and :mod:`epd`, lists of positions.

:mod:`letters` knows the letters that other languages have for the pieces, :mod:`san` moves as people write them.
"""

from __future__ import annotations

from ....records.formats import EVERYTHING, RecordFormat
from . import epd, pgn, pgn_writer

PGN = RecordFormat(
    "PGN",
    (".pgn",),
    pgn.read,
    pgn_writer.write,
    "\n",
    holds=EVERYTHING - {"ends", "margin", "setup"},
    also_lost=pgn_writer.lost,
    opine=pgn_writer.opine,
    forget=pgn_writer.forget,
)
EPD = RecordFormat("EPD", (".epd", ".fen"), epd.read, None)

"""The file formats of Go: :mod:`sgf` and :mod:`sgf_writer`; :mod:`servers` reads those of Tygem, WBaduk and PandaNet.

:mod:`terms` knows what people write for rules, komi and results.
"""

from __future__ import annotations

from ....records.formats import EVERYTHING, RecordFormat
from . import servers, sgf, sgf_writer

SGF = RecordFormat(
    "SGF",
    (".sgf",),
    sgf.read,
    sgf_writer.write,
    "\n",
    holds=EVERYTHING - {"NAGs", "ends", "headers"},
    opine=sgf_writer.opine,
    forget=sgf_writer.forget,
)
GIB = RecordFormat("GIB", (".gib",), servers.read_gib, None, terms=SGF.name)
NGF = RecordFormat("NGF", (".ngf",), servers.read_ngf, None, terms=SGF.name)
UGF = RecordFormat("UGF", (".ugf", ".ugi"), servers.read_ugf, None, terms=SGF.name)

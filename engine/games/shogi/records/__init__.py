"""The file formats of shogi: :mod:`kif` and :mod:`kif_writer` (KIF, KI2), :mod:`csa` and :mod:`csa_writer`, :mod:`jkf`.

:mod:`reader` is what they share, :mod:`moves` how people write moves, :mod:`words` their vocabulary.
"""

from __future__ import annotations

from ....records.formats import EVERYTHING, RecordFormat
from . import csa, csa_writer, jkf, kif, kif_writer, opinions

_CONTENTS = EVERYTHING - {"NAGs", "margin", "setup"}
_WORDS = frozenset({"KIF", "CSA", "summary"})  # words for the end, which every format has of its own
CSA = RecordFormat(
    "CSA",
    (".csa",),
    csa.read,
    csa_writer.write,
    "/\n",
    holds=_CONTENTS - {"variations"},
    keeps=_WORDS,
    also_lost=csa_writer.lost,
    opine=opinions.in_csa,
    forget=opinions.forget,
)
KIF = RecordFormat(
    "KIF",
    (".kifu", ".kif"),
    kif.read,
    kif_writer.write,
    None,
    kif_writer.encode,
    _CONTENTS - {"fractions"},
    _WORDS | {"&", "#"},
    kif_writer.lost,
    opine=opinions.in_kif,
    forget=opinions.forget,
)
KI2 = RecordFormat(
    "KI2",
    (".ki2u", ".ki2"),
    kif.read,
    kif_writer.write_ki2,
    None,
    kif_writer.encode,
    _CONTENTS - {"fractions", "times"},
    _WORDS | {"&", "#"},
    kif_writer.lost,
    opine=opinions.in_kif,
    forget=opinions.forget,
)
JKF = RecordFormat(
    "JKF",
    (".jkf",),
    jkf.read,
    jkf.write,
    None,
    holds=_CONTENTS - {"fractions"},
    keeps=_WORDS,
    also_lost=jkf.lost,
    opine=opinions.in_kif,
    forget=opinions.forget,
)

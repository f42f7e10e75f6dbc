"""``az-engine report WHAT``: the papers' figures, of your own nets."""

from __future__ import annotations

import argparse
import importlib

from . import architectures, calibration, curves, openings, outside, scaling, search

HELP = """\
Redo figures of the papers with your own nets, and show whether scores are true: as SVG, PNG or one HTML page, and as
JSON.

examples:
  az-engine report search --fen "b2r3r/k4p1p/p2q1np1/NppP4/3p1Q2/P4PPB/1PP4P/1K1RR3 w - - 1 24" --out search.html
  az-engine report scaling --visits 25 --doublings 5 --games 40 --out runs/scaling
  az-engine report curves runs/time/chess runs/time/shogi runs/time/go --out time.svg
  az-engine report architectures --supervised data --minutes 10 --out runs/architectures
  az-engine report openings runs/first
  az-engine report outside runs/first
  az-engine report calibration runs/mirror --fit"""

_REPORTS = {
    "search": ("what a search looks at as it grows (Science, Figure 4)", search),
    "scaling": ("Elo as thinking time doubles (Science, Figure 2)", scaling),
    "curves": ("several of those in one picture", curves),
    "architectures": ("the four kinds of network beside each other (Nature, Figure 4)", architectures),
    "openings": ("the openings of a run's games as it learns (Science, Figure 3)", openings),
    "outside": ("a run's checkpoints against players from outside", outside),
    "calibration": ("what players say of their positions beside what happened", calibration),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reports = parser.add_subparsers(dest="report", required=True, metavar="WHAT")
    for name, (line, module) in _REPORTS.items():
        report = reports.add_parser(name, help=line, description=module.__doc__)
        module.add_arguments(report)


def main(args: argparse.Namespace) -> int:
    if args.report not in ("openings", "outside", "calibration"):
        importlib.import_module("matplotlib")  # where it is missing, the error comes before the long work
    status: int = _REPORTS[args.report][1].main(args)
    return status

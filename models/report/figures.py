"""Writing a figure down: SVG or PNG by the name's end, or one HTML page that needs nothing else."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.errors import OptionError
from ...engine.os.files import check_writable, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".svg", ".png", ".html")


def check_name(path: Path) -> None:
    """Errors: OptionError for a name that is none of a figure, OSError where no file can be written."""
    if path.suffix not in KINDS:
        raise OptionError(f"{path} must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    check_writable(path)


def write_figure(path: Path, figure: Figure, title: str, rows: Sequence[Sequence[str]] = ()) -> None:
    """Write it; ``rows``, the first of them the head, stand as a table below the figure in HTML."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png" if path.suffix == ".png" else "svg", dpi=120)
    content = _with_palette(buffer) if path.suffix == ".png" else buffer.getvalue()
    if path.suffix == ".html":
        text = content.decode()
        content = page(title, text[text.index("<svg") :], rows).encode()
    write_atomically(path, content)


def _with_palette(png: io.BytesIO) -> bytes:
    """A PNG of at most 256 colours, which is all that a figure needs: a third of the size."""
    from PIL import Image

    smaller = io.BytesIO()
    with Image.open(png) as image:
        image.convert("RGB").quantize(256).save(smaller, "PNG", optimize=True)
    return smaller.getvalue()


def page(title: str, svg: str, rows: Sequence[Sequence[str]]) -> str:
    cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem}}
svg{{width:100%;height:auto}}td{{padding:.1rem 1.5rem .1rem 0}}</style></head>
<body><h1>{html.escape(title)}</h1>
{svg}
<table>{table}</table></body></html>
"""

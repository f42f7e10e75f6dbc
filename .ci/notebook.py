"""Run a notebook's cells in this Python and write their outputs into it: python .ci/notebook.py examples/tour.ipynb.

Knows what the notebooks of examples/ show: the value of a cell's last expression as text, HTML or SVG, and what is
printed, by child processes too. Prints nothing; an exception ends it and leaves the file as it was.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FORMS = {"_repr_svg_": "image/svg+xml", "_repr_html_": "text/html"}


def outputs_of(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; its outputs as notebooks keep them."""
    code = ast.parse(source)
    last = ast.Expression(code.body.pop().value) if isinstance(code.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    with tempfile.TemporaryFile("w+") as printed:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(printed.fileno(), 1)
        try:
            exec(compile(code, f"cell {number}", "exec"), names)  # noqa: S102  the notebook is ours
            value = None if last is None else eval(compile(last, f"cell {number}", "eval"), names)  # noqa: S307
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        printed.seek(0)
        text = printed.read()
    found = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}] if text else []
    if value is not None and getattr(value, "returncode", None) is None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        for name, kind in FORMS.items():
            if hasattr(value, name):
                data[kind] = str(getattr(value, name)()).splitlines(keepends=True)
        about = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        found.append(about)  # type: ignore[arg-type]
    return found  # type: ignore[return-value]


def main(path: Path) -> None:
    """Run the notebook at a path and write its outputs into it."""
    notebook, names, number = json.loads(path.read_text("utf-8")), dict[str, Any](), 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell["outputs"] = outputs_of("".join(cell["source"]), names, number)
            cell["execution_count"] = number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Whoever holds a tree searches on when its memory is full: a session on a server within its share, page, library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import az_engine as az
from az_engine.engine.engine import Engine
from az_engine.engine.params import EngineOptions
from az_engine.engine.search.tree.recycling import recycle
from az_engine.protocols.serve.server import Rules

from .analysis.talk import AnalysisTalk
from .page.test_session import Page
from .serve.lines import RunningServer
from .serve.test_web import web

VISITS = 12_000  # several times as many as one MiB holds


def chess_engine(options: EngineOptions) -> Engine:
    return Engine("chess", options)


def library(_: Path) -> int:
    with az.Engine("chess", threads=1, hash_mb=1) as engine:
        return engine.analyse(az.Position("chess"), az.Limits(nodes=VISITS)).nodes


def analysis(_: Path) -> int:
    with AnalysisTalk("chess", analysts=1, hash=1, weights_file="") as talk:
        answer = talk.one(maxVisits=VISITS, boardXSize=None, boardYSize=None, rules=None)
        return int(answer["rootInfo"]["visits"])


def session_over_tcp(folder: Path) -> int:
    """Of a client that asks for more than its share."""
    rules = Rules(caps={"hash": 1, "threads": 1})
    with RunningServer(folder / "log", chess=chess_engine, rules=rules) as server, server.client("uci") as client:
        client.send("setoption name Hash value 1024", "isready", f"go nodes {VISITS}")
        told = [line for line in client.until("bestmove") if " nodes " in line][-1]
        return int(told.split(" nodes ")[1].split()[0])


def page(folder: Path) -> int:
    rules = Rules(caps={"hash": 1, "threads": 1})
    with (
        RunningServer(folder / "log", chess=chess_engine, rules=rules, http=True) as server,
        web(server, "/page?game=chess") as client,
    ):
        browser = Page(client)
        heard = browser.until(browser.ask("search", visits=VISITS, net="chess"), "answer", "error")
        return int([report for report in heard if report["is"] == "report"][-1]["nodes"])


@pytest.mark.slow
@pytest.mark.parametrize("owner", [library, analysis, session_over_tcp, page])
def test_every_owner_of_a_tree_searches_on(
    owner: Callable[[Path], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recycled = list[Any]()

    def counted(*arguments: Any) -> Any:
        recycled.append(recycle(*arguments))
        return recycled[-1]

    monkeypatch.setattr("az_engine.engine.search.search.recycle", counted)
    assert owner(tmp_path) >= VISITS
    assert len(recycled) > 1

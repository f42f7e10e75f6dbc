"""The live view of a self-play run on the terminal: a table that is updated in place, messages above it.

Without a terminal (a log file, a service) it prints one line a minute and one at the end.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ....engine.errors import counted
from .status import Status

LINE_SECONDS = 60.0
REFRESH_SECONDS = 0.5


def span(seconds: float) -> str:
    """A duration as text: "45 s", "12 min", "3.5 h"."""
    minutes = int(seconds // 60)
    return f"{int(seconds)} s" if seconds < 60 else f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


class Speeds:
    def __init__(self) -> None:
        self._last: dict[tuple[int, int], tuple[float, int, int, int]] = {}
        self.simulations = self.evaluations = self.positions = 0.0  # a second, all workers together

    def update(self, status: Status, now: float) -> None:
        """Update the speeds from the workers' newest heartbeats; ``now`` in seconds."""
        simulations = evaluations = positions = 0.0
        for heartbeat in status.heartbeats:
            key = (heartbeat.worker, heartbeat.pid)
            before = self._last.get(key)
            self._last.setdefault(key, (now, heartbeat.simulations, heartbeat.evaluations, heartbeat.positions))
            if before is None or now - before[0] < 1.0:
                continue
            seconds = now - before[0]
            simulations += (heartbeat.simulations - before[1]) / seconds
            evaluations += (heartbeat.evaluations - before[2]) / seconds
            positions += (heartbeat.positions - before[3]) / seconds
            if seconds > 20:
                self._last[key] = (now, heartbeat.simulations, heartbeat.evaluations, heartbeat.positions)
        if simulations or evaluations:
            self.simulations, self.evaluations, self.positions = simulations, evaluations, positions


class LiveView:
    """Shows a run's Status; used as a context manager."""

    def __init__(self, console: Console, heading: str) -> None:
        self.console, self.heading = console, heading
        self._live = Live(console=console, auto_refresh=False, transient=False) if console.is_terminal else None
        self._shown = self._printed = 0.0
        self._begun: tuple[float, float] | None = None
        self._status: Status | None = None  # the one shown last; the run updates it in place
        self._speeds = Speeds()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._printed = 0.0
            self.show(self._status)
        if self._live is not None:
            self._live.stop()

    def due(self) -> bool:
        """Whether the view is older than REFRESH_SECONDS."""
        return time.monotonic() - self._shown >= REFRESH_SECONDS

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, status: Status) -> None:
        now = time.monotonic()
        self._shown, self._status = now, status
        self._begun = self._begun or (now, status.progress)
        self._speeds.update(status, now)
        if self._live is not None:
            self._live.update(self.picture(status, now), refresh=True)
        elif now - self._printed >= LINE_SECONDS:
            self._printed = now
            self.say(self.line(status, now))

    def left(self, status: Status, now: float) -> str:
        """The estimated time left; "-" at the beginning."""
        assert self._begun is not None
        begun, progress = self._begun
        done = status.progress - progress
        return span((now - begun) * (1 - status.progress) / done) if done > 0.002 else "-"

    def facts(self, status: Status, now: float) -> list[tuple[str, str]]:
        """(name, value) of every row of the table."""
        speeds, losses = self._speeds, status.losses
        rows = sum(b.rows for b in status.heartbeats)
        fill = sum(b.evaluations for b in status.heartbeats) / rows if rows else 0.0
        states = ", ".join(f"{b.worker} {b.state}" for b in status.heartbeats) or "-"
        facts = [
            ("step", f"{status.step:,}, {status.doing}"),
            ("time", f"{span(status.seconds)}, left {self.left(status, now)}"),
            ("games", f"{status.games:,}, {status.length:.0f} plies each, {counted(status.positions, 'position')}"),
            ("window", f"{counted(status.window_games, 'game')}, {counted(status.window_positions, 'position')}"),
            ("self-play", f"{speeds.simulations:,.0f} simulations/s, {speeds.evaluations:,.0f} evaluations/s"),
            ("", f"{speeds.positions:,.1f} positions/s, batches {fill:.0%} full, net of step {status.net:,}"),
            ("workers", states),
            ("reuse", f"{status.reuse:.2f} positions trained on for each new one"),
        ]
        if losses:
            facts.append(("loss", f"policy {losses['policy']:.3f}, value {losses['value']:.3f}"))
        if status.held_out:
            held = status.held_out
            facts.append(
                ("held out", f"policy {held['policy']:.3f}, value {held['value']:.3f}, best move {held['top1']:.1%}")
            )
        if status.resign is not None:
            facts.append(("resign below", f"{status.resign:.2f}"))
        for name, (elo, low, high) in status.elo.items():
            facts.append(("Elo", f"{name}: {elo:+.0f} [{low:+.0f}, {high:+.0f}], 0 = {status.anchor}"))
        if status.elo:
            facts.append(("rating", f"{status.rating_share:.1%} of the time"))
        return facts

    def picture(self, status: Status, now: float) -> Group:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold")
        table.add_column()
        for what, figure in self.facts(status, now):
            table.add_row(what, Text(figure))
        return Group(
            Text(self.heading, style="bold"), ProgressBar(total=1.0, completed=status.progress, width=60), table
        )

    def line(self, status: Status, now: float) -> str:
        losses = status.losses
        loss = f", policy {losses['policy']:.3f}, value {losses['value']:.3f}" if losses else ""
        elo = "".join(f", {name} {elo:+.0f} [{low:+.0f}, {high:+.0f}]" for name, (elo, low, high) in status.elo.items())
        return (
            f"{span(status.seconds)}: step {status.step:,} ({status.progress:.1%}, left {self.left(status, now)}), "
            f"{counted(status.games, 'game')}, {self._speeds.simulations:,.0f} simulations/s{loss}{elo}; {status.doing}"
        )

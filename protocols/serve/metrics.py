"""The server's figures in the text form of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from ...engine.nets.shared import Batcher
    from .server import Server


class _Figures(Collector):
    def __init__(self, server: Server, batcher: Batcher | None) -> None:
        self._server, self._batcher = server, batcher

    def collect(self) -> Iterator[Metric]:
        server = self._server
        sessions = GaugeMetricFamily("az_sessions", "Sessions, by protocol.", labels=["protocol"])
        for protocol, count in sorted(server.sessions().items()):
            sessions.add_metric([protocol], count)
        yield sessions
        yield GaugeMetricFamily("az_sessions_limit", "Sessions that the server takes.", server.most)
        yield CounterMetricFamily("az_refusals", "Clients and requests that were refused.", server.refusals)
        if self._batcher is not None:
            yield from self._evaluation(self._batcher)

    def _evaluation(self, batcher: Batcher) -> Iterator[Metric]:
        yield CounterMetricFamily("az_evaluations", "Positions evaluated.", batcher.rows)
        yield CounterMetricFamily("az_batches", "Batches evaluated.", batcher.batches)
        yield CounterMetricFamily("az_batch_seconds", "Seconds spent in batches, of all lanes.", batcher.seconds)
        yield CounterMetricFamily("az_batch_room", "Positions that these batches had room for.", batcher.offered)
        yield CounterMetricFamily("az_dropped", "Positions withdrawn before the net saw them.", batcher.dropped)
        clients = batcher.clients()
        yield GaugeMetricFamily("az_clients", "Clients that share the nets.", len(clients))
        waited = SummaryMetricFamily(
            "az_queue_seconds", "From a request to its first batch, or turn.", labels=["weight"]
        )
        for weight, (count, seconds) in sorted(batcher.waited.items()):
            waited.add_metric([f"{weight:g}"], count, seconds)
        yield waited


def metrics(server: Server, batcher: Batcher | None) -> tuple[bytes, str]:
    """The text and its media type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(server, batcher))
    return generate_latest(registry), CONTENT_TYPE_LATEST

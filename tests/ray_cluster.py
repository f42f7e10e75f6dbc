"""A Ray cluster of several nodes on this machine, for tests."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from .games import DIRECTORY

ray = pytest.importorskip("ray", reason="Ray is not installed (pip install 'az-engine[ray]')")


@contextlib.contextmanager
def three_nodes() -> Iterator[Any]:
    """A head without CPUs and two nodes of one CPU each."""
    from ray.cluster_utils import Cluster

    before = {name: os.environ.get(name) for name in ("AZ_ENGINE_GAMES", "RAY_USAGE_STATS_ENABLED")}
    os.environ |= {"AZ_ENGINE_GAMES": str(DIRECTORY), "RAY_USAGE_STATS_ENABLED": "0"}
    small = {"object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, **small)
        yield cluster
    finally:
        with contextlib.suppress(ProcessLookupError):
            cluster.shutdown()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def kill_raylet(node: Any) -> None:
    """Kill -9 the process that every other one of a node depends on."""
    os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)

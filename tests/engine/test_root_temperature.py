"""The root's own policy temperature in an engine: which trees are kept, and what is told of its priors."""

from __future__ import annotations

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.params import EngineOptions, SearchParams

from .driving import think


@pytest.mark.parametrize("temperature", [1.0, 1.4])
def test_a_step_back_does_not_meet_the_priors_of_a_later_root(temperature: float) -> None:
    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=16, threads=1, batch_size=8))
    engine.configure(search=SearchParams(root_policy_temperature=temperature))
    first = think(engine, nodes=300)
    line = list(first.report.lines[0].pv[:1])
    assert think(engine, None, line, nodes=300).report.visits > 300
    again = think(engine, nodes=300)
    assert (again.report.visits == 300) == (temperature != 1.0)
    assert think(engine, nodes=300).report.visits == again.report.visits + 300
    engine.close()


def test_the_root_s_temperature_shows_from_the_first_visit_on() -> None:
    told = []
    for nodes in (1, 2):
        engine = Engine("chess", EngineOptions(hash_mb=16, threads=1, move_stats=True))
        for temperature in (1.0, 2.0):
            engine.configure(search=SearchParams(root_policy_temperature=temperature))
            told.append(sorted(stats.prior for stats in think(engine, nodes=nodes).report.move_stats))
        engine.close()
    assert max(told[0]) > 1.3 * max(told[1])
    assert told[:2] == told[2:]

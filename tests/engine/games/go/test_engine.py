"""The engine on boards of several sizes: move by move, back again, and with nets that do not fit."""

from __future__ import annotations

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.errors import IllegalMoveError, NetError, OptionError, PositionError
from az_engine.engine.nets.weights import embedded_net
from az_engine.engine.params import EngineOptions

EMPTY5 = "5/5/5/5/5 b - 7.5 tromp-taylor 0 0 0"


@pytest.fixture
def engine() -> Engine:
    """On 5x5."""
    made = Engine("go", EngineOptions(weights_file="uniform"))
    made.resize(5)
    made.set_position(EMPTY5, ())
    return made


def test_moves_one_by_one_lead_where_all_at_once_do(engine: Engine) -> None:
    moves = ("C3", "B2", "skip", "pass", "A1", "pass")
    for move in moves:
        engine.play(move)
    step_by_step = engine.position
    engine.set_position(EMPTY5, moves)
    assert engine.position == step_by_step
    for count in range(len(moves) - 1, -1, -1):
        engine.undo()
        before = engine.position
        engine.set_position(EMPTY5, moves[:count])
        assert engine.position == before
    with pytest.raises(PositionError, match="no move to take back"):
        engine.undo()


def test_what_is_not_legal_changes_nothing(engine: Engine) -> None:
    engine.play("C3")
    before = engine.position
    for move in ("C3", "Z9", ""):
        with pytest.raises(IllegalMoveError):
            engine.play(move)
        assert engine.position == before


def test_another_size_holds_no_position(engine: Engine) -> None:
    engine.resize(5)
    held = [engine.position]
    engine.resize(7)
    held.append(engine.position)
    assert held == [EMPTY5, None]
    with pytest.raises(PositionError):
        engine.play("A1")
    for size in (1, 26):
        with pytest.raises(OptionError):
            engine.resize(size)
    engine.set_position(None, ("G7",))
    assert len(engine.legal_moves()) == 49


def test_the_sizes_of_a_net_are_read_without_loading_it(engine: Engine) -> None:
    assert engine.sizes() == ()
    engine.configure(weights_file="/no/such/net.onnx")
    with pytest.raises(NetError, match="no such file"):
        engine.sizes()
    engine.configure(weights_file=str(embedded_net("chess")))
    with pytest.raises(NetError, match="this net plays chess, not go"):
        engine.sizes()

"""Commands that ask about the game and change nothing: legality, moves so far, the net's own view.

GNU Go's ``is_legal``, ``all_legal``, ``last_move``, ``move_history`` and ``estimate_score``; KataGo's ``kata-raw-nn``;
GoGui's ``gogui-analyze_commands``; the net as ``kata-get-models`` and KataGo's ``query_models`` describe it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..options import OptionValues
from .board import COLOURS, PASS, STONES, GtpError, read_colour, read_vertex, result
from .clock import whole
from .game import GoEngine, GtpGame, Move

ANALYZE_COMMANDS = """\
string/Final Score/final_score
string/Estimate Score/estimate_score
plist/Dead Stones/final_status_list dead
plist/Stones in Seki/final_status_list seki
plist/All Legal/all_legal %c
hstring/Move History/move_history
hstring/Raw Net/kata-raw-nn 0
hstring/Rules/kata-get-rules
hstring/Parameters/kata-get-params
none/Clear Cache/clear_cache"""
_SYMMETRIES = 8  # of a square board; another has half of them
_NAMES = {"b": "black", "w": "white"}


def is_legal(game: GtpGame, words: Sequence[str]) -> str:
    """``COLOUR VERTEX``: 1 or 0. Errors: GtpError."""
    if len(words) != 2:
        raise GtpError("syntax error")
    with game.to_move(read_colour(words[0])) as engine:
        return str(int(read_vertex(words[1], game.size) in engine.legal_moves()))


def all_legal(game: GtpGame, words: Sequence[str]) -> str:
    """``COLOUR``: its legal moves, without the pass. Errors: GtpError."""
    if len(words) != 1:
        raise GtpError("syntax error")
    with game.to_move(read_colour(words[0])) as engine:
        return " ".join(move for move in engine.legal_moves() if move != PASS)


def last_move(game: GtpGame) -> str:
    """Errors: GtpError."""
    if not game.moves:
        raise GtpError("no previous move known")
    return _of(game.moves[-1])


def move_history(game: GtpGame) -> str:
    """The moves, the last one first."""
    return "\n".join(map(_of, reversed(game.moves)))


def estimate_score(game: GtpGame, fallback: float) -> str:
    """The expected score, and one standard deviation above and below it, as white sees them.

    Where the game has ended, or nothing but neutral points is left, it is what ``final_score`` says. fallback: black's
    lead when the net says nothing.
    """
    estimate = game.engine().estimate()
    if estimate is None or estimate.score is None:
        return f"{result(fallback)} (upper bound: {-fallback:.1f}, lower: {-fallback:.1f})"
    lead = estimate.score if game.turn == "b" else -estimate.score
    if game.ended or (estimate.ownership is not None and game.settled(game.turn, estimate.ownership)):
        counts_all = game.ended and not game.rules.agreed
        lead = game.margin(() if counts_all else game.dead_in(estimate) or ())
    spread = estimate.score_stdev or 0.0
    return f"{result(round(lead, 1))} (upper bound: {spread - lead:.1f}, lower: {-spread - lead:.1f})"


def raw_net(game: GtpGame, words: Sequence[str]) -> str:
    """``[COLOUR] SYMMETRY [OPTIMISM]``: what the net says, in KataGo's form; ours has no optimism. Errors: GtpError."""
    rest = [*words]
    colour = read_colour(rest.pop(0)) if rest and rest[0].lower() in COLOURS else game.turn
    known = _SYMMETRIES if game.size.square else _SYMMETRIES // 2
    if not 1 <= len(rest) <= 2:
        raise GtpError("syntax error")
    symmetries = range(known) if rest[0] == "all" else [whole(rest[0])]
    if symmetries[0] >= known:
        raise GtpError("syntax error")
    with game.to_move(colour):
        return "\n".join(_raw_net(game, colour, symmetry) for symmetry in symmetries)


def _raw_net(game: GtpGame, colour: str, symmetry: int) -> str:
    engine, size = game.engine(), game.size
    opinion = engine.opinion(symmetry)
    policy = dict(zip(engine.legal_moves(), opinion.policy.tolist(), strict=True))
    sign = 1.0 if colour == "w" else -1.0
    chance = opinion.chance if colour == "w" else 1.0 - opinion.chance
    lines = [f"symmetry {symmetry}", f"whiteWin {chance:.6f}", f"whiteLoss {1.0 - chance:.6f}", "noResult 0.000000"]
    if opinion.lead is not None:
        lines.append(f"whiteLead {sign * opinion.lead:.3f}")
    if (doubts := opinion.doubts) is not None:
        square = doubts.stdev**2 + doubts.score**2
        lines += [f"whiteScoreSelfplay {sign * doubts.score:.3f}", f"whiteScoreSelfplaySq {square:.3f}"]
        lines += [f"varTimeLeft {doubts.time_left:.3f}", f"shorttermWinlossError {doubts.outcome_error:.3f}"]
        lines.append(f"shorttermScoreError {doubts.score_error:.3f}")
    shown = [f"{policy[v]:8.6f}" if v in policy else "    NAN" for v in game.vertices]
    lines += ["policy", *_rows(shown, size.columns), f"policyPass {policy[PASS]:8.6f}"]
    if opinion.ownership:
        lines += ["whiteOwnership", *_rows([f"{sign * x:9.7f}" for x in opinion.ownership], size.columns)]
    return "\n".join(lines)


def _rows(words: Sequence[str], columns: int) -> list[str]:
    return [" ".join(words[start : start + columns]) for start in range(0, len(words), columns)]


def _of(move: Move) -> str:
    assert move.colour in STONES
    return f"{_NAMES[move.colour]} {move.vertex}"


def model(engine: GoEngine, values: OptionValues) -> dict[str, Any]:
    """The net of an engine that is ready; over the network its file is not named."""
    net, options = engine.net, values.engine_options()
    return {
        "name": options.weights_file if not values.remote else (net.name if net else ""),
        "internalName": engine.description,
        "maxBatchSize": options.batch_size,
        "usesHumanSLProfile": False,
        "version": net.planes_version if net else 0,
        "usingFP16": "false",
    }

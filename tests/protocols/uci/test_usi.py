"""The USI checklist (S1, S2, ... in the names; U1 ... is UCI's), first part: start, options, positions; fake engine."""

from __future__ import annotations

import pytest

from ...fakes.engine import FakeEngine
from ..talk import READY, UsiTalk

# -------------------------------------------------------------------------------------------------------- synchronising


def test_s2_isready_and_usinewgame_before_every_game() -> None:
    with UsiTalk() as talk:
        talk.run(READY)
        for result in ("", " win", " lose", " draw", " whatever"):
            talk.run(f"""
                > isready
                < readyok
                > usinewgame
                > position startpos
                > go nodes 10
                <* INFO
                < BEST
                > gameover{result}
            """)
        assert FakeEngine.made.calls.count("new_game") == 5


# -------------------------------------------------------------------------------------------------------------- options


def test_s11_options_that_guis_send_without_being_asked() -> None:
    with UsiTalk() as talk:
        talk.run("""
            > setoption name USI_Hash value 64
            > setoption name USI_Ponder value true
            > setoption name BookFile value standard_book.db
            > setoption name Stochastic_Ponder value false
            > setoption name USI_OwnBook value false
            . 0.05
        """)
        talk.run(READY)
        options = FakeEngine.made.options
        assert (options.hash_mb, options.ponder, options.own_book) == (64, True, False)


def test_unknown_options_are_told_in_debug_mode_only() -> None:
    UsiTalk.play("> debug on\n> setoption name Foo value 3\n< info string no such option: Foo\n> debug off")


def test_u11_bad_values_leave_the_option_as_it_is() -> None:
    UsiTalk.play("""
        > setoption name USI_Hash value abc
        < info string USI_Hash must be a whole number from 1 to 131072, not 'abc'; it stays at 256
        > setoption name EnteringKingRule value PointRule
        < info string EnteringKingRule must be one of CSARule27, .*, NoEnteringKing, not 'PointRule'; it stays .*
        > setoption name USI_Ponder
        < info string USI_Ponder needs a value: setoption name <option> value <value>; it stays at false
        > setoption name GenerateAllLegalMoves value false
        < info string GenerateAllLegalMoves cannot be changed: every legal move is always searched; it stays at true
        > setoption
        < info string setoption needs a name: .*
        > isready
        < readyok
    """)


def test_engine_settings_follow_the_options() -> None:
    with UsiTalk() as talk:
        for name, value in (
            ("NetworkDelay", "111"),
            ("networkdelay2", "999"),
            ("MinimumThinkingTime", "1000"),
            ("MaxMovesToDraw", "256"),
            ("EnteringKingRule", "CSARule24"),
            ("Eval_Coef", "756"),
            ("ResignValue", "3000"),
            ("Resign_Threshold", "25"),
            ("NodesLimit", "800"),
            ("DNN_Batch_Size", "16"),
            ("MultiPV", "3"),
            ("Threads", "1"),
            ("GenerateAllLegalMoves", "true"),
        ):
            talk.send(f"setoption name {name} value {value}")
        talk.run(READY)
        options = FakeEngine.made.options
        assert (options.move_overhead_ms, options.last_overhead_ms, options.minimum_ms) == (111, 999, 1000)
        assert (options.max_plies, options.declaration, options.resign_cp) == (256, "24", 3000)
        assert (options.resign_permille, options.eval_coef) == (25, 756)
        assert (options.nodes_limit, options.batch_size, options.multipv, options.threads) == (800, 16, 3, 1)
        talk.run("> setoption name ResignValue value 99999\n> isready\n< readyok")
        assert FakeEngine.made.options.resign_cp is None


@pytest.mark.parametrize("encoding", ["utf-8", "shift_jis", "euc_jp"])
def test_u46_japanese_paths_keep_their_bytes_and_answers_are_ascii(encoding: str) -> None:
    path = "/開発/将棋　ソフト/表示/good.onnx".encode(encoding)
    with UsiTalk() as talk:
        talk.raw(b"setoption name DNN_Model value " + path + b"\r\nisready\r\n")
        said = talk.expect("info string playing with .+/good.onnx")
        assert said.isascii()
        talk.expect("readyok")
        assert FakeEngine.made.options.weights_file.encode("utf-8", "surrogateescape") == path


# ------------------------------------------------------------------------------------------------------------- position


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("position startpos", "start"),
        ("position\tstartpos   moves  7g7f\t3c3d ", "start 7g7f 3c3d"),
        ("position startpos moves", "start"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 b 18P 1 moves P*5e", "4k4/9/9/9/9/9/9/9/4K4 b 18P 1 P*5e"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 w  -", "4k4/9/9/9/9/9/9/9/4K4 w -"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 b Pr2bG - moves", None),
        ("position 4k4/9/9/9/9/9/9/9/4K4 b 2PBr 7 moves 5i5h", "4k4/9/9/9/9/9/9/9/4K4 b 2PBr 7 5i5h"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 b P2rbG", "4k4/9/9/9/9/9/9/9/4K4 b P2rbG"),
    ],
)
def test_s3_position_forms(command: str, call: str | None) -> None:
    with UsiTalk() as talk:
        talk.run(READY)
        talk.run(f"> {command}\n> isready\n{'< info string .*' if call is None else ''}\n< readyok")
        if call is not None:
            assert FakeEngine.made.calls[-1] == f"set_position {call}"


@pytest.mark.parametrize("hands", ["RB2Gp2l", "2lpB2GR", "2G2lRpB", "10P2l"])
def test_s3_hands_come_in_any_order_and_with_two_digits(hands: str) -> None:
    UsiTalk.play(f"""
        > position sfen 4k4/9/9/9/9/9/9/9/4K4 b {hands} 1 moves 5i5h L*9a
        > go nodes 10
        <* INFO
        < bestmove .*
    """)


def test_s4_drops_keep_their_capital_letter_for_both_sides_and_in_searchmoves() -> None:
    UsiTalk.play("""
        > position sfen 4k4/9/9/9/9/9/9/9/4K4 w Pp 1 moves P*5e P*5f
        > go nodes 10 searchmoves 5a5b
        <* INFO
        < bestmove 5a5b ponder 5f5e
        > position sfen 4k4/9/9/9/9/9/9/9/4K4 w p 1
        > go searchmoves P*5e p*1b nodes 10
        <* INFO
        < bestmove P\\*5e ponder .*
        > position startpos moves p*5e
        < info string .*p\\*5e.*
        > go nodes 10
        < info string no move: .*
        < info depth 0 score cp 0
        < bestmove resign
    """)


def test_s14_handicap_positions_begin_with_white() -> None:
    UsiTalk.play("""
        > position sfen lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1 moves 3c3d
        > go nodes 10
        <* INFO
        < bestmove 1g1f ponder .*
    """)


# ----------------------------------------------------------------------------------------- refused positions and moves


@pytest.mark.parametrize(
    "command",
    [
        "position sfen",
        "position sfen 4k4/9/9/9/9/9/9/9/3KK4 b - 1",  # what else is no position: engine/games/shogi/test_notation.py
        "position sfen 4k4/9/9/9/9/9/9/9/4K4 b - 1 1",
        "position sfen 4k4/9/9/9/9/9/9/9/4K4 b P 1 moves P*5a",  # and what else is illegal
        "position startpos moves 7g7f 2g2f",
        "position startpos moves 0000",
        "position startpos moves e2e4",
        "position startpos moves 7g7f3c3d",
        "position startpos 7g7f",
        "position blah",
    ],
)
def test_s12_s13_what_is_refused_leaves_no_position_and_the_next_one_recovers(command: str) -> None:
    UsiTalk.play(f"""
        > position sfen 4k4/9/9/9/9/9/9/9/4K4 b - 1
        > {command}
        < info string .+
        > go nodes 100
        < info string no move: .+
        < info depth 0 score cp 0
        < bestmove resign
        > go mate infinite
        < info string no mate: .+
        < checkmate timeout
        > position startpos moves 7g7f
        > go nodes 10
        <* INFO
        < REPLY
    """)


def test_files_are_chosen_in_a_dialog_and_the_draw_has_dlshogis_name() -> None:
    with UsiTalk() as talk:
        talk.send("usi")
        lines = talk.until("usiok")
        files = {line.split()[2] for line in lines if " type filename " in line}
        assert files == {"DNN_Model", "BookFile", "LogFile"}
        talk.send("setoption name Draw_Ply value 256", "isready")
        talk.until("readyok")
        assert talk.session.values["max_plies"] == 256


def test_s12_the_full_set_is_accepted() -> None:
    UsiTalk.play("> position sfen 4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1\n> go nodes 10\n<* INFO\n< bestmove .*")

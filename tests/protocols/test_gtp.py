"""GTP, statement by statement: what is sent, what has to come back, and nothing left over."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from az_engine.engine.engine import Engine
from az_engine.engine.games.go.rulesets import _UNSUPPORTED, NO_BONUS, POSITIONAL, RULE_SETS, SIMPLE, SITUATIONAL
from az_engine.engine.info import BestMove, Estimate, Wdl
from az_engine.engine.limits import Limits
from az_engine.engine.thinking import OnDone, OnInfo
from az_engine.protocols.gtp_command import read_command
from az_engine.protocols.gtp_rules import RULES
from az_engine.protocols.lines import clean

from .gtp_talk import GtpTalk, engine_that_says, seconds

REQUIRED = """
protocol_version name version known_command list_commands quit boardsize rectangular_boardsize clear_board komi get_komi
play genmove reg_genmove undo showboard fixed_handicap place_free_handicap set_free_handicap time_settings time_left
kgs-time_settings final_score final_status_list loadsgf printsgf kgs-genmove_cleanup kgs-rules kata-set-rules
kata-get-rules cputime analyze genmove_analyze lz-analyze lz-genmove_analyze kata-analyze kata-genmove_analyze
""".split()


def test_g1_lines_are_cleaned_and_comments_and_blank_lines_are_no_commands() -> None:
    with GtpTalk() as talk:
        talk.send("", "   ", "\t", "# a comment", "  # another", "\r")
        talk.raw(b"na\x07me\r\n\xef\xbb\xbfname\r\nplay\tb\x0b\tD4\t# hi\n  boardsize   9  #x\n")
        assert [talk.response() for _ in range(4)] == ["= az-engine", "= az-engine", "=", "="]


def test_g2_each_command_gets_one_response_that_has_no_blank_line_inside() -> None:
    with GtpTalk() as talk:
        talk.send("boardsize 9", "showboard", "printsgf", "list_commands", "nonsense", "12 nonsense", "3")
        responses = [talk.response() for _ in range(7)]
        assert responses[4:] == ["? unknown command", "?12 unknown command", "?3 unknown command"]
        assert all("\n\n" not in text for text in responses)
        assert responses[1].split("\n")[1] == "   A B C D E F G H J"


@pytest.mark.parametrize("number", ["0", "1", "007", "99999999999999999999", "9" * 1000])
def test_g3_ids_come_back_as_they_went(number: str) -> None:
    with GtpTalk() as talk:
        assert talk.ask(f"{number} name", f"{number}\tplay b Z99", f"{number} quit") == [
            f"={number} az-engine",
            f"?{number} invalid color or coordinate",
            f"={number}",
        ]


def test_g4_every_command_is_listed_and_known() -> None:
    with GtpTalk() as talk:
        listed = talk.one("list_commands").removeprefix("= ").split("\n")
        assert set(REQUIRED) <= set(listed)
        assert len(listed) == len(set(listed))
        known = talk.ask(*(f"known_command {name}" for name in listed))
        assert set(known) == {"= true"}
        assert talk.ask("known_command", "known_command PLAY", "known_command a b") == ["= false"] * 3
        assert talk.ask("protocol_version", "name") == ["= 2", "= az-engine"]
        assert re.fullmatch(r"= \d+\.\d+\.\d+", talk.one("version"))
        assert re.fullmatch(r"= \d+\.\d{3}", talk.one("cputime"))


SUICIDE = ("play b A3", "play b B2", "play b C1", "play w A2", "play b E5", "play w B1")  # of three stones on A1

ERRORS = {
    "boardsize": "syntax error",
    "boardsize 9 9": "syntax error",
    "boardsize nine": "boardsize not an integer",
    "boardsize 9.0": "boardsize not an integer",
    "boardsize 26": "unacceptable size",
    "boardsize 1": "unacceptable size",
    "boardsize 0": "unacceptable size",
    "boardsize -9": "unacceptable size",
    "boardsize 99999999999999999999": "unacceptable size",
    "rectangular_boardsize 9 13": "unacceptable size",
    "rectangular_boardsize 9": "syntax error",
    "komi": "syntax error",
    "komi x": "komi not a float",
    "komi nan": "komi not a float",
    "komi inf": "komi not a float",
    "komi -inf": "komi not a float",
    "komi 1_0": "komi not a float",
    "komi 6.3": "unacceptable komi",
    "komi 1e9": "unacceptable komi",
    "play": "syntax error",
    "play b": "syntax error",
    "play b D4 D5": "syntax error",
    "play green D4": "invalid color or coordinate",
    "play b I5": "invalid color or coordinate",
    "play b A0": "invalid color or coordinate",
    "play b A10": "invalid color or coordinate",
    "play b K1": "invalid color or coordinate",
    "play b D04": "invalid color or coordinate",
    "play b resign": "invalid color or coordinate",
    "play b \u0664": "invalid color or coordinate",
    "play b E5": "illegal move",
    "play w A1": "illegal move",
    "genmove": "syntax error",
    "genmove green": "invalid color or coordinate",
    "reg_genmove": "syntax error",
    "fixed_handicap 2": "board not empty",
    "fixed_handicap 10": "invalid number of stones",
    "fixed_handicap x": "syntax error",
    "place_free_handicap 1": "invalid number of stones",
    "set_free_handicap": "bad vertex list",
    "set_free_handicap C3": "bad vertex list",
    "set_free_handicap C3 C3": "bad vertex list",
    "set_free_handicap C3 pass": "bad vertex list",
    "set_free_handicap C3 Z1": "bad vertex list",
    "set_free_handicap C3 G7": "board not empty",
    "time_settings -1 0 0": "syntax error",
    "time_settings 1 0": "syntax error",
    "time_settings 1 2 x": "syntax error",
    "time_left b abc 0": "syntax error",
    "time_left b 1": "syntax error",
    "time_left b 1 -1": "syntax error",
    "time_left b nan 0": "syntax error",
    "kgs-time_settings": "syntax error",
    "kgs-time_settings absolute": "syntax error",
    "kgs-time_settings hourglass 5": "syntax error",
    "kgs-rules": f"unknown rules; known are {', '.join(RULES)}",
    "kata-set-rules {": "the rules are not JSON",
    "kata-set-rules {}x": "the rules are not JSON",
    'kata-set-rules {"ko":"SPIRAL"}': f"these rules are not supported; known are {', '.join(RULES)}",
    "final_status_list": "syntax error",
    "final_status_list sleepy": "invalid status",
    "loadsgf": "syntax error",
    "loadsgf /no/such/file.sgf": "cannot load file: there is no such file",
    "loadsgf /dev/zero": "cannot load file: there is no such file",
    "printsgf x.sgf": "printsgf writes no file: leave the name out",
    "lz-analyze b interval": "syntax error",
    "lz-analyze b interval x": "syntax error",
    "lz-analyze b nonsense 5": "syntax error",
    "lz-analyze b avoid b D4": "syntax error",
    "lz-analyze b avoid b D4,Z9 1": "invalid color or coordinate",
    "lz-analyze b allow b E5 1": "no legal move is left to analyze",
    "kata-genmove_analyze b ownership perhaps": "syntax error",
    "PLAY b D4": "unknown command",
    "Name": "unknown command",
}


def test_g5_failing_commands_say_why_and_change_nothing() -> None:
    with GtpTalk() as talk:
        # White in the corner would be without a liberty.
        talk.ask("boardsize 9", "komi 6.5", "play b A2", "play b B1", "play w E5")
        before = talk.ask("showboard", "printsgf", "get_komi", "kata-get-rules")
        for command, message in ERRORS.items():
            if command == "play w A1":  # suicide: the default rules allow it for more than one stone only
                assert talk.one(command) == f"? {message}"
                continue
            assert talk.one(command) == f"? {message}", command
            assert talk.ask("showboard", "printsgf", "get_komi", "kata-get-rules") == before, command


def test_g6_commands_are_lower_case_and_colours_and_vertices_of_any_case() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 25")
        moves = ["play B z25", "play w Z24", "play BLACK j1", "play White H1", "play bLaCk PASS", "play W Pass"]
        assert talk.ask(*moves) == ["="] * 6
        assert talk.one("showboard").split("\n")[1].endswith(" H J K L M N O P Q R S T U V W X Y Z")


def test_g7_boardsize_begins_anew_and_komi_stays() -> None:
    with GtpTalk() as talk:
        talk.ask("komi -3.5", "boardsize 9", "play b E5", "boardsize 7")
        assert "X" not in "".join(talk.one("showboard").split("\n")[2:])
        assert talk.ask("get_komi", "undo", "rectangular_boardsize 5 5") == ["= -3.5", "? cannot undo", "="]
        assert talk.ask("komi 0", "get_komi", "komi -0", "get_komi", "komi 1e1", "get_komi") == [
            *("=", "= 0", "=", "= 0", "=", "= 10"),
        ]


def test_g8_colours_may_play_in_any_order_but_only_legally() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "kgs-rules chinese")
        assert talk.ask(*(f"play b {v}" for v in ("A2", "B1", "pass", "C2", "D1"))) == ["="] * 5
        assert talk.ask("play w A1", "play w D4", "play w C1") == ["? illegal move", "=", "? illegal move"]
        for colour in "bbww":
            assert re.fullmatch(r"= ([A-HJ][1-9]|pass)", talk.one(f"genmove {colour}"))


def test_g8_ko_may_not_be_retaken() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 9")
        for black, white in (("C4", "D4"), ("B3", "E3"), ("C2", "D2"), ("D3", "pass")):
            talk.ask(f"play b {black}", f"play w {white}")
        assert talk.ask("play w C3", "play b D3", "play b A9", "play w A8", "play b D3") == [
            *("=", "? illegal move", "=", "=", "="),
        ]


def test_g9_undo_takes_back_one_move_whoever_made_it() -> None:
    with GtpTalk() as talk:
        assert talk.one("undo") == "? cannot undo"
        talk.one("boardsize 5")
        empty = talk.one("showboard")
        talk.ask("play w C3", "genmove w", "genmove b", "play b A1", "play b pass")
        assert talk.ask(*["undo"] * 6) == ["="] * 5 + ["? cannot undo"]
        assert talk.one("showboard") == empty
        talk.ask("set_free_handicap B2 D4", "play w C3")
        assert talk.ask("undo", "undo") == ["=", "? cannot undo"]
        assert "X" in "".join(talk.one("showboard").split("\n")[2:])


def test_g10_time_settings_are_taken_and_limit_the_moves() -> None:
    with GtpTalk(move_time=60.0, hash=256) as talk:
        talk.ask("boardsize 9", "time_settings 0 1 1")
        assert 0.5 < seconds(lambda: talk.one("genmove b")) < 1.0
        for settings in ("time_settings 0 0 0", "kgs-time_settings absolute 0"):
            talk.one(settings)
            assert seconds(lambda: talk.one("genmove w")) < 0.5
        talk.ask("time_settings 600 0 0", "time_left b -5 0")
        assert seconds(lambda: talk.one("genmove b")) < 0.5
        talk.ask("kgs-time_settings byoyomi 600 30 3", "time_left w 0 1")
        assert seconds(lambda: talk.one("genmove w")) < 0.5


def test_without_a_clock_a_move_takes_the_time_that_the_user_set() -> None:
    with GtpTalk(move_time=0.5, hash=256) as talk:
        talk.ask("boardsize 9", "genmove b")
        assert 0.4 < seconds(lambda: talk.one("genmove w")) < 0.8
        talk.one("time_settings 0 1 0")
        assert 0.4 < seconds(lambda: talk.one("reg_genmove b")) < 0.8


def test_g12_quit_answers_first_and_what_comes_after_it_is_not_read() -> None:
    with GtpTalk() as talk:
        talk.send("name", "quit", "name")
        assert talk.rest() == ["= az-engine", "", "=", ""]


def test_g12_the_end_of_the_input_ends_a_search_that_still_gives_its_move() -> None:
    with GtpTalk(move_time=600.0, hash=256) as talk:
        talk.one("boardsize 9")
        talk.send("genmove b", "name")
        talk.silence(0.5)

        def end() -> None:
            talk.close_input()
            assert re.fullmatch(r"= [A-HJ][1-9]", talk.response())
            assert talk.response() == "= az-engine"
            assert talk.rest() == []

        assert seconds(end) < 2.0, "1 s on a quiet machine"


def test_g12_quit_ends_a_search() -> None:
    with GtpTalk(move_time=600.0, hash=256) as talk:
        talk.one("boardsize 9")
        talk.send("5 genmove b")
        talk.silence(0.3)
        talk.send("6 quit")
        assert seconds(talk.rest) < 2.0, "1 s on a quiet machine"


def test_g13_replaying_300_moves_takes_less_than_a_second() -> None:
    colours, moves = "bw", []
    for number, (row, column) in enumerate((r, c) for r in range(1, 20, 2) for c in "ABCDEFGHJKLMNOPQRST"):
        moves.append(f"play {colours[number % 2]} {column}{row}")
    moves += [f"play {colours[n % 2]} {'ACEGJLNQST'[n % 10]}{2 + 2 * (n // 10)}" for n in range(90)]
    with GtpTalk() as talk:
        talk.ask("boardsize 19", "play b A1", "clear_board", "kgs-rules chinese")
        accepted = list[str]()
        took = seconds(lambda: accepted.extend(talk.ask(*moves[:300])))
        assert accepted.count("=") > 250
        assert took < 1.0
        talk.ask("kata-set-rules tromp-taylor", "clear_board")
        assert seconds(lambda: talk.ask(*moves[:190])) < 1.0


def test_g15_input_is_read_during_a_long_genmove_and_answers_keep_their_order() -> None:
    with GtpTalk(move_time=1.0, hash=256) as talk:
        talk.ask("boardsize 9", "genmove b")
        talk.send("1 genmove w", "2 name", "3 nonsense", "", "4 showboard")
        assert re.fullmatch(r"=1 ([A-HJ][1-9]|pass)", talk.response())
        assert (talk.response(), talk.response()) == ("=2 az-engine", "?3 unknown command")
        assert talk.response().startswith("=4 move 3")


def test_g16_a_board_that_the_net_does_not_play_is_refused_and_nothing_changes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with GtpTalk(engine_that_says(lambda _: None, sizes=(9, 13))) as talk:
        assert talk.one("play b N13") == "=", "the greatest size that it plays"
        assert talk.ask("boardsize 9", "play b E5", "boardsize 19") == ["=", "=", "? unacceptable size"]
        assert talk.one("showboard").count("\n") == 11
        assert talk.one("genmove w").startswith("= ")
        assert talk.ask("boardsize 13", "genmove w")[1].startswith("= ")
    assert "this net plays on 9x9, 13x13, not on 19x19" in capfd.readouterr().err


def test_without_a_net_the_board_works_and_genmove_says_what_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    with GtpTalk(weights_file="/no/such/net.onnx") as talk:
        assert talk.ask("boardsize 13", "play b D4", "final_score", "showboard")[:2] == ["=", "="]
        assert re.fullmatch(r"\? (there is no net for go inside|this net plays).*", talk.one("genmove w"))
        assert talk.one("lz-analyze 10").startswith("? ")
        assert talk.one("name") == "= az-engine"
    assert "there is no such file" in capfd.readouterr().err


def test_a_bug_still_gets_the_command_its_response(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(Engine):
        def play(self, move: str) -> None:
            raise RuntimeError("a test")

    with GtpTalk(lambda options: Broken("go", options), status=1) as talk:
        assert talk.ask("1 play b D4", "2 name") == [
            "?1 internal error, please report it: RuntimeError: a test",
            "=2 az-engine",
        ]
    assert "Traceback" in capfd.readouterr().err


def test_the_other_side_may_leave_at_any_time() -> None:
    talk = GtpTalk()
    talk.ask("boardsize 9", "genmove b")
    talk.send("lz-analyze 5")
    talk.session._writer._descriptor = None
    assert talk.status() == 0
    talk.close_input()


def test_an_overlong_line_is_refused_and_the_next_is_served() -> None:
    with GtpTalk() as talk:
        threading.Thread(target=lambda: talk.raw(b"x" * (3 << 20) + b"\nname\n")).start()
        assert [talk.response(), talk.response()] == ["? a line longer than 1 MiB", "= az-engine"]


# --------------------------------------------------------------------------------------------------- handicap and rules


def test_handicap_stones_stand_where_the_specification_wants_them() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 19")
        assert talk.one("fixed_handicap 7") == "= D4 Q16 D16 Q4 D10 Q10 K10"
        assert talk.ask("get_komi", "fixed_handicap 2", "undo") == ["= 7.5", "? board not empty", "? cannot undo"]
        assert talk.one("showboard").startswith("= move 1, white")
        talk.one("clear_board")
        assert talk.one("place_free_handicap 30") == "= D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"
        talk.one("boardsize 9")
        assert talk.ask("fixed_handicap 4", "boardsize 5", "fixed_handicap 2", "place_free_handicap 2") == [
            *("= C3 G7 C7 G3", "=", "? invalid number of stones", "? invalid number of stones"),
        ]
        assert talk.ask("set_free_handicap a1 C3", "genmove b", "genmove w")[0] == "="


def test_every_point_as_handicap_is_refused() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 2")
        assert talk.one("set_free_handicap A1 A2 B1 B2").startswith("? ")
        assert talk.ask("set_free_handicap A1 A2 B1", "genmove w")[0] == "="


def test_rules_by_the_names_of_kgs_and_katago() -> None:
    with GtpTalk() as talk:
        for name, ko, suicide, bonus in (
            ("chinese", "SIMPLE", "false", "N"),
            ("Tromp-Taylor", "POSITIONAL", "true", "0"),
            ("aga", "SITUATIONAL", "false", "N-1"),
            ("new-zealand", "SITUATIONAL", "true", "0"),
            ("chinese-kgs", "POSITIONAL", "false", "N"),
        ):
            json = (
                f'{{"hasButton": false, "ko": "{ko}", "scoring": "AREA", "suicide": {suicide}, "tax": "NONE", '
                f'"whiteHandicapBonus": "{bonus}"}}'
            )
            assert talk.ask(f"kata-set-rules {name}", "kata-get-rules") == ["=", f"= {json}"]
            assert talk.ask(f"kata-set-rules {json}", "kata-get-rules") == ["=", f"= {json}"]
        assert talk.ask("kgs-rules chinese", "kgs-rules new_zealand", "kgs-rules aga") == ["="] * 3
        for name in _UNSUPPORTED:
            assert talk.one(f"kgs-rules {name}").startswith(f"? {name} rules are not supported: they count territory")
        assert '"ko": "SITUATIONAL"' in talk.one("kata-get-rules")


def test_our_description_of_the_rule_sets_is_the_engines() -> None:
    kinds = {POSITIONAL: "POSITIONAL", SITUATIONAL: "SITUATIONAL", SIMPLE: "SIMPLE"}
    assert {r.name: (kinds[r.ko], r.suicide) for r in RULE_SETS} == {n: (ko, s) for n, (ko, s, _) in RULES.items()}
    assert {r.name for r in RULE_SETS if r.bonus == NO_BONUS} == {n for n, (_, _, b) in RULES.items() if b == "0"}


def test_rules_that_forbid_a_move_already_played_are_refused() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 5")
        assert talk.ask(*SUICIDE, "play w A1") == ["="] * 7
        assert talk.one("kata-set-rules chinese") == "? the moves so far are not legal by these rules"
        assert '"suicide": true' in talk.one("kata-get-rules")


# ------------------------------------------------------------------------------------------------ the end of a game


def test_the_score_without_a_net_counts_every_stone_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "komi 0.5", "play b C3")
        assert talk.ask("final_score", "play w A1", "final_score") == ["= B+24.5", "=", "= W+0.5"]
        assert talk.ask("final_status_list alive", "final_status_list dead", "final_status_list seki") == [
            "= C3\nA1",
            "=",
            "=",
        ]
        talk.ask("komi 0", "clear_board", "kata-set-rules chinese", "set_free_handicap B2 D4")
        assert talk.one("final_score") == "= B+23", "white gets a point for each handicap stone"
        assert talk.ask("clear_board", "final_score") == ["=", "= 0"]
    assert "every stone on the board counts as alive" in capfd.readouterr().err


def black_owns(position: str) -> list[float]:
    """A net that believes in black."""
    return [1.0 if position.split()[1] == "b" else -1.0] * 25


def test_the_score_with_a_net_leaves_dead_stones_out() -> None:
    with GtpTalk(engine_that_says(black_owns)) as talk:
        talk.ask("boardsize 5", "komi 0.5", "play b C3", "play w A1", "play w B1")
        assert talk.ask("final_status_list dead", "final_status_list alive", "final_score") == [
            "= A1 B1",
            "= C3",
            "= B+24.5",
        ]


WON = ("boardsize 5", "komi 0.5", *(f"play b C{n}" for n in range(1, 6)), *(f"play w D{n}" for n in range(1, 6)))


@pytest.mark.parametrize("colour", ["b", "w"])
def test_a_pass_is_answered_with_a_pass_exactly_when_that_wins(colour: str) -> None:
    """Black has 15 points of 25: whoever is behind plays on."""
    opponent = "w" if colour == "b" else "b"
    with GtpTalk(nodes_limit=1) as talk:
        talk.ask(*WON, f"play {opponent} pass")
        assert (talk.one(f"genmove {colour}") == "= pass") == (colour == "b")


def test_dead_stones_are_counted_as_the_arbiter_counts_them() -> None:
    """White's dead stone spoils black's area by Tromp-Taylor, so black must not pass; agreement would remove it."""
    spoilt = ("play w A1", "play w pass")
    with GtpTalk(engine_that_says(black_owns), nodes_limit=1) as talk:
        talk.ask("boardsize 5", "komi 20.5", *(f"play b C{n}" for n in range(1, 6)), "play w A1")
        assert talk.one("final_score") == "= B+4.5"
        talk.one("play w pass")
        assert talk.one("genmove b") != "= pass"
    with GtpTalk(engine_that_says(black_owns), nodes_limit=1) as talk:
        talk.ask("kata-set-rules chinese", *WON, *spoilt)
        assert talk.one("genmove b") != "= pass", "5 points without the corner"


def test_cleanup_passes_only_when_dead_stones_are_captured() -> None:
    """By an engine that would rather pass. Black moves again and again, so that every other move is out of turn."""

    class Tired(Engine):
        def estimate(self) -> Estimate | None:
            return Estimate(None, tuple(black_owns(self.position or "")))

        def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
            choice = [m for m in ("A2", "B1", "C3", "D4") if m in self.legal_moves()]
            super().go(
                replace(limits, searchmoves=tuple(choice[:1]) if limits.searchmoves else ("pass",)), on_info, on_done
            )

    for rules in ("tromp-taylor", "chinese"):
        with GtpTalk(lambda options: Tired("go", options), nodes_limit=1) as talk:
            talk.ask("boardsize 5", "komi 0.5", f"kata-set-rules {rules}", "play b B2", "play w A1")
            assert [talk.one("kgs-genmove_cleanup b") for _ in range(4)] == ["= A2", "= B1", "= pass", "= pass"]
            assert "O" not in "".join(talk.one("showboard").split("\n")[2:])


def test_it_resigns_only_after_three_hopeless_moves_and_never_early() -> None:

    class Gloomy(Engine):
        def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
            def gloomy(best: BestMove) -> None:
                lines = tuple(replace(line, wdl=Wdl(0.04, 0.0, 0.96)) for line in best.lines)
                on_done(replace(best, lines=lines))

            super().go(limits, on_info, gloomy)

    def play(resign: float) -> tuple[list[str], GtpTalk]:
        talk = GtpTalk(lambda options: Gloomy("go", options), resign=resign, nodes_limit=1)
        talk.ask("boardsize 5", "play b C3")
        return [talk.one(f"genmove {'wb'[n % 2]}") for n in range(9)], talk

    answers, talk = play(5.0)
    with talk:
        assert "= resign" not in answers[:5]
        assert set(answers[6:]) == {"= resign"}, "a quarter of the board's points have been played"
        before = talk.one("showboard")
        assert talk.ask("genmove b", "showboard") == ["= resign", before]
        assert talk.one("reg_genmove b") != "= resign"
        assert talk.one("kgs-genmove_cleanup b") != "= resign"
    for threshold in (0.0, 3.0):
        answers, talk = play(threshold)
        with talk:
            assert "= resign" not in answers


def test_a_suicide_that_the_rules_allow_is_still_not_what_it_plays() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", *SUICIDE)
        assert talk.one("lz-genmove_analyze w 5 allow w A1 1").endswith("\nplay pass")
        assert talk.ask("undo", "play w A1", "undo") == ["=", "=", "="], "whoever wants to may"
        assert talk.one("lz-genmove_analyze w 5 allow w A1,C3 1").endswith("\nplay C3")


def test_reg_genmove_plays_nothing() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "play b E5")
        before = talk.ask("showboard", "printsgf")
        for colour in "bw":
            assert re.fullmatch(r"= [A-HJ][1-9]", talk.one(f"reg_genmove {colour}"))
            assert talk.ask("showboard", "printsgf") == before


# -------------------------------------------------------------------------------------------------------------- SGF


def test_g14_a_game_comes_back_from_the_file_it_was_written_to(tmp_path: Path) -> None:
    file = tmp_path / "a game.sgf"
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "komi 5.5", "kata-set-rules aga", "fixed_handicap 3")
        talk.ask("play w E5", "play b C5", "play b pass", "play w D6", "play w D7")
        board, text = talk.ask("showboard", "printsgf")
        file.write_text(text.removeprefix("= "), encoding="utf-8")
        talk.ask("boardsize 19", "komi 0", "kata-set-rules chinese", "play b K10")
        assert talk.one(f"loadsgf {file}") == "="
        assert talk.ask("showboard", "printsgf", "get_komi") == [board, text, "= 5.5"]
        assert talk.one(f"loadsgf {file} 3") == "="
        assert talk.one("showboard").startswith("= move 3, white"), "the position before the third move"
        assert talk.ask("undo", "undo", "undo") == ["=", "=", "? cannot undo"]
        assert talk.ask(f"loadsgf {file} 1", f"loadsgf {file} 999", "showboard")[:2] == ["=", "="]


FILES = {
    "": "it is not SGF, or is damaged",
    "secret\nroot:hunter2": "it is not SGF, or is damaged",
    "(;C[hunter2": "it is not SGF, or is damaged",
    "(;SZ[9];B[aa];W[aa]C[hunter2])": "move 2 is illegal",
    "(;SZ[9];B[hunter2])": "a move that is no point of the board",
    "(;SZ[9]AB[hunter2])": "stones are set up on what is no point of the board",
    "(;SZ[9]AB[aa]AW[ab][ba])": "stones are set up without a liberty",
    "(;SZ[hunter2])": "game 1 has a board size or a character set that cannot be read",
    "(;CA[cp99999])": "game 1 has a board size or a character set that cannot be read",
    "(" * 100_000: "it is not SGF, or is damaged",
    "(;" * 100_000 + ")" * 100_000: "the game is longer than 2000 moves and is read no further",
    "(;" * 300_000: "it has more than 400000 nodes, variations and properties; split it",
    "(;C[" + "x" * (17 << 20) + "])": "it is larger than 16 MiB; split it",
}


def test_g14_files_that_cannot_be_used_are_refused_without_a_word_of_what_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "bad.sgf"
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "play b E5")
        before = talk.ask("showboard", "printsgf")
        for text, message in FILES.items():
            file.write_text(text, encoding="utf-8")
            assert talk.one(f"loadsgf {file}") == f"? cannot load file: {message}"
            assert talk.ask("showboard", "printsgf") == before
        file.write_text("(;SZ[9]C[" + "x" * 10_000_000 + "];B[aa])", encoding="utf-8")
        assert talk.one(f"loadsgf {file}") == "="
    with GtpTalk(engine_that_says(lambda _: None, sizes=(13,))) as talk:
        assert talk.one(f"loadsgf {file}") == "? unacceptable size"


# ------------------------------------------------------------------------------------------------------------- Sabaki


def test_what_sabaki_sends_is_answered_exactly() -> None:
    """Handshake; a sync in one burst; a move with analysis; endless analysis that a protocol_version interrupts."""
    with GtpTalk(move_time=0.5) as talk:
        talk.send("name", "version", "protocol_version", "list_commands")
        hello = [talk.response() for _ in range(4)]
        assert hello[0] == "= az-engine"
        assert hello[2] == "= 2"
        assert {"genmove_analyze", "analyze", "undo", "set_free_handicap"} <= set(hello[3].split())
        sync = ["komi 7.5", "boardsize 9", "clear_board", "play B C3", "play W G7", "play B G3"]
        assert talk.ask(*sync) == ["="] * 6
        head, *infos, last = talk.one("genmove_analyze W 10").split("\n")
        assert head == "="
        assert infos
        assert all(re.match(r"info move \S+ visits \d+ winrate \d+ ", line) for line in infos)
        assert re.fullmatch(r"play [A-HJ][1-9]", last)
        assert talk.one("showboard").startswith("= move 5, black")
        assert talk.ask("undo", last.replace("play", "play W")) == ["=", "="]
        talk.send("analyze B 10")
        assert talk.line() == "="
        assert str(talk.line()).startswith("info move ")
        talk.send("protocol_version")
        rest = []
        while line := talk.line():
            rest.append(line)
        assert all(line.startswith("info move ") for line in rest)
        assert talk.response() == "= 2"
        assert talk.ask("set_free_handicap C3 G7", "clear_board", "set_free_handicap C3 G7", "play W E5") == [
            *("? board not empty", "=", "=", "="),
        ]


# --------------------------------------------------------------------------------------------------------------- fuzz

WORDS = (
    "name version boardsize clear_board komi play genmove undo showboard fixed_handicap set_free_handicap loadsgf "
    "place_free_handicap time_settings kgs-time_settings time_left final_score final_status_list reg_genmove printsgf "
    "lz-analyze kata-analyze analyze kata-genmove_analyze kata-set-rules kata-get-rules known_command cputime b w "
    "BLACK white green pass resign A1 a1 C3 D4 j9 K10 T19 Z25 I5 A0 -1 0 1 2 5 9 9.0 19 26 1e9 nan inf "
    "99999999999999999999 byoyomi absolute none interval avoid allow minmoves maxmoves ownership true false chinese "
    '{} {"ko":1} \u00e9 \u4e2d'
).split()
LINE = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    st.tuples(st.integers(0, 10**20), st.lists(st.sampled_from(WORDS), max_size=4)).map(
        lambda pair: f"{pair[0]} {' '.join(pair[1])}"
    ),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=40),
)


@pytest.fixture(scope="module")
def fuzzed() -> GtpTalk:
    """One session for all lines."""
    return GtpTalk(nodes_limit=2, move_time=0.001)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINE, max_size=10))
def test_each_command_gets_exactly_one_response_with_its_id(lines: list[str], fuzzed: GtpTalk) -> None:
    commands = [read_command(clean(line.encode("utf-8", "surrogateescape"))) for line in lines]
    lines = [line for line, c in zip(lines, commands, strict=True) if c is None or c.name != "quit"]
    fuzzed.send(*lines, "boardsize 9", "987654321 name")
    for command in commands:
        if command is not None and command.name != "quit":
            response = fuzzed.response()
            assert re.match(rf"[=?]{command.number}( |\n|$)", response), (command.number, response)
    assert fuzzed.response() == "="
    assert fuzzed.response() == "=987654321 az-engine"

"""GTP, statement by statement: what is sent, what has to come back, and nothing left over."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.games.go.rulesets import RULE_SETS, rule_set, rules_of
from az_engine.protocols.gtp.rules import RULES, Rules, read_rules

from ...fakes.clock import FakeClock
from .talk import SUICIDE, GtpTalk, engine_that_says

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


ERRORS = {
    "boardsize": "syntax error",
    "boardsize nine": "boardsize not an integer",
    "boardsize 9.0": "boardsize not an integer",
    "boardsize 26": "unacceptable size",
    "boardsize 1": "unacceptable size",
    "boardsize 0": "unacceptable size",
    "boardsize -9": "unacceptable size",
    "boardsize 99999999999999999999": "unacceptable size",
    "rectangular_boardsize 9 26": "unacceptable size",
    "boardsize 9 9 9": "syntax error",
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
    'kata-set-rules {"ko":"SPIRAL"}': 'ko "SPIRAL" is not supported; known are "SIMPLE", "POSITIONAL", "SITUATIONAL"',
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


@pytest.mark.parametrize("command", ["rectangular_boardsize 4 3", "boardsize 4 3"])
def test_boards_that_are_not_square(command: str) -> None:
    """Four columns and three rows. Black owns all but A1, where white has a stone."""
    with GtpTalk(nodes_limit=20) as talk:
        assert talk.ask("komi 0", command, "play b D3", "play w A1", "play b C2") == ["="] * 5
        assert talk.one("showboard").split("\n")[1:] == [
            "   A B C D",
            " 3 . . . X 3",
            " 2 . . X . 2",
            " 1 O . . . 1",
            "   A B C D",
        ]
        assert talk.ask("play b A4", "play b E1", "is_legal w D1") == ["? invalid color or coordinate"] * 2 + ["= 1"]
        assert talk.one("all_legal w")[2:].split() == "A3 B3 C3 A2 B2 D2 B1 C1 D1".split()
        assert re.fullmatch(r"= ([A-D][1-3]|pass)", talk.one("genmove w"))
        assert talk.ask("clear_board", "fixed_handicap 2") == ["=", "? invalid number of stones"]
        assert talk.ask("set_free_handicap A1 D3", "final_score") == ["=", "= B+12"]
        assert "SZ[4:3]" in talk.one("printsgf")
        assert talk.ask("boardsize 5", "play b E5") == ["=", "="]


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


def spent(clock: FakeClock, action: Callable[[], object]) -> float:
    """The seconds that an action took, by the clock."""
    start = clock.now
    action()
    return clock.now - start


def test_g10_time_settings_are_taken_and_limit_the_moves(clock: FakeClock) -> None:
    clock.tick = 0.001
    with GtpTalk(move_time=60.0, hash=256) as talk:
        talk.ask("boardsize 9", "time_settings 0 1 1")
        assert 0.5 < spent(clock, lambda: talk.one("genmove b")) < 1.0
        for settings in ("time_settings 0 0 0", "kgs-time_settings absolute 0"):
            talk.one(settings)
            assert spent(clock, lambda: talk.one("genmove w")) < 0.5
        talk.ask("time_settings 600 0 0", "time_left b -5 0")
        assert spent(clock, lambda: talk.one("genmove b")) < 0.5
        talk.ask("kgs-time_settings byoyomi 600 30 3", "time_left w 0 1")
        assert spent(clock, lambda: talk.one("genmove w")) < 0.5


def test_without_a_clock_a_move_takes_the_time_that_the_user_set(clock: FakeClock) -> None:
    clock.tick = 0.001
    with GtpTalk(move_time=0.5, hash=256) as talk:
        talk.ask("boardsize 9", "genmove b")
        assert 0.4 < spent(clock, lambda: talk.one("genmove w")) < 0.8
        talk.one("time_settings 0 1 0")
        assert 0.4 < spent(clock, lambda: talk.one("reg_genmove b")) < 0.8


def test_g12_quit_answers_first_and_what_comes_after_it_is_not_read() -> None:
    with GtpTalk() as talk:
        talk.send("name", "quit", "name")
        assert talk.rest() == ["= az-engine", "", "=", ""]


def test_g12_quit_ends_a_search() -> None:
    with GtpTalk(move_time=600.0, hash=256) as talk:
        talk.one("boardsize 9")
        talk.send("5 genmove b")
        talk.silence(0.3)
        talk.send("6 quit")
        assert re.fullmatch(r"=5 [A-HJ][1-9]", talk.response())
        assert talk.rest() == ["=6", ""]


@pytest.mark.parametrize("loads_s", [0.0, 1.0])
def test_g12_quit_does_not_overtake_what_was_asked_before_it(loads_s: float) -> None:
    """Nothing is interrupted, however long the net loads, and the moves are those of whole searches."""

    class Slow(Engine):
        def ready(self, on_progress: Callable[[str], None] | None = None) -> None:
            time.sleep(loads_s)
            super().ready(on_progress)

    with GtpTalk(lambda options: Slow("go", options), nodes_limit=30, move_time=60.0) as talk:
        asked = ["boardsize 9", "name", "play b e5", "showboard", "genmove w", "kata-analyze b 10", "undo", "genmove w"]
        talk.send(*(f"{number} {command}" for number, command in enumerate(asked)), "99 quit", "100 name")
        heads = [talk.response() for _ in asked]
        assert [head.split()[0][:2] for head in heads] == [f"={number}" for number in range(len(asked))]
        assert re.fullmatch(r"=4 [A-HJ][1-9]", heads[4])
        assert re.fullmatch(r"=7 [A-HJ][1-9]", heads[7])
        assert talk.rest() == ["=99", ""]


def test_g13_300_moves_are_replayed() -> None:
    colours, moves = "bw", []
    for number, (row, column) in enumerate((r, c) for r in range(1, 20, 2) for c in "ABCDEFGHJKLMNOPQRST"):
        moves.append(f"play {colours[number % 2]} {column}{row}")
    moves += [f"play {colours[n % 2]} {'ACEGJLNQST'[n % 10]}{2 + 2 * (n // 10)}" for n in range(90)]
    with GtpTalk() as talk:
        talk.ask("boardsize 19", "play b A1", "clear_board", "kgs-rules chinese")
        assert talk.ask(*moves[:300]).count("=") > 250
        talk.ask("kata-set-rules tromp-taylor", "clear_board")
        assert talk.ask(*moves[:190]) == ["="] * 190


@pytest.mark.slow
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


def test_without_a_net_the_board_works_and_genmove_still_answers(capfd: pytest.CaptureFixture[str]) -> None:
    with GtpTalk(weights_file="/no/such/net.onnx") as talk:
        assert talk.ask("boardsize 25", "play b D4", "final_score", "showboard")[:2] == ["=", "="]
        assert talk.one("genmove w").startswith("= "), "without a net every move is as likely"
        assert talk.one("name") == "= az-engine"
    said = capfd.readouterr().err
    assert "there is no such file" in said
    assert "no net: every move is as likely" in said


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
    talk.writer.close()  # as a write to a closed pipe does
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


def test_black_moves_before_whites_first_are_a_handicap() -> None:
    """White gets points for them by Chinese rules, and by others does not; as by KataGo and in queries."""
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "kata-set-rules chinese", "komi 0")
        assert talk.ask("play b C3", "final_score", "play b C4", "final_score") == ["=", "= B+25", "=", "= B+23"]
        assert talk.ask("undo", "final_score") == ["=", "= B+25"]
        assert talk.ask("set_position b C3 b C4", "final_score") == ["=", "= B+23"]
        assert talk.ask("set_position b C3 w C4", "final_score") == ["=", "= 0"]
        talk.ask("clear_board", "play b C3", "play w pass", "play b C4")
        text = talk.one("printsgf")
        assert "HA[2]" in text
        assert talk.one("final_score") == "= B+23"
        assert talk.ask("kata-set-rules japanese", "final_score") == ["=", "= B+23"], "stones do not count"


def test_every_point_as_handicap_is_refused() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 2")
        assert talk.one("set_free_handicap A1 A2 B1 B2").startswith("? ")
        assert talk.ask("set_free_handicap A1 A2 B1", "genmove w")[0] == "="


_NEITHER = '"friendlyPassOk": null, '


def test_rules_by_the_names_of_kgs_and_katago() -> None:
    with GtpTalk() as talk:
        for name, ko, suicide, bonus in (
            ("chinese", "SIMPLE", "false", "N"),
            ("Tromp-Taylor", "POSITIONAL", "true", "0"),
            ("aga", "SITUATIONAL", "false", "N-1"),
            ("new-zealand", "SITUATIONAL", "true", "0"),
            ("chinese-kgs", "POSITIONAL", "false", "N"),
        ):
            friendly = f'"friendlyPassOk": {str(name != "Tromp-Taylor").lower()}, '
            json = (
                f'{{{friendly}"hasButton": false, "ko": "{ko}", "scoring": "AREA", "suicide": {suicide}, '
                f'"tax": "NONE", "whiteHandicapBonus": "{bonus}"}}'
            )
            assert talk.ask(f"kata-set-rules {name}", "kata-get-rules") == ["=", f"= {json}"]
            for given in (json, json.replace(friendly, "")):
                assert talk.ask(f"kata-set-rules {given}", "kata-get-rules") == ["=", f"= {json}"]
            assert talk.one(f"kata-set-rules {json.replace(friendly, _NEITHER)}").startswith("? friendlyPassOk null is")
        assert talk.ask("kgs-rules chinese", "kgs-rules new_zealand", "kgs-rules aga") == ["="] * 3
        for name in ("japanese", "korean"):
            talk.ask(f"kgs-rules {name}")
            assert '"scoring": "TERRITORY", "suicide": false, "tax": "SEKI"' in talk.one("kata-get-rules")


def test_single_fields_of_the_rules() -> None:
    with GtpTalk() as talk:
        assert talk.ask("kata-set-rule ko SIMPLE", "kata-set-rule suicide false", "kata-set-rule tax seki") == ["="] * 3
        assert talk.one("kata-set-rule whiteHandicapBonus N") == "="
        assert talk.one("kata-get-rules") == (
            '= {"friendlyPassOk": false, "hasButton": false, "ko": "SIMPLE", "scoring": "AREA", "suicide": false, '
            '"tax": "SEKI", "whiteHandicapBonus": "N"}'
        )
        assert talk.one("boardsize 9") == "=", "the engine plays by them"
        assert talk.ask("play b E5", "undo") == ["=", "="]
        assert talk.ask("kata-set-rule tax ALL", "kata-set-rule hasButton true") == ["="] * 2
        assert '"hasButton": true' in talk.one("kata-get-rules")
        for bad in ("ko SPIGHT", "tax SOME", "scoring TERRITORY", "komi 7", "suicide 3"):
            assert talk.one(f"kata-set-rule {bad}").startswith("? ")


def test_the_engine_has_the_rules_that_gtp_names() -> None:
    flags = [True, False]
    for ko, bonus in itertools.product(("POSITIONAL", "SITUATIONAL", "SIMPLE"), ("0", "N", "N-1")):
        for suicide, friendly, territory, tax in itertools.product(flags, flags, flags, ("NONE", "SEKI", "ALL")):
            rules = Rules(ko, suicide, bonus, friendly, territory, tax, button=not territory and friendly)
            theirs = rule_set(rules.name)
            assert rules_of(theirs.flags) == theirs
            assert read_rules(rules.name) == read_rules(rules.text) == rules
            assert (theirs.territory, theirs.friendly, theirs.button) == (territory, friendly, rules.button)
            assert (theirs.seki_tax, theirs.all_tax) == (tax == "SEKI", tax == "ALL")
    assert [each.name for each in RULE_SETS] == [*RULES]
    for each in RULE_SETS:
        assert read_rules(each.description) == RULES[each.name]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((text, "chinese") for text in ("中国规则", "中國規則", "中国ルール", "数子法", "中国围棋规则", "Chinese")),
        *((text, "japanese") for text in ("日本规则", "日本ルール", "日本囲碁規約", "韩国规则", "数目", "Korean")),
        *((text, "stone-scoring") for text in ("stone_scoring", "stone scoring", "ancient-area", "古棋规则")),
        *((text, "aga-button") for text in ("aga-button", "AGA_Button", "agabutton")),
        *((text, "new-zealand") for text in ("new zealand", "nz", "ニュージーランドルール")),
        ("ancient territory", "ancient-territory"),
        ('{"scoring":"AREA","ko":"SIMPLE","suicide":false,"tax":"ALL","friendlyPassOk":true}', "stone-scoring"),
    ],
)
def test_rules_in_the_words_of_people_and_programs(text: str, name: str) -> None:
    assert read_rules(text) == RULES[name]


def test_a_button_is_half_a_point_for_the_first_pass() -> None:
    with GtpTalk() as talk:
        talk.ask("boardsize 5", "kata-set-rules aga-button", "kata-set-rule whiteHandicapBonus 0", "komi 7")
        talk.ask(*(f"play b C{n}" for n in range(1, 6)))
        assert talk.ask("final_score", "play w pass", "final_score") == ["= B+18", "=", "= B+17.5"]
        assert talk.ask("play b pass", "final_score") == ["=", "= B+17.5"], "it is taken once"
        assert talk.ask("undo", "undo", "play b pass", "final_score") == ["=", "=", "=", "= B+18.5"]


@pytest.mark.parametrize(("rules", "score"), [("chinese", "B+6"), ("stone-scoring", "B+4")])
def test_a_tax_on_all_groups_takes_two_points_of_each(rules: str, score: str) -> None:
    """Black's group on the left has five points of territory; all other groups have none."""
    with GtpTalk() as talk:
        talk.ask("boardsize 5", f"kata-set-rules {rules}", "komi 0")
        talk.ask(*(f"play b B{n}" for n in range(1, 6)), *(f"play w C{n}" for n in range(1, 6)), "play b E2")
        assert talk.one("final_score") == f"= {score}"


@pytest.mark.parametrize(
    ("moves", "last", "allowed_by"),
    [
        ("b A3 w C3 b pass w A2 b B2 w C2 b B1 w B3 b pass w A1 b A3", "w A2", {"chinese"}),
        ("b C2 w A1 b A3 w B2 b B3 w B1 b C1 w C3", "b C2", {"chinese", "aga"}),  # the board, but another side to move
    ],
)
def test_the_rule_set_decides_whether_an_earlier_board_may_come_back(
    moves: str, last: str, allowed_by: set[str]
) -> None:
    words = moves.split()
    plays = [f"play {colour} {place}" for colour, place in zip(words[::2], words[1::2], strict=True)]
    with GtpTalk() as talk:
        for rules in ("chinese", "chinese-ogs", "aga"):
            assert talk.ask("boardsize 3", f"kata-set-rules {rules}", *plays) == ["="] * (len(plays) + 2)
            allowed = rules in allowed_by
            found = re.findall(r"info move (\S+)", talk.one(f"lz-genmove_analyze {last[0]} 5"))
            assert (last[2:] in found) == allowed, "the search knows it, too"
            assert talk.ask("undo", f"play {last}") == ["=", "=" if allowed else "? illegal move"]


def test_rules_that_forbid_a_move_already_played_are_refused() -> None:
    with GtpTalk() as talk:
        talk.one("boardsize 5")
        assert talk.ask(*SUICIDE, "play w A1") == ["="] * 7
        assert talk.one("kata-set-rules chinese") == "? the moves so far are not legal by these rules"
        assert '"suicide": true' in talk.one("kata-get-rules")


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
        assert re.fullmatch(r"play ([A-HJ][1-9]|pass)", last)
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


@pytest.mark.slow
def test_the_net_is_loaded_once_a_board_is_set_up() -> None:
    loaded = threading.Event()

    class Loading(Engine):
        def ready(self, on_progress: Callable[[str], None] | None = None) -> None:
            super().ready(on_progress)
            loaded.set()

    with GtpTalk(lambda options: Loading("go", options)) as talk:
        talk.session.load_early(0.0)
        talk.one("name")
        assert not loaded.wait(0.3), "the size of the board comes first"
        talk.one("boardsize 9")
        assert loaded.wait(60)

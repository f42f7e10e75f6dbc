"""The options: one declaration, and what every protocol, flag and file makes of it."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import pytest

from az_engine.engine.errors import OptionError, UnknownOptionError
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.protocols.configuration import add_flags, default_config, read_config, start_values
from az_engine.protocols.options import BY_KEY, OPTIONS, Option, OptionValues, SessionOptions, show

from .reference import reference


def parsed(*flags: str, protocol: str = "uci") -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    add_flags(parser, protocol)
    return parser.parse_args(flags)


def test_every_setting_has_an_option_and_the_defaults_agree() -> None:
    owners = (EngineOptions, SearchParams, SessionOptions)
    declared = [(owner, f.name) for owner in owners for f in fields(owner) if "setting" in f.metadata]
    assert sorted(name for _, name in declared) == sorted({o.field for o in OPTIONS}), "one name, one setting"
    assert {(o.owner, o.field) for o in OPTIONS} == {*declared}
    assert {f.name for f in fields(EngineOptions) if "setting" not in f.metadata} == {"search", "elo"}
    assert OptionValues("uci").engine_options() == EngineOptions()


def test_names_and_keys_are_unique_and_defaults_are_in_range() -> None:
    names = [name.lower() for o in OPTIONS for name in (*set(o.names.values()), *o.aliases)]
    assert len(names) == len(set(names))
    assert len(BY_KEY) == len(OPTIONS)
    for option in OPTIONS:
        if option.kind != "button":
            assert option.parse(show(option.default)) == option.default
            assert option.setting.meaning.endswith(".")


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.kind in ("spin", "number")], ids=lambda o: o.key)
def test_ends_of_the_ranges(option: Option) -> None:
    assert option.parse(show(option.setting.low)) == option.setting.low
    assert option.parse(str(int(option.setting.high))) == option.setting.high
    for bad in (
        str(int(option.setting.high) + 1),
        str(option.setting.low - 1),
        "",
        " ",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "0x10",
        "1 2",
    ):
        with pytest.raises(OptionError, match=r"must be a (whole )?number from"):
            option.parse(bad)


def test_messages_never_carry_control_characters_or_whole_files() -> None:
    with pytest.raises(OptionError) as caught:
        OptionValues("uci").read("Threads", "\x1b[31m\ud800" + "9" * 10_000)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


def test_precedence_is_setoption_then_flag_then_file_then_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('hash = 11\nthreads = 3\nc_puct = 2\nprovider = "CPU"\nponder = true\n', encoding="utf-8")
    start, notes = start_values(parsed("--config", str(file), "--threads", "4", "--no-ponder"))
    values = OptionValues("uci", start)
    assert notes == []
    values.set(*values.read("c p u c t".replace(" ", ""), "3.5"))
    options = values.engine_options()
    assert (options.hash_mb, options.threads, options.provider, options.ponder) == (11, 4, "cpu", False)
    assert (options.search.c_puct, options.batch_size) == (3.5, 0)
    assert "option name Hash type spin default 11 min 1 max 131072" in values.declarations()
    assert "option name CPuct type string default 2" in values.declarations(), "what the session began with"


def test_the_default_file_is_found_and_its_faults_are_told_but_kept_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert start_values(parsed()) == ({}, [])
    path = default_config()
    path.parent.mkdir()
    path.write_text(
        'hash = 0\nhush = 3\nthreads = 2\nponder = 1\nlog_file = ["x"]\n[uci]\nhash = 3\n', encoding="utf-8"
    )
    start, notes = start_values(parsed())
    assert start == {"threads": 2}
    assert [note.removeprefix(f"{path}: ") for note in notes] == [
        "hash must be a whole number from 1 to 131072, not '0'",
        "there is no option 'hush'",
        "ponder must be true or false, not '1'",
        "log_file must be a plain value, not a list",
        "there is no option 'uci'",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hash = ", "is not TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (None, "cannot be read"),
        (b"hush = 1", "no option 'hush'"),
    ],
)
def test_a_file_asked_for_must_be_good(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(OptionError, match=words):
        start_values(parsed("--config", str(file)))


def test_a_secret_file_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("root:hunter2:0:0\n", encoding="utf-8")
    (note,) = read_config(file)[1]
    assert "hunter2" not in note


@pytest.mark.parametrize("flags", [("--hash", "0"), ("--provider", "x"), ("--c-puct", "nan"), ("--ponder", "true")])
def test_bad_flags_end_the_program_with_a_sentence(flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(*flags)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert "must be" in said or "unrecognized arguments: true" in said


def test_strength_is_limited_only_on_request_and_not_in_analysis() -> None:
    values = OptionValues("uci")
    values.set(*values.read("UCI_Elo", "1700"))
    assert values.engine_options().elo is None
    values.set(*values.read("uci_limitstrength", "true"))
    assert values.engine_options().elo == 1700
    values.set(*values.read("UCI_AnalyseMode", "true"))
    assert values.engine_options().elo is None


def test_a_protocol_offers_only_what_has_a_name_there() -> None:
    assert OptionValues("gtp").declarations() == []
    with pytest.raises(UnknownOptionError, match="no such option: Hash"):
        OptionValues("gtp").read("Hash", "3")
    with pytest.raises(UnknownOptionError, match="no such option: ResignValue"):
        OptionValues("uci").read("ResignValue", "3")
    with pytest.raises(UnknownOptionError, match="no such option: UCI_Elo"):
        OptionValues("usi").read("UCI_Elo", "1500")
    assert not any(" Seed " in line for line in OptionValues("uci").declarations())
    with pytest.raises(SystemExit):
        parsed("--resign-value", "500")
    assert parsed("--resign-value", "500", protocol="usi").resign_value == 500


def test_go_has_options_of_its_own_and_lacks_those_of_chess() -> None:
    assert parsed("--move-time", "2.5", "--seed", "3", protocol="gtp").move_time == 2.5
    for flag, protocol in (("--move-time", "uci"), ("--multipv", "gtp"), ("--chess960", "gtp")):
        with pytest.raises(SystemExit):
            parsed(flag, "3", protocol=protocol)
    assert OptionValues("gtp", {"hash": 32}).engine_options().hash_mb == 32


def test_what_another_protocol_has_in_the_file_does_not_matter() -> None:
    values = OptionValues("uci", {"last_overhead": 5000, "resign_value": 100, "hash": 32, "seed": 7})
    assert values.engine_options() == replace(EngineOptions(), hash_mb=32, search=SearchParams(seed=7))


def test_values_and_what_the_engine_is_told() -> None:
    values = OptionValues("usi")
    options = values.engine_options()
    assert (options.move_overhead_ms, options.last_overhead_ms, options.resign_cp) == (120, 1120, None)
    assert (options.declaration, options.max_plies, options.minimum_ms) == ("27", 0, 0)
    for name, text in (
        ("NetworkDelay2", "0"),
        ("ResignValue", "3000"),
        ("EnteringKingRule", "noenteringking"),
        ("MaxMovesToDraw", "256"),
        ("MinimumThinkingTime", "2000"),
        ("WeightsFile", "uniform"),
        ("Move Overhead", "10"),
    ):
        values.set(*values.read(name, text))
    told = values.engine_options()
    assert (told.last_overhead_ms, told.resign_cp, told.declaration) == (None, 3000, "none")
    assert (told.max_plies, told.minimum_ms, told.weights_file, told.move_overhead_ms) == (256, 2000, "uniform", 10)
    values.restore(options, [option.key for option in OPTIONS if option.owner is not SessionOptions])
    assert values.engine_options() == options
    assert values["entering_king_rule"] == "CSARule27"


def test_what_is_fixed_says_why() -> None:
    values = OptionValues("usi")
    values.set(*values.read("GenerateAllLegalMoves", "true"))
    with pytest.raises(OptionError, match=r"^GenerateAllLegalMoves cannot be changed: every .*; it stays at true$"):
        values.read("GenerateAllLegalMoves", "false")


def test_the_document_is_up_to_date() -> None:
    document = Path(__file__).parents[2] / "docs" / "options.md"
    assert document.read_text(encoding="utf-8") == reference()
    rows = reference().split("\n")
    assert len([row for row in rows if row.startswith("|")]) == len(OPTIONS) + 2
    start = "| `--move-overhead` | `Move Overhead` | `NetworkDelay` | flag | 0 to 10000 | `30`, USI `120` |"
    assert any(row.startswith(start) for row in rows)


@pytest.mark.parametrize("protocol", ["uci", "usi"])
def test_help_teaches_every_flag(protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help", protocol=protocol)
    text = " ".join(capsys.readouterr().out.split())
    for option in OPTIONS:
        if option.kind != "button" and option.offered(protocol) and not option.fixed:
            assert "--" + option.key.replace("_", "-") in text
            assert " ".join(option.setting.meaning.split()) in text

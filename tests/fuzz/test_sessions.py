"""Mutated conversations in the three protocols: every command gets its answers, and ``quit`` ends them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.errors import PositionError
from az_engine.engine.games import get_game
from az_engine.engine.params import EngineOptions
from az_engine.protocols.gtp.command import read_command
from az_engine.protocols.lines import MAX_LINE, LineWriter, clean
from az_engine.protocols.options import OptionValues, Value
from az_engine.protocols.uci.uci import UciSession
from az_engine.protocols.uci.usi import UsiSession

from ..protocols.gtp.talk import GtpTalk
from ..protocols.talk import Conversation
from .campaign import TIMEOUT, Campaign, mutate_list, mutate_words

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT)]

DATA = Path(__file__).parents[1] / "data"
START: dict[str, Value] = {"weights_file": "uniform", "hash": 8, "threads": 1}
CHESS = """uci isready ucinewgame setoption name value Hash Threads MultiPV BatchSize Move Overhead Ponder position fen
    startpos moves go nodes depth movetime wtime btime winc binc movestogo infinite ponder searchmoves mate stop
    ponderhit debug on off register e2e4 e7e5 e1g1 a7a8q 0000
    UCI_Chess960 true false MatePlies CPuct FpuValue Temperature
    WeightsFile uniform UCI_Elo UCI_LimitStrength Provider cpu 8/8/8/8/8/8/8/8 w b KQkq - """.split()
SHOGI = """usi isready usinewgame setoption name value USI_Hash Threads MultiPV DNN_Batch_Size NetworkDelay position
    sfen startpos moves go nodes depth movetime btime wtime binc winc byoyomi infinite ponder searchmoves mate stop
    ponderhit gameover win lose draw debug on 7g7f 3c3d 8h2b+ P*5e resign EnteringKingRule CSARule27 NoEnteringKing
    MaxMovesToDraw ResignValue USI_Ponder true false w b - 2b 9/9/9/9/9/9/9/9/9""".split()
GO = """name version boardsize clear_board komi play genmove undo showboard fixed_handicap set_free_handicap loadsgf
    place_free_handicap time_settings kgs-time_settings time_left final_score final_status_list reg_genmove printsgf
    lz-analyze kata-analyze analyze kata-genmove_analyze kata-set-rules kata-get-rules known_command cputime b w black
    white pass resign A1 C3 D4 K10 T19 I5 5 9 19 byoyomi absolute none canadian fischer interval avoid allow minmoves
    maxmoves ownership true dead alive chinese aga undo""".split()
CHESS_SESSION = [
    "uci", "isready", "setoption name MultiPV value 3", "ucinewgame", "position startpos moves e2e4 e7e5 g1f3",
    "go nodes 40", "isready", "position startpos moves e2e4 e7e5 g1f3 b8c6 f1b5",
    "go wtime 400 btime 400 winc 10 binc 10", "setoption name Hash value 4",
    "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "go depth 3",
    "go ponder wtime 300 btime 300", "ponderhit", "position fen 7k/5Q2/8/8/8/8/8/7K b - - 0 1", "go movetime 20",
    "go infinite", "stop", "position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "go mate 2", "go searchmoves a1a8 nodes 9",
]  # fmt: skip
SHOGI_SESSION = [
    "usi", "isready", "setoption name MultiPV value 2", "usinewgame", "position startpos moves 7g7f 3c3d",
    "go nodes 30", "position startpos moves 7g7f 3c3d 8h2b+", "go btime 300 wtime 300 byoyomi 20",
    "go ponder btime 300 wtime 300",
    "ponderhit", "position sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "go mate 200", "go nodes 20", "go infinite", "stop",
    "gameover win", "isready", "usinewgame",
    "position sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "go movetime 20",
]  # fmt: skip
GO_SESSION = [
    "protocol_version", "boardsize 5", "komi 7.5", "1 clear_board", "play b C3", "genmove w", "undo", "showboard",
    "time_settings 1 1 1", "time_left b 1 0", "genmove b", "kata-set-rules chinese", "clear_board", "fixed_handicap 2",
    "boardsize 7", "place_free_handicap 2", "lz-analyze 5", "genmove w", "final_score", "final_status_list dead",
    "clear_board", "play b pass", "play w pass", "final_score", "kata-genmove_analyze b 5", "reg_genmove w", "printsgf",
]  # fmt: skip


def sessions(protocol: str, usual: list[str]) -> list[list[str]]:
    """Conversations to mutate: a usual one, and the collected bad ones."""
    rows = map(json.loads, (DATA / f"badinput_{protocol}.jsonl").read_text(encoding="utf-8").splitlines())
    return [usual] * 10 + [row["input"] + row.get("then", []) for row in rows if "input" in row]


class Talk(Conversation):
    """A conversation in UCI or USI with the real engine."""

    patience_s = 120.0

    def __init__(self, kind: type[UciSession], game: str, protocol: str) -> None:
        super().__init__(0)
        make: Callable[[EngineOptions], Engine] = lambda options: Engine(game, options)  # noqa: E731
        self.session = kind(make, OptionValues(protocol, START), LineWriter(self.session_out))
        self.start(self.session.run)


class Expected:
    """What a conversation in UCI or USI must be answered, by a second reading of its lines."""

    def __init__(self, session: UciSession, game: str) -> None:
        self._known = set(session.commands)
        self._notation = session.notation
        self._engine = Engine(game, EngineOptions(weights_file="uniform"))
        self._legal: set[str] | None = None  # in the position held; None: none is held
        self._put_up(None, [])
        self.answers: list[set[str] | None] = []  # to each `go`: the moves it may have
        self.pongs = 0

    def _put_up(self, root: str | None, moves: list[str]) -> None:
        try:
            self._engine.set_position(root, moves)
            self._legal = set(self._engine.legal_moves())
        except PositionError:
            self._legal = None

    def command(self, line: str) -> str:
        """Take a line; its command, "" for none."""
        raw = line.encode("utf-8", "surrogateescape")
        words = clean(raw).split()
        if len(raw) > MAX_LINE or not words or words[0].startswith("#"):
            return ""
        while words and words[0] not in self._known:
            del words[0]
        name, rest = (words[0], words[1:]) if words else ("", [])
        if name == "isready":
            self.pongs += 1
        elif name == "go":
            self.answers.append(self._legal)
        elif name == "position" and rest:
            cut = rest.index("moves") if "moves" in rest else len(rest)
            root, moves = rest[:cut], rest[cut + 1 :]
            if self._notation == "sfen" and "/" in rest[0]:
                root.insert(0, "sfen")
            if root == ["startpos"]:
                self._put_up(None, moves)
            elif root[:1] == [self._notation] and len(root) > 1:
                self._put_up(" ".join(root[1:]), moves)
            else:
                self._legal = None
        return name


@pytest.mark.parametrize(("protocol", "kind", "game"), [("uci", UciSession, "chess"), ("usi", UsiSession, "shogi")])
def test_uci_and_usi(protocol: str, kind: type[UciSession], game: str, capsys: pytest.CaptureFixture[str]) -> None:
    usual, words = (CHESS_SESSION, CHESS) if protocol == "uci" else (SHOGI_SESSION, SHOGI)
    seeds = sessions(protocol, usual)
    Engine(game, EngineOptions(weights_file="uniform")).ready()  # compiles: no case is charged for it
    campaign = Campaign(f"sessions in {protocol.upper()}")
    for rng in campaign.cases():
        lines = [line for line in mutated(rng.choice(seeds), rng, words) if harmless(line)]
        with Talk(kind, game, protocol) as talk:
            expected = Expected(talk.session, game)
            sent = [
                line for line in lines if expected.command(clean(line.encode("utf-8", "surrogateescape"))) != "quit"
            ]
            if any("Chess960" in line for line in sent):  # castling is written in another way
                expected.answers = [None if legal is None else set() for legal in expected.answers]
            for line in sent:
                talk.send(line)
            campaign.count("lines", len(sent))
            campaign.count("searches", len(expected.answers))
            hurried = rng.random() < 0.2
            replies = [] if hurried else list(until_answered(talk, expected, campaign.case))
            if rng.random() < 0.5:
                talk.send("quit")
            talk.close_input()
            replies += talk.rest()
        check(replies, expected, f"{campaign.case}:\n" + "\n".join(line[:200] for line in sent), hurried=hurried)
        assert "Traceback" not in capsys.readouterr().err, campaign.case


def harmless(line: str) -> bool:
    """Whether a line neither writes files nor counts for minutes nor starts hundreds of threads."""
    lower = line.lower()
    if "time_" in lower and re.search(r"e9|\d{4}", lower):
        return False  # the move may then take ten minutes
    return "logfile" not in lower and "perft" not in lower and re.search(r"threads value 0*\d\d", lower) is None


def mutated(lines: list[str], rng: random.Random, words: list[str]) -> list[str]:
    """A mutated conversation; one in fifty has a line that is too long."""
    found = mutate_list(lines, rng, lambda line: mutate_words(line, rng, words))
    if rng.random() < 0.02:
        found.insert(rng.randrange(len(found) + 1), "position startpos moves " + "e2e4 " * (MAX_LINE // 5))
    return found


def until_answered(talk: Talk, expected: Expected, case: str) -> Iterator[str]:
    """The replies up to the answer of every search, all of which are stopped."""
    talk.send("stop", "isready")
    expected.pongs += 1
    answers, pongs = len(expected.answers), expected.pongs
    while answers > 0 or pongs > 0:
        line = talk.line()
        assert line is not None, f"{case}: the output ended with {answers} searches unanswered"
        answers -= line.startswith(("bestmove", "checkmate"))
        pongs -= line == "readyok"
        yield line


def check(replies: list[str], expected: Expected, case: str, *, hurried: bool) -> None:
    """One answer a search, with a legal move where there is one; ``hurried``: the end cut the searches short."""
    answers = [line for line in replies if line.startswith(("bestmove", "checkmate"))]
    assert len(answers) == len(expected.answers), (
        f"{case}\n-> {len(answers)} answers to {len(expected.answers)} searches"
    )
    assert hurried or replies.count("readyok") == expected.pongs, case
    assert not any("internal error" in line for line in replies), case
    for line, legal in zip(answers, expected.answers, strict=True):
        word = line.split()[1]
        none = word in ("(none)", "resign", "win")
        if line.startswith("checkmate") or legal == set() or (hurried and none):
            continue
        assert none if legal is None else word in legal or word in ("resign", "win"), f"{case}\n-> {line}"


def test_gtp(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = sessions("gtp", GO_SESSION)
    Engine("go", EngineOptions(weights_file="uniform")).ready()
    campaign = Campaign("sessions in GTP")
    vertex = re.compile(r"pass|resign|[A-HJ-Z]([1-9]|1\d|2[0-5])", re.IGNORECASE)
    for rng in campaign.cases():
        with GtpTalk(move_time=0.02, nodes_limit=30) as talk:
            lines = mutated(rng.choice(seeds), rng, GO)
            commands = [read_command(clean(line.encode("utf-8", "surrogateescape"))) for line in lines]
            kept = [(line, c) for line, c in zip(lines, commands, strict=True) if c is None or c.name != "quit"]
            asked = [c for line, c in kept if c is not None]
            case = f"{campaign.case}:\n" + "\n".join(line[:200] for line, _ in kept)
            talk.send(*(line for line, _ in kept), "987654321 name")
            for command in asked:
                response = talk.response()
                assert re.match(rf"[=?]{command.number}( |\n|$)", response), f"{case}\n-> {response}"
                if command.name in ("genmove", "reg_genmove") and response.startswith("="):
                    assert vertex.fullmatch(response.partition(" ")[2]), f"{case}\n-> {response}"
            assert talk.response() == "=987654321 az-engine", case
            campaign.count("commands", len(asked))
            talk.send("quit")
            assert talk.response() == "=", case
            assert talk.rest() == []
        assert "Traceback" not in capsys.readouterr().err, case


def test_the_second_reading_knows_the_rules() -> None:
    """Of the usual sessions, so that the fuzzers' oracle is itself tested."""
    session = UciSession(lambda options: Engine("chess", options), OptionValues("uci", START), LineWriter(None))
    expected = Expected(session, "chess")
    for line in CHESS_SESSION:
        expected.command(line)
    sizes = [None if legal is None else len(legal) for legal in expected.answers]
    assert expected.pongs == 2
    assert sizes == [29, 30, 26, 26, 0, 0, 17, 17]
    assert get_game("chess").protocol == "uci"

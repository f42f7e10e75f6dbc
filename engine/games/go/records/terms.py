"""What people write for rules, komi and results of Go, in several languages."""

from __future__ import annotations

import re
from contextlib import suppress

from ....errors import PositionError
from ....records.record import Reason
from .. import notation
from ..rulesets import rule_set

OTHERS = {
    "2": "Othello",
    "3": "chess",
    "4": "Gomoku",
    "5": "Nine Men's Morris",
    "6": "Backgammon",
    "7": "Chinese chess",
    "8": "shogi",
    "9": "Lines of Action",
    "10": "Ataxx",
    "11": "Hex",
}  # games that SGF files hold, by GM
_ING = "koPOSITIONALscoreAREAtaxNONEsui1fpok1"
_WORDS = {
    "new-zealand": "nz|new zealand|newzealand|新西兰|紐西蘭|ニュージーランド",
    "aga": "bga|french|usgo|美国|美國|米国|アメリカ",
    "chinese": "cn|chinese-kgs|chinese, pair go|中国|中國|数子|數子|중국|중국식|"
    "中国围棋|中国圍棋|中國圍棋|中国囲碁|中国式|数子法|數子法",
    "japanese": "jp|japan|korean|korea|kr|日本|日本囲碁規約|일본|일본식|한국|한국식|日本围棋|日本圍棋|日本囲碁|"
    "日本式|日本棋院|数目|数目法|數目法|比目|日韩|日韓|韩国|韓国|韓國|韩国围棋|韓國圍棋|韓国囲碁",
    _ING: "goe|ing|ing goe|ing's|sst|应氏|應氏|应氏计点制|應氏計點制|应氏围棋|應氏圍棋|应昌期|應昌期|计点制|計點制|잉",
    "stone-scoring": "中国古棋|中國古棋|古棋|还棋头|還棋頭|stone_scoring|ancient-area",
    "tromp-taylor": "tromp taylor|tt",
}
_RULES = {word: name for name, words in _WORDS.items() for word in words.split("|")}
_FOX: dict[float, float] = {
    275: 5.5,
    325: 6.5,
    350: 7.0,
    375: 7.5,
    550: 5.5,
    650: 6.5,
    700: 7.0,
    750: 7.5,
}  # komi as Fox writes it
_MOST_STONES = 5  # of komi, where it counts stones
_LETTERS: dict[str, Reason] = {"R": "resignation", "T": "time", "F": "forfeit"}
LETTER_OF: dict[Reason, str] = {reason: letter for letter, reason in _LETTERS.items()} | {"illegal move": "F"}
_WINNERS = {"b": 1, "黑": 1, "黒": 1, "흑": 1, "w": -1, "白": -1, "백": -1}
_REASONS: dict[Reason, str] = {
    "resignation": "中盘 中盤 中押 불계 认输 投",
    "time": "超时 超時 時間 时间 시간",
    "illegal move": "反則",
}
# 3.5, 3½, 3 1/2, ½; and what follows it in the east, 3目半
_AMOUNT = (
    r"(?:(?P<whole>[0-9]{1,9})(?:[ -]1/2|[ -]?½)|(?P<half>1/2|½)|(?P<number>[0-9]{1,9}(?:[.,][0-9]{1,9})?))"
    r"(?:\s?(?P<unit>目|집|点)(?:\s?(?P<more>半|반))?)?"
)
_WESTERN_POINTS = re.compile(_AMOUNT + r"(?![\s-]{0,2}[0-9]{0,9}/|[\s-]?[¼½¾]|[.,]?[0-9])")
_EASTERN_POINTS = re.compile(rf"(?<![0-9.,/]){_AMOUNT}(?<=[目집点半반])|(?<![目집点])[半반]\s?(?:目|집)")
_KOMI = re.compile(rf"(?P<sign>[-+]?){_AMOUNT}\s?(?:points?)?", re.IGNORECASE)
_DRAWS = ("0", "draw", "jigo", "和棋", "持碁", "빅", "b+0", "w+0", "0-0", "tie")


def rules_of_text(text: str) -> str:
    """Our name of the rules that a file names; "" for unknown ones."""
    lower = re.sub(r"(rules?|规则|規則|ルール|規約|규칙|룰)$", "", text.strip(), flags=re.IGNORECASE).rstrip().lower()
    for name in (text.strip(), _RULES.get(text.strip(), ""), _RULES.get(lower, lower)):
        with suppress(PositionError):
            return rule_set(name).name
    return ""


def komi_of_text(text: str) -> float | None:
    """Komi in points; None when the text is no number of half points.

    A quarter says that it counts stones, which are worth two points: 3.75 is 7.5. A greater one says nothing.
    """
    try:
        match = _KOMI.fullmatch(text.strip())
        plain = text.replace(",", ".") if text.isascii() else "nan"
        komi = float(plain) if match is None else _amount(match) * (-1 if match["sign"] == "-" else 1)
        komi = _FOX.get(komi, 2 * komi if komi % 0.5 and abs(komi) < _MOST_STONES else komi)
        notation.half_points(komi)
    except (ValueError, OverflowError, PositionError):
        return None
    return komi


def result_of_text(text: str) -> tuple[int | None, Reason, float | None]:
    """(1 Black won, 0 drawn, -1 White won, None unknown; why; by how many points) of RE."""
    text = text.strip()
    lower = text.lower()
    if lower in _DRAWS:
        return 0, "", None
    if lower in ("void", "annulled", "no result", "无胜负"):
        return None, "no game", None
    western = re.fullmatch(r"(b|w)(?:lack|hite)?\s*(?:\+|wins by|by|wins|won)\s*(.*)", lower)
    if western:
        how = western[2]
        points = _WESTERN_POINTS.match(how)
        reason: Reason = "" if points else _LETTERS.get(how[:1].upper(), "")
        return _WINNERS[western[1]], reason, _amount(points) if points else None
    eastern = re.match(r"(黑|黒|흑|白|백)", text)
    if eastern:
        wins = not re.search(r"[负負패]", text)
        reason = next((each for each, words in _REASONS.items() if any(word in text for word in words.split())), "")
        points = _EASTERN_POINTS.search(text)
        return _WINNERS[eastern[1]] * (1 if wins else -1), reason, _amount(points) if points else None
    return None, "", None


def _amount(match: re.Match[str]) -> float:
    """Points in half points and more."""
    number = match["number"] or match["whole"] or "0"
    halves = bool(match["more"]) or not match["number"]
    return float(number.replace(",", ".")) + 0.5 * halves


def result_text(result: int | None, reason: Reason, margin: float | None) -> str:
    """RE of a result; "" for none."""
    if result is None:
        return "Void" if reason == "no game" else ""
    letter = LETTER_OF.get(reason, "" if margin is None else f"{margin:g}")
    return {1: f"B+{letter}", 0: "0", -1: f"W+{letter}"}[result]

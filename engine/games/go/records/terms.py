"""What people write for rules, komi and results of Go, in several languages."""

from __future__ import annotations

import math
import re
from contextlib import suppress

from ....errors import PositionError
from ....records.record import Reason
from .. import notation
from ..rulesets import rule_set

_ING = "koPOSITIONALscoreAREAtaxNONEsui1fpok1"
_RULES = {
    "nz": "new-zealand",
    "new zealand": "new-zealand",
    "newzealand": "new-zealand",
    "bga": "aga",
    "french": "aga",
    "usgo": "aga",
    "chinese, pair go": "chinese",
    "cn": "chinese",
    "chinese-kgs": "chinese",
    "中国": "chinese",
    "中國": "chinese",
    "数子": "chinese",
    "數子": "chinese",
    "중국": "chinese",
    "jp": "japanese",
    "japan": "japanese",
    "日本": "japanese",
    "日本囲碁規約": "japanese",
    "일본": "japanese",
    "korean": "japanese",
    "korea": "japanese",
    "kr": "japanese",
    "韩国": "japanese",
    "韓国": "japanese",
    "韓國": "japanese",
    "한국": "japanese",
    "goe": _ING,
    "ing": _ING,
    "ing goe": _ING,
    "ing's": _ING,
    "sst": _ING,
    "应氏": _ING,
    "應氏": _ING,
    "应氏计点制": _ING,
    "應氏計點制": _ING,
    "tromp taylor": "tromp-taylor",
    "tt": "tromp-taylor",
}
_MORE = {
    "chinese": "中国围棋 中国圍棋 中國圍棋 中国囲碁 中国式 数子法 數子法 중국식",
    "japanese": "日本围棋 日本圍棋 日本囲碁 日本式 日本棋院 数目 数目法 數目法 比目 일본식 "
    "日韩 日韓 韩国围棋 韓國圍棋 韓国囲碁 한국식",
    _ING: "应氏围棋 應氏圍棋 应昌期 應昌期 计点制 計點制 잉",
    "new-zealand": "新西兰 紐西蘭 ニュージーランド",
    "aga": "美国 美國 米国 アメリカ",
    "stone-scoring": "中国古棋 中國古棋 古棋 还棋头 還棋頭 stone_scoring ancient-area",
}
_RULES |= {word: name for name, words in _MORE.items() for word in words.split()}
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
_LETTERS: dict[str, Reason] = {"R": "resignation", "T": "time", "F": "forfeit"}
LETTER_OF: dict[Reason, str] = {reason: letter for letter, reason in _LETTERS.items()} | {"illegal move": "F"}
_WINNERS = {"b": 1, "黑": 1, "黒": 1, "흑": 1, "w": -1, "白": -1, "백": -1}
_REASONS: dict[str, Reason] = {
    "中盘": "resignation",
    "中盤": "resignation",
    "中押": "resignation",
    "불계": "resignation",
    "认输": "resignation",
    "投": "resignation",
    "超时": "time",
    "超時": "time",
    "時間": "time",
    "时间": "time",
    "시간": "time",
    "反則": "illegal move",
}
_DRAWS = ("0", "draw", "jigo", "和棋", "持碁", "빅", "b+0", "w+0", "0-0", "tie")


def rules_of_text(text: str) -> str:
    """Our name of the rules that a file names; "" for unknown ones."""
    lower = re.sub(r"\s*(rules?|规则|規則|ルール|規約|규칙|룰)$", "", text.strip(), flags=re.IGNORECASE).lower()
    for name in (text.strip(), _RULES.get(text.strip(), ""), _RULES.get(lower, lower)):
        with suppress(PositionError):
            return rule_set(name).name
    return ""


def komi_of_text(text: str) -> float | None:
    """Komi in points; None when the text is no number of half points.

    A quarter says that it counts stones, which are worth two points: 3.75 is 7.5.
    """
    try:
        komi = float(text.strip().replace(",", ".")) if text.isascii() else math.nan
        komi = _FOX.get(komi, 2 * komi if komi % 0.5 else komi)
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
        points = re.match(r"[0-9]+(?:[.,][0-9]+)?(?!/)", how)
        margin = float(points[0].replace(",", ".")) if points else None
        reason: Reason = "" if points else _LETTERS.get(how[:1].upper(), "")
        return _WINNERS[western[1]], reason, margin
    eastern = re.match(r"(黑|黒|흑|白|백)", text)
    if eastern:
        wins = not re.search(r"[负負패]", text)
        reason = next((each for word, each in _REASONS.items() if word in text), "")
        points = re.search(r"([0-9]+(?:\.[0-9]+)?)\s*(目|집|点)", text)
        return _WINNERS[eastern[1]] * (1 if wins else -1), reason, float(points[1]) if points else None
    return None, "", None


def result_text(result: int | None, reason: Reason, margin: float | None) -> str:
    """RE of a result; "" for none."""
    if result is None:
        return "Void" if reason == "no game" else ""
    letter = LETTER_OF.get(reason, "" if margin is None else f"{margin:g}")
    return {1: f"B+{letter}", 0: "0", -1: f"W+{letter}"}[result]

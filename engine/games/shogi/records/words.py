"""What KIF and CSA call pieces, handicaps, headers and ends of games."""

from __future__ import annotations

from ....records.record import Ending
from .. import notation
from ..state import BLACK, WHITE

DIAGRAM_LETTERS = "歩香桂銀角飛金玉と杏圭全馬龍"  # piece - 1, as in diagrams
NAMES = (*DIAGRAM_LETTERS[:9], "成香", "成桂", "成銀", "馬", "龍")  # piece - 1, as in moves
PIECE_OF = {
    name: piece
    for piece, name in [*enumerate(DIAGRAM_LETTERS, 1), *enumerate(NAMES, 1), (8, "王"), (14, "竜"), (1, "步")]
}
CODES = tuple("FU KY KE GI KA HI KI OU TO NY NK NG UM RY".split())  # piece - 1, CSA, JKF
SETS = (18, 4, 4, 4, 2, 2, 4)  # of each of the first seven
FILES, RANKS = "１２３４５６７８９", "一二三四五六七八九"
NUMBER_OF = {c: i for text in ("123456789", FILES, RANKS) for i, c in enumerate(text)}
PLAYERS = {"先手": BLACK, "下手": BLACK, "後手": WHITE, "上手": WHITE}
HANDICAPS = {
    "平手": notation.START,
    "香落ち": "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "右香落ち": "1nsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "角落ち": "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "飛車落ち": "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "飛香落ち": "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "二枚落ち": "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "三枚落ち": "lnsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "四枚落ち": "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "五枚落ち": "2sgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "左五枚落ち": "1nsgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "六枚落ち": "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "左七枚落ち": "2sgkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "右七枚落ち": "3gkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "八枚落ち": "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "十枚落ち": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
}
PRESETS = (
    "HIRATE KY KY_R KA HI HIKY 2 3 4 5 5_L 6 7_L 7_R 8 10".split()
)  # names of the handicaps in JKF, in the same order
KIF_HEADERS = {
    "開始日時": "Date",
    "終了日時": "EndDate",
    "棋戦": "Event",
    "場所": "Site",
    "持ち時間": "TimeControl",
    "戦型": "Opening",
    "最大手数": "MaxMoves",
    "持将棋": "Jishogi",
    "備考": "Note",
    "先手持ち時間": "BlackTimeControl",
    "後手持ち時間": "WhiteTimeControl",
}
CSA_HEADERS = {
    "EVENT": "Event",
    "SITE": "Site",
    "START_TIME": "Date",
    "END_TIME": "EndDate",
    "TIME_LIMIT": "TimeControl",
    "TIME": "TimeControl",
    "OPENING": "Opening",
    "MAX_MOVES": "MaxMoves",
    "JISHOGI": "Jishogi",
    "NOTE": "Note",
    "TIME+": "BlackTimeControl",
    "TIME-": "WhiteTimeControl",
}
KIF_ENDINGS: dict[str, Ending] = {
    "投了": ("resignation", -1),
    "詰み": ("mate", -1),
    "詰": ("mate", -1),
    "切れ負け": ("time", -1),
    "時間切れ": ("time", -1),
    "反則負け": ("illegal move", -1),
    "反則手": ("illegal move", -1),
    "反則勝ち": ("illegal move", 1),
    "千日手": ("repetition", 0),
    "入玉勝ち": ("declaration", 1),
    "勝ち宣言": ("declaration", 1),
    "宣言勝ち": ("declaration", 1),
    "入玉宣言": ("declaration", 1),
    "持将棋": ("impasse", 0),
    "引き分け": ("draw", 0),
    "最大手数": ("maximum moves", 0),
    "不戦敗": ("forfeit", -1),
    "不戦勝": ("forfeit", 1),
    "切断": ("disconnection", None),
    "無勝負": ("no game", None),
    "中断": ("interrupted", None),
    "封じ手": ("sealed move", None),
    "待った": ("takeback", None),
    "エラー": ("error", None),
    "不詰": ("no mate", None),
    "トライ": ("declaration", 1),
}
CSA_ENDINGS: dict[str, Ending] = {
    "TORYO": ("resignation", -1),
    "TSUMI": ("mate", -1),
    "TIME_UP": ("time", -1),
    "ILLEGAL_MOVE": ("illegal move", -1),
    "SENNICHITE": ("repetition", 0),
    "OUTE_SENNICHITE": ("repetition", None),
    "KACHI": ("declaration", 1),
    "JISHOGI": ("impasse", 0),
    "HIKIWAKE": ("draw", 0),
    "MAX_MOVES": ("maximum moves", 0),
    "CHUDAN": ("interrupted", None),
    "MATTA": ("takeback", None),
    "ERROR": ("error", None),
    "FUZUMI": ("no mate", None),
}


def word_of(endings: dict[str, Ending], ending: Ending) -> str:
    """The first word for an end, "" where there is none."""
    return next((word for word, each in endings.items() if each == ending), "")

"""Letters of pieces in other languages, and figurines, as English ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

ENGLISH = "KQRBN"
# King, queen, rook, bishop, knight, and what stands for a pawn where something does
LANGUAGES = {
    "German": ("K", "D", "T", "L", "S", "B"),
    "French": ("R", "D", "T", "F", "C", "P"),
    "Spanish": ("R", "D", "T", "A", "C", "P"),
    "Portuguese": ("R", "D", "T", "B", "C", "P"),
    "Dutch": ("K", "D", "T", "L", "P"),
    "Danish": ("K", "D", "T", "L", "S", "B"),
    "Czech": ("K", "D", "V", "S", "J", "P"),
    "Polish": ("K", "H", "W", "G", "S", "P"),
    "Hungarian": ("K", "V", "B", "F", "H", "G"),
    "Finnish": ("K", "D", "T", "L", "R", "S"),
    "Estonian": ("K", "L", "V", "O", "R", "E"),
    "Romanian": ("R", "D", "T", "N", "C", "P"),
    "Croatian": ("K", "D", "T", "L", "S", "P"),
    "Slovene": ("K", "D", "T", "L", "S"),
    "Icelandic": ("K", "D", "H", "B", "R", "P"),
    "Turkish": ("Ş", "V", "K", "F", "A", "P"),
    "Russian": ("Кр", "Ф", "Л", "С", "К", "П"),
    "Ukrainian": ("Кр", "Ф", "Т", "С", "К", "П"),
    "Bulgarian": ("Ц", "Д", "Т", "О", "К", "П"),
    "Serbian": ("К", "Д", "Т", "Л", "С", "П"),
    "Greek": ("Ρ", "Β", "Π", "Α", "Ι", "Σ"),
}
_FIGURINES = str.maketrans(dict(zip("♔♕♖♗♘♚♛♜♝♞", "KQRBN" * 2, strict=True)) | dict.fromkeys("♙♟\ufe0e\ufe0f", ""))
_SIGNS = str.maketrans({":": "x", "×": "x", "†": "+", "‡": "#", "–": "-", "—": "-", "‒": "-", "О": "O", "о": "O"})
_PIECE = "[^\\W\\d_a-z][^\\W\\d_a-zA-Z]?"
_LIKE_A_MOVE = re.compile(
    rf"(?P<piece>{_PIECE})?(?P<rest>[a-h]?[1-8]?[-x]?[a-h][1-8])(?:[=/(]?(?P<queen>{_PIECE}|[qrbnQRBN])\)?)?(?P<check>[+#]*)"
)
_CASTLING = re.compile(r"([O0]-[O0](?:-[O0])?)[+#]*", re.IGNORECASE)


def plain(word: str) -> str:
    """A move without figurines, signs of books and words for taking in passing."""
    return re.sub(r"e\.?p\.?$", "", word.translate(_FIGURINES).translate(_SIGNS))


def is_move(word: str) -> bool:
    """Whether a word is meant as a move."""
    return re.search("[a-h][1-8]|[O0]-[O0]", plain(word)) is not None


def letters_of(words: Iterable[str]) -> set[str]:
    """The letters of pieces in moves."""
    found: set[str] = set()
    for word in words:
        if match := _LIKE_A_MOVE.fullmatch(plain(word)):
            found |= {letter for letter in (match["piece"], match["queen"]) if letter and not letter.islower()}
    return found


def languages_of(letters: set[str]) -> list[str]:
    """The languages that have all of these letters; none where English has them."""
    if letters <= {*ENGLISH, "P"}:
        return []
    return [name for name, known in LANGUAGES.items() if letters <= {*known}]


def in_english(word: str, language: str | None) -> str:
    """A move in SAN, from a language, None for English."""
    word = plain(word)
    if castling := _CASTLING.fullmatch(word):
        return castling[1].upper().replace("0", "O")
    match = _LIKE_A_MOVE.fullmatch(word)
    if match is None:
        return word
    names = dict(zip(LANGUAGES[language], (*ENGLISH, ""), strict=False)) if language else {"P": ""}
    piece, queen = (names.get(letter, letter) if letter else "" for letter in (match["piece"], match["queen"]))
    return f"{piece}{match['rest']}{'=' + queen.upper() if queen else ''}"

"""Letters of pieces in other languages, and figurines, as English ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

ENGLISH = "KQRBN"
LANGUAGES = {
    "German": ("K", "D", "T", "L", "S"),
    "French": ("R", "D", "T", "F", "C"),
    "Spanish": ("R", "D", "T", "A", "C"),
    "Portuguese": ("R", "D", "T", "B", "C"),
    "Dutch": ("K", "D", "T", "L", "P"),
    "Czech": ("K", "D", "V", "S", "J"),
    "Polish": ("K", "H", "W", "G", "S"),
    "Hungarian": ("K", "V", "B", "F", "H"),
    "Finnish": ("K", "D", "T", "L", "R"),
    "Estonian": ("K", "L", "V", "O", "R"),
    "Romanian": ("R", "D", "T", "N", "C"),
    "Icelandic": ("K", "D", "H", "B", "R"),
    "Turkish": ("Ş", "V", "K", "F", "A"),
    "Russian": ("Кр", "Ф", "Л", "С", "К"),
    "Ukrainian": ("Кр", "Ф", "Т", "С", "К"),
    "Bulgarian": ("Ц", "Д", "Т", "О", "К"),
    "Serbian": ("К", "Д", "Т", "Л", "С"),
    "Greek": ("Ρ", "Β", "Π", "Α", "Ι"),
}  # letters of king, queen, rook, bishop and knight
_FIGURINES = str.maketrans(dict(zip("♔♕♖♗♘♚♛♜♝♞", "KQRBN" * 2, strict=True)) | dict.fromkeys("♙♟\ufe0e\ufe0f", ""))
_SIGNS = str.maketrans({":": "x", "×": "x", "†": "+", "‡": "#", "–": "-", "—": "-", "‒": "-", "О": "O", "о": "O"})
_PIECE = "[^\\W\\d_a-z][^\\W\\d_a-zA-Z]?"
_LIKE_A_MOVE = re.compile(
    rf"(?P<piece>{_PIECE})?(?P<rest>[a-h]?[1-8]?[-x]?[a-h][1-8])(?:=?[/(]?(?P<queen>{_PIECE}|[qrbnQRBN])\)?)?(?P<check>[+#]*)"
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
    results: set[str] = set()
    for word in words:
        if match := _LIKE_A_MOVE.fullmatch(plain(word)):
            results |= {letter for letter in (match["piece"], match["queen"]) if letter and not letter.islower()}
    return results


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
    names = dict(zip(LANGUAGES[language], ENGLISH, strict=True)) if language else {"P": ""}
    piece, queen = (names.get(letter, letter) if letter else "" for letter in (match["piece"], match["queen"]))
    return f"{piece}{match['rest']}{'=' + queen.upper() if queen else ''}"

"""Languages besides English: a file XX.json each, with the page's words and the sentences of page and terminal.

The English text is the key, with what varies in braces. "shogi Black" is Black in shogi.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from ...engine.errors import OptionError

ENGLISH = "en"  # the language of the sources
FOLDER = Path(__file__).parent
_FIELD = re.compile(r"\\\{(\w+)\\\}")


def languages() -> list[str]:
    """The codes of the languages besides English."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def words_of(language: str, part: str) -> dict[str, str]:
    """A part, "page" or "sentences", of a language's words by the English ones; none for English.

    Errors: OptionError for a language that is not there.
    """
    if language == ENGLISH:
        return {}
    if language not in languages():
        raise OptionError(f"there is no language {language[:20]!r}, only {', '.join([ENGLISH, *languages()])}")
    results: dict[str, str] = json.loads((FOLDER / f"{language}.json").read_text("utf-8"))[part]
    return results


@cache
def _templates(language: str) -> list[tuple[re.Pattern[str], str]]:
    """The patterns of a language's sentences, those that say most before those that say less."""
    results = []
    sentences = words_of(language, "sentences").items()
    for english, translation in sorted(sentences, key=lambda pair: -len(re.sub(r"\{\w+\}", "", pair[0]))):
        pattern = _FIELD.sub(lambda field: f"(?P<{field[1]}>.+?)", re.escape(english))
        results.append((re.compile(pattern, re.DOTALL), translation))
    return results


def translated(text: str, language: str, game: str = "") -> str:
    """A sentence in a language, with what it quotes; as it is where the language does not have it."""
    if language == ENGLISH:
        return text
    page = words_of(language, "page")
    if (word := page.get(f"{game} {text}", page.get(text))) is not None:
        return word
    for pattern, translation in _templates(language):
        if (match := pattern.fullmatch(text)) is not None:
            return translation.format(
                **{name: translated(value, language, game) for name, value in match.groupdict().items()}
            )
    return text

"""Text for searching: what becomes a word, how a query is read, and one line of a text that may hold anything."""

from __future__ import annotations

import functools
import unicodedata
from typing import NamedTuple

from ..models.text import late
from ..text.stem import stem

MAX_TERMS = 64
"""Of one query; what comes after is ignored."""

# Scripts written without spaces, and Hangul, whose words grow endings: runs of them are indexed by pairs of characters.
_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = late(f"[{_CJK}]+")
WORD = late(r"\w+")
_INNER = late(r"_|[a-z](?=[A-Z])|[A-Za-z](?=\d)|\d(?=[A-Za-z])")
"""Where a word of several has its parts: `main_loop`, `getUserName`, `utf8`."""
_PARTS = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_GROUPED = late(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
"""A number written in groups, which is looked for without its commas too."""
_STOP = """
a about all also am an and any are as at be been being but by can could did do does doing for from had has have he her
hers him his how i if in into is it its just many me much my no nor not of off on or our out over own she should so some
such than that the their them then there these they this those through to too under until up us very was we were what
when where which while who whom whose why will with would you your yours s t d ll m re ve don doesn didn isn wasn let
please tell show give find
"""
STOP = frozenset(_STOP.split())
"""English words that ask without saying what for: left out of a query that has others. Words of other languages weigh
by how rare they are."""
_PIECE = late(r'"([^"]*)"|([^\s"]+)')
_POSSESSIVE = late(r"(?<=\w)['’]s\b")
"""`Ann's` asks for `Ann`."""

_ANSI = late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_INVISIBLE = late("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+")
_BLANK = late("[\\s\x00-\x1f\x7f-\x9f]+")
_CONTROLS = dict.fromkeys((*range(32), 127), " ")
_FOREIGN = late("([^\x00-\x7f]+)")
_SURROGATE = late("[\ud800-\udfff]")


class Term(NamedTuple):
    """One thing to look for."""

    words: tuple[str, ...]
    """Words that follow one another; for CJK its pairs of characters, or one character that begins a pair."""
    cjk: bool
    quoted: bool = False
    """The user said that these words follow one another."""

    @property
    def several(self) -> bool:
        """More than one word."""
        return len(self.words) > 1


def parse(query: str) -> tuple[Term, ...]:
    """Terms of a user's text. Nothing in it is syntax but quotes, which make a phrase; an odd quote is a space."""
    terms: dict[Term, None] = {}
    for phrase, plain in _PIECE.findall(_plain(query)):
        text = phrase or _POSSESSIVE.sub("", plain)
        if not text.isascii():
            for run in _CJK_RUN.findall(text):
                terms[Term(tuple(_pairs(run)) or (run,), True)] = None
            text = _CJK_RUN.sub(" ", text)
        if words := tuple(WORD.findall(text)):
            terms[Term(words, False, bool(phrase) and len(words) > 1)] = None
    return tuple(terms)[:MAX_TERMS]


def cjk(text: str) -> str:
    """The text's CJK runs as pairs of characters, each run's last character by itself; empty where there is none.

    `ABC` gives `AB BC C`: a run is found as a phrase of pairs, a single character as the beginning of one.
    """
    if text.isascii():
        return ""
    return " ".join(" ".join([*_pairs(run), run[-1]]) for run in _CJK_RUN.findall(_plain(text)))


def one_line(text: str) -> str:
    """Text that is safe to show on one line of a terminal or in a list."""
    plain = _ANSI.sub("", text) if "\x1b" in text else text
    if plain.isascii():
        return " ".join(plain.translate(_CONTROLS).split())
    return _SURROGATE.sub("\ufffd", _BLANK.sub(" ", _INVISIBLE.sub("", plain))).strip()


def words(text: str) -> str:
    """The text as the index sees its words: CJK left out, compatibility forms unified."""
    return text if text.isascii() else _CJK_RUN.sub(" ", _plain(text))


def spaced(text: str) -> str:
    """The text with blanks for its CJK runs, every other character in its place."""
    return text if text.isascii() else _CJK_RUN.sub(lambda run: " " * len(run.group()), text)


def parts(text: str) -> str:
    """The words inside the words: `main loop` of `main_loop`, `get User Name` of `getUserName`, `1234` of `1,234`."""
    # Looked at word by word, each once: over a whole text the pattern would go back and forth in every plain word.
    # A plain word or number, which most are, is seen to have none much sooner.
    found = [
        word
        for word in dict.fromkeys(WORD.findall(text))
        if not (word.isdigit() or (word.isalpha() and (word.islower() or word[1:].islower()))) and _INNER.search(word)
    ]
    numbers = dict.fromkeys(number.replace(",", "") for number in _GROUPED.findall(text))
    return " ".join([*(part for word in found for part in _PARTS.findall(word)), *numbers])


@functools.lru_cache(maxsize=1 << 14)
def keys(word: str) -> frozenset[str]:
    """What a word of a text is found by: itself and its parts, folded and without English endings."""
    inner = _PARTS.findall(word) if _INNER.search(word) else ()
    return frozenset(stem(fold(part)) for part in (word, *inner))


def fold(text: str) -> str:
    """Lower case without accents, one character for one, so that places stay what they are."""
    if text.isascii():
        return text.lower()
    # Most of a text is ASCII, which needs no look at each character.
    return "".join([part.lower() if part.isascii() else "".join(map(_folded, part)) for part in _FOREIGN.split(text)])


@functools.lru_cache(maxsize=1 << 12)
def _folded(sign: str) -> str:
    bare = "".join(one for one in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(one)).lower()
    return bare if len(bare) == 1 else sign


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _plain(text: str) -> str:
    """One form for what looks the same; half a surrogate pair becomes a mark, and NUL a space."""
    if text.isascii():
        return text.replace("\0", " ")
    return unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text)).replace("\0", " ")

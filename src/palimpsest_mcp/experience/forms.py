"""The normal form of a pattern: two wordings with one form are one rule. No model, and linear in the text.

Numbers, quotes, case, white space, punctuation, filler words, spelling and plural do not count. Polarity does: "use X"
and "do not use X" have different forms, but each knows the other as its opposite.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from ..models.pattern import late
from ..models.text import plain_line

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_QUOTES = str.maketrans({**dict.fromkeys("“”„«»「」『』", '"'), **dict.fromkeys("‘’‚´", "'")})
_QUOTED = late(r"\"[^\"]*\s[^\"]*\"|(?<!\w)'[^']*\s[^']*'(?!\w)")
"""Several words in quotes are an example, which stands for any other; one word is a term."""
_SHORTENED = late(r"\b(?:can't|cannot)\b|\bwon't\b|n't\b")
_FULL = {"can't": "can not", "cannot": "can not", "won't": "will not"}
_NEGATED_CJK = late(r"不要|不用|不能|不可|不应该?|不该|不得|请勿|切勿|禁止|避免|勿|(?<![^\W])别(?!的)")
_TOKEN = late(
    rf"(?<!\S)-[a-z]\w*|(?P<number>\d[\d.,:/-]*)|[{CJK}]+|(?:(?![{CJK}])[^\W\d_])(?:(?![{CJK}])\w)*(?:\+\+|#)?|%"
)
_LIST = late(rf"\s\+\s|(?<=[{CJK}])\+(?=[{CJK}])")
_STANDING_NUMBER = late(r"(?<![\w-])\d[\d.,:]*")

_FILLERS = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "it", "you", "we", "i", "your", "our"),
        *("is", "are", "was", "were", "be", "been", "being", "should", "must", "do", "does", "did"),
        *("please", "just", "simply", "always", "usually", "generally", "often", "really", "very", "also"),
    )
)
_NEGATIONS = frozenset(("not", "never", "avoid", "avoids", "avoiding"))
NUMBERS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"))
_UNITS = {"sec": "s", "second": "s", "minut": "min", "hour": "h", "hr": "h", "byte": "b", "percent": "%", "x": "tim"}
"""Stem of a unit behind a number -> its short form."""
_ORDERLESS = frozenset(("in", "on", "at", "from", "of", "for"))
_OPPOSITES = {
    "exclud": "includ", "disabl": "enabl", "without": "with", "decreas": "increas", "disallow": "allow",
    "deny": "allow", "forbid": "allow", "fewer": "more", "less": "more", "after": "before", "last": "first",
    "descend": "ascend", "short": "long", "stop": "go", "remov": "add", "reject": "accept",
}  # fmt: skip
"""Stem -> the stem whose opposite it is."""
_PREFIXES = ("un", "in", "dis", "non", "ir", "im")


class Form(NamedTuple):
    """What is left of a wording."""

    key: str
    """Equal for two wordings of one rule; empty for a text without a word."""
    opposite: str
    """The `stance` of a rule that says the contrary."""
    stance: str
    """Like `key`, with antonyms and prepositions out of the way."""


def form_of(text: str) -> Form:
    """The normal form of a pattern, a failure, a query or a correction."""
    said = written_out(_QUOTED.sub(" quotedwords ", folded(text)))
    said, negated = _NEGATED_CJK.subn(" ", said)
    parts = _LIST.split(said)
    tokens = [_tokens(part) for part in parts]
    negative = bool((negated + sum(word == "not" for part in tokens for word in part)) % 2)
    kept = [[word for word in part if word != "not"] for part in tokens]
    if not any(kept):
        return Form("", "", "")
    body = "+".join(sorted("".join(part) for part in kept))
    stance, flips = _stance([word for part in sorted(kept) for word in part])
    sign, other = ("-+" if negative else "+-") if flips % 2 == 0 else ("+-" if negative else "-+")
    return Form(("-" if negative else "+") + body, other + stance, sign + stance)


def content_of(text: str) -> list[str]:
    """What a text says, word by word: stems, with numbers and quoted words as they are written."""
    return [
        match[0] if match["number"] else stem_of(match[0])
        for match in _TOKEN.finditer(written_out(folded(text)))
        if match[0] not in _FILLERS
    ]


def quick_form(text: str) -> str:
    """A cheap form: where it is equal the normal form is too, so that one computation serves all of them."""
    return _STANDING_NUMBER.sub("0", text)


def key_hash(kind: str, key: str) -> str:
    """What the side file keeps of a normal form: it cannot be read back."""
    return hashlib.sha256(f"{kind}:{key}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def folded(text: str) -> str:
    """One case, one kind of quotes, one form of each sign."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)


def written_out(text: str) -> str:
    """The text with its shortened negations in full."""
    return _SHORTENED.sub(lambda match: _FULL.get(match[0], " not"), text)


def _tokens(text: str) -> list[str]:
    """Stems in order; a negation is `not`, a number `N`."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        word = "N" if match["number"] else match[0]
        if word in _NEGATIONS:
            found.append("not")
            if word != "not" and word != "never":
                found.append("us")  # "avoid X" is "do not use X"
        elif word in NUMBERS:
            found.append("N")
        elif word not in _FILLERS:
            stem = stem_of(word)
            if found[-1:] == ["N"]:
                stem = _UNITS.get(stem, stem)
            if not (stem == "us" and found[-1:] == ["us"]):
                found.append(stem)
    return found


@lru_cache(maxsize=10_000)
def stem_of(word: str) -> str:
    """Plural, tense and British spelling off; crude, and the same for every form of a word."""
    if word in ("use", "uses", "using", "used"):
        return "us"
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is", "news")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
    word = word.removesuffix("e")
    if word.endswith("is") and len(word) > 6:
        word = word[:-2] + "iz"
    return word[:-3] + "or" if word.endswith("our") and len(word) > 4 else word


def _stance(words: list[str]) -> tuple[str, int]:
    """Words with each antonym in the place of its partner, and how many were turned."""
    out: list[str] = []
    flips = 0
    for word in words:
        turned = _OPPOSITES.get(word) or _without_prefix(word)
        flips += turned is not None
        if word not in _ORDERLESS:
            out.append(turned or word)
    return " ".join(out), flips


def _without_prefix(word: str) -> str | None:
    """`unreliabl` -> `reliabl`: only of long words, so that `index` and `into` stay."""
    prefix = next((start for start in _PREFIXES if word.startswith(start)), "")
    rest = word[len(prefix) :]
    return rest if prefix and len(rest) >= 5 else None


# Text from a log as it may stand in a digest: one line that is no heading, no footer, no pin, and calls nothing.


MAX_CHARS = 300
_START = late(r"^(?:\[pin(?:ned)?\]|[#>]+|[-*+](?=\s|$)|\s)+", re.IGNORECASE)
_FOOTER = late(r"(?:—|--)\s*(?=seen\s*=)", re.IGNORECASE)
_TAG = late(r"<(?=[a-zA-Z/!?])")
_ORDERS = late(
    r"(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}(?:instructions?|rules?|prompts?|guidelines?|directives?)"
    r"|system\s+prompt|(?:curl|wget)\b[^|]*\|\s*(?:ba|z)?sh\b|rm\s+-rf\b|\bexfiltrat"
    r"|you\s+are\s+now\s+(?:a|an|in)\b|(?:send|post|upload|forward|e-?mail)\s+(?:\w+\s+){0,6}(?:to\s+)https?://"
    r"|忽略(?:之前|以上|所有|先前)?的?(?:所有)?(?:指令|规则|提示)",
    re.IGNORECASE,
)


def safe_line(text: str) -> str:
    """One plain line of at most 300 characters; empty where nothing is left."""
    line = _FOOTER.sub("- ", plain_line(text))
    line = _TAG.sub("‹", line.replace("![", "! [").replace("```", "'''"))
    return plain_line(_START.sub("", line), MAX_CHARS)


def in_backticks(text: str) -> str:
    """A template as the digest shows it."""
    return "`" + text.replace("`", "'") + "`"


def reads_like_orders(text: str) -> bool:
    """Whether a pattern is worded as an instruction to an agent or a command that does harm; never promoted by code."""
    return _ORDERS.search(text) is not None

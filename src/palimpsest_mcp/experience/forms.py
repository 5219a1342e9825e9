"""Wordings of patterns: which are the same rule, which are near, and how far two are from one another. No model, and
linear in the text; figures: docs/experience.md.

Two wordings with one normal form are one rule: numbers, quotes, case, white space, punctuation, filler words, spelling
and plural do not count. Polarity does: "use X" and "do not use X" have different forms, but each knows the other as its
opposite.

For what is only near, a wording is a set of meaningful stems, each with its role: wanted, not wanted (`not X`, `instead
of X`), before, after. Two are near where one holds nearly all of the other. A word that each has and the other lacks
(`sort by date`, `sort by price`) makes two rules of them, however much else they share.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..models.text import late, plain_line

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


NEAR = 0.7
"""Least share of all stems of two wordings that both have, where one of them holds the other."""
LEAST_SHARED = 2
"""Stems that two wordings must share; of one word nearly everything may be said."""
_MOST_BENT = 2
"""Words of two wordings that may be one word, written or bent in another way."""
_NEAR_CJK = 0.7
"""The same for scripts without spaces, in characters."""
_MOST_CANDIDATES = 64
"""Patterns that a wording is compared with: those that share its rarest stems."""

_WORD_LIKE = late(rf"(?<!\S)--?[a-z][\w-]*|(?:(?![{CJK}])[^\W\d_])(?:(?![{CJK}])\w)*(?:\+\+|#)?")
_SILENT = frozenset(
    """
    a an the this that these those it its they them their you your we our i my me he she one ones some any is are was
    were be been being am do does did done have has had can could would will may might shall should must need needs
    needed want wants try tries make makes made making sure let lets please just simply always usually generally often
    really very also too then so thus and or but as by for from in into of on onto at to with using via through within
    per there here where when while whenever if once each every both which who what how than such use uses used prefer
    prefers preferred choose take takes taken apply applies applied employ utilize utilise pick put puts give gives get
    gets go goes come comes work works necessary required
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Words that tell no rule from another."""
_TWO_WORDS = late(r"\b(?:instead of|rather than|in place of)\b|\bleave[sn]? out\b|\bleaving out\b")
_PREFERRED_OVER = late(r"\bprefer(s|red)?\b(?P<what>[^,.;]*?)\bover\b")
_FROM_TO = late(r"\bfrom\b([^,.;]{1,40}?)\bto\b")
_NEGATORS = late(r"not|never|no|nor|without|except|(?:avoid|skip|omit|ignor|exclud|disabl)(?:e|s|es|p?ing)?")
_NOT = "¬"
_ROLES = {"before": "<", "after": ">", "until": "<", "unless": "?", "fromhere": "from ", "tohere": "to "}
_SAME = {
    "option": "flag", "switch": "flag", "argu": "flag", "folder": "directory", "dir": "directory", "env": "environ",
    "config": "configur", "repo": "repository", "db": "databas", "docs": "docu", "doc": "docu",
    "lockfil": "lock", "remov": "strip", "delet": "strip", "drop": "strip", "verify": "check",
    "valid": "check", "rais": "increas", "enlarg": "increas", "reduc": "decreas",
    "lower": "decreas", "locat": "find", "execut": "run", "fetch": "download",
    "written": "writ", "wrot": "writ", "built": "build", "sent": "send", "found": "find", "ran": "run", "kept": "keep",
    "broken": "break", "brok": "break", "chosen": "choos", "chos": "choos", "held": "hold", "shown": "show",
    "began": "begin", "begun": "begin", "bought": "buy", "taught": "teach", "spent": "spend",
}  # fmt: skip
"""Stem -> the one that stands for it."""


class Wording(NamedTuple):
    """What two wordings are compared by."""

    sign: str
    """`-` where it forbids."""
    stems: frozenset[str]
    """With their roles; empty for scripts without spaces."""
    signs: str
    """Of scripts without spaces: the text without white space and punctuation; else empty."""


@lru_cache(maxsize=20_000)
def wording_of(text: str) -> Wording:
    """The stems of a text."""
    said = written_out(folded(text))
    form = form_of(text)
    cjk = re.findall(f"[{CJK}]", said)
    if len(cjk) >= 4:
        return Wording(form.key[:1], frozenset(), re.sub(r"[\W_]+", "", said))
    said = _PREFERRED_OVER.sub(r"\g<what> not ", said)
    found: dict[str, None] = {}
    role = ""
    for match in _WORD_LIKE.finditer(_TWO_WORDS.sub(" not ", _FROM_TO.sub(r" fromhere \1 tohere ", said))):
        word = match[0]
        if _NEGATORS.fullmatch(word):
            role = _NOT
        elif word in _ROLES:
            role = _ROLES[word]
        elif word not in _SILENT and word not in NUMBERS:
            found[role + _stem(word)] = None
            role = ""
    if role == _NOT and found:  # a negation that stands last means all of it
        first = next(iter(found))
        return Wording(form.key[:1], frozenset((*found, _NOT + first)) - {first}, "")
    return Wording(form.key[:1], frozenset(found), "")


def is_near(one: Wording, other: Wording) -> bool:
    """Whether two wordings say the same."""
    if one.signs or other.signs:
        return bool(one.signs and other.signs) and one.sign == other.sign and _holds(one.signs, other.signs)
    if one.sign != other.sign and not (_both_sides(one) and one.stems == other.stems):
        return False
    shared = one.stems & other.stems
    left, right = one.stems - shared, other.stems - shared
    if left and right and (min(len(left), len(right)) > _MOST_BENT or len(shared) < LEAST_SHARED):
        return False  # no word of both sides can be one
    alike = {(a, b) for a in left for b in right if _one_word(a, b)}
    left, right = left - {a for a, _ in alike}, right - {b for _, b in alike}
    both = len(shared) + len(alike)
    if left and right or both < LEAST_SHARED:
        return False
    return both >= NEAR * (both + len(left) + len(right))


def _both_sides(one: Wording) -> bool:
    """Whether it names what is wanted and what is not: then a negation says no more than `instead of`."""
    return len({stem.startswith(_NOT) for stem in one.stems}) == 2


def _one_word(one: str, other: str) -> bool:
    """Whether two stems are one word, written or bent in another way: a letter more or two in turn, never another."""
    short, long = sorted((one, other), key=len)
    if len(short) < 6 or short[0] != long[0] or len(long) - len(short) > 1:
        return False
    if len(short) < len(long):
        at = next((i for i, sign in enumerate(short) if sign != long[i]), len(short))
        return short[at:] == long[at + 1 :]
    differ = [i for i, sign in enumerate(short) if sign != long[i]]
    return (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and short[differ[0]] == long[differ[1]]
        and (short[differ[1]] == long[differ[0]])
    )


def _holds(one: str, other: str) -> bool:
    """Whether the longer text is the shorter one with signs put in."""
    short, long = sorted((one, other), key=len)
    rest = iter(long)
    return len(short) >= _NEAR_CJK * len(long) and all(sign in rest for sign in short)


def _stem(word: str) -> str:
    stem = stem_of(word)
    if stem.isascii() and stem.isalpha() and len(stem) >= 6:
        stem = re.sub(r"(?:ation|e?ment|at|ion)$", "", stem)
        stem = re.sub(r"([bdglmnprt])\1$", r"\1", stem)
    return _SAME.get(stem, stem)


def near_groups(patterns: Iterable[tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Patterns that are one: each name under the first one that it is near to, never by way of a third.

    Args:
        patterns: name and wordings of each, the most telling first.
    """
    leaders: list[tuple[str, list[Wording]]] = []
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    groups: dict[str, list[str]] = {}
    for name, texts in patterns:
        wordings = list(dict.fromkeys(map(wording_of, texts)))
        keys = {key for one in wordings for key in _keys(one)}
        found = next((at for at in _candidates(keys, by_key) if _any_near(wordings, leaders[at][1])), None)
        if found is not None:
            groups[leaders[found][0]].append(name)
            continue
        for key in keys:
            by_key[key].append(len(leaders))
        leaders.append((name, wordings))
        groups[name] = [name]
    return groups


def _any_near(some: Sequence[Wording], others: Sequence[Wording]) -> bool:
    return any(is_near(one, other) for one in some for other in others)


def _candidates(keys: Iterable[str], by_key: Mapping[str, list[int]]) -> list[int]:
    """Leaders that share something, in their order: a bounded number, of what is rarest first."""
    found: dict[int, None] = {}
    for key in sorted(keys, key=lambda key: (len(by_key.get(key, ())), key)):
        found.update(dict.fromkeys(by_key.get(key, ())[:_MOST_CANDIDATES]))
        if len(found) >= _MOST_CANDIDATES:
            break
    return sorted(found)


def _keys(one: Wording) -> Iterable[str]:
    return one.stems or {one.signs[at : at + 2] for at in range(len(one.signs) - 1)}

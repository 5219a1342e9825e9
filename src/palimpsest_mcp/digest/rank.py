"""What showing something is worth: by what agents were seen to need later, by what it is, by what is asked for now.

Three worths of one unit, so that filling can weigh them against each other: of a specific (`value`), of a bare name
(`names`), of a record (`gain`). How often agents typed a specific again is counted from sessions (`prior.toml`, made by
`make prior`); the rest is the table of constants below.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, cast

from ..models.items import Specific
from ..text.stem import stem
from .records import Kind, Record

# The constants. The unit: 1 is a specific that every reader of the digest will type again.

KIND: Final[Mapping[Kind, float]] = {
    "outcome": 4,
    "error": 2.5,
    "claim": 2.5,
    "definition": 1.0,
    "field": 0.8,
    "change": 0.8,
    "row": 0.6,
    "heading": 0.5,
    "hit": 0.5,
    "frame": 0.4,
    "line": 0.8,
    "entry": 0.3,
    "noise": 0.02,
}
"""What a record tells beside its specifics: how it went, then what went wrong and what was concluded (design §4)."""
WHOLE: Final = 48
"""Characters of a record from which it tells as much as its kind does: a shorter one tells less."""
SENTENCE: Final = 160
"""Characters of a sentence up to which it tells more the longer it is (by the root of its length): else the scraps of a
page, which are short, would go before what it says."""
COMMON: Final = 0.3
"""How fast a record falls with each further one of its shape: rare before common."""
EXAMPLE: Final = 0.25
"""Share of its worth that a field has in a text for people, and a value that only such fields have: an example's, which
nobody types. How the example is built is said beside it."""
FOCUS: Final = 0.25
"""More for a record by each word of the focus in it: somebody asked for it."""
FOCUS_MOST: Final = 3
"""Words of the focus that count in one record: a line that repeats the whole request is not the answer to it."""
RARE: Final = 2.0
"""Times that more for a word that stands in one line of its text, half of it in two: who asks for what a search found
means the line that has it, not the word that all of them have."""
NAMED: Final = 4.0
"""Times that for a name which was typed as it stands: it means this one thing."""
FEW_ASKED: Final = 6
"""Words of the focus in a text up to which each counts so: of thirty that stand there none is what was asked for."""
WANTED: Final = 20.0
"""More for a record with words whose every line is to be kept: before anything else."""
ASKED: Final = 2.0
"""Times the worth of a specific that the focus names itself."""
USER: Final = 0.1
"""Worth of a specific of a user's own class, for each 1 of its weight: at 3, which is usual, that of a name."""
UNKNOWN: Final = 0.1
"""Worth of a class that neither the prior nor the user knows."""
VALUE: Final = 0.6
"""Added to the worth of every specific: what was typed later says which are needed first, but a reader cannot guess
any of them."""
SMALL: Final = 4
"""Characters of a number up to which nothing is added: counters and positions."""
FADE: Final = 0.1
"""How fast the specifics of a record fall with each further one of its shape."""
FIRST: Final = 2.0
"""Times more that the first record of a result tells, the second half of that: what a result was is said by a few."""
NAME: Final = 1.0
"""Worth of a bare name on the line of names, without a line that says what it does."""
NAME_AGAIN: Final = 0.05
"""More by each further time that it stands in its text: of all that was tried only this held on other sessions."""
NAME_MOST: Final = 4
"""Times that count: what stands everywhere is no longer worth more."""
MEMBER: Final = 0.4
"""Times that for what belongs to something else (`messages.length`, `Math.min`) or is a size (`mt-2`): needed later as
often with it as with 1, and lines of code have the room."""
CALLED: Final = 1.0
"""Worth of what an entry of a long listing is called, without the rest of its line."""
NAMES_HALF: Final = 200
"""Names of a result after which one more is worth half."""
SHORTEST: Final = 4
"""Characters of a name: shorter ones are typed from memory."""
LONGEST: Final = 160
"""Characters of a name: longer ones are minified code and keys."""

_COMMON: Final = """
    about above after again also always another anything back because been before being below both call called
    change changes check code could data does doing done down each else even every everything file files find first
    following from give given going good have help here implement into issue just keep know like line lines list
    look made make many more most much must need needed needs next none nothing only other output over please
    problem project read repository result results right same section should show some something still such sure
    take task test tests than that their them then there these they thing things this those through time under until
    update upon used user using very want well were what when where whether which while will with within without
    work would write your
"""
COMMON_WORDS: Final = frozenset(_COMMON.split())
"""Words of so many requests that a line with one of them answers none."""

FORMS: Final[Mapping[str, str]] = {
    "config": "json",
    "delimited": "table",
    "fixed": "table",
    "ruled": "table",
    "page": "html",
    "tests": "test",
    "build": "log",
    "trace": "log",
    "notebook": "code",
}
"""Name of a reader -> the kind of content that the prior was counted on, where that has another name."""

_NO_NAMES: Final = frozenset(
    {"date", "email", "error", "hash", "integer", "money", "number", "quantity", "score", "uuid", "version"}
)
_COUNTS: Final = frozenset({"integer", "number"})
_TOKEN: Final = re.compile(
    r"(?<![\w\\%#$./@-])(?:@|~/|\.{0,2}/|\.(?=[A-Za-z]))?[A-Za-z_$][\w$]*(?:(?:::|[./@-])[\w$]+)*(?![\w$])"
)
_CALLED: Final = re.compile(r"[\w.@/~-]*[^\W\d_][\w.@/~-]*")
"""What an entry is called, where one word says it."""
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_TYPED: Final = re.compile(r"https?://[^\s\"'<>)\]]+|[/@~.$]{0,3}\w[\w./@-]*")
_DIGIT: Final = re.compile(r"\d")
_MARK: Final = re.compile(r"[/._-]")
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_HEX: Final = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*")
_LONG_ENOUGH_FOR_HEX: Final = 7
_SENTENCES: Final = frozenset({"page", "prose"})
_PROSE: Final = frozenset({"page", "prose", "web_results"})
_PROSE_WORD: Final = re.compile(
    r"[A-Za-z-]+(?:/[A-Za-z-]+){1,2}|[a-z]+\.?\d{1,3}|[a-z]+-\d{1,3}[a-z]*|\d{1,3}[a-z]+(?:-[a-z]+)*"
    r"|.*\.(?:gif|png|jpe?g|svg|webp|ico)"
)
"""What in prose only looks like a name: `and/or`, `HTML/CSS/JS`, `note12`, `mid-20s`, the pictures of a page."""
_TARGET: Final = re.compile(r"https?://\S+")
_MEMBER: Final = re.compile(r"[A-Za-z_]\w*(?:\.[a-z_]\w*)+[!?]?|[a-z]+(?:-[a-z]+)*-\d+(?:\.\d+)?")
_FILE: Final = re.compile(
    r"\.(?:py|tsx?|jsx?|exs?|go|rs|java|md|json|toml|ya?ml|sh|css|html?|sql|heex|txt|lock|csv|xml|svg|png|jpe?g|c|h|rb)$"
)
_VERSION: Final = re.compile(r"[vV]\d[\d.]*(?:-\w+)?")


_NOTHING: Final = frozenset[str]()


class Need:
    """What is worth showing of one item."""

    def __init__(
        self,
        form: str,
        focus: Sequence[str] = (),
        classes: Mapping[str, float] | None = None,
        in_view: Collection[str] = (),
        wanted: Sequence[str] = (),
    ) -> None:
        """Take what is known before the first record.

        Args:
            form: name of the reader.
            focus: words, or whole sentences, of what is asked for now.
            classes: of the user's own classes the weight, by name.
            in_view: names that the reader sees anyway: what was said, parts printed before. Best a set.
            wanted: words whose every line is to be kept.
        """
        self._form = form
        self._rates = _rates(FORMS.get(form, form))
        self._user = {name: USER * weight for name, weight in (classes or {}).items()}
        self._names, self._focus, self._stems = _read(tuple(focus))
        self._exact = self._names.union(focus)
        self._found: dict[str, frozenset[str]] = {}
        """Line -> what `_asked_in` found in it."""
        self._lines: dict[str, int] = {}
        """Word or name of the focus -> lines of the text that have it."""
        self.asked: tuple[tuple[str, ...], ...] = (form,), tuple(focus), tuple(wanted)
        """What `told` depends on."""
        self._in_view = in_view
        self._wanted = wanted

    def value(self, cls: str, text: str) -> float:
        """Gain of showing one specific."""
        rate = self._rates.get(cls) or self._user.get(cls, UNKNOWN)
        if len(text) > SMALL or cls not in _COUNTS:
            rate += VALUE
        return rate * ASKED if text in self._exact else rate

    def names(
        self, lines: Sequence[str], specs: Iterable[Specific] = (), called: Mapping[str, float] | None = None
    ) -> list[tuple[str, float]]:
        """Names worth listing bare, each a whole token of the lines, and their gain: best first, else in source order.

        Args:
            lines: of the plain view.
            specs: of these lines; what one of them calls a hash, a date, a number is no name.
            called: what entries are called, with their worth among their like; words may be among them.
        """
        return self.best_of(names_in(lines, self._form), specs, called)

    def best_of(
        self, names: Mapping[str, int], specs: Iterable[Specific] = (), called: Mapping[str, float] | None = None
    ) -> list[tuple[str, float]]:
        """`names` of lines whose names are known (`names_in`)."""
        refused = {one.text for one in specs if one.cls in _NO_NAMES}
        classes = {one.text: one.cls for one in specs}
        asked = self._names.intersection(called or ())  # that a file is there says more than its name
        usual = _rates("")["name"]
        found = [
            (
                name,
                (NAME + NAME_AGAIN * min(NAME_MOST, count - 1))
                * self._rates.get(classes.get(name, "name"), usual)
                / usual,
            )
            for name, count in names.items()
            if name not in refused and (name not in self._in_view or name in asked)
        ]
        found = [(name, gain * (ASKED if name in asked else MEMBER if _is_member(name) else 1)) for name, gain in found]
        listed = {name for name, _ in found}
        found += [
            (name, CALLED * worth)
            for name, worth in (called or {}).items()
            if name not in listed | refused and name not in self._in_view
        ]
        found.sort(key=lambda one: -one[1])
        return [(name, gain / (1 + place / NAMES_HALF)) for place, (name, gain) in enumerate(found)]

    def told(self, record: Record, size: int = WHOLE) -> tuple[float, float]:
        """What a record tells beside its specifics: by what it is, and by how much of the focus is in it.

        Args:
            record: with its kind, and its worth among its like.
            size: characters that are printed of it.
        """
        length = 1.0 if record.kind == "definition" else min(1.0, size / WHOLE)
        if size > WHOLE and self._form in _SENTENCES and record.kind in ("line", "claim"):
            length = math.sqrt(min(size, SENTENCE) / WHOLE)
        own = KIND[record.kind] * record.worth * length
        if record.kind == "field" and self._form == "prose":
            own *= EXAMPLE
        if record.kind == "heading" and not record.worth and not self._wanted:
            return 0.0, 0.0  # it says nothing without what it leads to
        asked = sorted((self._weight(word) for word in self._asked_in(record.text)), reverse=True)
        wanted = any(holds(record.text, words) for words in self._wanted)
        return own, FOCUS * sum(asked[:FOCUS_MOST]) + WANTED * wanted

    def look_at(self, lines: Iterable[str]) -> None:
        """Take in how many lines of the text have each word of the focus."""
        self._lines = {}
        for line in lines:
            for word in self._asked_in(line):
                self._lines[word] = self._lines.get(word, 0) + 1

    def _weight(self, word: str) -> float:
        """Of one line with a word of the focus. Words of a page are many, and which of them stands in one sentence only
        is chance."""
        if self._form in _SENTENCES and word not in self._names:
            return 1
        more = min(1.0, FEW_ASKED / max(1, len(self._lines))) / self._lines.get(word, 1)
        return 1 + RARE * more * (NAMED if word in self._names else 1)

    def _asked_in(self, text: str) -> frozenset[str]:
        """Words and names of the focus in a line; of a sentence words in any of their forms: who asks for the
        `proposal` means that he `proposed`."""
        found = self._found.get(text)
        if found is None:
            found = self._found[text] = self._look_in(text)
        return found

    def _look_in(self, text: str) -> frozenset[str]:
        found = _NOTHING
        if self._form in _SENTENCES:
            if self._focus:
                found = self._stems.intersection(map(stem, words_of(text)))
        elif self._focus and not self._focus.isdisjoint(words := _WORD.findall(text.lower())):
            found = self._focus.intersection(words)
        if any(map(text.__contains__, self._names)):  # cheaper than to take every line apart
            found = found.union(self._names.intersection(typed_in(text)))
        return found

    def asks_for(self, name: str) -> bool:
        """Whether the focus has a word of what a column or a field is called, in any of its forms."""
        return any(stem(word) in self._stems for word in words_of(name))


@lru_cache(maxsize=1 << 8)
def _read(focus: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names, words and their stems in what is asked for: the same of most results of a pass."""
    names = frozenset(name for one in focus for name in names_typed(one))
    words = frozenset(word for one in focus if one not in names for word in words_of(one))
    return names, words, frozenset(map(stem, words))


def names_in(lines: Iterable[str], form: str) -> dict[str, int]:
    """Names in lines of a form that could be listed bare, and how often each stands there."""
    prose = form in _PROSE
    times: dict[str, int] = {}
    for line in lines:
        if "://" in line:
            line = _TARGET.sub(" ", line)  # a piece of an address names nothing
        for token in _TOKEN.findall(line):
            times[token] = times.get(token, 0) + 1
    return {
        name: count
        for name, count in times.items()
        if SHORTEST <= len(name) <= LONGEST and is_name(name) and not (prose and _PROSE_WORD.fullmatch(name))
    }


def called(records: Iterable[Record]) -> dict[str, float]:
    """What entries of a long listing are called, with their worth among their like; not those under a folder of their
    own, without which the name says less."""
    entries = (one for one in records if one.kind == "entry" and one.under < 0)
    long = ((one.text.split(" -> ")[0].rsplit(None, 1)[-1], one.worth) for one in entries)
    return {name: worth for name, worth in long if _CALLED.fullmatch(name)}


def holds(text: str, words: str) -> bool:
    """Whether a line has all of these words, in any order and case; `deadlock` stands in `Deadlocks`, too."""
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def tokens_of(text: str) -> list[str]:
    """Tokens of a text that could be names."""
    return _TOKEN.findall(text)


def typed_in(text: str) -> dict[str, None]:
    """What could name something in a text, each once, in order: words with the marks of paths, files and addresses."""
    return dict.fromkeys([word.rstrip("./@-") for word in _TYPED.findall(text)])


def names_typed(text: str) -> list[str]:
    """What in a text names one thing as it stands, each once: what `is_name` takes, and what holds a digit."""
    return [one for one in typed_in(text) if SHORTEST <= len(one) <= LONGEST and (_DIGIT.search(one) or is_name(one))]


def words_of(text: str) -> list[str]:
    """Words with a meaning of their own, in lower case, each once: short ones and what every request says are none."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in COMMON_WORDS]


def is_name(token: str) -> bool:
    """Whether it names itself: a path, a file, a qualified, snake_case or camelCase name, a handle, an id with letters;
    no plain word, number, date, hash, version."""
    if _VERSION.fullmatch(token) or (len(token) >= _LONG_ENOUGH_FOR_HEX and _HEX.fullmatch(token)):
        return False
    if token[0] in "/." and not _MARK.search(token, 1):
        return False  # a closing tag, a method behind a call
    if "/" in token or "." in token or "::" in token or token[0] == "@":
        return True
    digits = _DIGIT.search(token) is not None
    if "-" in token:
        return digits or "_" in token or _HUMP.search(token) is not None
    return digits or "_" in token.strip("_") or _HUMP.search(token) is not None


def _is_member(name: str) -> bool:
    return _MEMBER.fullmatch(name) is not None and not _FILE.search(name)


@cache
def _prior() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__ or "").joinpath("prior.toml").read_text("utf-8"))


@cache
def _rates(form: str) -> Mapping[str, float]:
    """Class -> gain in one kind of content; what was hardly seen there has the gain of its class."""
    prior = _prior()
    cells = {**prior["class"], **prior["form"].get(form, {})}
    return {name: float(cast("Mapping[str, Any]", cell)["gain"]) for name, cell in cells.items()}

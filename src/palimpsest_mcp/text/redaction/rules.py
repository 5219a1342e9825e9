"""Rule files in the TOML form of gitleaks, read strictly: a rule that cannot work is an error, never a gap.

Runs rules over a text: each rule only where one of its keywords stands, in time that grows as the text does.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

import msgspec

from ...errors import InvalidSettings
from ...ports.small_file import MOST_BYTES, read_small
from .literals import looks_random, stands_in, without_words
from .patterns import (
    WITHHELD,
    BadPattern,
    Find,
    Pattern,
    PatternMatch,
    compiled,
    compiled_now,
    fits_everything,
    kind_of,
    literal,
)
from .scan import Ranges

_RULE_KEYS = frozenset(
    {"id", "description", "regex", "keywords", "entropy", "secretGroup", "allowlist", "allowlists", "path", "tags"}
    | {"reach", "random", "prefix", "beside"}  # ours
)
_ALLOW_KEYS = frozenset({"description", "condition", "regexes", "regexTarget", "stopwords", "paths", "commits"})
_FILE_KEYS = frozenset(
    {"title", "description", "minVersion", "reach", "beside", "extend", "rules", "allowlist", "allowlists"}
)


class Exemption(msgspec.Struct, frozen=True, kw_only=True):
    """What a file lets through (`allowlists`)."""

    target: Literal["secret", "match", "line"] = "secret"
    pattern: Pattern | None = None
    words: tuple[bytes, ...] = ()
    every: bool = False
    """A pattern and a word must both fit; else one of them is enough."""

    def lets_through(self, secret: bytes, match: bytes, line: bytes) -> bool:
        text = secret if self.target == "secret" else match if self.target == "match" else line
        by_pattern = self.pattern is not None and self.pattern.search(text) is not None
        if by_pattern and not (self.every and self.words):
            return True
        lowered = secret.lower()
        by_word = any(word in lowered for word in self.words)
        return by_word and (by_pattern or not self.every or self.pattern is None)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern and when it counts."""

    id: str
    kind: str
    source: str
    """The pattern as written."""
    pattern: Pattern
    keywords: tuple[str, ...]
    """Lower case; a match must have one of them near. Empty: the pattern is tried on every text."""
    entropy: float
    """Bits a character that the secret must exceed (Shannon, over its own characters)."""
    group: int
    """The group that holds the secret; 0: the first that took part in the match, else the whole match."""
    exemptions: tuple[Exemption, ...]
    random: bool
    """The secret must look drawn by a machine."""
    prefix: bool
    """A match begins with one of the keywords, in front of which stands no letter or digit."""
    beside: int | None
    """A stand-in (`example`, `xxxx`) is let through with at most so many characters beside it; None: none is."""
    reach: int
    """Bytes on both sides of a keyword's beginning in which a match lies; 0: anywhere in the text."""


class RuleFile(msgspec.Struct, frozen=True, kw_only=True):
    """A rule file, compiled."""

    name: str
    rules: tuple[Rule, ...]
    disabled: frozenset[str]
    """Ids of rules of earlier files that this one turns off."""
    unusable: tuple[str, ...] = ()
    """Ids of rules that look at file names only: there are none here."""


@cache
def default_rules() -> RuleFile:
    """The rules that come with the program."""
    text = resources.files(__package__ or "").joinpath("default_rules.toml").read_text("utf-8")
    return _Reader("default_rules.toml", ours=True).read(text)


def read_rules(text: str, name: str) -> RuleFile:
    """Rules as text.

    Args:
        name: of their file, for errors.

    Raises:
        InvalidSettings: as `load_rules` does.
    """
    return _Reader(name).read(text)


def load_rules(path: Path) -> RuleFile:
    """A user's rule file.

    Raises:
        InvalidSettings: the file cannot be read, or a rule cannot work; it names file, rule and what to do.
    """
    reader = _Reader(str(path))
    try:
        return reader.read(read_small(path, beside=path.parent).decode("utf-8"))
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            reader.refuse("it is not UTF-8", "Save the file as UTF-8.")
        reason = (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
        raise InvalidSettings(
            f"The rule file {path} cannot be read: {reason}.",
            next=f"Name a regular file of at most {MOST_BYTES:,} bytes in redaction_rule_files, or take it out.",
        ) from None


def combine(files: Sequence[RuleFile]) -> tuple[Rule, ...]:
    """The rules of all files: a later file replaces rules of the same id and turns off those it names."""
    rules: dict[str, Rule] = {}
    for file in files:
        for rule_id in file.disabled:
            rules.pop(rule_id, None)
        rules.update((rule.id, rule) for rule in file.rules)
    return tuple(rules.values())


class _Reader:
    """Reads one file; knows its name for errors.

    Args:
        ours: it comes with the program; that its patterns can be used is seen by tests, not every time anew.
    """

    def __init__(self, name: str, *, ours: bool = False) -> None:
        self.name = name
        self._ours = ours

    def refuse(self, what: str, todo: str, rule_id: str = "") -> NoReturn:
        where = f"Rule {rule_id!r} in {self.name}" if rule_id else f"The rule file {self.name}"
        raise InvalidSettings(f"{where}: {what}.", next=todo)

    def read(self, text: str) -> RuleFile:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self.refuse(f"it is not TOML: {error}", "Correct the file at that line.")
        except RecursionError:
            self.refuse("it is nested too deeply", "Write its tables and lists flat.")
        self._known(data, _FILE_KEYS, "")
        extend = self._table(data.get("extend", {}), "extend", "")
        if extend.keys() - {"useDefault", "disabledRules"}:
            self.refuse(
                "`extend` takes useDefault and disabledRules only", "List further files in redaction_rule_files."
            )
        shared = self._exemptions(data, "")
        reach = self._number(data, "reach", "")
        beside = int(self._number(data, "beside", "")) if "beside" in data else None
        rules: list[Rule] = []
        unusable: list[str] = []
        for raw in self._tables(data.get("rules", []), "rules", ""):
            rule_id = raw.get("id")
            if not isinstance(rule_id, str) or not rule_id:
                self.refuse(f"rule number {len(rules) + len(unusable) + 1} has no id", "Give every rule an id.")
            if "regex" not in raw and "path" in raw:
                unusable.append(rule_id)
            else:
                rules.append(self._rule(rule_id, raw, shared, int(reach), beside))
        twice = [rule_id for rule_id, n in Counter(rule.id for rule in rules).items() if n > 1]
        if twice:
            self.refuse("another rule has the same id", "Give each rule its own id.", twice[0])
        disabled = frozenset(self._strings(extend, "disabledRules", ""))
        return RuleFile(name=self.name, rules=tuple(rules), disabled=disabled, unusable=tuple(unusable))

    def _rule(
        self, rule_id: str, raw: dict[str, Any], shared: tuple[Exemption, ...], reach: int, beside: int | None
    ) -> Rule:
        self._known(raw, _RULE_KEYS, rule_id)
        source = raw.get("regex")
        if not isinstance(source, str) or not source:
            self.refuse("it has no regex", "Add one, or take the rule out.", rule_id)
        pattern = self._pattern(source, "regex", rule_id)
        group = int(self._number(raw, "secretGroup", rule_id))
        if not self._ours:
            self._check(pattern, group, rule_id)
        return Rule(
            id=rule_id,
            kind=kind_of(rule_id),
            source=source,
            pattern=pattern,
            keywords=tuple(word.lower() for word in self._strings(raw, "keywords", rule_id) if word),
            entropy=self._number(raw, "entropy", rule_id),
            group=group,
            exemptions=(*self._exemptions(raw, rule_id), *shared),
            random=raw.get("random") is True,
            prefix=raw.get("prefix") is True,
            beside=int(self._number(raw, "beside", rule_id)) if "beside" in raw else beside,
            reach=int(self._number(raw, "reach", rule_id)) if "reach" in raw else reach,
        )

    def _check(self, pattern: Pattern, group: int, rule_id: str) -> None:
        if pattern.search(b""):
            self.refuse("its regex matches the empty text", "Make it ask for at least one character.", rule_id)
        if fits_everything(pattern, whole=True):
            self.refuse("its regex matches every text", "Name what the secret begins with or is made of.", rule_id)
        if group > pattern.groups:
            self.refuse(f"secretGroup is {group}, the regex has {pattern.groups}", "Name an existing group.", rule_id)

    def _exemptions(self, raw: dict[str, Any], rule_id: str) -> tuple[Exemption, ...]:
        lists = self._tables(raw.get("allowlists", []), "allowlists", rule_id)
        if "allowlist" in raw:
            lists = [self._table(raw["allowlist"], "allowlist", rule_id), *lists]
        return tuple(self._exemption(one, rule_id) for one in lists if not _needs_a_file(one))

    def _exemption(self, raw: dict[str, Any], rule_id: str) -> Exemption:
        self._known(raw, _ALLOW_KEYS, rule_id)
        target = raw.get("regexTarget", "secret")
        if target not in ("secret", "match", "line"):
            self.refuse("regexTarget must be secret, match or line", "Correct regexTarget.", rule_id)
        words = self._strings(raw, "stopwords", rule_id)
        if "" in words:
            self.refuse("an empty stopword of its allowlist lets everything through", "Take it out.", rule_id)
        return Exemption(
            target=target,
            pattern=self._any_of(self._strings(raw, "regexes", rule_id), rule_id),
            words=tuple(word.lower().encode() for word in words),
            every=_every(raw),
        )

    def _any_of(self, sources: list[str], rule_id: str) -> Pattern | None:
        for source in () if self._ours else sources:
            if fits_everything(self._pattern(source, "allowlist", rule_id), whole=False):
                self.refuse(
                    "a regex of its allowlist lets everything through",
                    "Anchor it with ^ and $ and name what may stay, or take it out.",
                    rule_id,
                )
        return compiled("|".join(f"(?:{source})" for source in sources)) if sources else None

    def _pattern(self, source: str, where: str, rule_id: str) -> Pattern:
        try:
            return compiled(source) if self._ours else compiled_now(source)
        except BadPattern as error:
            self.refuse(f"its {where} is not a pattern that RE2 takes ({error})", _RE2_HELP, rule_id)

    def _known(self, raw: dict[str, Any], known: frozenset[str], rule_id: str) -> None:
        unknown = sorted(raw.keys() - known)
        if unknown:
            self.refuse(f"unknown key {unknown[0]!r}", f"Use {', '.join(sorted(known))}.", rule_id)

    def _table(self, value: Any, name: str, rule_id: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.refuse(f"{name} must be a table", f"Write it as [{name}].", rule_id)
        return cast("dict[str, Any]", value)

    def _tables(self, value: Any, name: str, rule_id: str) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            self.refuse(f"{name} must be an array of tables", f"Write each one as [[{name}]].", rule_id)
        return [self._table(one, name, rule_id) for one in cast("list[Any]", value)]

    def _strings(self, raw: dict[str, Any], key: str, rule_id: str) -> list[str]:
        value = raw.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
            self.refuse(f"{key} must be an array of strings", f"Correct {key}.", rule_id)
        return cast("list[str]", value)

    def _number(self, raw: dict[str, Any], key: str, rule_id: str) -> float:
        value = raw.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
            self.refuse(f"{key} must be a number from 0 to {_MOST:,}", f"Correct {key}.", rule_id)
        return value


_MOST = 1_000_000_000
"""Of any number in a rule file; infinity and NaN are TOML too."""
_RE2_HELP = "Rewrite it without look-around and back references: github.com/google/re2/wiki/Syntax."


def _every(raw: dict[str, Any]) -> bool:
    return str(raw.get("condition", "OR")).upper() in ("AND", "&&")


def _needs_a_file(raw: dict[str, Any]) -> bool:
    """Whether an allowlist speaks of paths or commits only, or demands them: texts here have neither."""
    files = bool(raw.get("paths") or raw.get("commits"))
    return files and (_every(raw) or not (raw.get("regexes") or raw.get("stopwords")))


_ROOM = 1 << 16  # how far a match may go on behind the window in which it began
_JUDGED = 512  # bytes of a candidate that are looked at; what it takes to tell a key is in its beginning
_FAR = 4096  # and so many where a mark in the middle or at the end of a key makes it known
_TRIED = 4  # what trying a rule costs besides, in bytes
_WORK = 32 << 20  # bytes that may be judged in one text, and as many again as the text has


class RuleSet:
    """Rules with a common prefilter. The order of the rules is their rank.

    Args:
        work: bytes that may be judged in a text beyond its own length. When they are spent, the rest of the text is
            one find of the kind `withheld`: nothing is shown unchecked.
    """

    def __init__(self, rules: Sequence[Rule], *, work: int = _WORK) -> None:
        ranked = list(enumerate(rules))
        self._work = work
        self._prefixes = _Keywords([(n, rule) for n, rule in ranked if rule.keywords and rule.prefix], r"(?:\b|_)")
        self._others = _Keywords([(n, rule) for n, rule in ranked if rule.keywords and not rule.prefix])
        self._always = [(n, rule) for n, rule in ranked if not rule.keywords]

    @property
    def gates(self) -> tuple[str, ...]:
        """The keywords at the beginning of a match, those anywhere in it, then each rule without keywords."""
        keywords = (f"(?i){self._prefixes.pattern}", f"(?i){self._others.pattern}")
        return (*keywords, *(rule.source for _, rule in self._always))

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secrets that begin in these ranges, or anywhere by rules that look at whole texts."""
        if gate == 0:
            yield from self._begun(text, ranges)
        elif gate == 1:
            for rank, rule, windows in self._windows(text, ranges):
                for start, end in windows:
                    yield from _matches(rule, text, start, end, rank)
        else:
            rank, rule = self._always[gate - 2]
            for start, end in ranges:
                yield from _matches(rule, text, start, end, rank)

    def _begun(self, text: bytes, ranges: Ranges) -> Iterator[Find]:
        spent, found = 0, 0
        for place, rules in self._prefixes.hits(text, ranges):
            if place + _JUDGED < found:  # inside what is found already
                continue
            if spent > self._work + place:
                yield Find(place, len(text), WITHHELD, len(self._always))
                return
            for rank, rule in rules:
                find, cost = _begun_at(rule, text, place, rank)
                spent += _TRIED + cost
                if find:
                    found = max(found, find.end)
                    yield find

    def _windows(self, text: bytes, ranges: Ranges) -> Iterator[tuple[int, Rule, list[list[int]]]]:
        """Each rule with a keyword in the ranges, and where to try it: windows in order, disjoint."""
        out: dict[int, tuple[Rule, list[list[int]]]] = {}
        for place, rules in self._others.hits(text, ranges):
            for rank, rule in rules:
                reach = rule.reach or len(text)
                left, right = max(0, place - reach), min(len(text), place + reach)
                windows = out.setdefault(rank, (rule, []))[1]
                if windows and left <= windows[-1][1]:
                    windows[-1][1] = max(windows[-1][1], right)
                else:
                    windows.append([left, right])
        for rank, (rule, windows) in out.items():
            yield rank, rule, windows


class _Keywords:
    """The keywords of some rules, and a pattern that finds them all."""

    def __init__(self, ranked: Sequence[tuple[int, Rule]], before: str = "") -> None:
        owners: dict[str, list[tuple[int, Rule]]] = {}
        for n, rule in ranked:
            for word in rule.keywords:
                owners.setdefault(word, []).append((n, rule))
        beginnings = {word[:end] for word in owners for end in range(1, len(word) + 1)}
        words = "|".join(map(literal, sorted(owners))) or r"[^\x00-\x{10FFFF}]"
        self.pattern = f"{before}(?:{words})"
        self._gate = compiled(self.pattern, any_case=True, longest=True)
        self._rules = {word.encode(): _all_in(word, owners) for word in owners}
        self._steps = {word.encode(): _step(word, beginnings) for word in owners}

    def hits(self, text: bytes, ranges: Ranges) -> Iterator[tuple[int, tuple[tuple[int, Rule], ...]]]:
        """Where a keyword stands, and the rules to try there."""
        for place, end in ranges:
            while hit := self._gate.search(text, place, end):
                word = hit.group().lower().lstrip(b"_")
                place = hit.end() - len(word)
                yield place, self._rules.get(word, ())
                place += self._steps.get(word, 1)
                place -= text[place - 1 : place] == b"_"  # which the next one may stand behind


def _all_in(word: str, owners: dict[str, list[tuple[int, Rule]]]) -> tuple[tuple[int, Rule], ...]:
    """The rules of every keyword that stands in this one: where it was found, they were."""
    parts = {word[start:end] for start in range(len(word)) for end in range(start + 1, len(word) + 1)}
    return tuple({n: (n, rule) for part in sorted(parts & owners.keys()) for n, rule in owners[part]}.values())


def _step(word: str, beginnings: set[str]) -> int:
    """How far behind a keyword's beginning the next may begin: where two overlap, inside it."""
    starts = (i for i in range(1, len(word)) if word[i:] in beginnings)
    return len(word[: next(starts, len(word))].encode())


def _begun_at(rule: Rule, text: bytes, place: int, rank: int) -> tuple[Find | None, int]:
    """What the rule finds at this place, and how many bytes it took to judge. Only what is found is read to its end.

    Behind an underscore (`backup_ghp_…`) it is looked for as if the text began there.
    """
    if text[place - 1 : place] == b"_":
        find, cost = _begun_at(rule, text[place : place + _FAR], 0, rank)
        if find and find.end == _FAR:
            find, cost = _begun_at(rule, text[place : place + _ROOM], 0, rank)
        return find and find._replace(start=find.start + place, end=find.end + place), cost
    limit = place + _JUDGED
    match = rule.pattern.match(text, place, limit)
    if match is None:
        if limit >= len(text) or not _TOKEN.match(text, place, limit):
            return None, 0
        limit = place + _FAR
        match = rule.pattern.match(text, place, limit)
        if match is None:
            return None, _FAR
    cost = match.end() - place
    find = _find(rule, text, match, rank)
    if find and match.end() == limit < len(text) and (whole := rule.pattern.match(text, place)):
        left, right = _secret(rule, whole)
        find, cost = find._replace(start=left, end=right), cost + whole.end() - place
    return find, cost


_TOKEN = compiled(f"[!-~]{{{_JUDGED}}}")


def _matches(rule: Rule, text: bytes, start: int, end: int, rank: int) -> Iterator[Find]:
    place = start
    while place < end and (match := rule.pattern.search(text, place, end)):
        if match.end() == end < len(text):  # cut by the window, not by the text: look again with room
            match = rule.pattern.search(text, match.start(), min(len(text), end + _ROOM)) or match
        if find := _find(rule, text, match, rank):
            yield find
        place = max(match.end(), place + 1)


def _find(rule: Rule, text: bytes, match: PatternMatch, rank: int) -> Find | None:
    left, right = _secret(rule, match)
    secret = text[left : min(right, left + _JUDGED)]
    if not secret or (rule.entropy and entropy(secret) <= rule.entropy):
        return None
    judged = secret.decode("utf-8", "replace")
    if rule.random and not looks_random(judged) and not looks_random(without_words(judged)):
        return None
    if rule.beside is not None and stands_in(_behind_prefix(rule, judged), rule.beside):
        return None
    return (
        None if rule.exemptions and _is_let_through(rule, text, match, secret) else Find(left, right, rule.kind, rank)
    )


def _behind_prefix(rule: Rule, secret: str) -> str:
    lowered = secret.lower()
    return secret[max((len(word) for word in rule.keywords if lowered.startswith(word)), default=0) :]


def _secret(rule: Rule, match: PatternMatch) -> tuple[int, int]:
    if rule.group:
        return match.span(rule.group)
    spans = (match.span(group) for group in range(1, rule.pattern.groups + 1))
    return next((span for span in spans if span[0] >= 0), match.span())


def _is_let_through(rule: Rule, text: bytes, match: PatternMatch, secret: bytes) -> bool:
    whole = match.group()
    line = _line(text, *match.span()) if any(exemption.target == "line" for exemption in rule.exemptions) else b""
    return any(exemption.lets_through(secret, whole, line) for exemption in rule.exemptions)


def _line(text: bytes, start: int, end: int) -> bytes:
    """The match's line, up to 500 bytes on both sides."""
    line_start = max(text.rfind(b"\n", max(0, start - 500), start) + 1, start - 500, 0)
    line_end = text.find(b"\n", end, end + 500)
    return text[line_start : line_end if line_end >= 0 else end + 500]


@lru_cache(maxsize=1024)
def entropy(text: bytes) -> float:
    """Shannon's entropy of the bytes, in bits a byte."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in map(text.count, set(text))) if total else 0.0

"""Marks what says how it went, what went wrong, and what does not hold, in the records of any form.

Words are data (`text/languages`); here stands where they count. A cue inside code, a row or a listing is no clause,
and a sentence that a log repeats is one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from ..text.languages import word_lists
from .records import Reading, Record

CLAIM_WORTH: Final = {"decision": 4.0, "firm": 3.0, "plain": 2.0}
_MOST_OUTCOMES = 3
_SPEECH = 1_200
_LOOK_CHARS = 400
"""Of a longer line only its beginning is looked at: what came of a call is said in short lines."""
_RULE = "=-_*~─━! "
"""Around a heading or a total."""
_OFTEN = 5
"""A line whose shape occurs more often belongs to a log or a table: it is not how the whole went."""
_REPEATED, _ONE_OF_MANY = 40, 9
"""What its score loses then; and the first or last of many errors, beside which one of another kind tells more."""
_WHOLE = 120
"""Characters from which an outcome may be cut; one that denies or excepts is a claim then, and those stay whole."""
_ENDS = 4
"""Verdicts stand among the first or last lines of what a program prints."""
_CLAIM_SHARE = 0.25
"""Where more of the records than this have a plain negation, it tells none of them from its neighbours."""
_LEAST_FOR_SHARE = 12
_SAMPLED = 400
"""Lines that are looked at, evenly over a text, to tell whether it is code."""
_CODE_SHARE = 0.45
"""Share of them: files with long comments have 0.5, reports that quote code 0.1 to 0.4."""
_REMARK = 0.25
"""Of a claim's worth, what one in a comment of code has: less than a definition."""
_AGAIN = 0.1
"""Of its worth, what a line has that stands there a second time."""
_LABEL = 3
"""So many words are a heading or a label, no clause."""
_SHORT, _LONG = 16, 40
"""Words of a line that says one thing, and of one that may still be a message and no prose."""

_TOKEN = re.compile(r"\w+(?:['’-]\w+)*")
_DIGITS = re.compile(r"\d+")
_LATIN_LIKE = re.compile(r"[\w'’-]+(?: [\w'’-]+)*")
# Scripts in which words are not parted by gaps, or whose vowel signs are no letters to `\w`.
_GAPLESS = re.compile("[\u0900-\u0dff\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class _Seen(NamedTuple):
    """A line as it is looked at."""

    low: str
    tokens: list[str]
    known: set[str]
    joined: str
    """All tokens with a blank around each; empty where no phrase begins with one of them."""
    gapless: bool


class _Words(NamedTuple):
    """Words of all languages that mean one thing."""

    alone: frozenset[str]
    firsts: frozenset[str]
    """First words of the phrases."""
    phrases: dict[str, tuple[str, ...]]
    """By their first word: each phrase with a blank before and behind it."""
    inside: re.Pattern[str]

    def found(self, seen: _Seen) -> bool:
        if not self.alone.isdisjoint(seen.known) or (seen.gapless and self.inside.search(seen.low)):
            return True
        if not seen.joined or self.firsts.isdisjoint(seen.known):
            return False
        begun = self.firsts & seen.known
        return any(phrase in seen.joined for first in begun for phrase in self.phrases[first])


def _words(lists: Iterable[list[str]]) -> _Words:
    alone: set[str] = set()
    phrases: dict[str, tuple[str, ...]] = {}
    inside: list[str] = []
    for word in (word for words in lists for word in words):
        if _GAPLESS.search(word) or not _LATIN_LIKE.fullmatch(word):
            inside.append(re.escape(word))
        elif " " in word:
            first = word.partition(" ")[0]
            phrases[first] = (*phrases.get(first, ()), f" {word} ")
        else:
            alone.add(word)
    return _Words(frozenset(alone), frozenset(phrases), phrases, re.compile("|".join(inside)))


_DATA: dict[str, dict[str, list[str]]] = word_lists("claims")
_PROGRAMS = {name: frozenset(words) for name, words in _DATA.pop("programs").items()}
_CLAIMS = [(worth, _words(words[name] for words in _DATA.values())) for name, worth in CLAIM_WORTH.items()]
_FAILURE = _words(words["failure"] for words in _DATA.values())
_SUCCESS = _words(words["success"] for words in _DATA.values())

_DECISION = _CLAIMS[0][1]
_FIRSTS = _FAILURE.firsts | _SUCCESS.firsts | {first for _, words in _CLAIMS for first in words.firsts}

# What is code, and what is written in it for people.


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts))


_LINE_NUMBER = re.compile(r"\d{1,7}[→\t]")
_CODE_SIGN = re.compile(r"[(){}=;<>\[\]\"]")
_NUMBERED = re.compile(r"(?:[\w./-]{0,200}[:-])?\d{1,7}(?:→|\t|[:|-])[ \t]?|[\w./-]{1,200}\(\d{1,7},\d{1,5}\): ")
_COMMENT = re.compile(r"(?:^|[ \t])(?:#+!?|///?|/\*+|\*+/?|--+|;;+|%+|<!--|\"\"\"|''')[ \t]+(?=[^\W\d])")
_CODE = _any(
    r"[;{}\[(]$|[\"')\]}],$|^[})\]<>&|.@$]|^\{:|^(?://|/\*|<!--)|==|!=|=>|&&|\|\||\)\s*[:;{]",
    r"\w\((?!s\))\w*\)[.;,)]|^[\w.]+\(.*\)$|</?\w+[ >]|/>$|\bself\.",
    r"^[\w.\[\]\"' :]{1,80}[-+*:]?=\s|^\"[^\"]*\": |^\w+: \S+,$",
    r"^(?:if|elif|else|while|for|try|except|with|case|match|def|class)\b.*:$",
    r"^(?:return|import|from \S+ import|const|let|var|func|fn|public|private|throw|raise|assert|export|use|#include)\b",
    r"^(?:if|unless|while|when|not|and|or|end|do|switch|catch)\b *[({!&|]|\b(?:do|then)$",
)
PARTIAL = re.compile(
    r"(?i)[\[(<.… ]{1,6}(?:[\d,]+ (?:more )?lines? (?:more|in file|not shown|omitted|truncated|above|below)"
    r"|truncated|(?:output|results?|file|content) (?:was |were |is |are )?truncated|showing (?:first|lines|results))"
)
"""A tool's own word that it does not show everything: who does not see it takes a part for the whole."""
_MORE_BELOW = re.compile(r"(?i)[\[(<.… ]{1,6}[\d,]+ (?:more )?lines? (?:more|in file|not shown|below)")
"""The same of a pager at its end: who asked for thirty lines knows it."""
_LABELLED = 120
"""Characters of a line that are looked at for it."""
_PWD = re.compile(r"\S+ pwd\b")
_FOLDER = re.compile(r"/\S{0,200}")
_QUOTED_CODE = re.compile(r"`[^`]{0,200}`")
_RAISES = _any(
    r"\b(?:throw|raise|panic!?|fail)[ (]",
    r"\b(?:log\w*|console)\.(?:error|warn\w*|exception|fatal)\(|\b[sS]how_?[eE]rror\(",
)
"""Code that tells of a failure: more is asked for such lines than for their neighbours, but nothing failed."""
_KEEP_KIND = frozenset({"heading", "row", "field", "definition", "change"})
"""How these are printed depends on their kind: they are only worth more."""
_SPEAKS = frozenset({"line", "error", "claim", "heading"})
"""Kinds of which one may be the last word: a field of data says how it went only where its name says so."""
_ONCE = frozenset({"line", "error", "claim", "heading", "frame"})
"""The same words again say nothing new."""
_LISTED = frozenset({"row", "entry", "noise"})
_NO_CLAIM = frozenset({"row", "entry", "frame", "noise", "outcome", "error"})
_CODE_KIND = frozenset({"definition", "change", "hit"})

# What programs print when they have finished. Each is tried only on a line that has a cue, and on no long one.

_COUNTED = (
    "passed|passing|failed|failing|failures?|errors?|warnings?|problems?|skipped|vulnerabilities|issues?|mismatch(?:es)?"
    "|exceptions|pending|ignored|errored|suggestions?|findings?|violations?|offen[cs]es?"
)
_TOTAL = _any(
    rf"(?<![\w.:*\[-])\d{{1,9}} (?:[a-z]{{1,16}} ){{0,2}}(?:{_COUNTED})\b|^(?:#|ℹ) (?:pass|fail)\w* \d|^ran \d+ ",
    r"\b(?:tests?(?: run)?|passed|failed|failures|errors|skipped|problems|suites|total)\b ?[:=] ?\d",
    r"\btest result:|\ball (?:[\w-]+ ){0,2}checks passed|\bfiles? changed\b|\b(?:tests|specs) (?:failed|passed)\b",
    r"\bbuild (?:successful|success|succeeded|failed|failure)|\bcould not compile",
    r"\bno (?:\w+ )?(?:issues|problems) found",
    r"^plan: \d+ to |^(?:apply|destroy) complete\b",
    r"\bcompil(?:ed|ation) (?:successfully|failed|succeeded|error|terminated|complete)",
    r"^(?:ok|fail(?:ed)?|pass(?:ed)?)(?:$|:$| \()|^(?:ok|fail)\s+\S+\s+(?:\d[\d.]*m?s|\(cached\))",
    r"^\w+: (?:ok|fail) (?:\(|code )|^found \d{1,9} (?:warning|error|issue|problem)s?\b",
)
_CHECKED = re.compile(r"checked \d{1,9} (?:source )?files?\b")
"""What a linter says of each part that it looked at: it says how it went where nothing says it better."""
_CASE = _any(
    r"^(?:x?pass(?:ed)?|x?fail(?:ed)?|skip(?:ped)?|ok|error)[: ].{0,300}?(?:::|\(\w+\.\w)|^file \"",
    r"\.\.\. ?(?:ok|fail(?:ed)?|error|skipped)\b|::\S.{0,300} (?:passed|failed|skipped|ok)(?: |$)",
)
"""One test of many, a frame of a traceback."""
_EXIT = _any(
    r"\b(?:exit(?:ed|s)?(?: with)?(?: (?:code|status|value))?|return(?:ed)?(?: with)? (?:code|status)"
    r"|returncode|exit[_ -]?code|exit[_ -]?status|errorlevel)\b[\"':= >]{0,16}(-?\d{1,5})\b",
)
_TICKED = re.compile(r"[✅❌]\ufe0f? ?\S")
"""What a script that does several things says after each."""
_LINTED = re.compile(r"[^\s:]{1,300}\.\w{1,12}:\d{1,7}:\d{1,5} [a-z][\w-]{0,40}/[\w/-]{1,80}(?:\s|$)")
"""Where a linter's rule is broken, and which."""
_RAISED = re.compile(
    r"^(?:E +|\*\* \(|Caused by: |Uncaught |Unhandled |Exception in thread \S+ )?(?:[A-Za-z_$][\w$]*(?:\.|::|/))*"
    r"[A-Z]\w*(?:Error|Exception|Interrupt|Fault|Warning)\b(?=[:) ]|$)"
)
_NAMED = re.compile(r"[A-Z]\w{0,60}(?:Error|Exception)\b")
_FATAL = _any(
    r"^(?:fatal|panic|critical|abort(?:ed)?|thread '.{0,80}' panicked|segmentation fault|killed|out of memory)\b",
    r"^(?:\W|\w{1,12}[ :])?\W?(?:error|errno|exception|failed|failure)\b(?! (?:handling|codes?|messages?)\b)",
    r"^npm err|\berror ts\d|\berror\[\w+\]|[:)\]] (?:fatal |syntax )?error\b ?[:(]|^e: ",
    r"\[errno|^ran into\b|^goroutine \d",
)
_SAID = _any(
    r": (?:[^:]{0,80} )?(?:command not found|no such file|not found|permission denied|access denied)\b",
    r": (?:[^:]{0,80} )?(?:operation not|cannot)\b",
    r": (?:[^:]{0,80} )?(?:is a directory|not a directory|unrecognized|unknown|invalid|illegal|syntax error|refused)\b",
    r": (?:[^:]{0,80} )?(?:can't|timed out|not permitted|no space)\b",
    r"\be(?:timedout|conn\w{5,7}|noent|acces|perm|addrinuse|notfound|pipe)\b",
    r"(?:command not found|no such file or directory|permission denied|connection refused|timed out)\W*$",
)
_HOST = _any(
    r"^\W{0,3}(?:the |your )?(?:proposed )?(?:edit|file|change|command|request|tool|text|string|patch|task|page)\b",
    r"^\W{0,4}(?:successfully|no|nothing|already|everything|done|finished|completed?)\b(?! ?:)",
    r"^\W{0,4}(?:deleted|removed|added|installed|replaced|applied|success|ok|passed|failed|closed)\b(?! ?:)",
    r"^\W{0,4}(?:created|updated|saved|wrote)\b(?! ?:)",
    r"^\W{0,4}(?:cannot|unable|could not|invalid|malformed|unknown|unsupported|denied|rejected|error|sorry)\b",
    r"\b(?:has|have) been\b|\bsuccessful(?:ly)?\b|^[✓✔✅❌✗✘×]|\bdo not re-?run\b|requirement already",
    r"nothing to commit|up[- ]to[- ]date|\bno (?:matches|results|files|output)\b",
)
_FIELD = re.compile(
    r"(?:^|[{,|.\s])[\"']?(error|errors|error_?message|exception|success|ok|status|status_?code|message|detail|reason"
    r"|exit_?code|return_?code)[\"']? ?[:=] ?(?:\"([^\"]*)|'([^']*)|([^\s,|}]+))"
)
_BESIDE = re.compile(
    r"^npm (?:error|err!)(?: (?:code|errno|path|workspace|location|command|cwd|syscall|a complete)\b|$)"
)
"""What stands around an error and does not say it."""
_MOVED = _any(
    r"^\[[\w./-]{1,100} (?:\(root-commit\) )?[0-9a-f]{7,40}\] ",
    r"^(?:[+*!=-] )?(?:[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}"
    r"|\[(?:new|rejected|remote rejected|up to date|deleted)[^\]]{0,20}\]) +\S+ +-> ",
)
"""A commit that was made, a branch that was pushed or refused."""
_PLANNED = re.compile(r"# \S{1,200} (?:will|must) be ")
"""What Terraform is about to do to a thing."""
_ONLY_WARNED = re.compile(r"^\W*(?:found )?\d+ warnings?\b(?!.*(?:error|fail|pass))")
_ANNOUNCED = re.compile(r"\W{0,4}[^\W\d]+(?: [^\W\d]+)?\W{0,3}[:：]")
"""`Conclusion:`, `Root cause:`"""
_ITEM = re.compile(r"[-*•·>|#]|\d{1,3}[.)] |</?\w+>$")
"""A point of a list, a heading, a mark around the output: never its last word."""
_BEFORE_IT = re.compile(r"^(?:Traceback \(most|Stack trace|Error: *$|Exit code \d+$|</?\w+>$)")


class _Line(NamedTuple):
    """A record, what it is made of, and what it speaks of."""

    record: Record
    seen: _Seen
    failed: bool
    went_well: bool


def mark(reading: Reading, *, is_error: bool = False, verb: str = "", part: bool = False) -> list[int]:
    """Set kind and worth of what must not be lost, in place. Linear in the reading.

    Args:
        reading: finished. What is an outcome or an error already stays so; headings, rows, fields, definitions and
            changes keep their kind and only become worth more.
        is_error: the host said that the call failed.
        verb: the tool, or the verb of its action, and its target (`Bash git log --stat`, `run git log`, `read a.py`);
            empty: not known.
        part: its call asked for some lines only, and knows that there are more.

    Returns:
        Numbers of the records that say how it went, the best first, at most three. Of a file that was read, and of
        code, the line that tells best how it fails, and one more where that says it in words of its own; their kind
        stays what it is.
    """
    lines = [_look(record) for record in reading.records]
    source = _is_source(lines)
    best = _outcomes(lines, is_error=is_error, verb=verb, source=source)
    for number in best:
        long = len(lines[number].record.text) > _WHOLE and any(words.found(lines[number].seen) for _, words in _CLAIMS)
        plainly = _has_cue(lines[number]) or reading.records[number].worth >= 4.0
        _raise(reading.records[number], "claim" if long else "outcome", 4.0 if plainly else 3.0)
    _mark_errors(lines, source=source)
    _mark_claims(lines, source=source)
    _fade_repeated(reading.records)
    best = best or _failing(lines, source=source)
    told = [(n, line.record.text[:_LABELLED]) for n, line in enumerate(lines)]
    partial = [n for n, text in told if PARTIAL.match(text) and not (part and _MORE_BELOW.match(text))][:1]
    partial += [n for n, line in enumerate(lines[:1]) if _answers_pwd(line.record.text, verb)]
    for number in partial:
        _raise(reading.records[number], "outcome", 4.0)
    return list(dict.fromkeys([*best[:1], *partial, *best[1:]]))[:_MOST_OUTCOMES]


def _answers_pwd(text: str, verb: str) -> bool:
    """Whether it is the folder that the first command of a chain was asked for."""
    return _FOLDER.fullmatch(text) is not None and _PWD.match(verb) is not None


def _look(record: Record) -> _Line:
    low = record.text[:_LOOK_CHARS].lower()
    tokens = _TOKEN.findall(low)
    if "’" in low:
        tokens = [token.replace("’", "'") for token in tokens]
    known = set(tokens)
    joined = "" if _FIRSTS.isdisjoint(known) else f" {' '.join(tokens)} "
    seen = _Seen(low, tokens, known, joined, not low.isascii() and _GAPLESS.search(low) is not None)
    failed = _FAILURE.found(seen)
    if not failed and ("rror" in low or "xception" in low):
        failed = _NAMED.search(record.text, 0, _LOOK_CHARS) is not None
    return _Line(record, seen, failed, _SUCCESS.found(seen))


def _is_source(lines: Sequence[_Line]) -> bool:
    """Whether a line that looks like nothing is code here: it stands among definitions, changes and hits, and most of
    its neighbours are code, too. A report that quotes some code is none."""
    if not any(line.record.kind in _CODE_KIND for line in lines):
        return False
    sample = [line.record for line in lines[:: 1 + len(lines) // _SAMPLED] if line.record.kind != "noise"]
    code = sum(one.kind in _CODE_KIND or _is_code(one.text) for one in sample)
    return code >= _CODE_SHARE * len(sample)


def _raise(record: Record, kind: Literal["outcome", "error", "claim"], worth: float) -> None:
    if record.kind not in _KEEP_KIND and record.table < 0:
        record.kind = kind
    record.worth = max(record.worth, worth)


def _shape(seen: _Seen) -> str:
    """The line without its numbers and names with digits: what a log repeats."""
    if seen.low.isascii():
        return " ".join([token for token in seen.tokens if len(token) > 1 and token.isalpha()]) or seen.low[:20]
    return _DIGITS.sub("", seen.low)


def _bare(text: str) -> str:
    """The text behind the number of its line."""
    numbered = _NUMBERED.match(text)
    return text[numbered.end() if numbered else 0 : _LOOK_CHARS]


def _is_code(text: str) -> bool:
    return _CODE.search(_QUOTED_CODE.sub("x", _bare(text)).strip()) is not None


# How it went.

_PLAINLY = 78
"""From here on a line tells an outcome also where it stands beside code, under a heading, or is a field of data."""
_FIRST_OF_EQUALS = 91
"""A score below: of verdicts and errors the first counts; from there on, and of exit codes, the last."""


def _outcomes(lines: Sequence[_Line], *, is_error: bool, verb: str, source: bool) -> list[int]:
    words = _verbs(verb)
    is_file = len(lines) > _ENDS and (not _PROGRAMS["read"].isdisjoint(words) or _is_numbered(lines))
    rated: list[tuple[float, int]] = []
    shapes: Counter[str] = Counter()
    last = len(lines) - _ENDS
    for number, line in enumerate(lines):
        edge = number < _ENDS or number >= last
        shape = _shape(line.seen) if _has_cue(line) and not _is_speech(line.record) else ""
        shapes[shape] += 1
        if not shape or (not edge and shapes[shape] > _OFTEN):
            continue
        score = _score(line, is_source=source, is_file=is_file, edge=edge, is_error=is_error)
        if score:
            place = number / len(lines)
            rated.append(
                (score + (place if score >= _FIRST_OF_EQUALS or line.seen.low[:4] == "exit" else -place), number)
            )
    for place, (score, number) in enumerate(rated):
        if shapes[_shape(lines[number].seen)] > _OFTEN:
            lost = _REPEATED if _ENDS <= number < last else _ONE_OF_MANY * (score < _FIRST_OF_EQUALS)
            rated[place] = score - lost, number
    rated.sort(key=lambda one: (-one[0], one[1]))
    best: dict[str, int] = {}
    for _, number in rated:
        if len(best) < _MOST_OUTCOMES:
            seen = lines[number].seen
            shape = ended(seen.low) or _shape(seen)
            best.setdefault("at a place" if _NUMBERED.match(seen.low) else shape, number)
    told = list(best.values())
    if told and not (len(told) == 1 and _EXIT.search(lines[told[0]].seen.low)):  # `exit code 0` says little alone
        return told
    if is_error and not told:
        return [number for number, line in enumerate(lines) if not _BEFORE_IT.match(line.record.text)][:1]
    if len(lines) > _ENDS and (is_file or source or not verb or not _PROGRAMS["list"].isdisjoint(words)):
        return told
    words = [number for number in _last_word(lines) if number not in told]
    return told + [number for number in words if not (told and ended(lines[number].seen.low))]


def ended(text: str) -> str:
    """`exit 0` of a line that says little but that; empty of others."""
    low = text.lower()
    found = _EXIT.search(low) if len(_TOKEN.findall(low)) <= _SHORT else None
    return f"exit {found[1]}" if found else ""


def _is_speech(record: Record) -> bool:
    """Whether it is so long, without a full stop, that no word in it says how anything went."""
    return len(record.text) > _SPEECH and record.kind in ("line", "claim")


def _verbs(verb: str) -> list[str]:
    """The tool, and of a shell the program whose output it shows: the last of a chain, the first of a pipe."""
    tool, _, command = verb.lower().partition(" ")
    program = re.split(r"&&|;|\n", command[:2000])[-1].split("|")[0].split()
    return [tool, *(word.rpartition("/")[2] for word in program[:1])]


def _is_numbered(lines: Sequence[_Line]) -> bool:
    return all(_LINE_NUMBER.match(line.record.text) for line in lines[:_ENDS])


def _has_cue(line: _Line) -> bool:
    seen = line.seen
    return (
        line.failed
        or line.went_well
        or line.record.kind in ("outcome", "error")
        or seen.low[:1] in ("[", "✅", "❌")
        or seen.low.startswith(("found ", "checked "))
        or _LINTED.match(line.record.text) is not None
        or " -> " in seen.low
        or seen.low.startswith("plan: ")
        or not _PROGRAMS["speak"].isdisjoint(seen.known)
        or not _DECISION.alone.isdisjoint(seen.known)
    )


def _score(line: _Line, *, is_source: bool, is_file: bool, edge: bool, is_error: bool) -> float:
    """How well a line tells what came of the call: 0 not at all, 100 as totals of a test run do."""
    record, seen = line.record, line.seen
    text, low = record.text[:_LOOK_CHARS].strip(_RULE), seen.low.strip(_RULE)
    heads = text.isupper() and "  " in text  # of columns
    if record.kind in ("row", "definition", "change", "hit", "entry", "noise") or heads or _BESIDE.search(low):
        return 0
    if record.kind == "outcome" and not (_EXIT.search(low) and len(seen.tokens) <= _LABEL + 2):
        return 100
    total = _TOTAL.search(low) is not None
    answer = record.kind == "field" or text[:1] in ("{", "[", '"')
    if answer and not is_file and (field := _field(low)):
        return field + 5 * edge
    if not _RAISED.match(text) and record.kind != "error" and _is_code(text):
        return 84 if text[:1] == "<" and _EXIT.search(low) else 0
    if not (answer or is_file or total) and (field := _field(low)):
        return field + 5 * edge
    if _CASE.search(low):
        return 76 if line.failed and low.startswith(("fail", "error")) else 0
    if is_file or (is_source and not edge):  # of a file only what stands in no prose and no code
        return 95 if total and edge and not is_source and len(seen.tokens) <= _SHORT else 0
    if total and len(seen.tokens) <= _LONG:
        if any(map(str.isdigit, text)):
            return 72 if _ONLY_WARNED.search(low) else 100
        return 96 if edge else 70
    if _CHECKED.match(low):
        return 69
    spoken = _spoken(line, text, low, edge=edge, is_error=is_error)
    beside = is_source or record.kind == "field" or record.under >= 0
    return 0 if beside and spoken < _PLAINLY else spoken


def _spoken(line: _Line, text: str, low: str, *, edge: bool, is_error: bool) -> float:
    """The score of a line in which a program, or the host, speaks of itself."""
    words = len(line.seen.tokens)
    if _MOVED.search(low):
        return 97
    if _BEFORE_IT.match(text):
        return 20
    if _RAISED.match(text):
        return 93
    if _TICKED.match(text) and words > 1:
        return 92
    if _LINTED.match(text):
        return 88
    if _EXIT.search(low):
        return 84 if words <= _SHORT and not is_error else 60
    if line.failed and (_FATAL.search(low) or _SAID.search(low) or line.record.kind == "error"):
        return 90.5 if edge and is_error else 86 if edge else 78
    talk = line.record.under >= 0 and words > _SHORT  # in a document
    if edge and (line.failed or line.went_well) and not talk and _HOST.search(low):
        return 90
    if words > _LABEL and _DECISION.found(line.seen):
        return 91 if _ANNOUNCED.match(low) else 58
    if line.failed and words <= _LONG and not _ITEM.match(text) and (" " in text or line.seen.gapless):
        return 60 if edge else 50
    return 45 if line.went_well and edge else 15 if line.went_well else 0


def _field(low: str) -> float:
    """The score of the first field with a value that programs answer with: `"error": ""` says nothing."""
    for found in _FIELD.finditer(low):
        value = found[2] or found[3] or found[4]
        if value and value not in ("null", "none", "[]", "{}", "undefined"):
            if found[1].startswith(("err", "exception")):
                return 0 if value in ("false", "0") else 90
            return 80 if found[1] in ("message", "detail", "reason") else 85
    return 0


def _last_word(lines: Sequence[_Line]) -> list[int]:
    """The last line of words whose shape no other has and that is no item of a list; of a short output its last."""
    if any(line.record.kind == "field" for line in lines[-1 - 2 * _ENDS :]):
        return []
    shapes = Counter(_shape(line.seen) for line in lines)
    for number in range(len(lines) - 1, max(-1, len(lines) - 1 - 2 * _ENDS), -1):
        record, seen, _, _ = lines[number]
        if _is_speech(record):
            continue
        if record.kind in _SPEAKS and not _ITEM.match(record.text) and not _is_code(record.text):
            words = sum(map(str.isalpha, seen.tokens))
            if (words > 1 or seen.gapless) and shapes[_shape(seen)] == 1:
                return [number]
    if len(lines) > _ENDS:
        return []
    outside = [
        number
        for number, line in enumerate(lines)
        if line.record.kind in _SPEAKS and not _BEFORE_IT.match(line.record.text)
    ]
    if not outside:
        return []
    text = lines[outside[-1]].record.text
    said = text[:1] in ("{", "[") or not (_COMMENT.match(text) or text.endswith(("{", "}", ";")))
    return outside[-1:] if said and len(text) <= _LOOK_CHARS else []


_MESSAGE_CHARS = 160
"""A line of code that tells how it fails is no longer."""
_PIECES = re.compile(r"[\"'`<>]")
"""Around what code says in words: texts in quotes, and between tags."""
_FILLED = re.compile(r"[$#]?\{[^{}]{0,80}\}")
"""A value inside a text."""
_NO_WORDS = re.compile(r"[(){}=;<>]")
_HANDLES = re.compile(r"(?i)error|exception|timeout|\bfailed\b|refused|denied")
_FAILS = re.compile(
    r"(?i)^\**\(?(?:[a-z]\w*(?:error|exception)|error)\b|\berror: |\bfail(?:ed)?\b|time(?:d )?out|refused|denied"
    r"|not found\b|no such file|syntax error|is not (?:installed|supported|allowed|available)"
)
"""Words that programs and people use for a failure, alike in all of them."""
_NAME_CHARS = 60
"""A line that only names an error is worth no more room."""


def _failing(lines: Sequence[_Line], *, source: bool) -> list[int]:
    """Of code, or of a file: the line that says best how it fails, in words if there are any; of those the shortest.
    Where these are not the words that everybody uses, also the shortest line that has them."""
    best, name = (0.0, False, 0, -1), (-_NAME_CHARS - 1, -1)
    for number, line in enumerate(lines):
        text = _bare(line.record.text).strip()
        if line.record.kind in _LISTED or len(text) > _MESSAGE_CHARS or not (line.failed or _HANDLES.search(text)):
            continue
        known = _FAILS.search(text) is not None
        if line.record.kind == "hit" and not known:
            continue  # of a search, a name that only sounds like a failure is no answer
        told = _told_failure(line, text, source=source)
        best = max(best, (told, known, -len(text), number))
        if known and told:
            name = max(name, (-len(text), number))
    if not best[0]:
        return []
    return [best[3]] if best[1] or name[1] < 0 else [best[3], name[1]]


def _told_failure(line: _Line, text: str, *, source: bool) -> float:
    """How well a line of code says how it fails: a message, a sentence or comment, a name, in this order."""
    if _COMMENT.match(text):
        return 0.5 if line.failed and len(line.seen.tokens) > 1 else 0
    if not (source or _is_code(text)):
        return 0.7 if line.failed and text.count(" ") >= _LABEL and line.record.kind != "line" else 0
    said = [_FILLED.sub("", piece) for piece in _PIECES.split(text)[1:]]
    words = [_look(Record(piece)) for piece in said if piece.count(" ") and not _NO_WORDS.search(piece)]
    if any(len(one.seen.tokens) > 1 for one in words):
        return 1 + 2 * any(one.failed for one in words) + (_RAISES.search(text) is not None)
    return 0.3 if line.failed else 0.2


# Errors and claims.


def _fade_repeated(records: Iterable[Record]) -> None:
    """A line is worth what it says where it stands first; headings stay, since others stand under them."""
    known: set[str] = set()
    for record in records:
        if record.table < 0 and record.text in known and record.kind in _ONCE:
            record.worth *= _AGAIN
        known.add(record.text)


def _mark_errors(lines: Sequence[_Line], *, source: bool) -> None:
    told: set[str] = set()
    for record, seen, failed, _ in lines:
        if record.kind == "error" or (failed and record.kind == "line" and not _BESIDE.search(seen.low)):
            shape = _shape(seen)
            if record.kind == "error" or shape in told:
                _raise(record, "error", 2.0 if shape in told else 3.0)
            elif source or _is_code(record.text):
                if _RAISES.search(record.text) or _COMMENT.search(record.text):
                    record.worth = max(record.worth, 2.0)
                continue
            elif _RAISED.match(record.text) or _FATAL.search(seen.low) or _SAID.search(seen.low):
                _raise(record, "error", 3.0)
            else:
                continue
            told.add(shape)


_NO_STATEMENT = re.compile(r"#{2,6} |.*[?？]$", re.DOTALL)
"""A title or a question denies nothing, whatever words it has."""


def _mark_claims(lines: Sequence[_Line], *, source: bool) -> None:
    outline = source and any(line.record.kind == "definition" for line in lines)
    judged: set[str] = set()
    plain: list[Record] = []
    announced = False
    for record, seen, _, _ in lines:
        if record.kind in _NO_CLAIM or not seen.tokens:
            continue
        worth = next((worth for worth, words in _CLAIMS if words.found(seen)), 0.0)
        if _PLANNED.match(record.text):
            record.worth = max(record.worth, CLAIM_WORTH["firm"])
        is_label = len(seen.tokens) <= _LABEL and not seen.gapless
        if announced:  # under `## Conclusion`
            worth = _CLAIMS[0][0]
        announced = is_label and worth == _CLAIMS[0][0] and not announced
        if not worth or (is_label and not announced) or (shape := _shape(seen)) in judged:
            continue
        judged.add(shape)
        if _NO_STATEMENT.match(record.text) or not _is_clause(record, is_source=source):
            continue
        if outline:
            if worth > CLAIM_WORTH["plain"]:  # in a file the outline says more than a remark beside its code
                _raise(record, "claim", _REMARK * worth)
        elif worth > CLAIM_WORTH["plain"]:
            _raise(record, "claim", worth)
        else:
            plain.append(record)
    if len(lines) < _LEAST_FOR_SHARE or len(plain) <= _CLAIM_SHARE * len(lines):
        for record in plain:
            _raise(record, "claim", CLAIM_WORTH["plain"])


def _is_clause(record: Record, *, is_source: bool) -> bool:
    """Whether the cue stands in language: in no code, or in a comment of it."""
    text = _bare(record.text).lstrip("+- \t")
    if _COMMENT.search(text):
        return True
    if record.kind in _CODE_KIND or _CODE.search(_QUOTED_CODE.sub("x", text)):
        return False
    return not is_source or (len(text.split()) > _LABEL and not _CODE_SIGN.search(text))

"""Words by which people and agents say what became of something. Closed lists; a name must stand beside the cue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from ...models.text import late


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


DEAD_END = _any(
    "dead end",
    "(?:is|was|were)(?:n't| not) the (?:cause|culprit|problem)",
    "not relevant|irrelevant|unrelated",
    "wrong (?:approach|file|path|place|track)",
    "rejected|abandon(?:ed|ing)?|(?:give|gave|giving) up on",
)
"""What is named beside it led nowhere."""
FAILED = _any("(?:did|does)(?:n't| not) (?:work|help)")
"""The command that is named beside it led nowhere."""
DECIDED = _any(
    "decided (?:to|on)|chose(?:n)?|choosing|agreed (?:to|on)|settled on|opt(?:ed)? for|selected",
    "will use|(?:we|i)(?:'?ll| will) (?:go with|keep)|(?:we|i)'ll use|let's (?:use|go with|keep)|go(?:ing)? with",
)
SUPERSEDES = late(
    r"\b(?:instead of|rather than|no longer|switch(?:ed|ing)? (?:away )?from|replac(?:e|ed|ing)|drop(?:ped|ping)?"
    r"|scrap(?:ped)?|forget about|changed my mind about)\s+(?:the |using |use |to )*",
    re.IGNORECASE,
)
"""What is named behind it no longer holds."""
BECAUSE = _any("because", "since", "so that", "in order to", "due to", "the reason (?:is|being)")
ASKS = late(r"\?(?:\s|$)|\b(?:blocked (?:by|on)|waiting (?:for|on)|unclear|open question)\b", re.IGNORECASE)
CRITERIA = _any("must(?: not)?|should(?: not)?|shall|has to|have to|required?|acceptance|criteri(?:a|on)")
PREFERS = _any(
    "prefer|always|never|don'?t|do not|from now on",
    "please (?:use|keep|avoid)|stop (?:using|doing)|i (?:want|like|hate|need)",
)
PASSED = _any("pass(?:es|ed|ing)?|green|clean", "succe(?:ss|eds?|eded|ssful(?:ly)?)", "fail(?:s|ed|ing|ures?)?")
"""How an answer speaks of the end of a run."""
NEXT = late(r"^[ \t#*]*(?:next steps?|remaining|to ?do|what'?s left|still to do)\b[^\n]{0,40}$", re.I | re.M)
"""A heading, or a line that ends in one."""

_NAME = late(r"\s*(?:`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([^'\n]{2,80})'|([A-Za-z][\w.+/#-]{1,79}))")
_SENTENCE = late(r"[^\n]+?(?:[.!?](?=\s|$)|\n|$)")


def sentences(text: str, cue: re.Pattern[str]) -> Iterator[str]:
    """The sentences in which a cue stands, in order, without the blanks around them."""
    if cue.search(text) is None:
        return
    for found in _SENTENCE.finditer(text):
        if cue.search(found[0]):
            yield found[0].strip()


def name_after(text: str, place: int) -> str:
    """The name that comes next from a place on: what stands in quotes, or one word with its dots and slashes."""
    found = _NAME.match(text, place)
    return next((word for word in found.groups() if word), "").rstrip(".,;:") if found else ""


# Whether the output of a call says that it failed, that it went well, or neither; and in which line.


READ_CHARS: Final = 60_000
"""Of a longer output, the first and the last half of this are read: programs say what came of them at their end."""

_CODE = late(
    r"\b(?:exit(?:ed)?(?: with)?(?: exit)?(?: (?:code|status))?|return(?:ed)?(?: with)?(?: exit)? (?:code|status)"
    r"|returncode|exit_code)[:=\"' ]{1,4}(\d{1,5})\b"
)
# Patterns that begin with a digit are found many times as fast as those that begin with a choice.
_FAILURES = late(r"(\d{1,7}) (?:tests? |specs? |examples? )?(?:failed|failures?|failing)\b")
_ERRORS = late(r"(\d{1,7}) (?:errors?|problems?)\b")
_BEFORE_ERRORS = late(r"(?:[(,;:=] *|\bfound +|\bwith +)$")
_LOOK_BACK = 24
_COLOURS = late(r"(?:\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~])+")
_WELL = late(
    r"\b[1-9]\d{0,6} (?:tests? |specs? |examples? )?(?:passed|passing)\b|\bbuild successful\b|\ball checks passed\b"
)
_RAISED = late(r"^(?:E +)?(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)(?::.*)?$", re.M)
_BEGINS = late(
    r"^[ \t>]{0,8}(?:(?:fatal|error|ERROR|FATAL|Error|panic|FAILED)\b[^\n:]{0,40}:"
    r"|npm (?:error|ERR!)|error\[E\d+\]|thread '[^'\n]{0,80}' panicked at)",
    re.M,
)
_INSIDE = late(
    r"\berror TS\d+:|: (?:command not found|No such file or directory|[Pp]ermission denied|syntax error\b"
    r"|cannot (?:open|access|find)\b)"
)
_SUMMARY = late(r"\d{1,7} (?:[a-z]+ )?(?:passed|passing|failed|failing|failures?)\b")

_Found = Iterator[re.Match[str]]


class Outcome(msgspec.Struct, frozen=True):
    """What an output says of itself."""

    failed: bool | None
    """None: it does not say."""
    line: str
    """The line that says so, without the blanks around it; empty where there is none."""


def outcome_of(text: str, *, is_error: bool = False) -> Outcome:
    """Read the output of a command.

    Structure comes before words: what the host marked as an error failed; then exit codes, counts of tests, raised
    exceptions, and lines that begin or end as errors do. `0 errors` is none. Linear in time.
    """
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    text = _uncoloured(text)
    low = text.lower() if text.isascii() else text  # `lower` may change the length of other texts, and so the places
    codes = list(_where(_CODE, low, "exit", "return"))
    counts = [one for one in _where(_FAILURES, low, "fail") if _begins_a_word(low, one.start())]
    counts += [one for one in _where(_ERRORS, low, "error", "problem") if _counts_errors(low, one.start())]
    line = _raised(text) or _said(text)
    if is_error or line or any(int(one[1]) for one in (*codes, *counts)):
        counted = next((_line_at(text, one.start(1)) for one in counts if int(one[1])), "")
        return Outcome(True, line or counted or _first_line(text))
    well = [*_where(_WELL, low, "pass", "build successful"), *counts, *codes]
    return Outcome(False, _line_at(text, well[0].end() - 1)) if well else Outcome(None, "")


def conclusion(text: str) -> str:
    """The line in which a run of tests says how it ended; empty where there is none."""
    text = _uncoloured(text[-READ_CHARS // 2 :])
    last = None
    for one in _where(_SUMMARY, text, "passed", "passing", "fail"):
        last = one if _begins_a_word(text, one.start()) else last
    return _line_at(text, last.start()) if last else ""


def _uncoloured(text: str) -> str:
    """The text with a blank for each run of a terminal's colours, as a digest shows it."""
    return _COLOURS.sub(" ", text) if "\x1b[" in text else text


def _where(pattern: re.Pattern[str], text: str, *words: str) -> _Found:
    """Matches in the lines that hold one of the words: looking for a word is many times as fast as a pattern.

    No pattern here runs over a line.
    """
    for start, end in _lines_with(text, words):
        yield from pattern.finditer(text, start, end)


def _lines_with(text: str, words: tuple[str, ...]) -> list[tuple[int, int]]:
    lines: set[tuple[int, int]] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            lines.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(word, end)
    return sorted(lines)


def _begins_a_word(text: str, start: int) -> bool:
    before = text[start - 1 : start] if start else ""
    return not (before.isalnum() or before == "_")


def _counts_errors(text: str, start: int) -> bool:
    """Whether a number of errors stands where programs put it: first in its line, or after certain words and marks."""
    line = text.rfind("\n", 0, start) + 1
    before = text[max(line, start - _LOOK_BACK) : start]
    if not before.strip(" \t"):
        return not text[line:start].strip(" \t")
    return _BEFORE_ERRORS.search(before) is not None


def _raised(text: str) -> str:
    """The last exception that was printed: of a chain, the one that came up."""
    line = ""
    for found in _where(_RAISED, text, "Error", "Exception", "Interrupt", "Exit"):
        line = found[0]
    return line.strip()


def _said(text: str) -> str:
    """The first line that begins, or ends, as errors of programs do."""
    begins = _where(_BEGINS, text, "rror", "ERR", "atal", "FATAL", "panic", "FAILED")
    inside = _where(_INSIDE, text, "error TS", "not found", "No such", "ermission denied", "syntax error", ": cannot ")
    places = [found.end() - 1 for found in (next(begins, None), next(inside, None)) if found]
    return _line_at(text, min(places)) if places else ""


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : end if end >= 0 else len(text)].strip()


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")

"""Probes of the results that leave: what failed, how it ended, and the values that the session came back to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from ..models.items import Item
from ..specifics.outcomes import Outcome, conclusion, outcome_of
from .answering import stands_whole
from .asking import Original, Probe, probe
from .wording import LEAST, MARK, MAX_WORDS, clipped

HEAD_CHARS, TAIL_CHARS = 3_000, 1_000
"""Where values are looked for in a result: reading a million tokens whole would take longer than the pass may."""
A_RESULT = 2
"""Values that are asked for of one result: those that the most other items hold too."""
RECENT_MESSAGES = 40
"""An error that came up within so many newest messages is still being worked on, unless something shows otherwise."""
EVERYWHERE = 0.2
"""A value that more than this share of the items holds is layout (a version in every header), no fact."""
_CODED = re.compile(
    r"\bTS\d{3,5}\b|\bE\d{3,5}\b|\b(?:[A-Za-z_]\w*\.){0,8}[A-Z][A-Za-z]*(?:Error|Exception|Exit|Interrupt)\b"
    r"|\bE[A-Z]{3,}\b"
    r"|(?:code|status) \d{1,5}\b"
)
_VALUE = re.compile(
    r"https?://[^\s\"'<>()\[\]{}|\\^`]*[\w/]"
    r"|(?<![\w/.@~-])/?(?:[\w.@-]+/)+[\w@-]+\.[A-Za-z]\w{0,5}(?![\w/.-]*\w/)"
    r"|\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b"
    r"|\b(?=[A-Za-z_]*\d)(?=\d*[A-Za-z_])\w{5,40}\b"
    r"|(?<![\w.,-])\d{5,12}(?![\w.,-])"
)
_MAYBE = re.compile(r"[\d/]")
_COUNTS = re.compile(r"\b\d{1,7} (?:[a-z]+ )?(?:tests?|passed|passing|failed|failing|failures?|examples?|specs?)\b")
_PIECES = re.compile(r"\\[nrt\"]|[\"{}]")
"""Where a line of JSON falls apart into what its strings say."""


def result_probes(originals: Sequence[Original]) -> Iterator[Probe]:
    """Probes of every result for which a digest is to stand; nothing is asked of what may be forgotten."""
    results = [one for one in originals if one.item.role == "tool" or one.leaves]
    rows = sorted({one.item.position[0] for one in originals}, reverse=True)
    recent = rows[min(RECENT_MESSAGES, len(rows)) - 1] if rows else 0
    outputs = _Outputs()
    later = _later_outcomes(results, outputs)
    newest = _newest_conclusion(results, outputs)
    held = {one.item.id: _values(one.text) for one in originals}
    # The same bytes twice are one thing that was said: nobody came back to what it holds.
    distinct = {one.item.sha256 or one.item.id: one.item.id for one in originals}
    holders = Counter(value for name in distinct.values() for value in held[name])
    most = max(3, EVERYWHERE * len(originals))
    asked: set[str] = set()
    for one in results:
        if not one.leaves or one.forgotten:
            continue
        yield from _error(one, outputs, later, recent)
        yield from _ending(one, outputs, one.item.id == newest)
        recurring = (value for value in held[one.item.id] if 2 <= holders[value] <= most)
        ranked = sorted(recurring, key=lambda value: -holders[value])
        for value in islice((value for value in ranked if stands_whole(one.text, value)), A_RESULT):
            if value not in asked:  # any passage may answer: asked once more, one loss would count for many
                asked.add(value)
                yield probe("recall", "Which value that came up again does this result give?", (value,), one.item)


class _Outputs:
    """What the outputs of commands say of themselves, each read once."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}
        self._conclusions: dict[str, str] = {}

    def outcome(self, one: Original) -> Outcome:
        """Whether it failed, and its line that says so."""
        known = self._outcomes.get(one.item.id)
        if known is None:
            known = self._outcomes[one.item.id] = outcome_of(one.text, is_error=one.item.is_error)
        return known

    def conclusion(self, one: Original) -> str:
        """The line in which a run of tests says how it ended."""
        known = self._conclusions.get(one.item.id)
        if known is None:
            known = self._conclusions[one.item.id] = conclusion(one.text)
        return known


def _calls(item: Item) -> str:
    """The same for two calls that ask the same thing."""
    target = item.action.target if item.action else ""
    return f"{item.tool_name} {target}" if target else ""


def _later_outcomes(results: Sequence[Original], outputs: _Outputs) -> dict[str, bool]:
    """Call -> whether its newest run failed."""
    ran = ((_calls(one.item), one) for one in results if _ran(one.item))
    newest = ((call, outputs.outcome(one)) for call, one in {call: one for call, one in ran if call}.items())
    return {call: bool(one.failed) for call, one in newest}


def _ran(item: Item) -> bool:
    """A text that was read or found may well speak of errors; the output of a command that does, had them."""
    return item.is_error or (item.action is not None and item.action.verb == "run")


def _error(one: Original, outputs: _Outputs, later: dict[str, bool], recent: int) -> Iterator[Probe]:
    """How a call failed; critical where that is recent, and no later run of the same call went well."""
    if not _ran(one.item):
        return
    outcome = outputs.outcome(one)
    codes = tuple(dict.fromkeys(found[0] for found in _CODED.finditer(outcome.line)))[:2] if outcome.failed else ()
    if codes := codes or _whole(outcome.line if outcome.failed else ""):
        debugged = later.get(_calls(one.item), True) and one.item.position[0] >= recent
        yield probe("error", "How did this call fail?", codes, one.item, critical=debugged)


def _ending(one: Original, outputs: _Outputs, newest: bool) -> Iterator[Probe]:
    """How a run of tests ended: progress where it is the newest of the session, else what it had resolved to, or what
    still failed."""
    counts = tuple(dict.fromkeys(_COUNTS.findall(outputs.conclusion(one))))[:2] if _ran(one.item) else ()
    if counts:
        failed = outputs.outcome(one).failed
        kind = "progress" if newest else "error" if failed else "resolution"
        yield probe(kind, "How did this run of tests end?", counts, one.item, critical=newest)


def _newest_conclusion(results: Sequence[Original], outputs: _Outputs) -> str:
    for one in reversed(results):
        if _ran(one.item) and _COUNTS.search(outputs.conclusion(one)):
            return one.item.id
    return ""


def _values(text: str) -> dict[str, None]:
    """Addresses, paths, ids and long numbers at the head and the tail of a text, in order."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        # Whole lines only: what a cut leaves over is no value of the text.
        head = text[: text.rfind("\n", 0, HEAD_CHARS) + 1 or HEAD_CHARS]
        text = head + text[text.find("\n", len(text) - TAIL_CHARS) :]
    # No value runs over white space, and each has a digit or a slash.
    words = " ".join(filter(_MAYBE.search, MARK.sub(" ", text).split()))
    found = _VALUE.findall(words)
    return dict.fromkeys(value for value in found if LEAST <= len(value) <= MAX_WORDS)


def _whole(line: str) -> tuple[str, ...]:
    """A line as it stands, as much of it as can be asked for; of JSON the longest string."""
    words = clipped(max(_PIECES.split(line), key=len))
    return (words,) if len(words) >= LEAST and "[redacted:" not in words else ()


__all__ = ["result_probes"]

"""Probes of what was said and done: the task, decisions, questions, plans, and the files and commands of the calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from ...models.items import Item
from ...models.summaries import StandingOrder
from ...text.specifics.vocabulary import (
    ASKS,
    BECAUSE,
    DECIDED,
    NEXT,
    Outcome,
    conclusion,
    outcome_of,
    sentences,
)
from ..summary.orders import orders_of
from .answers import Original, Probe, probe, stands_whole, whole_places

# Values that nobody ever wrote, near to ones that somebody did: they must be answered "no".


A_TYPE = 3
"""So many a type: each takes a search through all that stays."""


def distractors(probes: Sequence[Probe], originals: Sequence[Original]) -> Iterator[Probe]:
    """Probes whose first value was changed at its end, or lost its end; only such as stand in no original."""
    made: Counter[str] = Counter()
    texts = [original.text for original in originals]
    for one in probes:
        if made[one.type] >= A_TYPE:
            continue
        wrong = _near(one.expected[0] if one.type != "owner" else "", cut=made[one.type] % 2 == 1)
        # Most texts do not hold it at all, and that is seen much sooner.
        if wrong and not any(wrong in text and stands_whole(text, wrong) for text in texts):
            made[one.type] += 1
            yield Probe(type=one.type, question=one.question, expected=(wrong,), item_id=one.item_id)


def _near(value: str, *, cut: bool) -> str:
    """`main.py` -> `main.pz`, `4711` -> `4712`; cut: `main.p`, which stands in every text that has `main.py`."""
    if len(value) < 5 or not (value[-1].isascii() and value[-1].isalnum()):
        return ""
    if cut:
        return value[:-1] if value[-2].isalnum() else ""
    last = value[-1]
    return value[:-1] + ("0" if last == "9" else "a" if last in "zZ" else chr(ord(last) + 1))


# What of a sentence or a line must be found again: its names and numbers, else the words themselves.


MAX_VALUES: Final = 3
MAX_WORDS: Final = 120
"""Characters of a sentence that has no names: so much of it is expected word for word."""
LEAST: Final = 4
"""Shorter values stand anywhere by chance."""

_NAME = re.compile(
    r"`([^`\n]{2,60})`"
    r"|(https?://[^\s\"'<>()\[\]{}|\\^`]*[\w/])"
    r"|(?<![\w/.-])((?:[\w.-]+/)+[\w.-]*\w)"  # a path
    r"|\b([A-Za-z]\w*(?:[._]\w+)+)\b"  # a dotted or snake_case name
    r"|\b([a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}-?\d+|[A-Z]{3,})\b"  # camelCase, tickets, constants
    r"|(?<![\w.])(\d[\d,.]*\d(?:%|\w+)?)(?![\w])"  # numbers with their unit
)


MARK: Final = re.compile(r"\[redacted:[^\[\]\n]{1,80}\]")
"""What stands for a secret: nothing of it is a value of the text."""


def values_of(sentence: str) -> tuple[str, ...]:
    """The names and numbers of a sentence, at most three; without any, its words as they stand; empty for none."""
    found = dict.fromkeys(
        value for match in _NAME.finditer(MARK.sub(" ", sentence)) for value in match.groups() if value
    )
    values = tuple(value for value in found if len(value) >= LEAST and stands_whole(sentence, value))[:MAX_VALUES]
    if values:
        return values
    words = clipped(sentence)
    return (words,) if len(words) >= LEAST else ()


def clipped(text: str) -> str:
    """As much of a text as can be asked for, in whole words."""
    words = text.strip()
    return words if len(words) <= MAX_WORDS else words[:MAX_WORDS].rpartition(" ")[0]


def first_line(text: str, least: int = 12) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.split("\n") if len(line.strip()) >= least), "")


MAX_DECISIONS = 60
"""Newest sentences that word a decision."""
QUESTION_MESSAGES = 3
"""Newest messages in which a question still waits for its answer."""
MAX_STEPS = 8
MAX_COMMANDS = 200
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX~-]\][ \t]+)?(\S.*)$")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (\S.*?)\s*$", re.MULTILINE)
_TODO_TOOL = re.compile(r"todo|update_plan|task_?list|^plan$", re.IGNORECASE)
_DONE = ("completed", "done", "complete", "finished", "in_progress", "in-progress", "doing")


def conversation_probes(originals: Sequence[Original], texts: Texts) -> Iterator[Probe]:
    """Probes of messages and calls. They mostly stay, and then answer for themselves; a host that dropped some, or a
    summary that stands for them, is what these find out about."""
    messages = [one for one in originals if _is_said(one)]
    calls = [one for one in originals if one.item.kind == "tool_call"]
    yield from _intent(messages)
    yield from _files(calls)
    yield from _decisions(messages, texts)
    yield from _orders(messages, texts)
    yield from _questions(messages)
    yield from _plan(messages, calls)


def _is_said(one: Original) -> bool:
    kinds = ("message", "original_query", "clarify_verification")
    return one.item.role in ("user", "assistant") and one.item.kind in kinds and bool(one.text.strip())


def _intent(messages: Sequence[Original]) -> Iterator[Probe]:
    asked = [one for one in messages if one.item.role == "user"]
    ends = ([(asked[0], "first")] if asked else []) + ([(asked[-1], "last")] if len(asked) > 1 else [])
    for one, what in ends:
        if expected := values_of(first_line(one.text, 1)):
            yield probe("intent", f"What did the user ask for {what}?", expected, one.item, critical=True)


def _files(calls: Sequence[Original]) -> Iterator[Probe]:
    """One probe a file that was read, one a file that was changed, one a command: from the calls' own arguments."""
    read: dict[str, Original] = {}
    changed: dict[str, Original] = {}
    run: dict[str, Original] = {}
    for one in calls:
        action = one.item.action
        if action is None or not action.target.strip():
            continue
        verb, target = action.verb, action.target.strip()
        if verb in ("write", "edit"):
            for path in _PATCHED.findall(one.text) or [target]:
                changed.setdefault(path, one)
        elif verb == "read":
            read.setdefault(target, one)
        elif verb == "run":
            run.setdefault(clipped(target.partition("\n")[0]), one)
    for path, one in read.items():
        yield probe("file_path", "Which file was read by this call?", (path,), one.item, critical=True)
    for path, one in changed.items():
        yield probe("file_changes", "Which file was changed by this call?", (path,), one.item, critical=True)
    for command, one in list(run.items())[-MAX_COMMANDS:]:
        if len(command) >= LEAST:
            yield probe("recall", "Which command was run by this call?", (command,), one.item)


def _decisions(messages: Sequence[Original], texts: Texts) -> Iterator[Probe]:
    found: dict[str, Original] = {}
    for one in messages:
        for sentence in texts.decided(one):
            found.setdefault(sentence, one)
    for sentence, one in list(found.items())[-MAX_DECISIONS:]:
        why = BECAUSE.search(sentence)
        what, reason = (sentence[: why.start()], sentence[why.start() :]) if why else (sentence, "")
        if expected := values_of(what):
            yield probe("decision", "What was decided here?", expected, one.item, critical=True)
        if reason and (expected := values_of(reason)):
            yield probe("rationale", "Why was that decided?", expected, one.item)


def _orders(messages: Sequence[Original], texts: Texts) -> Iterator[Probe]:
    """What the user laid down and still holds, word for word."""
    by_row = {one.item.position[0] + 1: one for one in messages if one.item.role == "user"}
    for order in texts.orders(messages):
        one = by_row.get(order.message)
        if one is not None:
            yield probe("standing_order", "What did the user lay down?", (order.text,), one.item, critical=True)


def _questions(messages: Sequence[Original]) -> Iterator[Probe]:
    for one in messages[-QUESTION_MESSAGES:]:
        for sentence in list(sentences(one.text, ASKS))[:MAX_STEPS]:
            if expected := values_of(sentence):
                yield probe("blocker", "Which question is open?", expected, one.item)


def _plan(messages: Sequence[Original], calls: Sequence[Original]) -> Iterator[Probe]:
    """Where the work stands: the newest todo list, else the agent's last words; steps under the newest heading."""
    told = next((one for one in reversed(calls) if _TODO_TOOL.search(one.item.tool_name)), None)
    steps = _todos(told.item.args) if told is not None else []
    if told is not None and steps:
        for text, status in steps:
            kind, question = ("progress", "What is done or being done?") if status else ("next_steps", "What is next?")
            yield probe(kind, question, (clipped(text),), told.item, critical=True)
    answers = [one for one in messages if one.item.role == "assistant"]
    if not steps and answers and (expected := values_of(first_line(answers[-1].text))):
        yield probe("progress", "Where does the work stand?", expected, answers[-1].item, critical=True)
    headed = next((one for one in reversed(answers) if NEXT.search(one.text)), None)
    for step in _listed(headed.text) if headed is not None else ():
        assert headed is not None
        yield probe("next_steps", "What is next?", (step,), headed.item, critical=True)


def _todos(args: Mapping[str, Any] | None) -> list[tuple[str, bool]]:
    """Entries of a todo list with whether they are done or under way."""
    lists = [cast("list[Any]", value) for value in (args or {}).values() if isinstance(value, list)]
    found: list[tuple[str, bool]] = []
    for entry in lists[0] if lists else ():
        if not isinstance(entry, dict):
            continue
        fields = cast("dict[str, Any]", entry)
        text = next((t for key in ("content", "step", "text", "title") if isinstance(t := fields.get(key), str)), "")
        if len(text.strip()) >= LEAST:
            found.append((text.strip(), fields.get("status") in _DONE))
    return found


def _listed(text: str) -> list[str]:
    """The list under the newest heading that announces what comes next."""
    heading = list(NEXT.finditer(text))[-1]
    steps: list[str] = []
    for line in text[heading.end() :].strip("\n").split("\n"):
        found = _LIST_ITEM.match(line)
        if found is None and line.strip():
            break
        if found is not None:
            steps.append(clipped(found[1]))
    return [step for step in steps if len(step) >= LEAST][:MAX_STEPS]


# Probes of the results that leave: what failed, how it ended, and the values that the session came back to.


HEAD_CHARS, TAIL_CHARS = 3_000, 1_000
"""Where values are looked for in a result: reading a million tokens whole would take longer than the pass may."""
A_RESULT = 2
"""Values that are asked for of one result: those that the most other items hold too."""
RECENT_MESSAGES = 40
"""An error that came up within so many newest messages is still being worked on, unless something shows otherwise."""
OWNER_CHARS, ROW_CHARS, PLACES = 80, 2_000, 8
"""How far before a value its key is looked for, how long a line may be to be read as a row, and at how many places."""
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
_PICTURE = re.compile(r"https?://\S+\.(?:gif|png|jpe?g|svg|webp|ico)|\S+\.gif")
_FURNITURE = re.compile(r"\[!\[[^\]\n]{0,200}\]\([^)\n]{0,400}\)\]\([^)\n]{0,400}\)|\]\(/[^)\n]{0,400}\)")
"""What only adorns a page or leads around in it, a badge or the link of a menu: nobody comes back to it."""
_MAYBE = re.compile(r"[\d/]")
_LABEL = re.compile(r"\"([A-Za-z][\w -]{1,40})\"\s?: ?\"?$|(?:^|[\s,;({])([A-Za-z][\w-]{1,40}) ?[:=] ?[\"'`]?$")
_CELLS = re.compile(r"\t|\||,")
_NAMES = re.compile(r"[^\W\d_][\w .@-]{1,60}")
_COUNTS = re.compile(r"\b\d{1,7} (?:[a-z]+ )?(?:tests?|passed|passing|failed|failing|failures?|examples?|specs?)\b")
_PIECES = re.compile(r"\\[nrt\"]|[\"{}]")
"""Where a line of JSON falls apart into what its strings say."""


def result_probes(originals: Sequence[Original], outputs: Texts) -> Iterator[Probe]:
    """Probes of every result for which a digest is to stand; nothing is asked of what may be forgotten."""
    results = [one for one in originals if one.item.role == "tool" or one.leaves]
    rows = sorted({one.item.position[0] for one in originals}, reverse=True)
    recent = rows[min(RECENT_MESSAGES, len(rows)) - 1] if rows else 0
    later = _later_outcomes(results, outputs)
    newest = _newest_conclusion(results, outputs)
    held = {one.item.id: outputs.values(one) for one in originals}
    # The same bytes twice are one thing that was said: nobody came back to what it holds.
    distinct = {one.item.sha256 or one.item.id: one for one in originals}
    holders: dict[str, list[Original]] = {}
    for one in distinct.values():
        for value in held[one.item.id]:
            holders.setdefault(value, []).append(one)
    most = max(3, EVERYWHERE * len(originals))
    asked: set[str] = set()
    for one in results:
        if not one.leaves or one.forgotten:
            continue
        yield from _error(one, outputs, later, recent)
        yield from _ending(one, outputs, one.item.id == newest)
        yield from _outcome(one, outputs)
        # What others hold too comes first; a result that nobody came back to is asked for its first value.
        ranked = sorted(held[one.item.id], key=lambda value: -len(holders[value]))
        # A number that nothing names and nobody came back to is no question: the size of a file in a listing.
        whole = (
            value
            for value in ranked
            if len(holders[value]) <= most
            and stands_whole(one.text, value)
            and (len(holders[value]) > 1 or not value.isdigit() or _first_owner(one.text, value))
        )
        for count, value in enumerate(islice(whole, A_RESULT)):
            if (count and len(holders[value]) < 2) or value in asked:
                continue  # any passage may answer: asked once more, one loss would count for many
            asked.add(value)
            yield probe("recall", "Which value does this result give?", (value,), one.item)
            if owner := _first_owner(one.text, value):
                others = _owners(holders[value], value).keys() - {owner}
                yield probe("owner", "Whose value is this?", (value, owner), one.item, or_owner=tuple(sorted(others)))


class Texts:
    """What texts say of themselves, each read once for all rounds of a pass: between two only their digests change."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, bool], Outcome] = {}
        self._conclusions: dict[str, str] = {}
        self._values: dict[str, dict[str, None]] = {}
        self._decided: dict[str, list[str]] = {}
        self.stood: dict[tuple[str, str], bool] = {}
        """Text and value -> whether it stands there whole."""
        self._orders: tuple[list[Item], tuple[StandingOrder, ...]] | None = None

    def outcome(self, one: Original) -> Outcome:
        """Whether it failed, and its line that says so."""
        key = one.text, one.item.is_error
        known = self._outcomes.get(key)
        if known is None:
            known = self._outcomes[key] = outcome_of(one.text, is_error=one.item.is_error)
        return known

    def conclusion(self, one: Original) -> str:
        """The line in which a run of tests says how it ended."""
        known = self._conclusions.get(one.text)
        if known is None:
            known = self._conclusions[one.text] = conclusion(one.text)
        return known

    def values(self, one: Original) -> dict[str, None]:
        """Addresses, paths, ids and long numbers at its head and tail."""
        known = self._values.get(one.text)
        if known is None:
            known = self._values[one.text] = _values(one.text)
        return known

    def decided(self, one: Original) -> list[str]:
        """Its sentences that word a decision."""
        known = self._decided.get(one.text)
        if known is None:
            known = self._decided[one.text] = list(sentences(one.text, DECIDED))
        return known

    def orders(self, messages: Sequence[Original]) -> tuple[StandingOrder, ...]:
        """What stands of what was laid down."""
        items = [one.item for one in messages]
        if self._orders is None or self._orders[0] != items:
            self._orders = items, orders_of(items, str).standing
        return self._orders[1]


def _calls(item: Item) -> str:
    """The same for two calls that ask the same thing."""
    target = item.action.target if item.action else ""
    return f"{item.tool_name} {target}" if target else ""


def _later_outcomes(results: Sequence[Original], outputs: Texts) -> dict[str, bool]:
    """Call -> whether its newest run failed."""
    ran = ((_calls(one.item), one) for one in results if _ran(one.item))
    newest = ((call, outputs.outcome(one)) for call, one in {call: one for call, one in ran if call}.items())
    return {call: bool(one.failed) for call, one in newest}


def _ran(item: Item) -> bool:
    """A text that was read or found may well speak of errors; the output of a command that does, had them."""
    return item.is_error or (item.action is not None and item.action.verb == "run")


def _error(one: Original, outputs: Texts, later: dict[str, bool], recent: int) -> Iterator[Probe]:
    """How a call failed; critical where that is recent, and no later run of the same call went well."""
    if not _ran(one.item):
        return
    outcome = outputs.outcome(one)
    codes = tuple(dict.fromkeys(found[0] for found in _CODED.finditer(outcome.line)))[:2] if outcome.failed else ()
    if codes := codes or _whole(outcome.line if outcome.failed else ""):
        debugged = later.get(_calls(one.item), True) and one.item.position[0] >= recent
        yield probe("error", "How did this call fail?", codes, one.item, critical=debugged)


def _ending(one: Original, outputs: Texts, newest: bool) -> Iterator[Probe]:
    """How a run of tests ended: progress where it is the newest of the session, else what it had resolved to, or what
    still failed."""
    counts = tuple(dict.fromkeys(_COUNTS.findall(outputs.conclusion(one))))[:2] if _ran(one.item) else ()
    if counts:
        failed = outputs.outcome(one).failed
        kind = "progress" if newest else "error" if failed else "resolution"
        yield probe(kind, "How did this run of tests end?", counts, one.item, critical=newest)


def _outcome(one: Original, outputs: Texts) -> Iterator[Probe]:
    """What became of a call that went well, where no run of tests says it: the line with its status."""
    if not _ran(one.item) or outputs.outcome(one).failed is not False or _COUNTS.search(outputs.conclusion(one)):
        return
    if expected := _whole(outputs.outcome(one).line):
        yield probe("outcome", "What came of this call?", expected, one.item)


def _owner(text: str, value: str, place: int) -> str:
    """The key or label before a value in its line, else the first cell of its row; empty where nothing says it."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    before = text[max(start, place - OWNER_CHARS) : place]
    if found := _LABEL.search(before):
        return found[1] or found[2]
    line = text[start : end if end >= 0 else len(text)]
    cells = [cell.strip() for cell in _CELLS.split(line)] if len(line) <= ROW_CHARS else []
    first = cells[0] if len(cells) > 2 else ""
    return first if value in cells[1:] and _NAMES.fullmatch(first) else ""


def _first_owner(text: str, value: str) -> str:
    return _owner(text, value, next(whole_places(text, value)))


def _owners(holders: Sequence[Original], value: str) -> dict[str, None]:
    """Whatever the originals say whose a value is: a card is an `id` where the user's are listed, a `payment_id` in an
    order."""
    places = ((one.text, place) for one in holders for place in islice(whole_places(one.text, value), PLACES))
    return dict.fromkeys(owner for text, place in places if (owner := _owner(text, value, place)))


def _newest_conclusion(results: Sequence[Original], outputs: Texts) -> str:
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
    words = " ".join(filter(_MAYBE.search, _FURNITURE.sub(" ", MARK.sub(" ", text)).split()))
    found = _VALUE.findall(words)
    kept = (value for value in found if LEAST <= len(value) <= MAX_WORDS and not _PICTURE.fullmatch(value))
    return dict.fromkeys(kept)


def _whole(line: str) -> tuple[str, ...]:
    """A line as it stands, as much of it as can be asked for; of JSON the longest string."""
    words = clipped(max(_PIECES.split(line), key=len))
    return (words,) if len(words) >= LEAST and "[redacted:" not in words else ()

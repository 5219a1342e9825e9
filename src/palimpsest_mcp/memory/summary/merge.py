"""How summaries grow: nothing that was said goes away unless somebody says so.

Sections as an agent gives them: loose names, strings or lists or objects (I2).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

import msgspec

from ...errors import InvalidArgument
from ...models.sections import Incoming
from ...models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision, ErrorMet, StandingOrder
from ...models.text import open_end_in, plain
from .sections import PARTS, TEXTS, part_of_name

# When two texts mean the same, and how a caller names one of several.


LEAST_PART = 4
"""Characters that a part of a text needs to name it."""


def tidy(text: str) -> str:
    """A text as a summary may hold it: nothing that moves a cursor or hides, no white space around it."""
    return plain(text).strip()


def fold_text(text: str) -> str:
    """What is compared: letters without case, white space as one space, no stop or question mark at the end."""
    return " ".join(text.casefold().split()).rstrip(".!?; ")


def joined_path(folder: str, path: str) -> str:
    """The whole path of one named inside a folder; the path itself where it is whole already."""
    if not folder or path.startswith(("/", "~")):
        return path
    return posixpath.normpath(posixpath.join(folder, path))


def pick(name: str, among: Sequence[str], what: str) -> str:
    """The one text that a caller means: by its text, its number from 1, or a part that no other has.

    Raises:
        InvalidArgument: none or several fit; the message lists them.
    """
    wanted = fold_text(name)
    exact = [text for text in among if fold_text(text) == wanted]
    number = wanted.removeprefix("#")
    if not exact and number.isascii() and number.isdigit() and 1 <= int(number[:6]) <= len(among):
        exact = [among[int(number) - 1]]
    if not exact and len(wanted) >= LEAST_PART:
        exact = [text for text in among if wanted in fold_text(text)]
    if len(exact) == 1:
        return exact[0]
    listed = "; ".join(f"{place}. {text[:80]}" for place, text in enumerate(among[:20], 1)) or "there is none"
    raise InvalidArgument(
        f"{'Several' if exact else 'No'} {what}{'s fit' if exact else ' fits'} one of the names given.",
        next=f"Name it by its text or its number: {listed}.",
    )


# The order of files in a summary: whole paths first, then folder by folder, files with the same fate side by side.


def arranged(files: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
    """The same files; within a folder in the order in which they, or others with the same steps, first came."""
    given = list(files)
    first: dict[Hashable, int] = {}
    for place, one in enumerate(given):
        first.setdefault(one.folder, place)
        first.setdefault(_fate(one), place)
    return tuple(sorted(given, key=lambda one: (bool(one.folder), first[one.folder], first[_fate(one)])))


def _fate(one: ChangedFile) -> Hashable:
    """Files with equal steps share a line where they stand in one folder; whole paths keep their own order."""
    return (one.folder, one.steps) if one.folder else (one.path, one.folder)


T = TypeVar("T")


def merge(
    old: AnchoredSummary,
    new: AnchoredSummary,
    *,
    intent_changed: bool = False,
    close_blockers: Sequence[str] = (),
    supersede: Sequence[str] = (),
) -> AnchoredSummary:
    """What somebody states, on top of what stands.

    The intent stays unless `intent_changed`; state and next steps are replaced where `new` has any; everything else is
    a union. A section that `new` leaves out stays as it is. The compression count never changes here.

    Args:
        close_blockers: open blockers by text, part of the text, or number.
        supersede: standing decisions by the same, and standing orders that no message of the user holds; a single new
            decision is named as what took their place.

    Raises:
        InvalidArgument: a name fits no blocker or decision, or several.
    """
    closed = {pick(name, old.open_blockers, "open blocker") for name in close_blockers}
    standing = tuple(one.decision for one in old.decisions_made if not one.superseded)
    stated = tuple(one.text for one in old.standing_orders if not one.message)
    given_up = {pick(name, (*standing, *stated), "standing decision") for name in supersede}
    by = new.decisions_made[0].decision if len(new.decisions_made) == 1 else ""
    marked = msgspec.structs.replace(
        old,
        standing_orders=tuple(one for one in old.standing_orders if one.message or one.text not in given_up),
        decisions_made=_superseded(old.decisions_made, given_up, by),
        blockers=tuple(
            msgspec.structs.replace(one, closed=True) if one.text in closed else one for one in old.blockers
        ),
        notes=_union(old.notes, new.notes, lambda one: one, lambda one, _: one),
    )
    rules = {**_STATED, "session_intent": _newer} if intent_changed else _STATED
    return _joined(marked, new, rules, _newer)


def absorb(old: AnchoredSummary, found: AnchoredSummary) -> AnchoredSummary:
    """What code found in the whole ledger, under what somebody stated.

    It fills what is empty and brings trail, errors, todos and counts up to date. It never replaces a statement, takes
    nothing away but todos that are open no more, and revives no superseded decision.
    """
    whole = {one.path for one in found.files_modified}
    kept = tuple(one for one in old.files_modified if one.changes or not _named_whole(one, whole))
    has_todos = bool(found.todos_total or found.session_intent or found.commands_run or found.files_modified)
    by_code = found if has_todos else old
    return msgspec.structs.replace(
        _joined(msgspec.structs.replace(old, files_modified=kept), found, _FOUND, _older),
        session=found.session or old.session,
        checkpoint=found.checkpoint or old.checkpoint,
        todos=by_code.todos,
        todos_done=by_code.todos_done,
        todos_total=by_code.todos_total,
        last_asked=found.last_asked or (old.last_asked if not found.checkpoint else ""),
        last_said=found.last_said or old.last_said,
        left_out={},
        files_read=max(old.files_read, found.files_read),
        commands_run=max(old.commands_run, found.commands_run),
        searches=max(old.searches, found.searches),
    )


def after_pass(
    summary: AnchoredSummary,
    *,
    timestamp: str,
    messages: tuple[int, int],
    tokens_before: int,
    tokens_after: int,
    probes: tuple[int | None, int | None] = (None, None),
) -> AnchoredSummary:
    """The summary with the facts of one committed pass: the only thing that raises the compression count.

    Args:
        messages: first and last message in which something is compressed now, from 1; zeros for none.
        probes: how many passed, of how many; None: not validated.
    """
    return msgspec.structs.replace(
        summary,
        compression_count=summary.compression_count + 1,
        timestamp=timestamp,
        first_message=messages[0],
        last_message=messages[1],
        probes_passed=probes[0],
        probes_total=probes[1],
        tokens_before=tokens_before,
        tokens_after=tokens_after,
    )


def _named_whole(one: ChangedFile, whole: set[str]) -> bool:
    """Whether a file that a shell named inside its folder is known by its whole path meanwhile."""
    return bool(one.folder) and joined_path(one.folder, one.path) in whole


def _joined(old: AnchoredSummary, new: AnchoredSummary, rules: Mapping[str, Rule], usual: Rule) -> AnchoredSummary:
    """Every section of both by its rule; without one, lists of texts are united, others are settled as usual."""
    fields: dict[str, Any] = {}
    for name, part in PARTS.items():
        rule = rules.get(name, _texts if part.form is TEXTS else usual)
        fields[name] = rule(getattr(old, name), getattr(new, name))
    return msgspec.structs.replace(old, **fields)


def _newer(old: T, new: T) -> T:
    return new or old


def _older(old: T, new: T) -> T:
    return old or new


def _union(
    old: Iterable[T], new: Iterable[T], key: Callable[[T], Hashable], both: Callable[[T, T], T]
) -> tuple[T, ...]:
    """All of the old in their order, then what is new; `both` settles what two of one key become."""
    found: dict[Hashable, T] = {}
    for one in (*old, *new):
        name = key(one)
        found[name] = both(found[name], one) if name in found else one
    return tuple(found.values())


def _texts(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    return _union(old, new, fold_text, lambda one, _: one)


def _files(old: Iterable[ChangedFile], new: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
    once = [msgspec.structs.replace(one, changes=tuple(dict.fromkeys(one.changes))) for one in (*old, *new)]
    return arranged(_union(once, (), lambda one: (one.path, one.folder), _both_trails))


def _both_trails(old: ChangedFile, new: ChangedFile) -> ChangedFile:
    """Statements of both in order; of the trails the one that counts more: they are of one ledger, which only grows."""
    longer = new.steps if steps_total(new) >= steps_total(old) else old.steps
    changes = tuple(dict.fromkeys((*old.changes, *new.changes)))
    return msgspec.structs.replace(old, steps=longer, changes=changes)


def steps_total(one: ChangedFile) -> int:
    """How many changes a file's trail counts."""
    return sum(step.times for step in one.steps)


def _decision_key(one: Decision) -> str:
    return fold_text(one.decision)


def _with_rationale(old: Decision, new: Decision) -> Decision:
    return old if old.rationale or not new.rationale else msgspec.structs.replace(old, rationale=new.rationale)


def _stated_again(old: Decision, new: Decision) -> Decision:
    """A statement counts: what was superseded and is decided again stands again."""
    return msgspec.structs.replace(
        _with_rationale(old, new), superseded=new.superseded, superseded_by=new.superseded_by
    )


def _superseded(standing: Iterable[Decision], given_up: set[str], by: str) -> tuple[Decision, ...]:
    return tuple(
        msgspec.structs.replace(one, superseded=True, superseded_by=by) if one.decision in given_up else one
        for one in standing
    )


def _stated_decisions(old: Sequence[Decision], new: Sequence[Decision]) -> tuple[Decision, ...]:
    return _union(old, new, _decision_key, _stated_again)


def _found_again(old: Decision, new: Decision) -> Decision:
    """What the user rejected is struck, whoever stated it."""
    by = new if new.superseded and not old.superseded else old
    return msgspec.structs.replace(_with_rationale(old, new), superseded=by.superseded, superseded_by=by.superseded_by)


def _found_decisions(old: Sequence[Decision], new: Sequence[Decision]) -> tuple[Decision, ...]:
    return _union(old, new, _decision_key, _found_again)


def _orders(old: Sequence[StandingOrder], new: Sequence[StandingOrder]) -> tuple[StandingOrder, ...]:
    """Each once; of two of the same words the one that names its message."""
    return _union(old, new, lambda one: fold_text(one.text), lambda one, other: one if one.message else other)


def _blockers(old: Sequence[Blocker], new: Sequence[Blocker]) -> tuple[Blocker, ...]:
    return _union(old, new, lambda one: fold_text(one.text), lambda _, one: one)


def _stated_errors(old: Sequence[ErrorMet], new: Sequence[ErrorMet]) -> tuple[ErrorMet, ...]:
    """An error that is stated without its place is the known one of the same words."""
    places = {fold_text(one.error): one.where for one in old}
    placed = [
        one if one.where else msgspec.structs.replace(one, where=places.get(fold_text(one.error), "")) for one in new
    ]
    return _union(old, placed, _error_key, lambda one, other: _both_errors(one, other, other.resolution))


def _found_errors(old: Sequence[ErrorMet], new: Sequence[ErrorMet]) -> tuple[ErrorMet, ...]:
    return _union(old, new, _error_key, lambda one, other: _both_errors(one, other, one.resolution))


def _error_key(one: ErrorMet) -> tuple[str, str]:
    return fold_text(one.error), one.where


def _both_errors(old: ErrorMet, new: ErrorMet, resolution: str) -> ErrorMet:
    resolution = resolution or new.resolution or old.resolution
    return msgspec.structs.replace(old, resolution=resolution, times=max(old.times, new.times))


Rule = Callable[[Any, Any], Any]
_BOTH: dict[str, Rule] = {"session_intent": _older, "files_modified": _files, "standing_orders": _orders}
_STATED: dict[str, Rule] = {
    **_BOTH,
    "decisions_made": _stated_decisions,
    "blockers": _blockers,
    "errors_encountered": _stated_errors,
}
_FOUND: dict[str, Rule] = {**_BOTH, "decisions_made": _found_decisions, "errors_encountered": _found_errors}


MAX_TEXT = 2_000
"""Characters of one entry."""
MAX_ENTRIES = 200
"""Entries of one section in one call."""
EXAMPLE = (
    '{"session_intent": "Make the nightly import in etl/load.py survive duplicate rows", '
    '"files_modified": {"etl/load.py": ["skip rows with a known id"]}, '
    '"decisions_made": [{"decision": "Keep the first of two equal rows", "rationale": "the source repeats them"}], '
    '"current_state": "load.py is done, its tests are not", "blockers": ["May old rows be deleted?"], '
    '"errors_encountered": [{"error": "duplicate key value", "resolution": "skipped by id"}], '
    '"next_steps": ["Test with two files"]}'
)


def summary_of(sections: Mapping[str, Any]) -> AnchoredSummary:
    """The sections as a summary; texts without control characters.

    Raises:
        InvalidArgument: an unknown section, a value of the wrong form, or too much; with a correct example.
    """
    fields: dict[str, Any] = {}
    for name, value in sections.items():
        part = part_of_name(name)
        if part is None:
            raise _refused(f"There is no section {tidy(name)[:40]!r}; sections are {', '.join(PARTS)}.")
        if value is None:
            continue
        made = part.form.take(_INCOMING._replace(name=part.field), value)
        old = fields.get(part.field)
        fields[part.field] = (old + made) if isinstance(made, tuple) and isinstance(old, tuple) else made
    return AnchoredSummary(**fields)


def _refused(message: str) -> InvalidArgument:
    return InvalidArgument(message, next=f"Give sections such as {EXAMPLE}")


_INCOMING = Incoming(
    "",
    _refused,
    MAX_TEXT,
    MAX_ENTRIES,
    too_many="fit into one call",
    nameless="An entry of {name} needs the field {key!r}.",
)

# What a summary must not say (placeholders, vague intents), and when it has been compressed too often.


WARN_AFTER = 3
FRESH_AFTER = 10
"""Compressions after which a warning, then the advice to start fresh, stands in the report (seed 003's original)."""

_VAGUE_WORDS = """
    a about all and an any anything app application assist assistant at bug bugs build change changes chat code coding
    context continue conversation develop development do everything feature features finish fix fixing for from general
    get go going help helping i implement implementation in is issue issues it its keep make me my of on our please
    problem problems program programming proceed project request requests session software solve some something stuff
    support task tasks that the them they thing things this to tool try up update updates us use user users various
    want we with work working
"""
_VAGUE = frozenset(_VAGUE_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*")
LEAST_MEANING = 2
"""Words beyond the vague ones that an intent needs; a script without spaces is asked for letters in their place."""
LEAST_LETTERS = 6


def check(new: AnchoredSummary) -> None:
    """Refuse what somebody states with placeholders, or an intent that says nothing.

    Raises:
        InvalidArgument: it names the section and says what to write in its place.
    """
    for section in PARTS:
        if found := open_end_in(getattr(new, section), except_in="where"):
            raise InvalidArgument(
                f"{section} holds a placeholder or an open end ({found[:20]!r}).",
                next="Write what is known, all of it, or leave the section out: what stands there stays.",
            )
    if new.session_intent and is_vague(new.session_intent):
        raise InvalidArgument(
            "session_intent is too vague to go on from.",
            next="Say what is to be built, fixed or found, where, and how one sees that it is done: "
            '"Make the nightly import in etl/load.py survive duplicate rows; tests in tests/test_load.py pass".',
        )


def is_vague(intent: str) -> bool:
    """Whether an intent names nothing that tells this session from any other."""
    words = [word.lower() for word in _WORD.findall(intent)]
    telling = {word for word in words if word not in _VAGUE}
    if any(not word.isascii() for word in telling):
        return sum(map(len, telling)) < LEAST_LETTERS and len(telling) < LEAST_MEANING
    return len(telling) < LEAST_MEANING


def cycle_note(count: int) -> str:
    """What to say of a session that was compressed so often; empty below the first bound."""
    if count >= FRESH_AFTER:
        return (
            f"this was compression {count} of the session: start fresh from its summary "
            "(after ten, a new session costs less than it loses)"
        )
    if count >= WARN_AFTER:
        return f"this was compression {count} of the session: check that the summary still says what matters"
    return ""


# What a model words for a summary: checked entry by entry, labelled, never in the place of what somebody stated.


MOST_ENTRIES = 8
"""Worded entries of one section that a summary keeps."""
MOST_CHARS = 300
"""Of one entry."""
_LABEL = re.compile(r" \(worded by [^()\n]{1,80}, not verified\)$")

Specifics = Callable[[str], AbstractSet[tuple[str, str]]]
"""The specifics of a text, as (class, text)."""


def is_worded(text: str) -> bool:
    """Whether an entry carries the label of a model's wording."""
    return _LABEL.search(text) is not None


def usable(draft: AnchoredSummary, author: str, source: str, specifics: Specifics) -> tuple[AnchoredSummary, int]:
    """The entries that may be used, labelled, and how many may not: they say a specific that the source does not hold,
    hold a placeholder, or are too long."""
    known = specifics(source)
    dropped = 0

    def fine(text: str, more: str = "") -> bool:
        nonlocal dropped
        whole = f"{text}\n{more}"
        good = bool(text.strip()) and len(whole) <= MOST_CHARS and specifics(whole) <= known and _is_clean(text, more)
        dropped += bool(text.strip()) and not good
        return good

    def labelled(text: str) -> str:
        return f"{_LABEL.sub('', text).rstrip()} (worded by {author}, not verified)"

    kept = AnchoredSummary(
        decisions_made=tuple(
            Decision(decision=labelled(one.decision), rationale=one.rationale)
            for one in draft.decisions_made
            if fine(one.decision, one.rationale)
        ),
        standing_orders=tuple(
            StandingOrder(text=labelled(one.text)) for one in draft.standing_orders if fine(one.text)
        ),
        technical_context=tuple(labelled(text) for text in draft.technical_context if fine(text)),
        current_state=labelled(draft.current_state) if fine(draft.current_state) else "",
        blockers=tuple(Blocker(text=labelled(one.text)) for one in draft.blockers if fine(one.text)),
        next_steps=tuple(labelled(text) for text in draft.next_steps if fine(text)),
    )
    return kept, dropped


def _is_clean(text: str, more: str) -> bool:
    try:
        check(AnchoredSummary(decisions_made=(Decision(decision=text, rationale=more),)))
    except InvalidArgument:
        return False
    return True


def worded(kept: AnchoredSummary, draft: AnchoredSummary) -> AnchoredSummary:
    """The summary with a labelled draft. State, steps and open questions that a model worded before are replaced by its
    new ones, where it has any; decisions and context are added to. What anybody stated stays as it is."""
    return msgspec.structs.replace(
        kept,
        decisions_made=_grown(kept.decisions_made, draft.decisions_made, lambda one: one.decision),
        standing_orders=_grown(kept.standing_orders, draft.standing_orders, lambda one: one.text),
        technical_context=_grown(kept.technical_context, draft.technical_context, str),
        current_state=draft.current_state or kept.current_state
        if _is_free([kept.current_state])
        else kept.current_state,
        blockers=_renewed(kept.blockers, draft.blockers, lambda one: one.text),
        next_steps=draft.next_steps[:MOST_ENTRIES] or kept.next_steps if _is_free(kept.next_steps) else kept.next_steps,
    )


def _is_free(texts: Iterable[str]) -> bool:
    return all(not text or is_worded(text) for text in texts)


def _grown(old: Sequence[T], new: Sequence[T], text_of: Callable[[T], str]) -> tuple[T, ...]:
    """Old and new, each once, with at most so many worded ones."""
    known = {_bare(text_of(one)) for one in old}
    room = MOST_ENTRIES - sum(is_worded(text_of(one)) for one in old)
    fresh = [one for one in new if _bare(text_of(one)) not in known]
    return (*old, *fresh[: max(0, room)])


def _renewed(old: Sequence[T], new: Sequence[T], text_of: Callable[[T], str]) -> tuple[T, ...]:
    """Stated ones stay; worded ones give way to new ones, where there are any."""
    if not new:
        return tuple(old)
    stated = [one for one in old if not is_worded(text_of(one))]
    return _grown(stated, new, text_of)


def _bare(text: str) -> str:
    return fold_text(_LABEL.sub("", text))

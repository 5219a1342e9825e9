"""The three gates of seed 004, in their order: what may be forgotten, what is preserved, what stays word for word.

They speak of what is older than the newest messages; those stay whole. Whatever no rule speaks of is preserved.

Which result or call of a session holds the newest version of a file, and which say only what a later one says.

The forget gate: what has been superseded, said again, resolved or given up. Each rule names what shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ..models.items import Item
from ..models.plans import ContextItem, Gate, Policy
from ..models.text import counted
from ..text.specifics.vocabulary import (
    ASKS,
    CRITERIA,
    DEAD_END,
    DECIDED,
    FAILED,
    PASSED,
    PREFERS,
    SUPERSEDES,
    conclusion,
    name_after,
    sentences,
)
from .scene import WORK_MESSAGES, Result, Scene, covers, is_result

_FROM = "offset limit start end start_line end_line startLine endLine line_start line_end"
_PARTS = "view_range lines range ranges pages head tail"
_RANGE = frozenset((*_FROM.split(), *_PARTS.split()))
"""Arguments with which a read shows a part of its file."""

_NAMED = 60
"""Characters of a call by which a reader finds it."""
SAYS_BYTES = 64
"""Shorter results ("no output", "ok") are equal without saying the same."""


class Repeat(NamedTuple):
    """What says a result again."""

    words: str
    """Which later call, for a pointer."""
    lacks: frozenset[str] | None = None
    """As `Result.lines`: those of the result that the later one does not have; None where nobody compared them."""


def repeated(items: Sequence[ContextItem], policy: Policy, scene: Scene | None = None) -> dict[str, Repeat]:
    """Item id -> which later call says it again.

    A read whose lines a later read of the same file shows; a read of a file that was changed since, where a later call
    has all of it; a list of what is to be done in whose place a newer one came, the call with it and its result; and
    any result whose very bytes a later one has.

    Args:
        scene: of these items, where there is one.
    """
    scene = scene or Scene(items, policy)
    found: dict[str, Repeat] = {}
    rules = (_shown_again(scene), _newer_elsewhere(scene, _writes(items)), _newer_list(items, scene), _equal(scene))
    for item_id, repeat in chain.from_iterable(rules):
        found.setdefault(item_id, repeat)
    return found


def same_bytes(items: Sequence[ContextItem], policy: Policy) -> frozenset[str]:
    """Ids of the results whose very bytes a later one has."""
    return frozenset(one.item.id for one, _ in pairs_of_same_bytes(Scene(items, policy)))


def _shown_again(scene: Scene) -> Iterator[tuple[str, Repeat]]:
    for reads in reads_of(scene).values():
        for place, earlier in enumerate(reads):
            later = next((one for one in reversed(reads[place + 1 :]) if covers(one, earlier)), None)
            if later is not None:
                same = later.item.sha256 == earlier.item.sha256
                lacks = frozenset[str]() if same else earlier.lines - later.lines
                differ = ", some lines differ" if lacks else ""
                yield earlier.item.id, Repeat(f"read again later{differ} ({_call(later)})", lacks)


def _newer_elsewhere(scene: Scene, writes: Mapping[str, list[Item]]) -> Iterator[tuple[str, Repeat]]:
    for path, reads in reads_of(scene).items():
        changes = scene.changes.get(path, [])
        if not changes:
            continue
        done = {call for _, call in changes}
        read, written = "read again later", "written anew later"
        whole = [(one.row, _call(one), read) for one in reads if not _RANGE & (one.item.args or {}).keys()]
        whole += [(one.position[0], one.call_id, written) for one in writes.get(path, []) if one.call_id in done]
        for one in reads:
            same = [(other.row, _call(other), read) for other in reads if other.asked == one.asked]
            row, call, how = max((*whole, *same), default=(-1, "", ""))
            if row > one.row and any(row > one.row for row, _ in changes):
                yield one.item.id, Repeat(f"changed since, and {how} ({call})")


def _newer_list(items: Sequence[ContextItem], scene: Scene) -> Iterator[tuple[str, Repeat]]:
    failed = {one.item.unit for one in scene.results if one.item.is_error}
    units: dict[str, list[Item]] = {}
    for entry in items:
        item = entry.item
        if (
            item.kind == "tool_call"
            and item.unit
            and item.unit not in failed
            and entry.state != "gone"
            and is_list(item)
        ):
            units.setdefault(item.tool_name, []).append(item)
    older = {one.unit: calls[-1].call_id or calls[-1].id for calls in units.values() for one in calls[:-1]}
    for entry in items:
        if entry.item.unit in older and entry.state != "gone":
            yield entry.item.id, Repeat(f"a newer list came later ({older[entry.item.unit]})")


def _equal(scene: Scene) -> Iterator[tuple[str, Repeat]]:
    for one, newest in pairs_of_same_bytes(scene):
        yield one.item.id, Repeat(f"the same result came later, {_by(one, newest)} ({_call(newest)})")


def _by(one: Result, later: Result) -> str:
    """Which call gave a result again, in words that a reader can find it by: ids are not shown to every model."""
    if one.asked == later.asked:
        return "of the same call"
    name = " ".join(f"{later.item.tool_name} {later.target}".split())
    return f"of {name if len(name) <= _NAMED else f'{name[:_NAMED]} …'}"


def pairs_of_same_bytes(scene: Scene) -> Iterator[tuple[Result, Result]]:
    """Results whose bytes a later one has too, each with the newest of these."""
    by_hash: dict[str, list[Result]] = {}
    for one in scene.results:
        if one.item.sha256 and one.item.size_bytes >= SAYS_BYTES:
            by_hash.setdefault(one.item.sha256, []).append(one)
    for same in by_hash.values():
        yield from ((one, same[-1]) for one in same[:-1])


def reads_of(scene: Scene) -> Mapping[str, list[Result]]:
    """Path -> the results that show it, oldest first."""
    found: dict[str, list[Result]] = {}
    for one in scene.results:
        if one.verb == "read" and one.target and not one.item.is_error:
            found.setdefault(one.target, []).append(one)
    return found


def _call(one: Result) -> str:
    return one.item.call_id or one.item.id


def newest_versions(
    items: Sequence[ContextItem], policy: Policy, scene: Scene | None = None
) -> tuple[frozenset[str], ...]:
    """What holds the files in work, each file's items together: the file last touched comes first, at most
    `keep_files`.

    A file's newest version is its newest read, or the call that wrote it whole, with the edits after that.

    Args:
        scene: of these items, where there is one.
    """
    if policy.keep_files <= 0:
        return ()
    scene = scene or Scene(items, policy)
    touched: dict[str, int] = {path: rows[-1][0] for path, rows in scene.changes.items()}
    reads = reads_of(scene)
    for path, results in reads.items():
        touched[path] = max(touched.get(path, -1), results[-1].row)
    recent = sorted((path for path, row in touched.items() if scene.age(row) <= WORK_MESSAGES), key=touched.__getitem__)
    writes, edits = _writes(items), _writes(items, "edit")
    return tuple(
        frozenset(_holders(reads.get(path, []), writes.get(path, []), edits.get(path, [])))
        for path in recent[::-1][: policy.keep_files]
    )


def _holders(reads: Sequence[Result], writes: Sequence[Item], edits: Sequence[Item]) -> Iterator[str]:
    read, written = reads[-1] if reads else None, writes[-1] if writes else None
    since = -1
    if read is not None and (written is None or written.position[0] < read.row):
        since = read.row
        yield read.item.id
    elif written is not None:
        since = written.position[0]
        yield written.id
    yield from (one.id for one in edits if one.position[0] > since)


def _writes(items: Sequence[ContextItem], verb: str = "write") -> dict[str, list[Item]]:
    """Path -> the calls that write it whole, or edit it, oldest first."""
    found: dict[str, list[Item]] = {}
    for entry in items:
        item = entry.item
        if item.kind == "tool_call" and item.action is not None and item.action.verb == verb and entry.state != "gone":
            found.setdefault(item.action.target.strip().removeprefix("./"), []).append(item)
    return found


def is_list(item: Item) -> bool:
    """Whether a call hands over a whole list of what is to be done: it leaves as one, under one note, once a newer
    list took its place."""
    return item.action is not None and item.action.verb == "plan"


ANSWER_MESSAGES = 6
"""An answer that says what an output came to stands within so many messages behind it."""
LINE_QUOTED = 16
"""A last line of so many characters that an answer repeats is its conclusion."""
_COUNT = re.compile(r"\b(\d{1,7}) (?:[a-z]+ )?(tests?|passed|passing|failed|failing|failures?|examples?|specs?)\b")


def forgettable(scene: Scene) -> dict[str, str]:
    """Item id -> the evidence that it may be forgotten; the first rule that fits gives it."""
    found: dict[str, str] = {}
    for rule in (_read_again, _changed_since, _resolved, _repeated, _concluded, _dead_ends, _superseded_decisions):
        for item_id, evidence in rule(scene):
            found.setdefault(item_id, evidence)
    return found


def _read_again(scene: Scene) -> Iterator[tuple[str, str]]:
    """A read whose lines a later read of the same file shows again."""
    for path, reads in reads_of(scene).items():
        for place, earlier in enumerate(reads):
            later = next((one for one in reversed(reads[place + 1 :]) if covers(one, earlier)), None)
            if later is not None:
                yield earlier.item.id, f"{path} was read again: {later.item.id}"


def _changed_since(scene: Scene) -> Iterator[tuple[str, str]]:
    """A read of a file that was changed since; not the newest one of a file that is being worked on."""
    for path, reads in reads_of(scene).items():
        changes = scene.changes.get(path, [])
        for one in reads:
            since = next((call for row, call in reversed(changes) if row > one.row), "")
            newest = one is reads[-1]
            if since and not (newest and path in scene.in_work):
                yield one.item.id, f"{path} was changed since: {since}"


def _resolved(scene: Scene) -> Iterator[tuple[str, str]]:
    """An error that a later run of the same call, or of the same command, no longer has."""
    for group in (*scene.by("asked").values(), *scene.by("command").values()):
        for place, one in enumerate(group):
            if one.outcome.failed:
                cure = next((later for later in group[place + 1 :] if cures(later, one)), None)
                if cure is not None:
                    yield one.item.id, f"the same call went well later: {cure.item.id}"


def cures(later: Result, failed: Result) -> bool:
    """Whether a later result shows that a call which failed works now.

    It must say so itself; or be the very same call, without an error of its own, where the host or the exit code had
    marked the first one. What passed a filter proves nothing.
    """
    if later.outcome.failed is False and not later.filtered:
        return True
    return later.outcome.failed is None and later.asked == failed.asked and failed.item.is_error


def _repeated(scene: Scene) -> Iterator[tuple[str, str]]:
    """Exact repeats of any result, and near repeats of the same call: the newest stays."""
    for one, newest in pairs_of_same_bytes(scene):
        yield one.item.id, f"the same bytes stand in {newest.item.id}"
    for group in scene.by("asked").values():
        for earlier, later in pairwise(group):
            if not earlier.outcome.failed and covers(later, earlier):
                yield earlier.item.id, f"the same call gave nearly the same again: {later.item.id}"


def _concluded(scene: Scene) -> Iterator[tuple[str, str]]:
    """An output whose conclusion a later answer repeats: its last line, or the counts of its tests."""
    answers = [item for item in scene.messages if item.role == "assistant"]
    place = 0
    for one in scene.results:
        if one.verb not in ("run", "other") or one.outcome.failed:
            continue
        while place < len(answers) and answers[place].position[0] <= one.row:
            place += 1
        ending = conclusion(one.text)
        last = one.text.rstrip().rpartition("\n")[2].strip()
        for answer in answers[place:]:
            if answer.position[0] > one.row + ANSWER_MESSAGES:
                break
            if _says(scene.texts[answer.id], ending, last):
                yield one.item.id, f"its conclusion stands in {answer.id}"
                break


def _says(answer: str, ending: str, last: str) -> bool:
    if len(last) >= LINE_QUOTED and last in answer:
        return True
    counts = [number for number, _ in _COUNT.findall(ending) if number != "0"]
    return bool(counts and PASSED.search(answer)) and all(re.search(rf"(?<!\w){n}(?!\w)", answer) for n in counts)


def _dead_ends(scene: Scene) -> Iterator[tuple[str, str]]:
    """What somebody calls a dead end by its name, and nobody touched again."""
    groups = scene.by("target")
    names = {path: name for path in groups if (name := _name_of(path))}
    for message in scene.messages:
        text = scene.texts[message.id]
        for cue in (DEAD_END, FAILED):
            for sentence in sentences(text, cue):
                for path, name in names.items():
                    # Of a file, "it did not work" says little: what was done to it did not.
                    if name in sentence and (cue is DEAD_END or " " in path):
                        yield from _given_up(scene, groups[path], path, message.position[0], message.id)


def _given_up(scene: Scene, group: list[Result], path: str, row: int, message: str) -> Iterator[tuple[str, str]]:
    touched = [one.row for one in group] + [changed for changed, _ in scene.changes.get(path, [])]
    if max(touched) > row:
        return
    for one in group:
        if one.verb != "edit":
            yield one.item.id, f"{message} calls {path} a dead end"


def _name_of(target: str) -> str:
    """What a sentence would call it by: a file's name, or a short command; empty where that could be anything."""
    if "\n" in target or len(target) > 120:
        return ""
    name = target.rstrip("/").rpartition("/")[2] if " " not in target else target
    return name if len(name) >= 5 and ("." in name or " " in name) else ""


def _superseded_decisions(scene: Scene) -> Iterator[tuple[str, str]]:
    """A message that settled on something which a later one drops by its name."""
    decided = _decisions(scene)
    if not decided:
        return
    for message in scene.messages:
        for sentence in sentences(scene.texts[message.id], SUPERSEDES):
            for found in SUPERSEDES.finditer(sentence):
                name = name_after(sentence, found.end())
                for earlier, row in decided.get(name.lower(), ()) if len(name) > 2 else ():
                    if row < message.position[0]:
                        yield earlier, f"{message.id} supersedes the decision for {name}"


def _decisions(scene: Scene) -> Mapping[str, list[tuple[str, int]]]:
    """What was settled on, lower-cased -> (message, row)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for message in scene.messages:
        for sentence in sentences(scene.texts[message.id], DECIDED):
            for cue in DECIDED.finditer(sentence):
                name = name_after(
                    sentence, cue.end() + len(sentence[cue.end() :]) - len(sentence[cue.end() :].lstrip())
                )
                if len(name) > 2:
                    found.setdefault(name.lower(), []).append((message.id, message.position[0]))
    return found


UNSURE = "nothing shows that it may be forgotten"
GUIDELINE_FILES = ("SKILL.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", "copilot-instructions.md")
GUIDELINE_TOOLS = ("Skill", "skill", "load_skill", "activate_skill", "use_skill", "read_skill")
PATHS_LOOKED_FOR = 20
"""Of the files in work, so many are looked for in other results."""


def gates(items: Sequence[ContextItem], policy: Policy, *, replaced: bool = False) -> dict[str, Gate]:
    """Item id -> its gate and what shows it, for every item that stands whole in the context. Deterministic.

    Args:
        replaced: also for items that a digest or pointer stands for, as far as it can still be told.
    """
    scene = Scene(items, policy)
    forget, verbatim = forgettable(scene), _word_for_word(scene)
    results = {one.item.id: one for one in scene.results}
    found: dict[str, Gate] = {}
    for entry in items:
        if entry.state == "gone" or (entry.state == "replaced" and not replaced):
            continue
        item = entry.item
        if item.role != "system" and scene.age(item.position[0]) <= policy.keep_last_messages:
            found[item.id] = Gate("verbatim", f"one of the newest {counted(policy.keep_last_messages, 'message')}")
        elif item.id in forget:
            found[item.id] = Gate("forget", forget[item.id])
        elif item.id in verbatim:
            found[item.id] = Gate("verbatim", verbatim[item.id])
        elif is_result(item):
            found[item.id] = Gate("preserve", _in_work(scene, results.get(item.id)) or UNSURE)
        else:
            found[item.id] = Gate("preserve", _said(scene, entry) or UNSURE)
    return found


def _word_for_word(scene: Scene) -> dict[str, str]:
    """The verbatim gate beside the newest messages: code in work, errors in work, persona and guidelines."""
    found: dict[str, str] = {}
    for rule in (_persona, _guidelines, _being_edited, _being_debugged):
        for item_id, evidence in rule(scene):
            found.setdefault(item_id, evidence)
    return found


def _persona(scene: Scene) -> Iterator[tuple[str, str]]:
    for item_id, kind in scene.kinds.items():
        if kind == "system_prompt":
            yield item_id, "the agent's persona and instructions"


def _guidelines(scene: Scene) -> Iterator[tuple[str, str]]:
    """The newest result of each loaded skill or guideline file."""
    newest: dict[str, Result] = {}
    for one in scene.results:
        if one.item.kind == "skill" or one.item.tool_name in GUIDELINE_TOOLS:
            newest[one.asked] = one
        elif one.verb == "read" and one.target.rpartition("/")[2] in GUIDELINE_FILES and not one.item.is_error:
            newest[one.target] = one
    for one in newest.values():
        yield one.item.id, f"loaded guidelines: {one.target or one.item.tool_name}"


def _being_edited(scene: Scene) -> Iterator[tuple[str, str]]:
    """The newest read of every file that was changed a short while ago."""
    newest = {one.target: one for one in scene.results if one.verb == "read" and not one.item.is_error}
    for path in sorted(scene.in_work & newest.keys()):
        yield newest[path].item.id, f"{path} is being edited: {scene.changes[path][-1][1]}"


def _being_debugged(scene: Scene) -> Iterator[tuple[str, str]]:
    """The newest failing result of every command, while it is new and nothing shows that it was resolved."""
    for command, group in {**scene.by("asked"), **scene.by("command")}.items():
        failed = [one for one in group if one.outcome.failed]
        if not failed or scene.age(failed[-1].row) > WORK_MESSAGES:
            continue
        newest = failed[-1]
        if not any(cures(later, newest) for later in group if later.order > newest.order):
            yield newest.item.id, f"an error that is not resolved: {newest.target or command}"


def _in_work(scene: Scene, one: Result | None) -> str:
    """Which file in work a result speaks of."""
    if one is None or not scene.in_work:
        return ""
    if one.target in scene.in_work:
        return f"speaks of {one.target}, which is being worked on"
    path = next((path for path in sorted(scene.in_work)[:PATHS_LOOKED_FOR] if path in one.text), "")
    return f"names {path}, which is being worked on" if path else ""


def _said(scene: Scene, entry: ContextItem) -> str:
    """What makes a message, or another part of the conversation, worth keeping."""
    item = entry.item
    kind = scene.kinds[item.id]
    if kind in ("original_query", "clarify_verification") or item.id == scene.task:
        return "the task as it was given"
    if kind == "tool_call":
        return "the call that its result belongs to"
    text = scene.texts.get(item.id, "")
    speaker = "the user's" if item.role == "user" else "the agent's"
    for words, what in (
        (DECIDED, "decision"),
        (CRITERIA, "criterion"),
        (PREFERS, "preference"),
        (ASKS, "open question"),
    ):
        if words.search(text):
            return f"{speaker} {what}"
    return "the user's feedback" if item.role == "user" else ""


# The citation index: one numbered line a URL, so that `[3]` keeps meaning the same source.


_TRACKING = frozenset({"gclid", "fbclid", "ref", "source", "mc_cid", "mc_eid", "_ga", "_gl"})
"""Query parameters that say where a reader came from, not what is read; and every `utm_…`."""
_ARXIV_VERSION = re.compile(r"^(/(?:abs|pdf|html)/.+?)v\d+(\.pdf)?$")
_SLASHES = re.compile(r"/{2,}")
_AROUND = re.compile(r"^[\s\x00-\x20]+|[\s\x00-\x20]+$")
"""Blanks and control characters: `urlsplit` drops the latter, and what then stands outside would be blank again."""
_ENDING = re.compile(r"[\s\x00-\x20/]+$")
_LINE = re.compile(r"\[(\d+)\] (\S+)")


def canonical_url(url: str) -> str:
    """The form by which two spellings of one source are recognised; not for showing.

    Tracking parameters, fragment, arXiv version and trailing slash go; scheme and host become lower case. What cannot
    be parsed is its own canonical form. Idempotent.
    """
    text = _AROUND.sub("", url)
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return text
    path = _SLASHES.sub("/", parts.path)
    if host in ("arxiv.org", "www.arxiv.org"):
        path = _ARXIV_VERSION.sub(r"\1\2", path)
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _is_tracking(pair))
    user, at, address = parts.netloc.rpartition("@")
    whole = urlunsplit((parts.scheme, user + at + address.lower(), _ENDING.sub("", path), query, ""))
    return _AROUND.sub("", whole)


def parse_lines(lines: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Canonical URL -> (number, URL as shown) of an index's lines. Other lines are ignored; the first number wins."""
    known: dict[str, tuple[int, str]] = {}
    for line in lines:
        if (found := _LINE.fullmatch(line.strip())) is not None:
            known.setdefault(canonical_url(found[2]), (int(found[1]), found[2]))
    return known


def index_lines(lines: Iterable[str], urls: Iterable[str]) -> tuple[str, ...]:
    """The index after more URLs: `[1] https://…`, by number.

    A URL that is known in any spelling keeps its number and the spelling it came with first; a new one gets the next
    number above the highest. Empty URLs are skipped, and white space inside one is written as %20, so that every line
    is one entry. Numbers are never given twice.
    """
    known = parse_lines(lines)
    for url in urls:
        shown = "%20".join(url.split())
        if shown and (key := canonical_url(shown)) not in known:
            known[key] = (1 + max((number for number, _ in known.values()), default=0), shown)
    return tuple(f"[{number}] {shown}" for number, shown in sorted(known.values()))


def _is_tracking(pair: str) -> bool:
    name = pair.partition("=")[0].lower()
    return name.startswith("utm_") or name in _TRACKING

"""The forget gate: what has been superseded, said again, resolved or given up. Each rule names what shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise

import msgspec

from ..models.items import Item, content_text
from ..models.plans import ContextItem, Policy
from ..text.specifics.cues import (
    DEAD_END,
    DECIDED,
    FAILED,
    PASSED,
    SUPERSEDES,
    Outcome,
    conclusion,
    name_after,
    outcome_of,
    sentences,
)
from .arguments import is_list

# Which kind an item is under a policy, and which kinds may leave at all.

_TALK = "message original_query clarify_verification system_prompt tool_call thinking"
_MEDIA = "image document host_block digest_part"
CONVERSATION = frozenset((*_TALK.split(), *_MEDIA.split()))
"""What carries the conversation itself, and stays so that calls stay paired and turns readable; and digests that came
with a parent session: none is digested again (L16)."""

LEAVING = frozenset({"tool_result", "evidence", "restored_copy"})
"""What a pass may take. Another kind may leave only where it is the result of a call."""


def kind_under(item: Item, policy: Policy) -> str:
    """The item's kind: its own where it says one, else by its tool (`kind_by_tool`)."""
    if item.kind == "tool_result" and item.tool_name:
        return policy.kind_by_tool.get(item.tool_name, item.kind)
    return item.kind


def never_leaves(kind: str, policy: Policy) -> bool:
    """Whether the policy protects the kind.

    The two `keep_all_…` flags count by themselves. Rubrics come inside the result of the clarifying tool, so keeping
    them keeps that result too.
    """
    if kind in policy.never_compact:
        return True
    if policy.keep_all_citations_index and kind == "citation_index":
        return True
    return policy.keep_all_rubrics and kind in ("rubrics", "clarify_result")


def may_leave(item: Item, kind: str) -> bool:
    """Whether items of this kind can be replaced, before any rule that protects this one."""
    return kind in LEAVING or _answers_a_call(item)


def is_result(item: Item) -> bool:
    """Whether the item is a result of a call, whatever kind a policy makes of it."""
    return item.kind in LEAVING or _answers_a_call(item)


def _answers_a_call(item: Item) -> bool:
    return item.kind not in CONVERSATION and (item.role == "tool" or bool(item.unit))


# What a session is about just now, as far as its calls and words show it: what the gates and the scorer look at.


WORK_MESSAGES = 20
"""What was touched within so many newest messages is being worked on: ten answers of an agent."""
READ_CHARS = 60_000
"""Of a result, so much is compared with others."""

_SPACES = re.compile(r"\s+")
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|:|\|)\s?")
_LINE = 8
"""Shorter lines (brackets, blanks) say nothing about whether two texts are the same."""


class Result:
    """One result of a call, with what its call says. Texts are read when somebody asks."""

    def __init__(self, entry: ContextItem, order: int) -> None:
        self.entry = entry
        self.item: Item = entry.item
        self.order = order
        """Place among all present items."""
        self.verb: str = entry.item.action.verb if entry.item.action else "other"
        self.target = _plain(entry.item.action.target) if entry.item.action else ""

    @property
    def row(self) -> int:
        """Its message."""
        return self.item.position[0]

    @cached_property
    def text(self) -> str:
        """The beginning of its original text."""
        return content_text(self.item.content)[:READ_CHARS]

    @cached_property
    def outcome(self) -> Outcome:
        """Whether it says that the call failed. Of a log that was only read, errors are what it is about, not how the
        call went: of anything but a command, the host's own mark counts alone."""
        if self.verb != "run" and not self.item.is_error:
            return Outcome(False if self.item.content else None, "")
        return outcome_of(content_text(self.item.content), is_error=self.item.is_error)

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines that say something, without the line numbers that some tools print."""
        bare = (_NUMBERED.sub("", line).strip() for line in self.text.splitlines())
        return frozenset(line for line in bare if len(line) >= _LINE)

    @cached_property
    def asked(self) -> str:
        """The same for two calls that ask the same thing: tool, or verb and target, and every other argument."""
        return f"{self.item.tool_name} {_spaced(_args(self.item.args))}"

    @property
    def command(self) -> str:
        """The command without the filters behind it: `npm test 2>&1 | tail -5` asks the same as `npm test`."""
        return _SPACES.sub(" ", self.target.partition(" |")[0].replace("2>&1", "")).strip()

    @property
    def filtered(self) -> bool:
        """Only a part of the command's output is here: what is missing in it proves nothing."""
        return " |" in self.target


class Scene:
    """The present items of one agent's context, by what they are."""

    def __init__(self, items: Sequence[ContextItem], policy: Policy) -> None:
        present = [entry for entry in items if entry.state != "gone"]
        self.kinds = {entry.item.id: kind_under(entry.item, policy) for entry in present}
        self.results = [Result(entry, order) for order, entry in enumerate(present) if is_result(entry.item)]
        self.messages = [
            entry.item
            for entry in present
            if entry.item.role in ("user", "assistant")
            and self.kinds[entry.item.id] in ("message", "original_query", "clarify_verification")
        ]
        self.changes = _changes(present, self.results)
        rows = sorted({entry.item.position[0] for entry in present if entry.item.role != "system"}, reverse=True)
        self.rows: Mapping[int, int] = {row: age for age, row in enumerate(rows, 1)}
        """Message -> its age, 1 is the newest."""

    def age(self, row: int) -> int:
        """1 for the newest message; as old as can be for one that is unknown."""
        return self.rows.get(row, len(self.rows) + 1)

    @cached_property
    def task(self) -> str:
        """Id of the first thing that the user said; empty where nothing was."""
        return next((item.id for item in self.messages if item.role == "user"), "")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Message id -> what it says."""
        return {item.id: content_text(item.content) for item in self.messages}

    @cached_property
    def in_work(self) -> frozenset[str]:
        """Paths that were changed within the newest `WORK_MESSAGES` messages."""
        return frozenset(path for path, rows in self.changes.items() if self.age(rows[-1][0]) <= WORK_MESSAGES)

    def by(self, key: str) -> dict[str, list[Result]]:
        """Results grouped by `target`, `asked` or `command`, oldest first; empty keys are left out."""
        groups: dict[str, list[Result]] = {}
        for one in self.results:
            if value := getattr(one, key):
                groups.setdefault(value, []).append(one)
        return groups


def _changes(present: Iterable[ContextItem], results: Sequence[Result]) -> dict[str, list[tuple[int, str]]]:
    """Path -> (message, id of the call) of every change that did not fail, oldest first."""
    failed = {one.item.unit for one in results if one.item.is_error and one.item.unit}
    changes: dict[str, list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for entry in present:
        item = entry.item
        unit = item.unit or item.id
        if item.action is None or item.action.verb not in ("write", "edit") or unit in failed or unit in seen:
            continue
        seen.add(unit)
        if path := _plain(item.action.target):
            changes.setdefault(path, []).append((item.position[0], item.call_id or item.id))
    return changes


def covers(later: Result, earlier: Result) -> bool:
    """Whether nearly everything that an earlier result shows stands in a later one too."""
    if later.item.sha256 and later.item.sha256 == earlier.item.sha256:
        return True
    lines = earlier.lines
    return bool(lines) and len(lines & later.lines) >= SAME_SHARE * len(lines)


SAME_SHARE = 0.9
"""Share of an earlier text's lines that a later one must have to stand for it."""


def _plain(target: str) -> str:
    return target.strip().removeprefix("./")


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", text)


def _args(args: object) -> str:
    try:
        return msgspec.json.encode(args, order="sorted", enc_hook=str).decode()
    except ValueError:  # half of a surrogate pair
        return json.dumps(args, sort_keys=True, default=str)


ANSWER_MESSAGES = 6
"""An answer that says what an output came to stands within so many messages behind it."""
LINE_QUOTED = 16
"""A last line of so many characters that an answer repeats is its conclusion."""
_NAMED = 60
"""Characters of a call by which a reader finds it."""
SAYS_BYTES = 64
"""Shorter results ("no output", "ok") are equal without saying the same."""
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
    for path, reads in _reads(scene).items():
        for place, earlier in enumerate(reads):
            later = next((one for one in reversed(reads[place + 1 :]) if covers(one, earlier)), None)
            if later is not None:
                yield earlier.item.id, f"{path} was read again: {later.item.id}"


def _changed_since(scene: Scene) -> Iterator[tuple[str, str]]:
    """A read of a file that was changed since; not the newest one of a file that is being worked on."""
    for path, reads in _reads(scene).items():
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
    for one, newest in _same_bytes(scene):
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


# Which result or call of a session holds the newest version of a file, and which say only what a later one says.

_FROM = "offset limit start end start_line end_line startLine endLine line_start line_end"
_PARTS = "view_range lines range ranges pages head tail"
_RANGE = frozenset((*_FROM.split(), *_PARTS.split()))
"""Arguments with which a read shows a part of its file."""


def repeated(items: Sequence[ContextItem], policy: Policy) -> dict[str, str]:
    """Item id -> which later call says it again, in words for a pointer.

    A read whose lines a later read of the same file shows; a read of a file that was changed since, where a later call
    has all of it; a list of what is to be done in whose place a newer one came, the call with it and its result; and
    any result whose very bytes a later one has.
    """
    scene = Scene(items, policy)
    found: dict[str, str] = {}
    rules = (_shown_again(scene), _newer_elsewhere(scene, _writes(items)), _newer_list(items, scene), _equal(scene))
    for item_id, words in chain.from_iterable(rules):
        found.setdefault(item_id, words)
    return found


def same_bytes(items: Sequence[ContextItem], policy: Policy) -> frozenset[str]:
    """Ids of the results whose very bytes a later one has."""
    return frozenset(one.item.id for one, _ in _same_bytes(Scene(items, policy)))


def _shown_again(scene: Scene) -> Iterator[tuple[str, str]]:
    for reads in _reads(scene).values():
        for place, earlier in enumerate(reads):
            later = next((one for one in reversed(reads[place + 1 :]) if covers(one, earlier)), None)
            if later is not None:
                whole = later.item.sha256 == earlier.item.sha256 or earlier.lines <= later.lines
                yield earlier.item.id, f"read again later{'' if whole else ', some lines differ'} ({_call(later)})"


def _newer_elsewhere(scene: Scene, writes: Mapping[str, list[Item]]) -> Iterator[tuple[str, str]]:
    for path, reads in _reads(scene).items():
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
                yield one.item.id, f"changed since, and {how} ({call})"


def _newer_list(items: Sequence[ContextItem], scene: Scene) -> Iterator[tuple[str, str]]:
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
            yield entry.item.id, f"a newer list came later ({older[entry.item.unit]})"


def _equal(scene: Scene) -> Iterator[tuple[str, str]]:
    for one, newest in _same_bytes(scene):
        yield one.item.id, f"the same result came later, {_by(one, newest)} ({_call(newest)})"


def _by(one: Result, later: Result) -> str:
    """Which call gave a result again, in words that a reader can find it by: ids are not shown to every model."""
    if one.asked == later.asked:
        return "of the same call"
    name = " ".join(f"{later.item.tool_name} {later.target}".split())
    return f"of {name if len(name) <= _NAMED else f'{name[:_NAMED]} …'}"


def _same_bytes(scene: Scene) -> Iterator[tuple[Result, Result]]:
    """Results whose bytes a later one has too, each with the newest of these."""
    by_hash: dict[str, list[Result]] = {}
    for one in scene.results:
        if one.item.sha256 and one.item.size_bytes >= SAYS_BYTES:
            by_hash.setdefault(one.item.sha256, []).append(one)
    for same in by_hash.values():
        yield from ((one, same[-1]) for one in same[:-1])


def _reads(scene: Scene) -> Mapping[str, list[Result]]:
    """Path -> the results that show it, oldest first."""
    found: dict[str, list[Result]] = {}
    for one in scene.results:
        if one.verb == "read" and one.target and not one.item.is_error:
            found.setdefault(one.target, []).append(one)
    return found


def _call(one: Result) -> str:
    return one.item.call_id or one.item.id


def newest_versions(items: Sequence[ContextItem], policy: Policy) -> tuple[frozenset[str], ...]:
    """What holds the files in work, each file's items together: the file last touched comes first, at most
    `keep_files`.

    A file's newest version is its newest read, or the call that wrote it whole, with the edits after that.
    """
    if policy.keep_files <= 0:
        return ()
    scene = Scene(items, policy)
    touched: dict[str, int] = {path: rows[-1][0] for path, rows in scene.changes.items()}
    reads = _reads(scene)
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

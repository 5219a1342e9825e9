"""Which result or call of a session holds the newest version of a file, and which say only what a later one says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ..models.items import Item
from ..models.plans import ContextItem, Policy
from .scene import WORK_MESSAGES, Result, Scene, covers

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


def repeated(items: Sequence[ContextItem], policy: Policy) -> dict[str, Repeat]:
    """Item id -> which later call says it again.

    A read whose lines a later read of the same file shows; a read of a file that was changed since, where a later call
    has all of it; a list of what is to be done in whose place a newer one came, the call with it and its result; and
    any result whose very bytes a later one has.
    """
    scene = Scene(items, policy)
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


def newest_versions(items: Sequence[ContextItem], policy: Policy) -> tuple[frozenset[str], ...]:
    """What holds the files in work, each file's items together: the file last touched comes first, at most
    `keep_files`.

    A file's newest version is its newest read, or the call that wrote it whole, with the edits after that.
    """
    if policy.keep_files <= 0:
        return ()
    scene = Scene(items, policy)
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

"""Is everything whole, and what has it brought: verify and status.

What is missing from a store, in words: what it was, what can be had back from where, and by which command.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from ..context.fold import Fold
from ..context.view import lost_holders, present_items, standing_holders
from ..errors import StoreError, StoreUnusable
from ..models.advice import Advice, Step, step
from ..models.events import ReplacedBatch, SessionInfo, SessionKey
from ..models.items import content_sha256
from ..models.records import KEPT, OffloadRecord
from ..models.reports import Repair, Saved
from ..models.text import counted, verb
from ..models.views import Finding, StoreStatus, VerifyReport
from ..ports.store import DiskUse, Flaw
from ..store.home import SECRET, VERSION, folder_name
from .batch import Copies, masks_in, original_text
from .dependencies import Dependencies
from .offloaded import saved_by
from .sessions import Sessions, opened_fold

TOMBSTONES = "purged.jsonl"
_AS_IT_IS = "what stands there now"


class Flaws(msgspec.Struct, frozen=True, kw_only=True):
    """The flaws of a store, by what they concern."""

    of_sessions: Mapping[str, tuple[Flaw, ...]]
    """By session id; each session that is there has an entry."""
    gone: Mapping[str, tuple[Flaw, ...]]
    """By folder: sessions of which nothing is left that says who they are."""
    beside: tuple[Flaw, ...]
    """What belongs to no session."""

    def misses_events(self, info: SessionInfo) -> bool:
        """Whether lines of the session's ledger are known to be lost."""
        return any(one.severity == "damage" and _part(one) == "ledger" for one in self.of_sessions[info.session_id])

    def misses_tombstones(self, info: SessionInfo) -> bool:
        """Whether the list of what was purged is gone."""
        return any(one.severity == "damage" and _part(one) == TOMBSTONES for one in self.of_sessions[info.session_id])

    def findings(self, infos: Sequence[SessionInfo], *, whole: bool) -> list[Finding]:
        """Of the sessions named; with `whole` of everything."""
        found = [one for info in infos for one in _of_session(info, self.of_sessions[info.session_id])]
        if not whole:
            return found
        found += [_gone(folder, flaws) for folder, flaws in self.gone.items()]
        return found + [_beside(one) for one in self.beside if not _unwitnessed(one)] + _guarded("", self.beside)

    def repairs(self, infos: Sequence[SessionInfo], told: Sequence[Repair], *, whole: bool) -> list[Repair]:
        """What a repair can do about them, and what nobody can.

        Args:
            told: what was said of single lines; their segments are not named once more.
        """
        groups = [(info.handle, self.of_sessions[info.session_id]) for info in infos]
        if whole:
            groups += [*self.gone.items(), ("", self.beside)]
        places = "\n".join(one.where for one in told)
        new = [
            (who, [one for one in flaws if f"{one.where.split('/')[-1]} at byte" not in places])
            for who, flaws in groups
        ]
        return [one for who, flaws in new for one in _repairs(who, flaws)]


def sorted_flaws(flaws: Sequence[Flaw], infos: Sequence[SessionInfo], principal: str, *, whole: bool) -> Flaws:
    """Flaws by session.

    Args:
        infos: every session that may be asked about.
        whole: the caller is the store's owner, who hears of what belongs to nobody and of other principals' sessions.
    """
    folders = {folder_name(SessionKey(info.session_id, principal)): info.session_id for info in infos}
    of_sessions: dict[str, list[Flaw]] = {info.session_id: [] for info in infos}
    gone: defaultdict[str, list[Flaw]] = defaultdict(list)
    beside: list[Flaw] = []
    for one in flaws:
        kind, _, rest = one.where.partition("/")
        folder = rest.partition("/")[0]
        if kind != "session":
            beside.append(one)
        elif folder in folders:
            of_sessions[folders[folder]].append(one)
        elif one.severity == "damage" and whole:
            gone[folder].append(one)
    return Flaws(
        of_sessions={name: tuple(found) for name, found in of_sessions.items()},
        gone={name: tuple(found) for name, found in gone.items()},
        beside=tuple(beside) if whole else (),
    )


def _of_session(info: SessionInfo, flaws: Sequence[Flaw]) -> list[Finding]:
    found = [_in_session(info, one) for one in flaws if not _unwitnessed(one)]
    return found + _guarded(info.handle, flaws)


def _in_session(info: SessionInfo, one: Flaw) -> Finding:
    where = f"{info.handle} {one.where.split('/', 2)[2]}"
    return Finding(where=where, what=_what(one), severity=one.severity, next=_next(info, one))


def _next(info: SessionInfo, one: Flaw) -> str:
    if one.severity == "note":
        return _accept(info.handle) if one.acceptable else ""
    copy = f"Copy {one.where} back from a backup of the store"
    part = _part(one)
    if part == "ledger":
        originals = step("list_offloaded", session_id=info.handle)
        if info.path:
            again = step("record_again", path=info.path, session_id=info.session_id)
            told = (
                "without one, what its file still has is recorded again by {}, and what is archived comes back by {}."
            )
            return Advice(f"{copy}; {told}", again, originals)
        return Advice(f"{copy}; without one, what is archived comes back batch by batch: {{}}", originals)
    if part == "offloaded":
        return f"{copy}; what is left of each batch without one is said beside this."
    if part == TOMBSTONES:
        return Advice("{} makes it again from the ledger.", repair_now(info.handle))
    if part.startswith("summary"):
        return f"{copy}; without one, the next pass makes a new one from the ledger."
    return f"{copy}."


def _gone(folder: str, flaws: Sequence[Flaw]) -> Finding:
    events = sum(one.lines for one in flaws if _part(one) == "ledger")
    records = sum(one.lines for one in flaws if _part(one) == "offloaded")
    held = f"{counted(events, 'event')} and {counted(records, 'record')} in {counted(len(flaws), 'file')}"
    return Finding(
        where=f"session/{folder}",
        what=f"the whole session is missing: it had {held}",
        severity="damage",
        next=f"Copy session/{folder} back from a backup of the store, or import a file that `export` wrote of it.",
    )


def _beside(one: Flaw) -> Finding:
    if one.severity == "note":
        return Finding(where=one.where, what=_what(one), severity="note", next=_accept("") if one.acceptable else "")
    next: str = f"Copy {one.where} back from a backup of the store."
    if one.where in (VERSION, SECRET):
        next = Advice(f"{next[:-1]}; without one: {{}} makes a new one.", repair_now(""))
    return Finding(where=one.where, what=_what(one), severity="damage", next=next)


def _guarded(handle: str, flaws: Sequence[Flaw]) -> list[Finding]:
    """One finding for all that has no witness."""
    without = [one for one in flaws if _unwitnessed(one)]
    if not without:
        return []
    return [
        Finding(
            where=handle or without[0].where,
            what=f"{counted(len(without), 'file')} without a witness, which an older program wrote or which lost it: "
            "what goes missing there is not noticed",
            severity="note",
            next=_accept(handle),
        )
    ]


def _repairs(who: str, flaws: Sequence[Flaw]) -> list[Repair]:
    found = [one for flaw in flaws if not _unwitnessed(flaw) and (one := _repair(who, flaw))]
    if without := sum(map(_unwitnessed, flaws)):
        what = f"{counted(without, 'file')} without a witness"
        found.append(Repair(where=who or "the store", what=what, source=_AS_IT_IS))
    return found


def _repair(who: str, one: Flaw) -> Repair | None:
    where = f"{who} {one.where.split('/', 2)[2]}" if one.where.startswith("session/") else one.where
    if _part(one) == TOMBSTONES and one.severity == "damage":
        return Repair(where=where, what="what was purged", source="the ledger")
    if one.where == VERSION:
        return Repair(where=where, what=one.what, source="what this program writes")
    if one.where == SECRET:
        what = f"{one.what}: marks made before it was lost are not those made from now on"
        return Repair(where=where, what=what, source="a new one")
    if one.acceptable:
        return Repair(where=where, what=one.what, source=_AS_IT_IS)
    if _part(one) == "offloaded":
        return None  # which copies of its batches are left is told batch by batch
    return Repair(where=where, what=one.what, source="", lost=(_held(one),)) if one.severity == "damage" else None


def _what(one: Flaw) -> str:
    return f"{one.what}: it had {_held(one)}" if one.what == "is missing" and one.size else one.what


def _held(one: Flaw) -> str:
    if _part(one) in ("ledger", "offloaded") and one.lines:
        return counted(one.lines, "event" if _part(one) == "ledger" else "record")
    return f"{one.size:,} bytes" if one.size else "what it said"


def _part(one: Flaw) -> str:
    """`ledger`, `offloaded` or the name of a file in a session's folder."""
    return one.where.split("/")[2] if one.where.startswith("session/") else ""


def _unwitnessed(one: Flaw) -> bool:
    return one.acceptable and "witness" in one.what


def _accept(handle: str) -> Advice:
    return Advice("{} takes what stands there now, and notices from then on.", repair_now(handle))


def repair_now(handle: str) -> Step:
    return step("repair_now", **({"session_id": handle} if handle else {}))


STANDING_TOKENS = 1_300
"""o200k tokens of our tool list (name, description, input schema), which each session that attaches us pays. A test
keeps it equal to the real list, rounded up to the next hundred."""
RECENT = 5
_MARK = re.compile(r"(\[redacted:[a-z0-9][a-z0-9_-]{0,63}):[g-v]{8}\]")
CHECKED_ITEMS = 1_000
"""Of so many items of a session its checkpoint is asked by `verify`, spread over all of them."""


async def verify(deps: Dependencies, sessions: Sessions, only: SessionInfo | None = None) -> VerifyReport:
    """Check every event, record and item of one session, or of all, against checksums, hashes and each other, and count
    the specifics of every digest again. With all of them go the handoffs."""
    every = await sessions.all()
    infos = (only,) if only else every
    from .handoff_files import verify_handoffs

    handoffs, wrong = (0, []) if only else await verify_handoffs(deps)
    told = tuple(one.where for one in wrong)
    missed = [one for one in await deps.store.flaws() if not _is_told(one, told)]
    flaws = sorted_flaws(missed, every, deps.principal, whole=deps.is_owner)
    findings = flaws.findings(infos, whole=only is None)
    records = items = events = 0
    for info in infos:
        key = sessions.key(info)
        page = await deps.store.ledger.read(key)
        events += len(page.events)
        fold = Fold(page.events)
        findings += [_damage(info, one.where, one.what) for one in page.damage]
        findings += [_damage(info, one.where, one.what) for one in await deps.store.archive.damage(key)]
        findings += [
            Finding(where=f"{info.handle} rev {rev}", what="two decisions with one revision", severity="note")
            for rev in sorted(fold.conflicts)
        ]
        if (await deps.store.tombstones(key)).under_way:
            what = "a purge was interrupted: what it is about may still be stored, and is not given back"
            next = Advice("{} goes on with it.", repair_now(info.handle))
            findings.append(Finding(where=info.handle, what=what, severity="damage", next=next))
        short = flaws.misses_events(info) or bool(page.damage)
        findings += _lost(info, fold)
        findings += await _checkpoint_damage(deps, info, key)
        findings += await _summary(deps, info, key)
        seen: set[str] = set()
        async for record in deps.store.archive.records(key):
            records += 1
            items += len(record.items)
            seen.add(record.batch_id)
            compared = _as_accepted(fold, record.batch_id, _compare(info, fold, record, short))
            findings += compared
            if not any(one.severity == "damage" for one in compared):
                findings += await asyncio.to_thread(_recounted, deps, info, fold, record)
        for batch_id in sorted(fold.decided.batches.keys() - seen):
            if fold.decided.batches[batch_id].state != "purged":
                findings += _as_accepted(fold, batch_id, [await _missing(deps, sessions, info, batch_id)])
    return VerifyReport(
        sessions=len(infos),
        records=records,
        items=items,
        events=events,
        findings=(*findings, *wrong),
        handoffs=handoffs,
    )


async def _checkpoint_damage(deps: Dependencies, info: SessionInfo, key: SessionKey) -> list[Finding]:
    """Whether a session that is opened at its checkpoint adds up to what all its events do."""
    ledger = deps.store.ledger
    checkpoint = await ledger.checkpoint(key)
    opened = None if checkpoint is None else opened_fold(checkpoint)
    if checkpoint is None or opened is None:
        return []
    opened.add((await ledger.read(key, checkpoint.cursor)).events)
    if opened.is_whole:  # what came since, as decisions of several writers, cannot be summed: it counts for nothing
        return []
    try:
        whole = await asyncio.to_thread(opened.read)
    except StoreUnusable:
        return []  # a segment that the disk does not give back is told with the ledger's damage
    names = () if whole is None else [*whole.states][:: max(1, len(whole.states) // CHECKED_ITEMS)]
    states = [opened.state(name) for name in names]  # before the sums: asking for one may have everything read
    said = opened.sums()  # may have everything counted anew, as many looks do: then it says nothing of the checkpoint
    if opened.is_wrong or whole is None:
        what = "its checkpoint names lines that are not there"
    elif not opened.is_whole and (said.comparable() if said else None) != (
        right.comparable() if (right := whole.sums()) else None
    ):
        what = "its checkpoint adds up to something else than its events"
    elif states != [whole.state(name) for name in names]:
        what = "its checkpoint leads to other items than its events"
    else:
        return []
    next = Advice("{} takes it away: it is only a cache.", repair_now(info.handle))
    return [Finding(where=info.handle, what=what, severity="damage", next=next)]


async def damaged_batches(deps: Dependencies, sessions: Sessions, info: SessionInfo) -> tuple[str, ...]:
    """Committed batches of a session of which something is lost: their record, or what it must agree on."""
    fold = await sessions.fold(info)
    seen: set[str] = set()
    found: list[str] = []
    async for record in deps.store.archive.records(sessions.key(info)):
        seen.add(record.batch_id)
        if any(one.severity == "damage" for one in _compare(info, fold, record, short=False)):
            found.append(record.batch_id)
    missing = fold.decided.batches.keys() - seen
    found += [one for one in missing if fold.decided.batches[one].state != "purged"]
    return tuple(sorted(found))


def _as_accepted(fold: Fold, batch_id: str, found: list[Finding]) -> list[Finding]:
    """What is lost of a batch is a note, once the user went on without it."""
    if batch_id not in fold.accepted:
        return found
    return [
        msgspec.structs.replace(one, severity="note", what=f"{one.what}; the loss was accepted", next="")
        if one.severity == "damage"
        else one
        for one in found
    ]


def _is_told(one: Flaw, paths: tuple[str, ...]) -> bool:
    """Whether what is wrong with a handoff was said by somebody who read it."""
    return any(PurePath(path).as_posix().endswith(f"/{one.where}") for path in paths)


async def _missing(deps: Dependencies, sessions: Sessions, info: SessionInfo, batch_id: str) -> Finding:
    """A committed batch without a whole record. A repair is named only where it can do something."""
    rebuilt = await Copies(deps, sessions).rebuilt(info, batch_id)
    if rebuilt is None or not rebuilt.only_digest_lost:
        return _damage(info, batch_id, "replaced in the context, but its record is not in the archive")
    what = f"its record is not in the archive, so its digest is gone; every original is whole in {rebuilt.source}"
    next = Advice("Nothing more can be mended; every original comes back: {}", _restore(info, batch_id))
    return Finding(where=f"{info.handle} {batch_id}", what=what, severity="damage", next=next)


def _compare(info: SessionInfo, fold: Fold, record: OffloadRecord, short: bool) -> list[Finding]:
    """A record against its own hashes and against the line that committed it.

    Args:
        short: lines of the ledger are lost, the one that committed it may be among them.
    """
    found: list[Finding] = []
    for item in record.items:
        if item.purged:
            continue
        if content_sha256(item.result) != item.sha256:
            found.append(_damage(info, f"{record.batch_id} {item.id}", "the original does not match its hash"))
        if content_sha256(record.part(item)) != item.digest_sha256:
            found.append(_damage(info, f"{record.batch_id} {item.id}", "the digest part does not match its hash"))
    batch = fold.decided.batches.get(record.batch_id)
    if batch is None and record.digester != KEPT:
        what = "archived but never committed (a pass was interrupted); the context was not changed"
        next: str = "Nothing: the next pass uses it, and restore works."
        if short:
            what = "archived; no line that is left of the ledger says whether it was committed"
            next = Advice("Its originals are whole: {}", _restore(info, record.batch_id))
        found.append(Finding(where=f"{info.handle} {record.batch_id}", what=what, severity="note", next=next))
    elif batch is not None and not _agree(batch.info, record):
        found.append(_damage(info, record.batch_id, "ledger and archive disagree on its parts"))
    return found


def _agree(committed: ReplacedBatch, record: OffloadRecord) -> bool:
    """Whether what was committed is what the record holds. A part that the host writes in a form of its own is told
    by the digest's hash, and that form by its own."""
    parts = {item.id: item.digest_sha256 for item in record.items}
    if {item.id for item in committed.items} != parts.keys():
        return False
    return all(
        item.part_sha256 == parts[item.id]
        if item.part is None
        else content_sha256(item.part) == item.part_sha256 and committed.digest_sha256 == record.digest_sha256
        for item in committed.items
    )


def _recounted(deps: Dependencies, info: SessionInfo, fold: Fold, record: OffloadRecord) -> list[Finding]:
    """Its specifics counted again from its originals, where registry and masks are those of then (D12)."""
    batch = fold.decided.batches.get(record.batch_id)
    purged = batch is not None and (batch.state == "purged" or batch.purged_items)
    if record.registry != deps.registry.version or purged or any(item.result is None for item in record.items):
        return []
    from ..digest.verdict import recount
    from .compaction.digests import source_of

    masked = deps.redactor.redact_all([original_text(item) for item in record.items])
    if masks_in(masked) != dict(sorted(record.redaction.items())):
        what = "masked by other rules than today's: hashes checked, specifics not counted again"
        return [Finding(where=f"{info.handle} {record.batch_id}", what=what, severity="note")]
    parts = [(source_of(item, one), record.part(item)) for item, one in zip(record.items, masked, strict=True)]
    found = recount(parts, record.specifics, deps.registry, digester=record.digester)
    if found and any(_MARK.search(part) for _, part in parts):  # it may have been masked in another store
        bare = [(msgspec.structs.replace(one, text=_bare(one.text)), _bare(part)) for one, part in parts]
        found = recount(bare, record.specifics, deps.registry, digester=record.digester)
    return [_damage(info, record.batch_id, f"its digest is not what was verified: {what}") for what in found]


def _bare(text: str) -> str:
    """A text whose masks say of what sort a secret is, not which of them: that every store spells in its own way."""
    return _MARK.sub(r"\1]", text)


def _lost(info: SessionInfo, fold: Fold) -> list[Finding]:
    """Digests say where the rest stands; what is no longer there counts as left out (D9)."""
    lost = lost_holders(fold, standing_holders(fold, present_items(fold)))
    if not lost:
        return []
    words = verb(lost, "counts as left out: what showed it", "count as left out: what showed them")
    what = f"{counted(lost, 'specific')} of its digests {words} left the context"
    return [Finding(where=info.handle, what=what, severity="note", next="Nothing: restore gives the originals back.")]


async def _summary(deps: Dependencies, info: SessionInfo, key: SessionKey) -> list[Finding]:
    """A summary that cannot be read costs nothing but what was stated in it: the ledger gives the rest."""
    try:
        note = (await deps.store.summaries.get(key)).note
    except StoreError as error:
        note = error.message
    where = f"{info.handle} summary.md"
    next = "Mend its headings by hand, or leave it: the next pass keeps it aside and makes a new one."
    return [Finding(where=where, what=note, severity="note", next=next)] if note else []


def _damage(info: SessionInfo, where: str, what: str) -> Finding:
    see = step("repair", session_id=info.handle)
    next = Advice("See what other copies can make up for: {}; without one take a backup.", see)
    return Finding(where=f"{info.handle} {where}", what=what, severity="damage", next=next)


def _restore(info: SessionInfo, batch_id: str) -> Step:
    return step("restore_batch", session_id=info.handle, batch_id=batch_id)


def _largest(sessions: Sessions, infos: Sequence[SessionInfo], use: DiskUse) -> list[dict[str, Any]]:
    sizes = [(use.folders.get(folder_name(sessions.key(info)), 0), info) for info in infos]
    sizes.sort(key=lambda one: one[0], reverse=True)
    return [
        {"handle": info.handle, "session_id": info.session_id, "bytes": size} for size, info in sizes[:RECENT] if size
    ]


async def status(deps: Dependencies, sessions: Sessions) -> StoreStatus:
    """Disk use, and what was saved over the store's life, net of what restores and our own tools took."""
    infos = await sessions.all()
    saved, unknown = Saved(), 0
    for info in infos:
        one = saved_by(deps, await sessions.fold(info))
        saved += one
        unknown += one.read_again is None
    standing = STANDING_TOKENS * sum(bool(info.host) for info in infos)
    use = await deps.store.disk_use()
    if not deps.is_owner:  # what others have is not told, not even its size
        own = sum(use.folders.get(folder_name(sessions.key(info)), 0) for info in infos)
        use = DiskUse(ledger=0, archive=0, index=0, total=own, folders=use.folders)
    return StoreStatus(
        home=deps.store.location,
        sessions=len(infos),
        batches=saved.batches,
        disk_bytes=use.total,
        ledger_bytes=use.ledger,
        archive_bytes=use.archive,
        index_bytes=use.index,
        beside_bytes=use.total - use.ledger - use.archive - use.index,
        largest=tuple(_largest(sessions, infos, use)),
        tokens_offloaded=saved.offloaded,
        tokens_digests=saved.digests,
        tokens_restored=saved.restored,
        tokens_read_again=saved.read_again or 0,
        results_offloaded=saved.results,
        results_restored=saved.restored_results,
        restores_per_hundred=saved.restores_per_hundred,
        read_again_unknown=unknown,
        standing_tokens=standing,
        net_saved_tokens=saved.net - standing,
        recent=tuple(
            {"session_id": info.session_id, "handle": info.handle, "created": info.created, "source": info.source}
            for info in infos[-RECENT:][::-1]
        ),
    )

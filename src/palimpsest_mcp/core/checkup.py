"""Is everything whole, and what has it brought: verify and status."""

from __future__ import annotations

import asyncio
from collections import Counter

from ..context.fold import Fold
from ..context.view import lost_holders, present_items, savings, standing_holders
from ..digest.proof import recount
from ..errors import StoreError
from ..models.events import ReplacedBatch, SessionInfo, SessionKey
from ..models.items import content_sha256, content_text
from ..models.records import KEPT, OffloadRecord
from ..models.reports import Finding, StoreStatus, VerifyReport
from ..models.text import counted, verb
from .compaction.levels import source_of
from .copies import Copies
from .dependencies import Dependencies
from .handoff_files import verify_handoffs
from .sessions import Sessions

STANDING_TOKENS = 1_000
"""o200k tokens of our tool list (name, description, input schema), which each session that attaches us pays. A test
keeps it equal to the real list, rounded up to the next hundred."""
RECENT = 5


async def verify(deps: Dependencies, sessions: Sessions, only: SessionInfo | None = None) -> VerifyReport:
    """Check every event, record and item of one session, or of all, against checksums, hashes and each other, and count
    the specifics of every digest again. With all of them go the handoffs."""
    infos = (only,) if only else await sessions.all()
    findings: list[Finding] = []
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
            findings.append(
                Finding(
                    where=info.handle,
                    what="a purge was interrupted: what it is about may still be stored, and is not given back",
                    severity="damage",
                    next="Run `palimpsest-mcp repair --yes`, which goes on with it.",
                )
            )
        findings += _lost(info, fold)
        findings += await _summary(deps, info, key)
        seen: set[str] = set()
        async for record in deps.store.archive.records(key):
            records += 1
            items += len(record.items)
            seen.add(record.batch_id)
            compared = _compare(info, fold, record)
            findings += compared
            if not any(one.severity == "damage" for one in compared):
                findings += await asyncio.to_thread(_recounted, deps, info, fold, record)
        for batch_id in sorted(fold.decided.batches.keys() - seen):
            if fold.decided.batches[batch_id].state != "purged":
                findings.append(await _missing(deps, sessions, info, batch_id))
    handoffs, wrong = (0, []) if only else await verify_handoffs(deps)
    return VerifyReport(
        sessions=len(infos),
        records=records,
        items=items,
        events=events,
        findings=(*findings, *wrong),
        handoffs=handoffs,
    )


async def _missing(deps: Dependencies, sessions: Sessions, info: SessionInfo, batch_id: str) -> Finding:
    """A committed batch without a whole record. A repair is named only where it can do something."""
    rebuilt = await Copies(deps, sessions).rebuilt(info, batch_id)
    if rebuilt is None or not rebuilt.only_digest_lost:
        return _damage(info, batch_id, "replaced in the context, but its record is not in the archive")
    return Finding(
        where=f"{info.handle} {batch_id}",
        what=f"its record is not in the archive, so its digest is gone; every original is whole in {rebuilt.source}",
        severity="damage",
        next="Nothing more can be mended; `palimpsest-mcp restore` gives every original back.",
    )


def _compare(info: SessionInfo, fold: Fold, record: OffloadRecord) -> list[Finding]:
    """A record against its own hashes and against the line that committed it."""
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
        found.append(
            Finding(
                where=f"{info.handle} {record.batch_id}",
                what="archived but never committed (a pass was interrupted); the context was not changed",
                severity="note",
                next="Nothing: the next pass uses it, and restore works.",
            )
        )
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
    masked = deps.redactor.redact_all([content_text(item.result) for item in record.items])
    marks = Counter[str]()
    for one in masked:
        marks.update(one.counts)
    if marks != Counter(record.redaction):
        what = "masked by other rules than today's: hashes checked, specifics not counted again"
        return [Finding(where=f"{info.handle} {record.batch_id}", what=what, severity="note")]
    parts = [(source_of(item, one), record.part(item)) for item, one in zip(record.items, masked, strict=True)]
    return [
        _damage(info, record.batch_id, f"its digest is not what was verified: {what}")
        for what in recount(parts, record.specifics, deps.registry, digester=record.digester)
    ]


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
    return Finding(
        where=f"{info.handle} {where}",
        what=what,
        severity="damage",
        next="Run `palimpsest-mcp repair`, which shows what other copies can make up for; else take a backup.",
    )


async def status(deps: Dependencies, sessions: Sessions) -> StoreStatus:
    """Disk use, and what was saved over the store's life, net of what restores and our own tools took."""
    infos = await sessions.all()
    offloaded = digests = restored = batches = attached = 0
    for info in infos:
        saved = savings(await sessions.fold(info), result_overhead=deps.counter_for("").per_result_overhead)
        attached += bool(info.host)
        restored += saved.restored
        batches += saved.batches
        offloaded += saved.offloaded
        digests += saved.digests
    use = await deps.store.disk_use()
    return StoreStatus(
        home=deps.store.location,
        sessions=len(infos),
        batches=batches,
        disk_bytes=use.total,
        ledger_bytes=use.ledger,
        archive_bytes=use.archive,
        index_bytes=use.index,
        tokens_offloaded=offloaded,
        tokens_digests=digests,
        tokens_restored=restored,
        standing_tokens=STANDING_TOKENS * attached,
        net_saved_tokens=offloaded - digests - restored - STANDING_TOKENS * attached,
        recent=tuple(
            {"session_id": info.session_id, "handle": info.handle, "created": info.created, "source": info.source}
            for info in infos[-RECENT:][::-1]
        ),
    )

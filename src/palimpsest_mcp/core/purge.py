"""Removes texts for good: tombstones first, then everything that was made of them, then the texts themselves (L15).

Killed at any moment, the tombstones say that it is under way and which contents it is about; the same purge, or a
repair, goes on with it. The texts go last, since what quotes them is found by them.

What a purge takes out of texts that were made of others: a pattern's matches, or what only removed texts held.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from ..context.fold import Fold
from ..context.tombstones import PURGED, key_of, masked_value
from ..errors import BatchUnknown, InvalidArgument
from ..experience.models import Experience, SkillFile, SkillPlace
from ..models.events import PurgedEvent, Seen, SessionInfo
from ..models.items import Content, Item, content_bytes, content_text
from ..models.records import ArchivedItem, OffloadRecord
from ..models.reports import Elsewhere, Forgotten, PurgedSession, PurgeReport
from ..ports.seams import Redactor, Registry
from .batch import Copies
from .dependencies import Dependencies
from .sessions import Sessions

LEAST_LINE = 16
LEAST_VALUE = 5
"""Characters from which on a line, or a specific, says where it comes from."""


def pattern_mask(pattern: re.Pattern[str], mark: str, *, same_size: bool = False) -> Callable[[str], str]:
    """Matches become the mark; with `same_size` as many bytes of it as they had.

    A text may also stand in the form that JSON gives it: so does a pattern that is a plain text.
    """
    quoted = _quoted(pattern)

    def fill(found: re.Match[str]) -> str:
        return mark * len(found[0].encode("utf-8", "surrogatepass")) if same_size else mark

    def mask(text: str) -> str:
        masked = pattern.sub(fill, text)
        return masked if quoted is None else quoted.sub(fill, masked)

    return mask


def _quoted(pattern: re.Pattern[str]) -> re.Pattern[str] | None:
    """The pattern of a plain text in JSON's form, where that differs."""
    text = re.sub(r"\\(.)", r"\1", pattern.pattern, flags=re.DOTALL)
    if re.escape(text) != pattern.pattern:
        return None
    forms = {json.dumps(text, ensure_ascii=only)[1:-1] for only in (True, False)} - {text}
    return re.compile("|".join(map(re.escape, sorted(forms)))) if forms else None


def derived_mask(
    leaving: Sequence[str], staying: Sequence[str], registry: Registry, redactor: Redactor
) -> Callable[[str], str]:
    """Lines and specifics that only the texts that leave have, and none that stays, masked where they are quoted."""
    fragments: set[str] = set()
    for text in leaving:
        masked = redactor.redact(text).text
        for one in {text, masked}:
            fragments.update(line.strip() for line in one.split("\n") if len(line.strip()) >= LEAST_LINE)
        fragments.update(span.text for span in registry.spans(masked) if len(span.text) >= LEAST_VALUE)
    by_head = _by_head(fragments)
    stays: dict[str, bool] = {}

    def is_only_here(fragment: str) -> bool:
        if fragment not in stays:
            stays[fragment] = any(fragment in text for text in staying)
        return not stays[fragment]

    def mask(text: str) -> str:
        found = [one for one in _quoted_in(text, by_head) if is_only_here(one)]
        for fragment in sorted(found, key=len, reverse=True):
            text = text.replace(fragment, PURGED)
        return text

    return mask


def _by_head(fragments: Iterable[str]) -> dict[int, dict[str, list[str]]]:
    """Fragments by their first characters: a session has a hundred thousand of them, a handoff quotes ten."""
    heads: dict[int, dict[str, list[str]]] = {LEAST_VALUE: {}, LEAST_LINE: {}}
    for fragment in fragments:
        size = LEAST_LINE if len(fragment) >= LEAST_LINE else LEAST_VALUE
        heads[size].setdefault(fragment[:size], []).append(fragment)
    return heads


def _quoted_in(text: str, by_head: dict[int, dict[str, list[str]]]) -> set[str]:
    return {
        fragment
        for size, heads in by_head.items()
        for at in range(len(text) - size + 1)
        for fragment in heads.get(text[at : at + size], ())
        if text.startswith(fragment, at)
    }


# The experience of skills: logs, digests, our notes about them, snapshots.

_FILES: tuple[SkillFile, ...] = ("digest", "side")


async def blank_experience(experience: Experience, mask: Callable[[str], str]) -> tuple[str, ...]:
    """Blank what a mask finds, byte for byte, in everything that is kept of every skill. Returns what changed.

    Raises:
        WriteFailed, LockTimeout: some of it may be as it was; ask again.
    """
    changed: list[str] = []
    for place in await experience.skills():
        async with experience.lock(place):
            done = [name for name in _FILES if await _file(experience, place, name, mask)]
            for name in await experience.files.snapshots(place):
                data = await experience.files.snapshot(place, name)
                if data is not None and (new := _masked(data, mask)) != data:
                    await experience.files.keep_snapshot(place, name, new)
                    done.append("side")
            if await experience.log.blank(place, mask) or done:
                changed.append(f"experience of {place.name}")
    return tuple(changed)


async def _file(experience: Experience, place: SkillPlace, name: SkillFile, mask: Callable[[str], str]) -> bool:
    data = await experience.files.read(place, name)
    if data is None or (new := _masked(data, mask)) == data:
        return False
    await experience.files.replace(place, name, new)
    return True


def _masked(data: bytes, mask: Callable[[str], str]) -> bytes:
    text = mask(data.decode("utf-8", "surrogateescape"))
    try:
        value = json.loads(text)
    except ValueError:
        return text.encode("utf-8", "surrogateescape")
    masked = masked_value(value, mask)
    return (text if masked == value else json.dumps(masked)).encode("utf-8", "surrogateescape")


def compiled(matching: str, regex: str) -> re.Pattern[str]:
    """The pattern of a purge by text.

    Raises:
        InvalidArgument: it is empty, no regular expression, or fits the empty text.
    """
    if bool(matching) == bool(regex):
        raise InvalidArgument("Name a text or a regular expression.", next="Give one of --matching and --regex.")
    try:
        pattern = re.compile(regex or re.escape(matching))
    except re.error as error:
        raise InvalidArgument(f"--regex is no regular expression ({error}).", next="Write it as in Python.") from None
    if pattern.search("") is not None:
        raise InvalidArgument("The pattern fits every text.", next="Name what has to go more closely.")
    return pattern


Blank = Callable[[Callable[[str], str]], Awaitable[tuple[str, ...]]]
"""Takes a mask over all experience of skills; gives what it changed."""


class SessionToPurge(msgspec.Struct, kw_only=True):
    """One session, as a purge looks at it."""

    info: SessionInfo
    fold: Fold
    records: tuple[OffloadRecord, ...]
    texts: dict[str, tuple[str, Content, int]]
    """Key of a content -> item id, the content, its bytes."""
    batches: dict[str, set[str]]
    """Batch id -> keys of its contents, committed or archived."""
    matched: dict[str, str] = {}
    """Key -> item id, of what goes."""
    whole: bool = False
    unfinished: frozenset[str] = frozenset()
    """Keys of a purge that was interrupted: whatever is asked for now, they go as well."""

    def left_over(self) -> dict[str, str]:
        """Contents of the interrupted purge that are still there."""
        return {key: name for key, (name, _, _) in self.texts.items() if key in self.unfinished}

    def emptied(self) -> tuple[str, ...]:
        """Batches of which nothing stays any more."""
        gone = self.matched.keys() | self.fold.purged
        left = [one for one in self.batches.items() if one[0] not in self.fold.decided.purged_batches]
        return tuple(sorted(name for name, keys in left if self.whole or (keys & gone and keys <= gone)))


def _batches(fold: Fold, records: Iterable[OffloadRecord]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for record in records:
        found.setdefault(record.batch_id, set()).update(_key(item) for item in record.items if item.sha256)
    for batch_id, batch in fold.decided.batches.items():
        keys = found.setdefault(batch_id, set())
        for one in batch.info.items:
            known = fold.states[one.id].versions.get(one.sha256) if one.id in fold.states else None
            keys.add(_key(known.item) if known is not None else one.sha256)
    return found


def _key(item: Item | ArchivedItem) -> str:
    return key_of(item.id, item.sha256, _size(item))


def _size(item: Item | ArchivedItem) -> int:
    content = item.content if isinstance(item, Item) else item.result
    return item.size_bytes or len(content_bytes(content))


class Purge:
    """Purges of one principal's sessions.

    Args:
        blank: blanks what a mask finds in the experience of skills.
    """

    def __init__(self, deps: Dependencies, sessions: Sessions, blank: Blank) -> None:
        self._deps = deps
        self._sessions = sessions
        self._copies = Copies(deps, sessions)
        self._blank = blank

    async def session(self, info: SessionInfo, *, everywhere: bool, dry_run: bool) -> PurgeReport:
        """Everything of a session but a tombstone that says so."""
        one = await self._holding(info)
        one.whole = True
        one.matched = {key: name for key, (name, _, _) in one.texts.items()}
        return await self._texts([one], everywhere=everywhere, dry_run=dry_run)

    async def batch(self, info: SessionInfo, batch_id: str, *, everywhere: bool, dry_run: bool) -> PurgeReport:
        """The originals of a batch, its digest, and what quotes them; also in the session's parents and forks.

        Raises:
            BatchUnknown: the session (and its parents) has no such batch.
        """
        for owner in await self._sessions.family(info):
            one = await self._holding(owner)
            if batch_id in one.batches:
                keys = one.batches[batch_id]
                one.matched = {key: name for key, (name, _, _) in one.texts.items() if key in keys}
                return await self._texts([one], everywhere=everywhere, dry_run=dry_run, family=True)
        raise BatchUnknown("The session has no such batch.", next=f"See what it has: list_offloaded {info.handle}.")

    async def matching(self, pattern: re.Pattern[str], only: SessionInfo | None, *, dry_run: bool) -> PurgeReport:
        """Every item that holds a match, whole, and every match in anything else that is kept."""
        found: list[SessionToPurge] = []
        for info in (only,) if only is not None else await self._sessions.all():
            one = await self._holding(info)
            one.matched = dict(_matches(one, pattern)) | one.left_over()
            if one.matched or not dry_run:
                found.append(one)
        report = self._report(found, (), dry_run=dry_run)
        left: tuple[str, ...] = ()
        changed: tuple[str, ...] = ()
        mask = pattern_mask(pattern, "[purged]")
        if not dry_run:
            gone = {one.info.session_id: Forgotten(keys=one.unfinished | {*one.matched}, mask=mask) for one in found}
            notes = Forgotten(mask=mask) if only is None else Forgotten(mask=mask, about=_about([only]))
            changed = await self._remove(found, gone, notes)
            if only is None:
                changed += await self._blank(pattern_mask(pattern, "*", same_size=True))
        if only is None:
            left = await self._deps.store.traces(lambda text: pattern.search(text) is not None)
        return msgspec.structs.replace(report, changed=changed, left=left)

    async def go_on(self, info: SessionInfo) -> PurgeReport | None:
        """Finish a purge that was interrupted; None where none was."""
        said = await self._deps.store.tombstones(self._sessions.key(info))
        if not said.under_way:
            return None
        one = await self._holding(info)
        one.whole = said.whole
        one.matched = one.left_over()
        if said.whole:
            one.matched = {key: name for key, (name, _, _) in one.texts.items()}
        return await self._texts([one], everywhere=False, dry_run=False)

    async def _texts(
        self, found: list[SessionToPurge], *, everywhere: bool, dry_run: bool, family: bool = False
    ) -> PurgeReport:
        """Remove these texts, and say which other sessions hold some of them."""
        first = found[0]
        elsewhere: list[Elsewhere] = []
        related = await self._related(first.info) if family else set[str]()
        for info in await self._sessions.all():
            if info.session_id == first.info.session_id:
                continue
            other = await self._holding(info)
            other.matched = {key: name for key, (name, _, _) in other.texts.items() if _telling(key, first)}
            if not other.matched:
                continue
            if everywhere or info.session_id in related:
                found.append(other)
            else:
                held = Elsewhere(session_id=info.session_id, handle=info.handle, items=len(other.matched))
                elsewhere.append(held)
        report = self._report(found, elsewhere, dry_run=dry_run)
        if not dry_run:
            masks = [await asyncio.to_thread(self._quoting, one) for one in found]
            gone = {
                one.info.session_id: Forgotten(keys=one.unfinished | {*one.matched}, mask=mask, whole=one.whole)
                for one, mask in zip(found, masks, strict=True)
            }
            notes = Forgotten(mask=masks[0], about=_about([one.info for one in found]))
            report = msgspec.structs.replace(report, changed=await self._remove(found, gone, notes))
        return report

    def _quoting(self, one: SessionToPurge) -> Callable[[str], str]:
        """What only the texts that go held, masked wherever it is quoted."""
        leaving = [content_text(content) for key, (_, content, _) in one.texts.items() if key in one.matched]
        staying = [content_text(content) for key, (_, content, _) in one.texts.items() if key not in one.matched]
        return derived_mask(leaving, staying, self._deps.registry, self._deps.redactor)

    async def _related(self, info: SessionInfo) -> set[str]:
        """Parents and forks, near and far."""
        family = {one.session_id for one in await self._sessions.family(info)}
        for other in await self._sessions.all():
            line = {one.session_id for one in await self._sessions.family(other)}
            if info.session_id in line:
                family |= line
        return family

    async def _remove(
        self, found: Sequence[SessionToPurge], gone: dict[str, Forgotten], notes: Forgotten
    ) -> tuple[str, ...]:
        """Tombstones, then what quotes the texts, then the texts; each step of all sessions before the next."""
        store = self._deps.store
        changed: list[str] = []
        named = [(one, self._sessions.key(one.info)) for one in found]
        async with self._locked([one.info for one in found]):
            for one, key in named:
                if one.matched or one.whole:
                    await store.bury(key, one.matched, under_way=True, whole=one.whole)
                    await self._sessions.decide(one.info, _deciding(one, self._deps.now()))
            for one, key in named:
                touched = [name for name, keys in one.batches.items() if keys & one.matched.keys() or one.whole]
                if touched:
                    await store.search.forget(self._deps.principal, one.info.session_id, touched)
                beside = await store.forget_beside(key, gone[one.info.session_id])
                changed += [f"{one.info.handle}: {what}" for what in beside]
            changed += await store.forget_notes(notes, self._deps.principal)
            for one, key in named:
                await store.archive.forget(key, gone[one.info.session_id])
                await store.ledger.forget(key, gone[one.info.session_id])
                if one.matched or one.whole or one.unfinished:
                    await store.bury(key, (), under_way=False, whole=one.whole)
        return tuple(changed)

    @asynccontextmanager
    async def _locked(self, infos: Sequence[SessionInfo]) -> AsyncGenerator[None]:
        """No pass runs meanwhile in any of them: it holds texts that it would archive afterwards."""
        async with AsyncExitStack() as stack:
            for info in sorted(infos, key=lambda one: one.session_id):
                await stack.enter_async_context(self._deps.store.ledger.pass_lock(self._sessions.key(info)))
            yield

    async def _holding(self, info: SessionInfo) -> SessionToPurge:
        """What the ledger and the archive hold, a damaged record's whole items too."""
        fold = await self._sessions.fold(info)
        key = self._sessions.key(info)
        records = [record async for record in self._deps.store.archive.records(key)]
        known = {record.batch_id for record in records}
        missing = fold.decided.batches.keys() - known - fold.decided.purged_batches
        rebuilt = [await self._copies.rebuilt(info, batch_id) for batch_id in sorted(missing)]
        records.extend(one.record for one in rebuilt if one is not None)
        # Not from the fold, which does not show what a purge that was interrupted left.
        seen = [one.item for one in (await self._deps.store.ledger.read(key)).events if isinstance(one, Seen)]
        said = await self._deps.store.tombstones(key)
        texts: dict[str, tuple[str, Content, int]] = {}
        for item in (*seen, *(item for record in records for item in record.items)):
            content = item.content if isinstance(item, Item) else item.result
            if content is not None and item.sha256:
                texts.setdefault(_key(item), (item.id, content, _size(item)))
        return SessionToPurge(
            info=info,
            fold=fold,
            records=tuple(records),
            texts=texts,
            batches=_batches(fold, records),
            unfinished=frozenset(said.keys) if said.under_way else frozenset(),
        )

    def _report(self, found: Iterable[SessionToPurge], elsewhere: Iterable[Elsewhere], *, dry_run: bool) -> PurgeReport:
        """What goes, counted while it is still there: a plan and what was done say the same."""
        rows = tuple(
            PurgedSession(
                session_id=one.info.session_id,
                handle=one.info.handle,
                whole=one.whole,
                items=tuple(dict.fromkeys(one.matched.values())),
                batches=one.emptied(),
                live=_live(one),
                size_bytes=sum(size for key, (_, _, size) in one.texts.items() if key in one.matched),
            )
            for one in found
            if one.matched or one.whole
        )
        notes: list[str] = []
        if live := sum(one.live for one in rows):
            notes.append(
                f"{live} of the items still stand in the host's own context, which no purge reaches: this store keeps "
                "no copy of them, never offloads them and does not record them again"
            )
        return PurgeReport(dry_run=dry_run, sessions=rows, elsewhere=tuple(elsewhere), notes=tuple(notes))


def _telling(key: str, one: SessionToPurge) -> bool:
    """Whether a content of this key goes in another session too: not the short ones, which many items share."""
    return key in one.matched and ":" not in key


def _live(one: SessionToPurge) -> int:
    replaced = one.fold.decided.replacements
    gone = set(one.matched.values())
    return sum(1 for name in gone if name in one.fold.states and one.fold.states[name].present and name not in replaced)


def _deciding(one: SessionToPurge, now: str) -> Callable[[Fold], list[PurgedEvent]]:
    """The tombstones in the ledger; none where they are there already."""

    def decide(fold: Fold) -> list[PurgedEvent]:
        keys = tuple(sorted(one.matched.keys() - fold.purged))
        emptied = one.emptied()
        if not keys and not emptied and (fold.decided.purged or not one.whole):
            return []
        whole = set(one.emptied())
        parts = {
            batch_id: tuple(sorted({one.matched[key] for key in held & one.matched.keys()}))
            for batch_id, held in one.batches.items()
            if batch_id not in whole
        }
        return [
            PurgedEvent(batch_ids=emptied, keys=keys, whole=one.whole, ts=now),
            *(PurgedEvent(batch_ids=(name,), item_ids=ids, ts=now) for name, ids in parts.items() if ids),
        ]

    return decide


def _matches(one: SessionToPurge, pattern: re.Pattern[str]) -> Iterable[tuple[str, str]]:
    """Contents that hold a match, and those whose item says one beside its content."""
    for state in one.fold.states.values():
        for seen in state.versions.values():
            item = seen.item
            if item.content is not None and _holds(item, pattern):
                yield _key(item), item.id
    for record in one.records:
        for item in record.items:
            if item.result is not None and (_holds(item, pattern) or pattern.search(record.part(item))):
                yield _key(item), item.id


def _holds(item: Item | ArchivedItem, pattern: re.Pattern[str]) -> bool:
    content = item.content if isinstance(item, Item) else item.result
    beside = [item.args, item.title, item.url, item.source_channel, item.action.target if item.action else ""]
    if pattern.search(content_text(content)) or pattern.search(content_bytes(content).decode("utf-8", "replace")):
        return True
    found: list[bool] = []

    def note(text: str) -> str:
        found.append(pattern.search(text) is not None)
        return text

    masked_value([content if not isinstance(content, str) else "", *filter(None, beside)], note)
    return any(found)


def _about(infos: Sequence[SessionInfo]) -> Callable[[str], bool]:
    """Whether a note speaks of one of these sessions."""
    names = {re.escape(name) for info in infos for name in (info.handle, info.session_id)}
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(names))})(?![\w-])")
    return lambda text: pattern.search(text) is not None

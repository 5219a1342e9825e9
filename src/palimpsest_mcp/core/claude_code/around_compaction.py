"""Around the host's own compaction: before it everything is archived, and the host is told what to keep; after it we
say what its summary lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from ...context.view import View
from ...errors import PalimpsestError
from ...hosts.hook_call import HookCall
from ...memory.summary.sections import to_markdown
from ...models.events import HostCompacted, LostBatch, SessionInfo
from ...models.items import Specific, content_text
from ...models.probes import ProbeReport
from ...models.records import ArchivedItem, OffloadRecord
from ...models.summaries import AnchoredSummary
from ...models.text import plain_line
from ...ports.seams import Redactor
from ...text.specifics.registry import CLASSES
from ..compaction.commit import Keeper, Kept
from ..compaction.probes import Prober
from ..dependencies import ContentCounter, Dependencies
from ..sessions import Sessions
from ..summary import KeptSummaries
from .answers import MOST_CHARACTERS, length, within
from .conversations import Conversations

# Plain-text instructions for a host's own summary: what it must keep word for word. Pure.


MOST_INSTRUCTIONS = 6_000
_VALUES = 60
_VALUE = 100
_FILES = 25
_STATED = 10
_WEIGHTS = {one.name: one.weight for one in CLASSES}
_USERS_CLASS = 3.0
_LEAST_WEIGHT = 2.0


def instructions(handle: str, batches: int, summary: AnchoredSummary, newest_first: Iterable[Specific]) -> str:
    """What the summary must keep. Never JSON: the host would paste or refuse it.

    Args:
        batches: how many can be restored.
        summary: of the session, redacted.
        newest_first: specifics of redacted originals, those of the newest items first.
    """
    lines = ["Keep the following word for word in the summary; do not round, shorten or translate any of it."]
    if batches:
        lines.append(
            "Every original of this conversation is archived. Write into the summary: originals can be read again with "
            f'restore_batch {handle} BATCH, found with search_offloaded {handle} "words", listed with '
            f"list_offloaded {handle}."
        )
    lines += orders_lines(summary)
    lines += _stated(summary)
    if values := weightiest(newest_first, _VALUES):
        lines.append("Exact values: " + " · ".join(values))
    return within("\n".join(lines), MOST_INSTRUCTIONS)


def orders_lines(summary: AnchoredSummary) -> list[str]:
    """What the user laid down, word for word; nothing where nothing was."""
    if not summary.standing_orders:
        return []
    more = summary.left_out.get("standing_orders", 0)
    left_out = f" ({more} more: palimpsest-mcp summary {summary.session} --full)" if more else ""
    return [
        f"Standing orders of the user, which still hold; keep each word for word{left_out}:",
        *(f"- {plain_line(one.text)}" for one in summary.standing_orders),
    ]


def weightiest(newest_first: Iterable[Specific], most: int) -> list[str]:
    """The specifics that a reader could least guess: the classes take turns, the weightiest first, in each the newest
    first. No class takes all the room."""
    classes: dict[str, list[str]] = {}
    known: set[str] = set()
    for one in newest_first:
        if _weight(one.cls) < _LEAST_WEIGHT or len(one.text) > _VALUE or one.text in known:
            continue
        known.add(one.text)
        classes.setdefault(one.cls, []).append(one.text)
    heaviest = sorted(classes, key=lambda cls: (-_weight(cls), cls))
    return _by_turns([classes[cls] for cls in heaviest], most)


def _weight(cls: str) -> float:
    return _WEIGHTS.get(cls, _USERS_CLASS)


def _by_turns(groups: Sequence[list[str]], most: int) -> list[str]:
    found: list[str] = []
    for turn in range(max(map(len, groups), default=0)):
        found += [group[turn] for group in groups if turn < len(group)]
    return found[:most]


def _stated(summary: AnchoredSummary) -> list[str]:
    """The anchored summary's own sections, as lines."""
    lines: list[str] = []
    if summary.session_intent:
        lines.append("What the user asked for: " + plain_line(summary.session_intent, 600))
    files = [one.path for one in summary.files_modified][:_FILES]
    if files:
        lines.append("Files changed: " + " · ".join(plain_line(path, 200) for path in files))
    standing = [one.decision for one in summary.decisions_made if not one.superseded]
    lines += ["Decision: " + plain_line(text, 300) for text in standing[-_STATED:]]
    lines += ["Error met: " + plain_line(one.error, 300) for one in summary.errors_encountered[-_STATED:]]
    lines += ["Blocked by: " + plain_line(one.text, 300) for one in summary.blockers if not one.closed]
    lines += ["Next: " + plain_line(text, 300) for text in summary.next_steps[:_STATED]]
    return lines


# What can be restored, in lines for a model: batch, what its items are, how big.


_NAME = 60
_READ = 2_000
"""Characters of a message that are masked to name it: masking comes before cutting."""
_NAMED_ITEMS = 4


def title_of(record: OffloadRecord, redactor: Redactor) -> str:
    """What a batch holds, in a few redacted words."""
    names = [_name(item, redactor) for item in record.items[:_NAMED_ITEMS]]
    rest = len(record.items) - _NAMED_ITEMS
    return "; ".join(names) + (f"; {rest} more" if rest > 0 else "")


def catalogue(handle: str, records: Sequence[OffloadRecord], redactor: Redactor, *, room: int) -> str:
    """A line a batch, the newest batches where there is no room for all, and how many are not named.

    Args:
        room: characters as the client counts them.
    """
    if not records:
        return ""
    first = (
        f"Palimpsest keeps the originals of what left this context. Read one: restore_batch {handle} BATCH "
        f'(item_id for one item). Find one: search_offloaded {handle} "words".'
    )
    lines: list[str] = []
    used = length(first) + 80
    for record in reversed(records):
        line = f"{record.batch_id} · {title_of(record, redactor)} · {record.original_token_count:,} tokens"
        if used + length(line) + 1 > room:
            break
        used += length(line) + 1
        lines.append(line)
    rest = len(records) - len(lines)
    earlier = [f"{rest} earlier batches: list_offloaded {handle}"] if rest else []
    return "\n".join([first, *earlier, *reversed(lines)])


def _name(item: ArchivedItem, redactor: Redactor) -> str:
    """`Bash pytest -q`, `Read src/app.py`, or a message's first words."""
    target = item.action.target if item.action is not None else ""
    words = item.title or target or item.url
    if item.role == "tool":
        name = f"{item.tool_name.rsplit('__', 1)[-1] or item.kind} {_masked(words, redactor)}".strip()
    else:
        who = {"user": "user", "assistant": "assistant"}.get(item.role, item.role)
        name = f"{who}: {_masked(content_text(item.result), redactor)}"
    return plain_line(name, _NAME)


def _masked(text: str, redactor: Redactor) -> str:
    return redactor.redact(text[:_READ]).text


TURN_S = 20.0
"""A compaction waits for what is still at work; the client waits for it."""
_SUMMARY_CHARACTERS = 6_500


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What stands ready for a compaction of the host's own."""

    kept: tuple[Kept, ...]
    instructions: str


class BeforeCompaction:
    """Archives a context, and writes what the host's summary and the session's next start are to say."""

    def __init__(
        self,
        deps: Dependencies,
        sessions: Sessions,
        conversations: Conversations,
        summaries: KeptSummaries,
        keeping: Keeper,
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._summaries = summaries
        self._keeper = keeping

    async def before_compaction(self, call: HookCall) -> str:
        """Plain text for the prompt of the host's summary. Never blocks a compaction."""
        one = await self._conversations.known(call)
        if one is None:
            return ""
        async with self._conversations.turn(one, wait_s=TURN_S):
            imported = await self._conversations.whole(one)
            by_user = call.text("trigger") == "manual"
            return (await self.prepare(one.info, imported.view, imported.counter, by_user=by_user)).instructions

    async def prepare(self, info: SessionInfo, shown: View, counter: ContentCounter, *, by_user: bool) -> Prepared:
        """Archive everything that stands in the context, and say what to keep of it."""
        kept = await self._keeper.everything(
            info, shown, counter, reason="forced" if by_user else "token_budget_exceeded"
        )
        summary = await self.summary(info)
        text = await asyncio.to_thread(instructions, info.handle, len(kept), summary, _newest_first(kept))
        await self.keep_start(info, [one.record for one in kept], summary)
        return Prepared(kept=kept, instructions=text)

    async def archive(self, info: SessionInfo, shown: View, counter: ContentCounter) -> None:
        """Archive everything that stands in the context, and say nothing of it."""
        await self._keeper.rest(info, shown, counter, reason="token_budget_exceeded")

    async def summary(self, info: SessionInfo) -> AnchoredSummary:
        """The anchored summary as of now; an empty one where it cannot be read."""
        try:
            return await self._summaries.current(info)
        except PalimpsestError:
            return AnchoredSummary()

    async def keep_start(
        self,
        info: SessionInfo,
        records: Sequence[OffloadRecord],
        summary: AnchoredSummary,
        *,
        said: str = "",
        lost: str = "",
    ) -> None:
        """Have ready what SessionStart says: after a compaction, and when the session is taken up again.

        Args:
            said: to the user below this compaction, beside how many batches there are.
            lost: what a summary of the host's lost, where nobody can be told between two steps.
        """
        text = await asyncio.to_thread(self._start_text, info, records, summary)
        orders = "\n".join(orders_lines(summary))
        start = {
            "handle": info.handle,
            "batches": len(records),
            "after_compaction": text,
            "orders": orders,
            "said": said,
            "lost": lost,
        }
        await asyncio.to_thread(self._deps.store.host_notes.keep_start, info.session_id, start)

    async def keep_start_of(self, info: SessionInfo, *, said: str = "", lost: str = "") -> None:
        """The same from everything that can be restored, the parents' batches first."""
        records = [
            record
            for owner in reversed(await self._sessions.family(info))
            async for record in self._deps.store.archive.records(self._sessions.key(owner))
        ]
        await self.keep_start(info, records, await self.summary(info), said=said, lost=lost)

    def _start_text(self, info: SessionInfo, records: Sequence[OffloadRecord], summary: AnchoredSummary) -> str:
        """Catalogue and summary together, under the host's limit."""
        told = within(to_markdown(summary), _SUMMARY_CHARACTERS) if _says_something(summary) else ""
        room = MOST_CHARACTERS - length(told) - 2
        listed = catalogue(info.handle, records, self._deps.redactor, room=room)
        return "\n\n".join(filter(None, (listed, told)))


def _newest_first(kept: Sequence[Kept]) -> Iterator[Specific]:
    for one in reversed(kept):
        for specifics in reversed(one.specifics):
            yield from sorted(specifics)


def _says_something(summary: AnchoredSummary) -> bool:
    return bool(
        summary.session_intent
        or summary.standing_orders
        or summary.files_modified
        or summary.decisions_made
        or summary.errors_encountered
        or summary.next_steps
        or summary.todos
    )


# PostCompact: what the host's own summary still holds of the originals, and what it lost.


_TURN_S = 20.0
_EXAMPLES = 12
_NAMED = 12


class AfterCompaction:
    """Compares a host's summary with what it took the place of."""

    def __init__(self, deps: Dependencies, sessions: Sessions, conversations: Conversations, keeping: Keeper) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._keeper = keeping

    async def after_compaction(self, call: HookCall) -> None:
        """Keep the summary, and what it lost. Without one the compaction was ours, and its digests stand."""
        summary = call.text("compact_summary")
        one = await self._conversations.known(call)
        if one is None or not summary:
            return
        async with self._conversations.turn(one, wait_s=_TURN_S):
            _, shown = await self._sessions.view(one.info, self._deps.counter_for(self._deps.model))
            compared = await self.compared(one.info, shown, summary, call.text("trigger"))
            await self._conversations.write(one, [compared])

    async def compared(self, info: SessionInfo, shown: View, summary: str, trigger: str) -> HostCompacted:
        """What a summary lost of what the context held before it, all of which is archived."""
        kept = await self._keeper.records(info, {entry.item.id for entry in shown.items})
        masked = self._deps.masked(summary)
        held = await asyncio.to_thread(self._keeper.specifics_of, masked)
        found = await asyncio.to_thread(self._lost, kept, held, summary)
        probes = await self._probed(shown, masked)
        return msgspec.structs.replace(found, trigger=trigger, probes=probes, ts=self._deps.now())

    def _lost(self, kept: Sequence[Kept], held: frozenset[Specific], summary: str) -> HostCompacted:
        names = {one.text for one in held}
        everything: set[Specific] = set()
        lost: dict[Specific, None] = {}
        batches: list[LostBatch] = []
        for one in reversed(kept):
            own = frozenset[Specific]().union(*one.specifics)
            missing = [specific for specific in sorted(own) if specific.text not in names]
            everything |= own
            lost |= dict.fromkeys(missing)
            if missing:
                title = title_of(one.record, self._deps.redactor)
                batches.append(LostBatch(batch_id=one.record.batch_id, total=len(own), lost=len(missing), title=title))
        batches.sort(key=lambda batch: -batch.lost)
        return HostCompacted(
            summary=summary,
            total=len(everything),
            lost=len(lost),
            batches=tuple(batches[:_NAMED]),
            examples=tuple(weightiest(lost, _EXAMPLES)),
        )

    async def _probed(self, shown: View, masked: str) -> ProbeReport:
        """The probes of everything that was in the context, asked of the summary alone."""
        gone = [msgspec.structs.replace(entry, state="gone") for entry in shown.items]
        probing = Prober(self._deps, gone, summary=masked)
        return probing.told(await probing.ask({}))

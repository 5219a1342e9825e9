"""Message lists: compacted and given back in the form they came in, expanded again, and restored whole."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..context.alignment import may_be_part, part_hash
from ..context.arguments import long_strings
from ..context.fold import Fold
from ..context.state import part_owner
from ..context.tombstones import PURGED, PURGED_ROW
from ..errors import NotRestorable, Purged
from ..hosts.anthropic import ASK_TO_DROP, Place, blocks_of, first_change, thinking_in, without
from ..hosts.detect import parse_value, rewrap, transcripts
from ..hosts.pieces import with_arguments
from ..hosts.validity import check_messages, new_problems
from ..models.advice import Advice, step
from ..models.events import ReplacedItem, SessionInfo
from ..models.host_table import host_note
from ..models.items import Content, Item, content_sha256, content_text
from ..models.plans import DROP, DROP_BLOCK, REFUSE, PassOptions
from ..models.reports import Report, Thinking
from ..models.text import counted, verb
from ..ports.seams import HostContext
from ..text.tokens.windows import binds_thinking
from .batch import Copies
from .compaction.plan import PassRequest
from .compaction.report import report
from .compaction.run import PassResult, run_pass
from .dependencies import ContentCounter, Dependencies
from .importer import Imported, import_context, marked_item
from .measure import measured, policy_of, tell
from .offloaded import Offloaded, damaged
from .record import no_window
from .sessions import Sessions


@dataclass(frozen=True, kw_only=True)
class CompactedMessages:
    """A message list after a pass."""

    messages: list[Any]
    """In the form that came in; messages and blocks that did not change are the very same objects."""
    value: Any = None
    """What a file with these messages holds: the list, or the object around it as it came in."""
    report: Report
    session_id: str
    handle: str
    request_options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Fields that the request with this list needs, and every later one of the conversation; empty: it needs none."""
    contents: dict[str, Content] = field(default_factory=dict[str, Content])
    """Id of an item in the list that came in -> what stands for it now."""


class Messages:
    """What can be done with a host's message list."""

    def __init__(self, deps: Dependencies, sessions: Sessions, offloaded: Offloaded) -> None:
        self._deps = deps
        self._sessions = sessions
        self._offloaded = offloaded

    async def compact(
        self,
        info: SessionInfo,
        context: HostContext,
        asked: PassOptions,
        *,
        wrapper: str = "",
        requested: bool = True,
        off: bool = False,
    ) -> CompactedMessages:
        """Import a list, run one pass, and render the list with every stored digest in its place (L6).

        Args:
            requested, off: as in `PassRequest`.

        Raises:
            WindowUnknown: no window is given, configured, reported or in the model table, and the pass is not forced.
            PassInProgress, WriteFailed, PlanStale: what a pass raises.
        """
        policy = await policy_of(self._deps, self._sessions, info, asked.policy)
        # Whoever does not get the lock has written nothing: lists that compete import no faster than passes end.
        lock = nullcontext() if asked.dry_run else self._deps.store.ledger.pass_lock(self._sessions.key(info))
        async with lock:
            imported = await import_context(
                self._deps, self._sessions, info, context, wrapper=wrapper, model=asked.model
            )
            if asked.window_tokens is not None or asked.used_tokens is not None:
                await tell(self._deps, self._sessions, info, asked)
            measurement = await measured(self._deps, self._sessions, info, policy, asked, imported=imported)
            if measurement.window_tokens is None:
                raise no_window()
            drops = asked.thinking == DROP and context.form != "openai"
            request = PassRequest(
                policy=policy,
                options=asked,
                requested=requested,
                off=off,
                drops_thinking=drops and binds_thinking(measurement.usage.model) is not False,
            )
            result = await run_pass(self._deps, self._sessions, info, measurement, request, held=True)
        note = host_note(asked.host or context.host)
        answer = report(info, measurement, request, result, note=note)
        found = await asyncio.to_thread(check_messages, context.messages, context.form)
        defects = tuple(sorted(found, key=lambda one: one.message))
        answer = msgspec.structs.replace(answer, notes=(*_warnings(context), *answer.notes), defects=defects)
        contents, lost = await self._parts(info, imported, result)
        messages, emitted = await asyncio.to_thread(self._render, context, contents)
        if not emitted:
            answer = msgspec.structs.replace(
                answer,
                status="failed",
                reason="The compacted list would not be valid; the input is returned as it came.",
            )
        elif not result.made and not result.copies and contents:
            words = verb(len(contents), "was given its stored digest", "were given their stored digests")
            again = f"{counted(len(contents), 'result')} {words} again; nothing new was replaced"
            answer = msgspec.structs.replace(answer, notes=(*answer.notes, again))
        if lost:
            said = f"{', '.join(lost)}: no whole record, so its results stay as the host has them; run verify"
            answer = msgspec.structs.replace(answer, notes=(*answer.notes, said))
        sent = await asyncio.to_thread(
            list_to_send, context.messages, messages, imported, model=measurement.usage.model, way=asked.thinking
        )
        notes = tuple(filter(None, [*answer.notes, sent.thinking.said]))
        answer = msgspec.structs.replace(answer, thinking=sent.thinking, notes=notes)
        return CompactedMessages(
            messages=sent.messages,
            report=answer,
            session_id=info.session_id,
            handle=info.handle,
            request_options=sent.request_options,
            contents=contents if emitted else {},
        )

    def _render(self, context: HostContext, contents: dict[str, Content]) -> tuple[list[Any], bool]:
        reader = transcripts(self._deps.kind_by_tool)[context.form]
        messages = reader.render(context, contents)
        if new_problems(context.messages, messages, context.form):
            return list(context.messages), False
        return messages, True

    async def _parts(
        self, info: SessionInfo, imported: Imported, result: PassResult
    ) -> tuple[dict[str, Content], list[str]]:
        """Host item id -> stored part, where the host still shows the original, or a part that was replaced; and the
        batches whose parts cannot be read."""
        fold = result.fold
        wanted: dict[str, Content] = {}
        standing: dict[str, tuple[str, ReplacedItem]] = {}
        for item in imported.context.items:
            ledger_id = imported.ids[item.id]
            replaced = fold.decided.replacements.get(ledger_id)
            if replaced is None or not (replaced.item.sha256 == item.sha256 or _stale(fold, ledger_id, item)):
                continue
            if item.kind == "tool_call":
                if isinstance(item.content, dict) and (block := _call_now(fold, ledger_id, item)) is not None:
                    wanted[item.id] = block
            elif replaced.item.part is None and replaced.batch.batch_id in fold.decided.purged_batches:
                wanted[item.id] = PURGED
            else:
                standing[item.id] = (replaced.batch.batch_id, replaced.item)
        if fold.decided.reinstated_at:
            texts = {
                item.id: (imported.ids[item.id], part_hash(item))
                for item in imported.context.items
                if item.role == "tool" and item.content is not None
            }
            wanted |= await self._offloaded.put_back(info, fold, texts)
        parts = await self._offloaded.parts(info, standing)
        lost = {batch_id for name, (batch_id, _) in standing.items() if name not in parts}
        return {**wanted, **parts}, sorted(lost)

    async def expand(self, info: SessionInfo, value: Any) -> Any:
        """The list with the original in the place of every digest part of ours, equal to what was compacted.

        Raises:
            RecordDamaged, Purged: an original is not whole any more; nothing is half expanded.
        """
        context = parse_value(value, kind_by_tool=self._deps.kind_by_tool)
        fold = await self._sessions.fold(info)
        parts = {**await self._sessions.inherited_parts(info), **fold.decided.parts}
        contents: dict[str, Content] = {}
        taken: set[str] = set()
        for item in context.items:
            if not may_be_part(item) or item.content is None:
                continue
            found = part_owner(parts, part_hash(item), item.id, taken)
            if found is not None:
                taken.add(found[1])
                contents[item.id] = await self._original(info, *found, item)
        rendered = transcripts(self._deps.kind_by_tool)[context.form].render(context, contents)
        return rewrap(value, rendered)

    async def _original(self, info: SessionInfo, batch_id: str, item_id: str, item: Item) -> Content:
        fold = await self._sessions.fold(info)
        replaced = fold.decided.replacements.get(item_id)
        if replaced is not None and replaced.item.part_sha256 == part_hash(item) and replaced.item.part is not None:
            content = fold.states[item_id].versions[replaced.item.sha256].item.content
            if content is not None or item.kind != "tool_call":
                return "" if content is None else content
        return (await self._offloaded.restore(info, batch_id, item_id)).content

    async def restore_all(self, info: SessionInfo) -> Any:
        """The newest list that was compacted, whole and equal to what came in, with the object around it.

        Raises:
            NotRestorable: the session was recorded item by item, so there never was a list.
            RecordDamaged, Purged: an original is not whole any more.
        """
        fold = await self._sessions.fold(info)
        rows = fold.envelopes.get("")
        if (rows is None and fold.decided.purged) or (rows is not None and PURGED_ROW in (rows.messages() or ())):
            raise _purged("A message", info)
        texts = rows.messages() if rows is not None else None
        if rows is None or texts is None:
            raise NotRestorable(
                "Nothing here says that this session was ever given as a whole message list.",
                next=Advice(
                    "Restore batch by batch; these are its batches: {}", step("list_offloaded", session_id=info.handle)
                ),
            )
        reader = transcripts(self._deps.kind_by_tool)["openai" if rows.newest.form == "openai" else "anthropic"]
        context = reader.parse([json.loads(text) for text in texts])
        originals = {
            item.id: await self._marked(info, content_text(item.content))
            for item in context.items
            if item.role == "tool" and item.content is not None
        }
        messages = reader.render(context, originals)
        if not rows.newest.wrapper:
            return messages
        return rewrap(json.loads(rows.newest.wrapper), messages)

    async def _marked(self, info: SessionInfo, text: str) -> Content:
        """The content that a mark stands for: from the archive where it was replaced, else from the ledger."""
        mark = marked_item(text)
        if mark is None:
            return text
        item_id, sha256 = mark
        fold = await self._sessions.fold(info)
        replaced = fold.decided.replacements.get(item_id)
        if replaced is not None and replaced.item.sha256 == sha256 and replaced.item.part is None:
            return (await self._offloaded.restore(info, replaced.batch.batch_id, item_id)).content
        seen = fold.states[item_id].versions.get(sha256) if item_id in fold.states else None
        if seen is not None and seen.item.purged:
            raise _purged("An item", info)
        content = seen.item.content if seen is not None else None
        if content is not None and content_sha256(content) == sha256:
            return content
        if (copy := await Copies(self._deps, self._sessions).content(info, sha256)) is not None:
            return copy[0]
        raise damaged(f"No whole copy of {item_id} of the list is left.")


def _purged(what: str, info: SessionInfo) -> Purged:
    return Purged(
        f"{what} of the list was purged, so the whole list cannot be given back.",
        next=f"Restore what is left batch by batch: list_offloaded {info.handle}.",
    )


def _call_now(fold: Fold, ledger_id: str, item: Item) -> dict[str, Any] | None:
    """A call with notes in its arguments as it was committed; of a purged one nothing of them is left."""
    part = fold.decided.replacements[ledger_id].item.part
    if part is not None and part != PURGED and not fold.states[ledger_id].current.purged:
        return json.loads(part)
    places = long_strings(item)
    return with_arguments(item.content, dict.fromkeys(places, PURGED)) if isinstance(item.content, dict) else None


def _stale(fold: Fold, ledger_id: str, item: Item) -> bool:
    """Whether a host's text is a part of ours that a digest of a higher level replaced (L16)."""
    if item.role != "tool" or item.content is None:
        return False
    stands, text_hash = fold.decided.replacements[ledger_id].item, part_hash(item)
    ours = ledger_id in fold.decided.parts.get(text_hash, {})
    return ours and text_hash != stands.part_sha256 and fold.states[ledger_id].current.sha256 == stands.sha256


def _warnings(context: HostContext) -> tuple[str, ...]:
    """What reading the list had to say, the same words once with their count."""
    said = Counter([*context.warnings, *(warning for item in context.items for warning in item.warnings)])
    return tuple(text if count == 1 else f"{text} ({count} times)" for text, count in said.items())


# What becomes of thinking in a list of which something earlier changed.


class Sendable(msgspec.Struct, frozen=True, kw_only=True):
    """A list that may be sent."""

    messages: list[Any]
    thinking: Thinking
    request_options: dict[str, Any] = {}


def list_to_send(before: Sequence[Any], messages: list[Any], imported: Imported, *, model: str, way: str) -> Sendable:
    """A rendered list without thinking that the model would refuse, or with what its request needs.

    A model that is not known counts as one that binds thinking: every new one does.

    Args:
        before: the list that came in; `messages` is the same with other contents.
        way: as in `PassOptions.thinking`.
    """
    blocks = sum(1 for _ in thinking_in(messages))
    bound = binds_thinking(model)
    if imported.context.form == "openai" or not blocks or bound is False:
        return Sendable(messages=messages, thinking=Thinking(kept=blocks))
    changed = min(filter(None, [first_change(before, messages), *_standing_again(imported)]), default=None)
    places = [place for place in thinking_in(messages) if changed is not None and place > changed]
    who = f"{model} refuses" if bound else "newer models refuse"
    if way == REFUSE and places:
        said = f"the list is as it came: {who} {counted(len(places), 'thinking block')} behind its stored digests"
        return Sendable(messages=list(before), thinking=Thinking(kept=blocks, said=said))
    if way == DROP and places:
        tokens = _tokens(messages, places, imported.counter)
        said = (
            f"{counted(len(places), 'thinking block')} behind the first change left the list ({tokens:,} tokens): "
            f"{who} {verb(len(places), 'it', 'them')}{'' if bound else '; name the model to keep what it takes'}"
        )
        left = Thinking(kept=blocks - len(places), dropped=len(places), dropped_tokens=tokens, said=said)
        return Sendable(messages=without(messages, places), thinking=left)
    said = f"{who} {len(places)} of {counted(blocks, 'thinking block')}" if places else ""
    if way == DROP_BLOCK:
        said = "; ".join(
            filter(None, [said, "send request_options with this and every later request of the conversation"])
        )
    options = dict(ASK_TO_DROP) if way == DROP_BLOCK else {}
    return Sendable(
        messages=messages, thinking=Thinking(kept=blocks, invalid=len(places), said=said), request_options=options
    )


def _standing_again(imported: Imported) -> list[Place]:
    """Originals that stand again since a pass was taken back. Which of the thinking behind them was written while the
    digests stood, a list does not say."""
    if imported.context.form != "anthropic":
        return []  # items of a transcript stand by the rows of its file
    decided = imported.fold.decided
    back = decided.reinstated_at.keys() - decided.replacements.keys()
    return [item.position for item in imported.context.items if imported.ids[item.id] in back]


def _tokens(messages: Sequence[Any], places: Sequence[Place], counter: ContentCounter) -> int:
    return sum(counter.count_content([blocks_of(messages[row])[at]]) for row, at in places)

"""`session.compact` and `turn.complete`: the hooks module asks what is to stand in the place of older results.

A transcript becomes shorter rows, or a new session beside it, for a client in which nothing of ours runs.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from ...context.fold import Fold
from ...context.meter import triggers
from ...context.state import PICTURES
from ...errors import InvalidArgument
from ...hosts.claude_code.transcript import as_messages, calls_of, only_sidechain, results_of, rewritten, rows_of
from ...hosts.detect import parse_value
from ...hosts.hook_call import HookCall
from ...hosts.pieces import text_of
from ...models.events import Observation, Replaced, ReplacedItem, Seen, SessionInfo
from ...models.items import Content, Item, call_key, content_bytes, content_sha256, content_text
from ...models.plans import ContextItem, PassOptions
from ...models.reports import Report, in_lines, in_request
from ...models.text import counted
from ...ports.seams import HostContext
from ...store.out_file import OutFile
from .. import importer
from ..batch import has_binary
from ..compaction.commit import Keeper, archive_and_commit, committed_batch
from ..compaction.plan import PassRequest
from ..compaction.report import total
from ..compaction.run import PassResult, run_pass
from ..dependencies import ContentCounter, Dependencies
from ..importer import Imported, import_context
from ..measure import Measurement, measured, stored_policy
from ..messages import CompactedMessages, Messages
from ..offloaded import Offloaded
from ..sessions import Sessions
from .around_compaction import BeforeCompaction
from .conversations import HOST, Conversation, Conversations

_TURN_S = 20.0
_LEAST_GAIN = 0.05
"""Share of the context that a compaction of ours must free where the host compacts because it is full: with less, the
host would ask again at its very next step."""
_ASKED_AGAIN = 0.05
"""So much further the ratio must rise before a turn's end asks again after a pass that found nothing to do."""


@dataclass(frozen=True, kw_only=True)
class InPlace:
    """The answer to `session.compact`."""

    apply: bool
    status: str
    results: Mapping[str, str] = field(default_factory=dict[str, str])
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Call id -> its arguments, with notes in the place of long strings."""
    instructions: str = ""
    reason: str = ""
    batches: int = 0
    saved_tokens: int = 0
    asked_for: str = ""
    """What came first in the digests."""
    lines_kept: str = ""
    """Of those that the instructions of `/compact` wanted kept."""
    thinking_dropped: int = 0
    """Answers are built anew without their thinking, which newer models would refuse behind a digest anyway."""

    def text(self) -> str:
        """As the module reads it."""
        return json.dumps(vars(self) | {"results": dict(self.results), "inputs": dict(self.inputs)}, ensure_ascii=True)


class InPlaceCompaction:
    """Runs an ordinary pass over what the client shows, and hands the stored digests to the module."""

    def __init__(
        self,
        deps: Dependencies,
        sessions: Sessions,
        offloaded: Offloaded,
        conversations: Conversations,
        preparing: BeforeCompaction,
        keeping: Keeper,
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._offloaded = offloaded
        self._conversations = conversations
        self._before = preparing
        self._keeper = keeping
        self._asked_at: dict[str, float] = {}
        self._put_back: dict[str, frozenset[str]] = {}
        """Session -> items that were put back and have been asked for at a turn's end."""

    async def turn_ended(self, call: HookCall) -> str:
        """Whether a pass is due at our own threshold, and would bring something."""
        one = await self._conversations.known(call)
        if one is None:
            return _due(False, "nothing is known of this session yet")
        async with self._conversations.turn(one, wait_s=_TURN_S):
            await self._conversations.follow(one)
            policy = stored_policy(self._deps, await self._sessions.opened(one.info))
            asked = PassOptions(host=HOST, used_tokens=call.number("tokens"))
            measurement = await measured(self._deps, self._sessions, one.info, policy, asked)
            ratio = measurement.usage.ratio
            fold = await self._sessions.fold(one.info)
            back = frozenset(fold.decided.reinstated_at.keys() - fold.decided.replacements.keys())
            if back - self._put_back.get(one.info.session_id, frozenset()):
                self._put_back[one.info.session_id] = back
                return _due(True, "a pass was taken back: its originals are to stand in the context again")
            if ratio is None or not triggers(ratio, policy):
                return _due(False, "below the threshold")
            if ratio < self._asked_at.get(one.info.session_id, -1.0) + _ASKED_AGAIN:
                return _due(False, "the last pass found nothing more to replace")
            request = PassRequest(policy=policy, options=PassOptions(dry_run=True))
            planned = await run_pass(self._deps, self._sessions, one.info, measurement, request)
            if planned.plan.slots or measurement.usage.waiting:
                return _due(True, f"{ratio:.0%} of the window is used")
            self._asked_at[one.info.session_id] = ratio
            return _due(False, planned.plan.reason)

    async def compact(self, call: HookCall) -> InPlace:
        """Archive first, then say which results are to be digests from now on.

        Raises:
            PalimpsestError: nothing was replaced; the client's own compaction is to go on.
        """
        trigger = call.text("trigger")
        if trigger == "precompute":
            return InPlace(apply=False, status="off", reason="Nothing is made ahead of time.")
        rows = call.rows("messages")
        if not rows:
            return InPlace(apply=False, status="nothing_to_do", reason="The client shows no messages.")
        one = await self._conversation(call)
        async with self._conversations.turn(one, wait_s=_TURN_S):
            imported = await self._imported(one, rows)
            measurement, result = await self._pass(one, imported, trigger, call.text("instructions"))
            results, freed = await self._results(one.info, result.fold, rows)
            inputs, less = self._inputs(result.fold, rows)
            freed += less
            enough = trigger != "auto" or freed >= _LEAST_GAIN * measurement.view.whole_tokens
            back = {} if trigger == "auto" else await self._given_back(one.info, result.fold, rows)
            results = {**results, **back}
            answer = InPlace(
                apply=bool(results or inputs) and enough,
                status="compacted" if results or inputs else "nothing_to_do",
                results=results,
                inputs=inputs,
                reason=result.refusal or result.plan.reason,
                batches=len(result.made),
                saved_tokens=freed,
                asked_for=in_request(result.asked_for),
                lines_kept=in_lines(total([made.record.specifics for made in result.made])),
            )
            if answer.apply:
                return await self._applied(one.info, answer, result, imported, rows)
            # The client's own compaction goes on; its PreCompact archives, and gets the instructions.
            return replace(answer, results={}, inputs={})

    async def _conversation(self, call: HookCall) -> Conversation:
        if call.session_id:
            return await self._conversations.of(call)
        latest = self._conversations.latest_id
        return await self._conversations.of(HookCall(event=call.event, fields={**call.fields, "session_id": latest}))

    async def _imported(self, one: Conversation, rows: Sequence[dict[str, Any]]) -> Imported:
        """The context by the transcript, with results that only the client's own list has; by that list alone where
        there is no transcript."""
        imported = await self._conversations.whole(one)
        if not one.tail.rows:
            context = parse_value(as_messages(rows), form="anthropic", kind_by_tool=self._deps.kind_by_tool)
            return await import_context(self._deps, self._sessions, one.info, context)
        shown = results_of(rows)
        missing = [result for result in shown if _known(imported.fold, result) is None]
        if missing:
            await self._conversations.write(one, self._unseen(one, missing, imported.counter))
        # What the client shows an answer to waits for none, though the transcript may not have that row yet.
        fold, seen = await self._sessions.view(one.info, imported.counter)
        answered = {item.unit for result in shown if (item := _known(fold, result)) is not None}
        context = msgspec.structs.replace(imported.context, open_units=imported.context.open_units - answered)
        return replace(imported, fold=fold, view=seen, context=context)

    def _unseen(
        self, one: Conversation, results: Sequence[dict[str, Any]], counter: ContentCounter
    ) -> list[Observation]:
        events: list[Observation] = []
        for result in results:
            name, text = call_key(text_of(result, "tool_use_id")), text_of(result, "text")
            item = Item(
                id=name,
                kind="tool_result",
                role="tool",
                position=(one.next_row(), 0),
                content=text,
                sha256=content_sha256(text),
                size_bytes=len(content_bytes(text)),
                tokens=counter.count(text),
                unit=f"call:{name}",
                call_id=text_of(result, "tool_use_id"),
                is_error=result.get("isError") is True,
            )
            events.append(Seen(item=item, ts=self._deps.now()))
        return events

    async def _pass(
        self, one: Conversation, imported: Imported, trigger: str, instructions: str
    ) -> tuple[Measurement, PassResult]:
        """An ordinary pass. What the client or its user asked for is forced: measured against the context's own size,
        since the client's trigger may lie far below the model's window."""
        force = trigger in ("auto", "manual")
        policy = stored_policy(self._deps, imported.fold)
        options = PassOptions(host=HOST, force=force, focus=instructions)
        measurement = await measured(self._deps, self._sessions, one.info, policy, options, imported=imported)
        request = PassRequest(
            policy=policy, options=options, reason="forced" if trigger == "manual" else "token_budget_exceeded"
        )
        return measurement, await run_pass(self._deps, self._sessions, one.info, measurement, request)

    async def _results(
        self, info: SessionInfo, fold: Fold, rows: Sequence[dict[str, Any]]
    ) -> tuple[dict[str, str], int]:
        """Call id -> stored part, for every result that the client still shows otherwise; and the tokens that frees."""
        standing: dict[str, tuple[str, ReplacedItem]] = {}
        shown: dict[str, tuple[str, int]] = {}
        for result in results_of(rows):
            call_id = text_of(result, "tool_use_id")
            name = call_key(call_id)
            stands = fold.decided.replacements.get(name)
            item = fold.item(name)
            if stands is not None and item is not None and item.sha256 == stands.item.sha256:
                standing[call_id] = (stands.batch.batch_id, stands.item)
                shown[call_id] = (text_of(result, "text"), max(0, item.tokens - stands.item.part_tokens))
        parts = await self._offloaded.parts(info, standing)
        found = {call_id: part for call_id, part in parts.items() if part != shown[call_id][0]}
        freed = sum(shown[call_id][1] for call_id in found)
        return found, freed

    def _inputs(self, fold: Fold, rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], int]:
        """Call id -> arguments with notes in them, for every call that the client shows; and the tokens that frees, of
        those that its transcript did not have like that before."""
        found: dict[str, Any] = {}
        freed = 0
        for call_id in calls_of(rows):
            name = f"call:{call_key(call_id)}"
            stands, item = fold.decided.replacements.get(name), fold.item(name)
            part = stands.item.part if stands is not None else None
            if stands is None or part is None or item is None or item.purged or item.sha256 != stands.item.sha256:
                continue
            found[call_id] = json.loads(part).get("input")
            applied = fold.states[name].applied
            if applied is None or applied.part_sha256 != stands.item.part_sha256:
                freed += max(0, item.tokens - stands.item.part_tokens)
        return found, freed

    async def _given_back(self, info: SessionInfo, fold: Fold, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Call id -> original, of what was put back into the context and the client still shows as a digest."""
        if not fold.decided.reinstated_at:
            return {}
        shown = {text_of(one, "tool_use_id"): content_sha256(text_of(one, "text")) for one in results_of(rows)}
        found = await self._offloaded.put_back(
            info, fold, {name: (call_key(name), text_hash) for name, text_hash in shown.items()}
        )
        return {name: content_text(content) for name, content in found.items()}

    async def _applied(
        self, info: SessionInfo, answer: InPlace, result: PassResult, imported: Imported, rows: Sequence[dict[str, Any]]
    ) -> InPlace:
        """The answer that changes the context: pictures too, since rows that are built anew hold text only (D14)."""
        asked = {call_key(text_of(one, "tool_use_id")) for one in results_of(rows)}
        pictures = [
            one
            for one in result.view.items
            if one.state == "live" and one.item.id in asked and has_binary(one.item.content)
        ]
        if pictures:
            await self._as_pointers(info, pictures, imported.counter)
            fold = await self._sessions.fold(info)
            results, freed = await self._results(info, fold, rows)
            answer = replace(answer, results=results, saved_tokens=freed + self._inputs(fold, rows)[1])
        thoughts = sum(1 for one in result.view.items if one.state == "live" and one.item.kind == "thinking")
        said = (
            f"lines kept: {answer.lines_kept}" if answer.lines_kept else "",
            f"{counted(thoughts, 'thinking block')} left out" if thoughts else "",
        )
        await self._before.keep_start_of(info, said=" · ".join(filter(None, said)))
        return replace(answer, thinking_dropped=thoughts)

    async def _as_pointers(self, info: SessionInfo, items: Sequence[ContextItem], counter: ContentCounter) -> None:
        made = await self._keeper.made(info, items, counter, reason="forced")
        batches = tuple(committed_batch(one.record) for one in made)

        def decide(fold: Fold) -> Replaced | None:
            if fold.decided.replacements.keys() & {one.item.id for one in items}:
                return None
            return Replaced(
                pass_id=PICTURES, reason=PICTURES, session_id=info.session_id, batches=batches, ts=self._deps.now()
            )

        await archive_and_commit(self._deps, self._sessions, info, made, decide)


def _known(fold: Fold, result: Mapping[str, Any]) -> Item | None:
    """What the ledger has of a result that the client shows."""
    return fold.item(call_key(text_of(result, "tool_use_id")))


def _due(compact: bool, why: str) -> str:
    return json.dumps({"compact": compact, "why": why})


@dataclass(frozen=True, kw_only=True)
class RewrittenSession:
    """What a rewrite came to."""

    report: Report
    """Of the pass, over the session that was rewritten."""
    session_id: str = ""
    """Of the new session; empty where nothing was written."""
    file: Path | None = None
    digests: int = 0
    """Contents that are digests in the new file."""

    @property
    def resume(self) -> str:
        """The command that goes on in the new session; empty where nothing was written."""
        return f"claude --resume {self.session_id}" if self.session_id else ""


async def rewrite(
    deps: Dependencies, sessions: Sessions, messages: Messages, home: Path, path: Path, asked: PassOptions
) -> RewrittenSession:
    """Run a pass over a transcript and write what is left as a session of its own; no file that is there is touched.

    Raises:
        FileMissing, FileWrongShape: it cannot be read.
        InvalidArgument: it is no transcript of a main session.
        PassInProgress, WriteFailed, OutputRefused: no file was written.
    """
    found = await importer.read_file(path, form="claude-code")
    rows = rows_of(found.value)
    if only_sidechain(rows):
        raise InvalidArgument(
            "This is the transcript of a sub-agent, which cannot be resumed.", next="Name the session's own file."
        )
    context = importer.need_messages(importer.parsed(found, deps.kind_by_tool))
    # A fork's first rows may still name the session they were copied from; its own file has its name.
    own = path.name.split(".", 1)[0]
    named = any(row.get("sessionId") == own for row in rows)
    name = own if named else context.session_id or importer.session_id_of(path, None)
    info = await sessions.ensure(
        name, host=HOST, project=context.project, source=path.name, path=importer.place_of(path)
    )
    new_id = str(uuid.UUID(hex=deps.random_hex(16), version=4))
    target = path.with_name(f"{new_id}.jsonl")
    out = await asyncio.to_thread(_beside, path, target, home)
    passed = await messages.compact(info, context, asked)
    if asked.dry_run or passed.report.status == "failed" or not passed.contents:
        return RewrittenSession(report=passed.report)
    contents = _places(context, passed)
    await sessions.ensure(
        new_id,
        host=HOST,
        project=info.project,
        parent=info.session_id,
        source=target.name,
        path=importer.place_of(target),
    )
    drop = passed.report.thinking.dropped > 0
    text = "".join(importer.dump(row) + "\n" for row in rewritten(rows, contents, new_id, drop_thinking=drop))
    await asyncio.to_thread(out.write, text.encode())
    apply = f"{f'In {info.project}: ' if info.project else ''}claude --resume {new_id}"
    report = msgspec.structs.replace(passed.report, how_to_apply=apply)
    return RewrittenSession(report=report, session_id=new_id, file=target, digests=len(contents))


async def compact_rows(
    messages: Messages,
    info: SessionInfo,
    rows: list[dict[str, Any]],
    context: HostContext,
    asked: PassOptions,
    host_session_id: str,
    *,
    off: bool = False,
) -> CompactedMessages:
    """Run a pass over a transcript's rows, which come back as rows; as they came in where nothing was replaced."""
    passed = await messages.compact(info, context, asked, requested=False, off=off)
    shorter: list[Any] = rows
    if passed.contents and passed.report.status != "failed":
        drop = passed.report.thinking.dropped > 0
        shorter = rewritten(rows, _places(context, passed), host_session_id, drop_thinking=drop)
    return replace(passed, messages=shorter)


def _places(context: HostContext, passed: CompactedMessages) -> dict[tuple[int, int], Content]:
    """Place of a row and of a block in it -> what stands there now."""
    places = {item.id: item.position for item in context.items}
    return {places[name]: part for name, part in passed.contents.items()}


def _beside(path: Path, target: Path, home: Path) -> OutFile:
    """Who may read a transcript may read the new one."""
    return OutFile(target, home=home, sources=[path], mode=path.stat().st_mode & 0o777)

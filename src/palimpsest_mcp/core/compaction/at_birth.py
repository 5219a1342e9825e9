"""A tool result that the host would cut: archived whole, and replaced by a digest before it enters the context."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from ...context.budgets import GROWTH, budget_of
from ...context.fold import Fold
from ...context.plan import CUT_ABOVE_TOKENS, Newborn, decide
from ...context.view import view
from ...errors import DigestRefused
from ...hosts.actions import action_of
from ...hosts.hook_call import plain_result
from ...models.events import Replaced, Seen, SessionInfo
from ...models.items import Content, Item, ItemIds, content_bytes, content_sha256, content_text
from ...models.plans import ContextItem, Slot
from ...models.records import OffloadRecord
from ...models.tools import own_tool
from ...ports.host import ToolOutput
from ..batch import Made, reserve_numbers
from ..dependencies import ContentCounter, Dependencies
from ..measure import stored_policy
from ..sessions import Sessions

LOCK_WAIT_S = 0.05
"""Somebody waits for the result: with the commit lock taken for longer it goes through as it is (L11)."""
MOST_CHARACTERS = 1_000_000
"""A longer result is left to the host: its digest would take longer than a hook has."""
TIME_S = 7.0
"""For a digest. What is committed after the end of its hook would never be seen: the plugin gives it thirty seconds."""
WAIT_S = 20.0
"""For those of parallel results that came before it: sixteen of 100 kB take eight seconds (half a second each)."""


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook says of a call that has just ended."""

    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str
    result: ToolOutput
    """In the shape of its host."""
    agent: str = ""
    """Empty for the main chain."""
    touched: frozenset[str] = frozenset()
    """Files that the session changed as far as hooks told; what its transcript tells comes on top."""

    @classmethod
    def plain(cls, tool: str, args: Mapping[str, Any], call_id: str, content: Any) -> ToolAnswer | None:
        """One as most hosts have it, a text or text blocks; None where it is neither."""
        action = action_of(tool, args)
        result = plain_result(content, action.target if action.verb == "read" else "")
        if result is None:
            return None
        return cls(tool_name=tool, tool_input=dict(args), tool_use_id=call_id, result=result)


class ShrunkResult(msgspec.Struct, frozen=True, kw_only=True):
    """A digest that is to enter the context in the place of a result."""

    output: Any
    """In the tool's own shape."""
    context: str
    """A line for the model beside it."""
    batch_id: str
    item_id: str
    tokens_before: int
    tokens_after: int


def may_shrink(deps: Dependencies, tool_name: str, result: ToolOutput | None) -> bool:
    """Whether a result is so large that it may be replaced: told at once, from its size alone. No text has more tokens
    than bytes."""
    if result is None or not deps.at_birth or not deps.automatic or own_tool(tool_name):
        return False
    least = min(CUT_ABOVE_TOKENS, deps.at_birth_tokens or CUT_ABOVE_TOKENS)
    return bool(result.spilled_to) or len(content_bytes(result.content)) > least


async def shrink_at_birth(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    answer: ToolAnswer,
    *,
    above_tokens: int | None = None,
    time_limit_s: float = TIME_S,
) -> ShrunkResult | None:
    """Archive a result and make what stands for it; None leaves it as it is, and then nothing was written.

    Args:
        above_tokens: the threshold of this call; None takes the setting.
        time_limit_s: for the digest; after it the result stays as it is.

    Raises:
        WriteFailed, LockTimeout: the result is to stay as it is.
    """
    if not deps.at_birth or not deps.automatic or not answer.tool_use_id:
        return None
    if own_tool(answer.tool_name):
        return None  # what our own server answers is asked for on purpose
    content = await asyncio.to_thread(answer.result.whole)
    if content is None or len(content_text(content)) > MOST_CHARACTERS:
        return None
    return await _Birth(deps, sessions, info, answer, content, above_tokens or deps.at_birth_tokens).run(time_limit_s)


class _Birth:
    """One result on its way."""

    def __init__(
        self,
        deps: Dependencies,
        sessions: Sessions,
        info: SessionInfo,
        answer: ToolAnswer,
        content: Content,
        above_tokens: int | None,
    ) -> None:
        self._above_tokens = above_tokens
        self._deps = deps
        self._sessions = sessions
        self._info = info
        self._answer = answer
        self._result = answer.result
        self._content = content

    async def run(self, time_limit_s: float) -> ShrunkResult | None:
        try:
            async with asyncio.timeout(time_limit_s):
                made = await self._made()
        except TimeoutError:
            return None  # nothing was written
        return None if made is None else await self._commit(*made)

    async def _made(self) -> tuple[Item, Made, ContentCounter] | None:
        """The result as an item, and its digest; None where it is to stay as it is."""
        fold = await self._sessions.fold(self._info)
        model = fold.usage.get(self._answer.agent)
        counter = self._deps.counter_for((model.model.model if model and model.model else "") or self._deps.model)
        item = await asyncio.to_thread(self._item, fold, counter)
        chosen = decide(
            Newborn(
                characters=len(content_text(self._content)),
                tokens=item.tokens,
                spilled=bool(self._result.spilled_to),
                target=self._result.target,
            ),
            above_tokens=self._above_tokens,
            touched=_touched(fold) | self._answer.touched,
        )
        if not chosen.replace or item.id in fold.decided.replacements:
            return None
        made = await self._digest(item, counter)
        return None if made is None else (item, made, counter)

    def _item(self, fold: Fold, counter: ContentCounter) -> Item:
        answer = self._answer
        content = self._content
        if self._deps.redact_archive and isinstance(content, str):
            content = self._deps.masked(content)
        ids = ItemIds(answer.agent)
        return Item(
            id=ids.result(answer.tool_use_id),
            kind=self._deps.kind_by_tool.get(answer.tool_name, "tool_result"),
            role="tool",
            position=(view(fold, agent=answer.agent).last_row + 1, 0),
            content=content,
            sha256=content_sha256(content),
            size_bytes=len(content_bytes(content)),
            tokens=counter.count_content(content),
            agent=answer.agent,
            unit=ids.call(answer.tool_use_id),
            tool_name=answer.tool_name,
            call_id=answer.tool_use_id,
            args=answer.tool_input,
            action=action_of(answer.tool_name, answer.tool_input),
            ts=self._deps.now(),
        )

    async def _digest(self, item: Item, counter: ContentCounter) -> Made | None:
        """A digest that the host takes whole; None where there is none."""
        from .digests import BatchDigests  # a result that stays as it is need not load it

        policy = stored_policy(self._deps, await self._sessions.fold(self._info))
        tokens = item.tokens + counter.per_result_overhead
        most = policy.max_digest_tokens
        budget = min(most, budget_of(item.tokens, 1, pointers=False, share=policy.budget_share))
        (number,) = await reserve_numbers(
            self._deps, self._sessions, self._info, 1, pass_id="at birth", lock_timeout_s=LOCK_WAIT_S
        )
        digesting = BatchDigests(self._deps, self._info, policy, counter, reason="at_birth")
        one = ContextItem(item=item, tokens=tokens)
        while budget > 0:
            ceiling = max(budget, min(GROWTH * budget, most, item.tokens - 1))
            slot = Slot(item_ids=(item.id,), tokens=tokens, budget_tokens=budget, ceiling_tokens=ceiling)
            try:
                made = await digesting.make(slot, [one], number, {})
            except DigestRefused:
                return None
            if len(made.record.digest_replacing_inline) <= self._result.most_characters:
                return made if made.record.digest_token_count < item.tokens else None
            digesting.forget([number])
            budget //= 2
        return None

    async def _commit(self, item: Item, made: Made, counter: ContentCounter) -> ShrunkResult | None:
        """The same way as in a pass (L9)."""
        from .commit import archive_and_commit

        record = msgspec.structs.replace(made.record, agent=self._answer.agent)
        made = msgspec.structs.replace(made, record=record)
        part = record.part(record.items[0])
        replaced = self._replaced(record, item, part, counter)

        def decide_once(fold: Fold) -> Replaced | None:
            return None if item.id in fold.decided.replacements else replaced

        seen = Seen(item=item, agent=item.agent, ts=item.ts)
        await self._deps.store.ledger.observe(self._sessions.key(self._info), [seen])
        done = await archive_and_commit(
            self._deps, self._sessions, self._info, [made], decide_once, lock_timeout_s=LOCK_WAIT_S
        )
        if not done.batches:
            return None  # another process was faster
        return ShrunkResult(
            output=self._result.with_text(part),
            context=self._result.beside,
            batch_id=record.batch_id,
            item_id=item.id,
            tokens_before=record.original_token_count,
            tokens_after=record.digest_token_count,
        )

    def _replaced(self, record: OffloadRecord, item: Item, part: str, counter: ContentCounter) -> Replaced:
        from .commit import committed_batch

        row = self._result.as_row(part)
        batch = committed_batch(record)
        stands = msgspec.structs.replace(
            batch.items[0],
            part_sha256=content_sha256(row),
            part_tokens=counter.count(row),
            part=row if row != part else None,
        )
        return Replaced(
            pass_id="at birth",
            session_id=self._info.session_id,
            batches=(msgspec.structs.replace(batch, items=(stands,)),),
            reason="at_birth",
            policy=str(record.policy.get("name", "")),
            agent=item.agent,
            ts=self._deps.now(),
        )


def _touched(fold: Fold) -> set[str]:
    """Files that the session wrote or edited, by whatever agent."""
    found: set[str] = set()
    for state in fold.states.values():
        action = state.current.action if state.versions else None
        if action is not None and action.verb in ("write", "edit") and action.target:
            found.add(action.target)
    return found

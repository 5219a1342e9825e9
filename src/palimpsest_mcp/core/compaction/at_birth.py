"""A tool result that the host would cut: archived whole, and replaced by a digest before it enters the context.

Results are read in a moment in which nobody waits, so that a pass finds them read: in this process, or in a later
one, since what was read is kept beside the session.

A digest is the same with and without. What is kept is of masked texts, and is taken only where this very program wrote
it; what digests are checked by is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ...context.budgets import GROWTH, budget_of
from ...context.fold import Fold
from ...context.plan import CUT_ABOVE_TOKENS, Newborn, decide
from ...context.tombstones import key_of
from ...context.view import view
from ...errors import DigestRefused
from ...hosts.actions import action_of
from ...hosts.hook_call import plain_result
from ...models.events import Replaced, Seen, SessionInfo, SessionKey
from ...models.items import Content, Item, ItemIds, content_bytes, content_sha256, content_text
from ...models.plans import ContextItem, Slot
from ...models.records import OffloadRecord
from ...models.tools import own_tool
from ...ports.seams import ToolOutput
from ..batch import Made, original_text, reserve_numbers
from ..dependencies import ContentCounter, Dependencies, StudyPage
from ..measure import stored_policy
from ..sessions import Sessions
from .digests import Sources

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


MOST_AT_ONCE = 100_000
"""Characters that are read in one go, about: a sixth of a second."""
PAGE_BYTES = 256 << 10
"""Of studies that are kept in one file, from which the next one begins."""
_TAG = 16
_ROOMS = ("digest", "text")
"""Folders of the code that studies depend on."""
_PAGES = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]])


async def read_ahead(deps: Dependencies) -> int:
    """Read some of what waits for it, one result after the other, in a thread.

    No digest changes. A secret that runs over the end of a result is found in the pass only: then the text is another
    one, and is read there.

    Returns:
        How many were read.
    """
    sources = Sources(deps.redactor, deps.registry)
    least = deps.policy_named(None).min_item_tokens
    count = done = 0
    grown: dict[SessionKey, None] = {}
    while deps.unread and done < MOST_AT_ONCE:
        key, item = deps.unread.popleft()
        if item.tokens >= least:
            name, study, size = await asyncio.to_thread(_read, deps, sources, item)
            page = deps.study_pages.setdefault(key, StudyPage(deps.random_hex(8)))
            page.studies[name] = study
            page.keys.add(key_of(item.id, item.sha256, item.size_bytes))
            grown[key] = None
            done += size
            count += 1
    for key in grown:
        await _keep(deps, key, deps.study_pages[key])
    return count


async def lend_studies(deps: Dependencies, key: SessionKey) -> None:
    """Give a pass what was read of a session's results before."""
    if not deps.may_read_ahead:
        return
    pages = await deps.store.studies(key)
    if pages:
        deps.studies().lend(unsealed(pages, await deps.store.secret(), _program(deps)))


async def _keep(deps: Dependencies, key: SessionKey, page: StudyPage) -> None:
    data = sealed(page.studies, await deps.store.secret(), _program(deps))
    kept = await deps.store.keep_study(key, page.name, data, page.keys)
    if not kept or len(data) >= PAGE_BYTES:
        deps.study_pages.pop(key, None)


def sealed(studies: dict[bytes, bytes], secret: bytes, program: bytes) -> bytes:
    """Studies as a file holds them, behind a hash that nobody makes who has not the store's secret."""
    body = msgspec.msgpack.encode(list(studies.items()))
    return _tag(body, secret, program) + body


def unsealed(pages: Iterable[bytes], secret: bytes, program: bytes) -> dict[bytes, bytes]:
    """The studies of files; none of one that is damaged, or that another program wrote."""
    found: dict[bytes, bytes] = {}
    for data in pages:
        tag, body = data[:_TAG], data[_TAG:]
        if tag == _tag(body, secret, program):
            found.update(_PAGES.decode(body))
    return found


def _tag(body: bytes, secret: bytes, program: bytes) -> bytes:
    return hashlib.blake2b(program + body, digest_size=_TAG, key=secret).digest()


def _program(deps: Dependencies) -> bytes:
    """What studies depend on beside their texts, which are masked: other rules of redaction give other texts."""
    return hashlib.sha256(_code() + deps.registry.version.encode()).digest()


@cache
def _code() -> bytes:
    """Of the code that reads texts, and of the Python that runs it."""
    package = Path(__file__).parents[2]
    found = hashlib.sha256(sys.version.encode())
    for room in _ROOMS:
        for path in sorted((package / room).rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.read_bytes())
    return found.digest()


def _read(deps: Dependencies, sources: Sources, item: Item) -> tuple[bytes, bytes, int]:
    """Read one result; gives what its text is kept under, what was read, and its characters."""
    from ...digest.engine import read_ahead as read  # what only records results need not load it
    from ...digest.study import name_of

    masked = deps.redactor.redact(original_text(item))
    (source,) = sources.of([ContextItem(item=item, tokens=item.tokens)], [masked])
    study = read(source, deps.studies(), deps.registry, deps.counter_for(deps.model))
    return name_of(masked.text), study, len(masked.text)

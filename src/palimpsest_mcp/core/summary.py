"""The anchored summary of a session: stated by the agent, filled from the ledger, brought up to date by each pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ..context.fold import Fold
from ..errors import InvalidArgument, SummaryChanged
from ..memory.summary.fit import BUDGET_TOKENS, fit, own
from ..memory.summary.harvest import harvest
from ..memory.summary.merge import (
    EXAMPLE,
    absorb,
    after_pass,
    check,
    cycle_note,
    fold_text,
    merge,
    summary_of,
    usable,
    worded,
)
from ..memory.summary.quotes import spoken
from ..memory.summary.sections import full_command, to_markdown
from ..models.events import SessionInfo
from ..models.items import Item, content_text
from ..models.llm import Spent, SummaryRequest
from ..models.summaries import AnchoredSummary
from ..models.text import counted, each_text
from ..ports.seams import SummaryAuthor
from ..text.specifics.delimited import fields_apart
from .dependencies import Dependencies
from .sessions import Sessions

# Asks a model for the sections of a summary that only a reader of the messages can fill, and checks its answer.


MOST_CHARS = 60_000
"""Of the newest messages, so much is sent."""


async def drafted(
    deps: Dependencies, author: SummaryAuthor, current: AnchoredSummary, items: Sequence[Item]
) -> tuple[AnchoredSummary, tuple[str, ...]]:
    """Labelled entries that passed every check, and notes for the report; empty where nothing came of it."""
    from ..digest.prose import looks_like_a_failure

    messages = _messages(deps, items)
    if not messages:
        return AnchoredSummary(), ()
    summary = to_markdown(current)
    answer = await author.draft(SummaryRequest(summary=summary, messages=messages))
    if answer.failure:
        return AnchoredSummary(), (f"summary sections by {author.author} not used: {answer.failure}",)
    try:
        found = summary_of(answer.sections)
    except InvalidArgument:
        return AnchoredSummary(), (f"summary sections by {author.author} not used: the answer has another form",)
    if looks_like_a_failure(found.current_state):
        return AnchoredSummary(), (f"summary sections by {author.author} not used: it is an error or a refusal",)

    def specifics(text: str) -> frozenset[tuple[str, str]]:
        return frozenset((one.cls, one.text) for one in deps.registry.spans(fields_apart(text)))

    fine, dropped = usable(found, author.author, "\n".join((summary, *messages)), specifics)
    notes = [f"summary sections by {author.author}: {_words(answer.spent)}"]
    if dropped:
        notes.append(f"{dropped} of its entries were not used: they say what no message says, or are no statements")
    return fine, tuple(notes)


def _messages(deps: Dependencies, items: Sequence[Item]) -> tuple[str, ...]:
    """What was said, redacted, the newest that fit, oldest first."""
    said = sorted(
        [(item, text) for role in ("user", "assistant") for item, text in spoken(items, role)],
        key=lambda pair: pair[0].position,
    )
    room = MOST_CHARS
    found: list[str] = []
    for item, _ in reversed(said):
        text = f"{item.role}: {deps.masked(content_text(item.content))}"
        room -= len(text)
        if room < 0:
            break
        found.append(text)
    return tuple(reversed(found))


def _words(spent: Spent) -> str:
    price = "" if spent.dollars is None else f", ${spent.dollars:.4f}"
    return f"{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out{price}"


O200K = "openai"
"""Whose tokens the budget counts: one summary has one size, whichever model reads it."""
TRIES = 8
"""How often a merge starts anew because another writer was quicker."""

Change = Callable[[AnchoredSummary, AnchoredSummary], AnchoredSummary]
"""(what is kept, what the ledger says) -> what is to be kept."""


@dataclass(frozen=True, kw_only=True)
class PassFacts:
    """What a summary says of the pass that just committed."""

    tokens_before: int
    tokens_after: int
    probes_passed: int | None = None
    """None: not validated."""
    probes_total: int | None = None
    silent: bool = False
    """The model did not answer in this pass: it is not asked for more."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """A summary as it is kept now."""

    summary: AnchoredSummary
    notes: tuple[str, ...]


def check_stated(sections: Mapping[str, Any], fitting: Sequence[str], *, intent_changed: bool) -> None:
    """Refuse statements that no summary takes.

    Args:
        fitting: names of what is to be closed.

    Raises:
        InvalidArgument: an unknown section, a placeholder, a vague intent, or nothing at all.
    """
    new = summary_of(sections)
    check(new)
    if intent_changed and not new.session_intent:
        raise InvalidArgument("intent_changed needs a session_intent.", next=f"Give sections such as {EXAMPLE}")
    if not (sections or fitting):
        raise InvalidArgument("There is nothing to update.", next=f"Give sections such as {EXAMPLE}")


class KeptSummaries:
    """Reads, changes and keeps summaries."""

    def __init__(self, deps: Dependencies, sessions: Sessions) -> None:
        self._deps = deps
        self._sessions = sessions
        self._count = deps.counter_for(O200K).count

    async def current(self, info: SessionInfo, *, full: bool = False) -> AnchoredSummary:
        """What is kept with what the ledger says by now; nothing is written.

        Args:
            full: with everything that the budget leaves out otherwise.
        """
        kept, _, _ = await self._kept(info)
        found = await self._found(info, await self._sessions.fold(info))
        return await asyncio.to_thread(self._joined, kept, found, full=full)

    async def update(
        self,
        info: SessionInfo,
        sections: Mapping[str, Any],
        *,
        intent_changed: bool = False,
        close_blockers: Sequence[str] = (),
        supersede: Sequence[str] = (),
    ) -> Written:
        """Merge what somebody states into the summary.

        Raises:
            InvalidArgument: a section or name that does not fit, a placeholder, a vague intent; nothing was written.
            SummaryChanged, WriteFailed: the old summary is still there.
        """
        check_stated(sections, (*close_blockers, *supersede), intent_changed=intent_changed)
        new = self._masked(summary_of(sections))
        check(new)
        notes: list[str] = []

        def change(kept: AnchoredSummary, found: AnchoredSummary) -> AnchoredSummary:
            stated = _without_found_intent(kept, found)
            merged = merge(
                stated, new, intent_changed=intent_changed, close_blockers=close_blockers, supersede=supersede
            )
            notes[:] = _intent_note(new, merged)
            return msgspec.structs.replace(merged, timestamp=self._deps.now())

        return await self._write(info, await self._sessions.fold(info), change, notes)

    async def refresh(self, info: SessionInfo, fold: Fold, facts: PassFacts) -> tuple[str, ...]:
        """Bring the summary up to date after a committed pass: the only thing that raises its compression count.

        Returns:
            Notes for the pass's report.

        Raises:
            PalimpsestError: the summary could not be kept; the pass stands all the same.
        """

        draft, notes = (AnchoredSummary(), ()) if facts.silent else await self._drafted(info, fold)

        def change(kept: AnchoredSummary, found: AnchoredSummary) -> AnchoredSummary:
            return after_pass(
                worded(kept, draft),
                timestamp=self._deps.now(),
                messages=_range(fold),
                tokens_before=facts.tokens_before,
                tokens_after=facts.tokens_after,
                probes=(facts.probes_passed, facts.probes_total),
            )

        written = await self._write(info, fold, change, [*notes])
        note = cycle_note(written.summary.compression_count)
        return (*written.notes, *([note] if note else []))

    async def _drafted(self, info: SessionInfo, fold: Fold) -> tuple[AnchoredSummary, tuple[str, ...]]:
        """What a model words, where one is asked."""
        if self._deps.author is None:
            return AnchoredSummary(), ()
        kept, _, _ = await self._kept(info)
        found = await self._found(info, fold)
        current = await asyncio.to_thread(self._joined, kept, found)
        return await drafted(self._deps, self._deps.author, current, items_of(fold))

    async def _write(self, info: SessionInfo, fold: Fold, change: Change, notes: list[str]) -> Written:
        found = await self._found(info, fold)
        for attempt in range(TRIES):
            kept, version, damage = await self._kept(info)
            fitted = await asyncio.to_thread(self._changed, change, kept, found)
            try:
                await self._deps.store.summaries.put(self._sessions.key(info), fitted, after=version)
            except SummaryChanged:
                if attempt + 1 == TRIES:
                    raise
                continue
            return Written(summary=fitted, notes=(*notes, *damage, *self._size_notes(fitted)))
        raise AssertionError("the last try returns or raises")

    async def _kept(self, info: SessionInfo) -> tuple[AnchoredSummary, str, tuple[str, ...]]:
        """The session's summary, else its nearest parent's; with the version that a put must name, and damage."""
        stored = await self._deps.store.summaries.get(self._sessions.key(info))
        damage = (stored.note,) if stored.note else ()
        summary = stored.summary
        for parent in (await self._sessions.family(info))[1:] if summary is None else ():
            summary = (await self._deps.store.summaries.get(self._sessions.key(parent))).summary
            if summary is not None:
                break
        kept = summary or AnchoredSummary()
        return msgspec.structs.replace(kept, session=info.handle), stored.version, damage

    async def _found(self, info: SessionInfo, fold: Fold) -> AnchoredSummary:
        gone = frozenset(name for name, state in fold.states.items() if not state.present)
        return await asyncio.to_thread(self._harvested, info, items_of(fold), gone)

    def _harvested(self, info: SessionInfo, items: Sequence[Item], gone: frozenset[str]) -> AnchoredSummary:
        found = harvest(
            items,
            self._deps.masked,
            session=info.handle,
            project=info.project,
            gone=gone,
        )
        return self._masked(found)

    def _changed(self, change: Change, kept: AnchoredSummary, found: AnchoredSummary) -> AnchoredSummary:
        return self._joined(change(kept, found), found)

    def _joined(self, kept: AnchoredSummary, found: AnchoredSummary, *, full: bool = False) -> AnchoredSummary:
        """The one masked, fitted summary; a person may have written a secret into the file."""
        kept = self._masked(kept)
        return absorb(own(kept, found), found) if full else fit(kept, found, self._count)

    def _masked(self, summary: AnchoredSummary) -> AnchoredSummary:
        """Every text of a summary with its secrets masked."""
        masked = each_text(msgspec.to_builtins(summary), self._deps.masked)
        return msgspec.convert(masked, AnchoredSummary)

    def _size_notes(self, summary: AnchoredSummary) -> tuple[str, ...]:
        tokens = self._count(to_markdown(summary))
        notes: list[str] = []
        if files := summary.left_out.get("files_modified"):
            notes.append(f"the summary leaves out {counted(files, 'file')}: {full_command(summary.session)}")
        if tokens > BUDGET_TOKENS:
            notes.append(
                f"the summary takes {tokens} tokens, more than {BUDGET_TOKENS}: what was stated is never cut; "
                "edit summary.md to shorten it"
            )
        return tuple(notes)


def items_of(fold: Fold) -> list[Item]:
    """Every item ever seen, those that left the context too, in the host's order."""
    items = [state.current for state in fold.states.values() if state.versions]
    return sorted(items, key=lambda item: (item.agent, item.position, item.id))


def _range(fold: Fold) -> tuple[int, int]:
    """First and last message in which something is replaced now, from 1."""
    rows = [
        state.current.position[0] + 1
        for name in fold.decided.replacements
        if (state := fold.states.get(name)) is not None and state.versions
    ]
    return (min(rows), max(rows)) if rows else (0, 0)


def _without_found_intent(kept: AnchoredSummary, found: AnchoredSummary) -> AnchoredSummary:
    """What the ledger says is the intent only until somebody states one."""
    if kept.session_intent and kept.session_intent == found.session_intent:
        return msgspec.structs.replace(kept, session_intent="")
    return kept


def _intent_note(new: AnchoredSummary, merged: AnchoredSummary) -> list[str]:
    if not new.session_intent or fold_text(new.session_intent) == fold_text(merged.session_intent):
        return []
    return ["the session intent stays as it was; give intent_changed: true where it really changed"]

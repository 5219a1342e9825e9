"""Wires the parts: one `Palimpsest` is one store with everything that works on it. It decides nothing."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InvalidArgument
from ..hosts.host_table import HostNote, host_note
from ..hosts.session_files import parse_value, rewrap
from ..models.events import SessionInfo, SummarizationEvent
from ..models.probes import ProbeReport
from ..models.records import OffloadRecord
from ..models.reports import BatchView, ContextView, Hit, Recorded, Report, Restored, StoreStatus, VerifyReport
from ..models.summaries import AnchoredSummary, SummaryUpdate
from ..models.usage import Usage
from ..policy.zones import ratio_of, triggers
from ..ports.clock import Clock, RandomHex
from ..ports.experience import Experience
from ..ports.host import HostContext
from ..ports.store import Store
from ..services import checkup, context, files, policies, record, reporting
from ..services.admitting import admit, admit_items, admit_list, admit_statements
from ..services.claude_code.events import HostEvents
from ..services.compact import run_pass
from ..services.dependencies import Dependencies, Progress
from ..services.experience_views import ExperienceViews
from ..services.handoffs import KeptHandoffs
from ..services.importing import import_context
from ..services.learn import Learn
from ..services.measure import Situation, Told, situate, tell
from ..services.messages import CompactedMessages, Messages
from ..services.noticing import Noticing
from ..services.offloaded import Offloaded
from ..services.pages import Page, page_of
from ..services.pass_request import PassRequest
from ..services.probe import probe_session
from ..services.rewriting import Rewriting, RewrittenSession
from ..services.sessions import Sessions
from ..services.summary import KeptSummaries
from ..settings.projects import project_root
from ..settings.settings import Settings
from ..store.host_files import HostFiles
from ..summary.markdown import to_markdown
from .experience import ExperienceMethods, learning_means, open_experience
from .handoffs import HandoffMethods
from .host_events import HostMethods
from .wiring import dependencies, open_store


class Palimpsest(ExperienceMethods, HandoffMethods, HostMethods):
    """The library's entry. Every `session_id` may be a session's handle; all errors are `PalimpsestError`s."""

    def __init__(
        self, given: Dependencies, settings: Settings, experience: Experience | None = None, attached: str = ""
    ) -> None:
        self.settings = settings
        self._attached = attached
        self._given = given
        self._sessions = Sessions(given)
        self._offloaded = Offloaded(given, self._sessions)
        self._messages = Messages(given, self._sessions, self._offloaded)
        self._noticing = Noticing(given, self._sessions)
        self._summaries = KeptSummaries(given, self._sessions)
        self._handoffs = KeptHandoffs(given, self._sessions, self._summaries, self._offloaded, project_root)
        means = learning_means(settings, given, experience or open_experience(settings, given.random_hex))
        self._learn = Learn(means)
        self._experience_views = ExperienceViews(means)
        self._host_events = HostEvents(
            given,
            self._sessions,
            self._offloaded,
            self._noticing,
            self._summaries,
            HostFiles(settings.home),
            self._learn_from,
        )

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        home: Path | str | None = None,
        *,
        settings: Settings | None = None,
        principal: str = "",
        clock: Clock | None = None,
        random_hex: RandomHex | None = None,
        store: Store | None = None,
        experience: Experience | None = None,
        attached: str = "",
    ) -> AsyncGenerator[Palimpsest]:
        """Open a store for as long as the block runs.

        Args:
            home: folder of the store; None takes `PALIMPSEST_HOME`, else the platform's user data folder.
            settings: None reads environment and settings file.
            principal: whose sessions; empty is the local user.
            store: another backend than the folder.
            experience: another backend for the experience of skills than their folders.
            attached: the host in which an adapter of ours acts, `claude-code`; empty for none.

        Raises:
            StoreUnusable, StoreNewer, InvalidSettings: nothing was opened.
        """
        now = clock or (lambda: datetime.now().astimezone())
        chance = random_hex or secrets.token_hex
        chosen = settings or Settings.load(home=home)
        opened = store or open_store(chosen, now, chance)
        try:
            yield cls(await dependencies(chosen, opened, now, chance, principal), chosen, experience, attached)
        finally:
            if store is None:
                await opened.aclose()

    @property
    def store(self) -> Store:
        """The store, for programs that ask it directly."""
        return self._given.store

    @property
    def given(self) -> Dependencies:
        """What the use cases were given: redactor, registry, counters."""
        return self._given

    # Message lists and files

    async def compact_messages(
        self,
        messages: list[Any],
        *,
        session_id: str | None = None,
        window_tokens: int | None = None,
        used_tokens: int | None = None,
        target: float | None = None,
        keep_last: int | None = None,
        policy: str | None = None,
        strategy: str = "",
        force: bool = False,
        dry_run: bool = False,
        focus: str = "",
        model: str = "",
        form: str = "auto",
        system: str = "",
        parent: str | None = None,
        progress: Progress | None = None,
    ) -> CompactedMessages:
        """Give back a shorter, valid list: older tool results replaced by checked digests, originals archived first.

        Call it again with the grown list (either the original or the compacted one) and the same session id: what was
        compacted stays byte-identical.

        Args:
            session_id: None mints one; it stands in the answer.
            window_tokens: the effective window.
            used_tokens: what the provider reported for this list; None estimates.
            target: share of the window to reach, 0-1; None takes the policy's.
            keep_last: newest tool results that stay whole, at least 3; -1 keeps all.
            force: run below the trigger too; with no window from anywhere the list's own size is the window.
            focus: words of the task; a bonus in choosing what to show.
            system: the system prompt, where it is not in the list; counted only.
            parent: session whose digests this one inherits.

        Raises:
            FileWrongShape, WindowUnknown, InvalidArgument, PassInProgress, WriteFailed: the list is as it was.
        """
        told = Told(used_tokens=used_tokens, window_tokens=window_tokens, model=model, forced=force)
        admit(self._given, told=told, policy=policy, strategy=strategy, target=target, keep_last=keep_last)
        parsed = parse_value(messages, form=form, kind_by_tool=self._given.kind_by_tool)
        await admit_list(self._given, self._sessions, session_id or "", parsed, told, force=force)
        info = await self._sessions.ensure(session_id or "new", parent=parent)
        request = PassRequest(
            policy=await policies.policy_of(self._given, self._sessions, info, policy),
            target=target,
            force=force,
            dry_run=dry_run,
            keep_last=keep_last,
            focus=focus,
            strategy=strategy,
            progress=progress,
        )
        return await self._messages.compact(info, files.with_system(parsed, system), request, told)

    async def compact_file(
        self,
        path: Path,
        *,
        line: int | None = None,
        form: str = "auto",
        session_id: str | None = None,
        window_tokens: int | None = None,
        used_tokens: int | None = None,
        target: float | None = None,
        keep_last: int | None = None,
        policy: str | None = None,
        strategy: str = "",
        force: bool = False,
        dry_run: bool = False,
        focus: str = "",
        model: str = "",
        progress: Progress | None = None,
    ) -> CompactedMessages:
        """The same for a session file; `value` is what a file in the form that came in holds.

        Raises:
            FileMissing, FileEmpty, FileNotJson, LineNeeded: and what `compact_messages` raises.
        """
        told = Told(used_tokens=used_tokens, window_tokens=window_tokens, model=model, forced=force)
        admit(self._given, told=told, policy=policy, strategy=strategy, target=target, keep_last=keep_last)
        found = await files.read_file(path, line=line, form=form)
        parsed = files.parsed(found, self._given.kind_by_tool)
        name = session_id or parsed.session_id or files.session_id_of(path, found.line)
        await admit_list(self._given, self._sessions, name, parsed, told, force=force)
        info = await self._sessions.ensure(name, project=parsed.project, source=path.name)
        request = PassRequest(
            policy=await policies.policy_of(self._given, self._sessions, info, policy),
            target=target,
            force=force,
            dry_run=dry_run,
            keep_last=keep_last,
            focus=focus,
            strategy=strategy,
            progress=progress,
        )
        done = await self._messages.compact(info, parsed, request, told, wrapper=files.wrapper_of(found.value))
        return replace(done, value=rewrap(found.value, done.messages))

    async def rewrite_session(
        self,
        path: Path,
        *,
        window_tokens: int | None = None,
        target: float | None = None,
        keep_last: int | None = None,
        policy: str | None = None,
        focus: str = "",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RewrittenSession:
        """Write a new session file beside a Claude Code transcript, with digests in the place of older results.

        The file itself stays as it is. The new session's ledger names the old one as its parent, so that its batches
        are found under both. Without a window the session's own size is the window.

        Raises:
            FileMissing, FileWrongShape, InvalidArgument, PassInProgress, WriteFailed: no file was written.
        """
        told = Told(window_tokens=window_tokens, host="claude-code", forced=True)
        admit(self._given, told=told, policy=policy, strategy="", target=target, keep_last=keep_last)
        rewriting = Rewriting(self._given, self._sessions, self._messages)
        info, opened = await rewriting.open(path)
        request = PassRequest(
            policy=await policies.policy_of(self._given, self._sessions, info, policy),
            target=target,
            force=True,
            dry_run=dry_run,
            keep_last=keep_last,
            focus=focus,
            progress=progress,
        )
        return await rewriting.write(path, info, opened, request, told)

    async def expand_messages(self, messages: list[Any], *, session_id: str) -> list[Any]:
        """The list with every digest of ours replaced by its original: equal to what was compacted."""
        return await self._messages.expand(await self._sessions.find(session_id), messages)

    async def restore_all(self, session_id: str) -> Any:
        """The newest list or file that was compacted under this session, equal to what came in."""
        return await self._messages.restore_all(await self._sessions.find(session_id))

    # Sessions recorded item by item

    async def record_items(
        self, session_id: str, items: Sequence[Mapping[str, Any]], *, auto: bool = False, host: str = ""
    ) -> Recorded:
        """Write items at the end of a session's context; `new` mints a session.

        Args:
            auto: run a pass when the ratio is at the trigger (unless `PALIMPSEST_AUTO=off`).

        Raises:
            InvalidItem: it names the field; nothing was written.
        """
        await admit_items(self._given, self._sessions, session_id, items)
        info = await self._sessions.ensure(session_id, host=host)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        before = await situate(self._given, self._sessions, info, policy, Told(host=host))
        written = await record.record(self._given, self._sessions, info, items)
        after = await situate(self._given, self._sessions, info, policy, Told(host=host))
        crossed = triggers(after.usage.ratio, policy) and not triggers(before.usage.ratio, policy)
        report: Report | None = None
        # Our own view decides: a host that has not applied the last pass yet would ask for the same one for ever (L12).
        ours = ratio_of(after.view_used, after.window_tokens)
        if auto and self._given.automatic and triggers(ours, policy):
            request = PassRequest(policy=policy, requested=False, host_compacts=self._stands_aside(host))
            report = await self._run(info, after, request, host)
        return Recorded(
            session_id=info.session_id,
            handle=info.handle,
            item_ids=written.ids,
            tokens=written.tokens,
            usage=await self._noticing.usage(info, after, policy),
            crossed_trigger=crossed,
            warnings=written.warnings,
            report=report,
        )

    async def check_context_ratio(
        self,
        session_id: str,
        *,
        used_tokens: int | None = None,
        window_tokens: int | None = None,
        model: str = "",
        transcript_path: str = "",
        policy: str | None = None,
        host: str = "",
    ) -> Usage:
        """How full the window is, by the best numbers known; what is told here is kept for the session.

        Raises:
            SessionUnknown: the session is unknown and nothing was told of it.
        """
        given = Told(used_tokens=used_tokens, window_tokens=window_tokens, model=model, host=host)
        admit(self._given, told=given, policy=policy, strategy="", target=None, keep_last=None)
        parsed: HostContext | None = None
        if transcript_path:
            found = await files.read_file(Path(transcript_path), form="claude-code")
            parsed = files.parsed(found, self._given.kind_by_tool)
        told = (used_tokens, window_tokens, model, transcript_path, policy)
        if any(value not in (None, "") for value in told):
            info = await self._sessions.ensure(session_id, host=host)
        else:
            info = await self._sessions.find(session_id)
        if parsed is not None:
            await import_context(self._given, self._sessions, info, parsed)
        chosen = await policies.policy_of(self._given, self._sessions, info, policy)
        await tell(self._given, self._sessions, info, given)
        situation = await situate(self._given, self._sessions, info, chosen, Told(host=host))
        return self._with_adapter(await self._noticing.usage(info, situation, chosen))

    async def compact_session(
        self,
        session_id: str,
        *,
        policy: str | None = None,
        strategy: str = "",
        target: float | None = None,
        force: bool = False,
        dry_run: bool = False,
        focus: str = "",
        window_tokens: int | None = None,
        used_tokens: int | None = None,
        keep_last: int | None = None,
        plan_id: str = "",
        digests: Mapping[str, str] | None = None,
        progress: Progress | None = None,
        host: str = "",
    ) -> Report:
        """One pass over a recorded session. The host's own history stays as it is; the report says what to do.

        Args:
            plan_id: of a dry run; the pass is refused when the session changed since.
            digests: summaries of the caller's own by the number of their slot in that plan, `{"1": "…"}`. Each stands,
                labelled, above what code shows, or a note of the report says why it does not.

        Raises:
            SessionUnknown, WindowUnknown, PlanStale, PassInProgress, WriteFailed: the context is as it was.
            InvalidArgument: there is no such strategy or slot, or `digests` without the `plan_id` they are for.
        """
        told = Told(used_tokens=used_tokens, window_tokens=window_tokens, host=host)
        admit(self._given, told=told, policy=policy, strategy=strategy, target=target, keep_last=keep_last)
        if digests and (dry_run or not plan_id):
            raise InvalidArgument(
                "Summaries are for the slots of a plan.",
                next="Run compact_session with dry_run, then without it with its plan_id and digests.",
            )
        info = await self._sessions.find(session_id)
        chosen = await policies.policy_of(self._given, self._sessions, info, policy)
        await tell(self._given, self._sessions, info, told)
        told = Told(window_tokens=window_tokens, host=host, forced=force)
        situation = await situate(self._given, self._sessions, info, chosen, told)
        request = PassRequest(
            policy=chosen,
            target=target,
            force=force,
            dry_run=dry_run,
            keep_last=keep_last,
            focus=focus,
            plan_id=plan_id,
            digests=digests or {},
            strategy=strategy,
            host_compacts=self._stands_aside(host or info.host),
            progress=progress,
        )
        return await self._run(info, situation, request, host)

    async def show_context(self, session_id: str, *, pin: Sequence[str] = (), unpin: Sequence[str] = ()) -> ContextView:
        """What is in context, why it stays, and what was replaced; pins first, if asked.

        Raises:
            SessionUnknown, ItemUnknown: nothing was pinned.
        """
        info = await self._sessions.find(session_id)
        if pin or unpin:
            await context.pin(self._given, self._sessions, info, pin, unpin)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        situation = await situate(self._given, self._sessions, info, policy, Told())
        return await context.show(self._given, self._offloaded, info, situation, situation.usage, policy)

    # The anchored summary

    async def update_summary(
        self,
        session_id: str,
        sections: Mapping[str, Any],
        *,
        intent_changed: bool = False,
        close_blockers: Sequence[str] = (),
        supersede: Sequence[str] = (),
    ) -> SummaryUpdate:
        """Merge what an agent states into the session's summary; what a section leaves out stays as it is.

        Args:
            sections: by loose names (`files_modified`, `Decisions Made`, `blockers` …); strings, lists or objects.
            intent_changed: replace the intent that stands; without it a new one is set only where none was stated.
            close_blockers: open blockers by text, part of the text, or number.
            supersede: decisions that no longer stand, by the same; a single new decision is named in their place.

        Raises:
            InvalidArgument: an unknown section, a placeholder, a vague intent, a name that fits nothing; an example
                stands in `next`, and nothing was written.
            SummaryChanged, WriteFailed: the old summary is still there.
        """
        await admit_statements(
            self._sessions, session_id, sections, (*close_blockers, *supersede), intent_changed=intent_changed
        )
        info = await self._sessions.ensure(session_id)
        written = await self._summaries.update(
            info, sections, intent_changed=intent_changed, close_blockers=close_blockers, supersede=supersede
        )
        return SummaryUpdate(
            session_id=info.session_id,
            handle=info.handle,
            summary=written.summary,
            markdown=to_markdown(written.summary),
            notes=written.notes,
        )

    async def summary(self, session_id: str, *, full: bool = False) -> AnchoredSummary:
        """The session's anchored summary as of now: what is kept, with what the ledger says since. Writes nothing.

        Args:
            full: with everything that the budget of 1,500 tokens leaves out.

        Raises:
            SessionUnknown, StoreNewer: there is none to read.
        """
        return await self._summaries.current(await self._sessions.find(session_id), full=full)

    async def summary_markdown(self, session_id: str, *, full: bool = False) -> str:
        """The same in the form of `summary.md`."""
        return to_markdown(await self.summary(session_id, full=full))

    async def probe(self, session_id: str) -> ProbeReport:
        """Ask what the session's originals hold, and answer from what stays of it; also for one compacted long ago.

        Raises:
            SessionUnknown: there is none.
        """
        info = await self._sessions.find(session_id)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        return await probe_session(self._given, self._sessions, self._summaries, info, policy)

    # The archive

    async def list_offloaded(self, session_id: str) -> tuple[BatchView, ...]:
        """Every batch that was dropped, in order."""
        return await self._offloaded.batches(await self._sessions.find(session_id))

    async def list_offloaded_page(self, session_id: str, cursor: str = "", *, size: int = 20) -> Page[BatchView]:
        """One page of the same.

        Raises:
            InvalidArgument: the cursor is none of ours.
        """
        return page_of(await self.list_offloaded(session_id), cursor, size)

    async def record(self, session_id: str, batch_id: str) -> OffloadRecord:
        """The archive's record of a batch."""
        return await self._offloaded.record(await self._sessions.find(session_id), batch_id)

    async def search_offloaded(
        self, query: str, *, session_id: str | None = None, project: str | None = None, limit: int = 10
    ) -> tuple[Hit, ...]:
        """Dropped items that hold the query's words, best first; in every session unless one is named."""
        info = await self._sessions.find(session_id) if session_id else None
        return await self._offloaded.search(query, info=info, project=project, limit=limit)

    async def restore(
        self, session_id: str, batch_id: str, item_id: str | None = None, *, noted: bool = True
    ) -> Restored:
        """One original, byte for byte. The digest in the context stays (L13).

        Args:
            item_id: needed unless the batch has one item; a call id does too.
            noted: False where the caller itself says by `note_fetched` which text it hands over.
        """
        info = await self._sessions.find(session_id)
        one = await self._offloaded.restore(info, batch_id, item_id)
        if noted:
            await self._offloaded.note_fetched(info, [one], [])
        return one

    async def restore_batch(self, session_id: str, batch_id: str, *, noted: bool = True) -> tuple[Restored, ...]:
        """Every original of a batch, in order; `noted` as in `restore`."""
        info = await self._sessions.find(session_id)
        found = await self._offloaded.restore_batch(info, batch_id)
        if noted:
            await self._offloaded.note_fetched(info, found, [])
        return found

    async def note_fetched(
        self, session_id: str, restored: Sequence[Restored], texts: Sequence[str], also: Sequence[str] = ()
    ) -> None:
        """Say under which very texts originals were handed to an agent, so that they are known when they come back.

        Args:
            also: further forms that hosts may give the same copy.
        """
        await self._offloaded.note_fetched(await self._sessions.find(session_id), restored, texts, also)

    async def reinstate(self, session_id: str, batch_id: str) -> None:
        """Put the whole units of a batch back in the place of their digest."""
        await self._offloaded.reinstate(await self._sessions.find(session_id), batch_id)

    # The store

    async def verify(self, session_id: str | None = None) -> VerifyReport:
        """Check everything stored against its checksums and hashes, and that every handoff can be read."""
        only = await self._sessions.find(session_id) if session_id else None
        return await checkup.verify(self._given, self._sessions, only)

    async def status(self) -> StoreStatus:
        """Disk use and lifetime savings."""
        return await checkup.status(self._given, self._sessions)

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """Every session, oldest first."""
        return await self._sessions.all()

    async def session(self, session_id: str) -> SessionInfo:
        """A session by id or handle.

        Raises:
            SessionUnknown: there is none.
        """
        return await self._sessions.find(session_id)

    def subscribe(self, listener: Callable[[SummarizationEvent], Awaitable[None] | None]) -> Callable[[], None]:
        """Have a function called after every committed pass. Returns what ends the subscription."""
        self._given.listeners.append(listener)
        return lambda: self._given.listeners.remove(listener)

    async def _run(self, info: SessionInfo, situation: Situation, request: PassRequest, host: str) -> Report:
        result = await run_pass(self._given, self._sessions, self._offloaded, info, situation, request)
        note = self._note(host or info.host or "mcp")
        return reporting.report(info, situation, request, result, note=note)

    def _note(self, host: str) -> HostNote:
        """What is known of a host, with our adapter where it acts there."""
        return host_note(host, attached=self._attached)

    def _stands_aside(self, host: str) -> bool:
        """Whether the host compacts by itself where no adapter of ours acts."""
        note = self._note(host)
        return bool(host) and note.compacts_itself and not note.adapter

    def _with_adapter(self, usage: Usage) -> Usage:
        """What the adapter does at the host's point of compaction, behind that point."""
        note = self._note(usage.host)
        if not note.adapter:
            return usage
        point = "; ".join(filter(None, (usage.host_compaction_point, note.adapter_does)))
        return msgspec.structs.replace(usage, host_compaction_point=point)

    async def _learn_from(self, session_id: str) -> None:
        """What the skills of a session that ends have learned; a skill that cannot be compacted is left for later."""
        if self._given.automatic:
            await self.compact_due_experience(ended_session=session_id)

"""The library's methods that fill a context and make it shorter: recording, message lists, files, passes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from ..context.meter import ratio_of, triggers
from ..errors import InvalidArgument
from ..hosts.detect import parse_value, rewrap
from ..models.advice import Advice, step
from ..models.plans import PassKeywords, PassOptions, SessionPassKeywords
from ..models.reports import Report, Usage
from ..models.views import Chooser, ContextView, Recorded
from ..ports.seams import HostContext
from . import importer, record
from . import notices as context
from .importer import import_context
from .measure import measured, policy_of, stored_policy, tell, tell_held
from .parts import Facade
from .record import admit, admit_items, admit_list, admit_name, admit_new

if TYPE_CHECKING:
    from .claude_code.in_place import RewrittenSession
    from .messages import CompactedMessages

EVERY_ROW = slice(None)


class CompactMethods(Facade):
    """What `Palimpsest` can do to a context that is too full. Originals are archived first."""

    async def compact_messages(
        self,
        messages: list[Any],
        *,
        session_id: str | None = None,
        form: str = "auto",
        system: str = "",
        parent: str | None = None,
        auto: bool = False,
        **options: Unpack[PassKeywords],
    ) -> CompactedMessages:
        """Give back a shorter, valid list: older tool results replaced by checked digests, originals archived first.

        Without `force` it runs at the policy's trigger only, so that a loop may call it before every request: below it
        the list comes back with the digests that it has, and the report says how far away the trigger is. Call it
        again with the grown list (either the original or the compacted one) and the same session id: what was
        compacted stays byte-identical.

        Args:
            session_id: None mints one; it stands in the answer.
            system: the system prompt, where it is not in the list; counted only.
            parent: session whose digests this one inherits.
            auto: `PALIMPSEST_AUTO=off` holds it back, as it does in `record_items`.
            options: as `PassOptions` describes them.

        Raises:
            FileWrongShape, WindowUnknown, InvalidArgument, PassInProgress, WriteFailed: the list is as it was.
        """
        asked = PassOptions(**options)
        admit(self._deps, asked)
        parsed = parse_value(messages, form=form, kind_by_tool=self._deps.kind_by_tool)
        at = self._passes.where(dry_run=asked.dry_run)
        await admit_list(at.deps, at.sessions, session_id or "", parsed, asked)
        info = await at.sessions.ensure(session_id or "new", parent=parent)
        off = auto and not self._deps.automatic
        return await at.messages.compact(info, importer.with_system(parsed, system), asked, requested=False, off=off)

    async def compact_rows(
        self,
        rows: list[dict[str, Any]],
        *,
        session_id: str,
        host_session_id: str = "",
        auto: bool = False,
        **options: Unpack[PassKeywords],
    ) -> CompactedMessages:
        """`compact_messages` for the rows of a Claude Code transcript: `messages` are rows for a file of this session,
        unchanged where nothing in them was replaced.

        Args:
            host_session_id: the client's own id, which every row is given; empty: `session_id`.

        Raises:
            FileWrongShape: these are no rows; and what `compact_messages` raises.
        """
        from .claude_code.in_place import compact_rows

        asked = PassOptions(**options)
        admit(self._deps, asked)
        parsed = parse_value(rows, form="claude-code", kind_by_tool=self._deps.kind_by_tool)
        at = self._passes.where(dry_run=asked.dry_run)
        await admit_list(at.deps, at.sessions, session_id, parsed, asked)
        info = await at.sessions.ensure(session_id, host="claude-code", project=parsed.project)
        off = auto and not self._deps.automatic
        return await compact_rows(at.messages, info, rows, parsed, asked, host_session_id or session_id, off=off)

    async def compact_file(
        self,
        path: Path | str,
        *,
        line: int | None = None,
        form: str = "auto",
        session_id: str | None = None,
        **options: Unpack[PassKeywords],
    ) -> CompactedMessages:
        """`compact_messages` for a session file; `value` is what a file in the form that came in holds.

        Raises:
            FileMissing, FileEmpty, FileNotJson, LineNeeded: and what `compact_messages` raises.
            SessionUnknown: `session_id` is a slip of one that is there.
        """
        asked, path = PassOptions(**options), importer.as_path(path)
        admit(self._deps, asked)
        found = await importer.read_file(path, line=line, form=form)
        parsed = importer.need_messages(importer.parsed(found, self._deps.kind_by_tool))
        at = self._passes.where(dry_run=asked.dry_run)
        named = await admit_name(at.sessions, session_id) if session_id else ""
        name = named or parsed.session_id or importer.session_id_of(path, found.line)
        await admit_list(at.deps, at.sessions, name, parsed, asked)
        info = await at.sessions.ensure(name, project=parsed.project, source=path.name, path=importer.place_of(path))
        done = await at.messages.compact(info, parsed, asked, wrapper=importer.wrapper_of(found.value))
        return replace(done, value=rewrap(found.value, done.messages))

    async def shrink_result(
        self,
        session_id: str,
        result: str | list[Any],
        *,
        call_id: str,
        tool_name: str = "",
        args: Mapping[str, Any] | None = None,
        above_tokens: int | None = None,
        edited: Collection[str] = (),
    ) -> str | list[Any]:
        """A tool's result before it is first sent: archived, and a digest in its place, where it is very large; else as
        it came. That breaks neither a prompt cache nor thinking, since nothing was sent yet.

        Very large is what Claude Code itself would cut (25,000 tokens or 50,000 characters), or the threshold that a
        user set (`at_birth_tokens`). Files that may be edited next, binaries and what is no text come back as they are.

        Args:
            result: text, or a list of text blocks; what comes back has the same shape.
            call_id: of the call, as it will stand in the list that `compact_messages` gets.
            tool_name, args: of the call; they say whether a file was read.
            above_tokens: the threshold of this call.
            edited: files that the agent wrote or edited, where this session does not know them.

        Raises:
            WriteFailed, LockTimeout: nothing was replaced; send the result as it is.
        """
        from .compaction.at_birth import ToolAnswer, shrink_at_birth

        answer = ToolAnswer.plain(tool_name, args or {}, call_id, result)
        if answer is None:
            return result
        info = await self._sessions.ensure(await admit_name(self._sessions, session_id))
        answer = msgspec.structs.replace(answer, touched=frozenset(edited))
        born = await shrink_at_birth(self._deps, self._sessions, info, answer, above_tokens=above_tokens)
        return result if born is None else born.output

    async def rewrite_session(self, path: Path | str, **options: Unpack[PassKeywords]) -> RewrittenSession:
        """Write a new session file beside a Claude Code transcript, with digests in the place of older results.

        The file itself stays as it is. The new session's ledger names the old one as its parent, so that its batches
        are found under both. It is always forced: without a window the session's own size is the window.

        Raises:
            FileMissing, FileWrongShape, InvalidArgument, PassInProgress, WriteFailed: no file was written.
        """
        from .claude_code.in_place import rewrite

        asked = msgspec.structs.replace(PassOptions(**options), force=True, host="claude-code")
        admit(self._deps, asked)
        at = self._passes.where(dry_run=asked.dry_run)
        return await rewrite(at.deps, at.sessions, at.messages, self.settings.home, importer.as_path(path), asked)

    async def compact_session(self, session_id: str, **options: Unpack[SessionPassKeywords]) -> Report:
        """One pass over a recorded session. The host's own history stays as it is; the report says what to do.

        Args:
            options: as `PassOptions` describes them; `digests` go with the `plan_id` they are for.

        Raises:
            SessionUnknown, WindowUnknown, PlanStale, PassInProgress, WriteFailed: the context is as it was.
            InvalidArgument: there is no such strategy or slot, or `digests` without the `plan_id` they are for.
        """
        from .compaction.plan import PassRequest

        asked = PassOptions(**options)
        admit(self._deps, asked)
        if asked.digests and (asked.dry_run or not asked.plan_id):
            raise InvalidArgument(
                "Summaries are for the slots of a plan.",
                next=Advice(
                    "Make the plan first: {}; then give its plan_id with the digests.",
                    step("compact_session", session_id=session_id, dry_run=True),
                ),
            )
        at = self._passes.where(dry_run=asked.dry_run)
        info = await at.sessions.find(session_id)
        policy = await policy_of(at.deps, at.sessions, info, asked.policy)
        await tell(at.deps, at.sessions, info, asked)
        # `tell` wrote the used tokens down: from here they are measured from the ledger, like those of an earlier call.
        asked = msgspec.structs.replace(asked, used_tokens=None)
        await at.sessions.fold(info)
        measurement = await measured(at.deps, at.sessions, info, policy, asked)
        return await at.run(
            info, measurement, PassRequest(policy=policy, options=asked, host_compacts=measurement.stands_aside)
        )


# The library's methods about a session that is recorded item by item.


class RecordMethods(Facade):
    """What `Palimpsest` is told of a context, and what it says about it."""

    async def record_items(
        self, session_id: str, items: Sequence[Mapping[str, Any]], *, auto: bool = False, host: str = ""
    ) -> Recorded:
        """Write items at the end of a session's context; `new` mints a session.

        Args:
            auto: run a pass when the ratio is at the trigger (unless `PALIMPSEST_AUTO=off`).

        Raises:
            InvalidItem: it names the field; nothing was written.
            SessionUnknown: the id is a slip of one that is there.
        """
        session_id = await admit_name(self._sessions, session_id)
        await admit_items(self._deps, self._sessions, session_id, items)
        info = await self._sessions.ensure(session_id, host=host)
        policy = await policy_of(self._deps, self._sessions, info, None)
        before = await measured(self._deps, self._sessions, info, policy, PassOptions(host=host))
        written = await record.record(self._deps, self._sessions, info, items)
        after = await measured(self._deps, self._sessions, info, policy, PassOptions(host=host))
        crossed = triggers(after.usage.ratio, policy) and not triggers(before.usage.ratio, policy)
        report: Report | None = None
        # Our own view decides: a host that has not applied the last pass yet would ask for the same one for ever (L12).
        ours = ratio_of(after.view_used, after.window_tokens)
        if auto and self._deps.automatic and triggers(ours, policy):
            from .compaction.plan import PassRequest

            request = PassRequest(policy=policy, requested=False, host_compacts=after.stands_aside)
            report = await self._passes.run(info, after, request)
        return Recorded(
            session_id=info.session_id,
            handle=info.handle,
            item_ids=written.ids,
            tokens=written.tokens,
            usage=await self._notices.usage(info, after, policy),
            crossed_trigger=crossed,
            warnings=written.warnings,
            report=report,
        )

    @property
    def may_read_ahead(self) -> bool:
        """Whether there is something that `read_ahead` would read."""
        return bool(self._deps.unread)

    async def read_ahead(self) -> int:
        """Read some of the results that were recorded, so that a pass finds them read; gives how many. For programs
        with a moment to spare, until `may_read_ahead` is false: digests are the same without."""
        from .compaction.at_birth import read_ahead

        return await read_ahead(self._deps)

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
        detail: bool = False,
    ) -> Usage:
        """How full the window is, by the best numbers known; what is told here is kept for the session.

        Args:
            detail: fill `parts`, too: what fills the window, by why it stays.

        Raises:
            SessionUnknown: the session is unknown, and nothing was told of it or its id is a slip of one that is there.
        """
        asked = PassOptions(policy=policy, used_tokens=used_tokens, window_tokens=window_tokens, model=model, host=host)
        admit(self._deps, asked)
        parsed: HostContext | None = None
        if transcript_path:
            if self._deps.principal:  # the host's files are the owner's, whoever else calls from afar
                raise InvalidArgument(
                    "transcript_path names a file on the server's machine.", next="Give used_tokens instead."
                )
            found = await importer.read_file(Path(transcript_path), form="claude-code")
            parsed = importer.parsed(found, self._deps.kind_by_tool)
        told = (used_tokens, window_tokens, transcript_path)
        # Once for all of it: of a database each look is a trip.
        alone = parsed is None and not policy
        opened = await tell_held(self._deps, self._sessions, session_id, asked) if alone else None
        opened = opened or await self._sessions.known_opened(session_id)
        if opened is not None:
            info, fold = opened
        elif any(value not in (None, "") for value in told):
            info = await self._sessions.ensure(await admit_new(self._sessions, session_id), host=host)
            fold = None
        else:
            info, fold = await self._sessions.find(session_id), None
        if parsed is not None:
            await import_context(self._deps, self._sessions, info, parsed)
        if policy:
            await policy_of(self._deps, self._sessions, info, policy)
        if fold is None or parsed is not None or policy:
            fold = await self._sessions.opened(info)
        fold = await tell(self._deps, self._sessions, info, asked, fold=fold)
        chosen = stored_policy(self._deps, fold)
        measurement = await measured(self._deps, self._sessions, info, chosen, PassOptions(host=host), fold=fold)
        usage = await self._notices.usage(info, measurement, chosen)
        return msgspec.structs.replace(usage, parts=context.parts(measurement, chosen)) if detail else usage

    async def usage(self, session_id: str) -> Usage:
        """How full the window is, as `check_context_ratio` says it; nothing is told and nothing is noted.

        Raises:
            SessionUnknown: there is no such session.
        """
        info = await self._sessions.find(session_id)
        fold = await self._sessions.opened(info)
        policy = stored_policy(self._deps, fold)
        return (await measured(self._deps, self._sessions, info, policy, PassOptions(), fold=fold)).usage

    async def compacted_view(self, session_id: str) -> str:
        """The whole context as it stands, as one text to start afresh from: messages, calls, results, and digests for
        what left. Masked; every digest says how its original is read again.

        Raises:
            SessionUnknown: there is no such session.
        """
        info = await self._sessions.find(session_id)
        return await context.compacted_view(self._deps, self._sessions, self._offloaded, info)

    async def show_context(
        self,
        session_id: str,
        *,
        pin: Sequence[str] = (),
        unpin: Sequence[str] = (),
        rows: slice | Chooser = EVERY_ROW,
    ) -> ContextView:
        """What is in context, why it stays, and what was replaced; pins first, if asked. `rows` takes some of the items
        only: by their places, or as a function that is given all, still without previews, and returns some.

        Raises:
            SessionUnknown, ItemUnknown: nothing was pinned.
        """
        info = await self._sessions.find(session_id)
        if pin or unpin:
            await context.pin(self._deps, self._sessions, info, pin, unpin)
        policy = await policy_of(self._deps, self._sessions, info, None)
        await self._sessions.fold(info)  # every item is asked for: read them while others are answered
        measurement = await measured(self._deps, self._sessions, info, policy, PassOptions())
        return await context.show(self._deps, self._offloaded, info, measurement, measurement.usage, policy, rows)

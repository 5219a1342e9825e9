"""The library's methods that make a context shorter: a message list, a session file, a recorded session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import msgspec

from ..errors import InvalidArgument
from ..hosts.session_files import parse_value, rewrap
from ..models.advice import Advice, step
from ..models.pass_options import PassKeywords, PassOptions, SessionPassKeywords
from ..models.reports import Report
from ..services import files, policies
from ..services.admitting import admit, admit_list, admit_name
from ..services.dependencies import Dependencies
from ..services.measure import situate, tell
from ..services.messages import CompactedMessages
from ..services.pass_request import PassRequest
from ..services.rewriting import RewrittenSession, rewrite
from ..settings.settings import Settings
from .passes import Passes


class CompactingMethods:
    """What `Palimpsest` can do to a context that is too full. Originals are archived first."""

    settings: Settings
    _given: Dependencies
    _passes: Passes

    async def compact_messages(
        self,
        messages: list[Any],
        *,
        session_id: str | None = None,
        form: str = "auto",
        system: str = "",
        parent: str | None = None,
        **options: Unpack[PassKeywords],
    ) -> CompactedMessages:
        """Give back a shorter, valid list: older tool results replaced by checked digests, originals archived first.

        Call it again with the grown list (either the original or the compacted one) and the same session id: what was
        compacted stays byte-identical.

        Args:
            session_id: None mints one; it stands in the answer.
            system: the system prompt, where it is not in the list; counted only.
            parent: session whose digests this one inherits.
            options: as `PassOptions` describes them.

        Raises:
            FileWrongShape, WindowUnknown, InvalidArgument, PassInProgress, WriteFailed: the list is as it was.
        """
        asked = PassOptions(**options)
        admit(self._given, asked)
        parsed = parse_value(messages, form=form, kind_by_tool=self._given.kind_by_tool)
        at = self._passes.where(dry_run=asked.dry_run)
        await admit_list(at.given, at.sessions, session_id or "", parsed, asked)
        info = await at.sessions.ensure(session_id or "new", parent=parent)
        return await at.messages.compact(info, files.with_system(parsed, system), asked)

    async def compact_file(
        self,
        path: Path,
        *,
        line: int | None = None,
        form: str = "auto",
        session_id: str | None = None,
        **options: Unpack[PassKeywords],
    ) -> CompactedMessages:
        """The same for a session file; `value` is what a file in the form that came in holds.

        Raises:
            FileMissing, FileEmpty, FileNotJson, LineNeeded: and what `compact_messages` raises.
            SessionUnknown: `session_id` is a slip of one that is there.
        """
        asked = PassOptions(**options)
        admit(self._given, asked)
        found = await files.read_file(path, line=line, form=form)
        parsed = files.need_messages(files.parsed(found, self._given.kind_by_tool))
        at = self._passes.where(dry_run=asked.dry_run)
        named = await admit_name(at.sessions, session_id) if session_id else ""
        name = named or parsed.session_id or files.session_id_of(path, found.line)
        await admit_list(at.given, at.sessions, name, parsed, asked)
        info = await at.sessions.ensure(name, project=parsed.project, source=path.name, path=files.place_of(path))
        done = await at.messages.compact(info, parsed, asked, wrapper=files.wrapper_of(found.value))
        return replace(done, value=rewrap(found.value, done.messages))

    async def rewrite_session(self, path: Path, **options: Unpack[PassKeywords]) -> RewrittenSession:
        """Write a new session file beside a Claude Code transcript, with digests in the place of older results.

        The file itself stays as it is. The new session's ledger names the old one as its parent, so that its batches
        are found under both. It is always forced: without a window the session's own size is the window.

        Raises:
            FileMissing, FileWrongShape, InvalidArgument, PassInProgress, WriteFailed: no file was written.
        """
        asked = msgspec.structs.replace(PassOptions(**options), force=True, host="claude-code")
        admit(self._given, asked)
        at = self._passes.where(dry_run=asked.dry_run)
        return await rewrite(at.given, at.sessions, at.messages, self.settings.home, path, asked)

    async def compact_session(self, session_id: str, **options: Unpack[SessionPassKeywords]) -> Report:
        """One pass over a recorded session. The host's own history stays as it is; the report says what to do.

        Args:
            options: as `PassOptions` describes them; `digests` go with the `plan_id` they are for.

        Raises:
            SessionUnknown, WindowUnknown, PlanStale, PassInProgress, WriteFailed: the context is as it was.
            InvalidArgument: there is no such strategy or slot, or `digests` without the `plan_id` they are for.
        """
        asked = PassOptions(**options)
        admit(self._given, asked)
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
        policy = await policies.policy_of(at.given, at.sessions, info, asked.policy)
        await tell(at.given, at.sessions, info, asked)
        # `tell` wrote the used tokens down: from here they are measured from the ledger, like those of an earlier call.
        asked = msgspec.structs.replace(asked, used_tokens=None)
        situation = await situate(at.given, at.sessions, info, policy, asked)
        return await at.run(
            info, situation, PassRequest(policy=policy, options=asked, host_compacts=at.stands_aside(situation))
        )

"""The library's methods that make a context shorter: a message list, a session file, a recorded session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument
from ..hosts.session_files import parse_value, rewrap
from ..models.advice import Advice, step
from ..models.events import SessionInfo
from ..models.reports import Report
from ..services import files, policies
from ..services.admitting import admit, admit_list, admit_name
from ..services.dependencies import Dependencies, Progress
from ..services.measure import Told, situate, tell
from ..services.messages import CompactedMessages
from ..services.pass_request import PassRequest
from ..services.rewriting import Rewriting, RewrittenSession
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
        at = self._passes.where(dry_run=dry_run)
        await admit_list(at.given, at.sessions, session_id or "", parsed, told, force=force)
        info = await at.sessions.ensure(session_id or "new", parent=parent)
        request = await _request(
            at,
            info,
            policy,
            target,
            keep_last,
            force=force,
            dry_run=dry_run,
            focus=focus,
            strategy=strategy,
            progress=progress,
        )
        return await at.messages.compact(info, files.with_system(parsed, system), request, told)

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
            SessionUnknown: `session_id` is a slip of one that is there.
        """
        told = Told(used_tokens=used_tokens, window_tokens=window_tokens, model=model, forced=force)
        admit(self._given, told=told, policy=policy, strategy=strategy, target=target, keep_last=keep_last)
        found = await files.read_file(path, line=line, form=form)
        parsed = files.need_messages(files.parsed(found, self._given.kind_by_tool))
        at = self._passes.where(dry_run=dry_run)
        named = await admit_name(at.sessions, session_id) if session_id else ""
        name = named or parsed.session_id or files.session_id_of(path, found.line)
        await admit_list(at.given, at.sessions, name, parsed, told, force=force)
        info = await at.sessions.ensure(name, project=parsed.project, source=path.name, path=files.place_of(path))
        request = await _request(
            at,
            info,
            policy,
            target,
            keep_last,
            force=force,
            dry_run=dry_run,
            focus=focus,
            strategy=strategy,
            progress=progress,
        )
        done = await at.messages.compact(info, parsed, request, told, wrapper=files.wrapper_of(found.value))
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
        at = self._passes.where(dry_run=dry_run)
        rewriting = Rewriting(at.given, at.sessions, at.messages, self.settings.home)
        info, opened = await rewriting.open(path)
        request = await _request(
            at, info, policy, target, keep_last, force=True, dry_run=dry_run, focus=focus, progress=progress
        )
        return await rewriting.write(path, info, opened, request, told)

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
                next=Advice(
                    "Make the plan first: {}; then give its plan_id with the digests.",
                    step("compact_session", session_id=session_id, dry_run=True),
                ),
            )
        at = self._passes.where(dry_run=dry_run)
        info = await at.sessions.find(session_id)
        chosen = await policies.policy_of(at.given, at.sessions, info, policy)
        await tell(at.given, at.sessions, info, told)
        told = Told(window_tokens=window_tokens, host=host, forced=force)
        situation = await situate(at.given, at.sessions, info, chosen, told)
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
            host_compacts=at.stands_aside(situation),
            progress=progress,
        )
        return await at.run(info, situation, request)


async def _request(
    at: Passes, info: SessionInfo, policy: str | None, target: float | None, keep_last: int | None, **how: Any
) -> PassRequest:
    """A pass as it was asked for, under the policy that holds for the session."""
    chosen = await policies.policy_of(at.given, at.sessions, info, policy)
    return PassRequest(policy=chosen, target=target, keep_last=keep_last, **how)

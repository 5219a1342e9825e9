"""The library's methods about a session that is recorded item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..models.pass_options import PassOptions
from ..models.reports import ContextView, Recorded, Report
from ..models.usage import Usage
from ..policy.zones import ratio_of, triggers
from ..ports.host import HostContext
from ..services import context, files, policies, record
from ..services.admitting import admit, admit_items, admit_name
from ..services.dependencies import Dependencies
from ..services.importing import import_context
from ..services.measure import situate, tell
from ..services.noticing import Noticing
from ..services.offloaded import Offloaded
from ..services.pass_request import PassRequest
from ..services.sessions import Sessions
from .passes import Passes


class RecordingMethods:
    """What `Palimpsest` is told of a context, and what it says about it."""

    _given: Dependencies
    _sessions: Sessions
    _offloaded: Offloaded
    _noticing: Noticing
    _passes: Passes

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
        await admit_items(self._given, self._sessions, session_id, items)
        info = await self._sessions.ensure(session_id, host=host)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        before = await situate(self._given, self._sessions, info, policy, PassOptions(host=host))
        written = await record.record(self._given, self._sessions, info, items)
        after = await situate(self._given, self._sessions, info, policy, PassOptions(host=host))
        crossed = triggers(after.usage.ratio, policy) and not triggers(before.usage.ratio, policy)
        report: Report | None = None
        # Our own view decides: a host that has not applied the last pass yet would ask for the same one for ever (L12).
        ours = ratio_of(after.view_used, after.window_tokens)
        if auto and self._given.automatic and triggers(ours, policy):
            request = PassRequest(policy=policy, requested=False, host_compacts=self._passes.stands_aside(after))
            report = await self._passes.run(info, after, request)
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
        detail: bool = False,
    ) -> Usage:
        """How full the window is, by the best numbers known; what is told here is kept for the session.

        Args:
            detail: fill `parts`, too: what fills the window, by why it stays.

        Raises:
            SessionUnknown: the session is unknown, and nothing was told of it or its id is a slip of one that is there.
        """
        asked = PassOptions(policy=policy, used_tokens=used_tokens, window_tokens=window_tokens, model=model, host=host)
        admit(self._given, asked)
        parsed: HostContext | None = None
        if transcript_path:
            found = await files.read_file(Path(transcript_path), form="claude-code")
            parsed = files.parsed(found, self._given.kind_by_tool)
        told = (used_tokens, window_tokens, transcript_path)
        if any(value not in (None, "") for value in told):
            session_id = await admit_name(self._sessions, session_id)
            info = await self._sessions.ensure(session_id, host=host)
        else:
            info = await self._sessions.find(session_id)
        if parsed is not None:
            await import_context(self._given, self._sessions, info, parsed)
        chosen = await policies.policy_of(self._given, self._sessions, info, policy)
        await tell(self._given, self._sessions, info, asked)
        situation = await situate(self._given, self._sessions, info, chosen, PassOptions(host=host))
        usage = await self._noticing.usage(info, situation, chosen)
        return msgspec.structs.replace(usage, parts=context.parts(situation, chosen)) if detail else usage

    async def usage(self, session_id: str) -> Usage:
        """How full the window is, as `check_context_ratio` says it; nothing is told and nothing is noted.

        Raises:
            SessionUnknown: there is no such session.
        """
        info = await self._sessions.find(session_id)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        return (await situate(self._given, self._sessions, info, policy, PassOptions())).usage

    async def show_context(self, session_id: str, *, pin: Sequence[str] = (), unpin: Sequence[str] = ()) -> ContextView:
        """What is in context, why it stays, and what was replaced; pins first, if asked.

        Raises:
            SessionUnknown, ItemUnknown: nothing was pinned.
        """
        info = await self._sessions.find(session_id)
        if pin or unpin:
            await context.pin(self._given, self._sessions, info, pin, unpin)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        situation = await situate(self._given, self._sessions, info, policy, PassOptions())
        return await context.show(self._given, self._offloaded, info, situation, situation.usage, policy)

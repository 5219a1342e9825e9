"""The library's entry: one `Palimpsest` is one store, opened, with everything that works on it. It decides nothing."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experience.learn import Learn
from ..experience.models import Experience
from ..models.events import SessionInfo, SummarizationEvent
from ..models.handoffs import Cleanup
from ..models.views import SessionRow, StoreStatus, VerifyReport
from ..ports.seams import Clock, RandomHex
from ..ports.store import Store
from ..settings.settings import Settings
from ..store.memory import ScratchStore
from .dependencies import Dependencies, local_time, noted
from .exchange import Exchange
from .handoff_files import clean_handoffs
from .notices import Notices, SessionRows
from .offloaded import Offloaded
from .palimpsest_archive import LookMethods, RestoreMethods, StoreMethods, SummaryMethods
from .palimpsest_context import CompactMethods, RecordMethods
from .parts import Parts, Passes
from .sessions import Sessions
from .sub_agents import SubAgents
from .summary import KeptSummaries
from .surface import Page, page_from, start_of
from .upkeep import Upkeep
from .wiring import dependencies, learning_means, open_experience, open_store

if TYPE_CHECKING:
    from .gateway import Gateway
    from .watch import Watched


class Palimpsest(
    CompactMethods,
    RecordMethods,
    SummaryMethods,
    RestoreMethods,
    LookMethods,
    SubAgents,
    Learn,
    StoreMethods,
    Upkeep,
    Exchange,
):
    """The library's entry. Every `session_id` may be a session's handle; all errors are `PalimpsestError`s."""

    def __init__(
        self,
        deps: Dependencies,
        settings: Settings,
        experience: Experience | None = None,
        attached: str = "",
        only_session: str = "",
    ) -> None:
        skills = experience or open_experience(settings, deps.random_hex, deps.principal)
        super().__init__(learning_means(settings, deps, skills))
        self.settings = settings
        deps = replace(deps, attached=attached, only_session=only_session)
        self._deps = deps
        self._sessions = Sessions(deps)
        self._offloaded = Offloaded(deps, self._sessions)
        self._notices = Notices(deps, self._sessions)
        self._rows = SessionRows(deps, self._sessions)
        self._summaries = KeptSummaries(deps, self._sessions)
        self._passes = Passes(deps, self._sessions, self._offloaded)
        self._parts = Parts(
            deps, self._sessions, self._offloaded, self._notices, self._summaries, skills, self._learn_from, self
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
        only_session: str = "",
        make: bool = True,
    ) -> AsyncGenerator[Palimpsest]:
        """Open a store for as long as the block runs.

        Args:
            home: folder of the store; None takes `PALIMPSEST_HOME`, else the platform's user data folder.
            settings: None reads environment and settings file.
            principal: whose sessions; empty is the local user.
            store: another backend than the folder.
            experience: another backend for the experience of skills than their folders.
            attached: the host in which an adapter of ours acts, `claude-code`; empty for none.
            only_session: id or handle of the one session that may be asked about, with its parents' batches and
                handoffs; every other is unknown. Empty: all may.
            make: False leaves no store where there is none yet: what would be written stays in memory, and is gone
                with the block. For dry runs, and for what only reads.

        Raises:
            StoreUnusable, StoreNewer, InvalidSettings: nothing was opened.
        """
        now = clock or local_time
        chance = random_hex or secrets.token_hex
        chosen = settings or Settings.load(home=home)
        opened = store or open_store(chosen, now, chance)
        try:
            used = opened if make or await opened.is_made() else ScratchStore(opened, random_hex=chance)
            yield cls(
                await dependencies(chosen, used, now, chance, principal), chosen, experience, attached, only_session
            )
        finally:
            if store is None:
                await opened.aclose()

    @property
    def store(self) -> Store:
        """The store, for programs that ask it directly."""
        return self._deps.store

    @property
    def deps(self) -> Dependencies:
        """What the use cases were given: redactor, registry, counters."""
        return self._deps

    async def verify(self, session_id: str | None = None) -> VerifyReport:
        """Check everything stored against its checksums and hashes, and that every handoff can be read."""
        from . import checkup

        only = await self._sessions.find(session_id) if session_id else None
        with noted("verify") as counts:
            report = await checkup.verify(self._deps, self._sessions, only)
            counts |= {"sessions": report.sessions, "records": report.records, "findings": len(report.findings)}
            return report

    async def status(self) -> StoreStatus:
        """Disk use and lifetime savings."""
        from . import checkup

        return await checkup.status(self._deps, self._sessions)

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """Every session, oldest first."""
        return await self._sessions.all()

    async def session_rows(self) -> tuple[SessionRow, ...]:
        """Every session with its fill, what it saved and what it is about, newest first."""
        return await self._rows.of(reversed(await self.sessions()))

    async def session_rows_page(self, cursor: str = "", *, size: int = 20) -> Page[SessionRow]:
        """One page of `session_rows`; only its sessions are read.

        Raises:
            InvalidArgument: the cursor is none of ours.
        """
        start = start_of(cursor)
        infos, total = await self._sessions.some(start, max(1, size), newest_first=True)
        return page_from(await self._rows.of(infos), start, total)

    async def sessions_page(self, cursor: str = "", *, size: int = 20) -> Page[SessionInfo]:
        """One page of `sessions`.

        Raises:
            InvalidArgument: the cursor is none of ours.
        """
        start = start_of(cursor)
        infos, total = await self._sessions.some(start, max(1, size))
        return page_from(infos, start, total)

    async def iter_sessions(self) -> AsyncGenerator[SessionInfo]:
        """The sessions of `sessions`, one by one."""
        for info in await self.sessions():
            yield info

    async def session(self, session_id: str, *, whole: bool = False) -> SessionInfo:
        """A session by id or handle.

        Args:
            whole: not by the beginning of one, or its file.

        Raises:
            SessionUnknown: there is none.
        """
        return await self._sessions.find(session_id, whole=whole)

    def handle_of(self, session_id: str) -> str:
        """The handle of a session that a call named so: known without asking the store again. Else the name itself."""
        return self._sessions.handle_of(session_id)

    async def file_of(self, session_id: str) -> Path | None:
        """The file that a session was read from, if it is still there; None too for a session that nobody has."""
        info = await self._sessions.find_or_none(session_id)
        there = info is not None and info.path and await asyncio.to_thread(os.path.isfile, info.path)
        return Path(info.path) if info is not None and there else None

    async def host_event(self, event: str, payload: Mapping[str, Any] | str) -> str:
        """Answer one event of Claude Code's hooks or of the plugin's module, as `docs/claude-code.md` lists them.

        Args:
            event: the hook's name, `session.compact` or `turn.complete`.
            payload: what the hook was given, as an object or as its JSON text.

        Returns:
            One text: a hook's output, plain instructions, or JSON for the module; empty where there is nothing to say.
            It never raises: what goes wrong is kept for `doctor`.
        """
        if self._deps.principal:  # notes for a host's hooks are the local user's
            return ""
        return await self._parts.host.handle(event, payload)

    def gateway(self, *, window_tokens: int | None = None, thinking: str = "refuse") -> Gateway:
        """What decides on requests to a provider, for a gateway in front of it.

        Args:
            window_tokens: of models that the table does not know.
            thinking: `refuse` or `drop`, as in `PassOptions`.
        """
        from .gateway import Gateway

        return Gateway(
            self._deps, self._sessions, self._passes.messages, window_tokens=window_tokens, thinking=thinking
        )

    async def watch(
        self,
        *,
        days: float = 1.0,
        hosts: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        user_home: Path | None = None,
    ) -> list[Watched]:
        """One look at the session files of Codex CLI, Gemini CLI and VS Code's chat: what is new is archived, what
        their own compaction lost is compared and kept for the next start. Called again it reads only what changed.

        Args:
            days: files that changed in so many days.
            hosts: `codex`, `gemini-cli`, `vscode`; none takes all.
            environ, user_home: where the hosts keep their files, where that is not this process's own.

        Raises:
            InvalidArgument: there is no such host, or nothing of one that is named.
            WriteFailed, LockTimeout: what was read before is kept; look again.
        """
        return await self._parts.watch.look(
            os.environ if environ is None else environ, user_home or Path.home(), days=days, hosts=hosts
        )

    async def clean_handoffs(self, *, dry_run: bool = True) -> Cleanup:
        """Archive handoffs over 30 days old, delete those over 90, merge several of one task. Nothing else deletes one.

        Args:
            dry_run: only say what would be done; the default.

        Raises:
            WriteFailed, LockTimeout: what was done stays done; run it again.
        """
        return await clean_handoffs(self._deps, dry_run=dry_run)

    def subscribe(self, listener: Callable[[SummarizationEvent], Awaitable[None] | None]) -> Callable[[], None]:
        """Have a function called after every committed pass. Returns what ends the subscription."""
        self._deps.listeners.append(listener)
        return lambda: self._deps.listeners.remove(listener)

    async def _learn_from(self, session_id: str) -> None:
        """What the skills of a session that ends have learned; a skill that cannot be compacted is left for later."""
        if self._deps.automatic:
            await self.compact_due_experience(ended_session=session_id)

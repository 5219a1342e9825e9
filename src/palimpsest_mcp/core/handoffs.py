"""Handoffs: written from a session at the end of a phase, loaded at the start of the next."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import HandoffIncomplete, HandoffUnknown, InvalidArgument, SessionUnknown
from ..memory.handoff.files import (
    Candidate,
    newest_first,
    of_project,
    of_task,
    stem_of,
    title_of,
)
from ..memory.handoff.fill import BUDGET_TOKENS, continuation, fitted
from ..memory.handoff.markdown import (
    MAX_TEXT,
    stated_fields,
    to_markdown,
)
from ..memory.handoff.templates import EXAMPLES, POINTERS, TEMPLATES, Template, missing
from ..memory.summary.facts import facts_of
from ..models.advice import Advice, Either, step
from ..models.events import SessionInfo
from ..models.handoffs import (
    FORKS,
    PHASES,
    Handoff,
    KeptHandoff,
    LoadedHandoff,
    Phase,
    WrittenHandoff,
)
from ..models.text import counted, each_text, plain, plain_line, shown, verb
from ..ports.store import StoredHandoff
from ..settings.places import home_folder, project_root
from .handoff_files import candidate_of, free_of_secrets
from .parts import Facade
from .summary import O200K, items_of

MAX_OTHERS = 5
"""Further handoffs, or projects, that an answer names."""
MAX_ID = 80
_MARK = re.compile(r"\[redacted:([a-z0-9][a-z0-9_-]{0,63}):[0-9a-z]{8}\]")


class KeptHandoffs(Facade):
    """The use cases of handoffs: files in `memory/` from which the next phase or conversation starts."""

    async def write_handoff(
        self, session_id: str, task: str, *, phase: str = "", fields: Mapping[str, Any] | None = None
    ) -> WrittenHandoff:
        """Write a handoff of a session: filled by code from summary, ledger and probes, completed by `fields`.

        Args:
            phase: empty for a task summary, else `research`, `plan`, `implementation`, `fork` or `fork_back`.
            fields: by loose names (`decisions`, `key_context`, `in_progress` …); strings, lists or objects.

        Raises:
            SessionUnknown: there is none to fill it from; `new` takes the fields alone.
            HandoffIncomplete: critical sections would be empty; `missing` names them.
            HandoffSecret: the file would hold what looks like a secret; it names kind and section, never the value.
            InvalidArgument, WriteFailed, LockTimeout: nothing was written.
        """
        info = await self._session_or_new(session_id)
        template = TEMPLATES[_phase(phase)]
        words = plain(self._deps.masked(task)).strip()
        if not words or len(words) > MAX_TEXT:
            raise InvalidArgument(
                f"A handoff needs a task of 1 to {MAX_TEXT} characters.",
                next='Give one: task="Move the importer to Postgres".',
            )
        stated = self._masked_fields(template, stated_fields(template, fields or {}))
        summary = await self._summaries.current(info, full=True)
        items = items_of(await self._sessions.fold(info))
        facts = await asyncio.to_thread(facts_of, items, self._deps.masked)
        header = {
            "task": words,
            "title": title_of(words),
            "date": self._deps.clock().date().isoformat(),
            "written": self._deps.now(),
            "project": self._deps.masked(project_root(info.project)),
            "session": info.handle,
            POINTERS: tuple(self._deps.masked(one) for one in await self._pointers(info, template)),
        }
        handoff = await asyncio.to_thread(fitted, template, header, summary, facts, stated, self._count)
        return await self._keep(info, template, handoff)

    async def load_handoff(self, task: str = "", *, project: str = "", section: str = "") -> LoadedHandoff:
        """Key context and pointers of a handoff, and nothing else unless `section` asks for it.

        A fork's handoff is given whole, and deleted.

        Args:
            task: its words, or a handoff's name; empty for the newest one.
            project: another one than that of the working folder, by path or last folder; `*` for any.
            section: one more section by its heading, or `all`.

        Raises:
            HandoffUnknown: there is none; it says what there is.
            InvalidArgument: there is no such section.
        """
        stored = await self._stored()
        found = [(one, candidate) for one in stored if (candidate := candidate_of(one))]
        candidates = [candidate for _, candidate in found]
        here = project or self._deps.masked(project_root(""))
        named = of_task(candidates, task) if task else []
        local = of_project(candidates, here)
        wanted = of_task(local, task)
        if not wanted and named and named[0].name == _stem(task):
            wanted = named  # its file name was given: that is asking
        if not wanted:
            unread = sum(one.text is None for one in stored)
            others = named if task else newest_first(candidates)
            raise self._unknown(task, project or here, candidates, others, unread)
        first = wanted[0]
        of = next(one for one, candidate in found if candidate is first)
        text = continuation(first.handoff, first.name, section)
        masked = self._deps.masked(text)
        consumed = first.phase in FORKS and await self._deps.store.handoffs.remove(of, self._deps.principal)
        return LoadedHandoff(
            name=first.name,
            path=of.path,
            phase=first.phase,
            project=first.handoff.project,
            text=masked,
            tokens=await asyncio.to_thread(self._count, masked),
            others=tuple(one.name for one in wanted[1:] if one.place != "archive")[:MAX_OTHERS],
            consumed=consumed,
        )

    async def read_handoff(self, name: str) -> str:
        """The whole text of a handoff of any project, by its name. It only looks: a fork's stays where it is.

        Raises:
            HandoffUnknown: there is none of this name; it says what there is.
        """
        stored = await self._stored()
        candidates = [candidate for one in stored if (candidate := candidate_of(one))]
        found = next((one for one in newest_first(candidates) if one.name == name), None)
        if found is None and candidates:
            raise HandoffUnknown(
                f"There is no handoff of the name {shown(name)}.",
                next=f"Name one of {_listed([one.name for one in newest_first(candidates)])}.",
            )
        if found is None:
            raise self._unknown(name, "*", candidates, (), sum(one.text is None for one in stored))
        return self._deps.masked(continuation(found.handoff, found.name, "all"))

    async def handoffs(self, *, project: str = "") -> tuple[KeptHandoff, ...]:
        """Handoffs of this project, or of another (`*` for all), newest first; forks that wait, too."""
        stored = await self._stored()
        found = {(one.place, one.name): one for one in stored}
        candidates = [candidate for one in stored if (candidate := candidate_of(one))]
        here = project or self._deps.masked(project_root(""))
        return tuple(
            KeptHandoff(
                name=one.name,
                path=found[one.place, one.name].path,
                place=one.place,
                phase=one.phase,
                handoff=one.handoff,
                tokens=self._count(found[one.place, one.name].text or ""),
            )
            for one in newest_first(of_project(candidates, here))
        )

    async def _session_or_new(self, session_id: str) -> SessionInfo:
        try:
            return await self._sessions.find(session_id)
        except SessionUnknown:
            if session_id != "new":
                raise
            return await self._sessions.ensure(session_id)

    def _count(self, text: str) -> int:
        return self._deps.counter_for(O200K).count(text)

    async def _stored(self) -> Sequence[StoredHandoff]:
        """Every handoff that may be asked for: of one session and its parents, where only that one may be."""
        stored = await self._deps.store.handoffs.list(self._deps.principal)
        if (only := await self._sessions.only()) is None:
            return stored
        handles = {one.handle for one in await self._sessions.family(only)}
        return [one for one in stored if (found := candidate_of(one)) and found.handoff.session in handles]

    async def _keep(self, info: SessionInfo, template: Template, handoff: Handoff) -> WrittenHandoff:
        if lacking := missing(handoff):
            raise HandoffIncomplete(
                f"Nobody could continue from this handoff: {', '.join(lacking)} would be empty.",
                next=Advice(
                    "{} such as {}",
                    Either(command="State it: --fields", tool="Record what was done (record_items), or give fields"),
                    Either(command=shlex.quote(EXAMPLES[template.phase]), tool=EXAMPLES[template.phase]),
                ),
                missing=lacking,
            )
        clean = free_of_secrets(handoff, self._deps.redactor)
        text = to_markdown(clean)
        place = "temp" if template.phase in FORKS else "memory"
        stem = stem_of(clean.date, clean.title, template.phase)
        stored = await self._deps.store.handoffs.add(place, stem, text, self._deps.principal)
        tokens = await asyncio.to_thread(self._count, text)
        return WrittenHandoff(
            name=stored.name,
            path=stored.path,
            phase=template.phase,
            project=clean.project,
            text=text,
            tokens=tokens,
            session_id=info.session_id,
            handle=info.handle,
            redacted=dict(sorted(Counter(_MARK.findall(text)).items())),
            notes=tuple(_notes(tokens, template)),
        )

    async def _pointers(self, info: SessionInfo, template: Template) -> list[str]:
        """Where everything is that the handoff does not say; every "elsewhere" counts as left out (D9)."""
        handle = info.handle
        # Whoever reads the handoff may find another store than this one without its name.
        home = "" if self._deps.store.location == str(home_folder(None)) else self._deps.store.location

        def typed(name: str, **more: str) -> str:
            return step(name, session_id=handle, **more).worded("command", home)

        batches = await self._offloaded.batches(info)
        rows = [
            f"Session {plain_line(info.session_id, MAX_ID)} (handle {handle}) in the store {self._deps.store.location}"
        ]
        if batches:
            shown, total = (sum(getattr(one.specifics, name) for one in batches) for name in ("shown", "total"))
            tokens = sum(one.original_tokens for one in batches)
            rows.append(
                f"Archive: {counted(len(batches), 'batch')}, {counted(tokens, 'token')} of originals, "
                f"{batches[0].batch_id} to {batches[-1].batch_id}; of {counted(total, 'specific')} their digests show "
                f"{shown:,}, {total - shown:,} {verb(total - shown, 'is', 'are')} left out. "
                f"Which: list_offloaded {handle}, or {typed('list_offloaded')}. Find words: "
                f"search_offloaded. Get back: restore_batch {handle} {batches[-1].batch_id}, or "
                f"{typed('restore_batch', batch_id=batches[-1].batch_id)}"
            )
        else:
            rows.append(f"Archive: nothing was offloaded; all items: {typed('show_context')}")
        rows.append(f"Every file, error and artifact: {typed('summary')}")
        summary = await self._summaries.current(info)
        if summary.probes_total:
            rows.append(
                f"Probes of the last compaction: what stayed answered {summary.probes_passed} of "
                f"{counted(summary.probes_total, 'question')} about its originals"
            )
        return rows

    def _masked_fields(self, template: Template, stated: dict[str, Any]) -> dict[str, Any]:
        """Every text masked whole, before anything is cut; also a secret that runs from one into the next."""
        fields = msgspec.to_builtins(template.model(**stated))
        texts: list[str] = []
        each_text(fields, lambda text: texts.append(text) or text)
        masked = iter(self._deps.redactor.redact_all(texts))
        whole = msgspec.convert(each_text(fields, lambda _: next(masked).text), template.model)
        return {name: getattr(whole, name) for name in stated}

    def _unknown(
        self, task: str, project: str, candidates: Sequence[Candidate], others: Sequence[Candidate], unread: int
    ) -> HandoffUnknown:
        told = f"this task in {'any project' if project == '*' else project}" if task else project
        if not candidates and unread:
            return HandoffUnknown(
                f"No handoff can be read; {unread} of their files cannot.", next=Advice("See why: {}", step("verify"))
            )
        if not candidates:
            return HandoffUnknown(
                "There are no handoffs yet.",
                next=Advice(
                    "Write one at the end of a phase: {}",
                    Either(
                        command="`palimpsest-mcp handoff write --help` says how",
                        tool="write_handoff with session_id and task",
                        call="write_handoff(session_id, task)",
                    ),
                ),
            )
        projects = list(dict.fromkeys(one.handoff.project for one in others or candidates))
        elsewhere = [one for one in projects if one != project]
        if task and others and elsewhere:
            next = f"It stands under another project; if you want that one, give project: {_listed(elsewhere)}."
        elif elsewhere and not of_project(candidates, project):
            next = f"Other projects have some; if you want one of theirs, give project: {_listed(elsewhere)}."
        else:
            names = [one.name for one in newest_first(of_project(candidates, project)) or candidates]
            next = f"Leave task out for the newest, or name one of {_listed(names)}."
        return HandoffUnknown(f"There is no handoff of {plain_line(told, 200)}.", next=next)


def _phase(name: str) -> Phase:
    wanted = name.strip().lower().replace("-", "_") or "task"
    for phase in PHASES:
        if wanted == phase:
            return phase
    raise InvalidArgument(
        f"There is no phase {shown(name)}.",
        next=f"Leave it out for a task summary, or give one of {', '.join(PHASES[1:])}.",
    )


def _stem(task: str) -> str:
    return task.removesuffix(".md").rsplit("/", 1)[-1]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_OTHERS} more" if len(names) > MAX_OTHERS else ""
    return ", ".join(plain_line(name, 120) for name in names[:MAX_OTHERS]) + more


def _notes(tokens: int, template: Template) -> list[str]:
    if tokens < BUDGET_TOKENS:
        return []
    return [
        f"the handoff takes {tokens} tokens, more than {BUDGET_TOKENS}: what was stated is never cut; "
        f"shorter fields make a better {template.title.lower()}"
    ]

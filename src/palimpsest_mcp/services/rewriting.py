"""A transcript becomes a new, shorter session beside it, for a host in which nothing of ours runs."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InvalidArgument
from ..hosts.claude_code_rewrite import rewritten
from ..hosts.transcript_rows import only_sidechain, rows_of
from ..models.events import SessionInfo
from ..models.items import Content
from ..models.reports import Report
from ..store.out_file import OutFile
from . import files
from .dependencies import Dependencies
from .importing import dump
from .measure import Told
from .messages import Messages
from .pass_request import PassRequest
from .sessions import Sessions


@dataclass(frozen=True, kw_only=True)
class RewrittenSession:
    """What a rewrite came to."""

    report: Report
    """Of the pass, over the session that was rewritten."""
    session_id: str = ""
    """Of the new session; empty where nothing was written."""
    file: Path | None = None
    digests: int = 0
    """Contents that are digests in the new file."""

    @property
    def resume(self) -> str:
        """The command that goes on in the new session; empty where nothing was written."""
        return f"claude --resume {self.session_id}" if self.session_id else ""


class Rewriting:
    """Writes new session files; a file that is there is never touched."""

    def __init__(self, given: Dependencies, sessions: Sessions, messages: Messages, home: Path) -> None:
        self._given = given
        self._sessions = sessions
        self._messages = messages
        self._home = home

    async def open(self, path: Path) -> tuple[SessionInfo, files.Opened]:
        """The session that a transcript is of.

        Raises:
            FileMissing, FileWrongShape: it cannot be read.
            InvalidArgument: it is no transcript of a main session.
        """
        found = await files.read_file(path, form="claude-code")
        rows = rows_of(found.value)
        if only_sidechain(rows):
            raise InvalidArgument(
                "This is the transcript of a sub-agent, which cannot be resumed.", next="Name the session's own file."
            )
        context = files.need_messages(files.parsed(found, self._given.kind_by_tool))
        # A fork's first rows may still name the session they were copied from; its own file has its name.
        own = path.name.split(".", 1)[0]
        named = any(row.get("sessionId") == own for row in rows)
        name = own if named else context.session_id or files.session_id_of(path, None)
        info = await self._sessions.ensure(
            name, host="claude-code", project=context.project, source=path.name, path=files.place_of(path)
        )
        return info, files.Opened(rows=rows, context=context)

    async def write(
        self, path: Path, info: SessionInfo, opened: files.Opened, request: PassRequest, told: Told
    ) -> RewrittenSession:
        """Run a pass and write the session that is left, under an id of its own.

        Raises:
            PassInProgress, WriteFailed, OutputRefused: no file was written.
        """
        new_id = str(uuid.UUID(hex=self._given.random_hex(16), version=4))
        target = path.with_name(f"{new_id}.jsonl")
        out = await asyncio.to_thread(self._beside, path, target)
        passed = await self._messages.passed(info, opened.context, request, told)
        if request.dry_run or passed.report.status == "failed" or not passed.contents:
            return RewrittenSession(report=passed.report)
        places = {item.id: item.position for item in opened.context.items}
        contents: dict[tuple[int, int], Content] = {places[name]: part for name, part in passed.contents.items()}
        rows: list[dict[str, Any]] = rewritten(opened.rows, contents, new_id)
        await self._sessions.ensure(
            new_id,
            host="claude-code",
            project=info.project,
            parent=info.session_id,
            source=target.name,
            path=files.place_of(target),
        )
        await asyncio.to_thread(out.write, "".join(dump(row) + "\n" for row in rows).encode())
        apply = f"{f'In {info.project}: ' if info.project else ''}claude --resume {new_id}"
        report = msgspec.structs.replace(passed.report, how_to_apply=apply)
        return RewrittenSession(report=report, session_id=new_id, file=target, digests=len(contents))

    def _beside(self, path: Path, target: Path) -> OutFile:
        """Who may read a transcript may read the new one."""
        return OutFile(target, home=self._home, sources=[path], mode=path.stat().st_mode & 0o777)

"""A transcript becomes shorter rows, or a new session beside it, for a client in which nothing of ours runs."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from ...errors import InvalidArgument
from ...hosts.claude_code.rows import only_sidechain, rows_of
from ...hosts.claude_code.transcript import rewritten
from ...models.events import SessionInfo
from ...models.items import Content
from ...models.plans import PassOptions
from ...models.reports import Report
from ...ports.host import HostContext
from ...store.out_file import OutFile
from .. import importer
from ..dependencies import Dependencies
from ..messages import CompactedMessages, Messages
from ..sessions import Sessions
from .conversations import HOST


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


async def rewrite(
    deps: Dependencies, sessions: Sessions, messages: Messages, home: Path, path: Path, asked: PassOptions
) -> RewrittenSession:
    """Run a pass over a transcript and write what is left as a session of its own; no file that is there is touched.

    Raises:
        FileMissing, FileWrongShape: it cannot be read.
        InvalidArgument: it is no transcript of a main session.
        PassInProgress, WriteFailed, OutputRefused: no file was written.
    """
    found = await importer.read_file(path, form="claude-code")
    rows = rows_of(found.value)
    if only_sidechain(rows):
        raise InvalidArgument(
            "This is the transcript of a sub-agent, which cannot be resumed.", next="Name the session's own file."
        )
    context = importer.need_messages(importer.parsed(found, deps.kind_by_tool))
    # A fork's first rows may still name the session they were copied from; its own file has its name.
    own = path.name.split(".", 1)[0]
    named = any(row.get("sessionId") == own for row in rows)
    name = own if named else context.session_id or importer.session_id_of(path, None)
    info = await sessions.ensure(
        name, host=HOST, project=context.project, source=path.name, path=importer.place_of(path)
    )
    new_id = str(uuid.UUID(hex=deps.random_hex(16), version=4))
    target = path.with_name(f"{new_id}.jsonl")
    out = await asyncio.to_thread(_beside, path, target, home)
    passed = await messages.compact(info, context, asked)
    if asked.dry_run or passed.report.status == "failed" or not passed.contents:
        return RewrittenSession(report=passed.report)
    contents = _places(context, passed)
    await sessions.ensure(
        new_id,
        host=HOST,
        project=info.project,
        parent=info.session_id,
        source=target.name,
        path=importer.place_of(target),
    )
    drop = passed.report.thinking.dropped > 0
    text = "".join(importer.dump(row) + "\n" for row in rewritten(rows, contents, new_id, drop_thinking=drop))
    await asyncio.to_thread(out.write, text.encode())
    apply = f"{f'In {info.project}: ' if info.project else ''}claude --resume {new_id}"
    report = msgspec.structs.replace(passed.report, how_to_apply=apply)
    return RewrittenSession(report=report, session_id=new_id, file=target, digests=len(contents))


async def compact_rows(
    messages: Messages,
    info: SessionInfo,
    rows: list[dict[str, Any]],
    context: HostContext,
    asked: PassOptions,
    host_session_id: str,
    *,
    off: bool = False,
) -> CompactedMessages:
    """Run a pass over a transcript's rows, which come back as rows; as they came in where nothing was replaced."""
    passed = await messages.compact(info, context, asked, requested=False, off=off)
    shorter: list[Any] = rows
    if passed.contents and passed.report.status != "failed":
        drop = passed.report.thinking.dropped > 0
        shorter = rewritten(rows, _places(context, passed), host_session_id, drop_thinking=drop)
    return replace(passed, messages=shorter)


def _places(context: HostContext, passed: CompactedMessages) -> dict[tuple[int, int], Content]:
    """Place of a row and of a block in it -> what stands there now."""
    places = {item.id: item.position for item in context.items}
    return {places[name]: part for name, part in passed.contents.items()}


def _beside(path: Path, target: Path, home: Path) -> OutFile:
    """Who may read a transcript may read the new one."""
    return OutFile(target, home=home, sources=[path], mode=path.stat().st_mode & 0o777)

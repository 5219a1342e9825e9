"""Sessions of hosts that compact by themselves: archived while they run, compared after, handed back at the start.

Hosts with command hooks beside a session file that we can read: archived before they compact, compared after.

Their context cannot be changed in place. A very large result is replaced before it enters, where the host has a way.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import stat
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from ..context.view import View
from ..digest.choice import outcome_lines
from ..errors import FileWrongShape, InvalidArgument
from ..hosts.codex import CODEX
from ..hosts.detect import parse_value
from ..hosts.gemini import GEMINI
from ..hosts.hook_call import HookCall, read_call
from ..hosts.pieces import as_fields
from ..hosts.recorded import RecordedSession, Recorder, Stretch
from ..hosts.vscode import VSCODE
from ..models.events import HostCompacted, SessionInfo
from ..models.text import plain_line, shown
from ..ports.seams import HostUsage
from .claude_code.answers import start
from .claude_code.around_compaction import AfterCompaction, BeforeCompaction
from .claude_code.notices import loss_text
from .compaction.at_birth import ToolAnswer, may_shrink, shrink_at_birth
from .compaction.digests import Sources
from .dependencies import Dependencies
from .host_seam import READS, RESULTS, note_failure
from .importer import Imported, import_context
from .sessions import Sessions

RECORDERS = (CODEX, GEMINI, VSCODE)
MOST_BYTES = 256 * 1024 * 1024
"""A larger file is left alone: it would have to be held in memory."""
_log = logging.getLogger(__name__)
_OUTCOMES = 8
_LINE = 200


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at a session's file brought."""

    host: str
    session_id: str
    handle: str
    new_items: int
    compactions: tuple[HostCompacted, ...] = ()
    """Those of the host that were not known yet, oldest first."""


class Watch:
    """Follows the files of hosts. A file that did not change since the last look costs one `stat`."""

    def __init__(
        self, deps: Dependencies, sessions: Sessions, before: BeforeCompaction, after: AfterCompaction
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._before = before
        self._after = after
        self._looked: dict[Path, tuple[int, int]] = {}

    async def look(
        self, environ: Mapping[str, str], home: Path, *, days: float, hosts: Sequence[str] = ()
    ) -> list[Watched]:
        """Read what changed in the last days; what is known already brings nothing, and is not among the answers.

        Args:
            hosts: names of those to look for; none takes all.

        Raises:
            InvalidArgument: there is no such host, or nothing of one that is named.
            WriteFailed, LockTimeout: what was read before is kept; look again.
        """
        names = [recorder.host for recorder in RECORDERS]
        for name in hosts:
            if name not in names:
                raise InvalidArgument(f"No files of {shown(name)} are known.", next=f"Name {' or '.join(names)}.")
        found: list[Watched] = []
        for recorder in RECORDERS:
            if hosts and recorder.host not in hosts:
                continue
            folder = recorder.folder(environ, home)
            if hosts and not await asyncio.to_thread(recorder.is_in, folder):
                raise InvalidArgument(
                    f"No sessions of {recorder.host} are in {folder}.",
                    next=f"Use it once on this machine, or set {recorder.set_by}.",
                )
            for path, seen in await asyncio.to_thread(self._changed, recorder, folder, days):
                one = None
                try:
                    if seen[1] <= MOST_BYTES:
                        one = await self.file(path, recorder)
                    elif self._looked.get(path, (0, 0))[1] <= MOST_BYTES:  # it may grow on: said once
                        _log.warning("%s was left out: It has more than %d MB.", path, MOST_BYTES >> 20)
                except FileWrongShape as error:  # the other sessions go on
                    _log.warning("%s was left out: %s", path, error.message)
                self._looked[path] = seen
                if one is not None and (one.new_items or one.compactions):
                    found.append(one)
        return found

    def _changed(self, recorder: Recorder, folder: Path, days: float) -> list[tuple[Path, tuple[int, int]]]:
        """Files that changed, oldest first. Of copies of one session (moved, or in an older form), the newest."""
        newest: dict[str, tuple[int, str, int, Path]] = {}
        for pattern in recorder.patterns:
            for path in folder.glob(pattern):
                try:
                    found = path.stat()
                except OSError:
                    continue
                if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
                    continue
                one = (found.st_mtime_ns, path.suffix, found.st_size, path)
                newest[path.stem] = max(one, newest.get(path.stem, one))
        since = (time.time() - days * 86_400) * 1e9
        return [
            (path, (changed, size))
            for changed, _, size, path in sorted(newest.values())
            if changed >= since and self._looked.get(path) != (changed, size)
        ]

    async def file(self, path: Path, recorder: Recorder) -> Watched | None:
        """Read one file; None where it holds no session, or cannot be read right now.

        Raises:
            WriteFailed, LockTimeout: see `look`.
        """
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError:
            return None
        read = await asyncio.to_thread(recorder.read, data)
        if read is None or not any(one.messages for one in read.stretches):
            return None
        if not read.project and recorder.project is not None:
            read = msgspec.structs.replace(read, project=await asyncio.to_thread(recorder.project, path))
        info = await self._sessions.ensure(
            read.session_id, host=recorder.host, project=read.project, source=path.name, path=str(path)
        )
        known = set((await self._sessions.fold(info)).states)
        *ended, going_on = read.stretches
        news = ended[await self._told(info, ended) :]
        told = [await self._ended(info, recorder, read, one) for one in news]
        if going_on.messages:
            here = await self._imported(info, recorder, read, going_on, newest=True)
            results = {one.item.id for one in here.view.items if one.item.role == "tool"}
            if recorder.at_once and results - known:
                await self._before.archive(info, here.view, here.counter)
        new = len((await self._sessions.fold(info)).states) - len(known)
        return Watched(
            host=recorder.host,
            session_id=info.session_id,
            handle=info.handle,
            new_items=new,
            compactions=tuple(one for one in told if one is not None),
        )

    async def _told(self, info: SessionInfo, ended: Sequence[Stretch]) -> int:
        """How many of these are known: all up to the newest whose summary is."""
        last = (await self._sessions.fold(info)).host_compacted
        found = [at for at, one in enumerate(ended, 1) if last is not None and one.summary == last.summary]
        return found[-1] if found else 0

    async def _ended(
        self, info: SessionInfo, recorder: Recorder, read: RecordedSession, one: Stretch
    ) -> HostCompacted | None:
        """Archive what a compaction took away, and compare. What the file lost since stands in the ledger."""
        counter = self._deps.counter_for(read.model or self._deps.model)
        _, here = await self._sessions.view(info, counter)
        if one.messages:
            await self._before.prepare(info, here, counter, by_user=False)
            here = (await self._imported(info, recorder, read, one)).view
        if not here.count:
            return None
        await self._before.prepare(info, here, counter, by_user=False)
        compared = await self._after.compared(info, here, one.summary, "auto")
        await self._deps.store.ledger.observe(self._sessions.key(info), [compared])
        lost = [loss_text(info.handle, compared), await asyncio.to_thread(self._outcomes, here, one.summary)]
        await self._before.keep_start_of(info, lost="\n".join(filter(None, lost)))
        return compared

    async def _imported(
        self, info: SessionInfo, recorder: Recorder, read: RecordedSession, one: Stretch, *, newest: bool = False
    ) -> Imported:
        context = parse_value(list(one.messages), form=read.form, kind_by_tool=self._deps.kind_by_tool)
        last = max((item.position[0] for item in context.items), default=-1)
        context = msgspec.structs.replace(
            context,
            host=recorder.host,
            model=read.model,
            project=read.project,
            usage=HostUsage(used_tokens=read.used_tokens, model=read.model, row=last) if newest else None,
            gone_why="host_compaction",
        )
        return await import_context(self._deps, self._sessions, info, context)

    def _outcomes(self, here: View, summary: str) -> str:
        """How the newest calls went, where the summary does not say it in the same words."""
        results = [one for one in here.items if one.item.role == "tool" and one.state == "live"]
        about = Sources(self._deps.redactor, self._deps.registry)
        found: list[str] = []
        for one in reversed(results):
            (source,) = about.of([one], about.masked([one]))
            with self._deps.studies().of([source], keep=False) as (study,):
                lines = [line for line in outcome_lines(source, study) if line.strip() not in summary]
            if lines:
                asked = one.item.action.target if one.item.action is not None else ""
                found.append(f"- {plain_line(f'{one.item.tool_name} {asked}: {lines[-1]}', _LINE)}")
            if len(found) == _OUTCOMES:
                break
        return "\n".join(["How the newest calls went, which it does not say:", *found]) if found else ""


_TOLD = (
    "This is no error: the call succeeded. Its result is long, so a digest stands here; the whole of it is kept, and "
    "the digest says how to read it.\n"
)
"""Gemini CLI has one way to replace a result (`decision: deny`), and calls it blocked (0.61.0). Codex has the same
(`decision: block`), and the model is given the bare text (0.171.0): `updatedToolOutput` it refuses."""


class RecordedHostEvents:
    """The events of one host. Implements `host_seam.Host`."""

    def __init__(self, deps: Dependencies, sessions: Sessions, watch: Watch, host: str) -> None:
        self._deps = deps
        self._sessions = sessions
        self._watch = watch
        self._host = host
        self._recorder = next(one for one in RECORDERS if one.host == host)
        self._uses: Mapping[str, Callable[[HookCall], Awaitable[str]]] = {
            **dict.fromkeys(RESULTS, self._result),
            "SessionStart": self._start,
            **dict.fromkeys(READS, self._read),
        }

    async def handle(self, event: str, payload: Any) -> str:
        """The hook's output; empty where there is nothing to say. Never raises."""
        call = read_call(event, payload)
        use = self._uses.get(call.event)
        if use is None or not self._deps.automatic or not call.session_id:
            return ""
        try:
            return await use(call)
        except Exception as error:  # the host goes on
            await asyncio.to_thread(note_failure, self._deps.store.host_notes, call.event, error)
        return ""

    async def _read(self, call: HookCall) -> str:
        """What stands in the file is archived, and compared where the host compacted since."""
        path = Path(call.transcript_path)
        if call.transcript_path and await asyncio.to_thread(path.is_file):
            await self._watch.file(path, self._recorder)
        return ""

    async def _start(self, call: HookCall) -> str:
        await self._read(call)
        return await asyncio.to_thread(start, call, self._deps.store.host_notes)

    async def _result(self, call: HookCall) -> str:
        tool, args = call.text("tool_name"), call.mapping("tool_input") or {}
        text = _result_text(call)
        if text is None:
            return ""
        answer = ToolAnswer.plain(tool, args, call.text("tool_use_id") or _name(call, text), text)
        if answer is None or not may_shrink(self._deps, tool, answer.result):
            return ""
        info = await self._sessions.ensure(call.session_id, host=self._host, project=call.text("cwd"))
        born = await shrink_at_birth(self._deps, self._sessions, info, answer)
        if born is None:
            return ""
        if call.event == "PostToolUse":
            return json.dumps({"decision": "block", "reason": born.output})
        return json.dumps({"decision": "deny", "reason": _TOLD + born.output})


def _name(call: HookCall, text: str) -> str:
    """Of a call that the hook does not name: it is told from others by its result's words, and by when it came."""
    told = f"{call.text('timestamp')}\0{text}".encode("utf-8", "surrogatepass")
    return f"after-{hashlib.sha256(told).hexdigest()[:24]}"


def _result_text(call: HookCall) -> str | None:
    """The words of a result that is nothing but words and no error: Codex gives them as they are, Gemini CLI within an
    object."""
    if call.event == "PostToolUse":
        given = call.fields.get("tool_response")
        return given if isinstance(given, str) else None
    response = call.mapping("tool_response") or {}
    return None if response.get("error") else _text(response.get("llmContent"))


def _text(content: Any) -> str | None:
    """The words of a `PartListUnion` that is nothing but words."""
    if isinstance(content, str):
        return content
    given = cast("list[Any]", content) if isinstance(content, list) else [content]
    parts = [as_fields(part) or {} for part in given]
    if not parts or any(set(part) != {"text"} or not isinstance(part["text"], str) for part in parts):
        return None
    return "\n".join(part["text"] for part in parts)

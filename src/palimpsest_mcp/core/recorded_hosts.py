"""Hosts with command hooks beside a session file that we can read: archived before they compact, compared after.

Their context cannot be changed in place. A very large result is replaced before it enters, where the host has a way.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from ..hosts.hook_call import HookCall, read_call
from ..hosts.pieces import as_fields
from .claude_code.answers import start
from .compaction.at_birth import ToolAnswer, may_shrink, shrink_at_birth
from .dependencies import Dependencies
from .host_seam import READS, RESULTS, note_failure
from .sessions import Sessions
from .watch import RECORDERS, Watch

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

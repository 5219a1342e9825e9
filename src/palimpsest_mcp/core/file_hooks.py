"""Command hooks of hosts with a session file, as far as they are answered without opening the store."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..hosts.hook_call import HookCall, read_call
from ..ports.host import HostNotes

RESULTS = ("AfterTool", "PostToolUse")
"""A call has its result: Gemini CLI's word, and Codex's."""
READS = ("PreCompress", "PreCompact", "PostCompact", "SessionEnd", "Stop")
_LEAST = 8_000
"""Characters below which a result is let through without opening the store: each hook is a process of its own."""


class FileQuick:
    """Implements `host_seam.QuickAnswers`."""

    def read(self, event: str, data: bytes, environ: Mapping[str, str]) -> HookCall:
        """The call."""
        return read_call(event, data.decode("utf-8", "replace"))

    def ends(self, call: HookCall) -> bool:
        """None: the session's file is read by whoever looks next."""
        return False

    def end(self, call: HookCall, notes: HostNotes) -> None:
        """Nothing is lost by it."""

    def at_once(self, call: HookCall, notes: HostNotes, *, automatic: bool) -> str | None:
        """Nothing, where that is known without the store."""
        small = call.event in RESULTS and len(json.dumps(call.value("tool_response"))) < _LEAST
        known = call.event in (*RESULTS, "SessionStart", *READS)
        return None if automatic and known and not small and call.session_id else ""

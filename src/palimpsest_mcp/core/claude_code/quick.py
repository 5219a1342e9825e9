"""Claude Code's command hooks, answered from small files: the start and the end of a session."""

from __future__ import annotations

from collections.abc import Mapping

from ...hosts.hook_call import HookCall, read_call
from ...ports.host import HostNotes
from .answers import end, is_noted, start


class ClaudeCodeQuick:
    """Implements `core.host_seam.QuickAnswers`."""

    def read(self, event: str, data: bytes, environ: Mapping[str, str]) -> HookCall:
        """The call, with the client's process."""
        call = read_call(event, data.decode("utf-8", "replace"))
        call.fields.setdefault("client_pid", environ.get("CLAUDE_PID", ""))
        return call

    def ends(self, call: HookCall) -> bool:
        """Of a session."""
        return call.event == "SessionEnd"

    def end(self, call: HookCall, notes: HostNotes) -> None:
        """After `/clear` the new session's start asks for it at once."""
        end(call, notes)

    def at_once(self, call: HookCall, notes: HostNotes, *, automatic: bool) -> str | None:
        """What the start of a session says; None where nobody wrote that down yet, and for every other event."""
        if call.event != "SessionStart":
            return None
        if not automatic:
            return ""
        text, session_id = start(call, notes), call.session_id
        return text if not session_id or not notes.is_known(session_id) or is_noted(session_id, notes) else None

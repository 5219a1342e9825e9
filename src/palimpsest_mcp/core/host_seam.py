"""The seam to hosts: events of a host in, what is to enter its context out. A host stands here by one row.

Imports nothing when it is loaded: a host waits for its command hooks, and each host brings its own imports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..hosts.hook_call import HookCall
    from ..ports.seams import HostNotes


class Host(Protocol):
    """A host, in an opened store."""

    async def handle(self, event: str, payload: Any) -> str:
        """The answer to one event in the host's own words; empty where there is nothing to say. Never raises."""
        ...


class QuickAnswers(Protocol):
    """What a host's command hooks are answered with before the store is opened, from small files."""

    def read(self, event: str, data: bytes, environ: Mapping[str, str]) -> HookCall:
        """One call from the bytes on stdin."""
        ...

    def ends(self, call: HookCall) -> bool:
        """Whether it ends a session, so that the host may take its hooks down: the rest is done apart from it."""
        ...

    def end(self, call: HookCall, notes: HostNotes) -> None:
        """What has to be done of such an end at once."""
        ...

    def at_once(self, call: HookCall, notes: HostNotes, *, automatic: bool) -> str | None:
        """The answer, where small files say enough; None: the store is to be asked.

        Args:
            automatic: False where the user switched off what happens by itself.
        """
        ...


RESULTS = ("AfterTool", "PostToolUse")
"""A call has its result: Gemini CLI's word, and Codex's."""
READS = ("PreCompress", "PreCompact", "PostCompact", "SessionEnd", "Stop")
_LEAST = 8_000
"""Characters below which a result is let through without opening the store: each hook is a process of its own."""


class FileQuick:
    """Implements `QuickAnswers` for hosts with a session file."""

    def read(self, event: str, data: bytes, environ: Mapping[str, str]) -> HookCall:
        """The call."""
        from ..hosts.hook_call import read_call

        return read_call(event, data.decode("utf-8", "replace"))

    def ends(self, call: HookCall) -> bool:
        """None: the session's file is read by whoever looks next."""
        return False

    def end(self, call: HookCall, notes: HostNotes) -> None:
        """Nothing is lost by it."""

    def at_once(self, call: HookCall, notes: HostNotes, *, automatic: bool) -> str | None:
        """Nothing, where that is known without the store."""
        import json

        small = call.event in RESULTS and len(json.dumps(call.value("tool_response"))) < _LEAST
        known = call.event in (*RESULTS, "SessionStart", *READS)
        return None if automatic and known and not small and call.session_id else ""


class Row(NamedTuple):
    """How a host is opened."""

    brings: Literal["everything", "a list", "a file"]
    """Its hooks and module everything, its plugin a message list, or its command hooks the name of a session file."""
    quick: Callable[[], QuickAnswers] | None = None
    """None: its events come to a server of its own, never by command hooks."""


def _claude_code_quick() -> QuickAnswers:
    from .claude_code.answers import ClaudeCodeQuick

    return ClaudeCodeQuick()


def note_failure(notes: HostNotes, event: str, error: Exception) -> None:
    """Keep for `doctor` why an event was not dealt with. The text of a foreign error may quote a session: its kind
    does not."""
    import logging

    from ..errors import PalimpsestError

    if isinstance(error, PalimpsestError):
        notes.note_trouble(event, error.code, error.message)
        return
    logging.getLogger(__name__).debug("%s", event, exc_info=error)
    notes.note_trouble(event, "internal_error", type(error).__name__)


CLAUDE_CODE = "claude-code"
ROWS: Mapping[str, Row] = {
    CLAUDE_CODE: Row("everything", _claude_code_quick),
    "opencode": Row("a list"),
    "pi": Row("a list"),
    "gemini-cli": Row("a file", FileQuick),
    "codex": Row("a file", FileQuick),
}
"""Name in `models/host_table.py` -> how it is opened."""

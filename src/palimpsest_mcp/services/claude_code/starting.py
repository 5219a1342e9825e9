"""SessionStart: what is injected when a conversation begins, goes on, or was just compacted."""

from __future__ import annotations

from typing import Any

from ...hosts.hook_calls import HookCall
from ...models.nouns import counted
from ...ports.host_notes import HostNotes
from .answers import context_answer

FOLLOWS = ("clear",)
"""Sources by which the client leaves one session for a new one, in the same process."""


def client_of(call: HookCall) -> str:
    """What tells one client from another: its process where the hook knows it, else its folder."""
    return call.text("client_pid") or call.text("cwd")


def start(call: HookCall, notes: HostNotes, *, before: str = "") -> str:
    """The hook's answer; also notes which session a new one follows. Reads small files only: this must be quick.

    Args:
        before: the session that this process last heard of, where that is known.
    """
    source, session_id = call.text("source"), call.session_id
    if not session_id:
        return ""
    parent = ""
    if source in FOLLOWS:
        parent = notes.take_ended(client_of(call)) or before
        if parent and parent != session_id and not notes.is_known(session_id):
            notes.link(session_id, parent)
    found = notes.start_of(session_id) or _start_of_parent(parent or notes.parent_of(session_id), notes)
    handle, batches = found.get("handle"), found.get("batches")
    if not isinstance(handle, str) or not isinstance(batches, int):
        return ""
    if source == "compact":
        text = found.get("after_compaction")
        return context_answer("SessionStart", text) if isinstance(text, str) else ""
    if not batches:
        return ""
    return context_answer(
        "SessionStart",
        f"Palimpsest keeps {counted(batches, 'batch')} of earlier results of this conversation: "
        f'list_offloaded {handle}, restore_batch {handle} BATCH, search_offloaded {handle} "words".',
    )


def _start_of_parent(parent: str, notes: HostNotes) -> dict[str, Any]:
    return notes.start_of(parent) if parent else {}


def end(call: HookCall, notes: HostNotes) -> None:
    """Note that the client leaves a session for a new one, whose start may come at once. Writes one small file."""
    if call.text("reason") in FOLLOWS and call.session_id:
        notes.note_ended(client_of(call), call.session_id)


__all__ = ["client_of", "end", "start"]

"""Answers in the words of Claude Code's hooks; an empty text says nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...hosts.hook_call import HookCall, read_call
from ...hosts.pieces import text_of
from ...models.text import counted
from ...ports.seams import HostNotes
from ...settings.places import project_root

MOST_CHARACTERS = 9_900
"""Of an injected context, in UTF-16 units; the client puts more than 10,000 into a file and shows 2 KB of it."""


def hook_answer(event: str, **fields: Any) -> str:
    """The JSON of a hook's output."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}}, ensure_ascii=True)


def context_answer(event: str, *texts: str, **fields: Any) -> str:
    """Text to be injected into the model's context, beside other fields of the output; empty where there is nothing."""
    said = within("\n\n".join(filter(None, texts)), MOST_CHARACTERS)
    if said:
        fields["additionalContext"] = said
    return hook_answer(event, **fields) if fields else ""


def length(text: str) -> int:
    """Characters as the client counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def within(text: str, most: int) -> str:
    """The text, whole lines of it where it is too long."""
    if length(text) <= most:
        return text
    lines = text.split("\n")
    while len(lines) > 1 and length("\n".join(lines)) > most - 2:
        lines.pop()
    kept = "\n".join(lines)
    return f"{kept}\n…" if length(kept) <= most - 2 else kept[: (most - 2) // 2] + "…"


# SessionStart: what is injected when a conversation begins, goes on, or was just compacted.


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
    waiting = _handoff(call, notes) if source != "compact" else ""
    if not isinstance(handle, str) or not isinstance(batches, int):
        return context_answer("SessionStart", waiting)
    lost = text_of(found, "lost")
    if source == "compact":
        return context_answer("SessionStart", lost, text_of(found, "after_compaction"))
    orders = text_of(found, "orders")
    kept = (
        f"Palimpsest keeps {counted(batches, 'batch')} of earlier results of this conversation: "
        f'list_offloaded {handle}, restore_batch {handle} BATCH, search_offloaded {handle} "words".'
        if batches
        else ""
    )
    return context_answer("SessionStart", orders, lost, kept, waiting)


def _handoff(call: HookCall, notes: HostNotes) -> str:
    """That a handoff waits for whoever works in this folder; empty where none does."""
    folder = call.text("cwd")
    found = notes.handoff_of(project_root(folder)) if folder else None
    if found is None:
        return ""
    return (
        f"Palimpsest: a handoff of {found.date} exists for this folder: {found.title}. To go on from it: "
        f"load_handoff with task {found.name}."
    )


def is_noted(session_id: str, notes: HostNotes) -> bool:
    """Whether it is written down what the start of a session, or of the one that it follows, is to say."""
    return bool(notes.start_of(session_id) or _start_of_parent(notes.parent_of(session_id), notes))


def _start_of_parent(parent: str, notes: HostNotes) -> dict[str, Any]:
    return notes.start_of(parent) if parent else {}


def end(call: HookCall, notes: HostNotes) -> None:
    """Note that the client leaves a session for a new one, whose start may come at once. Writes one small file."""
    if call.text("reason") in FOLLOWS and call.session_id:
        notes.note_ended(client_of(call), call.session_id)


# What the command hooks are answered with, from small files and before the store is opened.


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

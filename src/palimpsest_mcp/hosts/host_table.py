"""How a compaction becomes real in each host. Data only. Where a host compacts by itself: `tokens/host_trigger.py`."""

from __future__ import annotations

import re

import msgspec

from ..models.advice import Advice, Either, step


class HostNote(msgspec.Struct, frozen=True, kw_only=True):
    """One host, in words for an answer."""

    how_to_apply: str
    """What makes a compaction real in this host; `{show}` and `{rewrite}` stand for steps on the session."""
    adapter: bool = False
    """Whether an adapter of ours acts inside the host, at or before its own compaction."""
    adapter_does: str = ""
    """What it does there, in words."""


_FRESH_START = (
    "The host's history is unchanged: a server cannot edit it. Start a new conversation from the compacted view: {show}"
)
_LIST = "Send the returned message list with your next request, in the place of the old one."
_REWRITE = (
    "The running session is unchanged. Let the plugin compact in place; or write a shorter session beside it and "
    "resume that: {rewrite}"
)
_CLAUDE_CODE = HostNote(how_to_apply=_REWRITE)
_ATTACHED = {
    "claude-code": msgspec.structs.replace(
        _CLAUDE_CODE,
        adapter=True,
        adapter_does=(
            "the Palimpsest plugin then puts digests in the place of older results, as it does at /compact and, in a "
            "terminal, at the policy's trigger"
        ),
        how_to_apply=(
            "The Palimpsest plugin puts the stored digests in place at the next compaction: say /compact, or wait for "
            "the client's own. Without the plugin's module, write a shorter session and resume that: {rewrite}"
        ),
    )
}
"""Hosts in which an adapter of ours acts, while it is attached."""
_HOSTS = {
    "claude-code": _CLAUDE_CODE,
    "claude-ai": HostNote(how_to_apply=_FRESH_START),
    "codex": HostNote(how_to_apply=_FRESH_START),
    "gemini-cli": HostNote(how_to_apply=_FRESH_START),
    "messages": HostNote(how_to_apply=_LIST),
}
_NAMES = {
    "claude-code": "claude-code",
    "claude code": "claude-code",
    "claude-ai": "claude-ai",
    "claude desktop": "claude-ai",
    "claude-desktop": "claude-ai",
    "codex": "codex",
    "codex-mcp-client": "codex",
    "gemini-cli": "gemini-cli",
    "gemini-cli-mcp-client": "gemini-cli",
    "": "messages",
    "messages": "messages",
    "python": "messages",
    "anthropic": "messages",
    "openai": "messages",
}
"""Client-info names, as the hosts send them, and the names of our own forms."""
_UNKNOWN = HostNote(how_to_apply=_FRESH_START)


LISTS = frozenset(name for name, host in _NAMES.items() if host == "messages")
"""Names of what is no host: a list that its own program sends."""
HOST_NAMES = frozenset(_NAMES) - LISTS


def how_to_apply(note: HostNote, handle: str, path: str = "") -> Advice:
    """What makes a compaction of this session real, with the steps that it names.

    Args:
        path: of the session's transcript, where it is known.
    """
    rewrite = Advice("{}", step("rewrite_session", session_id=handle))
    steps = {
        "{show}": step("show_context", session_id=handle),
        "{rewrite}": Either(
            command=rewrite, tool=rewrite, call=f"rewrite_session({path!r})" if path else "rewrite_session"
        ),
    }
    parts = re.split(r"(\{\w+\})", note.how_to_apply)
    return Advice("{}".join(parts[::2]), *(steps[name] for name in parts[1::2]))


def host_note(host: str, *, attached: str = "") -> HostNote:
    """What is known of a host.

    Args:
        host: client-info name of an MCP client, `claude-code` for a transcript, empty for a plain message list.
        attached: the host in which an adapter of ours acts, by the table's name.
    """
    name = _NAMES.get(host.strip().lower(), "unknown")
    return _ATTACHED[name] if name == attached and name in _ATTACHED else _HOSTS.get(name, _UNKNOWN)

"""What is known of each host: where it compacts by itself, and how a compaction becomes real in it. Data only.

Figures of Claude Code: measured on client 2.1.328 by bisecting reported usage.
"""

from __future__ import annotations

import msgspec


class HostNote(msgspec.Struct, frozen=True, kw_only=True):
    """One host, in words for an answer."""

    compaction_point: str
    """Where the host compacts by itself, in words; empty where it does not or where that is unknown."""
    compacts_itself: bool
    """False also where nothing is known."""
    how_to_apply: str
    """What makes a compaction real in this host."""
    adapter: bool = False
    """Whether an adapter of ours acts inside the host, at or before its own compaction."""
    adapter_does: str = ""
    """What it does there, in words."""


_FRESH_START = (
    "The host's history is unchanged: a server cannot edit it. Start a new conversation from the compacted view "
    "(show_context)."
)
_LIST = "Send the returned message list with your next request, in the place of the old one."
_REWRITE = (
    "The running session is unchanged. Write a shorter one beside it by `palimpsest-mcp rewrite SESSION` and resume "
    "that, or let the plugin compact in place."
)
_CLAUDE_CODE = HostNote(
    compaction_point=(
        "Claude Code compacts by itself at its effective window less 13,000 tokens: 967,000 of a window of 1,000,000, "
        "167,000 of 200,000 (client 2.1.328; sonnet-4-5 and haiku-4-5 wait for the API to refuse)"
    ),
    compacts_itself=True,
    how_to_apply=_REWRITE,
)
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
            "the client's own. Without the plugin's module, resume the file that `palimpsest-mcp rewrite` makes."
        ),
    )
}
"""Hosts in which an adapter of ours acts, while it is attached."""
_HOSTS = {
    "claude-code": _CLAUDE_CODE,
    "claude-ai": HostNote(compaction_point="", compacts_itself=False, how_to_apply=_FRESH_START),
    "codex": HostNote(
        compaction_point="Codex compacts by itself near the end of the window; the exact point is not known",
        compacts_itself=True,
        how_to_apply=_FRESH_START,
    ),
    "gemini-cli": HostNote(
        compaction_point="Gemini CLI compresses by itself at 0.7 of the window by default, and keeps the newest 0.3",
        compacts_itself=True,
        how_to_apply=_FRESH_START,
    ),
    "messages": HostNote(
        compaction_point="",
        compacts_itself=False,
        how_to_apply=_LIST,
    ),
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
_UNKNOWN = HostNote(compaction_point="", compacts_itself=False, how_to_apply=_FRESH_START)


def host_note(host: str, *, attached: str = "") -> HostNote:
    """What is known of a host.

    Args:
        host: client-info name of an MCP client, `claude-code` for a transcript, empty for a plain message list.
        attached: the host in which an adapter of ours acts, by the table's name.
    """
    name = _NAMES.get(host.strip().lower(), "unknown")
    return _ATTACHED[name] if name == attached and name in _ATTACHED else _HOSTS.get(name, _UNKNOWN)

"""The table of hosts: how each calls itself, where it compacts by itself, what makes a compaction real in it.

Where a host compacts, in tokens, is worked out in `text/tokens/windows.py`; an adapter acts in the host itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from .advice import Advice, Either, step
from .views import COMPACTED


class HostOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the host, as it reads them itself."""

    window_tokens: int | None = None
    """The host compacts as if the window had this size, where the model's is larger."""
    window_source: str = ""
    """Name of the variable or setting that says so."""
    percent: float | None = None
    """It compacts at this percentage of its effective window, where that is earlier; above 0, at most 100."""
    most_output: int | None = None
    """Tokens that an answer may have at most."""
    off: str = ""
    """Name of what keeps it from compacting by itself; empty: nothing does."""


class HostNote(msgspec.Struct, frozen=True, kw_only=True):
    """How a compaction becomes real, in words for an answer."""

    how_to_apply: str
    """What makes a compaction real in this host; `{show}` and `{rewrite}` stand for steps on the session."""
    how_to_undo: str = "The host's history is unchanged. What it shows as digests is whole in: {show}"
    """What makes a step back real; as `how_to_apply`."""
    fresh_start: bool = False
    """Only a new conversation is shorter in it."""
    adapter_does: str = ""
    """What an adapter of ours does inside the host, at or before its own compaction; empty: none acts there."""


_FRESH_START = HostNote(
    how_to_apply="The host's history is unchanged: a server cannot edit it. Start a new conversation from the "
    "compacted view: {show}",
    fresh_start=True,
)
_LIST = HostNote(
    how_to_apply="Send the returned message list with your next request, in the place of the old one.",
    how_to_undo="Compact the list once more: its originals come back in it, below the trigger too.",
)


_LIST_HOST = HostNote(
    how_to_apply="The plugin puts the stored digests into the list of every request from now on.",
    how_to_undo="The plugin sends the originals with the next request.",
    adapter_does="the plugin puts digests in the place of older results before that, at the policy's trigger",
)


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """One host."""

    name: str
    """In our options, records and transcripts."""
    title: str
    """As people call it."""
    aliases: tuple[str, ...] = ()
    """Other starts of the names it gives itself."""
    note: HostNote = _FRESH_START
    attached: HostNote | None = None
    """The same while an adapter of ours acts in it; None: there is no adapter."""
    entered: str = ""
    """What `install` enters in its settings; empty: `install` does not know it."""
    itself: bool = True
    """Whether it compacts by itself; False: that is not known."""
    margin: int = 0
    """It compacts by itself this many tokens before its effective window ends."""
    share: float | None = None
    """It compacts by itself at this share of its whole window, whatever the margin."""
    windows: dict[str, int] = {}
    """Models of which it uses another window than they have."""
    other_window: int | None = None
    """What it takes for the window of a model that it does not know; None: not known here."""
    never: tuple[str, ...] = ()
    """Rows of models with which it does not compact on its own, unless a window is set; also those of `windows` when
    they are used with their whole window."""
    percent_setting: str = ""
    """Name of the setting that makes it compact at a percentage."""


_ROWS = (
    HostRow(
        name="claude-code",
        title="Claude Code",
        aliases=("claudecode",),
        note=HostNote(
            how_to_apply="The running session is unchanged. Let the plugin compact in place; or write a shorter "
            "session beside it and resume that: {rewrite}",
            how_to_undo="The session's own file was never changed: resume it instead of the shorter one.",
        ),
        attached=HostNote(
            how_to_apply="The Palimpsest plugin puts the stored digests in place at the next compaction: say /compact, "
            "or wait for the client's own. Without the plugin's module, write a shorter session and resume that: "
            "{rewrite}",
            how_to_undo="The Palimpsest plugin puts the originals in place after this turn, in a terminal, or at your "
            "next /compact.",
            adapter_does="the Palimpsest plugin then puts digests in the place of older results, as it does at "
            "/compact and, in a terminal, at the policy's trigger",
        ),
        entered="server, hooks, status line",
        margin=13_000,
        windows={"claude-opus-4-6": 200_000, "claude-sonnet-4-6": 200_000},
        never=(
            "claude-opus-4-5",
            "claude-sonnet-4-5",
            "claude-haiku-4-5",
            "claude-opus-4",
            "claude-sonnet-4",
            "claude-3-7-sonnet",
            "claude-3",
        ),
        other_window=1_000_000,
        percent_setting="CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
    ),
    HostRow(
        name="opencode",
        title="opencode",
        attached=_LIST_HOST,
        entered="plugin",
    ),
    HostRow(name="pi", title="Pi", attached=_LIST_HOST, entered="plugin"),
    HostRow(
        name="codex",
        title="Codex",
        entered="server, hooks",
        share=0.9,
        windows={"gpt-5": 272_000},
        other_window=272_000,
    ),
    HostRow(
        name="gemini-cli",
        title="Gemini CLI",
        entered="server, hooks",
        share=0.5,
        windows={"gemini": 1_048_576},
    ),
    HostRow(name="vscode", title="VS Code", aliases=("visual-studio-code",), entered="server", itself=False),
    HostRow(name="claude-desktop", title="Claude Desktop", aliases=("claude-ai",), entered="server", itself=False),
)
"""Claude Code: found by bisecting reported usage (client 2.1.328). Codex: `auto_compact_token_limit` and the models of
its source, 0.154.0; a setting of its own can only lower the point. Gemini CLI: `model.compressionThreshold` of its
settings page (2026-08); earlier versions had 0.7."""
HOSTS: Mapping[str, HostRow] = {row.name: row for row in _ROWS}
LISTS = frozenset(("", "messages", "python", "anthropic", "openai"))
"""Names of what is no host: a list that its own program sends."""


@lru_cache(maxsize=256)  # asked at every measurement
def host_row(host: str) -> HostRow | None:
    """The host with this name, by the start of what it calls itself (client info, setting or transcript)."""
    name = host.strip().lower().replace("_", "-").replace(" ", "-")
    return next((row for row in _ROWS if any(_begins(name, one) for one in (row.name, *row.aliases))), None)


def _begins(name: str, start: str) -> bool:
    """Whether a name is this one, alone or with something behind it: `pipeline` is not Pi."""
    return name == start or (name.startswith(start) and not name[len(start)].isalnum())


def host_note(host: str, *, attached: str = "") -> HostNote:
    """How a compaction becomes real in a host.

    Args:
        host: client-info name of an MCP client, `claude-code` for a transcript, empty for a plain message list.
        attached: name of the host in which an adapter of ours acts.
    """
    # By its exact name: what only begins like a host's need not be a client in which its plugin can act.
    row = HOSTS.get(host.strip().lower().replace(" ", "-"))
    if row is None:
        return _LIST if host.strip().lower() in LISTS else _FRESH_START
    return row.attached if row.attached and row.name == attached else row.note


def how_to_apply(note: HostNote, handle: str, path: str = "", *, undo: bool = False) -> Advice:
    """What makes a compaction of this session real, with the steps that it names.

    Args:
        undo: what makes the step back real.
        path: of the session's transcript, where it is known.
    """
    rewrite = Advice("{}", step("rewrite_session", session_id=handle))
    steps = {
        "{show}": step("show_context", session_id=handle, view=COMPACTED),
        "{rewrite}": Either(
            command=rewrite, tool=rewrite, call=f"rewrite_session({path!r})" if path else "rewrite_session"
        ),
    }
    parts = re.split(r"(\{\w+\})", note.how_to_undo if undo else note.how_to_apply)
    return Advice("{}".join(parts[::2]), *(steps[name] for name in parts[1::2]))

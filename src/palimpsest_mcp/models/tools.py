"""The tools of the MCP server, told once: what a client is told of each, and how our own calls are known.

A new tool is an entry here and a function of the same name in one of `server/tools_*.py`. Its description is the
function's docstring, its schema comes from the function's arguments, and `docs/tools.md` has a section of its name.

How the server is reached over HTTP: where it listens, who may call, and how much.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Effect: TypeAlias = Literal["reads", "records", "changes"]
"""Nothing; something that a second call of the same kind would not change again; something at every call."""
Filled: TypeAlias = Literal["never", "always", "if named", "in the event"]


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """One tool."""

    name: str
    effect: Effect
    example: str
    """Arguments of a right call, as JSON: what an error about arguments shows (I2)."""
    command: tuple[str, ...] = ()
    """The command line that does the same, as in `advice.COMMANDS`."""
    fills_session: Filled = "never"
    """Where a client's hook puts the session's id in, which the model does not know (I1)."""
    looks_back: bool = False
    """Reads what was kept, where a digest names another session: its parent's, or one that was asked about."""
    structured: bool = False
    """Answers in fields as well as in text; a long text comes as text only."""
    exact: bool = False
    """Its text is exact by promise: an original, or what a host takes over by its ids. Its errors are masked."""
    most_characters: int | None = None
    """Claude Code spills a longer answer to a file; without a number its own limit holds."""
    core: Mapping[str, str] = field(default_factory=dict[str, str])
    """The arguments that `serve --tools core` lists, and what it says of them; empty: it does not list the tool. One
    that is listed takes its other arguments, too."""
    page: bool = False
    """A host of MCP Apps shows the local page beside its answer."""
    hooks_only: bool = False
    """Listed only where a host's hooks call it; it does not count among the tools that a model sees."""

    @property
    def title(self) -> str:
        """As clients show it to people."""
        return self.name.replace("_", " ").capitalize()


_SPECS = (
    ToolSpec(
        name="check_context_ratio",
        core={"session_id": "", "used_tokens": "", "window_tokens": ""},
        page=True,
        effect="reads",
        structured=True,
        fills_session="always",
        example='{"session_id": "new", "used_tokens": 140000, "window_tokens": 200000}',
    ),
    ToolSpec(
        name="record_items",
        core={"session_id": "", "items": "kind, role, content, tool_name, tool_use_id, args"},
        effect="records",
        structured=True,
        fills_session="always",
        example='{"session_id": "new", "items": [{"kind": "tool_result", "role": "tool", "tool_name": "read_file",'
        ' "tool_use_id": "call_1", "args": {"path": "a.py"}, "content": "text of the result"}]}',
    ),
    ToolSpec(
        name="show_context",
        effect="records",
        fills_session="always",
        looks_back=True,
        most_characters=200_000,  # the compacted view; it is cut into pages of our own
        command=("show", "{session_id}", "--view {view}"),
        example='{"session_id": "s7f3k", "pin": ["call_1"]}',
    ),
    ToolSpec(
        name="compact_session",
        core={"session_id": "", "target": "ratio", "window_tokens": "", "force": "", "focus": ""},
        effect="changes",
        structured=True,
        fills_session="always",
        example='{"session_id": "s7f3k", "target": 0.4, "window_tokens": 200000, "dry_run": true}',
    ),
    ToolSpec(
        name="list_offloaded",
        core={"session_id": "", "batch_id": ""},
        page=True,
        effect="reads",
        fills_session="always",
        looks_back=True,
        command=("list", "{session_id}"),
        example='{"session_id": "s7f3k"}',
    ),
    ToolSpec(
        name="search_offloaded",
        core={"query": "", "session_id": ""},
        effect="reads",
        fills_session="if named",
        looks_back=True,
        command=("search", "{query}", "--session {session_id}"),
        example='{"query": "connection refused", "session_id": "s7f3k", "limit": 5}',
    ),
    ToolSpec(
        name="restore_batch",
        core={"session_id": "", "batch_id": "", "item_id": "", "offset": "", "lines": "100-140", "grep": ""},
        effect="records",
        fills_session="always",
        looks_back=True,
        exact=True,
        most_characters=200_000,  # our pages are already cut
        command=("restore", "{session_id}", "{batch_id}", "--item {item_id}"),
        example='{"session_id": "s7f3k", "batch_id": "offload_0007", "item_id": "call_1", "grep": "port"}',
    ),
    ToolSpec(
        name="update_summary",
        core={"session_id": "", "sections": "decisions_made, next_steps"},
        effect="records",
        fills_session="always",
        example='{"session_id": "s7f3k", "sections": {"decisions_made": [{"decision": "Keep the first of two",'
        ' "rationale": "the source repeats them"}], "next_steps": ["Test with two files"]}}',
    ),
    ToolSpec(
        name="write_handoff",
        core={"session_id": "", "task": "", "fields": "in_progress"},
        effect="changes",
        structured=True,
        fills_session="always",
        example='{"session_id": "s7f3k", "task": "Make the nightly import survive duplicate rows", "fields":'
        ' {"in_progress": ["tests/test_load.py"], "key_context": {"questions": ["May old rows be deleted?"]}}}',
    ),
    ToolSpec(
        name="load_handoff",
        core={"task": "", "section": ""},
        effect="changes",
        command=("handoff", "load", "--task {task}"),
        example='{"task": "Make the nightly import survive duplicate rows"}',
    ),
    ToolSpec(
        name="record_experience",
        effect="changes",
        structured=True,
        fills_session="in the event",
        example='{"skill": "search-web", "event": {"session_id": "s7f3k", "outcome": "success",'
        ' "winning_pattern": "brand + pain word", "metrics": {"yield": 18, "relevant": 9}}}',
    ),
    ToolSpec(
        name="compact_experience",
        effect="changes",
        command=("experience", "compact", "{skill}"),
        example='{"skill": "search-web", "dry_run": true}',
    ),
    ToolSpec(
        name="host_event",
        effect="changes",
        exact=True,
        most_characters=500_000,  # the digests of a whole session
        hooks_only=True,
        example='{"event": "Stop", "payload": {"session_id": "…"}}',
    ),
)
TOOLS: Mapping[str, ToolSpec] = {spec.name: spec for spec in _SPECS}
"""By name, in the order in which a session needs them; the order must stay stable."""
HOST_EVENT = next(spec.name for spec in _SPECS if spec.hooks_only)


def own_tool(tool_name: str) -> ToolSpec | None:
    """Which of our tools a client called: it puts its own name of the server before the tool's."""
    found = TOOLS.get(tool_name.rsplit("__", 1)[-1])
    if found is None and "palimpsest_" in tool_name:  # opencode and Gemini CLI join by one line
        found = TOOLS.get(tool_name.rsplit("palimpsest_", 1)[-1])
    return found


PORT = 8321
PATH = "/mcp"
HEALTH = "/health"
LIVE = "/live"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What `serve --http` was told. Picklable: each worker is given one."""

    address: str = "127.0.0.1"
    """A name or an IP address of this machine, without brackets."""
    port: int = PORT
    """0: any that is free."""
    tokens: str = ""
    """Path of the file of tokens; empty: none."""
    issuer: str = ""
    """URL of the authorization server whose access tokens are taken; empty: none."""
    public_url: str = ""
    """The URL under which clients reach `/mcp`; needed with `issuer`, as the audience of its tokens."""
    scopes: tuple[str, ...] = ()
    """What a token of the issuer must allow."""
    hosts: tuple[str, ...] = ()
    """Further values of the Host header that are answered; `name:*` for any port."""
    origins: tuple[str, ...] = ()
    """Further values of the Origin header that are answered; a page elsewhere is refused."""
    workers: int = 1
    """Processes. With more than one, the older protocol has no sessions of its own (docs/tools.md)."""
    rate: float = 0.0
    """Requests a second and caller, in the long run; 0: no limit."""
    time_limit_s: float = 300.0
    """A call that takes longer is cancelled, and answered by that."""
    max_body: int = 16 << 20
    """Bytes of a request."""
    tls_cert: str = ""
    tls_key: str = ""
    drain_s: float = 0.0
    """So long after SIGTERM it goes on answering, and says at `/health` that it ends: a balancer sends no more."""

    @property
    def has_tokens(self) -> bool:
        """Whether a caller has to show who it is."""
        return bool(self.tokens or self.issuer)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.address)

    def url(self, port: int) -> str:
        """Where a client on this machine finds it."""
        name = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.tls_cert else 'http'}://{name}:{port}{PATH}"


def is_loopback(name: str) -> bool:
    """Whether a host name or address can only be this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False

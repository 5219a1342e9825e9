"""Seam to hosts: what comes in as messages or a transcript, and goes out in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from ..models.items import Content, Item

Form: TypeAlias = Literal["anthropic", "openai", "claude-code"]


class HostUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the host's last main-chain answer reported. None is unknown, never 0."""

    used_tokens: int | None
    """Input + cache creation + cache read + output."""
    model: str = ""
    row: int = -1
    """Row of that answer: items of later rows come on top."""


class HostContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context as a host shows it: items in order, tokens not yet counted."""

    form: Form
    items: tuple[Item, ...]
    """In the host's order. Ids are unique; `unit`, `action`, `kind` by position and tool are set, `tokens` is 0."""
    open_units: frozenset[str] = frozenset()
    """Units of the newest turn in which a call still waits for its result."""
    messages: tuple[Any, ...]
    """The message list that `render` works on: the input itself, or the one a transcript stands for."""
    usage: HostUsage | None = None
    host: str = ""
    session_id: str = ""
    """The host's own id of the session, when it names one."""
    model: str = ""
    project: str = ""
    system_text: str = ""
    """The system prompt where the input has one beside the messages; counted, never replaced."""
    gone_why: str = ""
    """`host_compaction` when the host compacted what came before, else empty."""
    warnings: tuple[str, ...] = ()


class HostTranscript(Protocol):
    """Reads one form of session and writes message lists in it. Pure: no files."""

    @property
    def form(self) -> Form: ...

    def fits(self, value: Any) -> bool:
        """Whether the parsed JSON looks like this form."""
        ...

    def parse(self, value: Any) -> HostContext:
        """Read a session.

        Raises:
            FileWrongShape: it names the first value that does not fit.
        """
        ...

    def render(self, context: HostContext, contents: Mapping[str, Content]) -> list[Any]:
        """The message list with the content of the named items changed: their own block only, everything else is the
        very same object. A string put in the place of a list of blocks becomes one text block."""
        ...

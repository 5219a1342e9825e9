"""What a handoff takes from a session beside its anchored summary: found by code, word for word, redacted."""

from __future__ import annotations

import msgspec


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something that user or agent said."""

    message: int
    """Which message of the session, from 1."""
    text: str
    """One line, verbatim but for what was cut off at its end."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The newest run of a command that checks something."""

    command: str
    failed: bool | None
    """None: the output does not say."""
    line: str
    """The line that says so."""
    message: int = 0
    """Which message of the session called it, from 1."""


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Every list: newest last."""

    first: Said | None = None
    """The first request."""
    requests: tuple[Said, ...] = ()
    """Of the user; short answers such as "ok" are none, unless there is nothing else."""
    wishes: tuple[Said, ...] = ()
    """Sentences of the user that say how it is wanted, or must not be."""
    reports: tuple[Said, ...] = ()
    """Longer messages of the agent."""
    questions: tuple[str, ...] = ()
    """Of the agent, that nobody answered."""
    unanswered: bool = False
    """The user said something that the agent did not answer."""
    lines: dict[str, str] = {}
    """Path -> where it was edited, else where it was read: `803-864, 1055-1114`, as the session last saw the file."""
    changed: tuple[str, ...] = ()
    """Files that editing tools changed, the one changed last at the end."""
    read: tuple[str, ...] = ()
    """Files and pages that were read and not changed."""
    runs: tuple[Ran, ...] = ()
    finished: tuple[str, ...] = ()
    """Todos that are done."""
    activity: tuple[str, ...] = ()
    """The newest calls, with a line of their results."""
    agents: tuple[str, ...] = ()
    """Other agents that were started, with what they were asked."""
    skills: tuple[str, ...] = ()
    items: int = 0


__all__ = ["Ran", "Said", "SessionFacts"]

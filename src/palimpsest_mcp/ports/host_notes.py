"""What the hooks of a host need to know at once, before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class HostNotes(Protocol):
    """Small notes about the sessions of a host: a cache and a log, which may be lost. Calls block, shortly.

    They belong to the machine that the host runs on. A store that is elsewhere keeps them in files
    (`store.host_files.HostFiles`), which a hook reads without opening it.
    """

    def keep_start(self, session_id: str, start: Mapping[str, Any]) -> None:
        """Keep what the next SessionStart of a session is to say."""
        ...

    def start_of(self, session_id: str) -> dict[str, Any]:
        """What was kept; empty where nothing was."""
        ...

    def is_known(self, session_id: str) -> bool:
        """Whether the store has anything of a session."""
        ...

    def note_ended(self, client: str, session_id: str) -> None:
        """A client left a session for a new one: the next that begins in the same client follows it (L14)."""
        ...

    def take_ended(self, client: str) -> str:
        """The session that a client just left; said once."""
        ...

    def link(self, session_id: str, parent: str) -> None:
        """A session follows another."""
        ...

    def parent_of(self, session_id: str) -> str:
        """Which session it follows; empty for none."""
        ...

    def sweep(self) -> None:
        """Remove links that nobody asked for in a month."""
        ...

    def note_trouble(self, event: str, code: str, text: str) -> None:
        """Keep why a hook answered nothing. Never raises: it must not break the hook a second time."""
        ...

    def troubles(self) -> list[dict[str, Any]]:
        """The newest reasons why a hook answered nothing, oldest first: `ts` (seconds), `event`, `code`, `text`."""
        ...


__all__ = ["HostNotes"]

"""The library's one method for the hooks of a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..services.claude_code.events import HostEvents


class HostMethods:
    """What a client to which Palimpsest is attached may ask."""

    _host_events: HostEvents

    async def host_event(self, event: str, payload: Mapping[str, Any] | str) -> str:
        """Answer one event of Claude Code's hooks or of the plugin's module, as `docs/claude-code.md` lists them.

        Args:
            event: the hook's name, `session.compact` or `turn.complete`.
            payload: what the hook was given, as an object or as its JSON text.

        Returns:
            One text: a hook's output, plain instructions, or JSON for the module; empty where there is nothing to say.
            It never raises: what goes wrong is kept for `doctor`.
        """
        return await self._host_events.handle(event, payload)

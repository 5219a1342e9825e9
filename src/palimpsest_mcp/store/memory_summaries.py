"""Summaries in memory, as the bytes that a disk would hold."""

from __future__ import annotations

from ..errors import SummaryChanged
from ..models.events import SessionKey
from ..models.purges import Forgotten
from ..models.summaries import AnchoredSummary
from ..ports.summaries import StoredSummary
from .names import folder_name
from .other_files import masked_text
from .summary_bytes import decoded, encoded, version_of


class MemorySummaries:
    """See `ports.summaries.Summaries`. One event loop; nothing survives the process."""

    def __init__(self) -> None:
        self._kept: dict[SessionKey, bytes] = {}

    async def get(self, key: SessionKey) -> StoredSummary:
        folder_name(key)  # refuses what is no id
        return decoded(self._kept.get(key))

    async def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        folder_name(key)
        data = encoded(summary)
        if version_of(self._kept.get(key)) != after:
            raise SummaryChanged(
                "The session's summary was changed since it was read.", next="Read it again and merge anew."
            )
        self._kept[key] = data
        return version_of(data)

    def forget(self, key: SessionKey, gone: Forgotten) -> tuple[str, ...]:
        """Take out what has to go."""
        data = self._kept.get(key)
        if data is None:
            return ()
        text = data.decode()
        masked = text if gone.mask is None else masked_text(text, gone.mask)
        if gone.whole:
            del self._kept[key]
        elif masked == text:
            return ()
        else:
            self._kept[key] = masked.encode()
        return ("summary",)

    def everything(self) -> bytes:
        """All that is kept."""
        return b"\n".join(self._kept.values())

    async def list(self, principal: str = "") -> tuple[str, ...]:
        return tuple(sorted(key.session_id for key in self._kept if key.principal == principal))

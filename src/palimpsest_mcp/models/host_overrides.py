"""What a user set about the host's own compaction."""

from __future__ import annotations

import msgspec


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

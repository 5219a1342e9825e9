"""The figures of the page: each with the command that prints the same number, what it counts, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

Unit = Literal["tokens", "bytes", "share", "count", "text", "per hundred"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number on the page."""

    label: str
    path: str
    """Where it stands in the answer of `command`, keys joined by dots."""
    unit: Unit
    command: Literal["status", "list", "show"]
    """Which `--json` prints it; `list` and `show` of the session."""
    source: str
    """What it is counted from."""
    sign: Literal["", "+", "-", "="] = ""
    """Its part in a sum: those with `+`, less those with `-`, are the one with `=`."""


LEDGER = "counted from the ledger"
STORE = (
    Figure(label="offloaded", path="tokens_offloaded", unit="tokens", command="status", source=LEDGER, sign="+"),
    Figure(
        label="digests in their place", path="tokens_digests", unit="tokens", command="status", source=LEDGER, sign="-"
    ),
    Figure(label="restored", path="tokens_restored", unit="tokens", command="status", source=LEDGER, sign="-"),
    Figure(label="read again", path="tokens_read_again", unit="tokens", command="status", source=LEDGER, sign="-"),
    Figure(
        label="our own tool list",
        path="standing_tokens",
        unit="tokens",
        command="status",
        source="its size, once for each session over MCP",
        sign="-",
    ),
    Figure(label="net saved", path="net_saved_tokens", unit="tokens", command="status", source=LEDGER, sign="="),
    Figure(label="sessions", path="sessions", unit="count", command="status", source="folders of the store"),
    Figure(label="batches", path="batches", unit="count", command="status", source=LEDGER),
    Figure(label="on disk", path="disk_bytes", unit="bytes", command="status", source="sizes of the store's files"),
    Figure(label="results offloaded", path="results_offloaded", unit="count", command="status", source=LEDGER),
    Figure(label="of them restored", path="results_restored", unit="count", command="status", source=LEDGER),
)
"""Of the whole store."""
SESSION = (
    Figure(label="offloaded", path="saved.offloaded", unit="tokens", command="list", source=LEDGER, sign="+"),
    Figure(
        label="digests in their place", path="saved.digests", unit="tokens", command="list", source=LEDGER, sign="-"
    ),
    Figure(label="restored", path="saved.restored", unit="tokens", command="list", source=LEDGER, sign="-"),
    Figure(label="read again", path="saved.read_again", unit="tokens", command="list", source=LEDGER, sign="-"),
    Figure(label="net saved", path="saved.net", unit="tokens", command="list", source=LEDGER, sign="="),
    Figure(label="used", path="usage.used.value", unit="tokens", command="show", source="usage.used.source"),
    Figure(
        label="window",
        path="usage.effective_window.value",
        unit="tokens",
        command="show",
        source="usage.effective_window.source",
    ),
    Figure(label="full", path="usage.ratio", unit="share", command="show", source="used / window"),
    Figure(
        label="with every digest applied",
        path="usage.compacted_view_tokens",
        unit="tokens",
        command="show",
        source="our own view of the session",
    ),
    Figure(label="results offloaded", path="saved.results", unit="count", command="list", source=LEDGER),
    Figure(label="of them restored", path="saved.restored_results", unit="count", command="list", source=LEDGER),
)
"""Of one session."""


def with_values(figures: tuple[Figure, ...], answers: Mapping[str, Any], scope: str) -> list[dict[str, Any]]:
    """The figures with their values.

    Args:
        answers: command -> what its `--json` prints.
        scope: of what they are, in words.
    """
    return [
        {
            **msgspec.to_builtins(one),
            "value": at(answers[one.command], one.path),
            "source": str(at(answers[one.command], one.source)) if one.source.startswith("usage.") else one.source,
            "scope": scope,
        }
        for one in figures
    ]


def at(value: Any, path: str) -> Any:
    """What stands under keys joined by dots; None where a key is missing or stands under nothing."""
    for key in path.split("."):
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value

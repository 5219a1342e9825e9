"""`doctor --bundle`: what a bug report needs, and nothing that is anybody's: no text, no name, no id, no path."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import PalimpsestError
from .face import Face
from .screen import Check

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest

_KINDS = ("ledger", "offloaded", "summary", "purged", "offload_", "rev", "memory", "secret", "VERSION", "index")
_PLAIN = re.compile(r"[A-Za-z_]{1,40}")


def bundle(face: Face, checks: Sequence[Check]) -> dict[str, Any]:
    """Versions, states, counts. What could not be found out says why by its code alone."""
    from importlib.metadata import version

    from ..settings.settings import Settings

    made: dict[str, Any] = {
        "bundle": 1,
        "versions": {name: version(name) for name in ("palimpsest-mcp", "mcp", "msgspec", "pydantic", "click")},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "checks": {check.name: check.state for check in checks},
    }
    try:
        rows = Settings.load(home=face.home).explain()
        made["settings"] = {key: _source(source) for key, _, source in rows if not source.startswith("preset")}
        made["store"] = face.ask(_store, make=False)
    except PalimpsestError as error:
        made["error"] = error.code
    return made


def _source(source: str) -> str:
    return source if source in ("default", "argument") else "environment" if source.startswith("env") else "file"


async def _store(facade: Palimpsest) -> dict[str, Any]:
    status, report = await facade.status(), await facade.verify()
    troubles = Counter(
        f"{_word(one.get('event'))} {_word(one.get('code'))}" for one in facade.store.host_notes.troubles()
    )
    return {
        "sessions": status.sessions,
        "batches": status.batches,
        "bytes": {
            "all": status.disk_bytes,
            "ledger": status.ledger_bytes,
            "archive": status.archive_bytes,
            "index": status.index_bytes,
        },
        "largest_session_bytes": [row["bytes"] for row in status.largest],
        "checked": {"events": report.events, "records": report.records, "originals": report.items},
        "findings": dict(Counter(f"{one.severity} {_kind(one.where)}" for one in report.findings)),
        "troubles": dict(troubles),
    }


def _kind(where: str) -> str:
    return next((kind for kind in _KINDS if kind in where), "other")


def _word(value: object) -> str:
    """A name of ours; anything else only says that it was something else."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else "other"

"""JSON schemas of the format on disk, made from the models.

python -m palimpsest_mcp.testing.schemas docs/schemas       writes them
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from ..models.events import Event, SessionInfo
from ..models.records import OffloadRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES: dict[str, tuple[Any, str]] = {
    "event": (Event, "One line of session/<id>/ledger/*.jsonl"),
    "record": (OffloadRecord, "One line of session/<id>/offloaded/*.jsonl"),
    "session": (SessionInfo, "session/<id>/session.json"),
}
_ENDING = {
    "_m": {"description": "The next line belongs to the same step: readers take both or neither.", "const": 1},
    "_c": {"description": 'CRC-32 of the line\'s bytes before `,"_c"`.', "type": "string", "pattern": "^[0-9a-f]{8}$"},
}


def schema(name: str) -> str:
    """The schema of `event`, `record` or `session`, as JSON text. Unknown members are allowed: later ones add some."""
    type, title = TYPES[name]
    made: dict[str, Any] = msgspec.json.schema(type)
    defs = made.pop("$defs")
    whole: dict[str, Any] = {
        "$schema": DIALECT,
        "title": title,
        "allOf": [made, {"type": "object", "properties": _ENDING, "required": ["_c"]}],
        "$defs": defs,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Write all of them as `<name>.schema.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TYPES:
        (folder / f"{name}.schema.json").write_text(schema(name), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))

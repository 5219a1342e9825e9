"""A short session with something to ask of every type, what must be asked of it, and a perfect copy of it to damage.

What is expected stands here as it was written into the raw tool inputs and messages: nothing of ours made it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.probes.answers import Original
from palimpsest_mcp.models.items import Item, content_text
from palimpsest_mcp.models.probes import ProbeType

LISTING = "total 3\n/srv/etl/parts/2026-11-03.csv\n/srv/etl/parts/2026-11-04.csv\n/srv/etl/parts/README.txt\n"
FAILED_RUN = (
    "collected 14 items\nE   psycopg.errors.UniqueViolation: duplicate key in /srv/etl/parts/2026-11-03.csv\n"
    "psycopg.errors.DuplicateKeyError: row 90417 is there already\n2 failed, 12 passed in 4.10s\n"
)
STEPS: list[tuple[str, str, dict[str, Any], str]] = [
    ("read_1", "Read", {"file_path": "etl/load.py"}, "def load(rows):\n    put(x)  # /srv/etl/parts/2026-11-03.csv\n"),
    ("list_1", "Bash", {"command": "ls -l /srv/etl/parts"}, LISTING),
    ("first_1", "Bash", {"command": "pytest -q tests/test_old.py"}, "collected 9 items\n9 passed in 1.02s\n"),
    ("edit_1", "Edit", {"file_path": "etl/Upsert.py", "old_string": "insert", "new_string": "upsert"}, "edited"),
    ("fail_1", "Bash", {"command": "pytest -q tests/test_load.py"}, FAILED_RUN),
    (
        "todo_1",
        "TodoWrite",
        {"todos": [
            {"content": "Skip rows with a known id", "status": "completed"},
            {"content": "Load two parts of one night", "status": "pending"},
        ]},
        "ok",
    ),
    ("check_1", "Bash", {"command": "ruff check etl"}, "All checks passed!\n"),
    ("who_1", "Bash", {"command": "./who.sh"}, "ticket: HL-9041\n"),
    ("last_1", "Bash", {"command": "pytest -q tests/test_new.py"}, "collected 21 items\n21 passed in 3.77s\n"),
]  # fmt: skip

EXPECTED: Mapping[ProbeType, tuple[str, ...]] = {
    "intent": ("etl/load.py", "ETL-204"),
    "file_path": ("etl/load.py",),
    "file_changes": ("etl/Upsert.py",),
    "decision": ("on_conflict_skip",),
    "rationale": ("PostgreSQL", "v16.4"),
    "error": ("psycopg.errors.DuplicateKeyError",),
    "resolution": ("9 passed",),
    "blocker": ("acme_old",),
    "progress": ("Skip rows with a known id",),
    "next_steps": ("Load two parts of one night",),
    "recall": ("/srv/etl/parts/2026-11-03.csv",),
    "outcome": ("All checks passed!",),
    "owner": ("HL-9041", "ticket"),
    "standing_order": ("Never drop a table of the night import.",),
}
"""Type -> one probe that must be among those of the type."""


def messages() -> list[dict[str, Any]]:
    """The session as a host gives it."""
    said: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": "Make the import in etl/load.py survive double rows, see ETL-204.\n"
            "Never drop a table of the night import.",
        }
    ]
    for name, tool, args, printed in STEPS:
        said.append({"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": tool, "input": args}]})
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": printed}]})
    said.append(
        {
            "role": "assistant",
            "content": "I decided to use `on_conflict_skip` because PostgreSQL in v16.4 locks the table.\n"
            "May the rows of tenant `acme_old` be deleted?",
        }
    )
    return said


def originals(given: list[dict[str, Any]] | None = None, *, forgotten: frozenset[str] = frozenset()) -> list[Original]:
    """Every item of a session; all of them leave."""
    items = parse_value(given or messages()).items
    return [
        Original(item=item, text=_text(item), leaves=True, forgotten=item.id in forgotten)
        for item in items
        if item.kind != "thinking"
    ]


def _text(item: Item) -> str:
    """As a model reads it: strings, not the JSON around them."""
    if item.kind != "tool_call":
        return content_text(item.content)
    found: list[str] = [item.tool_name]
    json.loads(
        json.dumps(item.args), object_hook=lambda one: found.extend(v for v in one.values() if isinstance(v, str))
    )
    return "\n".join(found)


def whole(given: list[Original]) -> dict[str, str]:
    """A digest that lost nothing: item -> its own text."""
    return {one.item.id: one.text for one in given}


def without(passages: Mapping[str, str], value: str) -> dict[str, str]:
    """The same digest, damaged: a value stands nowhere any more, only a near one."""
    return {name: text.replace(value, value[:-1] + "~") for name, text in passages.items()}

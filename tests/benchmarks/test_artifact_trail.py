"""Files and commands of the shared coding sessions can still be told after a pass; and the measure itself can fail.

Expected values come from the raw inputs of the calls, by the benchmark's own code.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from artifact_trail import SESSIONS, compacted, distractor, measured, messages_of, shares, strings, told, trail_of

from ..conftest import LONG, first_of

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "artifact_trail.py"


@pytest.mark.long
@pytest.mark.anyio
@pytest.mark.shared
# The first ones take ten seconds each.
@pytest.mark.parametrize(("source", "line"), first_of(SESSIONS if LONG else SESSIONS[2:]))
async def test_files_and_commands_can_be_told_at_80_percent_saved(
    shared: Path, monkeypatch: pytest.MonkeyPatch, source: str, line: int
) -> None:
    monkeypatch.setenv("TEST_SHARED", str(shared))
    one = await measured(source, line, 0.2)
    assert one.saved.replaced >= 0.80
    assert one.share >= 0.98, one.stays
    assert one.taken[0] == 0 < one.taken[1], "near values must not be found"
    assert all(found == asked for kind, (found, asked) in one.summary.items() if kind in ("written", "changed"))


@pytest.mark.anyio
@pytest.mark.shared
async def test_a_digest_that_lost_a_file_is_found_out(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SHARED", str(shared))
    messages = messages_of("spotter", 1)
    trail = trail_of(messages)
    after, _ = await compacted(messages, 0.2)
    lost = next(iter(trail.found["read"]))
    text = "\n".join(strings(after))
    assert told(lost, text)
    assert shares(trail, text.replace(lost, distractor(lost)))["read"][0] < len(trail.found["read"])


def test_the_trail_is_what_the_raw_inputs_name() -> None:
    def call(name: str, **given: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": name, "input": given}]}

    trail = trail_of(
        [
            call("Read", file_path="a/b.py"),
            call("write", path="c.txt"),
            call("Edit", file_path="d.ts"),
            call("Bash", command="ls -l"),
        ]
    )
    assert {kind: list(found) for kind, found in trail.found.items()} == {
        "read": ["a/b.py"],
        "written": ["c.txt"],
        "changed": ["d.ts"],
        "run": ["ls -l"],
    }


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("src/a.py", "see src/a.py.", True),
        ("src/a.py", "see lib/src/a.py", False),
        ("src/a.py", "see src/a.pyc", False),
        ("src/a.py", "see src/a.py.orig", False),
        ("src/a.py", "SRC/A.PY", False),
    ],
)
def test_a_value_is_told_only_where_it_stands_whole(value: str, text: str, found: bool) -> None:
    assert told(value, text) is found


def test_only_the_entry_and_a_counter_are_ours() -> None:
    imported = {
        node.module or ""
        for node in ast.walk(ast.parse(SCRIPT.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("palimpsest_mcp")
    }
    assert imported == {"palimpsest_mcp.core.palimpsest", "palimpsest_mcp.text.tokens.count"}

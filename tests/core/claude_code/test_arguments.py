"""Arguments of calls in a running client: they give way in place, and no note gets into a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from palimpsest_mcp.context.arguments import BEGIN
from palimpsest_mcp.core.palimpsest import Palimpsest

from .conftest import FakeClient

pytestmark = pytest.mark.anyio
Open = Callable[..., FakeClient]


def source(n: int) -> str:
    return "".join(f"def step_{n}_{line}() -> int:\n    return {line}\n" for line in range(150))


def long_session(c: FakeClient, calls: int = 12) -> None:
    c.say("Write the steps.")
    for n in range(calls):
        c.answer("", (f"toolu_{n:03d}", "Write", {"file_path": f"/p/step_{n}.py", "content": source(n)}), used=175_000)
        c.result(f"toolu_{n:03d}", "File created successfully")


async def decision(c: FakeClient, tool: str, **tool_input: Any) -> dict[str, Any]:
    said = await c.hook("PreToolUse", tool_name=tool, tool_use_id="toolu_new", tool_input=tool_input)
    return json.loads(said)["hookSpecificOutput"] if said else {}


async def test_old_arguments_give_way_in_place_and_are_known_again(p: Palimpsest, client: Open) -> None:
    c = client()
    long_session(c)
    answer = await c.compact("auto")
    assert answer["apply"] and answer["saved_tokens"] > 0
    assert answer["inputs"]["toolu_000"]["file_path"] == "/p/step_0.py"
    assert answer["inputs"]["toolu_000"]["content"].startswith(BEGIN)
    assert "toolu_011" not in answer["inputs"], "the newest calls stay whole"
    c.apply(answer["results"], answer["inputs"])
    again = await c.compact("manual")
    assert again["inputs"].keys() >= answer["inputs"].keys()
    assert all(again["inputs"][name] == told for name, told in answer["inputs"].items())


@pytest.mark.parametrize(
    ("tool", "field"),
    [("Write", "content"), ("Edit", "new_string"), ("Bash", "command"), ("mcp__fs__write_file", "text")],
)
async def test_a_call_that_would_write_a_note_is_refused(p: Palimpsest, client: Open, tool: str, field: str) -> None:
    c = client()
    long_session(c)
    note = (await c.compact("auto"))["inputs"]["toolu_000"]["content"]
    said = await decision(c, tool, **{"file_path": "/p/new.py", field: f"import re\n{note}\n"})
    assert said["permissionDecision"] == "deny"
    assert "is not that text" in said["permissionDecisionReason"]
    assert "restore_batch" in said["permissionDecisionReason"]


async def test_a_command_that_wrote_a_note_unseen_is_told_to_the_model(p: Palimpsest, client: Open) -> None:
    """Where the client runs no module, it does not show us what stands in a quoted here-document."""
    c = client()
    long_session(c)
    note = (await c.compact("auto"))["inputs"]["toolu_000"]["content"]
    said = await c.bash("toolu_note", f"cat > /p/new.py <<'EOF'\n{note}\nEOF", "")
    assert "mend what it wrote" in json.loads(said)["hookSpecificOutput"]["additionalContext"]
    assert await c.bash("toolu_none", "cat /p/new.py", "") == ""


async def test_a_call_that_would_write_a_digest_is_refused(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    for n in range(18):
        lines = "\n".join(f"2026-03-01 worker-{n}-{line} wrote /out/{n}/{line}.csv" for line in range(80))
        await c.bash(f"toolu_{n:03d}", f"./check.sh {n}", lines, used=175_000)
    digest = next(iter((await c.compact("auto"))["results"].values()))
    assert (await decision(c, "Write", file_path="/p/a.txt", content=digest))["permissionDecision"] == "deny"


async def test_what_only_looks_like_a_note_and_a_note_that_is_taken_out_may_be_written(
    p: Palimpsest, client: Open
) -> None:
    c = client()
    long_session(c)
    note = (await c.compact("auto"))["inputs"]["toolu_000"]["content"]
    other = f"{BEGIN}3 lines, 9 characters, sha256 0123456789ab]"
    assert await decision(c, "Write", file_path="/p/a.md", content=other) == {}
    assert await decision(c, "Write", file_path="/p/a.md", content="see restore_batch s1 offload_0001") == {}
    assert await decision(c, "Edit", file_path="/p/a.md", old_string=note, new_string="") == {}

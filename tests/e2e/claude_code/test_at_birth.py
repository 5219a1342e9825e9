"""Replacement at birth with the real client: what it would cut enters as a digest, everything else as it is."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp import Palimpsest

from .driver import Client, Run
from .fake_messages import Reply, all_faults, bash, call, say
from .texts_server import PIXEL, text

LONG = 60_000
ALLOW = "mcp__texts__*"
PRINT = "import sys; sys.path.insert(0, {folder!r})\nimport texts_server\nprint(texts_server.text({characters}))\n"


@pytest.fixture
def born(client: Client) -> Client:
    """A user with a server of somebody else's."""
    server = {"type": "stdio", "command": sys.executable, "args": [str(Path(__file__).with_name("texts_server.py"))]}
    (client.folder / "servers.json").write_text(json.dumps({"mcpServers": {"texts": server}}), "utf-8")
    (client.project / "app.log").write_text(text(LONG) + "\n", "utf-8")
    (client.project / "app.py").write_text(text(LONG), "utf-8")
    (client.project / "notes.txt").write_text(text(LONG), "utf-8")
    (client.project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    return client


def play(user: Client, *turns: Reply) -> tuple[Run, list[str]]:
    """The run, and the results of its last request in the order of their calls."""
    flags = ("--mcp-config", str(user.folder / "servers.json"), "--allowedTools", f"Bash Read Edit {ALLOW}")
    run = user.run("go", *flags, turns=[*turns, say("end")])
    assert run.said == "end", run.stderr
    assert not all_faults(run.requests)
    return run, list(run.requests[-1].results.values())


def originals(user: Client, run: Run) -> list[str]:
    """Every original in the archive, by batch, exactly."""

    async def read() -> list[str]:
        async with Palimpsest.open(user.store) as palimpsest:
            batches = await palimpsest.list_offloaded(run.session_id)
            assert {batch.reason for batch in batches} <= {"at_birth"}
            return [
                (await palimpsest.restore(run.session_id, batch.batch_id, noted=False)).data.decode()
                for batch in batches
            ]

    return asyncio.run(read())


def file(user: Client, name: str) -> str:
    return str(user.project / name)


def test_long_results_of_mcp_bash_and_read_enter_as_digests_and_come_back_exactly(born: Client) -> None:
    (born.project / "print.py").write_text(PRINT.format(folder=str(Path(__file__).parent), characters=LONG), "utf-8")
    run, results = play(
        born,
        call("mcp__texts__lines", characters=LONG),
        bash(f"{sys.executable} print.py"),
        call("Read", file_path=file(born, "app.log")),
        call("mcp__texts__lines", characters=100_000),
    )
    assert len(results) == 4
    for number, shown in enumerate(results, 1):
        assert f"offload_{number:04d}" in shown
        assert "restore_batch" in shown
        assert "<persisted-output>" not in shown
        assert "exceeds maximum" not in shown
        assert len(shown) < LONG / 2
    assert originals(born, run) == [text(LONG), text(LONG) + "\n", text(LONG) + "\n", text(100_000)]
    rows = [
        row
        for row in born.rows(run.session_id)
        if row["type"] == "user" and isinstance(row["message"]["content"], list)
    ]
    told = [block["content"] for row in rows for block in row["message"]["content"] if block["type"] == "tool_result"]
    assert [one if isinstance(one, str) else one[0]["text"] for one in told] == results
    assert not any(text(LONG)[30_000:31_000] in json.dumps(row) for row in rows)
    assert results[2].startswith("1\t[")
    assert "digest's own" in run.requests[-1].text

    handle = json.loads(born.palimpsest("--json", "show", run.session_id).stdout)["handle"]
    again = born.run(
        "more",
        "--resume",
        run.session_id,
        turns=[
            call("mcp__plugin_palimpsest_server__restore_batch", session_id=handle, batch_id="offload_0001"),
            say("end"),
        ],
    )
    restored = list(again.requests[-1].results.values())[-1]
    assert text(LONG)[:28_000] in restored


@pytest.mark.long
def test_short_results_errors_binaries_and_files_to_edit_enter_as_they_are(born: Client) -> None:
    """Switched off, every result enters as here: the client's own cuts are its own."""
    edit: dict[str, Any] = {"old_string": "req-00000", "new_string": "req-first"}
    run, results = play(
        born,
        call("mcp__texts__lines", characters=25_000),
        bash("seq 1 3000"),
        bash("head -c 60000 /dev/urandom"),
        bash("echo bad; seq 1 20000; exit 3"),
        call("mcp__texts__refuse"),
        call("mcp__texts__picture"),
        call("Read", file_path=file(born, "pixel.png")),
        call("Read", file_path=file(born, "app.py")),
        call("Read", file_path=file(born, "notes.txt"), limit=5),
        call("Edit", file_path=file(born, "notes.txt"), **edit),
        call("Read", file_path=file(born, "notes.txt")),
    )
    assert len(results) == 11
    assert not any("[palimpsest" in shown for shown in results)
    assert results[0] == text(25_000)
    assert results[-1].startswith("1\t2026-11-20T10:00:00Z req-first")
    assert originals(born, run) == []


@pytest.mark.long
def test_nothing_is_replaced_where_the_user_switched_it_off(born: Client) -> None:
    born.environment["PALIMPSEST_AT_BIRTH"] = "false"
    run, (shown,) = play(born, call("mcp__texts__lines", characters=LONG))
    assert "<persisted-output>" in shown
    assert originals(born, run) == []


@pytest.mark.long
def test_the_users_own_threshold_counts(born: Client) -> None:
    born.environment["PALIMPSEST_AT_BIRTH_TOKENS"] = "3000"
    run, (small, large) = play(born, bash("seq 1 50"), call("mcp__texts__lines", characters=20_000))
    assert small == "\n".join(map(str, range(1, 51)))
    assert "offload_0001" in large
    assert originals(born, run) == [text(20_000)]

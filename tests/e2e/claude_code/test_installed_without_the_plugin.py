"""`install claude-code` for people without the plugin: the real client finds server, hooks and status line, and loses
them again."""

from __future__ import annotations

import json

import pytest

from .driver import OVER_TRIGGER, Client
from .fake_messages import Reply, all_faults, bash, call, say

pytestmark = pytest.mark.long

ALLOW = ("--allowedTools", "Bash mcp__palimpsest__*")


def test_hooks_and_tools_work_under_the_plain_name(client: Client) -> None:
    client.plugin = None
    done = client.palimpsest("install", "claude-code")
    assert done.returncode == 0, done.stderr
    assert "palimpsest" in client.offline("mcp", "list").stdout
    noise = "for i in $(seq 1 80); do echo row $i of {0} took $((i*7)) ms; done"
    turns: list[Reply] = [
        *(bash(noise.format(n)) for n in range(4)),
        call("mcp__palimpsest__check_context_ratio"),
        say("end"),
    ]
    run = client.run("go", *ALLOW, turns=turns)
    assert run.said == "end", run.stderr
    assert not all_faults(run.requests)
    ratio = list(run.requests[-1].results.values())[-1]
    assert "error" not in ratio.lower(), ratio
    shown = json.loads(client.palimpsest("--json", "show", run.session_id).stdout)
    assert sum(item["kind"] == "tool_result" for item in shown["items"]) >= 4


def test_the_clients_own_compaction_is_instructed_and_followed_by_the_catalogue(client: Client) -> None:
    client.plugin = None
    client.palimpsest("install", "claude-code")
    noise = "for i in $(seq 1 200); do echo row $i of {0} took $((i*7)) ms; done"
    turns = [*(bash(noise.format(n)) for n in range(8)), bash("echo last", used=OVER_TRIGGER), say("end", used=5_000)]
    run = client.run("go", *ALLOW, turns=turns)
    assert run.said == "end", run.stderr
    assert any(request.is_summary for request in run.requests)
    assert "restore_batch" in run.requests[-1].text
    batches = json.loads(client.palimpsest("--json", "list", run.session_id).stdout)["batches"]
    assert batches


def test_after_removal_the_client_is_as_it_was(client: Client) -> None:
    client.plugin = None
    before = json.loads((client.home / ".claude.json").read_bytes())
    client.palimpsest("install", "claude-code")
    client.palimpsest("install", "claude-code", "--remove")
    assert json.loads((client.home / ".claude.json").read_bytes()) == before
    assert not (client.home / ".claude" / "settings.json").exists()
    run = client.run("go", turns=[bash("echo one"), say("end")])
    assert run.said == "end"
    assert "palimpsest" not in client.offline("mcp", "list").stdout

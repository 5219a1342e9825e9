"""Where the client compacts by itself: what we work out is what it says of itself, and what it does."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from palimpsest_mcp.hosts.claude_code.settings import read_overrides
from palimpsest_mcp.text.tokens.windows import host_trigger

from ...conftest import first_of
from .driver import Client
from .fake_messages import Reply, bash, say

WINDOW, PERCENT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
OPUS = "claude-opus-5-5"


def asked(user: Client, model: str) -> dict[str, Any]:
    """What the client answers to a program that asks how its context is used."""
    requests = (
        {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}},
        {"type": "control_request", "request_id": "2", "request": {"subtype": "get_context_usage"}},
    )
    stream = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model", model)
    done = subprocess.run(
        user.command(*stream),
        cwd=user.project,
        env=user.variables,
        input="".join(json.dumps(one) + "\n" for one in requests),
        capture_output=True,
        text=True,
        timeout=90,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return next(one["response"]["response"] for one in answers if one.get("response", {}).get("request_id") == "2")


@pytest.mark.parametrize(
    ("model", "environment", "settings"),
    # A window from two places, an output limit, no compaction; then other models, and more of the same.
    first_of(
        [
            (OPUS, {WINDOW: "400000"}, {"env": {WINDOW: "300000"}}),
            (OPUS, {}, {"autoCompactWindow": 300_000}),
            (OPUS, {}, {"autoCompactEnabled": False}),
            (OPUS, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}, {}),
            ("some-model", {}, {}),
            ("claude-sonnet-4-5", {WINDOW: "150000"}, {}),
            (OPUS, {}, {}),
            (OPUS, {WINDOW: "200k"}, {}),
            (OPUS, {WINDOW: "50000"}, {}),
            (OPUS, {}, {"autoCompactWindow": 99_999}),
            (OPUS, {"DISABLE_AUTO_COMPACT": "1"}, {}),
            ("claude-opus-4-6", {}, {}),
        ],
    ),
)
def test_the_trigger_is_the_clients_own(
    client: Client, model: str, environment: dict[str, str], settings: dict[str, Any]
) -> None:
    client.plugin = None
    client.environment |= {WINDOW: "", **environment}
    client.settings(**settings)
    told = asked(client, model)
    ours = host_trigger(
        model, host="claude-code", overrides=read_overrides(client.variables, client.home, client.project)
    )
    assert ours is not None
    assert ours.tokens == told.get("autoCompactThreshold")
    assert ours.window == told["rawMaxTokens"]
    assert (ours.tokens is None) is not told["isAutoCompactEnabled"]


@pytest.mark.parametrize(
    ("model", "environment", "used", "compacts"),
    first_of(
        [
            (OPUS, {PERCENT: "12.5"}, 123_000, True),
            (OPUS, {PERCENT: "12.5"}, 121_000, False),
            ("claude-sonnet-4-5", {}, 175_000, False),
            ("claude-opus-4-5", {PERCENT: "50"}, 175_000, False),
            ("claude-opus-4-6[1m]", {}, 970_000, False),
        ],
    ),
)
def test_it_compacts_where_we_say_and_waits_where_we_say(
    client: Client, model: str, environment: dict[str, str], used: int, compacts: bool
) -> None:
    """What the client does not tell: percentages, and models with which it waits."""
    client.plugin = None
    client.environment |= {WINDOW: "", **environment}
    turns: list[Reply] = [bash("echo one; seq 1 200"), bash("echo two; seq 1 200", used=used), say("end")]
    run = client.run("go", "--model", model, turns=turns)
    overrides = read_overrides(client.variables, client.home, client.project)
    ours = host_trigger(model, host="claude-code", overrides=overrides)
    assert ours is not None
    assert (ours.tokens is not None and used >= ours.tokens) is compacts
    assert any(request.is_summary for request in run.requests) is compacts

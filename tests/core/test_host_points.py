"""Whether a host compacts by itself: one answer, for what is said and for what a pass does."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.host_table import HOSTS
from palimpsest_mcp.text.tokens.windows import host_trigger

pytestmark = pytest.mark.anyio
MODELS = ("claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5-20251001", "gpt-5.6-terra", "gemini-2.5-pro", "")


def calls(count: int = 12) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault."}]
    for n in range(count):
        call = {"tool_name": "Bash", "tool_use_id": f"call_{n}"}
        items.append({**call, "kind": "tool_call", "role": "assistant", "args": {"command": f"./check {n}"}})
        text = "\n".join(f"row {n}-{line}: part-{n}-{line}.csv took {line} ms" for line in range(60))
        items.append({**call, "kind": "tool_result", "role": "tool", "content": text})
    return items


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("host", sorted(HOSTS))
async def test_what_is_said_of_a_hosts_own_compaction_is_what_a_pass_goes_by(
    p: Palimpsest, host: str, model: str
) -> None:
    await p.record_items("s", calls(), host=host)
    usage = await p.check_context_ratio("s", model=model, used_tokens=150_000, window_tokens=200_000, host=host)
    trigger = host_trigger(model, host=host)
    assert trigger is not None and usage.host_compaction_point == trigger.words
    report = await p.compact_session("s", dry_run=True, host=host)
    stands_aside = "The host compacts by itself" in report.reason
    assert stands_aside is (usage.host_compacts is True), (usage.host_compaction_point, report.reason)
    assert not stands_aside or usage.host_compaction_point in report.reason, "the refusal shows the point"


async def test_another_client_that_asks_does_not_become_the_host(p: Palimpsest) -> None:
    await p.record_items("s", calls(), host="codex-mcp-client")
    first = await p.check_context_ratio("s", model="gpt-5.6-terra", host="codex-mcp-client")
    asked = await p.check_context_ratio("s", host="mcp-inspector")
    assert (asked.host, asked.effective_window, asked.host_compaction_point) == (
        first.host,
        first.effective_window,
        first.host_compaction_point,
    )


async def test_an_adapter_of_ours_is_named_at_the_point_in_every_answer(p: Palimpsest) -> None:
    attached = Palimpsest(p.deps, p.settings, attached="claude-code")
    await attached.record_items("s", calls(), host="claude-code")
    usage = await attached.check_context_ratio("s", model="claude-opus-5-5", host="claude-code")
    assert "967,000" in usage.host_compaction_point and "plugin then puts digests" in usage.host_compaction_point
    assert (await attached.show_context("s")).usage.host_compaction_point == usage.host_compaction_point
    report = await attached.compact_session("s", dry_run=True, host="claude-code")
    assert "stands aside" not in report.reason

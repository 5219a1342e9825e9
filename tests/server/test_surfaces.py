"""Whatever a tool answers, a planted secret is in none of it but the original that was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.server import build_server

from .conftest import begin

pytestmark = pytest.mark.anyio
CORE = "7Qz9XvB2mWc8"
SECRETS = tuple(f"ghp_{c}{CORE}RtY4nHp6LdJ3sGf5TbN1aV" + c for c in "abcdefghijklmnop")
"""One for each place."""
SESSION, TOOL, CALL, ITEM, TITLE, URL, BODY, CHANNEL, POLICY, QUERY, BATCH, ARGUMENT, TASK, MODEL, SKILL, NAME = SECRETS


def planted() -> list[dict[str, Any]]:
    """Twelve long results, each with a secret in every field that an item has."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "Why does the nightly job fail?"}]
    for number in range(12):
        call = {"tool_name": f"run-{TOOL}", "tool_use_id": f"{CALL}_{number}"}
        made.append({**call, "kind": "tool_call", "role": "assistant", "args": {"path": f"/{number}/{TITLE}"}})
        rows = "\n".join(f"row {row} of part-{number}-{row}.bin took {row}.{number} ms" for row in range(80))
        result = {"kind": "tool_result", "role": "tool", "content": f"{BODY}\n{rows}\n{BODY} zebra{number}"}
        more = {"title": f"log {TITLE}", "url": f"https://h.example/{URL}", "source_channel": CHANNEL}
        made.append({**call, **result, **more, "id": f"{ITEM}-{number}"})
    return made


async def test_no_answer_of_a_tool_holds_a_planted_secret_and_restore_is_exact(tmp_path: Path) -> None:
    said: list[str] = []

    async with Client(build_server(lambda: Palimpsest.open(tmp_path), version="t", warm=lambda: None)) as client:

        async def ask(tool: str, **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments)
            said.append(result.model_dump_json())
            return said[-1]

        session = f"task-{SESSION}"
        await begin(tmp_path, session)
        await ask("record_items", session_id=session, items=planted())
        for given in (session, f"x-{SESSION}", QUERY):
            await ask("check_context_ratio", session_id=given, used_tokens=150_000, model=MODEL, detail=True)
        await ask("check_context_ratio", session_id=session, transcript_path=f"/tmp/{ARGUMENT}.jsonl")
        await ask("compact_session", session_id=session, policy=POLICY)
        await ask("compact_session", session_id=session, window_tokens=200_000, dry_run=True, force=True, target=0.1)
        await ask("compact_session", session_id=session, plan_id=ARGUMENT, digests={ARGUMENT: ARGUMENT})
        made = await ask(
            "compact_session", session_id=session, window_tokens=20_000, force=True, target=0.2, focus=BODY
        )
        assert "compacted" in made or "target_not_reached" in made, made
        await ask("show_context", session_id=session, detail=True)
        await ask("show_context", session_id=session, pin=[ARGUMENT])
        await ask("show_context", session_id=session, pin=[f"{ITEM}-0"])
        await ask("list_offloaded", session_id=session)
        await ask("list_offloaded", session_id=session, batch_id="offload_0001")
        await ask("list_offloaded", session_id=session, batch_id=BATCH)
        await ask("list_offloaded", session_id=session, cursor=ARGUMENT)
        for query in (QUERY, TITLE, "zebra1", BODY, TOOL):
            await ask("search_offloaded", query=query, session_id=session)
            await ask("search_offloaded", query=query)
        await ask("search_offloaded", query="row", session_id=QUERY)
        await ask("restore_batch", session_id=session, batch_id=BATCH)
        await ask("restore_batch", session_id=session, batch_id="offload_0001", item_id=ARGUMENT)
        stated = {"decisions_made": [{"decision": f"Keep {ARGUMENT}", "rationale": "x"}], "next_steps": [f"try {TASK}"]}
        await ask("update_summary", session_id=session, sections=stated)
        await ask("update_summary", session_id=session, sections={ARGUMENT: [TASK]}, supersede=TASK)
        await ask("write_handoff", session_id=session, task=f"Mend {TASK}", phase="research")
        await ask("write_handoff", session_id=session, task="Mend the import", phase=ARGUMENT)
        await ask("load_handoff", task=TASK)
        await ask("load_handoff", task="Mend", section=ARGUMENT, project=f"/p/{ARGUMENT}")
        await ask("record_experience", skill=SKILL, event={"session_id": session, "outcome": "success"})
        await ask("compact_experience", skill=SKILL)
        await ask("restore_batch", session_id=session, batch_id="offload_0001", **{ARGUMENT: 1})
        await ask(f"tool-{NAME}")
        for name, arguments in (("resume", {"task": TASK}), ("handoff", {"task": TASK, "session_id": session})):
            said.append((await client.get_prompt(name, arguments)).model_dump_json())
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("resume", {ARGUMENT: "x"})
        said.append(str(caught.value))

        for answer in said:
            assert CORE not in answer, answer[:400]

        found = json.loads(await ask("list_offloaded", session_id=session, batch_id="offload_0001"))
        item = found["content"][0]["text"].partition("item_ids: ")[2].partition(",")[0]
        assert item.startswith("[redacted:")
        restored = await ask("restore_batch", session_id=session, batch_id="offload_0001", item_id=item)
        assert BODY in restored and ITEM not in restored and CALL not in restored
        masked = json.loads(said[0])["structured_content"]["session_id"]
        assert "[redacted:" in masked and SESSION not in masked
        assert BODY in await ask("restore_batch", session_id=masked, batch_id="offload_0001")

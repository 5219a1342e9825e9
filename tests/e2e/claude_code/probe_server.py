"""A server that stands in the plugin where ours would: it writes down what the client asks, and answers by a plan.

    probe_server.py FOLDER hook EVENT      the same for command hooks
    probe_server.py FOLDER serve …         an MCP server with the one tool that hooks call

`FOLDER/plan.json` has the answer to each event as text, `FOLDER/calls.jsonl` is what was asked. It shows what the
client does; what our server does is shown with our server.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
SILENT = "{}"


def answer(event: str, payload: Any) -> str:
    """Note the call; what the plan says."""
    variables = {name: value for name, value in os.environ.items() if name.startswith("CLAUDE_PLUGIN_")}
    with (FOLDER / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"event": event, "payload": payload, "environment": variables}) + "\n")
    plan = json.loads((FOLDER / "plan.json").read_text("utf-8"))
    return str(plan.get(f"{event} {_source(payload)}".strip(), plan.get(event, SILENT)))


def _source(payload: Any) -> str:
    """What distinguishes calls of one event: SessionStart has a source, tools have names."""
    return str(payload.get("source") or payload.get("tool_name") or "")


def serve() -> None:
    import anyio
    from mcp.server import MCPServer

    server: MCPServer[Any] = MCPServer("probe", instructions="PROBE-INSTRUCTIONS")

    @server.tool(structured_output=False, meta={"anthropic/maxResultSizeChars": 500_000})
    async def host_event(event: str, payload: dict[str, Any]) -> str:  # pyright: ignore[reportUnusedFunction]
        """For hooks only."""
        said = answer(event, payload)
        if said == "fail":
            raise ValueError("a probe that fails")
        if said == "hang":
            await anyio.sleep_forever()  # this call only: others are answered
        if said in {"digest", "long digest"}:
            more = " and more" * (20_000 if said == "long digest" else 0)
            results = [one["tool_use_id"] for row in payload["messages"] for one in row["toolResults"]]
            return json.dumps({"apply": True, "results": {one: f"DIGEST OF {one}{more}" for one in results[:-1]}})
        return said

    @server.tool(structured_output=False)
    def restore_batch(session_id: str, batch_id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """What the model asks for."""
        return f"{session_id} / {batch_id}"

    server.run()


if __name__ == "__main__":
    if sys.argv[2] == "hook":
        sys.stdout.write(answer(sys.argv[3], json.load(sys.stdin)))
    else:
        serve()

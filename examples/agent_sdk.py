"""The Claude Agent SDK: large results become digests before they are first sent. Needs `claude-agent-sdk`."""

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    TextBlock,
    create_sdk_mcp_server,
    query,
    tool,
)
from harbour import QUESTION
from harbour import read_log as log_of

from palimpsest_mcp import Palimpsest


async def main() -> None:
    async with Palimpsest.open() as palimpsest:

        @tool("read_log", "The log of one day of October 2026.", {"day": int})
        async def read_log(given: dict[str, Any]) -> dict[str, Any]:
            text, day = log_of(given["day"]), given["day"]
            shown = await palimpsest.shrink_result(
                "gauges", text, call_id=f"log_{day}", tool_name="read_log", args=given, above_tokens=1_000
            )
            return {"content": [{"type": "text", "text": shown}]}

        @tool("restore", "The original behind a digest.", {"batch_id": str, "item_id": str})
        async def restore(given: dict[str, Any]) -> dict[str, Any]:
            print("restore", given["batch_id"], given["item_id"])
            original = await palimpsest.restore("gauges", given["batch_id"], given["item_id"])
            return {"content": [{"type": "text", "text": original.text}]}

        options = ClaudeAgentOptions(
            model="claude-opus-4-8",
            mcp_servers={"gauges": create_sdk_mcp_server("gauges", tools=[read_log, restore])},
            allowed_tools=["mcp__gauges__read_log", "mcp__gauges__restore"],
            tools=[],
            setting_sources=[],
        )
        async for message in query(prompt=QUESTION, options=options):
            if isinstance(message, AssistantMessage):
                for block in message.content:
                    if isinstance(block, TextBlock):
                        print(block.text)
        saved = await palimpsest.saved("gauges")
        print(f"saved: {saved.net:,} tokens of {saved.offloaded:,}")


if __name__ == "__main__":
    asyncio.run(main())

"""The same loop on any server that speaks OpenAI's chat completions, with plain HTTP."""

from __future__ import annotations

import asyncio
import json
import os

import httpx2
from harbour import QUESTION, READ_LOG, RESTORE, read_log

from palimpsest_mcp import Palimpsest

MODEL = "gpt-5"
TOOLS = [
    {
        "type": "function",
        "function": {"name": one["name"], "description": one["description"], "parameters": one["input_schema"]},
    }
    for one in (READ_LOG, RESTORE)
]


async def main() -> None:
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    messages = [{"role": "user", "content": QUESTION}]
    async with (
        Palimpsest.open() as palimpsest,
        httpx2.AsyncClient(base_url=base, headers=headers, timeout=120) as client,
    ):
        while True:
            result = await palimpsest.compact_messages(messages, session_id="gauges", model=MODEL, window_tokens=25_000)
            messages = result.messages
            if result.report.status == "compacted":
                before, after = result.report.before.ratio, result.report.after.ratio
                print(f"compacted: {before:.0%} of the window to {after:.0%}, {len(result.report.batches)} batches")
            asked = {"model": MODEL, "messages": messages, "tools": TOOLS}
            answer = (
                (await client.post("/chat/completions", json=asked)).raise_for_status().json()["choices"][0]["message"]
            )
            messages.append(answer)
            if not answer.get("tool_calls"):
                print(answer["content"])
                return
            for call in answer["tool_calls"]:
                given = json.loads(call["function"]["arguments"])
                if call["function"]["name"] == "read_log":
                    text = read_log(given["day"])
                else:
                    print("restore", given["batch_id"], given["item_id"])
                    text = (await palimpsest.restore("gauges", given["batch_id"], given["item_id"])).text
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


if __name__ == "__main__":
    asyncio.run(main())

"""An agent loop on Anthropic's API whose window stays small: each request is compacted first."""

from __future__ import annotations

import asyncio

from anthropic import AsyncAnthropic
from harbour import QUESTION, READ_LOG, RESTORE, read_log

from palimpsest_mcp import Palimpsest

MODEL = "claude-opus-4-8"
WINDOW = 34_000
"""Small, so that a short example has something to compact. Leave it out for the model's own."""


async def main() -> None:
    client = AsyncAnthropic()
    messages = [{"role": "user", "content": QUESTION}]
    async with Palimpsest.open() as palimpsest:
        while True:
            result = await palimpsest.compact_messages(messages, session_id="gauges", model=MODEL, window_tokens=WINDOW)
            messages = result.messages
            if result.report.status == "compacted":
                before, after = result.report.before.ratio, result.report.after.ratio
                print(f"compacted: {before:.0%} of the window to {after:.0%}, {len(result.report.batches)} batches")
            answer = await client.messages.create(
                model=MODEL, max_tokens=1_000, tools=[READ_LOG, RESTORE], messages=messages
            )
            messages.append(
                {"role": "assistant", "content": [one.model_dump(exclude_none=True) for one in answer.content]}
            )
            results = []
            for call in answer.content:
                if call.type == "text":
                    print(call.text)
                elif call.name == "read_log":
                    results.append(tool_result(call.id, read_log(call.input["day"])))
                else:
                    print("restore", call.input["batch_id"], call.input["item_id"])
                    original = await palimpsest.restore("gauges", call.input["batch_id"], call.input["item_id"])
                    results.append(tool_result(call.id, original.text))
            if not results:
                return
            messages.append({"role": "user", "content": results})


def tool_result(call_id: str, text: str) -> dict[str, str]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


if __name__ == "__main__":
    asyncio.run(main())

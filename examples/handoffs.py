"""Two agents with a handoff between them: one reads, the other writes the report and never sees the logs."""

from __future__ import annotations

import asyncio

from anthropic import AsyncAnthropic
from harbour import QUESTION, READ_LOG, RESTORE, read_log

from palimpsest_mcp import Palimpsest

MODEL = "claude-opus-4-8"


async def reader(client: AsyncAnthropic, palimpsest: Palimpsest) -> None:
    """Reads fourteen days of logs in a small window, and hands its findings over."""
    messages = [{"role": "user", "content": QUESTION}]
    while True:
        result = await palimpsest.compact_messages(messages, session_id="reader", model=MODEL, window_tokens=34_000)
        messages = result.messages
        answer = await client.messages.create(
            model=MODEL, max_tokens=1_000, tools=[READ_LOG, RESTORE], messages=messages
        )
        messages.append({"role": "assistant", "content": [one.model_dump(exclude_none=True) for one in answer.content]})
        calls = [one for one in answer.content if one.type == "tool_use"]
        if not calls:
            break
        contents = [await result_of(palimpsest, one) for one in calls]
        messages.append({"role": "user", "content": contents})
    await palimpsest.compact_messages(messages, session_id="reader", model=MODEL, window_tokens=34_000)
    fields = {"key_context": {"facts": [answer.content[0].text]}, "in_progress": ["the report for the harbour master"]}
    written = await palimpsest.write_handoff("reader", "Report on gauge G3", fields=fields)
    print(f"reader: {len(messages)} messages, handed over in about {round(written.tokens, -2)} tokens")


async def result_of(palimpsest: Palimpsest, call) -> dict:
    if call.name == "read_log":
        text = read_log(call.input["day"])
    else:
        text = (await palimpsest.restore("reader", call.input["batch_id"], call.input["item_id"])).text
    return {"type": "tool_result", "tool_use_id": call.id, "content": text}


async def writer(client: AsyncAnthropic, palimpsest: Palimpsest) -> None:
    """Starts from the handoff alone."""
    loaded = await palimpsest.load_handoff("Report on gauge G3", project="*")
    prompt = f"{loaded.text}\n\nWrite one sentence for the harbour master."
    answer = await client.messages.create(model=MODEL, max_tokens=500, messages=[{"role": "user", "content": prompt}])
    print("writer:", answer.content[0].text)


async def main() -> None:
    client = AsyncAnthropic()
    async with Palimpsest.open() as palimpsest:
        await reader(client, palimpsest)
        await writer(client, palimpsest)


if __name__ == "__main__":
    asyncio.run(main())

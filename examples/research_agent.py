"""A research agent that keeps its context in the store: evidence goes in with its source, requests come from there."""

from __future__ import annotations

import asyncio

from anthropic import AsyncAnthropic
from harbour import SEARCH, search

from palimpsest_mcp import Palimpsest

MODEL = "claude-opus-4-8"
QUESTION = "Why did gauge G3 fail with E4112? Cite the address of every page that you use."


async def main() -> None:
    client = AsyncAnthropic()
    async with Palimpsest.open() as palimpsest:
        await palimpsest.record_items("research", [{"role": "user", "content": QUESTION}])
        await palimpsest.check_context_ratio("research", window_tokens=20_000, model=MODEL)
        while True:
            context = await palimpsest.compacted_view("research")
            answer = await client.messages.create(
                model=MODEL, max_tokens=1_000, tools=[SEARCH], messages=[{"role": "user", "content": context}]
            )
            calls = [one for one in answer.content if one.type == "tool_use"]
            if not calls:
                break
            for call in calls:
                title, url, text = search(call.input["query"])
                asked = {
                    "role": "assistant",
                    "kind": "tool_call",
                    "tool_name": "search",
                    "tool_use_id": call.id,
                    "args": call.input,
                }
                found = {"role": "tool", "kind": "evidence", "tool_name": "search", "tool_use_id": call.id}
                source = {"title": title, "url": url, "source_channel": "search", "content": text}
                await palimpsest.record_items("research", [asked, {**found, **source}])
                print("evidence:", title, url)
            usage = await palimpsest.usage("research")
            if usage.ratio > 0.7:
                report = await palimpsest.compact_session("research", target=0.4, keep_last=3, force=True)
                print(f"compacted: {report.before.ratio:.0%} of the window to {report.after.ratio:.0%}")
        print(answer.content[0].text)
        print(*(await palimpsest.show_context("research")).citations, sep="\n")


if __name__ == "__main__":
    asyncio.run(main())

"""A LangChain agent: a middleware compacts what goes to the model. Needs `langchain` and `langchain-anthropic`."""

from __future__ import annotations

import asyncio

from harbour import QUESTION
from harbour import read_log as log_of
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langchain_core.tools import tool

from palimpsest_mcp import Palimpsest

MODEL = "claude-opus-4-8"


class Compact(AgentMiddleware):
    """Sends a shorter list to the model; the agent's own state keeps the whole one."""

    def __init__(self, palimpsest: Palimpsest) -> None:
        super().__init__()
        self.palimpsest = palimpsest

    async def awrap_model_call(self, request, handler):
        listed = convert_to_openai_messages(request.messages)
        result = await self.palimpsest.compact_messages(listed, session_id="gauges", model=MODEL, window_tokens=34_000)
        if result.report.status == "compacted":
            print(f"compacted: {result.report.before.ratio:.0%} of the window to {result.report.after.ratio:.0%}")
        return await handler(request.override(messages=convert_to_messages(result.messages)))


async def main() -> None:
    async with Palimpsest.open() as palimpsest:

        @tool
        async def read_log(day: int) -> str:
            """The log of one day of October 2026."""
            return log_of(day)

        @tool
        async def restore(batch_id: str, item_id: str) -> str:
            """The original behind a digest."""
            print("restore", batch_id, item_id)
            return (await palimpsest.restore("gauges", batch_id, item_id)).text

        agent = create_agent(f"anthropic:{MODEL}", tools=[read_log, restore], middleware=[Compact(palimpsest)])
        asked = {"messages": [{"role": "user", "content": QUESTION}]}
        done = await agent.ainvoke(asked, {"recursion_limit": 200})
        print(done["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())

"""LangGraph's checkpoints in the same database: each has tables of its own, and neither touches the other's."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings

from ..fleet.cluster import OWNER, Cluster
from ..fleet.conftest import made
from .material import need, result

postgres = need("langgraph.checkpoint.postgres.aio")
graphs = need("langgraph.graph")
pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    one = made()
    yield one
    one.stop()


def joined(before: list[Any], after: list[Any]) -> list[Any]:
    return [*before, *after]


class State(TypedDict):
    """What the graph carries from step to step."""

    messages: Annotated[list[Any], joined]


async def tables(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """Schema and name of every table -> what it is made of, and its rows."""
    import asyncpg

    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    rows = await owner.fetch(
        "select c.oid::regclass::text as name, (select string_agg(attname || atttypid, ',' order by attnum)"
        " from pg_attribute a where a.attrelid = c.oid and attnum > 0) as columns from pg_class c"
        " join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p')"
        " and n.nspname in ('palimpsest', 'public')"
    )
    found = {row["name"]: (row["columns"], await owner.fetchval(f"select count(*) from {row['name']}")) for row in rows}
    await owner.close()
    return found


async def test_checkpoints_and_sessions_live_in_one_database_and_leave_each_other_alone(
    cluster: Cluster, tmp_path: Path
) -> None:
    settings = Settings.load(home=tmp_path, store=cluster.pooled)

    async def step(state: State) -> dict[str, list[Any]]:
        given = list(state["messages"])
        for n in range(8):
            call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": f'{{"n": {n}}}'}}
            given.append({"role": "assistant", "content": None, "tool_calls": [call]})
            given.append({"role": "tool", "tool_call_id": f"c{n}", "content": result(n)})
        async with Palimpsest.open(settings=settings) as p:
            done = await p.compact_messages(given, session_id="thread", window_tokens=20_000, target=0.3, force=True)
        return {"messages": done.messages[len(state["messages"]) :]}

    graph = graphs.StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge("__start__", "step")
    thread: dict[str, Any] = {"configurable": {"thread_id": "thread"}}
    ours = {name: columns for name, (columns, _) in (await tables(cluster)).items()}
    async with postgres.AsyncPostgresSaver.from_conn_string(cluster.url(OWNER)) as saver:
        await saver.setup()
        theirs = {name for name in await tables(cluster) if name not in ours}
        assert theirs and not [name for name in theirs if name.startswith("palimpsest.")]
        await graph.compile(checkpointer=saver).ainvoke({"messages": [{"role": "user", "content": "Go."}]}, thread)
    written = await tables(cluster)
    assert {name: written[name][0] for name in ours} == ours, "our tables are as they were made"
    assert any(written[name][1] for name in theirs) and written["palimpsest.record"][1]
    async with (
        postgres.AsyncPostgresSaver.from_conn_string(cluster.url(OWNER)) as saver,
        Palimpsest.open(settings=settings) as p,
    ):
        state = await graph.compile(checkpointer=saver).aget_state(thread)
        assert "offload_0001" in str(state.values["messages"]), "the checkpoint holds the digest"
        (first, *_) = await p.restore_batch("thread", "offload_0001")
        assert first.text in [result(n) for n in range(8)], "and the archive its original"
        await p.purge("thread", dry_run=False)
        assert (await graph.compile(checkpointer=saver).aget_state(thread)).values == state.values
        await saver.adelete_thread("thread")
    assert not (await tables(cluster))["checkpoints"][1]

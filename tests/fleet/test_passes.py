"""A pass whose way to the database ends at one of its writes: the context is as before or as decided, others go on."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError

from ..conftest import first_of
from .cluster import Cluster
from .wire import Wire

pytestmark = [pytest.mark.anyio, pytest.mark.crash]
WAYS = {"before the server has it": False, "after the server did it": True}


def messages() -> list[dict[str, Any]]:
    """A list that one pass makes shorter."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Find why port 8080 is refused"}]
    for n in range(8):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "f{n}.py"}}'}}
        rows = "\n".join(f"{n}{row:03d} connect 10.0.{n}.{row} port 8080 refused 中é" for row in range(60))
        found += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": rows},
        ]
    return [*found, {"role": "assistant", "content": "Next I look at the firewall."}]


async def silent_for_long(cluster: Cluster, tenant: str) -> None:
    """As if every pass of the tenant had given no sign of life for thirty seconds."""
    import asyncpg

    connection: Any = await asyncpg.connect(cluster.url())
    await connection.execute(
        f"begin; set local search_path = palimpsest; set local palimpsest.tenant = '{tenant}';"
        " set local palimpsest.owner = '*'; update lease set until = '-infinity'; commit"
    )
    await connection.close()


async def compacted(p: Palimpsest, given: list[dict[str, Any]]) -> Any:
    return await p.compact_messages(given, session_id="s", window_tokens=9_000, target=0.3, force=True)


@pytest.mark.parametrize("reached", first_of(WAYS.values()), ids=WAYS)
async def test_wherever_the_way_ends_in_a_pass_nothing_acknowledged_is_lost_and_another_server_goes_on(
    cluster: Cluster, tmp_path: Path, tenant: str, reached: bool
) -> None:
    """For the database the same as a server process that is killed at each of its writes."""
    from palimpsest_mcp.store.postgres.store import PgStore

    wire, ended = Wire(cluster.port), 0
    async with wire.listening() as port:
        for write in range(1 + reached, 60, 2):
            wire.revive()
            whose = f"{tenant}-{write}"
            given = messages()
            as_given = copy.deepcopy(given)
            torn = PgStore(cluster.url(port=port), home=tmp_path / whose, tenant=whose, waits_s=(0.0,))
            await torn.secret()
            wire.ends_at(write, reached=reached)
            try:
                async with Palimpsest.open(tmp_path / whose, store=torn) as p:
                    result = await compacted(p, given)
            except PalimpsestError as error:
                ended += 1
                assert error.next and "does not answer" in error.message, error
                assert given == as_given, "the list is changed"
            else:
                assert result is not None
                break
            await silent_for_long(cluster, whose)
            store = PgStore(cluster.url(), home=tmp_path / f"{whose}-b", tenant=whose)
            async with Palimpsest.open(tmp_path / f"{whose}-b", store=store) as p:
                result = await compacted(p, given)
                report = await p.verify("s")
                assert not [one for one in report.findings if one.severity == "damage"], (write, report.findings)
                batches = await p.list_offloaded("s")
                assert batches, "another server finishes what the first began"
                for batch in batches:
                    for one in await p.restore_batch("s", batch.batch_id):
                        assert any(one.content == message.get("content") for message in as_given)
        else:
            raise AssertionError("a pass has more writes than were tried")
    assert ended >= 4, "the way ended at several writes"


async def test_a_database_without_room_refuses_a_pass_and_takes_it_when_there_is_room_again(
    small_disk: tuple[Cluster, str], tmp_path: Path
) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.store import PgStore

    from .cluster import OWNER

    cluster, database = small_disk
    owner: Any = await asyncpg.connect(cluster.url(OWNER, database=database))
    given = messages()
    async with Palimpsest.open(
        tmp_path, store=PgStore(cluster.url(database=database), home=tmp_path, tenant="small")
    ) as p:
        await compacted(p, given[:5])
        before = [one.batch_id for one in await p.list_offloaded("s")]
        await owner.execute("create table filler (body bytea); alter table filler alter column body set storage plain")
        for size in (4_000, 10):
            with pytest.raises(asyncpg.DiskFullError):
                while True:
                    await owner.execute(
                        "insert into filler select decode(repeat('ab', $1), 'hex') from generate_series(1, 100)", size
                    )
        refused: list[PalimpsestError] = []
        for n in range(300):  # what free places the pages have is used up
            text = "".join(f"{n}.{row} " for row in range(1_000))
            try:
                await p.record_items("s", [{"role": "user", "content": text}])
            except PalimpsestError as error:
                refused.append(error)
                break
        assert refused and refused[0].code == "write_failed" and "no room left" in refused[0].message
        assert "Free space on the database's disk" in refused[0].next
        as_given = copy.deepcopy(given)
        with pytest.raises(PalimpsestError, match="no room left"):
            await compacted(p, given)
        assert given == as_given and [one.batch_id for one in await p.list_offloaded("s")] == before
        await owner.execute("drop table filler")
        await compacted(p, given)
        assert len(await p.list_offloaded("s")) > len(before)
        assert not [one for one in (await p.verify("s")).findings if one.severity == "damage"]
    await owner.close()


async def test_a_connection_that_is_lost_for_good_is_told_of_and_the_pass_may_be_run_again(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, waits_s=(0.0, 0.01))
        async with Palimpsest.open(tmp_path, store=store) as p:
            wire.ends_at(3, reached=False)
            with pytest.raises(PalimpsestError, match="does not answer") as lost:
                await compacted(p, messages())
            assert "Start it" in lost.value.next
            wire.revive()
            await silent_for_long(cluster, tenant)
            await compacted(p, messages())
            assert await p.list_offloaded("s")

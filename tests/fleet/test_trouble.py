"""What a caller hears when the database is not what was hoped for: what is wrong, and what to do now."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, InvalidSettings, PalimpsestError, StoreNewer, StoreUnusable
from palimpsest_mcp.settings.settings import Settings

from .cluster import APP, OWNER, PASSWORD, Cluster, free_port

pytestmark = pytest.mark.anyio


async def refused(url: str, home: Path, *, tenant: str = "t") -> PalimpsestError:
    """What opening a store there says."""
    from palimpsest_mcp.store.postgres.store import PgStore

    store = PgStore(url, home=home, tenant=tenant, waits_s=(0.01,))
    try:
        await store.check()
    except PalimpsestError as error:
        return error
    finally:
        await store.aclose()
    raise AssertionError("it was opened")


@pytest.mark.parametrize(
    ("change", "said", "then"),
    [
        ({"password": "wrong"}, "refuses this user or password", "PGPASSFILE"),
        ({"role": "nobody_at_all"}, "refuses this user or password", "PGPASSFILE"),
        ({"database": "elsewhere"}, "no such database", "createdb"),
        ({"database": "postgres"}, "no tables of this program", "--role ROLE"),
        ({"role": OWNER}, "above row-level security", "--role ROLE"),
        ({"port": 1}, "does not answer", "host and port"),
    ],
    ids=["password", "role", "database", "schema", "owner", "port"],
)
async def test_what_is_wrong_is_said_with_the_next_step(
    cluster: Cluster, tmp_path: Path, change: dict[str, Any], said: str, then: str
) -> None:
    error = await refused(cluster.url(**change), tmp_path)
    assert said in error.message and then in error.next, error
    assert "loopback-only" not in str(error) and "wrong" not in str(error), "no password is printed"


@pytest.mark.parametrize("url", ["postgresql://", "postgresql://h", "mysql://h/d", "postgresql://h:x/d", "/a/folder"])
def test_what_is_no_url_of_a_database_is_refused_before_anything_is_tried(url: str, tmp_path: Path) -> None:
    pytest.importorskip("asyncpg")
    from palimpsest_mcp.store.postgres.store import PgStore

    with pytest.raises(InvalidArgument, match="postgresql://USER"):
        PgStore(url, home=tmp_path)


def test_a_setting_that_is_no_database_is_refused_and_never_quoted(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings) as refused_it:
        Settings.load(home=tmp_path, store="mysql://user:secret@host/name")
    assert "store" in refused_it.value.message and "secret" not in str(refused_it.value)


def test_the_password_of_a_store_is_never_shown(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path, store="postgresql://user:secret@host/name")
    assert "secret" not in str(settings.explain()) and "secret" not in repr(settings)


async def test_without_the_extra_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for name in [name for name in sys.modules if name.startswith("palimpsest_mcp.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    settings = Settings.load(home=tmp_path, store="postgresql://h/d")
    with pytest.raises(StoreUnusable, match=r"palimpsest-mcp\[postgres\]"):
        async with Palimpsest.open(settings=settings):
            pass


@pytest.mark.parametrize(("version", "error"), [(99, StoreNewer), (0, StoreUnusable)], ids=["newer", "older"])
async def test_tables_of_another_version_are_refused(
    cluster: Cluster, tmp_path: Path, version: int, error: type[PalimpsestError]
) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.schema import prepare

    schema, url = f"of-{version}", cluster.url(OWNER)
    await prepare(url, schema=schema, roles=(APP,))
    connection: Any = await asyncpg.connect(url)
    await connection.execute(
        f'delete from "{schema}".migration where version > 1; update "{schema}".migration set version = {version}'
    )
    await connection.close()
    from palimpsest_mcp.store.postgres.store import PgStore

    store = PgStore(cluster.pooled, home=tmp_path, schema_name=schema)
    with pytest.raises(error, match="version"):
        await store.is_made()
    await store.aclose()


async def test_many_that_prepare_one_database_at_once_make_its_tables_once(cluster: Cluster) -> None:
    from palimpsest_mcp.store.postgres.schema import prepare

    url = cluster.url(OWNER)
    planned = await prepare(url, schema="raced", roles=(APP,), dry_run=True)
    done = await asyncio.gather(*(prepare(url, schema="raced", roles=(APP,)) for _ in range(4)))
    assert sorted(len(one) for one in done) == [1, 1, 1, len(planned)] and max(done, key=len) == planned
    assert await prepare(url, schema="raced") == ()


async def test_a_role_that_is_not_there_is_named_and_nothing_is_made(cluster: Cluster) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.schema import prepare

    with pytest.raises(StoreUnusable, match="no role ghost"):
        await prepare(cluster.url(OWNER), schema="ghostly", roles=("ghost",))
    connection: Any = await asyncpg.connect(cluster.url(OWNER))
    assert not await connection.fetchval("select exists (select from pg_namespace where nspname = 'ghostly')")
    await connection.close()


async def test_a_server_that_comes_back_in_time_is_waited_for(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    """Every connection is taken away in the middle, by the database itself."""
    import asyncpg

    from palimpsest_mcp.store.postgres.store import PgStore
    from palimpsest_mcp.testing.contract_values import S1, applied

    store = PgStore(cluster.url(), home=tmp_path, tenant=tenant)
    await store.ledger.observe(S1, [applied(1)])
    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    for n in range(2, 12):
        await owner.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{APP}'")
        await store.ledger.observe(S1, [applied(n)])
    await owner.close()
    assert len((await store.ledger.read(S1)).events) == 11
    await store.aclose()


async def test_a_url_with_a_port_that_nobody_listens_at_is_told_of_in_seconds(tmp_path: Path) -> None:
    pytest.importorskip("asyncpg")
    error = await refused(f"postgresql://app@127.0.0.1:{free_port()}/fleet", tmp_path)
    assert error.code == "store_unusable" and "does not answer" in error.message


@pytest.mark.long
async def test_tables_of_the_first_version_are_brought_up_with_what_is_in_them_and_roles_keep_their_rights(
    cluster: Cluster, tmp_path: Path
) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.rows import name_hash
    from palimpsest_mcp.store.postgres.schema import prepare, steps
    from palimpsest_mcp.store.postgres.store import PgStore
    from palimpsest_mcp.store.segments import encode
    from palimpsest_mcp.testing.contract_values import S1, applied, info_of

    first = steps()[0]
    above: Any = await asyncpg.connect(cluster.url(OWNER))
    await above.execute(f"create role keeper login password '{PASSWORD}'; grant create on database fleet to keeper")
    await above.close()
    owner: Any = await asyncpg.connect(cluster.url("keeper"))  # who is not above row-level security
    async with owner.transaction():
        await owner.execute(f"create schema aged; set local search_path = aged, pg_temp; {first.sql}")
        await owner.execute(
            f"insert into migration (version, name, sha256) values (1, 'first', '{first.sha256}');"
            f"grant select on migration to {APP}; set local palimpsest.tenant = 'default';"
            " set local palimpsest.owner = ''"
        )
        key = "01930000-0000-7000-8000-000000000001"
        await owner.execute(
            "insert into session (tenant, owner, session_key, name, info) values ('default', '', $1, 's1', $2)",
            *(key, encode(info_of(S1))[:-1]),
        )
        await owner.execute("insert into name values ('default', '', $1, $2, 's1')", name_hash(S1), key)
        await owner.execute(
            "insert into record values ('default', '', $1, 1, 'offload_0001', 'w', 1, 0, '', null, 0, '')", key
        )
        await owner.execute("update session set records = 1")
    await owner.close()
    done = await prepare(cluster.url("keeper"), schema="aged")
    assert done[:2] == ("tables of version 2", "tables of version 3") and done[-1] == f"rights of {APP}"
    store = PgStore(cluster.pooled, home=tmp_path, schema_name="aged")
    assert await store.ledger.by_handle(info_of(S1).handle) == info_of(S1)
    assert await store.search.behind("") == {"s1"}
    await store.ledger.observe(S1, [applied(1)])
    assert len((await store.ledger.read(S1)).events) == 1
    await store.aclose()

"""A database server for the tests of fleets: one a test session, with tables, a role and a pooler."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from .cluster import APP, OWNER, PASSWORD, Cluster, programs


def made(*, durable: bool = False) -> Cluster:
    """A server that runs, with a prepared database `fleet` and a pooler.

    Where its programs are not installed, the test skips.
    """
    pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'palimpsest-mcp[postgres]'")
    found = programs()
    if found is None:
        pytest.skip("postgresql or pgbouncer is not installed (Debian: apt-get install postgresql pgbouncer)")
    cluster = Cluster(*found, durable=durable)
    try:
        cluster.start()
        cluster.start_pooler()
        asyncio.run(_prepared(cluster))
    except BaseException:
        cluster.stop()
        raise
    return cluster


async def _prepared(cluster: Cluster) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.schema import prepare

    owner = await asyncpg.connect(cluster.url(OWNER, database="postgres"))
    await owner.execute(f"create role {APP} login password '{PASSWORD}'")
    await owner.execute("create database fleet")
    await owner.close()
    await prepare(cluster.url(OWNER), schema="palimpsest", roles=(APP,))


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    """The session's server; it flushes nothing, and nobody kills it."""
    one = made()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def durable() -> Generator[Cluster]:
    """A server that flushes, which tests may kill: they start it again."""
    one = made(durable=True)
    yield one
    one.stop()


@pytest.fixture
def tenant(tmp_path: Path) -> str:
    """A tenant that nobody has used."""
    return tenant_of(tmp_path)


def tenant_of(place: Path) -> str:
    """The tenant that stands for a folder."""
    return "t" + hashlib.sha256(str(place).encode()).hexdigest()[:20]


Opens = Callable[[Path], object]

"""A database server for the tests of fleets: one a test session, with tables, a role and a pooler."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from .cluster import APP, OWNER, PASSWORD, Cluster, programs


def made(*, durable: bool = False, **settings: str) -> Cluster:
    """A server that runs, with a prepared database `fleet` and a pooler.

    Where its programs are not installed, the test skips.
    """
    pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'palimpsest-mcp[postgres]'")
    found = programs()
    if found is None:
        pytest.skip("postgresql or pgbouncer is not installed (Debian: apt-get install postgresql pgbouncer)")
    cluster = Cluster(*found, durable=durable, data=None, keep=None, **settings)
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
def small_disk(cluster: Cluster) -> Generator[tuple[Cluster, str]]:
    """A prepared database of the server on a disk of 48 MiB in memory, which only root can make."""
    place = cluster.folder / "small"
    place.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.call(
        ["mount", "-t", "tmpfs", "-o", "size=48m,mode=0777", "tmpfs", str(place)], stderr=subprocess.DEVNULL
    )
    if not mounted:
        pytest.skip("a small disk can be mounted by root only")
    try:
        asyncio.run(_on_small_disk(cluster, place))
        yield cluster, "small"
        asyncio.run(_off_small_disk(cluster))
    finally:
        subprocess.call(["umount", "--lazy", str(place)])


async def _on_small_disk(cluster: Cluster, place: Path) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.schema import prepare

    owner = await asyncpg.connect(cluster.url(OWNER, database="postgres"))
    (place / "space").mkdir()
    cluster.give(place / "space")
    await owner.execute(f"create tablespace small location '{place}/space'")
    await owner.execute("create database small tablespace small")
    await owner.close()
    await prepare(cluster.url(OWNER, database="small"), roles=(APP,))
    # A new database's files have holes until its pages are written. On a full disk no page of a hole can be, so that
    # even a query fails whose buffer held such a page.
    owner = await asyncpg.connect(cluster.url(OWNER, database="small"))
    await owner.execute("checkpoint")
    await owner.close()


async def _off_small_disk(cluster: Cluster) -> None:
    import asyncpg

    owner = await asyncpg.connect(cluster.url(OWNER, database="postgres"))
    await owner.execute("drop database small with (force)")
    await owner.execute("drop tablespace small")
    await owner.close()


@pytest.fixture
def tenant(tmp_path: Path) -> str:
    """A tenant that nobody has used."""
    return tenant_of(tmp_path)


def tenant_of(place: Path) -> str:
    """The tenant that stands for a folder."""
    return "t" + hashlib.sha256(str(place).encode()).hexdigest()[:20]


Opens = Callable[[Path], object]

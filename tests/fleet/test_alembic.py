"""Tables made by Alembic are those that `migrate` makes, and either goes on where the other stopped, also at once."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.testing.contract_values import applied

from .cluster import APP, OWNER, Cluster
from .conftest import tenant_of

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).resolve().parents[2] / "docs" / "fleet.md"
ENDS_S = 120.0
NEWEST = "select max(version) from palimpsest.migration"


def ini(place: Path, url: str) -> Path:
    """The `alembic.ini` of the page on fleets, for another database."""
    found = re.search(r"^    \[alembic\]\n(?:    .+\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    text = re.sub(r"^    ", "", found[0], flags=re.MULTILINE)
    assert text.count("\n") <= 5
    file = place / "alembic.ini"
    file.write_text(re.sub(r"(?<=^sqlalchemy\.url = ).+$", url, text, flags=re.MULTILINE), "utf-8")
    return file


class Place:
    """An empty database, and both programs that can make the tables in it."""

    def __init__(self, cluster: Cluster, name: str, folder: Path) -> None:
        self.cluster, self.name, self.folder = cluster, name, folder
        self.url = cluster.url(OWNER, database=name)
        folder.mkdir()
        ini(folder, self.url)

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start `alembic` or `palimpsest_mcp`."""
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        environment = {**os.environ, "PYTHONUTF8": "1", "PALIMPSEST_STORE": self.url}
        command = [sys.executable, "-m", *arguments]
        return await asyncio.create_subprocess_exec(*command, cwd=self.folder, env=environment, **pipes)

    async def alembic(self, *arguments: str, fails: bool = False) -> str:
        """What `alembic` says. It runs in this process: to start it takes a second, which `start` does."""
        return await asyncio.to_thread(self._alembic, arguments, fails)

    def _alembic(self, arguments: Sequence[str], fails: bool) -> str:
        from alembic.config import CommandLine, Config

        said, status = io.StringIO(), None
        line = CommandLine(prog="alembic")
        options = line.parser.parse_args(arguments)
        file = self.folder / "alembic.ini"
        config = Config(file, stdout=said, output_buffer=said, ini_section=options.name, cmd_opts=options)
        with redirect_stdout(said), redirect_stderr(said):
            try:
                line.run_cmd(config, options)
            except SystemExit as end:
                status = end.code
        assert bool(status) is fails, said.getvalue()
        return said.getvalue()

    async def migrate(self, *arguments: str) -> str:
        """What `palimpsest-mcp migrate` says."""
        return await ended(await self.start("palimpsest_mcp", "migrate", "--home", "home", *arguments))

    async def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of a statement, or nothing of several."""
        import asyncpg

        owner: Any = await asyncpg.connect(self.url)
        try:
            if ";" in statement:
                await owner.execute(statement)
                return []
            return [tuple(row) for row in await owner.fetch(statement)]
        finally:
            await owner.close()

    async def newest(self) -> Any:
        """Version of the tables."""
        return (await self.sql(NEWEST))[0][0]

    async def looks(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that is in the schema but Alembic's own table."""
        mine = "relnamespace = 'palimpsest'::regnamespace and relname !~ '^alembic_version'"
        return {
            "rows": await self.sql("select version, name, sha256 from palimpsest.migration order by 1"),
            "schema": await self.sql("select nspacl::text from pg_namespace where nspname = 'palimpsest'"),
            "tables": await self.sql(
                "select relname, relkind, relacl::text, reloptions, relrowsecurity, relforcerowsecurity,"
                f" pg_get_expr(relpartbound, oid) from pg_class where {mine} order by 1"
            ),
            "columns": await self.sql(
                "select relname, attnum, attname, atttypid::regtype::text, attnotnull, attacl::text from pg_attribute"
                f" join pg_class c on c.oid = attrelid where {mine} order by 1, 2"
            ),
            "functions": await self.sql(
                "select proname, pg_get_function_arguments(oid), prosrc, proconfig, proacl::text, prosecdef"
                " from pg_proc where pronamespace = 'palimpsest'::regnamespace order by 1, 2"
            ),
            "rules": await self.sql(
                f"select relname, polname, pg_get_expr(polqual, polrelid) from pg_policy"
                f" join pg_class c on c.oid = polrelid where {mine} order by 1, 2"
            ),
            "triggers": await self.sql(
                f"select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid where {mine}"
                " order by 1"
            ),
        }


async def ended(process: asyncio.subprocess.Process, *, fails: bool = False) -> str:
    """What a program said until its end."""
    try:
        async with asyncio.timeout(ENDS_S):
            said = (await process.communicate())[0].decode()
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode != 0) is fails and "Traceback" not in said, said
    return said


@pytest.fixture
async def place(cluster: Cluster, tmp_path: Path) -> AsyncGenerator[Place]:
    """An empty database."""
    pytest.importorskip("alembic", reason="alembic is not installed: pip install 'palimpsest-mcp[alembic]'")
    async for one in _made(cluster, tmp_path, "a"):
        yield one


@pytest.fixture
async def other(cluster: Cluster, tmp_path: Path) -> AsyncGenerator[Place]:
    """Another one."""
    async for one in _made(cluster, tmp_path, "b"):
        yield one


async def _made(cluster: Cluster, folder: Path, name: str) -> AsyncGenerator[Place]:
    import asyncpg

    above: Any = await asyncpg.connect(cluster.url(OWNER, database="postgres"))
    one = Place(cluster, f"{tenant_of(folder)}{name}", folder / name)
    await above.execute(f"create database {one.name}")
    try:
        yield one
    finally:
        await above.execute(f"drop database {one.name} with (force)")
        await above.close()


async def test_alembic_makes_the_tables_partitions_and_rights_that_migrate_makes_and_a_server_runs_on_them(
    place: Place, other: Place
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    said = await place.alembic("-x", f"role={APP}", "upgrade", "head")
    await other.migrate("--yes", "--role", APP)
    assert f"rights of {APP}" in said and "tables of version 1\n" in said
    assert await place.looks() == await other.looks()
    url = place.cluster.url(database=place.name)
    store = PgStore(url, home=place.folder, tenant="t")
    await store.ledger.observe(SessionKey("s"), [applied(1)])
    assert len((await store.ledger.read(SessionKey("s"))).events) == 1
    await store.aclose()


@pytest.mark.long
async def test_the_sql_that_alembic_prints_makes_the_same(place: Place, other: Place) -> None:
    printed = await place.alembic("-x", f"role={APP}", "upgrade", "head", "--sql")
    await place.sql(printed)
    await other.migrate("--yes", "--role", APP)
    assert await place.looks() == await other.looks()
    assert "nothing to do" in await place.alembic("upgrade", "head")
    assert "nothing to do" in await place.migrate()


async def test_printed_sql_that_comes_a_second_time_changes_nothing(place: Place) -> None:
    import asyncpg

    printed = await place.alembic("upgrade", "head", "--sql")
    await place.sql(printed)
    before = await place.looks()
    with pytest.raises(asyncpg.DuplicateTableError):
        await place.sql(printed)
    assert await place.looks() == before


async def test_after_migrate_alembic_knows_the_version_without_a_stamp_and_has_nothing_to_do(place: Place) -> None:
    await place.migrate("--yes", "--role", APP)
    before = await place.looks()
    head = (await place.alembic("heads")).split()[0]
    assert (await place.alembic("current")).split() == [head, "(head)"]
    assert await place.sql("select to_regclass('palimpsest.alembic_version')") == [(None,)], "it was asked only"
    assert "nothing to do" in await place.alembic("upgrade", "head")
    assert "FAILED" not in await place.alembic("stamp", "head")
    assert await place.sql("select version_num from palimpsest.alembic_version") == [(head,)]
    assert await place.looks() == before


@pytest.mark.long
async def test_each_goes_on_where_the_other_stopped(place: Place, other: Place) -> None:
    await place.alembic("upgrade", "0001")
    assert await place.newest() == 1
    said = await place.migrate("--yes", "--role", APP)
    assert "tables of version 1\n" not in said and "tables of version 2\n" in said
    assert "(head)" in await place.alembic("current") and "nothing to do" in await place.alembic("upgrade", "head")
    await other.migrate("--yes", "--role", APP)
    assert await place.looks() == await other.looks()


async def test_roles_that_had_rights_keep_them_when_alembic_brings_something_new(place: Place) -> None:
    await place.alembic("upgrade", "0002")
    await place.sql(f"grant select on palimpsest.migration to {APP};")
    assert f"rights of {APP}" in await place.alembic("upgrade", "head")


async def test_partitions_that_are_missing_are_made_by_an_upgrade_that_has_no_new_tables(place: Place) -> None:
    await place.alembic("upgrade", "head")
    before = await place.looks()
    months = [name for name, *_ in before["tables"] if re.fullmatch(r"step_\d{6}", name)]
    last = months[-1].removeprefix("step_")
    for one in ("session", "step", "record", "summary", "aside", "entry", "checkpoint"):
        await place.sql(f"drop table palimpsest.{one}_{last};")
    said = await place.alembic("upgrade", "head")
    assert said.split("\n") == [f"partitions of {last[:4]}-{last[4:]}", ""]
    assert await place.looks() == before


@pytest.mark.long
@pytest.mark.parametrize("programs", ["alembic migrate alembic migrate", "alembic alembic alembic"])
async def test_programs_that_start_at_once_all_end_well_and_one_of_them_does_it(place: Place, programs: str) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.schema import LOCK, steps

    commands = {
        "alembic": ("alembic", "-x", f"role={APP}", "upgrade", "head"),
        "migrate": ("palimpsest_mcp", "migrate", "--home", "home", "--yes", "--role", APP),
    }
    owner: Any = await asyncpg.connect(place.url)
    async with owner.transaction():
        await owner.execute(LOCK)
        started = [await place.start(*commands[name]) for name in programs.split()]
        waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = "
        waiting += "(select oid from pg_database where datname = current_database())"
        async with asyncio.timeout(ENDS_S):
            while await owner.fetchval(waiting) < len(started):
                assert [one.returncode for one in started] == [None] * len(started), "one did not wait"
    await owner.close()
    said = await asyncio.gather(*map(ended, started))
    made = Counter(line for text in said for line in text.splitlines() if line.startswith(("tables", "schema", "part")))
    assert made and set(made.values()) == {1}
    assert [one for one in made if one.startswith("tables")] == [f"tables of version {one.version}" for one in steps()]
    assert await place.sql("select count(*) from palimpsest.alembic_version") == [(1,)]
    assert "(head)" in await place.alembic("current")


async def test_a_downgrade_is_refused_in_a_sentence(place: Place) -> None:
    await place.alembic("upgrade", "head")
    before = await place.looks()
    for arguments in (("-1",), ("base",), ("0003:0001", "--sql")):
        said = await place.alembic("downgrade", *arguments, fails=True)
        assert "The tables only go forward" in said and "Restore a backup" in said
    assert await place.looks() == before and "(head)" in await place.alembic("current")


async def test_no_version_can_be_stamped_that_the_tables_are_not_of(place: Place) -> None:
    assert "so no other can be stamped" in await place.alembic("stamp", "head", fails=True)
    await place.alembic("upgrade", "0002")
    assert "the tables have version 2" in await place.alembic("upgrade", "0002")
    for wrong in ("0001", "head", "base"):
        assert "are of version 2, so no other can be stamped" in await place.alembic("stamp", wrong, fails=True)
    assert (await place.alembic("current")).split() == ["0002"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-x", "role=missing", "upgrade", "head"), "There is no role missing in the database."),
        (("-x", 'role=a"b', "upgrade", "head"), "The role is not a plain name."),
        (("-x", "rol=app", "upgrade", "head"), "-x takes role=NAME and store=URL, not rol."),
        (("-x", f"role={APP}", "upgrade", "0001"), "Rights are for the newest tables; nothing was changed."),
        (("-x", "store=postgresql+psycopg://a@127.0.0.1:1/b", "upgrade", "head"), "127.0.0.1:1/b does not answer"),
        (("-x", "store=", "upgrade", "head"), "The store's URL is not one of a PostgreSQL database."),
    ],
)
async def test_what_cannot_be_done_is_told_in_a_sentence_and_changes_nothing(
    place: Place, arguments: tuple[str, ...], says: str
) -> None:
    assert says in await place.alembic(*arguments, fails=True)
    assert await place.sql("select to_regnamespace('palimpsest')") == [(None,)]


async def test_a_role_that_does_not_own_the_tables_is_told_so(place: Place) -> None:
    await place.alembic("-x", f"role={APP}", "upgrade", "head")
    url = place.cluster.url(database=place.name).replace("postgresql:", "postgresql+asyncpg:")
    assert "The role lacks a right" in await place.alembic("-x", f"store={url}", "upgrade", "head", fails=True)


async def test_tables_of_a_newer_program_are_left_alone(place: Place) -> None:
    await place.alembic("upgrade", "head")
    await place.sql("insert into palimpsest.migration (version, name, sha256) values (9999, 'later', '');")
    assert "are of version 9999; this program knows" in await place.alembic("upgrade", "head", fails=True)


def test_every_sql_file_is_a_revision_after_the_one_before(tmp_path: Path) -> None:
    pytest.importorskip("alembic", reason="alembic is not installed: pip install 'palimpsest-mcp[alembic]'")
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    from palimpsest_mcp.store.postgres.schema import VERSION, steps

    scripts = ScriptDirectory.from_config(Config(ini(tmp_path, "")))
    revisions = list(scripts.walk_revisions())[::-1]
    missing = "copy a file of alembic/versions to the new SQL file's name"
    assert [one.doc for one in revisions] == [one.name for one in steps()], missing
    assert [int(one.revision) for one in revisions] == [one.version for one in steps()] == [*range(1, VERSION + 1)]
    assert len({Path(one.path).read_text("utf-8") for one in revisions}) == 1, "they differ in their names only"

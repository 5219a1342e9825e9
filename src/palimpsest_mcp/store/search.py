"""Search over the index, or without it while it cannot be used."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..errors import StoreError
from ..ports.store import Entry, Match
from .disk import Found, hop, in_thread, writes
from .home import Home
from .score import LinearSearch, Need, Query, Text, best, cjk, may_begin, parts, ranked, read, words

# The search index: SQLite FTS5 in `index.sqlite3`. A cache: what is wrong with it is moved aside and made anew.


SCHEMA = 2
"""Grows with every change of tables, and of what `score` makes words of: old entries must be made anew."""
INDEX_NAME = "index.sqlite3"
BUSY_TIMEOUT_S = 2.0
_GARBLED = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA})
"""Primary result codes after which the file is not worth keeping; all others may pass by themselves."""

_TABLES = """
CREATE TABLE about (store TEXT NOT NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, principal NOT NULL, session_id NOT NULL, batch_id NOT NULL, item_id NOT NULL,
    project NOT NULL, text TEXT NOT NULL, named TEXT NOT NULL, tool_name TEXT NOT NULL, title TEXT NOT NULL,
    ts TEXT NOT NULL, stands INTEGER NOT NULL, UNIQUE (principal, session_id, batch_id, item_id));
CREATE VIRTUAL TABLE found USING fts5(
    names, words, parts, cjk, content='', tokenize="porter unicode61 remove_diacritics 2 tokenchars '_'");
"""
_SCOPE = """principal = :principal
  AND (:sessions IS NULL OR hex(session_id) IN (SELECT value FROM json_each(:sessions)))
  AND (:project IS NULL OR project = :project)
"""
_ALL = f"""
SELECT session_id, batch_id, item_id, text, named, tool_name, title, ts, stands
FROM found CROSS JOIN entries ON entries.id = found.rowid WHERE found MATCH :match AND {_SCOPE}
"""
_FIND = f"{_ALL} ORDER BY bm25(found, 2.0, 1.0, 0.5, 1.0), batch_id, item_id LIMIT :likely"
_COUNT_OF = f"""
SELECT count(*) FROM found CROSS JOIN entries ON entries.id = found.rowid WHERE found MATCH :match AND {_SCOPE}
"""
_TOTAL = f"SELECT count(*) FROM entries WHERE {_SCOPE}"
_TOTAL_OF_ONE = """
SELECT count(*) FROM entries
WHERE principal = :principal AND session_id = :session AND (:project IS NULL OR project = :project)
"""
"""Of one session: its entries stand together, and the others' are not looked at."""
_LIKELY = 50
"""So many of the likeliest are read to be ranked, or as many as are asked for."""
_READ_CHARACTERS = 1_000_000
"""And so much text of them, so that an answer takes a tenth of a second."""
_AT_ONCE = 1 << 16
"""Characters that are ranked without a thread: a few milliseconds at most."""
_RAREST = 24
"""So many words of a long query decide."""


class IndexDown(Exception):
    """The index cannot be used now: locked, no room, no FTS5."""


class _Much(Exception):
    """More is to be read than at once."""


class _Garbled(Exception):
    """The file is no index of ours."""


class FtsIndex:
    """Safe over threads and processes; blocks its caller, so call it from a thread.

    Args:
        store_id: what tells this store from others: a copied index of another one is not believed.
    """

    def __init__(self, home: Home, store_id: Callable[[], str], *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._home = home
        self._store_id = store_id
        self._busy_timeout_s = busy_timeout_s
        self._path = os.path.join(home.root, INDEX_NAME)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        """Of the file that was opened last."""
        self._pid = 0
        self._opened = 0
        """Times that a file was opened."""

    def stamp(self) -> int | None:
        """Equal ones: it is the file that was open then, so what it had it still has, but for what was taken out of it
        on purpose. None where that cannot be told without opening it."""
        opened, disk = self._opened, self._home.disk
        try:
            return opened if self._connection is not None and self._is_current(disk.look(self._path)) else None
        except OSError:
            return None

    def add(self, entries: Sequence[Entry]) -> None:
        """Raises IndexDown; then none of them is in."""
        self._run(lambda db: _add(db, entries))

    def find(
        self, query: str, *, principal: str, session_ids: Sequence[str] | None, project: str | None, limit: int
    ) -> tuple[Match, ...]:
        """The likeliest by the index, ranked by their texts. Raises IndexDown."""
        return self._run(_search(query, principal, session_ids, project, limit, most=_READ_CHARACTERS))

    def find_at_once(
        self, query: str, *, principal: str, session_ids: Sequence[str] | None, project: str | None, limit: int
    ) -> tuple[Match, ...] | None:
        """The same without a wait for anybody; None where that cannot be, or too much is to be read for it."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            db = self._connection
            if db is None or not self._is_current(self._home.disk.look(self._path)):
                return None
            return _search(query, principal, session_ids, project, limit, most=_AT_ONCE)(db)
        except (_Much, sqlite3.Error, OSError):
            return None  # whoever asks in a thread sees to it
        finally:
            self._lock.release()

    def indexed(self, principal: str, session_id: str) -> tuple[frozenset[str], int]:
        """Batches, and the stamp of the file that has them. Raises IndexDown."""
        sql = "SELECT DISTINCT batch_id FROM entries WHERE principal = ? AND session_id = ?"

        def work(db: sqlite3.Connection) -> tuple[frozenset[str], int]:
            rows = db.execute(sql, (_sql(principal), _sql(session_id))).fetchall()
            return frozenset(_text(batch_id) for (batch_id,) in rows), self._opened

        return self._run(work)

    def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        """Also their bytes: no page of the file, and nothing in its log, holds them afterwards. Raises IndexDown."""
        self._run(lambda db: _forget(db, principal, session_id, batch_ids))

    def discard(self) -> None:
        """Remove the file and its log: whoever has it open goes on in a new one.

        Raises:
            WriteFailed: it is still there.
        """
        disk = self._home.disk
        with self._lock:
            self._drop()
            busy = partial(OSError, errno.EAGAIN, "another process is making it anew")
            with writes("the search index"), self._locked(busy):
                self._home.witnesses.strike(self._path)
                for path in (self._path, self._path + "-wal", self._path + "-shm"):
                    if disk.look(path) is not None:
                        disk.remove(path)
                if disk.look(self._home.root) is not None:
                    disk.flush_folder(self._home.root)

    def flaw(self) -> str:
        """What is wrong with the file, in words; empty where nothing is, or nobody can say now. Writes nothing."""
        found = self._home.disk.look(self._path)
        if found is None or not found.size:
            return ""
        try:
            db = sqlite3.connect(self._home.disk.database(self._path), timeout=self._busy_timeout_s)
            try:
                ours = _version(db) == SCHEMA and db.execute("SELECT store FROM about").fetchone() == (
                    self._store_id(),
                )
                whole = ours and db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            finally:
                db.close()
        except sqlite3.Error as error:
            whole = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _GARBLED
        return "" if whole else "is garbled, or another store's: the next search makes it anew"

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                return self._attempt(work)
            except _Garbled:
                self._move_aside()
            try:
                return self._attempt(work)
            except _Garbled as error:
                raise IndexDown("a new index does not work either") from error

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._connected())
        except sqlite3.Error as error:
            self._drop()
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            if isinstance(error, sqlite3.DatabaseError) and code & 0xFF in _GARBLED:
                raise _Garbled from error
            raise IndexDown(type(error).__name__) from error
        except (OSError, StoreError) as error:
            self._drop()
            raise IndexDown(type(error).__name__) from error

    def _connected(self) -> sqlite3.Connection:
        """The open connection, or a new one: the file may be another one by now, and so may the process."""
        if self._connection is not None:
            if self._is_current(self._home.disk.look(self._path)):
                return self._connection
            self._drop()
        self._connection = self._connect()
        self._opened += 1
        return self._connection

    def _is_current(self, found: Found | None) -> bool:
        return self._pid == self._home.disk.pid() and found is not None and found.identity == self._identity

    def _connect(self) -> sqlite3.Connection:
        disk = self._home.disk
        self._home.make(self._home.root)
        found = disk.look(self._path)
        if found is None:
            with suppress(FileExistsError):  # another process may be quicker
                disk.close(disk.create(self._path))  # SQLite would let the umask decide who may read it
            self._home.witnesses.put_name(self._path)
            found = disk.look(self._path)
        if found is None or found.kind != "file":
            raise _Garbled
        self._identity, self._pid = found.identity, disk.pid()
        db = sqlite3.connect(
            disk.database(self._path),
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            uri=False,
        )
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA secure_delete=ON")
            self._check_schema(db)
        except BaseException:
            db.close()
            raise
        return db

    def _check_schema(self, db: sqlite3.Connection) -> None:
        if _version(db) == 0:
            with _Transaction(db):
                if _version(db) == 0:
                    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        raise _Garbled
                    for statement in filter(str.strip, _TABLES.split(";")):
                        _create(db, statement)
                    db.execute("INSERT INTO about VALUES (?)", (self._store_id(),))
                    db.execute(f"PRAGMA user_version={SCHEMA}")
        if _version(db) != SCHEMA or db.execute("SELECT store FROM about").fetchone() != (self._store_id(),):
            raise _Garbled

    def _move_aside(self) -> None:
        """Make room for a new index; one old one is kept for whoever wants to look at it."""
        disk = self._home.disk
        try:
            with self._locked(partial(IndexDown, "another process is making it anew")):
                found = disk.look(self._path)
                if found is not None and (found.kind != "file" or found.identity == self._identity):
                    disk.replace(self._path, self._path + ".aside")
                    for part in ("-wal", "-shm"):
                        if disk.look(self._path + part) is not None:
                            disk.remove(self._path + part)
        except OSError as error:
            raise IndexDown(type(error).__name__) from error

    def _locked(self, busy: Callable[[], Exception]) -> AbstractContextManager[None]:
        return self._home.locked(self._path + ".lock", self._busy_timeout_s, busy)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._pid == self._home.disk.pid():
            try:  # a connection from before a fork is left alone: closing it would touch the parent's locks
                connection.close()
            except sqlite3.Error:
                return


class _Transaction:
    """`BEGIN IMMEDIATE` to `COMMIT`: a plain BEGIN that reads first cannot wait for its turn to write."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._db.execute("COMMIT")
        elif self._db.in_transaction:
            self._db.execute("ROLLBACK")


def _create(db: sqlite3.Connection, statement: str) -> None:
    try:
        db.execute(statement)
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise IndexDown("this SQLite has no FTS5") from error
        raise


def _version(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA user_version").fetchone()[0]


def _add(db: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    with _Transaction(db):
        for entry in entries:
            names = [_sql(name) for name in (entry.principal, entry.session_id, entry.batch_id, entry.item_id)]
            where = "principal = ? AND session_id = ? AND batch_id = ? AND item_id = ?"
            _remove(db, where, names)
            text, named, tool, title = map(_whole, (entry.text, entry.named, entry.tool_name, entry.title))
            row = db.execute(
                "INSERT INTO entries (principal, session_id, batch_id, item_id, project, text, named, tool_name, title,"
                " ts, stands) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (
                    *(*names, _sql(entry.project), text, named, tool, title, entry.ts),
                    entry.lines_stand + 2 * entry.places_stand,
                ),
            )
            db.execute(
                "INSERT INTO found (rowid, names, words, parts, cjk) VALUES (?,?,?,?,?)",
                (row.lastrowid, *_columns(text, named)),
            )


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _columns(text: str, named: str) -> tuple[str, str, str, str]:
    both = f"{named}\n{text}"
    return words(named), words(text), parts(both), cjk(both)


def _forget(db: sqlite3.Connection, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
    with _Transaction(db):
        for batch_id in batch_ids:
            names = [_sql(principal), _sql(session_id), _sql(batch_id)]
            _remove(db, "principal = ? AND session_id = ? AND batch_id = ?", names)
        db.execute("INSERT INTO found (found) VALUES ('optimize')")  # a deletion of FTS5 stays beside what it deletes
    db.execute("VACUUM")
    if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise IndexDown("somebody reads in it: its log still has the old pages")


def _remove(db: sqlite3.Connection, where: str, names: Sequence[str | bytes]) -> None:
    """FTS5 keeps no texts of its own here, so it must be told again which words the entry had."""
    for row, text, named in db.execute(f"SELECT id, text, named FROM entries WHERE {where}", names).fetchall():
        db.execute(
            "INSERT INTO found (found, rowid, names, words, parts, cjk) VALUES ('delete',?,?,?,?,?)",
            (row, *_columns(text, named)),
        )
        db.execute("DELETE FROM entries WHERE id = ?", (row,))


def _search(
    query: str, principal: str, session_ids: Sequence[str] | None, project: str | None, limit: int, *, most: int
) -> Callable[[sqlite3.Connection], tuple[Match, ...]]:
    """What finds it; it raises `_Much` where more than `most` characters are to be read, and those are not all."""
    asked = read(query)
    scope: dict[str, Any] = {
        "principal": _sql(principal),
        "sessions": None if session_ids is None else json.dumps([_hex(name) for name in session_ids]),
        "project": None if project is None else _sql(project),
        "likely": min(max(limit, _LIKELY), 1 << 30),
        "most": most,
    }
    sessions = None if session_ids is None else [_sql(name) for name in dict.fromkeys(session_ids)]

    def work(db: sqlite3.Connection) -> tuple[Match, ...]:
        if not asked.terms or limit <= 0:
            return ()
        return _find(db, asked, scope, limit, _total(db, scope, sessions))

    return work


def _total(db: sqlite3.Connection, scope: dict[str, Any], sessions: Sequence[str | bytes] | None) -> int:
    """How many texts there are in these sessions, or in all."""
    if sessions is None:
        return db.execute(_TOTAL, scope).fetchone()[0]
    return sum(db.execute(_TOTAL_OF_ONE, {**scope, "session": one}).fetchone()[0] for one in sessions)


def _find(db: sqlite3.Connection, asked: Query, scope: dict[str, Any], limit: int, total: int) -> tuple[Match, ...]:
    rows = _rows(db, _expression(asked.needs[0]), scope) if len(asked.needs) == 1 else []
    if 0 < len(rows) < scope["likely"]:  # that is all of them
        having, needs = [len(rows)], list(asked.needs)
    else:
        having, needs, rows = _counted(db, asked, scope)
    likely, read_characters = list[Entry](), 0
    for row in rows:
        read_characters += len(row[3])
        if likely and read_characters > _READ_CHARACTERS:
            break
        likely.append(_entry(row, scope["principal"]))
    answers = ranked([Text(one.named, one.text) for one in likely], needs, having=having, total=total)
    return best(zip(likely, answers, strict=True), asked, limit)


def _counted(
    db: sqlite3.Connection, asked: Query, scope: dict[str, Any]
) -> tuple[list[int], list[Need], list[tuple[Any, ...]]]:
    """How many texts have each need, the needs as they are looked for, and the likeliest texts."""
    having: list[int] = []
    needs: list[Need] = []
    for need in asked.needs:
        count = _count(db, need, scope)
        if not count and may_begin(need.term):
            need = need._replace(prefix=True)
            count = _count(db, need, scope)
        having.append(count)
        needs.append(need)
    telling = _telling(asked, having)
    having, needs = [having[n] for n in telling], [needs[n] for n in telling]
    if not needs:
        return [], [], []
    wanted = [f"({_expression(one)})" for one in needs[: len(asked.terms)]] if asked.every else []
    rows = _rows(db, " AND ".join(wanted), scope) if wanted else []
    return having, needs, rows or _rows(db, " OR ".join(f"({_expression(one)})" for one in needs), scope)


def _telling(asked: Query, having: Sequence[int]) -> list[int]:
    """Numbers of the needs that are looked for: of a long query the rarest that are there at all."""
    if asked.every:
        return list(range(len(having)))
    there = sorted((count, number) for number, count in enumerate(having) if count)
    return sorted(number for _, number in there[:_RAREST])


def _count(db: sqlite3.Connection, need: Need, scope: dict[str, Any]) -> int:
    return db.execute(_COUNT_OF, {**scope, "match": _expression(need)}).fetchone()[0]


def _rows(db: sqlite3.Connection, match: str, scope: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What matches, in no order where all of it is to be read; else the likeliest, in order."""
    given = {**scope, "match": match}
    rows: list[tuple[Any, ...]] = []
    characters = 0
    for row in db.execute(_ALL, given):
        rows.append(row)
        characters += len(row[3])
        if len(rows) > scope["likely"] or characters > scope["most"]:
            if scope["most"] < _READ_CHARACTERS:
                raise _Much
            return db.execute(_FIND, given).fetchall()
    return rows


def _expression(need: Need) -> str:
    """A need in FTS5's syntax. Words hold letters, digits and `_` only, so nothing in the quotes needs escaping."""
    term = need.term
    prefix = "*" if need.prefix or (term.cjk and len(term.words[0]) == 1) else ""
    column = "cjk" if term.cjk else "{names words parts}"
    return " OR ".join(f'{column} : "{words}"{prefix}' for words in (" ".join(term.words), *need.near))


def _entry(row: tuple[Any, ...], principal: str | bytes) -> Entry:
    session_id, batch_id, item_id, text, named, tool_name, title, ts, stands = row
    return Entry(
        principal=_text(principal),
        session_id=_text(session_id),
        batch_id=_text(batch_id),
        item_id=_text(item_id),
        text=text,
        named=named,
        tool_name=tool_name,
        title=title,
        ts=ts,
        lines_stand=bool(stands & 1),
        places_stand=bool(stands & 2),
    )


def _sql(name: str) -> str | bytes:
    """A name for SQLite. One with half a surrogate pair or a NUL, which it cannot take as text, goes in as bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")
    return name.encode() if "\0" in name else name


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _hex(name: str) -> str:
    value = _sql(name)
    return (value if isinstance(value, bytes) else value.encode()).hex().upper()


T = TypeVar("T")

RETRY_AFTER_S = 20.0
_NEVER = float("-inf")
KEPT_SESSIONS = 256
"""Of which it is known what is indexed, so that a search need not ask again."""


QUICK_S = 0.005
"""A search is done without a thread where the one before took no longer: to a thread and back takes a fifth of what a
search in one session does."""


class _Asked(NamedTuple):
    """Arguments of `find`."""

    query: str
    principal: str
    session_ids: Sequence[str] | None
    project: str | None
    limit: int


class IndexSearch:
    """See `ports.store.Search`. Never raises for a broken index: then entries are kept in memory and looked through.

    `indexed` speaks of whichever of the two answers, so its caller adds to the right one.
    """

    def __init__(self, index: FtsIndex, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._index = index
        self._spare = LinearSearch()
        self._monotonic = monotonic
        self._down_until = _NEVER
        self._was_quick = False
        self._known: dict[tuple[str, str], tuple[frozenset[str], int | None]] = {}
        """Principal and session -> batches that were found to be indexed, and in which file; None: not in one."""

    @in_thread
    def add(self, entries: Sequence[Entry]) -> None:
        self._either(lambda: self._index.add(entries), lambda: self._spare.add(entries))
        for key in {(entry.principal, entry.session_id) for entry in entries}:
            self._known.pop(key, None)

    async def find(
        self,
        query: str,
        *,
        principal: str = "",
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> tuple[Match, ...]:
        asked = _Asked(query, principal, session_ids, project, limit)
        began = self._monotonic()
        found = self._at_once(asked) if self._was_quick else None
        if found is None:
            found = await hop(self._found, asked)
        self._was_quick = self._monotonic() - began <= QUICK_S
        return found

    def _at_once(self, asked: _Asked) -> tuple[Match, ...] | None:
        found = None if self._is_down() else self._index.find_at_once(**asked._asdict())
        if found is not None:
            self._is_up()
        return found

    def _found(self, asked: _Asked) -> tuple[Match, ...]:
        return self._either(lambda: self._index.find(**asked._asdict()), lambda: self._spare.find(**asked._asdict()))

    async def lacking(self, principal: str, session_id: str, batch_ids: Collection[str]) -> frozenset[str]:
        return frozenset(batch_ids) - await self.indexed(principal, session_id)

    async def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        known = self._known.get((principal, session_id))
        if known is not None and known[1] is not None and known[1] == self._index.stamp() and not self._is_down():
            return known[0]
        return await hop(self._asked, principal, session_id)

    def _asked(self, principal: str, session_id: str) -> frozenset[str]:
        found = self._either(
            lambda: self._index.indexed(principal, session_id),
            lambda: (self._spare.indexed(principal, session_id), None),
        )
        if len(self._known) >= KEPT_SESSIONS:
            self._known.clear()
        self._known[principal, session_id] = found
        return found[0]

    async def find_everywhere(
        self, query: str, *, principal: str = "", project: str | None = None, limit: int = 10
    ) -> tuple[Match, ...] | None:
        return None

    async def behind(self, principal: str, session_ids: Collection[str] | None = None) -> frozenset[str] | None:
        """The index is a file of its own, which may be older than the archive, or gone."""
        return None

    def close(self) -> None:
        self._index.close()

    @in_thread
    def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        """What cannot be taken out of the index goes with it: it is made anew from the archive."""
        self._known.pop((principal, session_id), None)
        self._spare.forget(principal, session_id, batch_ids)
        try:
            self._index.forget(principal, session_id, batch_ids)
        except IndexDown:
            self._index.discard()

    def _is_down(self) -> bool:
        return self._monotonic() < self._down_until

    def _either(self, first: Callable[[], T], second: Callable[[], T]) -> T:
        if not self._is_down():
            try:
                answer = first()
            except IndexDown:
                self._down_until = self._monotonic() + RETRY_AFTER_S
            else:
                self._is_up()
                return answer
        return second()

    def _is_up(self) -> None:
        """What was kept in memory while the index was down is asked of it again."""
        if self._down_until > _NEVER:
            self._down_until = _NEVER
            self._spare.clear()

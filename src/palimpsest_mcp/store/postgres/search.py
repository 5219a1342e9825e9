"""Search in rows: the database finds candidates by their words (GIN), the scorer of the disk ranks them.

Words as PostgreSQL's tsvector has them: those of an entry, those of a query, and the pieces that words have.

A lexeme is `w` and a stem, `c` and a pair of characters of a script without spaces, or `t` and three letters that stand
side by side in a word, a blank at its ends among them; besides, whose an entry is and where it belongs. One GIN index
has them all, so that a piece of a word is looked for among the rows of its principal only, in any script and locale.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ...models.events import SessionKey
from ...ports.store import Entry, Match
from ...text.stem import stem
from ..score import WORD, Need, Query, Term, Text, best, cjk, fold, keys, may_begin, parts, ranked, read, words
from .link import Conn, Link, Row, owner_of
from .rows import Keys, name_bytes, name_hash, name_text, packed, unpacked

_MOST_KEYS_BYTES = 600_000
"""A tsvector takes a megabyte; the rarest of so large a text are as good as found by what comes first."""
_LONGEST_KEY = 500
_MOST_TIMES = 8
"""A word that stands oftener counts no more where candidates are chosen."""
_MOST_PIECES = 10_000
"""Of one entry."""
_SHORTEST_INSIDE = 4
"""Letters of what is looked for inside of words."""
_SHORTEST_MISSPELT = 6
"""Letters of what may differ from a word by one of them."""
_LONGEST_IN_PIECES = 64
"""Longer words have no pieces: they are nothing that somebody types."""
_FREQUENT = "etaoinshrdlcumwfgypbvkjxqz"
"""Letters of English, the most frequent first; what is none of them counts as the most frequent, whatever it is."""
_MOST_WRONG = 4
"""Pieces of a word that one wrong letter is in."""
_MOST_GAPS = 3
"""Ways to leave them out."""
_MOST_ASKED = 3
"""Pieces of what is looked for inside of words."""
_MOST_NEAR = 16
"""Words that stand for one that nothing has."""


def lexeme(text: str) -> str:
    """A lexeme in the quotes that both types take."""
    return f"'{_QUOTED.sub(lambda one: one.group() * 2, text)}'"


_QUOTED = re.compile(r"['\\]")


def vector(entry: Entry, scope: Sequence[str]) -> str:
    """The entry's words with as many places as they stand at, since these count where candidates are chosen."""
    both = f"{entry.named}\n{entry.text}"
    whole = words(both)
    counts = Counter(f"w{stem(fold(word))}" for word in WORD.findall(whole))
    counts.update(f"w{key}" for word in WORD.findall(parts(both)) for key in keys(word))
    counts.update(f"c{fold(pair)}" for pair in cjk(both).split())
    named = {f"w{stem(fold(word))}" for word in WORD.findall(words(entry.named))}
    found = [lexeme(one) for one in scope]
    size = 0
    for word, times in counts.items():
        size += len(word.encode("utf-8", "replace")) + 8
        if len(word) > _LONGEST_KEY or size > _MOST_KEYS_BYTES:
            continue
        weight = "A" if word in named else ""
        found.append(f"{lexeme(word)}:{','.join(f'{at}{weight}' for at in range(1, min(times, _MOST_TIMES) + 1))}")
    return " ".join([*found, *map(lexeme, _pieces_of(whole))])


def _pieces_of(text: str) -> list[str]:
    several = {fold(word) for word in dict.fromkeys(WORD.findall(text)) if _has_pieces(word)}
    pieces: dict[str, None] = {}
    for word in sorted(several):
        pieces.update(dict.fromkeys(_pieces(f" {word} ")))
        if len(pieces) > _MOST_PIECES:
            break
    return list(pieces)[:_MOST_PIECES]


def _has_pieces(word: str) -> bool:
    """Whether something shorter may be looked for in it. A code with digits is found by itself and its beginning: its
    pieces would be a third of all."""
    return _SHORTEST_INSIDE < len(word) <= _LONGEST_IN_PIECES and not _has_digits(word)


def _has_digits(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def _pieces(text: str) -> list[str]:
    return [f"t{text[at : at + 3]}" for at in range(len(text) - 2)]


def expression(need: Need) -> str:
    """A need as a tsquery; a phrase is all of its words, which the scorer then looks for side by side."""
    term = need.term
    if term.cjk:
        return " & ".join(_pair(pair) for pair in term.words)
    if need.near and not need.prefix:
        return " | ".join(dict.fromkeys(_word(word, prefix=False) for word in (*term.words, *need.near)))
    lexemes = [_word(word, prefix=need.prefix) for word in term.words]
    return " & ".join(lexemes)


def _word(word: str, *, prefix: bool) -> str:
    key = fold(word)
    if prefix:
        return lexeme(f"w{key[:_LONGEST_KEY]}") + ":*"
    whole = lexeme(f"w{stem(key)}"[: _LONGEST_KEY + 1])
    return whole


def _pair(pair: str) -> str:
    folded = fold(pair)
    return lexeme(f"c{folded}") + (":*" if len(pair) == 1 else "")


# Where nothing has a word, whole or as a beginning, words stand for it that have it inside, or differ by one letter.


def may_be_near(term: Term) -> bool:
    """Whether a term may stand for words that only resemble it: a number is itself or nothing."""
    word = term.words[0]
    return not term.cjk and not term.several and len(word) >= _SHORTEST_INSIDE and not _has_digits(word)


class Near(NamedTuple):
    """What finds entries that may have words which stand for a term."""

    inside: str
    """With it inside."""
    halves: tuple[str, ...]
    """Ways to find what differs by a letter, with other endings too: of few entries, since half a word is in many."""
    gaps: tuple[str, ...]
    """The same of many entries: all of the word but a gap, wherever that is; at its end `s` may stand or not."""
    ranking: str
    """What says how likely each is."""


def near_expressions(term: Term) -> Near:
    """Ways to find what resembles a term.

    One letter too many, too few or wrong, or two that changed places, leave a word's beginning or its end as it was,
    and are in four of its pieces at most, which stand side by side.
    """
    word = fold(term.words[0])
    halves: list[Sequence[str]] = []
    gaps: list[str] = []
    if len(word) >= _SHORTEST_MISSPELT:
        rest = (len(word) - 2) // 2
        halves = [_pieces(f" {word[:rest]}"), _pieces(f"{word[-rest:]} ")]
        gaps = _with_gaps(word)
    inside = _joined(" & ", _rarest(_pieces(word)))
    return Near(
        inside, tuple(_joined(" & ", half) for half in halves), tuple(gaps), _joined(" | ", _pieces(f" {word} "))
    )


class Way(NamedTuple):
    """One way to find what resembles a need."""

    number: int
    finds: str
    ranking: str
    kind: int


_HALF, _GAP, INSIDE = range(3)
"""Kinds: the first is for few entries, the second for many, the last where the other two find nothing."""


def ways_to(number: int, need: Need) -> list[Way]:
    """By letters that are wrong, and inside of words."""
    inside, halves, gaps, ranking = near_expressions(need.term)
    ways = [(_HALF, one) for one in halves] + [(_GAP, one) for one in gaps] + [(INSIDE, inside)]
    return [Way(number, one, ranking, kind) for kind, one in ways]


def _with_gaps(word: str) -> list[str]:
    base = word[:-1] if word.endswith("s") and len(word) > _SHORTEST_MISSPELT else word
    *pieces, end = _pieces(f" {base} ")
    said = [*map(lexeme, pieces), f"({lexeme(end)} | {lexeme(f't{base[-2:]}s')})"]
    step = -(-(len(said) - _MOST_WRONG + 1) // _MOST_GAPS)
    starts = range(0, len(said) - _MOST_WRONG + 1, step)
    return [" & ".join(dict.fromkeys(said[:start] + said[start + step + _MOST_WRONG - 1 :])) for start in starts]


def _rarest(pieces: Sequence[str]) -> list[str]:
    """Those of the rarest letters: each piece that is asked for costs a look at all that have it."""
    return sorted(dict.fromkeys(pieces), key=lambda one: (-sum(map(_FREQUENT.find, one[1:])), one))[:_MOST_ASKED]


def _joined(sign: str, pieces: Iterable[str]) -> str:
    return sign.join(map(lexeme, dict.fromkeys(pieces)))


def near(term: Term, texts: Iterable[Text]) -> tuple[str, ...]:
    """The words of some texts that stand for a term: those that have it inside, shortest first; else those that differ
    by one letter."""
    word = fold(term.words[0])
    known = set(WORD.findall(fold(words("\n".join([f"{text.named}\n{text.body}" for text in texts])))))
    found = [one for one in known if word in one and len(one) <= _LONGEST_IN_PIECES]
    if not found and len(word) >= _SHORTEST_MISSPELT:
        begun = stem(word)
        found = [one for one in known if one_letter_off(word, one) or one_letter_off(begun, stem(one))]
    return tuple(sorted(found, key=lambda one: (len(one), one))[:_MOST_NEAR])


def one_letter_off(one: str, other: str) -> bool:
    """Whether a letter too many, too few or wrong, or two neighbours that changed places, make one word of another."""
    if not -2 < len(one) - len(other) < 2 or (one[:1] != other[:1] and one[-1:] != other[-1:]):
        return False  # one letter is not both the first and the last
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if short == long or len(short) < _SHORTEST_INSIDE:
        return False
    at = next((n for n, sign in enumerate(short) if sign != long[n]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[:at] + short[at : at + 2][::-1] + short[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or swapped == long


_LIKELY = 50
"""So many of the likeliest are read to be ranked, or as many as are asked for."""
_LOOKED_AT = 500
"""Of so many that have the words the likeliest are chosen."""
_COUNTED = 10_000
"""More than so many are all the same to a word's rarity."""
MANY = 250
"""What so many have is common, and where there are `_COUNTED` it is counted no further."""
_SMALL = 300
"""Entries that are read rather than looked for word by word, where only a few sessions are meant."""
COMMON_S = 600.0
"""So long its count is taken for what it was."""
_KEPT = 10_000
"""Counts."""
_RAREST = 24
_RESEMBLING = 30
"""So many texts are read for words that resemble one that nothing has."""
_SESSIONS = 40
"""More sessions than these are told apart by their rows, not by words."""


class _Said(msgspec.Struct):
    """What a row keeps of an entry."""

    item_id: str
    text: str
    named: str
    tool_name: str
    title: str
    ts: str


_SAID = msgspec.json.Decoder(_Said)


class PgSearch:
    """See `ports.store.Search`."""

    def __init__(self, link: Link, sessions: Keys) -> None:
        self._link, self._sessions = link, sessions
        self._common = Common()

    async def add(self, entries: Sequence[Entry]) -> None:
        by_session: dict[SessionKey, list[Entry]] = {}
        for entry in entries:
            by_session.setdefault(SessionKey(entry.session_id, entry.principal), []).append(entry)
        for key, some in by_session.items():
            await self._add(key, some)

    async def _add(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        async def work(connection: Conn, again: bool) -> None:
            state = await self._sessions.ensure(connection, key, anew=again)
            columns = await asyncio.to_thread(self._columns, entries, key, state.key)
            await connection.execute(
                "with done as (delete from unsearched where tenant = $1 and session_key = $3 and batch_id = any($5))"
                " insert into entry (tenant, owner, session_key, entry_hash, batch_id, stands, enc, body, words)"
                " select $1, $2, $3, one.entry_hash, one.batch_id, one.stands, one.enc, one.body, one.words::tsvector"
                " from unnest($4::bytea[], $5::bytea[], $6::smallint[], $7::smallint[], $8::bytea[], $9::text[])"
                " as one (entry_hash, batch_id, stands, enc, body, words)"
                " on conflict (session_key, entry_hash) do update set stands = excluded.stands, enc = excluded.enc,"
                " body = excluded.body, words = excluded.words",
                *(self._link.tenant, owner_of(key.principal), state.key, *columns),
            )

        await self._link.run(key.principal, work, writing=True)

    def _columns(self, entries: Sequence[Entry], key: SessionKey, session: uuid.UUID) -> tuple[list[Any], ...]:
        newest = {_hash(entry): entry for entry in entries}
        bodies = [packed(msgspec.json.encode(_said(entry))) for entry in newest.values()]
        return (
            list(newest),
            [name_bytes(entry.batch_id) for entry in newest.values()],
            [entry.lines_stand + 2 * entry.places_stand for entry in newest.values()],
            [body.enc for body in bodies],
            [body.sha256 + body.data for body in bodies],
            [
                vector(entry, [self._scope(key.principal), _session(session), _project(entry.project)])
                for entry in newest.values()
            ],
        )

    async def find(
        self,
        query: str,
        *,
        principal: str = "",
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> tuple[Match, ...]:
        return await self._find(query, principal, session_ids, project, limit) or ()

    async def find_everywhere(
        self, query: str, *, principal: str = "", project: str | None = None, limit: int = 10
    ) -> tuple[Match, ...] | None:
        return await self._find(query, principal, None, project, limit, unless_behind=True)

    async def _find(
        self,
        query: str,
        principal: str,
        session_ids: Sequence[str] | None,
        project: str | None,
        limit: int,
        *,
        unless_behind: bool = False,
    ) -> tuple[Match, ...] | None:
        asked = read(query)
        if not asked.terms or limit <= 0 or session_ids == []:
            return ()
        likely = min(max(limit, _LIKELY), 10_000)
        chosen = None if session_ids is None else await self._keys_of(principal, session_ids)
        if chosen == []:
            return ()
        few, scope = None, list[str]()
        if chosen is not None and len(chosen) <= _SESSIONS:
            scope.append(f"({' | '.join(lexeme(_session(one)) for one in chosen)})")
            few, chosen = chosen, None
        else:
            scope.append(lexeme(self._scope(principal)))
        if project is not None:
            scope.append(lexeme(_project(project)))
        within = _Within(self._link, principal, " & ".join(scope), few, chosen, self._common)
        found = await self._found(within, asked, likely, unless_behind=unless_behind)
        if found is None or not found.rows:
            return None if found is None else ()
        return await asyncio.to_thread(_ranked, asked, found, principal, limit)

    async def _found(self, within: _Within, asked: Query, likely: int, *, unless_behind: bool) -> _Found | None:
        """One statement, and up to two more where words that resemble what nothing has are to be put in its place."""
        may = [asked.every and n < len(asked.terms) and may_be_near(need.term) for n, need in enumerate(asked.needs)]
        ways = [way for n, need in enumerate(asked.needs) if may[n] for way in ways_to(n, need)]
        ways.sort(key=lambda way: way.kind)
        needs, absent = asked.needs, frozenset[int]()
        while True:
            answer = await within.search(asked, needs, likely, ways, absent=absent, unless_behind=unless_behind)
            if answer is None:
                return None
            found, alike = answer
            if not alike:
                return found
            unless_behind = False
            stand = await asyncio.to_thread(_near, asked.needs, alike)
            needs = [
                need._replace(prefix=False, near=stand[n]) if stand.get(n) else need
                for n, need in enumerate(found.needs)
            ]
            was_inside = any(row["begun"][0] for row in alike)
            ways = [] if was_inside else [way for way in ways if way.kind == INSIDE and not stand.get(way.number)]
            absent = frozenset(row["number"] - 1 for row in alike if not stand.get(row["number"] - 1))
            if not ways and absent and len(needs) == 1:
                return found

    async def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        key = SessionKey(session_id, principal)

        async def work(connection: Conn, again: bool) -> list[Row]:
            state = await self._sessions.find(connection, key, anew=again)
            if state is None:
                return []
            return await connection.fetch(
                "select distinct batch_id from entry where tenant = $1 and session_key = $2",
                *(self._link.tenant, state.key),
            )

        return frozenset(name_text(row["batch_id"]) for row in await self._link.run(principal, work))

    async def lacking(self, principal: str, session_id: str, batch_ids: Collection[str]) -> frozenset[str]:
        if not batch_ids:
            return frozenset()
        hashed = name_hash(SessionKey(session_id, principal))
        first, *rows = await self._link.ask("unsearched_batches($1, $2, $3)", principal, hashed)
        if not first["has_any"]:  # what the index had may have been lost
            return frozenset(batch_ids)
        return frozenset(batch_ids).intersection(name_text(row["batch_id"]) for row in rows)

    async def behind(self, principal: str, session_ids: Collection[str] | None = None) -> frozenset[str] | None:
        if session_ids is None:
            rows = await self._link.ask("unsearched_sessions($1, $2)", principal)
        else:
            rows = [row for row in await self._look(principal, session_ids) if row["is_behind"]]
        return frozenset(name_text(row["name"]) for row in rows)

    async def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        key = SessionKey(session_id, principal)

        async def work(connection: Conn, again: bool) -> None:
            if (state := await self._sessions.find(connection, key, anew=again)) is not None:
                await connection.execute(
                    "with gone as (delete from unsearched"
                    " where tenant = $1 and session_key = $2 and batch_id = any($3))"
                    " delete from entry where tenant = $1 and session_key = $2 and batch_id = any($3::bytea[])",
                    *(self._link.tenant, state.key, [name_bytes(one) for one in batch_ids]),
                )

        await self._link.run(principal, work, writing=True)

    async def _keys_of(self, principal: str, session_ids: Sequence[str]) -> list[uuid.UUID]:
        keys = [SessionKey(one, principal) for one in session_ids if one]
        known = [state.key for key in keys if (state := self._sessions.known(key)) is not None]
        if len(known) == len(keys):  # by the key of one that was dropped since nothing is found
            return known
        return [row["session_key"] for row in await self._look(principal, [one.session_id for one in keys])]

    async def _look(self, principal: str, session_ids: Iterable[str]) -> list[Row]:
        hashes = [name_hash(SessionKey(one, principal)) for one in session_ids]
        rows = await self._link.ask("sessions_searched($1, $2, $3)", principal, hashes)
        for row in rows:
            self._sessions.keep(row["name_hash"], row)
        return rows

    def _scope(self, principal: str) -> str:
        return "=" + hashlib.sha256(self._link.tenant.encode() + owner_of(principal)).hexdigest()[:16]


class Common:
    """How many have what many have: it changes slowly, and is counted again only after some time."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._known: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def known(self, queries: Iterable[str]) -> dict[str, int]:
        """What was counted a while ago, and is still taken for it."""
        now_s = self._clock_s()
        found = {one: self._known[one] for one in queries if one in self._known}
        return {one: count for one, (until_s, count) in found.items() if until_s > now_s}

    def note(self, counts: Mapping[str, int]) -> None:
        """Keep those of what many have."""
        for query, count in counts.items():
            if count >= MANY:
                self._known[query] = self._clock_s() + COMMON_S, count
                self._known.move_to_end(query)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


class _Within(NamedTuple):
    """What is looked through."""

    link: Link
    principal: str
    scope: str
    few: list[uuid.UUID] | None
    """Sessions that the scope names."""
    chosen: list[uuid.UUID] | None
    """Those that are too many for it."""
    common: Common

    async def search(
        self,
        asked: Query,
        needs: Sequence[Need],
        likely: int,
        ways: Sequence[Way],
        *,
        absent: Collection[int],
        unless_behind: bool,
    ) -> tuple[_Found, list[Row]] | None:
        """The likeliest entries, and how many have each need.

        Args:
            ways: to find what resembles needs that nothing has, those inside of words last.
            absent: numbers of needs that nothing has, whole or as a beginning.

        Returns:
            What was found; where nothing has some needs but what resembles them, only that, with the need's number.
            None where something is behind, and `unless_behind` says so.
        """
        queries = [self.scope, *(f"{self.scope} & ({expression(need)})" for need in needs)]
        known = self.common.known(queries) if self.chosen is None else {}
        known |= {queries[n + 1]: 0 for n in absent}
        rows = await self.link.ask(
            "search_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,"
            " $21)",
            self.principal,
            queries,
            [known.get(one) for one in queries],
            [expression(need) for need in needs],
            ["" if n in absent else _beginning(need) for n, need in enumerate(needs)],
            [f"{self.scope} & ({way.finds})" for way in ways],
            [way.number + 1 for way in ways],
            [way.ranking for way in ways],
            [way.kind for way in ways],
            len(asked.terms) if asked.every else 0,
            *(self.few, self.chosen, _COUNTED, MANY, max(_LOOKED_AT, likely), likely, _RESEMBLING, _RAREST, _SMALL),
            unless_behind,
        )
        if not rows:
            return None
        first = next(row for row in rows if row["counts"] is not None)
        rows = [row for row in rows if row is not first]
        total, *having = first["counts"]
        begun = first["begun"]
        if self.chosen is None:
            counts = zip(queries, first["counts"], [False, *begun], strict=True)
            self.common.note({query: count for query, count, is_begun in counts if not is_begun})
        needs = [need._replace(prefix=True) if is_begun else need for need, is_begun in zip(needs, begun, strict=True)]
        alike = [row for row in rows if row["number"]]
        if not asked.every:
            there = sorted((count, number) for number, count in enumerate(having) if count)
            telling = sorted(number for _, number in there[:_RAREST])
            needs, having = [needs[n] for n in telling], [having[n] for n in telling]
        return _Found(needs, having, total, [] if alike else rows), alike


class _Found(NamedTuple):
    """What a search brings, to be ranked."""

    needs: Sequence[Need]
    having: Sequence[int]
    """How many entries have each."""
    total: int
    """How many there are."""
    rows: Sequence[Row]


def _beginning(need: Need) -> str:
    """What finds words that begin with it; empty where none stands for it."""
    return expression(need._replace(prefix=True)) if may_begin(need.term) and not need.prefix else ""


def _near(needs: Sequence[Need], rows: Sequence[Row]) -> dict[int, tuple[str, ...]]:
    """By number of the need the words that stand for it, from what resembles it."""
    said: dict[int, list[Text]] = {}
    for row in rows:
        one = _SAID.decode(texts(row))
        said.setdefault(row["number"] - 1, []).append(Text(one.named, one.text))
    return {number: near(needs[number].term, some) for number, some in said.items()}


def texts(row: Row) -> bytes:
    """What a row keeps, for who looks for a text in it."""
    return unpacked(row["enc"], row["body"][32:], row["body"][:32])


def _ranked(
    asked: Query,
    found: _Found,
    principal: str,
    limit: int,
) -> tuple[Match, ...]:
    entries = [_entry(row, principal) for row in found.rows]
    answers = ranked(
        [Text(one.named, one.text) for one in entries], found.needs, having=found.having, total=found.total
    )
    handles = {entry.session_id: row["handle"] for entry, row in zip(entries, found.rows, strict=True)}
    hits = best(zip(entries, answers, strict=True), asked, limit)
    return tuple([msgspec.structs.replace(hit, handle=name_text(handles[hit.session_id] or b"")) for hit in hits])


def _entry(row: Row, principal: str) -> Entry:
    said = _SAID.decode(texts(row))
    batch_id, item_id = msgspec.json.decode(said.item_id, type=tuple[str, str])
    return Entry(
        principal=principal,
        session_id=name_text(row["name"]),
        batch_id=_unescaped(batch_id),
        item_id=_unescaped(item_id),
        text=said.text,
        named=said.named,
        tool_name=said.tool_name,
        title=said.title,
        ts=said.ts,
        lines_stand=bool(row["stands"] & 1),
        places_stand=bool(row["stands"] & 2),
    )


def _said(entry: Entry) -> _Said:
    ids = [name_bytes(one).decode("latin-1") for one in (entry.batch_id, entry.item_id)]
    text, named, tool, title = map(_whole, (entry.text, entry.named, entry.tool_name, entry.title))
    return _Said(msgspec.json.encode(ids).decode(), text, named, tool, title, entry.ts)


def _unescaped(latin: str) -> str:
    return name_text(latin.encode("latin-1"))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _hash(entry: Entry) -> bytes:
    batch = name_bytes(entry.batch_id)
    return hashlib.sha256(b"%d:" % len(batch) + batch + name_bytes(entry.item_id)).digest()[:16]


def _session(session: uuid.UUID) -> str:
    return "@" + session.hex


def _project(project: str) -> str:
    return "/" + hashlib.sha256(name_bytes(project)).hexdigest()[:16]

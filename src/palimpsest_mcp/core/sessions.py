"""Sessions by id or handle, and their folds kept up to date.

Which session a name means: ids, handles, beginnings of either, files; and which ones an unknown name is near.
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from ..context.fold import Fold, FoldSums
from ..context.opened_fold import OpenedFold
from ..context.state import Parts
from ..context.view import View, view
from ..errors import InvalidArgument, RevConflict, SessionUnknown, StoreUnusable
from ..models.advice import Advice, Either, step, tool_call
from ..models.events import Decision, Observation, SessionInfo, SessionKey
from ..models.text import counted, plain_line, shown
from ..ports.store import Checkpoint, LedgerPage
from .dependencies import ContentCounter, Dependencies, doing
from .surface import named_by_mark

LEAST_BEGINNING = 4
"""Characters of an id or handle that may stand for the whole."""
LEAST_WORD = 5
"""Characters of a word in which one slip is seen as one; in twice as many two are."""
NEAR = 3
"""How many near names are said."""
NEWEST = 5
"""Sessions that an error names where none is near."""
SHARE = 0.6
"""How much two names must have in common, by `difflib`, to be offered where a name is only looked up."""

_WORDS = re.compile(r"[^\W_]+|[\W_]+")
_IN_A_ROW = re.compile(r"[^\W\d_]*\d+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HASHED = re.compile(r"-[0-9a-f]{8}")
_FILE = re.compile(r"[/\\]|\.(?:jsonl?|gz)$", re.IGNORECASE)


def begun(name: str, infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sessions whose id or handle begins with a name."""
    if len(name) < LEAST_BEGINNING:
        return []
    return [one for one in infos if one.session_id.startswith(name) or one.handle.startswith(name)]


def exactly(name: str, infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """The session of this id, else those of this handle."""
    return [one for one in infos if one.session_id == name] or [one for one in infos if one.handle == name]


def read_from(name: str, infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sessions that were read from a file, by its path; a transcript also by the id that is its name. Opens nothing."""
    if not _FILE.search(name) or "\0" in name:
        return []
    path = os.path.abspath(os.path.expanduser(name))
    paths = {path, os.path.realpath(path)}
    stem = re.split(r"[/\\]", name)[-1].removesuffix(".jsonl")
    return [one for one in infos if one.path in paths] or [one for one in infos if one.session_id == stem]


def slips(name: str, infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sessions of which a name is a slip: for calls that would make a session of a new name."""
    return [one for one in infos if _is_slip(name, one.session_id) or _is_slip(name, one.handle)][:NEAR]


def near(name: str, infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sessions that may be meant by a name, the nearest first: slips, beginnings, then what is much alike."""
    found = {one.handle: one for one in (*slips(name, infos), *begun(name, infos))}
    known = {word: one for one in infos for word in (one.session_id, _stem(one.session_id), one.handle)}
    for word in difflib.get_close_matches(name[:200], list(known), n=NEAR, cutoff=SHARE):
        found.setdefault(known[word].handle, known[word])
    return list(found.values())[:NEAR]


def called(info: SessionInfo) -> str:
    """`harbour (srn2l)`: a session as a sentence names it."""
    return f"{plain_line(info.session_id, 80)} ({info.handle})"


def unknown(name: str, meant: Sequence[SessionInfo], infos: Sequence[SessionInfo]) -> SessionUnknown:
    """What is said of a name that no session has.

    Args:
        meant: sessions that it is near.
        infos: every session, oldest first; the newest are named where none is near.
    """
    guess = f" Did you mean {' or '.join(called(one) for one in meant)}?" if meant else ""
    here = meant or infos[: -NEWEST - 1 : -1]
    names = f"Name one of {', '.join(called(one) for one in here)}; or " if here else ""
    start = tool_call("check_context_ratio", {"session_id": "new"})
    return SessionUnknown(
        f"No session is called {shown(name)}.{guess}",
        next=Advice(
            "{}",
            Either(
                command=Advice("See all sessions: {}", step("sessions")),
                tool=f"{f'{names}start' if names else 'Start'} one: {start}",
                call=f"{names}see sessions()" if names else 'Make one: record_items("new", items)',
            ),
        ),
        name=name,
        near=tuple(one.handle for one in meant),
    )


def several(name: str, found: Sequence[SessionInfo]) -> SessionUnknown:
    """What is said of a name that several have."""
    listed = ", ".join(called(one) for one in found[:NEWEST]) + (" …" if len(found) > NEWEST else "")
    return SessionUnknown(
        f"{shown(name)} may be {counted(len(found), 'session')}: {listed}.",
        next="Give the handle of the one that is meant.",
        name=name,
    )


def sub_agent_id(parent_id: str, name: str) -> str:
    """The id of a sub-agent's session, by which it is known for one: a fork of a session has any other."""
    return f"{parent_id}/{name}"


def is_below(session_id: str, parent_id: str) -> bool:
    return session_id.startswith(sub_agent_id(parent_id, ""))


def _stem(session_id: str) -> str:
    return session_id[: -len("-12345678")] if _HASHED.search(session_id[-9:]) else session_id


def _is_slip(name: str, known: str) -> bool:
    if name.casefold() == known.casefold():
        return True
    if len(name) >= LEAST_BEGINNING and name.casefold() == _stem(known).casefold():
        return True
    if _UUID.fullmatch(known):
        return (len(name) >= LEAST_BEGINNING and known.startswith(name)) or _within(name, known, 2)
    ours, theirs = _WORDS.findall(name), _WORDS.findall(known)
    if len(ours) != len(theirs):
        return False
    different = [(a, b) for a, b in zip(ours, theirs, strict=True) if a.casefold() != b.casefold()]
    if len(different) != 1:
        return False
    mine, other = different[0]
    if _IN_A_ROW.fullmatch(mine) and _IN_A_ROW.fullmatch(other):
        return False
    shorter = min(len(mine), len(other))
    return shorter >= LEAST_WORD and _within(mine, other, 1 if shorter < 2 * LEAST_WORD else 2)


def _within(one: str, other: str, most: int) -> bool:
    """Whether at most so many letters were changed, left out, added or swapped with the next (Damerau, Levenshtein)."""
    if abs(len(one) - len(other)) > most:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return False
    return row[-1] <= most


_SUMS = msgspec.json.Decoder(FoldSums)

KEPT_FOLDS = 16
"""Folds held in memory at a time; one of a 1M-token session takes some 10 MB."""
KEPT_ITEMS = 100_000
"""Items of all folds held; one takes some 1 KB (of 100,000 short ones). The newest fold stays, whatever its size."""
CHECKPOINT_EVENTS = 1_000
"""After so many new events the store keeps a checkpoint: reading as many takes some 20 ms."""
MAX_PARENTS = 32
"""How far a chain of parents is followed: far more than forks occur, and a circle ends."""
MAX_ID_CHARACTERS = 4_096


def opened_fold(checkpoint: Checkpoint) -> OpenedFold | None:
    """A fold that begins at a checkpoint; None where its sums are of another program."""
    try:
        return OpenedFold(_SUMS.decode(checkpoint.sums), checkpoint)
    except msgspec.MsgspecError:
        return None


class _Begun(NamedTuple):
    """How far a session was read."""

    fold: Fold | None
    cursor: object
    new: int
    """So many events came since its checkpoint."""
    info: SessionInfo | None = None


_NOTHING = _Begun(None, None, 0)


class Sessions:
    """The sessions of one principal."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._folds: OrderedDict[str, _Begun] = OrderedDict()
        self._handles: dict[str, str] = {}
        self._named: dict[str, str] = {}
        """What a session was called -> its handle."""
        self._views: dict[str, tuple[Fold, int, int, str, View]] = {}

    def key(self, info: SessionInfo) -> SessionKey:
        """The store's key of a session."""
        return SessionKey(info.session_id, self._deps.principal)

    async def all(self) -> tuple[SessionInfo, ...]:
        """Every session that may be asked about, oldest first."""
        infos = await self._deps.store.ledger.sessions(self._deps.principal)
        if only := self._deps.only_session:
            self._handles.update({one.handle: one.session_id for one in infos if one.handle == only})
        return tuple(one for one in infos if self._is_ours(one))

    async def only(self) -> SessionInfo | None:
        """The one session that may be asked about; None where all may."""
        return await self.find(self._deps.only_session) if self._deps.only_session else None

    def _is_ours(self, info: SessionInfo) -> bool:
        only = self._deps.only_session
        if not only or only in (info.session_id, info.handle):
            return True
        return is_below(info.session_id, self._handles.get(only, only))

    async def find(self, name: str, *, whole: bool = False) -> SessionInfo:
        """A session by its id or handle, by four characters or more that only one of them begins with, or by the file
        that it was read from.

        Args:
            whole: by nothing but its id or handle: what comes is for this session, and no other that is near.

        Raises:
            SessionUnknown: there is none, or several are; it says which may be meant.
        """
        if (info := await self.known(name)) is not None:
            return info
        infos = await self.all()
        found = exactly(name, infos) or ([] if whole else read_from(name, infos) or begun(name, infos))
        if len(found) == 1:
            self._named[name] = found[0].handle
            return found[0]
        raise several(name, found) if found else unknown(name, near(name, infos), infos)

    async def find_or_none(self, name: str, *, whole: bool = False) -> SessionInfo | None:
        """As `find`; None where it finds none, or several."""
        try:
            return await self.find(name, whole=whole)
        except SessionUnknown:
            return None

    async def known(self, name: str) -> SessionInfo | None:
        """The session that has exactly this id or handle; None where there is none."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign values reach this
            raise InvalidArgument("A session is named by a string.", next="Give its id or handle.")
        ledger = self._deps.store.ledger
        info = None
        if name in self._handles:  # no id is like a handle, so there is nothing else to look for first
            info = await ledger.info(SessionKey(self._handles[name], self._deps.principal))
        if info is None and name:
            info = await ledger.info(SessionKey(name, self._deps.principal))
        if info is None and _looks_like_handle(name):
            info = await ledger.by_handle(name, self._deps.principal)
        if info is None and "[" in name:  # perhaps as a face shows it
            meant = named_by_mark(name, await self.all(), lambda one: one.session_id, self._deps.redactor)
            info = meant[0] if len(meant) == 1 else None
        if info is not None and not self._is_ours(info):
            info = next((one for one in await self.all() if one.session_id == info.session_id), None)
        if info is None:
            return None
        return self._met(name, info)

    async def known_opened(self, name: str) -> tuple[SessionInfo, Fold] | None:
        """`known` and `opened`, asked together where nothing but the store's answer is needed for it."""
        meant = self._meant(name)
        if meant and not self._deps.only_session:
            info, begun, page = await self._news(SessionKey(meant, self._deps.principal))
            if info is not None:
                return self._met(name, info), await self._taken_in(info, begun, page)
        info = await self.known(name)
        return None if info is None else (info, await self.opened(info))

    def _meant(self, name: str) -> str:
        """The id of a name that was met before, else itself; empty for what is no name."""
        return self._handles.get(name, name) if isinstance(name, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign values reach this

    def held(self, name: str) -> tuple[SessionInfo, Fold] | None:
        """What this process holds of a session, without asking the store, which may know more; None where it holds
        nothing of it."""
        meant = self._meant(name)
        begun = self._begun(SessionKey(meant, self._deps.principal))
        if begun.fold is None or begun.info is None or self._deps.only_session:
            return None
        return self._met(name, begun.info), begun.fold

    async def find_opened(self, name: str) -> tuple[SessionInfo, Fold]:
        """`find` and `opened`, asked together where that can be.

        Raises:
            SessionUnknown: as `find` has it.
        """
        if (known := await self.known_opened(name)) is not None:
            return known
        info = await self.find(name)
        return info, await self.opened(info)

    async def find_folded(self, name: str) -> tuple[SessionInfo, Fold]:
        """The same with everything that the session's fold has."""
        info, fold = await self.find_opened(name)
        return info, await self._whole(info, fold)

    def _met(self, name: str, info: SessionInfo) -> SessionInfo:
        if (counts := doing.get()) is not None:
            counts.setdefault("session", info.handle)
        self._handles[info.handle] = info.session_id
        self._named[name] = info.handle
        return info

    def handle_of(self, name: str) -> str:
        """The handle of a session that was found by this name before: handles never change. Else the name."""
        return self._named.get(name, name)

    async def ensure(
        self,
        session_id: str,
        *,
        host: str = "",
        project: str = "",
        parent: str | None = None,
        source: str = "",
        path: str = "",
    ) -> SessionInfo:
        """The session of this id or handle, made when it does not exist; `new` mints an id.

        Args:
            path: absolute path of the file that it is read from.

        Raises:
            InvalidArgument: the id is empty or too long.
        """
        only = self._deps.only_session
        if only and session_id != only and await self.known(session_id) is None:
            raise unknown(session_id, (), await self.all())
        if session_id == "new":
            session_id = f"p-{self._deps.random_hex(8)}"
        if not session_id or len(session_id) > MAX_ID_CHARACTERS:
            raise InvalidArgument(
                f"A session id has 1 to {MAX_ID_CHARACTERS:,} characters, not {len(session_id):,}.",
                next="Give another id, or `new` to get one.",
            )
        if (known := await self.known(session_id)) is not None:
            return known
        info = SessionInfo(
            session_id=session_id,
            handle=await self._free_handle(session_id),
            principal=self._deps.principal,
            host=host,
            project=project,
            parent=parent,
            created=self._deps.now(),
            source=source,
            path=path,
        )
        made = await self._deps.store.ledger.create(SessionKey(session_id, self._deps.principal), info)
        self._named[session_id] = made.handle
        return made

    async def fold(self, info: SessionInfo) -> Fold:
        """The session's fold with every event that is there now, all of them read."""
        return await self._whole(info, await self.opened(info))

    async def _whole(self, info: SessionInfo, fold: Fold) -> Fold:
        if isinstance(fold, OpenedFold) and not fold.is_whole:
            try:
                fold.load(await asyncio.to_thread(fold.read))
            except StoreUnusable:
                self.let_go(info)
                fold = await self.opened(info)  # the store took the checkpoint away: what can be read is read
                if isinstance(fold, OpenedFold):
                    raise
        return fold

    async def opened(self, info: SessionInfo) -> Fold:
        """The same, from a checkpoint if there is one: for who asks for sums and single items."""
        key = self.key(info)
        begun = self._begun(key)
        if begun.fold is not None:
            return await self._taken_in(info, begun, await self._deps.store.ledger.read(key, begun.cursor))
        _, begun, page = await self._news(key)
        return await self._taken_in(info, begun, page)

    async def opened_together(self, infos: Sequence[SessionInfo]) -> dict[str, Fold]:
        """`opened` of those that nothing is known of yet and that the store gives together, by id."""
        new = [one.session_id for one in infos if self._begun(self.key(one)).fold is None]
        found = await self._deps.store.ledger.open_small(new, self._deps.principal)
        return {
            one.session_id: await self._taken_in(
                one, *(await self._from_start(self.key(one), *found[one.session_id]))[1:]
            )
            for one in infos
            if one.session_id in found
        }

    async def observe(self, info: SessionInfo, events: Sequence[Observation], *, durable: bool = True) -> Fold:
        """Append observations, and open the session with them.

        Raises:
            WriteFailed: nothing of it counts as written.
        """
        if self._begun(self.key(info)).fold is None:
            await self.opened(info)
        begun = self._begun(self.key(info))
        append = self._deps.store.ledger.observe_and_read
        return await self._taken_in(info, begun, await append(self.key(info), events, begun.cursor, durable=durable))

    async def observe_held(self, info: SessionInfo, events: Sequence[Observation]) -> Fold | None:
        """Append observations to a session that this process holds, unflushed; None where the store would have to be
        asked first what became of it: nothing is written then.

        Raises:
            WriteFailed: nothing of it counts as written.
        """
        begun = self._begun(self.key(info))
        page = await self._deps.store.ledger.observe_known(self.key(info), events, begun.cursor)
        return None if page is None else await self._taken_in(info, begun, page)

    def _begun(self, key: SessionKey) -> _Begun:
        """What is known of a session before the store is asked for its news."""
        begun = self._folds.get(key.session_id, _NOTHING)
        return _NOTHING if isinstance(begun.fold, OpenedFold) and begun.fold.is_unreadable else begun

    async def _news(self, key: SessionKey) -> tuple[SessionInfo | None, _Begun, LedgerPage]:
        """What the session is, what was known of it, and what came since; of one that is not known here everything, or
        what came behind its checkpoint."""
        ledger, begun = self._deps.store.ledger, self._begun(key)
        if begun.fold is not None:
            info, page = await ledger.look(key, begun.cursor)
            return info, begun, page
        return await self._from_start(key, *await ledger.open(key))

    async def _from_start(
        self, key: SessionKey, info: SessionInfo | None, checkpoint: Checkpoint | None, page: LedgerPage
    ) -> tuple[SessionInfo | None, _Begun, LedgerPage]:
        """What the store gave of a session that nothing is known of here."""
        fold = None if checkpoint is None else opened_fold(checkpoint)
        if checkpoint is None or fold is None:
            return info, _NOTHING, page if checkpoint is None else await self._deps.store.ledger.read(key)
        return info, _Begun(fold, checkpoint.cursor, 0), page

    async def _taken_in(self, info: SessionInfo, begun: _Begun, page: LedgerPage) -> Fold:
        """The fold with what was read, kept for the next time."""
        fold, _, new, _ = begun
        if fold is None:
            long = len(page.events) > CHECKPOINT_EVENTS  # other sessions are answered meanwhile
            fold = await asyncio.to_thread(Fold, page.events) if long else Fold(page.events)
        else:
            fold.add(page.events)
        new += len(page.events)
        self._folds[info.session_id] = _Begun(fold, page.cursor, new, info)
        self._folds.move_to_end(info.session_id)
        while len(self._folds) > KEPT_FOLDS or (len(self._folds) > 1 and self._kept_items() > KEPT_ITEMS):
            name, _ = self._folds.popitem(last=False)
            self._views.pop(name, None)
        if new >= CHECKPOINT_EVENTS:
            await self._keep(info, fold, page.cursor)
        return fold

    async def _keep(self, info: SessionInfo, fold: Fold, cursor: object) -> None:
        """Have the store keep a checkpoint; what an opened fold holds of events since the last one is let go."""
        self._folds[info.session_id] = _Begun(fold, cursor, 0, info)
        sums = fold.sums()
        if sums is None:
            return
        with suppress(UnicodeEncodeError):  # half a surrogate pair in a model's name
            kept = msgspec.json.encode(sums), sums.events
            await self._deps.store.ledger.keep_checkpoint(self.key(info), cursor, *kept)
        if isinstance(fold, OpenedFold) and not fold.is_whole:
            self.let_go(info)

    def let_go(self, info: SessionInfo) -> None:
        """Hold nothing of a session in memory any more: the next question reads it again."""
        self._folds.pop(info.session_id, None)
        self._views.pop(info.session_id, None)

    def _kept_items(self) -> int:
        return sum(one.fold.held for one in self._folds.values() if one.fold is not None)

    async def view(self, info: SessionInfo, counter: ContentCounter, fold: Fold | None = None) -> tuple[Fold, View]:
        """The session's fold and the view of its main chain; worked out anew only when an event changed it.

        Args:
            fold: of this very moment, where the caller has asked for it.
        """
        fold = fold if fold is not None else await self.opened(info)
        overhead, digester = counter.per_result_overhead, self._deps.digester_for(counter).name
        known = self._views.get(info.session_id)
        if known is None or known[0] is not fold or known[1:4] != (fold.generation, overhead, digester):
            shown = view(fold, result_overhead=overhead, digester=digester)
            known = self._views[info.session_id] = (fold, fold.generation, overhead, digester, shown)
        return fold, known[4]

    async def decide(
        self,
        info: SessionInfo,
        make: Callable[[Fold], Sequence[Decision]],
        *,
        lock_timeout_s: float | None = None,
    ) -> Fold:
        """Fold, decide, and write only if nobody decided in between; otherwise fold and decide again (L1).

        Args:
            make: decisions for a fold, without revisions; none means that nothing is left to decide.
            lock_timeout_s: how long to wait for the commit lock; None: as long as the store does.

        Raises:
            LockTimeout, WriteFailed: nothing was decided.
        """
        while True:
            fold = await self.fold(info)
            decisions = make(fold)
            if not decisions:
                return fold
            try:
                await self._deps.store.ledger.decide(
                    self.key(info), decisions, after_rev=fold.rev, lock_timeout_s=lock_timeout_s
                )
            except RevConflict:
                continue
            return await self.fold(info)

    async def family(self, info: SessionInfo) -> tuple[SessionInfo, ...]:
        """The session and its parents, nearest first (L14)."""
        line = [info]
        while line[-1].parent and len(line) <= MAX_PARENTS:
            parent = await self._deps.store.ledger.info(SessionKey(line[-1].parent, self._deps.principal))
            if parent is None or any(parent.session_id == known.session_id for known in line):
                break
            line.append(parent)
        return tuple(line)

    async def reach(self, info: SessionInfo) -> tuple[SessionInfo, ...]:
        """Whose archives a search from here looks into: the session's, its parents', and those of its sub-agents."""
        ledger, beginning = self._deps.store.ledger, sub_agent_id(info.session_id, "")
        below = await ledger.sessions(self._deps.principal, beginning=beginning)
        return (*await self.family(info), *(one for one in below if self._is_ours(one)))

    async def some(self, skip: int, count: int, *, newest_first: bool = False) -> tuple[tuple[SessionInfo, ...], int]:
        """So many of `all` after so many others, by birth; and how many there are."""
        if self._deps.only_session:
            infos = await self.all()
            return (infos[::-1] if newest_first else infos)[skip : skip + count], len(infos)
        ledger, principal = self._deps.store.ledger, self._deps.principal
        return await ledger.some_sessions(principal, skip=skip, count=count, newest_first=newest_first)

    async def inherited_parts(self, info: SessionInfo) -> Parts:
        """Every digest part that a parent committed."""
        parts: Parts = {}
        for parent in (await self.family(info))[1:]:
            fold = await self.fold(parent)
            parts = {**fold.decided.parts, **parts}
        return parts

    async def _free_handle(self, session_id: str) -> str:
        for handle in _handles(self._deps.principal, session_id):
            ledger, principal = self._deps.store.ledger, self._deps.principal
            taken = await ledger.by_handle(handle, principal) or await ledger.info(SessionKey(handle, principal))
            if taken is None:
                return handle
        raise AssertionError("no two sessions have the longest handle")


def _handles(principal: str, session_id: str) -> list[str]:
    """Handles for a session, shortest first; the same in every process."""
    seed = f"{principal}\0{session_id}".encode("utf-8", "surrogatepass")
    letters = base64.b32encode(hashlib.sha256(seed).digest()).decode().lower().rstrip("=")
    return ["s" + letters[:length] for length in range(4, len(letters))]


def _looks_like_handle(name: str) -> bool:
    return name[:1] == "s" and 5 <= len(name) <= 52 and name.isascii() and name.isalnum() and name == name.lower()

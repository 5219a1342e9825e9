"""Sessions by id or handle, and their folds kept up to date."""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ..errors import InvalidArgument, RevConflict, SessionUnknown
from ..ledger.fold import Fold, Parts
from ..ledger.view import View, view
from ..models.events import Decision, SessionInfo, SessionKey
from .dependencies import ContentCounter, Dependencies

KEPT_FOLDS = 16
"""Folds held in memory at a time; one of a 1M-token session takes some 10 MB."""
MAX_PARENTS = 32
"""How far a chain of parents is followed: far more than forks occur, and a circle ends."""
MAX_ID_CHARACTERS = 4_096


class Sessions:
    """The sessions of one principal."""

    def __init__(self, given: Dependencies) -> None:
        self._given = given
        self._folds: OrderedDict[str, tuple[Fold, object]] = OrderedDict()
        self._handles: dict[str, str] = {}
        self._views: dict[str, tuple[Fold, int, int, str, View]] = {}

    def key(self, info: SessionInfo) -> SessionKey:
        """The store's key of a session."""
        return SessionKey(info.session_id, self._given.principal)

    async def all(self) -> tuple[SessionInfo, ...]:
        """Every session, oldest first."""
        return await self._given.store.ledger.sessions(self._given.principal)

    async def find(self, name: str) -> SessionInfo:
        """A session by its id or handle.

        Raises:
            SessionUnknown: there is none.
        """
        ledger = self._given.store.ledger
        info = await ledger.info(SessionKey(name, self._given.principal)) if name else None
        if info is None and name in self._handles:
            info = await ledger.info(SessionKey(self._handles[name], self._given.principal))
        if info is None and _looks_like_handle(name):
            info = next((other for other in await self.all() if other.handle == name), None)
        if info is None:
            raise SessionUnknown(
                "No session has this id or handle.",
                next="`palimpsest-mcp status` lists the newest; a new one is made by record_items.",
            )
        self._handles[info.handle] = info.session_id
        return info

    async def ensure(
        self, session_id: str, *, host: str = "", project: str = "", parent: str | None = None, source: str = ""
    ) -> SessionInfo:
        """The session of this id or handle, made when it does not exist; `new` mints an id.

        Raises:
            InvalidArgument: the id is empty or too long.
        """
        if session_id == "new":
            session_id = f"p-{self._given.random_hex(8)}"
        if not session_id or len(session_id) > MAX_ID_CHARACTERS:
            raise InvalidArgument(
                f"A session id has 1 to {MAX_ID_CHARACTERS} characters.", next="Give another id, or `new` to get one."
            )
        try:
            return await self.find(session_id)
        except SessionUnknown:
            pass
        info = SessionInfo(
            session_id=session_id,
            handle=await self._free_handle(session_id),
            principal=self._given.principal,
            host=host,
            project=project,
            parent=parent,
            created=self._given.now(),
            source=source,
        )
        return await self._given.store.ledger.create(SessionKey(session_id, self._given.principal), info)

    async def fold(self, info: SessionInfo) -> Fold:
        """The session's fold with every event that is there now."""
        fold, cursor = self._folds.get(info.session_id, (None, None))
        page = await self._given.store.ledger.read(self.key(info), cursor)
        if fold is None:
            fold = Fold()
        fold.add(page.events)
        self._folds[info.session_id] = (fold, page.cursor)
        self._folds.move_to_end(info.session_id)
        while len(self._folds) > KEPT_FOLDS:
            name, _ = self._folds.popitem(last=False)
            self._views.pop(name, None)
        return fold

    async def view(self, info: SessionInfo, counter: ContentCounter) -> tuple[Fold, View]:
        """The session's fold and the view of its main chain; worked out anew only when an event changed it."""
        fold = await self.fold(info)
        overhead, digester = counter.per_result_overhead, self._given.digester_for(counter).name
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
                await self._given.store.ledger.decide(
                    self.key(info), decisions, after_rev=fold.rev, lock_timeout_s=lock_timeout_s
                )
            except RevConflict:
                continue
            return await self.fold(info)

    async def family(self, info: SessionInfo) -> tuple[SessionInfo, ...]:
        """The session and its parents, nearest first (L14)."""
        line = [info]
        while line[-1].parent and len(line) <= MAX_PARENTS:
            parent = await self._given.store.ledger.info(SessionKey(line[-1].parent, self._given.principal))
            if parent is None or any(parent.session_id == known.session_id for known in line):
                break
            line.append(parent)
        return tuple(line)

    async def inherited_parts(self, info: SessionInfo) -> Parts:
        """Every digest part that a parent committed."""
        parts: Parts = {}
        for parent in (await self.family(info))[1:]:
            fold = await self.fold(parent)
            parts = {**fold.decided.parts, **parts}
        return parts

    async def _free_handle(self, session_id: str) -> str:
        taken = {info.handle for info in await self.all()}
        return next(handle for handle in _handles(self._given.principal, session_id) if handle not in taken)


def _handles(principal: str, session_id: str) -> list[str]:
    """Handles for a session, shortest first; the same in every process."""
    seed = f"{principal}\0{session_id}".encode("utf-8", "surrogatepass")
    letters = base64.b32encode(hashlib.sha256(seed).digest()).decode().lower().rstrip("=")
    return ["s" + letters[:length] for length in range(4, len(letters))]


def _looks_like_handle(name: str) -> bool:
    return name[:1] == "s" and 5 <= len(name) <= 52 and name.isascii() and name.isalnum() and name == name.lower()

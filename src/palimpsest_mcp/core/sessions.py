"""Sessions by id or handle, and their folds kept up to date."""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from ..context.fold import Fold, Parts
from ..context.strategies import STRATEGIES
from ..context.view import View, view
from ..errors import InvalidArgument, InvalidPolicy, RevConflict, SessionUnknown
from ..models.advice import Advice, Either, step, tool_call
from ..models.events import Decision, PolicySet, SessionInfo, SessionKey
from ..models.plans import Policy
from ..models.text import counted, shown
from .dependencies import ContentCounter, Dependencies
from .session_names import begun, called, near, read_from
from .surface import named_by_mark

KEPT_FOLDS = 16
"""Folds held in memory at a time; one of a 1M-token session takes some 10 MB."""
MAX_PARENTS = 32
"""How far a chain of parents is followed: far more than forks occur, and a circle ends."""
MAX_ID_CHARACTERS = 4_096
NEWEST = 5
"""Sessions that an error names where none is near."""


class Sessions:
    """The sessions of one principal."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._folds: OrderedDict[str, tuple[Fold, object]] = OrderedDict()
        self._handles: dict[str, str] = {}
        self._views: dict[str, tuple[Fold, int, int, str, View]] = {}

    def key(self, info: SessionInfo) -> SessionKey:
        """The store's key of a session."""
        return SessionKey(info.session_id, self._deps.principal)

    async def all(self) -> tuple[SessionInfo, ...]:
        """Every session that may be asked about, oldest first."""
        return tuple(one for one in await self._deps.store.ledger.sessions(self._deps.principal) if self._is_ours(one))

    async def only(self) -> SessionInfo | None:
        """The one session that may be asked about; None where all may."""
        return await self.find(self._deps.only_session) if self._deps.only_session else None

    def _is_ours(self, info: SessionInfo) -> bool:
        return not self._deps.only_session or self._deps.only_session in (info.session_id, info.handle)

    async def find(self, name: str) -> SessionInfo:
        """A session by its id or handle, by four characters or more that only one of them begins with, or by the file
        that it was read from.

        Raises:
            SessionUnknown: there is none, or several are; it says which may be meant.
        """
        if (info := await self.known(name)) is not None:
            return info
        infos = await self.all()
        found = read_from(name, infos) or begun(name, infos)
        if len(found) == 1:
            return found[0]
        raise _several(name, found) if found else unknown(name, near(name, infos), infos)

    async def known(self, name: str) -> SessionInfo | None:
        """The session that has exactly this id or handle; None where there is none."""
        ledger = self._deps.store.ledger
        info = await ledger.info(SessionKey(name, self._deps.principal)) if name else None
        if info is None and name in self._handles:
            info = await ledger.info(SessionKey(self._handles[name], self._deps.principal))
        if info is None and _looks_like_handle(name):
            info = next((other for other in await self.all() if other.handle == name), None)
        if info is None and "[" in name:  # perhaps as a face shows it
            meant = named_by_mark(name, await self.all(), _id_of, self._deps.redactor)
            info = meant[0] if len(meant) == 1 else None
        if info is None or not self._is_ours(info):
            return None
        self._handles[info.handle] = info.session_id
        return info

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
        return await self._deps.store.ledger.create(SessionKey(session_id, self._deps.principal), info)

    async def fold(self, info: SessionInfo) -> Fold:
        """The session's fold with every event that is there now."""
        fold, cursor = self._folds.get(info.session_id, (None, None))
        page = await self._deps.store.ledger.read(self.key(info), cursor)
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

    async def inherited_parts(self, info: SessionInfo) -> Parts:
        """Every digest part that a parent committed."""
        parts: Parts = {}
        for parent in (await self.family(info))[1:]:
            fold = await self.fold(parent)
            parts = {**fold.decided.parts, **parts}
        return parts

    async def _free_handle(self, session_id: str) -> str:
        taken = {info.handle for info in await self._deps.store.ledger.sessions(self._deps.principal)}
        return next(handle for handle in _handles(self._deps.principal, session_id) if handle not in taken)


def _handles(principal: str, session_id: str) -> list[str]:
    """Handles for a session, shortest first; the same in every process."""
    seed = f"{principal}\0{session_id}".encode("utf-8", "surrogatepass")
    letters = base64.b32encode(hashlib.sha256(seed).digest()).decode().lower().rstrip("=")
    return ["s" + letters[:length] for length in range(4, len(letters))]


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


def _several(name: str, found: Sequence[SessionInfo]) -> SessionUnknown:
    listed = ", ".join(called(one) for one in found[:NEWEST]) + (" …" if len(found) > NEWEST else "")
    return SessionUnknown(
        f"{shown(name)} may be {counted(len(found), 'session')}: {listed}.",
        next="Give the handle of the one that is meant.",
        name=name,
    )


def _id_of(info: SessionInfo) -> str:
    return info.session_id


def _looks_like_handle(name: str) -> bool:
    return name[:1] == "s" and 5 <= len(name) <= 52 and name.isascii() and name.isalnum() and name == name.lower()


# Which policy a session runs under: the one named now, else the one it was given before, else the default.


async def policy_of(deps: Dependencies, sessions: Sessions, info: SessionInfo, name: str | None) -> Policy:
    """The policy in force; one that is named is kept for the session.

    Raises:
        InvalidPolicy: there is no policy of this name.
    """
    if not name:
        return stored_policy(deps, await sessions.fold(info))
    policy = deps.policy_named(name)
    # As it is read back: with lists for tuples, so that the same policy is not decided again with every call.
    data = msgspec.json.decode(msgspec.json.encode(policy))

    def decide(fold: Fold) -> list[PolicySet]:
        return [] if fold.decided.policy == data else [PolicySet(policy=data, ts=deps.now())]

    await sessions.decide(info, decide)
    return policy


def stored_policy(deps: Dependencies, fold: Fold) -> Policy:
    """What the session was given, or the configured default. What an older version wrote may not fit any more."""
    if fold.decided.policy is None:
        return deps.policy_named(None)
    try:
        return msgspec.convert(fold.decided.policy, Policy)
    except msgspec.ValidationError:
        raise InvalidPolicy(
            "The session's stored policy does not fit this version.", next="Name one: policy=research."
        ) from None


def check_strategy(strategy: str) -> None:
    """Refuse what is no strategy; empty stands for the policy's own.

    Raises:
        InvalidArgument: it names those there are.
    """
    if strategy and strategy not in STRATEGIES:
        raise InvalidArgument(f"There is no strategy {shown(strategy)}.", next=f"Use one of {', '.join(STRATEGIES)}.")

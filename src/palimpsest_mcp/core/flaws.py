"""What is missing from a store, in words: what it was, what can be had back from where, and by which command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from ..models.advice import Advice, Step, step
from ..models.events import SessionInfo, SessionKey
from ..models.maintenance import Repair
from ..models.text import counted
from ..models.views import Finding
from ..ports.store import Flaw
from ..store.home import SECRET, VERSION, folder_name

TOMBSTONES = "purged.jsonl"
_AS_IT_IS = "what stands there now"


class Flaws(msgspec.Struct, frozen=True, kw_only=True):
    """The flaws of a store, by what they concern."""

    of_sessions: Mapping[str, tuple[Flaw, ...]]
    """By session id; each session that is there has an entry."""
    gone: Mapping[str, tuple[Flaw, ...]]
    """By folder: sessions of which nothing is left that says who they are."""
    beside: tuple[Flaw, ...]
    """What belongs to no session."""

    def misses_events(self, info: SessionInfo) -> bool:
        """Whether lines of the session's ledger are known to be lost."""
        return any(one.severity == "damage" and _part(one) == "ledger" for one in self.of_sessions[info.session_id])

    def misses_tombstones(self, info: SessionInfo) -> bool:
        """Whether the list of what was purged is gone."""
        return any(one.severity == "damage" and _part(one) == TOMBSTONES for one in self.of_sessions[info.session_id])

    def findings(self, infos: Sequence[SessionInfo], *, whole: bool) -> list[Finding]:
        """Of the sessions named; with `whole` of everything."""
        found = [one for info in infos for one in _of_session(info, self.of_sessions[info.session_id])]
        if not whole:
            return found
        found += [_gone(folder, flaws) for folder, flaws in self.gone.items()]
        return found + [_beside(one) for one in self.beside if not _unwitnessed(one)] + _guarded("", self.beside)

    def repairs(self, infos: Sequence[SessionInfo], told: Sequence[Repair], *, whole: bool) -> list[Repair]:
        """What a repair can do about them, and what nobody can.

        Args:
            told: what was said of single lines; their segments are not named once more.
        """
        groups = [(info.handle, self.of_sessions[info.session_id]) for info in infos]
        if whole:
            groups += [*self.gone.items(), ("", self.beside)]
        places = "\n".join(one.where for one in told)
        new = [
            (who, [one for one in flaws if f"{one.where.split('/')[-1]} at byte" not in places])
            for who, flaws in groups
        ]
        return [one for who, flaws in new for one in _repairs(who, flaws)]


def sorted_flaws(flaws: Sequence[Flaw], infos: Sequence[SessionInfo], principal: str, *, whole: bool) -> Flaws:
    """Flaws by session.

    Args:
        infos: every session that may be asked about.
        whole: the caller is the store's owner, who hears of what belongs to nobody and of other principals' sessions.
    """
    folders = {folder_name(SessionKey(info.session_id, principal)): info.session_id for info in infos}
    of_sessions: dict[str, list[Flaw]] = {info.session_id: [] for info in infos}
    gone: defaultdict[str, list[Flaw]] = defaultdict(list)
    beside: list[Flaw] = []
    for one in flaws:
        kind, _, rest = one.where.partition("/")
        folder = rest.partition("/")[0]
        if kind != "session":
            beside.append(one)
        elif folder in folders:
            of_sessions[folders[folder]].append(one)
        elif one.severity == "damage" and whole:
            gone[folder].append(one)
    return Flaws(
        of_sessions={name: tuple(found) for name, found in of_sessions.items()},
        gone={name: tuple(found) for name, found in gone.items()},
        beside=tuple(beside) if whole else (),
    )


def _of_session(info: SessionInfo, flaws: Sequence[Flaw]) -> list[Finding]:
    found = [_in_session(info, one) for one in flaws if not _unwitnessed(one)]
    return found + _guarded(info.handle, flaws)


def _in_session(info: SessionInfo, one: Flaw) -> Finding:
    where = f"{info.handle} {one.where.split('/', 2)[2]}"
    return Finding(where=where, what=_what(one), severity=one.severity, next=_next(info, one))


def _next(info: SessionInfo, one: Flaw) -> str:
    if one.severity == "note":
        return _accept(info.handle) if one.acceptable else ""
    copy = f"Copy {one.where} back from a backup of the store"
    part = _part(one)
    if part == "ledger":
        originals = step("list_offloaded", session_id=info.handle)
        if info.path:
            again = step("record_again", path=info.path, session_id=info.session_id)
            told = (
                "without one, what its file still has is recorded again by {}, and what is archived comes back by {}."
            )
            return Advice(f"{copy}; {told}", again, originals)
        return Advice(f"{copy}; without one, what is archived comes back batch by batch: {{}}", originals)
    if part == "offloaded":
        return f"{copy}; what is left of each batch without one is said beside this."
    if part == TOMBSTONES:
        return Advice("{} makes it again from the ledger.", repair_now(info.handle))
    if part.startswith("summary"):
        return f"{copy}; without one, the next pass makes a new one from the ledger."
    return f"{copy}."


def _gone(folder: str, flaws: Sequence[Flaw]) -> Finding:
    events = sum(one.lines for one in flaws if _part(one) == "ledger")
    records = sum(one.lines for one in flaws if _part(one) == "offloaded")
    held = f"{counted(events, 'event')} and {counted(records, 'record')} in {counted(len(flaws), 'file')}"
    return Finding(
        where=f"session/{folder}",
        what=f"the whole session is missing: it had {held}",
        severity="damage",
        next=f"Copy session/{folder} back from a backup of the store, or import a file that `export` wrote of it.",
    )


def _beside(one: Flaw) -> Finding:
    if one.severity == "note":
        return Finding(where=one.where, what=_what(one), severity="note", next=_accept("") if one.acceptable else "")
    next: str = f"Copy {one.where} back from a backup of the store."
    if one.where in (VERSION, SECRET):
        next = Advice(f"{next[:-1]}; without one: {{}} makes a new one.", repair_now(""))
    return Finding(where=one.where, what=_what(one), severity="damage", next=next)


def _guarded(handle: str, flaws: Sequence[Flaw]) -> list[Finding]:
    """One finding for all that has no witness."""
    without = [one for one in flaws if _unwitnessed(one)]
    if not without:
        return []
    return [
        Finding(
            where=handle or without[0].where,
            what=f"{counted(len(without), 'file')} without a witness, which an older program wrote or which lost it: "
            "what goes missing there is not noticed",
            severity="note",
            next=_accept(handle),
        )
    ]


def _repairs(who: str, flaws: Sequence[Flaw]) -> list[Repair]:
    found = [one for flaw in flaws if not _unwitnessed(flaw) and (one := _repair(who, flaw))]
    if without := sum(map(_unwitnessed, flaws)):
        what = f"{counted(without, 'file')} without a witness"
        found.append(Repair(where=who or "the store", what=what, source=_AS_IT_IS))
    return found


def _repair(who: str, one: Flaw) -> Repair | None:
    where = f"{who} {one.where.split('/', 2)[2]}" if one.where.startswith("session/") else one.where
    if _part(one) == TOMBSTONES and one.severity == "damage":
        return Repair(where=where, what="what was purged", source="the ledger")
    if one.where == VERSION:
        return Repair(where=where, what=one.what, source="what this program writes")
    if one.where == SECRET:
        what = f"{one.what}: marks made before it was lost are not those made from now on"
        return Repair(where=where, what=what, source="a new one")
    if one.acceptable:
        return Repair(where=where, what=one.what, source=_AS_IT_IS)
    if _part(one) == "offloaded":
        return None  # which copies of its batches are left is told batch by batch
    return Repair(where=where, what=one.what, source="", lost=(_held(one),)) if one.severity == "damage" else None


def _what(one: Flaw) -> str:
    return f"{one.what}: it had {_held(one)}" if one.what == "is missing" and one.size else one.what


def _held(one: Flaw) -> str:
    if _part(one) in ("ledger", "offloaded") and one.lines:
        return counted(one.lines, "event" if _part(one) == "ledger" else "record")
    return f"{one.size:,} bytes" if one.size else "what it said"


def _part(one: Flaw) -> str:
    """`ledger`, `offloaded` or the name of a file in a session's folder."""
    return one.where.split("/")[2] if one.where.startswith("session/") else ""


def _unwitnessed(one: Flaw) -> bool:
    return one.acceptable and "witness" in one.what


def _accept(handle: str) -> Advice:
    return Advice("{} takes what stands there now, and notices from then on.", repair_now(handle))


def repair_now(handle: str) -> Step:
    return step("repair_now", **({"session_id": handle} if handle else {}))

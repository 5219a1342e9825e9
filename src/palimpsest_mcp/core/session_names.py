"""Which session a name means: ids, handles, beginnings of either, files; and which ones an unknown name is near."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence

from ..errors import SessionUnknown
from ..models.advice import Advice, Either, step, tool_call
from ..models.events import SessionInfo
from ..models.text import counted, plain_line, shown

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

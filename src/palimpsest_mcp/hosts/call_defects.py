"""Calls and results that do not fit together: how each is named, and where they are in an OpenAI-style list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

from ..ledger.identity import json_key
from ..models.reports import Defect
from .marks import RESPONSES_ITEMS
from .pieces import as_fields, text_of

Named: TypeAlias = tuple[int, str, str]
"""Message, id as a key (empty where it is missing, null or empty), id as it is shown."""

_SHOWN_ID = 100
_NEED_ID = ("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output")


def named(row: int, call_id: Any) -> Named:
    """A call or result, by its place and id."""
    return row, "" if call_id is None or call_id == "" else json_key(call_id), shown_id(call_id)


def shown_id(call_id: Any) -> str:
    """An id for people; a very long one is cut."""
    text = "" if call_id is None else call_id if isinstance(call_id, str) else json_key(call_id)
    return text if len(text) <= _SHOWN_ID else f"{text[:_SHOWN_ID]}…"


def without_id(found: Sequence[Named], what: str) -> Iterator[Defect]:
    """Those of no id, which nothing can be paired with for certain."""
    return (Defect(message=row, what=f"a {what} without an id") for row, key, _ in found if not key)


def repeated(found: Sequence[Named], what: str) -> Iterator[Defect]:
    """Every further one of an id."""
    seen: set[str] = set()
    for row, key, call_id in found:
        if key in seen and key:
            yield Defect(message=row, id=call_id, what=what)
        seen.add(key)


def unanswered(row: int, call_id: str) -> Defect:
    """A call that the list goes on without."""
    return Defect(message=row, id=call_id, what="a call without a result")


def misplaced(row: int, key: str, call_id: str, calls: dict[str, int]) -> Defect:
    """A result that does not follow a call of its id; where there is one before, it says where."""
    if key not in calls:
        return Defect(message=row, id=call_id, what="a result without a call")
    what = f"a result that does not follow its call directly; that is in messages[{calls[key]}]"
    return Defect(message=row, id=call_id, what=what)


def openai_defects(rows: Sequence[dict[str, Any]]) -> Iterator[Defect]:
    """What is wrong in a list of chat messages, or of items of the Responses API."""
    chat = _Chat()
    items = _Items()
    for row, fields in enumerate(rows):
        if "role" not in fields and text_of(fields, "type") in RESPONSES_ITEMS:
            yield from items.add(row, fields)
        elif text_of(fields, "role") == "tool":
            yield from chat.result(named(row, fields.get("tool_call_id")))
            items.close()
        else:
            yield from chat.message(row, fields)
            items.close()
    yield from chat.unanswered()
    yield from items.unanswered()


class _Chat:
    """Calls of chat messages: each message's results are the messages right after it."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[int, str]] = {}
        """Of the newest message with calls."""
        self._answered: set[str] = set()
        """Of the same message."""
        self._closed: dict[tuple[str, int], str] = {}
        """Calls after which another message came; those whose result comes later are taken out."""
        self._ever: dict[str, int] = {}

    def message(self, row: int, fields: dict[str, Any]) -> Iterator[Defect]:
        self._closed |= {(key, at): call_id for key, (at, call_id) in self._waiting.items()}
        calls = fields.get("tool_calls")
        asked = [named(row, (as_fields(call) or {}).get("id")) for call in cast("list[Any]", calls or [])]
        self._waiting = {key: (at, call_id) for at, key, call_id in asked if key}
        self._answered = set()
        self._ever |= {key: at for at, key, _ in asked if key}
        yield from without_id(asked, "call")
        yield from repeated(asked, "two calls of one id")
        content = fields.get("content")
        if text_of(fields, "role") == "user" and (content is None or content == "" or content == []):
            yield Defect(message=row, what="empty content")

    def result(self, found: Named) -> Iterator[Defect]:
        row, key, call_id = found
        if not key:
            yield from without_id([found], "result")
        elif self._waiting.pop(key, None) is not None:
            self._answered.add(key)
        elif key in self._answered:
            yield Defect(message=row, id=call_id, what="two results of one call")
        else:
            yield misplaced(row, key, call_id, self._ever)
            # Such a call is named once, where its result stands.
            self._closed.pop((key, self._ever.get(key, -1)), None)

    def unanswered(self) -> Iterator[Defect]:
        return (unanswered(row, call_id) for (_, row), call_id in self._closed.items())


class _Items:
    """Calls and outputs of the Responses API, which need not stand next to each other."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[int, str]] = {}
        self._told: set[str] = set()
        self._open: set[str] = set()
        """Calls that nothing but calls and outputs came after."""

    def add(self, row: int, fields: dict[str, Any]) -> Iterator[Defect]:
        kind = text_of(fields, "type")
        call = kind.endswith("_call")
        if not call and not kind.endswith("_output"):
            self.close()
        if "call_id" not in fields and kind not in _NEED_ID:
            return
        found = _, key, call_id = named(row, fields.get("call_id"))
        if not key:
            yield from without_id([found], "call" if call else "result")
        elif call:
            if key in self._asked:
                yield Defect(message=row, id=call_id, what="two calls of one id")
            self._asked.setdefault(key, (row, call_id))
            self._open.add(key)
        elif key not in self._asked:
            yield misplaced(row, key, call_id, {})
        elif key in self._told:
            yield Defect(message=row, id=call_id, what="two results of one call")
        else:
            self._told.add(key)

    def close(self) -> None:
        """Something else came: what still waited would have been answered by now."""
        self._open.clear()

    def unanswered(self) -> Iterator[Defect]:
        waiting = self._asked.keys() - self._told - self._open
        return (unanswered(row, call_id) for key, (row, call_id) in self._asked.items() if key in waiting)


__all__ = ["Named", "misplaced", "named", "openai_defects", "repeated", "shown_id", "unanswered", "without_id"]

"""What a provider would refuse in a message list. Rendering must add nothing to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

from ..models.items import json_key
from ..models.reports import Defect
from ..models.text import counted
from ..ports.seams import Form
from .pieces import RESPONSES_ITEMS, as_fields, text_of, without_strings

# Calls and results that do not fit together: how each is named, and where they are in an OpenAI-style list.


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


_CHANGING = ("text", "image", "document", "image_url", "input_text", "output_text", "input_image", "input_file", "file")
"""Blocks that rendering may change or replace by a text block."""


def check_messages(messages: Sequence[Any], form: Form) -> list[Defect]:
    """What a provider may refuse in a list, in no promised order; empty when it would take it.

    A transcript's list has Anthropic's form. Calls at the end of a list may still wait for their results.
    """
    rows = [as_fields(message) or {} for message in messages]
    return list(openai_defects(rows) if form == "openai" else _anthropic(rows))


def new_problems(before: Sequence[Any], after: Sequence[Any], form: Form) -> list[str]:
    """What a rendered list has worse than the one it came from: new problems, and blocks that had to stay but did not.

    Every problem counts as often as it is there.
    """
    found = list(map(str, check_messages(after, form)))
    if found:
        found = list((Counter(found) - Counter(map(str, check_messages(before, form)))).elements())
    if len(before) != len(after):
        return [*found, f"{counted(len(before), 'message')} became {len(after)}"]
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        old_fields, new_fields = as_fields(old) or {}, as_fields(new) or {}
        if old is not new and _fixed(old_fields) != _fixed(new_fields):
            found.append(f"messages[{row}]: a call, an id or a thinking block changed")
    return found


def _fixed(fields: dict[str, Any]) -> list[Any]:
    """All of a message but the contents that may change, in order."""
    kept: list[Any] = [{key: value for key, value in fields.items() if key not in _BESIDE}]
    if "role" not in fields:
        own = text_of(fields, "type") in ("function_call", "custom_tool_call")
        kept = [without_strings(kept[0])] if own else kept
    kept += [without_strings(call) for call in _calls(fields)]
    whole_result = text_of(fields, "role") in ("tool", "function")
    for block in () if whole_result else _blocks(fields):
        kind = text_of(block, "type")
        if kind.endswith("tool_result"):
            kept.append({key: value for key, value in block.items() if key != "content"})
        elif kind == "tool_use":
            kept.append(without_strings(block))
        else:
            kept.append("" if kind in _CHANGING else block)
    return kept


_BESIDE = ("content", "output", "tool_calls", "function_call")
"""What is looked at by itself."""


def _calls(fields: dict[str, Any]) -> list[dict[str, Any]]:
    calls = fields.get("tool_calls")
    found = [*cast("list[Any]", calls if isinstance(calls, list) else []), fields.get("function_call")]
    return [call for call in map(as_fields, found) if call is not None]


def _blocks(fields: dict[str, Any]) -> list[dict[str, Any]]:
    content = fields.get("content")
    return [as_fields(block) or {} for block in cast("list[Any]", content)] if isinstance(content, list) else []


def _anthropic(rows: Sequence[dict[str, Any]]) -> Iterator[Defect]:
    turns = _turns(rows)
    asked: list[Named] = []
    ever: dict[str, int] = {}
    late: set[tuple[str, int]] = set()
    closed: list[Named] = []
    for first, role, turn in turns:
        for row, fields in enumerate(turn, first):
            yield from _empty(row, fields, last=row == len(rows) - 1 and role == "assistant")
        if role == "assistant":
            closed += asked
            asked = _named(first, turn, "tool_use", "id")
            yield from without_id(asked, "call")
            yield from repeated(asked, "two calls of one id")
            ever |= {key: row for row, key, _ in asked if key}
            continue
        results = _named(first, turn, "tool_result", "tool_use_id")
        yield from without_id(results, "result")
        yield from repeated(results, "two results of one call")
        for row, key, call_id in results:
            if key and key not in {name for _, name, _ in asked}:
                yield misplaced(row, key, call_id, ever)
                late |= {(key, ever[key])} if key in ever else set()
        answered = {key for _, key, _ in results}
        closed += [one for one in asked if one[1] not in answered]
        asked = []
        yield from _results_first(first, turn)
    # A call that was answered elsewhere is named once, where its result stands.
    yield from (unanswered(row, call_id) for row, key, call_id in closed if key and (key, row) not in late)


def _named(first: int, turn: Sequence[dict[str, Any]], kind: str, key: str) -> list[Named]:
    """Every block of a type in a turn: its message, its id as a key, and as it is shown."""
    return [
        named(row, block.get(key))
        for row, fields in enumerate(turn, first)
        for block in _blocks(fields)
        if text_of(block, "type") == kind
    ]


def _turns(rows: Sequence[dict[str, Any]]) -> list[tuple[int, str, list[dict[str, Any]]]]:
    """Runs of messages of one role, which the API joins: first row, role, messages. System messages join no turn."""
    turns: list[tuple[int, str, list[dict[str, Any]]]] = []
    for row, fields in enumerate(rows):
        role = text_of(fields, "role")
        if role == "system":
            continue
        if turns and turns[-1][1] == role and turns[-1][0] + len(turns[-1][2]) == row:
            turns[-1][2].append(fields)
        else:
            turns.append((row, role, [fields]))
    return turns


def _empty(row: int, fields: dict[str, Any], *, last: bool) -> Iterator[Defect]:
    content = fields.get("content")
    if not last and (content is None or content == "" or content == []):
        yield Defect(message=row, what="empty content")
    for at, block in enumerate(_blocks(fields)):
        if text_of(block, "type") == "text" and not text_of(block, "text"):
            yield Defect(message=row, what=f"empty text in content[{at}]")
        inner = block.get("content")
        for n, part in enumerate(cast("list[Any]", inner) if isinstance(inner, list) else []):
            fields_of_part = as_fields(part) or {}
            if text_of(fields_of_part, "type") == "text" and not text_of(fields_of_part, "text"):
                yield Defect(message=row, what=f"empty text in content[{at}].content[{n}]")


def _results_first(first: int, turn: Sequence[dict[str, Any]]) -> Iterator[Defect]:
    other = False
    for row, fields in enumerate(turn, first):
        for block in _blocks(fields) or [{"type": "text"}]:
            if text_of(block, "type") != "tool_result":
                other = True
            elif other:
                yield Defect(
                    message=row, id=shown_id(block.get("tool_use_id")), what="a result after other content of its turn"
                )
                return

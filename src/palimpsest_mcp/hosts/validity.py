"""What a provider would refuse in a message list. Rendering must add nothing to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..ledger.identity import json_key
from ..ports.host import Form
from .marks import RESPONSES_ITEMS
from .pieces import as_fields, text_of

_CHANGING = ("text", "image", "document", "image_url", "input_text", "output_text", "input_image", "input_file", "file")
"""Blocks that rendering may change or replace by a text block."""


def check_messages(messages: Sequence[Any], form: Form) -> list[str]:
    """Problems of a list, each as a sentence that begins with its place; empty when a provider would take it.

    A transcript's list has Anthropic's form.
    """
    rows = [as_fields(message) or {} for message in messages]
    return list(_openai(rows) if form == "openai" else _anthropic(rows))


def new_problems(before: Sequence[Any], after: Sequence[Any], form: Form) -> list[str]:
    """What a rendered list has worse than the one it came from: new problems, and blocks that had to stay but did not.

    Every problem counts as often as it is there.
    """
    found = check_messages(after, form)
    if found:
        found = list((Counter(found) - Counter(check_messages(before, form))).elements())
    if len(before) != len(after):
        return [*found, f"{len(before)} messages became {len(after)}"]
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        old_fields, new_fields = as_fields(old) or {}, as_fields(new) or {}
        if old is not new and _fixed(old_fields) != _fixed(new_fields):
            found.append(f"messages[{row}]: a call, an id or a thinking block changed")
    return found


def _fixed(fields: dict[str, Any]) -> list[Any]:
    """All of a message but the contents that may change, in order."""
    kept: list[Any] = [{key: value for key, value in fields.items() if key not in ("content", "output")}]
    whole_result = text_of(fields, "role") in ("tool", "function")
    for block in () if whole_result else _blocks(fields):
        kind = text_of(block, "type")
        if kind.endswith("tool_result"):
            kept.append({key: value for key, value in block.items() if key != "content"})
        else:
            kept.append("" if kind in _CHANGING else block)
    return kept


def _blocks(fields: dict[str, Any]) -> list[dict[str, Any]]:
    content = fields.get("content")
    return [as_fields(block) or {} for block in cast("list[Any]", content)] if isinstance(content, list) else []


def _of(fields: dict[str, Any], kind: str, key: str) -> list[str]:
    return [json_key(block.get(key)) for block in _blocks(fields) if text_of(block, "type") == kind]


def _anthropic(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    turns = _turns(rows)
    for at, (first, role, turn) in enumerate(turns):
        for row, fields in enumerate(turn, first):
            yield from _empty(row, fields, last=row == len(rows) - 1 and role == "assistant")
        results = [key for fields in turn for key in _of(fields, "tool_result", "tool_use_id")]
        asked = [key for fields in turns[at - 1][2] for key in _of(fields, "tool_use", "id")] if at else []
        if role == "assistant":
            yield from _repeats(first, [key for fields in turn for key in _of(fields, "tool_use", "id")], "call")
            continue
        yield from _repeats(first, results, "result")
        yield from (
            f"messages[{first}]: a result without its call in the turn before" for k in results if k not in asked
        )
        yield from (
            f"messages[{first - 1}]: a call without its result in the next turn" for k in asked if k not in results
        )
        yield from _results_first(first, turn)


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


def _empty(row: int, fields: dict[str, Any], *, last: bool) -> Iterator[str]:
    content = fields.get("content")
    if not last and (content is None or content == "" or content == []):
        yield f"messages[{row}]: empty content"
    for at, block in enumerate(_blocks(fields)):
        if text_of(block, "type") == "text" and not text_of(block, "text"):
            yield f"messages[{row}].content[{at}]: empty text"
        inner = block.get("content")
        for n, part in enumerate(cast("list[Any]", inner) if isinstance(inner, list) else []):
            fields_of_part = as_fields(part) or {}
            if text_of(fields_of_part, "type") == "text" and not text_of(fields_of_part, "text"):
                yield f"messages[{row}].content[{at}].content[{n}]: empty text"


def _repeats(row: int, keys: Sequence[str], what: str) -> Iterator[str]:
    if len(set(keys)) < len(keys):
        yield f"messages[{row}]: two of one {what} id"


def _results_first(row: int, turn: Sequence[dict[str, Any]]) -> Iterator[str]:
    types = [text_of(block, "type") for fields in turn for block in (_blocks(fields) or [{"type": "text"}])]
    other = next((at for at, kind in enumerate(types) if kind != "tool_result"), len(types))
    if "tool_result" in types[other:]:
        yield f"messages[{row}]: a result after other content"


def _openai(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    waiting: list[str] = []
    since = 0
    items_asked: list[str] = []
    items_told: list[str] = []
    for row, fields in enumerate(rows):
        kind = text_of(fields, "type")
        if "role" not in fields and kind in RESPONSES_ITEMS:
            (items_told if kind.endswith("_output") else items_asked).extend(_call_ids(fields))
            continue
        if text_of(fields, "role") == "tool":
            key = json_key(fields.get("tool_call_id"))
            if key in waiting:
                waiting.remove(key)
            else:
                yield f"messages[{row}]: a result without its call in the message before"
            continue
        if waiting:
            yield f"messages[{since}]: {len(waiting)} calls without their results in the next messages"
        calls = fields.get("tool_calls")
        waiting = [json_key((as_fields(call) or {}).get("id")) for call in cast("list[Any]", calls or [])]
        since = row
        content = fields.get("content")
        if text_of(fields, "role") == "user" and (content is None or content == "" or content == []):
            yield f"messages[{row}]: empty content"
    yield from (f"items: output without its call {key}" for key in items_told if key not in items_asked)
    yield from (f"items: call without its output {key}" for key in items_asked[:-1] if key not in items_told)


def _call_ids(fields: dict[str, Any]) -> list[str]:
    return [json_key(fields["call_id"])] if "call_id" in fields else []

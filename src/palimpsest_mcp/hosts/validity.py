"""What a provider would refuse in a message list. Rendering must add nothing to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..models.nouns import counted
from ..models.reports import Defect
from ..ports.host import Form
from .call_defects import Named, misplaced, named, openai_defects, repeated, shown_id, unanswered, without_id
from .pieces import as_fields, text_of

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

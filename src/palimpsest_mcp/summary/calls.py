"""A session's items as calls with their results: what the harvest looks at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..models.items import Action, Item, content_text
from .verdicts import edit_failed

_OTHER = Action(verb="other")
_EXIT = re.compile(
    r"exit(?:ed)?(?: with)?(?: exit)? ?(?:code|status)\s*(?:is|of)?\s*[:=]?\s*(\d{1,3})\b", re.IGNORECASE
)
_TRACEBACK = "Traceback (most recent call last):"
_ENDS = 600
"""Characters at the start and end of a run's result in which a failure is looked for."""
_VIEWS = re.compile(
    r"\s*(?:cd \S+ && )?(?:sudo )?(?:cat|zcat|bat|nl|tail|head|less|more|sed -n|awk|grep|rg|egrep|ls|wc|find|jq|"
    r"journalctl|git (?:log|show|diff|blame|status)|docker logs|kubectl logs|gh run view)\b"
)
"""Commands that show what stands somewhere: an error in it is not theirs."""
_FIRST_WORD = re.compile(r"\s*(?:<error>|\[?error\]?\b\s*[:\]]|Error:|fatal:|bash: |sh: )", re.IGNORECASE)


class Call(NamedTuple):
    """One tool call."""

    place: tuple[int, int]
    """Of the call, or of its result where no call was recorded."""
    agent: str
    tool: str
    action: Action
    args: Mapping[str, Any]
    text: str
    """Of all its results."""
    answered: bool
    failed: bool
    item_id: str


def calls_of(items: Sequence[Item]) -> list[Call]:
    """Every call of the items (in the host's order), also those that never got a result."""
    units: dict[str, list[Item]] = {}
    for item in items:
        if item.kind == "tool_call" or item.role == "tool":
            units.setdefault(item.unit or item.id, []).append(item)
    return [_call(unit) for unit in units.values()]


def _call(unit: list[Item]) -> Call:
    first = next((item for item in unit if item.kind == "tool_call"), unit[0])
    results = [item for item in unit if item.role == "tool"]
    text = "\n".join(content_text(item.content) for item in results)
    action = next((item.action for item in unit if item.action), _OTHER)
    args = next((item.args for item in unit if item.args), None) or _input_of(first)
    failed = any(item.is_error for item in results) or says_it_failed(action, text)
    return Call(
        place=first.position,
        agent=first.agent,
        tool=first.tool_name,
        action=action,
        args=args,
        text=text,
        answered=bool(results),
        failed=failed,
        item_id=(results or [first])[0].id,
    )


def _input_of(item: Item) -> Mapping[str, Any]:
    content = item.content if isinstance(item.content, dict) else {}
    found = content.get("input")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def says_it_failed(action: Action, text: str) -> bool:
    """Whether a result that the host did not mark says itself that it failed: by exit code, traceback, first word or,
    of an edit, its verdict."""
    if action.verb in ("read", "search"):
        return len(text) < _ENDS and _FIRST_WORD.match(text) is not None
    if action.verb in ("edit", "write"):
        return edit_failed(text)
    if action.verb != "run":
        return _FIRST_WORD.match(text) is not None
    if _FIRST_WORD.match(text) and not _VIEWS.match(action.target):
        return True
    tail = text[-_ENDS:]
    codes = _EXIT.findall(text[:_ENDS] + "\n" + tail)
    if codes:
        return int(codes[-1]) != 0
    if _VIEWS.match(action.target):
        return False
    return _TRACEBACK in text and not text.rstrip().endswith(_TRACEBACK)


def strings(value: Any) -> Iterable[str]:
    """Every string of a JSON value, in order."""
    todo: list[Any] = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, Mapping):
            todo.extend(reversed(list(cast("Mapping[str, Any]", node).values())))
        elif isinstance(node, (list, tuple)):
            todo.extend(reversed(cast("Sequence[Any]", node)))

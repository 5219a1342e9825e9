"""A summary filled from a session's items alone: no model, nothing invented, every quote verbatim and masked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ...models.items import Item
from ...models.summaries import AnchoredSummary
from .calls import Call, calls_of, strings
from .errors_met import errors_met
from .merge import arranged
from .talk import Mask, decisions_of, intent_of, last_asked, last_said, one_line
from .todos import todos_of
from .trail import trail

# Things a session made that are not files: commits, pull requests, presented files, evidence.


MAX_ARTIFACT = 200
MAX_PRINTED = 5_000
"""Characters at the end of a result in which the link to what was just made is looked for."""
_COMMIT = re.compile(r"^\[\S+(?: \(root-commit\))? [0-9a-f]{7,40}\] .+$", re.MULTILINE)
_MADE_URL = re.compile(r"https?://[^\s\"'<>]+/(?:pull|pulls|merge_requests|issues|releases/tag|commit)/[\w.-]+")
_MAKES = re.compile(r"\bgit (?:-\S+ \S+ )*(?:commit|merge|cherry-pick|revert|rebase)\b")
_ASKS = re.compile(r"\b(?:gh|glab|hub) (?:pr|mr|issue|release) create\b|\bpull-request\b")
_PRESENTS = ("present_files", "present_file")


def artifacts_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    """Commits (the line with branch, hash and subject that git prints), links to what was opened, files that were
    presented, evidence with its address; each once, in order."""
    found = [*_from_calls(calls, mask), *_evidence(items, mask)]
    return tuple(dict.fromkeys(text for text in found if text))


def _from_calls(calls: Sequence[Call], mask: Mask) -> Iterator[str]:
    for call in calls:
        if call.failed:
            continue
        if call.tool in _PRESENTS:
            yield from (f"presented {one_line(mask(text), MAX_ARTIFACT)}" for text in strings(call.args) if "/" in text)
        elif call.action.verb == "run":
            target = call.action.target
            if _MAKES.search(target):
                yield from (one_line(mask(line), MAX_ARTIFACT) for line in _COMMIT.findall(call.text))
            if _ASKS.search(target):
                yield from (one_line(mask(url), MAX_ARTIFACT) for url in _MADE_URL.findall(call.text[-MAX_PRINTED:]))


def _evidence(items: Sequence[Item], mask: Mask) -> Iterator[str]:
    for item in items:
        if item.kind == "evidence" and item.url:
            yield one_line(mask(f"{item.title}: {item.url}" if item.title else item.url), MAX_ARTIFACT)


def harvest(
    items: Sequence[Item], mask: Mask, *, session: str = "", project: str = "", gone: Collection[str] = ()
) -> AnchoredSummary:
    """What a session's items say of it.

    Args:
        items: every item ever seen, also what left the context since, in the host's order.
        mask: masks secrets; every quoted text goes through it before it is cut.
        session: the handle.
        project: the folder that the host works in.
        gone: ids of items that the host has no more (a rewind): they say nothing of where the work stands.
    """
    calls = calls_of(items)
    made = trail(calls)
    todos = todos_of(calls, mask)
    here = [item for item in items if item.id not in gone] if gone else items
    return AnchoredSummary(
        session=session,
        session_intent=intent_of(items, mask),
        files_modified=arranged(made.files),
        decisions_made=decisions_of(items, mask),
        technical_context=tuple(_context(made.unnamed, project)),
        todos=todos.open,
        todos_done=todos.done,
        todos_total=todos.total,
        last_asked=last_asked(here, mask),
        last_said=last_said(here, mask),
        errors_encountered=errors_met(calls, mask),
        key_artifacts=artifacts_of(items, calls, mask),
        files_read=len({call.action.target for call in _good(calls, "read")} - {""}),
        commands_run=sum(1 for call in calls if call.action.verb == "run"),
        searches=sum(1 for call in calls if call.action.verb == "search"),
    )


def _good(calls: Sequence[Call], verb: str) -> list[Call]:
    return [call for call in calls if call.action.verb == verb and not call.failed]


def _context(unnamed: int, project: str) -> list[str]:
    found = [f"Working folder: {project}"] if project else []
    if unnamed:
        found.append(UNNAMED)
    return found


UNNAMED = "Some shell commands changed files that only a variable in them names; those files are not listed."

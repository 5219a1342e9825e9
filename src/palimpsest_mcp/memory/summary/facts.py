"""What a handoff takes from a session's items beside the summary: no model, nothing invented, masked before cut."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...models.items import Item
from ...models.summaries import Ran, SessionFacts
from ...text.specifics.cues import outcome_of
from .calls import Call, calls_of
from .line_ranges import line_ranges
from .talk import (
    Mask,
    ends_of,
    first_request,
    is_unanswered,
    one_line,
    open_questions,
    reports_of,
    requests_of,
    wishes_of,
)
from .todos import todos_of
from .trail import changed_paths, trail

MAX_COMMAND = 120
_RULES = "=-─━ \t"
"""What programs draw beside their words."""
MAX_LINE = 160
KEPT_RUNS = 6
KEPT_READ = 40
KEPT_ACTIVITY = 4
_CHECKS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|ruff|mypy|pyright|flake8|pylint|vitest|jest|mocha|eslint|tsc|tsgo|biome|rspec|"
    r"golangci-lint|shellcheck|phpunit)\b"
    r"|\b(?:npm|pnpm|yarn|bun|deno)(?: run)? (?:test|check|lint|typecheck|build)\b"
    r"|\b(?:go|cargo|mix|dotnet|swift|gradle|gradlew|mvn|sbt|bazel|make|just|zig) (?:\S+ )?"
    r"(?:test|check|vet|clippy|lint|build|verify)\b"
)
_VIEW = re.compile(r"\s*(?:2>&1)?\s*\|\s*(?:head|tail|grep|rg|sed|awk|less|cat|tee|sort|uniq|wc)\b.*", re.DOTALL)
_FOLDER = re.compile(r"^\s*cd (\S+)\s*&&\s*")
_AGENTS = re.compile(r"(?:Task|Agent|dispatch_agent|spawn_agent|delegate\w*)$")
_SKILLS = re.compile(r"(?:Skill|use_skill|load_skill)$")
_COMMIT = re.compile(r"\bgit (?:\S+ )*commit\b")


def facts_of(items: Sequence[Item], mask: Mask) -> SessionFacts:
    """What the items say.

    Args:
        items: every item ever seen, also what left the context since, in the host's order.
        mask: masks secrets; every quoted text goes through it before it is cut.
    """
    calls = calls_of(items)
    changed = {one.path for one in trail(calls).files}
    return SessionFacts(
        first=first_request(items, mask),
        requests=requests_of(items, mask),
        wishes=wishes_of(items, mask),
        reports=reports_of(items, mask),
        questions=open_questions(items, mask),
        unanswered=is_unanswered(items),
        lines={mask(path): words for path, words in line_ranges(calls).items()},
        changed=tuple(map(mask, changed_paths(calls))),
        read=_read(calls, changed, mask),
        runs=_runs(calls, mask),
        finished=todos_of(calls, mask).finished,
        activity=_activity(calls, mask),
        agents=_started(calls, _AGENTS, ("subagent_type", "agent_type", "agent"), mask),
        skills=_started(calls, _SKILLS, ("skill", "skill_name", "command", "name"), mask),
        items=len(items),
    )


def _read(calls: Sequence[Call], changed: set[str], mask: Mask) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for call in calls:
        target = call.action.target
        if call.action.verb == "read" and target and not call.failed and target not in changed:
            found.pop(target, None)
            found[target] = None
    return tuple(one_line(mask(path), MAX_LINE) for path in list(found)[-KEPT_READ:])


def _started(calls: Sequence[Call], tools: re.Pattern[str], names: Sequence[str], mask: Mask) -> tuple[str, ...]:
    """Agents or skills that calls started, each once: its name, and what it was for."""
    found: dict[str, None] = {}
    for call in calls:
        if tools.match(call.tool):
            named = next((value for key in names if isinstance(value := call.args.get(key), str) and value), "")
            what = call.args.get("description")
            words = ": ".join(
                one_line(mask(word), MAX_COMMAND) for word in (named, what) if isinstance(word, str) and word
            )
            if words:
                found[words] = None
    return tuple(found)


def _runs(calls: Sequence[Call], mask: Mask) -> tuple[Ran, ...]:
    """The newest run of each command that checks something, newest last."""
    found: dict[str, Ran] = {}
    for call in calls:
        command = call.action.target
        if call.action.verb != "run" or not call.answered or not _CHECKS.search(command) or _COMMIT.search(command):
            continue
        shown = one_line(_VIEW.sub("", _FOLDER.sub("", mask(command[:4_000]))), MAX_COMMAND)
        outcome = outcome_of(call.text)
        failed = True if call.failed else outcome.failed
        found.pop(shown, None)
        found[shown] = Ran(
            command=shown, failed=failed, line=_telling_line(call.text, outcome.line, mask), message=call.place[0] + 1
        )
    return tuple(found.values())[-KEPT_RUNS:]


def _telling_line(text: str, line: str, mask: Mask) -> str:
    """The line of an output that says what came of it, else its last one; masked as part of the whole."""
    masked = mask(ends_of(text)).splitlines()
    if not line or not any(line in row for row in masked):
        line = next((row for row in reversed(masked) if row.strip(_RULES)), "")
    return one_line(line.strip(_RULES), MAX_LINE)


def _activity(calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    rows: list[str] = []
    for call in calls[-KEPT_ACTIVITY:]:
        what = one_line(mask(call.action.target[:4_000]), MAX_COMMAND)
        line = _telling_line(call.text, "", mask)
        rows.append(
            f"{call.tool or 'a tool'}{f' `{what}`' if what and '`' not in what else ''}" + (f": {line}" if line else "")
        )
    return tuple(rows)

"""What a session is about just now, as far as its calls and words show it; and which kinds of items may leave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from ..models.items import Item, content_text
from ..models.plans import ContextItem, Policy
from ..text.specifics.vocabulary import Outcome, outcome_of

# Which kind an item is under a policy, and which kinds may leave at all.

_TALK = "message original_query clarify_verification system_prompt tool_call thinking"
_MEDIA = "image document host_block digest_part"
CONVERSATION = frozenset((*_TALK.split(), *_MEDIA.split()))
"""What carries the conversation itself, and stays so that calls stay paired and turns readable; and digests that came
with a parent session: none is digested again (L16)."""

LEAVING = frozenset({"tool_result", "evidence", "restored_copy"})
"""What a pass may take. Another kind may leave only where it is the result of a call."""


def kind_under(item: Item, policy: Policy) -> str:
    """The item's kind: its own where it says one, else by its tool (`kind_by_tool`)."""
    if item.kind == "tool_result" and item.tool_name:
        return policy.kind_by_tool.get(item.tool_name, item.kind)
    return item.kind


def never_leaves(kind: str, policy: Policy) -> bool:
    """Whether the policy protects the kind.

    The two `keep_all_…` flags count by themselves. Rubrics come inside the result of the clarifying tool, so keeping
    them keeps that result too.
    """
    if kind in policy.never_compact:
        return True
    if policy.keep_all_citations_index and kind == "citation_index":
        return True
    return policy.keep_all_rubrics and kind in ("rubrics", "clarify_result")


def may_leave(item: Item, kind: str) -> bool:
    """Whether items of this kind can be replaced, before any rule that protects this one."""
    return kind in LEAVING or _answers_a_call(item)


def is_result(item: Item) -> bool:
    """Whether the item is a result of a call, whatever kind a policy makes of it."""
    return item.kind in LEAVING or _answers_a_call(item)


def _answers_a_call(item: Item) -> bool:
    return item.kind not in CONVERSATION and (item.role == "tool" or bool(item.unit))


# What a session is about just now, as far as its calls and words show it: what the gates and the scorer look at.


WORK_MESSAGES = 20
"""What was touched within so many newest messages is being worked on: ten answers of an agent."""
READ_CHARS = 60_000
"""Of a result, so much is compared with others."""

_SPACES = re.compile(r"\s+")
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|:|\|)\s?")
_LINE = 8
"""Shorter lines (brackets, blanks) say nothing about whether two texts are the same."""


def bare_line(line: str) -> str:
    """What a line says, by which two texts are compared: without the number that a tool printed before it."""
    return _NUMBERED.sub("", line).strip()


class Result:
    """One result of a call, with what its call says. Texts are read when somebody asks."""

    def __init__(self, entry: ContextItem, order: int) -> None:
        self.entry = entry
        self.item: Item = entry.item
        self.order = order
        """Place among all present items."""
        self.verb: str = entry.item.action.verb if entry.item.action else "other"
        self.target = _plain(entry.item.action.target) if entry.item.action else ""

    @property
    def row(self) -> int:
        """Its message."""
        return self.item.position[0]

    @cached_property
    def text(self) -> str:
        """The beginning of its original text."""
        return content_text(self.item.content)[:READ_CHARS]

    @cached_property
    def outcome(self) -> Outcome:
        """Whether it says that the call failed. Of a log that was only read, errors are what it is about, not how the
        call went: of anything but a command, the host's own mark counts alone."""
        if self.verb != "run" and not self.item.is_error:
            return Outcome(False if self.item.content else None, "")
        return outcome_of(content_text(self.item.content), is_error=self.item.is_error)

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines that say something, without the line numbers that some tools print."""
        bare = map(bare_line, self.text.splitlines())
        return frozenset(line for line in bare if len(line) >= _LINE)

    @cached_property
    def asked(self) -> str:
        """The same for two calls that ask the same thing: tool, or verb and target, and every other argument."""
        return f"{self.item.tool_name} {_spaced(_args(self.item.args))}"

    @property
    def command(self) -> str:
        """The command without the filters behind it: `npm test 2>&1 | tail -5` asks the same as `npm test`."""
        return _SPACES.sub(" ", self.target.partition(" |")[0].replace("2>&1", "")).strip()

    @property
    def filtered(self) -> bool:
        """Only a part of the command's output is here: what is missing in it proves nothing."""
        return " |" in self.target


class Scene:
    """The present items of one agent's context, by what they are."""

    def __init__(self, items: Sequence[ContextItem], policy: Policy) -> None:
        present = [entry for entry in items if entry.state != "gone"]
        self.kinds = {entry.item.id: kind_under(entry.item, policy) for entry in present}
        self.results = [Result(entry, order) for order, entry in enumerate(present) if is_result(entry.item)]
        self.messages = [
            entry.item
            for entry in present
            if entry.item.role in ("user", "assistant")
            and self.kinds[entry.item.id] in ("message", "original_query", "clarify_verification")
        ]
        self.changes = _changes(present, self.results)
        rows = sorted({entry.item.position[0] for entry in present if entry.item.role != "system"}, reverse=True)
        self.rows: Mapping[int, int] = {row: age for age, row in enumerate(rows, 1)}
        """Message -> its age, 1 is the newest."""

    def age(self, row: int) -> int:
        """1 for the newest message; as old as can be for one that is unknown."""
        return self.rows.get(row, len(self.rows) + 1)

    @cached_property
    def task(self) -> str:
        """Id of the first thing that the user said; empty where nothing was."""
        return next((item.id for item in self.messages if item.role == "user"), "")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Message id -> what it says."""
        return {item.id: content_text(item.content) for item in self.messages}

    @cached_property
    def in_work(self) -> frozenset[str]:
        """Paths that were changed within the newest `WORK_MESSAGES` messages."""
        return frozenset(path for path, rows in self.changes.items() if self.age(rows[-1][0]) <= WORK_MESSAGES)

    def by(self, key: str) -> dict[str, list[Result]]:
        """Results grouped by `target`, `asked` or `command`, oldest first; empty keys are left out."""
        groups: dict[str, list[Result]] = {}
        for one in self.results:
            if value := getattr(one, key):
                groups.setdefault(value, []).append(one)
        return groups


def _changes(present: Iterable[ContextItem], results: Sequence[Result]) -> dict[str, list[tuple[int, str]]]:
    """Path -> (message, id of the call) of every change that did not fail, oldest first."""
    failed = {one.item.unit for one in results if one.item.is_error and one.item.unit}
    changes: dict[str, list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for entry in present:
        item = entry.item
        unit = item.unit or item.id
        if item.action is None or item.action.verb not in ("write", "edit") or unit in failed or unit in seen:
            continue
        seen.add(unit)
        if path := _plain(item.action.target):
            changes.setdefault(path, []).append((item.position[0], item.call_id or item.id))
    return changes


def covers(later: Result, earlier: Result) -> bool:
    """Whether nearly everything that an earlier result shows stands in a later one too."""
    if later.item.sha256 and later.item.sha256 == earlier.item.sha256:
        return True
    lines = earlier.lines
    return bool(lines) and len(lines & later.lines) >= SAME_SHARE * len(lines)


SAME_SHARE = 0.9
"""Share of an earlier text's lines that a later one must have to stand for it."""


def _plain(target: str) -> str:
    return target.strip().removeprefix("./")


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", text)


def _args(args: object) -> str:
    try:
        return msgspec.json.encode(args, order="sorted", enc_hook=str).decode()
    except ValueError:  # half of a surrogate pair
        return json.dumps(args, sort_keys=True, default=str)

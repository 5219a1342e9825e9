"""Which files and commands of a coding session can still be told after it was compacted, and at what saving.

    python benchmarks/artifact_trail.py [SOURCE:LINE ...]

What is expected is read from the raw inputs of the tool calls here, and whether it is found is asked here: this file
imports nothing of what it measures but the library's entry, and a counter of tokens.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from measuring import table
from real_sessions import shared_folder

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.text.tokens.count import open_counter

Messages = list[dict[str, Any]]
O200K = open_counter("gpt-4o")
"""Plain tokens of o200k."""
SESSIONS = (("pi-mono", 1), ("pi-mono", 2), ("spotter", 1), ("spotter", 3))
TARGETS = (0.4, 0.2)
KINDS = ("read", "written", "changed", "run")
READ = ("read", "view", "readfile", "read_file", "open")
WRITTEN = ("write", "create", "writefile", "write_file")
NOTED = 400
"""Characters of a command from which it is a script: what names it is its first line."""
CHANGED = ("edit", "multiedit", "str_replace", "str_replace_editor", "notebookedit", "edit_file")


@dataclass
class Trail:
    """What the calls of a session name, each once."""

    found: dict[str, dict[str, None]]

    def add(self, kind: str, value: Any) -> None:
        if isinstance(value, str) and value.strip():
            self.found[kind][value.strip()] = None


def trail_of(messages: Messages) -> Trail:
    """From the raw inputs, by the tools' own names."""
    trail = Trail({kind: {} for kind in KINDS})
    for block in blocks(messages, "tool_use"):
        name, given = str(block["name"]).lower(), cast("dict[str, Any]", block["input"])
        path = given.get("file_path") or given.get("path") or given.get("notebook_path")
        for kind, names in (("read", READ), ("written", WRITTEN), ("changed", CHANGED)):
            if name in names:
                trail.add(kind, path)
        trail.add("run", _begins(given.get("command") or given.get("cmd")))
    return trail


def _begins(command: Any) -> Any:
    """A command, or its first line where it is so long that the call leaves under a note that quotes that line."""
    return command.strip().split("\n")[0] if isinstance(command, str) and len(command) > NOTED else command


def blocks(messages: Messages, sort: str) -> Iterator[dict[str, Any]]:
    for message in messages:
        if isinstance(message["content"], list):
            listed = cast("list[Any]", message["content"])
            found = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
            yield from (one for one in found if one.get("type") == sort)


def strings(value: Any) -> Iterator[str]:
    """Every text of a message list, as a model reads it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        parts = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        for part in parts:
            yield from strings(part)


def told(value: str, text: str) -> bool:
    """Whether a path or command stands whole: not as the beginning or the end of a longer one."""
    return re.search(rf"(?<![\w./-]){re.escape(value)}(?!\w|[./-]\w)", text) is not None


def distractor(value: str) -> str:
    """Near, and in no session: the last letter or digit is another one."""
    return re.sub(r"[A-Za-z0-9](?=[^A-Za-z0-9]*$)", lambda last: "q" if last[0] != "q" else "z", value)


def shares(trail: Trail, text: str) -> dict[str, tuple[int, int]]:
    return {kind: (sum(told(one, text) for one in found), len(found)) for kind, found in trail.found.items()}


def wrong(trail: Trail, original: str, text: str) -> tuple[int, int]:
    """Distractors answered "yes", of those that no original holds."""
    made = [distractor(one) for found in trail.found.values() for one in found]
    asked = [one for one in made if not told(one, original)]
    return sum(told(one, text) for one in asked), len(asked)


@dataclass
class Saved:
    """Tokens of o200k, before and after."""

    replaced: float
    """Share that was saved of the results that were replaced."""
    results: float
    """Of all tool results."""
    all: float
    """Of the whole list."""


def size(value: Any) -> int:
    return sum(O200K.count(text) for text in strings(value))


def saved(before: Messages, after: Messages) -> Saved:
    pairs = list(zip(blocks(before, "tool_result"), blocks(after, "tool_result"), strict=True))
    changed = [(one, other) for one, other in pairs if one["content"] != other["content"]]

    def share(some: list[tuple[dict[str, Any], dict[str, Any]]]) -> float:
        was = sum(size(one["content"]) for one, _ in some)
        return 1 - sum(size(other["content"]) for _, other in some) / was if was else 0.0

    return Saved(replaced=share(changed), results=share(pairs), all=1 - size(after) / size(before))


def messages_of(source: str, line: int) -> Messages:
    path = shared_folder() / "data" / "converted" / f"{source}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return next(json.loads(text)["messages"] for number, text in enumerate(lines, 1) if number == line)


async def compacted(messages: Messages, target: float) -> tuple[Messages, str]:
    """The shorter list, and the summary as its file has it."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-trail-") as home:
        async with Palimpsest.open(home) as p:
            done = await p.compact_messages(messages, session_id="s", target=target, keep_last=3, force=True)
            return done.messages, await p.summary_markdown("s")


@dataclass
class Measured:
    """One session at one target."""

    name: str
    target: float
    saved: Saved
    stays: dict[str, tuple[int, int]]
    summary: dict[str, tuple[int, int]]
    """What the anchored summary alone tells: where a host throws the calls away too."""
    taken: tuple[int, int]

    @property
    def share(self) -> float:
        return sum(found for found, _ in self.stays.values()) / sum(all_ for _, all_ in self.stays.values())


def measure(source: str, line: int, target: float) -> Measured:
    return asyncio.run(measured(source, line, target))


async def measured(source: str, line: int, target: float) -> Measured:
    messages = messages_of(source, line)
    after, summary = await compacted(messages, target)
    trail, original = trail_of(messages), "\n".join(strings(messages))
    text = "\n".join(strings(after))
    return Measured(
        name=f"{source}:{line}",
        target=target,
        saved=saved(messages, after),
        stays=shares(trail, text),
        summary=shares(trail, summary),
        taken=wrong(trail, original, text),
    )


def artifact_trail(sessions: Sequence[tuple[str, int]] = SESSIONS) -> str:
    """One row a session and target."""
    rows: list[list[str]] = []
    for source, line in sessions:
        for target in TARGETS:
            one = measure(source, line, target)
            rows.append(
                [
                    one.name,
                    f"{target:g}",
                    *(f"{share:.1%}" for share in (one.saved.replaced, one.saved.results, one.saved.all)),
                    *("{} of {}".format(*one.stays[kind]) for kind in KINDS),
                    f"{one.share:.1%}",
                    "{} of {}".format(*one.taken),
                    " / ".join("{} of {}".format(*one.summary[kind]) for kind in ("written", "changed")),
                ]
            )
    head = ["session", "target", "saved of what was replaced", "of all results", "of the whole list", *KINDS, "told"]
    return table([*head, "distractors taken", "summary alone: written / changed"], rows)


def main() -> None:
    named = [(one.partition(":")[0], int(one.partition(":")[2] or 1)) for one in sys.argv[1:]]
    sys.stdout.write(artifact_trail(tuple(named) or SESSIONS) + "\n")


if __name__ == "__main__":
    main()

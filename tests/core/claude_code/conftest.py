"""A client in small: it writes the transcript as Claude Code does, row by row, and calls the hooks at its moments."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

Row = dict[str, Any]


class FakeClient:
    """One conversation of one client."""

    def __init__(self, p: Palimpsest, folder: Path, session_id: str, *, window: int = 200_000) -> None:
        self.p = p
        self.session_id = session_id
        self.path = folder / f"{session_id}.jsonl"
        self.window = window
        self._uuids = (f"{session_id}-u{n}" for n in itertools.count())
        self.last: str | None = None
        self._answers = itertools.count()
        self.shown: dict[str, str] = {}
        """Call id -> text that the context shows for it."""
        self.rows: list[Row] = []
        """The messages as the hooks module sees them."""

    # rows

    def write(self, **row: Any) -> str:
        uuid = next(self._uuids)
        whole = {"uuid": uuid, "parentUuid": self.last, "isSidechain": False, "sessionId": self.session_id, **row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(whole) + "\n")
        self.last = uuid
        return uuid

    def say(self, text: str) -> None:
        self.write(type="user", message={"role": "user", "content": text})
        self.rows.append({"role": "user", "text": text, "toolUses": [], "toolResults": []})

    def answer(self, text: str = "", *calls: tuple[str, str, dict[str, Any]], used: int = 0) -> None:
        """One answer: a row a block, the same id and usage in each."""
        name = f"msg_{next(self._answers)}"
        usage = {
            "input_tokens": used,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        }
        blocks: list[Row] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": call, "name": tool, "input": args} for call, tool, args in calls]
        for block in blocks:
            message = {"role": "assistant", "id": name, "model": "claude-opus-5-5", "usage": usage, "content": [block]}
            self.write(type="assistant", message=message)
        uses = [{"tool_use_id": call, "tool": tool, "input": args} for call, tool, args in calls]
        self.rows.append({"role": "assistant", "text": text, "toolUses": uses, "toolResults": []})

    def result(self, call: str, text: str) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        self.write(type="user", message={"role": "user", "content": [block]})
        self.shown[call] = text
        one = {"tool_use_id": call, "text": text, "isError": False}
        self.rows.append({"role": "user", "text": "", "toolUses": [], "toolResults": [one]})

    # hooks

    async def hook(self, event: str, **fields: Any) -> str:
        payload = {"session_id": self.session_id, "transcript_path": str(self.path), "cwd": "/work/project", **fields}
        return await self.p.host_event(event, payload)

    async def context_of(self, event: str, **fields: Any) -> str:
        """What a hook injects; empty for nothing."""
        said = await self.hook(event, **fields)
        return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""

    async def bash(self, call: str, command: str, output: str, *, used: int = 0) -> str:
        """One whole step with Bash, with its hooks. Returns what PostToolUse answered."""
        self.answer("", (call, "Bash", {"command": command}), used=used)
        response = json.dumps({"stdout": output, "stderr": "", "interrupted": False, "isImage": False})
        said = await self.hook(
            "PostToolUse",
            tool_name="Bash",
            tool_use_id=call,
            tool_input=json.dumps({"command": command}),
            tool_response=response,
        )
        self.result(call, output.rstrip())
        return said

    async def compact(self, trigger: str = "auto", **more: Any) -> dict[str, Any]:
        """What the module gets at `session.compact`."""
        return json.loads(await self.hook("session.compact", trigger=trigger, messages=self.rows, **more))

    def apply(self, results: dict[str, str], inputs: dict[str, Any] | None = None) -> None:
        """What the module does with the answer: a boundary, and every row built anew."""
        self.write(type="system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "postTokens": 9_000})
        self.last = None
        for row in self.rows:
            for one in row["toolResults"]:
                one["text"] = results.get(one["tool_use_id"], one["text"])
        rows, self.rows = self.rows, []
        for row in rows:
            if row["role"] == "assistant":
                uses = [(u["tool_use_id"], u["tool"], u["input"]) for u in row["toolUses"]]
                self.answer(row["text"], *((name, tool, (inputs or {}).get(name, own)) for name, tool, own in uses))
            elif row["toolResults"]:
                for one in row["toolResults"]:
                    self.result(one["tool_use_id"], one["text"])
            else:
                self.say(row["text"])

    def summarised(self, summary: str) -> None:
        """What the client's own compaction leaves: a boundary and its summary."""
        self.write(type="system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "postTokens": 4_000})
        self.last = None
        self.write(type="user", isCompactSummary=True, message={"role": "user", "content": summary})
        self.rows = [{"role": "user", "text": summary, "toolUses": [], "toolResults": []}]


def log_of(number: int, lines: int = 40) -> str:
    """A result with specifics of its own."""
    rows = (
        f"2026-03-{1 + number % 28:02d}T10:{row:02d}:00Z INFO worker-{number} wrote "
        f"/var/data/part-{number}-{row}.bin {number * 1000 + row} bytes in {row}.{number} ms"
        for row in range(lines)
    )
    return "\n".join(rows) + f"\nERROR E{4000 + number}: checksum differs in part-{number}-7"


Open = Callable[..., FakeClient]


@pytest.fixture
async def p(tmp_path: Path) -> AsyncGenerator[Palimpsest]:
    async with Palimpsest.open(tmp_path / "home", attached="claude-code") as opened:
        yield opened


@pytest.fixture
def client(p: Palimpsest, tmp_path: Path) -> Open:
    """Conversations of one client."""

    def make(session_id: str = "main-session", **more: Any) -> FakeClient:
        return FakeClient(p, tmp_path / "projects" / "-work-project", session_id, **more)

    return make


async def long_session(client: FakeClient, steps: int = 18, *, used: int = 0) -> None:
    """A question and so many steps with Bash."""
    client.say("Why does the nightly job fail? Keep ticket OPS-77 in mind.")
    for n in range(steps):
        await client.bash(f"toolu_{n:03d}", f"./check.sh --step {n}", log_of(n), used=used)

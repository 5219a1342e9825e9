"""A Claude Code transcript as a session file: what of it counts, how full it is, and what the answer advises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.messages import CompactedMessages
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import WindowUnknown
from palimpsest_mcp.models.events import SessionKey

pytestmark = pytest.mark.anyio
ID = "0f3c9a52-1111-4222-8333-444455556666"
WINDOW = 200_000


def usage(used: int) -> dict[str, Any]:
    """All four counters, which together are the size of the context."""
    return {
        "input_tokens": 10,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": used - 350,
        "output_tokens": 40,
    }


def log_of(name: str) -> str:
    return "\n".join(
        f"2026-11-20T10:{line:02d}:00Z {name}-{line:03d} wrote /data/{name}/{line}.csv in {line}.5 ms"
        for line in range(60)
    )


class Transcript:
    """Rows as the client writes them, each under the one before."""

    def __init__(self, folder: Path, name: str = ID) -> None:
        self.path = folder / f"{name}.jsonl"
        self.rows: list[dict[str, Any]] = []
        self.last: str | None = None

    def add(self, kind: str, message: dict[str, Any] | None = None, *, aside: str = "", **more: Any) -> None:
        uuid = f"u{len(self.rows)}"
        row = {"type": kind, "uuid": uuid, "parentUuid": self.last, "isSidechain": bool(aside), "sessionId": ID}
        row |= {
            "cwd": "/work/shop",
            **({"agentId": aside} if aside else {}),
            **({"message": message} if message else {}),
        }
        self.rows.append({**row, **more})
        if not aside:
            self.last = uuid

    def say(self, text: str, **more: Any) -> None:
        self.add("user", {"role": "user", "content": text}, **more)

    def step(self, name: str, *, used: Any, aside: str = "") -> None:
        """A call and its result."""
        call = {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash", "input": {"command": f"run {name}"}}
        told = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": log_of(name)}
        answer = {"role": "assistant", "id": f"m{name}", "model": "claude-opus-4-6", "usage": used, "content": [call]}
        self.add("assistant", answer, aside=aside)
        self.add("user", {"role": "user", "content": [told]}, aside=aside)

    def write(self) -> Path:
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        return self.path


def session(folder: Path, steps: int = 14, *, used: int = 150_000) -> Transcript:
    made = Transcript(folder)
    made.say("Why does the import fail?")
    for n in range(steps):
        made.step(f"s{n:02d}", used=usage(used))
    return made


def tokens(done: CompactedMessages) -> int:
    return done.report.to_json()["before"]["tokens"]


async def test_what_is_reported_is_the_size_before(p: Palimpsest, tmp_path: Path) -> None:
    """Input, both cache counters and output of the newest answer, and an estimate of the result that came after it."""
    done = await p.compact_file(session(tmp_path).write(), window_tokens=WINDOW, target=0.68)
    after = p.deps.counter_for("claude-opus-4-6").count(log_of("s13"))
    assert done.session_id == ID and done.report.status == "compacted"
    assert done.report.to_json()["before"]["tokens_source"].startswith("provider usage")
    assert 150_000 + after <= tokens(done) <= 150_000 + after + 100
    assert done.report.to_json()["after"]["tokens"] < tokens(done)


@pytest.mark.parametrize("nothing", [None, {}, {"input_tokens": None}, "unknown"])
async def test_usage_that_says_nothing_is_estimated_and_never_zero(p: Palimpsest, tmp_path: Path, nothing: Any) -> None:
    made = Transcript(tmp_path)
    made.say("Why does the import fail?")
    for n in range(14):
        made.step(f"s{n:02d}", used=nothing)
    done = await p.compact_file(made.write(), window_tokens=60_000, force=True, target=0.4)
    assert tokens(done) > 20_000
    assert "estimate" in done.report.to_json()["before"]["tokens_source"]


async def test_what_a_sub_agent_did_is_neither_counted_nor_shown_nor_replaced(p: Palimpsest, tmp_path: Path) -> None:
    made = session(tmp_path, 8)
    made.say("look for it", aside="a1")
    for n in range(4):
        made.step(f"side{n}", used=usage(30_000), aside="a1")
    for n in range(8, 14):
        made.step(f"s{n:02d}", used=usage(150_000))
    made.step("last-side", used=usage(10_000), aside="a1")
    done = await p.compact_file(made.write(), window_tokens=WINDOW, force=True, target=0.3)
    assert tokens(done) > 150_000  # of the main chain, although the newest row is the sub-agent's
    shown = {one.item_id for one in (await p.show_context(ID)).items}
    assert {f"toolu_s{n:02d}" for n in range(14)} <= shown and not any("side" in name for name in shown)
    assert "side" not in json.dumps(done.messages)


async def test_a_sub_agents_own_file_is_a_session_of_its_own(p: Palimpsest, tmp_path: Path) -> None:
    made = Transcript(tmp_path, "agent-a1")
    made.say("look for it", aside="a1")
    for n in range(14):
        made.step(f"side{n}", used=usage(150_000), aside="a1")
    for at, row in enumerate(made.rows):
        row["parentUuid"] = f"u{at - 1}" if at else None
    done = await p.compact_file(made.write(), window_tokens=WINDOW, force=True, target=0.5)
    assert done.session_id == f"{ID}.a1" and done.report.batches


async def test_the_answer_says_how_to_make_it_real_in_that_client(p: Palimpsest, tmp_path: Path) -> None:
    done = await p.compact_file(session(tmp_path).write(), window_tokens=WINDOW, target=0.5)
    assert "rewrite_session(" in done.report.how_to_apply and "unchanged" in done.report.how_to_apply
    of_list = await p.compact_messages(done.messages, session_id="list", window_tokens=WINDOW, force=True, target=0.5)
    assert "next request" in of_list.report.how_to_apply


async def test_reading_it_again_writes_nothing_and_gives_the_same_bytes(p: Palimpsest, tmp_path: Path) -> None:
    file = session(tmp_path).write()
    first = await p.compact_file(file, window_tokens=WINDOW, target=0.5)
    events = len((await p.store.ledger.read(SessionKey(ID))).events)
    again = await p.compact_file(file, window_tokens=WINDOW, target=0.5)
    assert again.messages == first.messages
    assert len((await p.store.ledger.read(SessionKey(ID))).events) == events


async def test_what_the_client_compacted_away_is_gone_and_still_restorable(p: Palimpsest, tmp_path: Path) -> None:
    made = session(tmp_path)
    done = await p.compact_file(made.write(), window_tokens=WINDOW, target=0.5)
    made.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "postTokens": 9_000})
    made.rows[-1]["parentUuid"] = None
    made.say("This session is being continued.", isCompactSummary=True)
    made.step("s20", used=usage(12_000))
    ratio = await p.check_context_ratio(ID, transcript_path=str(made.write()), window_tokens=WINDOW)
    assert ratio.used.value is not None and 12_000 <= ratio.used.value < 16_000
    gone = {one.item_id for one in (await p.show_context(ID)).items if one.state != "gone"}
    assert "toolu_s00" not in gone and "toolu_s20" in gone
    batch = done.report.batches[0]
    assert (await p.restore(ID, batch.batch_id, batch.item_ids[0])).text == log_of(batch.item_ids[0][6:])


async def test_without_a_window_it_is_known_by_the_model_or_asked_for(p: Palimpsest, tmp_path: Path) -> None:
    done = await p.compact_file(session(tmp_path).write())
    assert "claude-opus-4-6" in done.report.to_json()["before"]["window_source"]
    made = session(tmp_path)
    for row in made.rows:
        if row["type"] == "assistant":
            row["message"]["model"] = "a model of nobody"
    with pytest.raises(WindowUnknown):
        await p.compact_file(made.write(), session_id="other")

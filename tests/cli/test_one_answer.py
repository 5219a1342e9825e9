"""How full one session is, by every face that says it: one window, one share, one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import TextContent

from palimpsest_mcp.cli.statusline import status_line
from palimpsest_mcp.context.meter import APPLY
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.reports import Usage
from palimpsest_mcp.server.server import build_server

from .conftest import Program

SID = "2f6c0d5e-0000-4000-8000-000000000007"
MODEL = "claude-opus-4-6"
USED = 134_000


def transcript(folder: Path, results: int = 40) -> Path:
    """A Claude Code session in a window of 180,000 that reported 134,000 tokens with its last answer."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, content: Any, **more: Any) -> None:
        message = {"role": kind, "content": content, **more}
        uuid = f"u{len(rows):03d}"
        parent = f"u{len(rows) - 1:03d}" if rows else None
        rows.append({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SID, "message": message})

    add("user", "Why does the nightly import fail?")
    for n in range(results):
        call = {"type": "tool_use", "id": f"toolu_{n:03d}", "name": "Bash", "input": {"command": f"./check --step {n}"}}
        add("assistant", [call], model=MODEL, id=f"msg_{n}")
        body = "\n".join(
            f"2026-11-01T10:{n:02d}:{line:02d}Z worker-{n}-{line} took {line}.{n} ms" for line in range(45)
        )
        add("user", [{"type": "tool_result", "tool_use_id": f"toolu_{n:03d}", "content": body}])
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 996, "cache_read_input_tokens": USED - 1_500}
    add(
        "assistant",
        [{"type": "text", "text": "It fails at step 7."}],
        model=MODEL,
        usage={**usage, "output_tokens": 500},
    )
    path = folder / f"{SID}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who set nothing in the client."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


def asked(home: Path) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What the tools say: check_context_ratio, compact_session (dry), show_context."""

    async def ask() -> tuple[dict[str, Any], dict[str, Any], str]:
        async with Client(build_server(lambda: Palimpsest.open(home), version="test", warm=lambda: None)) as client:
            checked = (await client.call_tool("check_context_ratio", {"session_id": SID})).structured_content
            arguments = {"session_id": SID, "dry_run": True, "target": 0.3}
            planned = (await client.call_tool("compact_session", arguments)).structured_content
            shown = await client.call_tool("show_context", {"session_id": SID})
        assert checked is not None and planned is not None
        return checked, planned, "\n".join(one.text for one in shown.content if isinstance(one, TextContent))

    return anyio.run(ask)


def usage_of(home: Path, *, detail: bool = False) -> Usage:
    async def ask() -> Usage:
        async with Palimpsest.open(home) as p:
            return await p.check_context_ratio(SID, detail=detail)

    return anyio.run(ask)


def faces(program: Program, home: Path, file: Path) -> dict[str, tuple[Any, ...]]:
    """(used, window, share) as each face says it; the sentence is compared where it is said."""
    found: dict[str, tuple[Any, ...]] = {}
    for name in ("compact", "rewrite"):
        before = program(name, str(file), "--dry-run", "--json").json["before"]
        found[f"{name} --dry-run"] = (before["tokens"], before["window"], before["ratio"])
    shown = program("show", SID, "--json").json["usage"]
    found["show --json"] = (shown["used"]["value"], shown["effective_window"]["value"], shown["ratio"])
    bar = re.search(r"([\d,]+) of ([\d,]+) tokens \(([\d.]+)%\)", program("show", SID).text)
    assert bar is not None
    used, window = (int(bar[n].replace(",", "")) for n in (1, 2))
    found["show"] = (used, window, used / window)
    assert float(bar[3]) == round(100 * used / window, 1)
    checked, answer, text = asked(home)
    found["check_context_ratio"] = (checked["used_tokens"], checked["window_tokens"], checked["ratio"])
    found["compact_session"] = (answer["tokens_before"], answer["window_tokens"], answer["ratio_before"])
    line = re.search(r": (\d+) of (\d+) tokens \(([\d.]+)%\)", text)
    assert line is not None
    found["show_context"] = (int(line[1]), int(line[2]), int(line[1]) / int(line[2]))
    assert checked["meaning"] == shown["meaning"] and checked["meaning"] in text
    assert checked["meaning"] in program("show", SID).text
    tokens = {"input_tokens": 4, "output_tokens": 500, "cache_read_input_tokens": USED - 504}
    given = {"session_id": SID, "model": {"id": MODEL}, "context_window": {"current_usage": tokens}}
    words = status_line(given, {}, str(home))
    share = re.match(r"context (\d+)% of 180k, auto-compact at 167k", words)
    assert share is not None, words
    assert int(share[1]) == round(100 * shown["ratio"])
    return found


def equal(found: dict[str, tuple[Any, ...]]) -> None:
    one = found["check_context_ratio"]
    for name, said in found.items():
        assert said[:2] == one[:2], (name, said, one)
        assert said[2] == pytest.approx(one[2], abs=1e-4), name


def test_every_face_gives_the_same_window_and_share_before_a_pass_and_after_it(
    program: Program, home: Path, tmp_path: Path
) -> None:
    file = transcript(tmp_path)
    program("compact", file, "--keep-last", "-1")  # knows it, and takes nothing
    before = faces(program, home, file)
    assert before["check_context_ratio"][:2] == (USED, 180_000)
    equal(before)
    done = program("compact", str(file), "--target", "0.4", "--json").json
    assert done["batches"] and done["before"]["ratio"] == pytest.approx(USED / 180_000)
    equal(faces(program, home, file))


def test_after_a_pass_the_next_step_is_to_apply_it_and_every_face_says_so(
    program: Program, home: Path, tmp_path: Path
) -> None:
    file = transcript(tmp_path)
    done = program("compact", str(file), "--target", "0.4", "--json").json
    usage = usage_of(home)
    assert usage.zone == "compact" and usage.action == APPLY and usage.how_to_apply
    assert usage.ratio == pytest.approx(USED / 180_000)
    assert usage.compacted_view_tokens == done["after"]["tokens"], "the report and the later answer are one number"
    assert usage.compacted_view_ratio == pytest.approx(done["after"]["ratio"])
    assert usage.waiting == sum(batch["items"] for batch in done["batches"])
    assert usage.meaning in program("list", SID).text, "a listing of digests that are not applied says so"
    saved = done["before"]["tokens"] - done["after"]["tokens"]
    status = program("status", "--json").json
    assert status["net_saved_tokens"] + status["standing_tokens"] == saved, "fewer and saved are one number"
    summary = program("summary", SID).text
    assert f"Tokens Before: {USED}" in summary and f"Tokens After: {done['after']['tokens']}" in summary
    note = json.loads(next((home / "session").glob("*/status.json")).read_text("utf-8"))
    assert note["saved_tokens"] == saved


def test_every_breakdown_sums_to_its_total(program: Program, home: Path, tmp_path: Path) -> None:
    file = transcript(tmp_path)
    for arguments in (("--target", "0.4"), ("--dry-run",), ("--dry-run", "--target", "0.2"), ("--target", "0.2")):
        report = program("compact", str(file), "--json", *arguments).json
        assert sum(part["tokens"] for part in report["stayed"]) == report["after"]["tokens"], arguments
        shown = program("show", SID, "--json").json
        assert sum(part["items"] for part in report["stayed"]) == len(shown["items"]), arguments
        assert sum(part["tokens"] for part in shown["usage"]["parts"]) == shown["usage"]["used"]["value"]
        assert sum(part["items"] for part in shown["usage"]["parts"]) == len(shown["items"])
    detailed = usage_of(home, detail=True)
    assert sum(part.tokens for part in detailed.parts) == detailed.used.value == USED


def test_a_session_is_measured_against_its_window_whether_a_pass_is_forced_or_not(
    program: Program, home: Path, tmp_path: Path
) -> None:
    file = transcript(tmp_path)
    for more in ((), ("--force",)):
        report = program("compact", str(file), "--dry-run", "--json", *more).json
        assert (report["before"]["tokens"], report["before"]["window"]) == (USED, 180_000)
        assert report["target_of"] == (USED if more else 180_000)
        assert any("the session's own 134,000 tokens" in note for note in report["notes"]) is bool(more)

"""VS Code's chat sessions, followed by the files that it writes: listed, searched, restored."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.watch import Watched
from palimpsest_mcp.errors import InvalidArgument

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
ID = "6f0e8a3c-52b1-4f0e-9d3a-0f7c1c2b9a11"
ORDER = "Never push to main."
PARTS = range(5)


def output(n: int) -> str:
    rows = "\r\n".join(
        f"part-{n:02}-{at:02}\twrote /data/{n}/part-{at:04}.csv in {n * 100 + at} ms" for at in range(30)
    )
    return f"{rows}\n\u2028{n} failed, {n + 10} passed in 4.{n}s \U0001f9ea\n"


def round_of(n: int) -> Row:
    arguments = json.dumps({"command": f"pytest part_{n}", "isBackground": False})
    call = {"id": f"call_{n}__vscode-1", "name": "run_in_terminal", "arguments": arguments}
    return {"id": f"round-{n}", "response": f"Step {n}.", "toolInputRetry": 0, "toolCalls": [call]}


def result(*steps: int, **metadata: Any) -> Row:
    results = {f"call_{n}__vscode-1": {"$mid": 20, "content": [{"$mid": 21, "value": output(n)}]} for n in steps}
    rounds: list[Row] = [*map(round_of, steps), {"id": f"end-{steps[-1]}", "response": "That is all.", "toolCalls": []}]
    told: Row = {
        "toolCallRounds": rounds,
        "toolCallResults": results,
        "promptTokens": 8000,
        "outputTokens": 90,
        **metadata,
    }
    return {"timings": {"totalElapsed": 9}, "metadata": told, "details": "GPT-5"}


def asked(text: str, number: int = 0) -> Row:
    message = {"text": text, "parts": [{"kind": "text", "text": text}]}
    return {"requestId": f"request_{number}", "message": message, "modelId": "copilot/gpt-5.6", "response": []}


def begun() -> list[Row]:
    """A turn that goes on, as it is saved meanwhile."""
    whole: Row = {"version": 3, "creationDate": 1, "sessionId": ID, "requests": []}
    part = {"kind": "toolInvocationSerialized", "toolCallId": "call_0", "isComplete": True}
    return [
        {"kind": 0, "v": whole},
        {"kind": 2, "k": ["requests"], "v": [asked(f"Find the failing part. {ORDER}")]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "I look"}, part]},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 0}},
    ]


def ended(**metadata: Any) -> list[Row]:
    return [
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "I looked."}], "i": 0},
        {"kind": 1, "k": ["requests", 0, "result"], "v": result(*PARTS, **metadata)},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1, "completedAt": 2}},
    ]


def folder(user: Path, workspace: str = "ab12") -> Path:
    found = user / ".config" / "Code" / "User" / "workspaceStorage" / workspace
    (found / "chatSessions").mkdir(parents=True, exist_ok=True)
    (found / "workspace.json").write_text('{"folder": "file:///home/me/p"}', "utf-8")
    return found / "chatSessions"


def written(file: Path, rows: list[Row], tail: str = "") -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + tail, "utf-8")
    return file


@pytest.fixture(autouse=True)
def on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")


async def look(p: Palimpsest, user: Path, **more: Any) -> list[Watched]:
    return await p.watch(environ={}, user_home=user, hosts=["vscode"], **more)


async def originals(p: Palimpsest, session: str) -> dict[str, str]:
    """What can be restored, by call."""
    batches = [(batch.batch_id, item) for batch in await p.list_offloaded(session) for item in batch.item_ids]
    return {item: (await p.restore(session, batch, item)).text for batch, item in batches}


async def test_a_turn_is_recorded_when_it_has_ended_and_the_file_is_read_again_only_when_it_changed(
    p: Palimpsest, tmp_path: Path
) -> None:
    file = written(folder(tmp_path) / f"{ID}.jsonl", begun())
    (first,) = await look(p, tmp_path)
    assert (first.host, first.session_id, first.new_items) == ("vscode", ID, 1)
    written(file, [*begun(), *ended()])
    (one,) = await look(p, tmp_path)
    assert one.new_items > len(PARTS) * 2 and one.compactions == ()
    usage = await p.usage(ID)
    assert (usage.used.value, usage.model, usage.host) == (8090, "gpt-5.6", "vscode")
    assert [each.project for each in await p.sessions()] == ["/home/me/p"]
    assert await look(p, tmp_path) == []
    async with Palimpsest.open(p.settings.home) as other:
        assert await look(other, tmp_path) == [], "another process finds nothing new in it"


async def test_recorded_results_are_listed_searched_and_restored_byte_for_byte_while_vs_code_still_has_them(
    p: Palimpsest, tmp_path: Path
) -> None:
    file = written(folder(tmp_path) / f"{ID}.jsonl", [*begun(), *ended()])
    (one,) = await look(p, tmp_path)
    assert {output(n) for n in PARTS} <= set((await originals(p, one.handle)).values())
    (hit, *_) = await p.search_offloaded("part-01-17")
    assert hit.session_id == ID and "call_1" in hit.item_id
    batches = await p.list_offloaded(ID)
    later = [{"kind": 2, "k": ["requests"], "v": [asked("And now?", 1)]}]
    written(file, [*begun(), *ended(), *later])
    assert await look(p, tmp_path) and await p.list_offloaded(ID) == batches, "a question alone is no batch"
    written(file, [*begun(), *ended(), *later, {"kind": 1, "k": ["requests", 1, "result"], "v": result(7)}])
    await look(p, tmp_path)
    assert (await p.list_offloaded(ID))[: len(batches)] == batches
    assert output(7) in (await originals(p, ID)).values()
    assert (await p.verify()).ok


async def test_what_a_compaction_of_copilot_lost_is_archived_and_compared_once(p: Palimpsest, tmp_path: Path) -> None:
    file = written(folder(tmp_path) / f"{ID}.jsonl", [*begun(), *ended()])
    await look(p, tmp_path)
    summary = {"toolCallRoundId": "round-3", "text": "Parts 0 to 3 were run."}
    later = [
        {"kind": 2, "k": ["requests"], "v": [asked("And now?", 1)]},
        {"kind": 1, "k": ["requests", 1, "result"], "v": result(7, summary=summary)},
    ]
    written(file, [*begun(), *ended(), *later])
    (again,) = await look(p, tmp_path)
    (lost,) = again.compactions
    assert lost.summary == "Parts 0 to 3 were run." and lost.lost > 100 and lost.batches
    assert {output(n) for n in range(4)} <= set((await originals(p, ID)).values())
    shown = [item.item_id for item in (await p.show_context(ID)).items if item.state == "live"]
    assert any("call_4" in name for name in shown) and any("call_7" in name for name in shown)
    assert not any("call_3" in name for name in shown)
    assert await look(p, tmp_path) == []
    async with Palimpsest.open(p.settings.home) as other:
        assert await look(other, tmp_path) == []


async def test_a_torn_last_line_is_read_when_it_is_whole(p: Palimpsest, tmp_path: Path) -> None:
    last = json.dumps(ended()[1])
    file = written(folder(tmp_path) / f"{ID}.jsonl", begun(), tail=last[: len(last) // 2])
    (one,) = await look(p, tmp_path)
    assert one.new_items == 1
    written(file, begun(), tail=last)
    (one,) = await look(p, tmp_path)
    assert one.new_items > len(PARTS) * 2


async def test_every_session_of_every_window_is_read_and_one_that_cannot_be_stops_none(
    p: Palimpsest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flat = {"version": 3, "sessionId": "flat", "requests": [{**asked("a"), "result": result(1)}]}
    (folder(tmp_path) / "flat.json").write_text(json.dumps(flat), "utf-8")
    empty = tmp_path / ".config" / "Code - Insiders" / "User" / "globalStorage" / "emptyWindowChatSessions"
    empty.mkdir(parents=True)
    written(empty / "b.jsonl", [{"kind": 0, "v": {"sessionId": "b", "requests": [asked("b")]}}])
    written(
        folder(tmp_path) / "long.jsonl", [{"kind": 0, "v": {"sessionId": "c", "requests": [asked("x" * 8_000_001)]}}]
    )
    written(folder(tmp_path) / "none.jsonl", [])
    (folder(tmp_path) / "gone.json").symlink_to(tmp_path / "nowhere")
    assert {one.session_id for one in await look(p, tmp_path)} == {"flat", "b"}
    assert "8,000,001 characters" in caplog.text
    assert await look(p, tmp_path) == [], "what cannot be read is not read again until it changes"


async def test_of_copies_of_a_session_the_newest_is_read(p: Palimpsest, tmp_path: Path) -> None:
    whole = {"version": 3, "sessionId": ID, "requests": [asked("Find it.")]}
    old = folder(tmp_path) / f"{ID}.json"
    old.write_text(json.dumps(whole), "utf-8")
    moved = written(folder(tmp_path, "cd34") / f"{ID}.jsonl", [{"kind": 0, "v": whole}])
    new = written(folder(tmp_path) / f"{ID}.jsonl", [{"kind": 0, "v": whole}, *ended()])
    for at, file in enumerate((old, moved, new)):
        changed = new.stat().st_mtime - 60 + at
        os.utime(file, (changed, changed))
    (one,) = await look(p, tmp_path)
    assert one.new_items > len(PARTS) * 2
    async with Palimpsest.open(p.settings.home) as other:
        assert await look(other, tmp_path) == []


async def test_where_vs_code_has_no_folder_the_error_says_what_to_do(p: Palimpsest, tmp_path: Path) -> None:
    (tmp_path / ".config" / "other").mkdir(parents=True)
    with pytest.raises(InvalidArgument, match=r"No sessions of vscode are in .*\.config.*VSCODE_APPDATA"):
        await look(p, tmp_path)
    assert await p.watch(environ={}, user_home=tmp_path) == [], "hosts that nobody named may be missing"
    folder(tmp_path)
    assert await look(p, tmp_path) == []

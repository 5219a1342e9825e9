"""What a caller of one store may read: the sessions of its principal, or the one session that it was opened for."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, PalimpsestError
from palimpsest_mcp.models.tools import TOOLS
from palimpsest_mcp.server.server import build_server

from ..conftest import first_of
from .conftest import make_session

pytestmark = pytest.mark.anyio
CANARY = "canary-zq81"
CALLERS = {"principal": {"principal": "bob"}, "only_session": {"only_session": "own"}}


def words(seed: int, canary: str) -> list[dict[str, Any]]:
    messages = make_session(10, lines=30, seed=seed)
    text = json.dumps(messages).replace("worker", canary).replace("import job", f"job of {canary}")
    return json.loads(text)


async def fill(home: Path, session: str, canary: str, principal: str = "") -> None:
    async with Palimpsest.open(home, principal=principal) as p:
        await p.compact_messages(words(len(principal), canary), session_id=session, target=0.4, force=True)
        await p.update_summary(session, {"decisions": [f"{canary} stays"]})
        await p.write_handoff(session, f"{canary} task", fields={"in_progress": [canary], "next_steps": [canary]})


async def of_others(home: Path) -> dict[str, list[str]]:
    """A store of three callers; gives what the others' things are called."""
    await fill(home, "theirs", CANARY)
    await fill(home, "shared", f"{CANARY}-two", "alice")
    await fill(home, "own", "lion", "bob")
    await fill(home, "own", "lion")
    names: dict[str, list[str]] = {"session": [], "batch": [], "item": []}
    for principal, session in (("", "theirs"), ("alice", "shared")):
        async with Palimpsest.open(home, principal=principal) as p:
            info = await p.session(session)
            names["session"] += [info.session_id, info.handle, info.handle[:4]]
            batch = (await p.list_offloaded(session))[0]
            names["batch"].append(batch.batch_id)
            names["item"].append(batch.item_ids[0])
    return names


@pytest.mark.parametrize("caller", first_of(CALLERS))
async def test_no_tool_answers_for_somebody_elses_session(tmp_path: Path, caller: str) -> None:
    home = tmp_path / "home"
    names = await of_others(home)
    asked: dict[str, dict[str, Any]] = {
        "check_context_ratio": {"used_tokens": 9, "window_tokens": 99},
        "record_items": {"items": [{"role": "user", "content": "hello"}]},
        "show_context": {"view": "compacted"},
        "compact_session": {"dry_run": True, "force": True, "window_tokens": 9_000},
        "list_offloaded": {"batch_id": names["batch"][0]},
        "search_offloaded": {"query": CANARY},
        "restore_batch": {"batch_id": names["batch"][0], "item_id": names["item"][0]},
        "update_summary": {"sections": {"next_steps": ["go on"]}},
        "write_handoff": {"task": "take over", "phase": "research"},
        "load_handoff": {"task": CANARY, "project": "*"},
        "record_experience": {"skill": "none", "event": {"outcome": "success"}},
        "compact_experience": {"skill": "none", "dry_run": True},
        "host_event": {"event": "SessionStart", "payload": {"source": "resume"}},
    }
    assert asked.keys() == TOOLS.keys(), "each tool is tried"
    opened = lambda: Palimpsest.open(home, make=False, **CALLERS[caller])  # noqa: E731  # pyright: ignore[reportArgumentType]
    before = {path: path.read_bytes() for path in home.rglob("session/*/ledger/*") if path.is_file()}
    async with Client(build_server(opened, version="t", warm=lambda: None, hooks=True)) as client:
        for tool, more in asked.items():
            takes = TOOLS[tool].name not in ("load_handoff", "record_experience", "compact_experience")
            for name in names["session"] if takes else [""]:
                given = dict(more)
                if tool == "host_event":
                    given = {"event": "SessionStart", "payload": json.dumps({"session_id": name, "source": "resume"})}
                elif takes:
                    given["session_id"] = name
                result = await client.call_tool(tool, given)
                text = "".join(one.text for one in result.content if isinstance(one, TextContent))
                told = text.replace(f'"{CANARY}"', "").replace(f"`{CANARY}`", "")
                assert f"{CANARY} " not in told and "-two" not in told and "001-001" not in told, (tool, name, text)
    for path, data in before.items():
        if path.parent.parent.name in ("theirs",):
            assert path.read_bytes() == data, "nothing was written into somebody else's session"


@pytest.mark.parametrize("caller", first_of(CALLERS))
async def test_no_method_of_the_library_answers_for_somebody_elses_session(tmp_path: Path, caller: str) -> None:
    home = tmp_path / "home"
    names = await of_others(home)
    tried: list[str] = []
    async with Palimpsest.open(home, **CALLERS[caller]) as p:  # pyright: ignore[reportArgumentType]
        for name, method in inspect.getmembers(p, inspect.iscoroutinefunction):
            needs = [one.name for one in inspect.signature(method).parameters.values() if one.default is one.empty]
            if name.startswith("_") or needs[:1] != ["session_id"]:
                continue
            rest: dict[str, Any] = {"batch_id": names["batch"][0], "restored": [], "texts": [], "messages": []}
            rest |= {"items": [], "sections": {}, "task": "x", "item_ids": [], "usage": {}}
            for session in names["session"]:
                said = ""
                try:
                    given = [rest.get(one, "x") for one in needs[1:]]
                    said = repr(await method(session, *given))
                except PalimpsestError as error:
                    said = error.message + error.next
                except TypeError:
                    continue
                assert "001-001" not in said and f"{CANARY} stays" not in said, (name, session, said)
            tried.append(name)
        assert {"restore", "list_offloaded", "summary", "show_context", "undo", "reinstate", "probe"} <= set(tried)
        assert {one.session_id for one in await p.sessions()} <= {"own", *names["session"]}
        assert not any(CANARY in hit.snippet for hit in await p.search_offloaded(CANARY))
        assert CANARY not in repr(await p.verify()) and CANARY not in repr(await p.session_rows())


@pytest.mark.parametrize("caller", first_of(CALLERS))
async def test_what_concerns_the_whole_store_is_its_owners(tmp_path: Path, caller: str) -> None:
    home = tmp_path / "home"
    await of_others(home)
    async with Palimpsest.open(home) as p:
        whole = await p.status()
        own = sum(row["bytes"] for row in whole.largest if row["session_id"] == "own")
    async with Palimpsest.open(home, **CALLERS[caller]) as p:  # pyright: ignore[reportArgumentType]
        for refused in (
            p.backup(tmp_path / "copy"),
            p.migrate(),
            p.retain(days=0),
            p.repair(),
            p.purge(matching=CANARY),
        ):
            with pytest.raises(InvalidArgument, match="whole store"):
                await refused
        assert (await p.status()).disk_bytes < whole.disk_bytes / 2 and own
        (home / "session" / "theirs" / "summary.md").unlink()
        assert (await p.verify()).ok, "what somebody else lost is not told"
    async with Palimpsest.open(home) as p:
        assert not (await p.verify()).ok

"""Victims that write until they are killed: passes, servers, summaries, handoffs, experience, two program versions."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from victim import HANDOFF, Kind, Place, Told, Work, is_whole, session_of, text_of
from victims_once import grow_old

from palimpsest_mcp.errors import LockTimeout, PassInProgress, SummaryChanged
from palimpsest_mcp.models.events import Applied, SessionKey
from palimpsest_mcp.server.server import serve_stdio
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.home import Witnesses
from palimpsest_mcp.testing.contract_values import info_of

# ---- passes


async def make_passes(place: Place) -> None:
    async with place.open() as p:
        for results in range(8, 42, 2):
            await p.compact_messages(session_of(results), session_id=f"s{os.getpid()}", target=0.3, force=True)
            place.tell(f"s{os.getpid()}", results)


async def check_passes(place: Place, told: Told) -> None:
    async with place.open() as p:
        await is_whole(p)
        for name, most in {str(name): int(results) for name, results in told}.items():
            whole = await p.restore_all(name)
            assert whole == session_of(40)[: len(whole)] and len(whole) >= 1 + 2 * most, "a result is lost"
        name = str(told[-1][0])  # the one that was killed last goes on
        done = await p.compact_messages(session_of(40), session_id=name, target=0.3, force=True)
        assert await p.expand_messages(done.messages, session_id=name) == session_of(40)


def one_of_eight(*, own: bool) -> Work:
    """A writer that brings its list to the session that all eight have."""

    async def write(place: Place) -> None:
        seed = str(place.number) if own else "a"
        async with place.open() as p:
            turn = 0
            while True:
                messages = session_of(6 + 2 * (turn % 12), seed)
                try:
                    done = await p.compact_messages(messages, session_id="one", target=0.4, keep_last=3, force=True)
                except (PassInProgress, LockTimeout):
                    continue
                assert await p.expand_messages(done.messages, session_id="one") == messages
                place.tell("pass", seed, [batch.batch_id for batch in done.report.batches])
                turn += 1

    return write


async def check_eight(place: Place, told: Told) -> None:
    async with place.open() as p:
        await is_whole(p)
        if told:
            there = {batch.batch_id for batch in await p.list_offloaded("one")}
            assert {name for _, _, names in told for name in names} <= there, "a batch is lost"
        messages = session_of(14, told[-1][1] if told else "a")
        done = await p.compact_messages(messages, session_id="one", target=0.4, keep_last=3, force=True)
        assert await p.expand_messages(done.messages, session_id="one") == messages


# ---- the server, in the middle of calls


class Client:
    """A bare JSON-RPC client of a server in a fork of this process."""

    def __init__(self, place: Place) -> None:
        to_server, from_server = os.pipe(), os.pipe()
        self.pid = os.fork()
        if not self.pid:
            for end, fd in ((to_server[0], 0), (from_server[1], 1), (os.open(os.devnull, os.O_WRONLY), 2)):
                os.dup2(end, fd)
            os.closerange(3, 64)
            sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
            os.environ["PALIMPSEST_SKILLS_ROOTS"] = json.dumps([str(place.folder / "skills")])
            os._exit(serve_stdio(str(place.home)))
        os.close(to_server[0])
        os.close(from_server[1])
        self._write, self._read = os.fdopen(to_server[1], "wb", 0), os.fdopen(from_server[0], "rb")
        self._id = 0
        self.call("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        self._write.write(json.dumps(message).encode() + b"\n")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one request. Raises EOFError when the server is gone."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while line := self._read.readline():
            answer = json.loads(line)
            if answer.get("id") == self._id:
                return answer["result"]
        raise EOFError

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self.call("tools/call", name=name, arguments=arguments)
        assert not result.get("isError"), result
        return result.get("structuredContent") or {}


async def call_the_server(place: Place) -> None:
    """A client that is always in a call; it ends with the server."""
    with contextlib.suppress(EOFError, BrokenPipeError):
        client = Client(place)
        place.tell("pid", client.pid)
        name, n = f"{os.getpid()}", 0
        while True:
            n += 1
            calls = [f"toolu_{name}_{n}_{k}" for k in range(4)]
            kind = {"kind": "tool_result", "role": "tool"}
            items = [{**kind, "tool_use_id": call, "tool_name": "Bash", "content": text_of(call)} for call in calls]
            client.tool("record_items", session_id=f"s{name}", items=items)
            place.tell("items", f"s{name}", calls)
            client.tool("update_summary", session_id=f"s{name}", sections={"blockers": [f"Question {name} {n}?"]})
            place.tell("summary", f"s{name}", f"Question {name} {n}?")
            event = {"id": f"{name}-{n}", "outcome": "success", "winning_pattern": "use the api"}
            client.tool("record_experience", skill="search-x", event=event)
            place.tell("event", f"{name}-{n}")
            options = {"target": 0.1, "force": True, "keep_last": 3, "window_tokens": 20_000}
            done = client.tool("compact_session", session_id=f"s{name}", **options)
            place.tell("batches", f"s{name}", [said.split(":")[0] for said in done["batches"]])
            handed = client.tool("write_handoff", session_id=f"s{name}", task=f"job {name} {n}", fields=HANDOFF)
            place.tell("handoff", handed["path"])


async def check_the_server(place: Place, told: Told) -> None:
    handed: list[str] = []
    async with place.open() as p:
        await is_whole(p)
        for kind, *words in told:
            if kind == "items":
                there = {item.item_id.rsplit("/", 1)[-1] for item in (await p.show_context(words[0])).items}
                assert set(words[1]) <= there, ("recorded items are lost", set(words[1]) - there)
            elif kind == "batches":
                there = {batch.batch_id for batch in await p.list_offloaded(words[0])}
                assert set(words[1]) <= there, (words[1], there)
            elif kind == "summary":
                assert words[1] in (await p.summary(words[0])).open_blockers
            elif kind == "handoff":
                handed.append(words[0])
    assert all(map(os.path.isfile, handed)), "a handoff is lost"
    events = events_in(place.folder)
    assert {name for kind, name, *_ in told if kind == "event"} <= set(events) and set(events.values()) <= {1}


def events_in(folder: Path) -> Counter[str]:
    """Every event of experience, by its id; a line that a kill cut off is left out."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*.jsonl"):
        if "experience" in path.parts and "witness" not in path.parts:
            for line in path.read_bytes().split(b"\n"):
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    found[json.loads(line)["id"]] += 1
    return found


# ---- summary, handoffs, experience


async def state(place: Place) -> None:
    async with place.open() as p:
        for n in range(10_000):
            name = f"Question {os.getpid()} number {n}?"
            try:
                await p.update_summary("s", {"blockers": [name]})
            except SummaryChanged:  # another was faster each time that it tried: nothing was promised
                continue
            place.tell(name)


async def check_stated(place: Place, told: Told) -> None:
    async with place.open() as p:
        assert not told or {name for (name,) in told} <= set((await p.summary("s")).open_blockers), "a word is lost"
        await is_whole(p)


async def hand_off(place: Place) -> None:
    async with place.open() as p:
        for n in range(10_000):
            name = f"choice {os.getpid()} number {n}"
            fields = {"decisions": [name], "facts": ["a fact to go on from"], "in_progress": ["the work"]}
            await p.write_handoff("new", "the one task", fields=fields)
            place.tell(name)


async def clean(place: Place) -> None:
    async with place.open() as p:
        while True:
            await p.clean_handoffs(dry_run=False)


async def check_handed_off(place: Place, told: Told) -> None:
    text = "\n".join(path.read_text("utf-8") for path in place.home.glob("memory/**/*.md"))
    assert not [name for (name,) in told if f"**{name}**" not in text], "a decision is lost"
    async with place.open() as p:
        await p.clean_handoffs(dry_run=False)
        await is_whole(p)


async def make_a_skill(place: Place) -> None:
    (place.folder / "skills" / "search-x").mkdir(parents=True)
    (place.folder / "skills" / "search-x" / "SKILL.md").write_text("# a skill\n")


async def learn(place: Place) -> None:
    async with place.open() as p:
        for n in range(10_000):
            name = f"{os.getpid()}-{n}"
            event = {"id": name, "session_id": name, "outcome": "success", "winning_pattern": "use the api"}
            await p.record_experience("search-x", event | {"notes": "x" * 20_000})
            place.tell(name)


async def promote(place: Place) -> None:
    async with place.open() as p:
        while True:
            await p.compact_experience("search-x")


async def check_learnt(place: Place, told: Told) -> None:
    """Each event is there once, and counted once in the digest."""
    events = events_in(place.folder)
    assert {name for (name,) in told} <= set(events) and set(events.values()) <= {1}
    async with place.open() as p:
        if events:
            await p.compact_experience("search-x")
            text = "\n".join(path.read_text() for path in place.folder.rglob("experience.md"))
            seen = [int(line.split("seen=")[1].split(",")[0]) for line in text.split("\n") if "use the api" in line]
            assert seen in ([], [len(events)]), (seen, len(events))
        await is_whole(p)


# ---- two versions of the program on one store


def without_witnesses() -> None:
    """From here on this process is an older program: it knows of no witnesses."""
    Witnesses.put = lambda self, path, witness: None
    Witnesses.strike = lambda self, path: None


async def write_as_the_older(place: Place) -> None:
    without_witnesses()
    await _write_both(place, "old")


async def write_as_the_newer(place: Place) -> None:
    await _write_both(place, "new")


async def _write_both(place: Place, version: str) -> None:
    """Its own session by passes, a session of both by events, the summary of both."""
    store, key = DiskStore(place.home), SessionKey("both")
    await store.ledger.create(key, info_of(key))
    async with place.open() as p:
        for n in range(10_000):
            name = f"{version}-{os.getpid()}-{n}"
            await store.ledger.observe(key, [Applied(item_id=name, batch_id="", part_sha256="")])
            place.tell("event", name)
            messages = session_of(6 + 2 * (n % 8), version)
            try:
                done = await p.compact_messages(messages, session_id="one", target=0.4, keep_last=3, force=True)
            except (PassInProgress, LockTimeout):
                continue
            place.tell("pass", version, [batch.batch_id for batch in done.report.batches])
            await p.update_summary("one", {"blockers": [f"Question {name}?"]})
            place.tell("summary", f"Question {name}?")


async def migrate_again_and_again(place: Place) -> None:
    while True:
        async with place.open() as p:
            with contextlib.suppress(LockTimeout):
                await p.migrate(dry_run=False)


async def check_versions(place: Place, told: Told) -> None:
    async with place.open() as p:
        await is_whole(p)
        page = await p.store.ledger.read(SessionKey("both"))
        there = {event.item_id for event in page.events if isinstance(event, Applied)}
        assert {words[0] for kind, *words in told if kind == "event"} <= there and not page.damage
        batches = (
            {batch.batch_id for batch in await p.list_offloaded("one")} if ["pass"] in [t[:1] for t in told] else ()
        )
        assert {name for kind, *words in told if kind == "pass" for name in words[1]} <= set(batches)
        if said := {words[0] for kind, *words in told if kind == "summary"}:
            assert said <= set((await p.summary("one")).open_blockers)
        await p.migrate(dry_run=False)
        assert not [one for one in (await p.verify()).findings if "no witness" in one.what]


_ONE_LIST, _OWN_LISTS = (one_of_eight(own=False),) * 8, (one_of_eight(own=True),) * 8
WRITERS: dict[str, Kind] = {
    "passes": Kind(check_passes, (make_passes,)),
    "eight writers, one list": Kind(check_eight, _ONE_LIST),
    "eight writers, own lists": Kind(check_eight, _OWN_LISTS),
    "eight writers for a minute, one list": Kind(check_eight, _ONE_LIST, rounds=10, lasts_s=60),
    "eight writers for a minute, own lists": Kind(check_eight, _OWN_LISTS, rounds=10, lasts_s=60),
    "server": Kind(check_the_server, (call_the_server,)),
    "summary": Kind(check_stated, (state, state)),
    "handoffs": Kind(check_handed_off, (hand_off, clean, clean)),
    "experience": Kind(check_learnt, (learn, promote), make_a_skill),
    "two versions": Kind(
        check_versions, (write_as_the_older, write_as_the_newer, migrate_again_and_again), grow_old, 4
    ),
}

"""A small day of one store: every way in which it writes, once. For processes in which one call is made to fail.

    python day.py FOLDER      cases as JSON lines on stdin, an outcome as a JSON line for each

The process imports everything once, and forks for every case.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import shutil
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

from palimpsest_mcp.core import wiring
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest import study
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.experience.disk import DiskExperience
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.testing.disks import Fault, FaultyDisk
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
from palimpsest_mcp.text.tokens.count import load_vocabulary

SECRET = "zebra-4711-quagga"
LONG = "\n".join(f"2026-11-20T10:00:{n % 60:02d}Z req-{n:05d} GET /v1/items/{n} 200 in {n}.5 ms" for n in range(600))
HANDOFF = {"in_progress": ["the import"], "next_steps": ["run it again"], "key_context": ["it fails at night"]}


def messages_of(results: int, seed: str) -> list[dict[str, Any]]:
    """One call and one result a turn, as Anthropic-style messages."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the import fails."}]
    for n in range(results):
        call = f"toolu_{seed}_{n}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"./check.sh {n}"}}
        body = "\n".join(f"{n}-{line} wrote /var/data/{seed}/{line:04d}.bin in {line}.{n} ms" for line in range(40))
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": body}]})
    return messages


class Day:
    """Steps that note what they were promised, in a file of their own, as soon as they were.

    Args:
        number: of the day; each has a call of its own that is replaced at birth.

    Attributes:
        said: outcome of each step: `ok`, the code of its error, or `traceback: …`.
    """

    def __init__(self, home: Path, acks: Path, number: int = 1) -> None:
        self.home = home
        self.acks = acks
        self.number = number
        self.said: list[tuple[str, str]] = []

    async def run(self, disk: FaultyDisk) -> None:
        """All steps; one that fails does not stop the others."""
        settings = Settings.load(home=self.home, at_birth=True, skills_roots=[self.home.parent / "skills"])
        store = DiskStore(self.home, disk=disk, lock_timeout_s=2.0)
        try:
            async with Palimpsest.open(
                settings=settings, store=store, experience=skills(settings, disk), attached="claude-code"
            ) as p:
                for step in (self.record, self.compact, self.born, self.summary, self.handoff, self.learn, self.find):
                    await self._step(step, p)
                for step in (self.purge, self.give_back, self.check, self.mend, self.look, self.keep):
                    await self._step(step, p)
        except PalimpsestError as error:
            self.said.append(("open", error.code))
        except Exception as error:  # what a face would call an internal error
            self.said.append(("open", f"traceback: {error!r}"))
        try:
            await store.aclose()
        except PalimpsestError as error:
            self.said.append(("close", error.code))
        except Exception as error:
            self.said.append(("close", f"traceback: {error!r}"))

    async def _step(self, step: Callable[[Palimpsest], Awaitable[None]], p: Palimpsest) -> None:
        try:
            await step(p)
            self.said.append((step.__name__, "ok"))
        except PalimpsestError as error:
            self.said.append((step.__name__, error.code))
        except Exception as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            self.said.append((step.__name__, f"traceback: {error!r} {where.filename.split('/')[-1]}:{where.lineno}"))

    def _told(self, *words: str) -> None:
        with self.acks.open("a") as file:
            file.write(json.dumps(words) + "\n")

    async def record(self, p: Palimpsest) -> None:
        items = [
            {"id": f"r{n}", "kind": "tool_result", "role": "user", "content": f"text {n} of {SECRET if n == 2 else n}"}
            for n in range(3)
        ]
        await p.record_items("recorded", items)
        self._told("record")

    async def compact(self, p: Palimpsest) -> None:
        messages = messages_of(10, "pass")
        done = await p.compact_messages(messages, session_id="passed", target=0.4, keep_last=3, force=True)
        batches = [batch.batch_id for batch in done.report.batches]
        if done.messages != messages and not batches:
            batches = [batch.batch_id for batch in await p.list_offloaded("passed")]  # an earlier day's
        if done.messages != messages:
            assert await p.expand_messages(done.messages, session_id="passed") == messages
            self._told("pass", *batches)
        else:
            raise Refused(done.report.status)

    async def born(self, p: Palimpsest) -> None:
        response = {"stdout": LONG, "stderr": "", "interrupted": False, "isImage": False}
        payload = {
            "tool_name": "Bash",
            "tool_use_id": f"toolu_{self.number}",
            "tool_input": json.dumps({"command": "x"}),
        }
        path = str(self.home.parent / "born.jsonl")
        said = await p.host_event(
            "PostToolUse",
            {"session_id": "born", "transcript_path": path, **payload, "tool_response": json.dumps(response)},
        )
        assert "internal_error" not in said, said
        if "updatedToolOutput" in said:
            self._told("born", f"toolu_{self.number}")
        else:
            raise Refused("whole")

    async def summary(self, p: Palimpsest) -> None:
        await p.update_summary("passed", {"decisions": ["keep the retries"]})
        self._told("summary")

    async def handoff(self, p: Palimpsest) -> None:
        written = await p.write_handoff("passed", "the nightly import job", fields=HANDOFF)
        self._told("handoff", str(written.path))
        await p.load_handoff()

    async def learn(self, p: Palimpsest) -> None:
        event = {"outcome": "success", "winning_pattern": "brand + pain", "user_feedback": "accepted"}
        await p.record_experience("search-x", event)
        self._told("learn")
        await p.compact_experience("search-x")

    async def find(self, p: Palimpsest) -> None:
        await p.search_offloaded("wrote bin")

    async def purge(self, p: Palimpsest) -> None:
        await p.purge("recorded", matching=SECRET, dry_run=False)
        self._told("purge")

    async def give_back(self, p: Palimpsest) -> None:
        for batch in await p.list_offloaded("passed"):
            await p.restore_batch("passed", batch.batch_id, noted=False)

    async def check(self, p: Palimpsest) -> None:
        await p.verify()

    async def mend(self, p: Palimpsest) -> None:
        await p.repair(dry_run=False)

    async def look(self, p: Palimpsest) -> None:
        await p.status()
        await p.session_rows()
        await p.summary("passed")

    async def keep(self, p: Palimpsest) -> None:
        await p.pack()
        await p.migrate(dry_run=False)
        await p.backup(self.home.parent / f"backup{self.number}")


class Refused(PalimpsestError):
    """A step was refused without an error, as it should be."""

    code = "refused"

    def __init__(self, status: str) -> None:
        super().__init__(status, next="")


def skills(settings: Settings, disk: FaultyDisk) -> DiskExperience:
    import secrets

    return DiskExperience(settings.home, settings.skills_roots, random_hex=secrets.token_hex, disk=disk)


def whole(home: Path, acks: Path) -> list[str]:
    """What is wrong with a store after a day, told by a new process with a good disk; empty for nothing."""
    told = [json.loads(line) for line in acks.read_text().splitlines()] if acks.exists() else []
    wrong = asyncio.run(_wrong(home, told))
    learnt = sum(path.read_bytes().count(b"pain") for path in home.parent.rglob("experience/**/*.jsonl"))
    if learnt < told.count(["learn"]):
        wrong.append("an event is lost")
    if any(kind == "handoff" and not Path(words[0]).is_file() for kind, *words in told):
        wrong.append("a handoff is lost")
    if ["purge"] in told:
        left = [path.name for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
        wrong += [f"{name} holds what was purged" for name in left]
    return wrong


async def _wrong(home: Path, told: list[list[str]]) -> list[str]:
    wrong: list[str] = []
    settings = Settings.load(home=home, at_birth=True, skills_roots=[home.parent / "skills"])
    disk = FaultyDisk(home)
    async with Palimpsest.open(settings=settings, experience=skills(settings, disk), attached="claude-code") as p:
        ids = {info.session_id for info in await p.sessions()}
        for kind, *words in told:
            if kind == "record":
                items = {item.item_id for item in (await p.show_context("recorded")).items}
                if not {"r0", "r1", "r2"} <= items:
                    wrong.append("a recorded item is lost")
            elif kind == "pass":
                texts = {
                    message["content"][0]["tool_use_id"]: message["content"][0]["content"]
                    for message in messages_of(10, "pass")[2::2]
                }
                for batch_id in words:
                    back = await p.restore_batch("passed", batch_id, noted=False)
                    wrong += [f"{one.item_id} is another text" for one in back if one.text != texts[one.item_id]]
            elif kind == "born":
                found = [batch.batch_id for batch in await p.list_offloaded("born") if words[0] in batch.item_ids]
                if not found or (await p.restore("born", found[0], noted=False)).text != LONG:
                    wrong.append("what was replaced at birth is lost")
            elif kind == "summary" and "keep the retries" not in await p.summary_markdown("passed"):
                wrong.append("a stated decision is lost")
        for session_id in ids:
            for batch in await p.list_offloaded(session_id):
                await p.restore_batch(session_id, batch.batch_id, noted=False)
        report = await p.verify()
        wrong += [f"damage: {one.where}: {one.what}" for one in report.findings if one.severity == "damage"]
    return wrong


def one_case(home: Path, case: dict[str, Any]) -> dict[str, Any]:
    """One day with a fault, and what it did."""
    faults: dict[str, tuple[int, Fault]] = {}
    if site := case.get("site"):
        how = case["how"]
        fault: Fault = "kill" if how == "kill" else OSError(getattr(errno, how), "injected")
        faults[site] = (case["number"], fault)
    disk = FaultyDisk(home, faults=faults, flush_s=case.get("flush_s", 0.0))
    day = Day(home, home.parent / "acks", case.get("day", 1))
    if limit := case.get("files"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    asyncio.run(day.run(disk))
    return {"said": day.said, "hit": disk.hit, "calls": disk.calls}


def forked(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run something in a child of its own; a child that dies gives `{"died": …}`."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        outcome: dict[str, Any]
        try:
            outcome = work()
        except BaseException as error:
            import traceback

            outcome = {"broken": repr(error) + " " + "".join(traceback.format_tb(error.__traceback__)[-3:])}
        with os.fdopen(write, "w") as pipe:
            pipe.write(json.dumps(outcome))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"died": os.waitstatus_to_exitcode(status)}


def read_texts_once() -> None:
    """Processes that are forked later know the texts that this one has read: what they write is the same, and it is the
    longest of what they compute (`texts_are_read_once` in `tests/conftest.py`)."""
    registry = DefaultRegistry()

    def the_same(_: object) -> DefaultRegistry:
        return registry

    wiring.__dict__["DefaultRegistry"] = the_same
    study.__dict__["Studies"] = cache(study.Studies)


def main(folder: str) -> None:
    """One case a line: a day with its fault, a look at the store, a whole day after it, and a look again."""
    load_vocabulary()
    read_texts_once()
    asyncio.run(_warm(Path(folder) / "warm"))
    for number, line in enumerate(sys.stdin):
        case = json.loads(line)
        home = Path(case.get("home") or Path(folder) / f"case{number}" / "home")
        home.parent.mkdir(parents=True, exist_ok=True)
        acks = home.parent / "acks"
        first = forked(lambda home=home, case=case: one_case(home, case))
        found = forked(lambda home=home, acks=acks: {"wrong": whole(home, acks)})
        again = forked(lambda home=home: one_case(home, {"day": 2})) if case.get("again", True) else {}
        after = forked(lambda home=home, acks=acks: {"wrong": whole(home, acks)}) if again else {}
        if not case.get("keep"):
            shutil.rmtree(home.parent, ignore_errors=True)
        sys.stdout.write(
            json.dumps({"case": case, "first": first, "found": found, "again": again, "after": after}) + "\n"
        )
        sys.stdout.flush()


async def _warm(folder: Path) -> None:
    await Day(folder / "home", folder / "acks").run(FaultyDisk(folder / "home"))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

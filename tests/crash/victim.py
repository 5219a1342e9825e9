"""A process that is to be killed: its store, what it was told there, and what each kind of it does and must hold."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.testing.disks import FaultyDisk

Messages = list[dict[str, Any]]
Told = list[list[Any]]
SECRET = "zebra-4711-quagga"
HANDOFF = {"in_progress": ["the import"], "next_steps": ["run it again"], "key_context": ["it fails at night"]}
OLD = "8d1f2a7e-1111-4222-8333-444455556666"


class Mortal(FaultyDisk):
    """A real disk; its process is killed in call number `last`."""

    def __init__(self, home: Path, last: int = 0) -> None:
        super().__init__(home)
        self.number = 0
        self._last = last

    def _reach(self, site: str) -> None:
        self.number += 1
        if self.number == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


class Place:
    """A folder with a store, and what victims were told about it.

    Attributes:
        number: of the victim, or of the round for those that look.
        disk: what the victim's store is on; None for the real one.
    """

    def __init__(self, folder: Path, number: int = 0) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.acks = folder / "acks"
        self.number = number
        self.disk: Mortal | None = None

    def tell(self, *words: object) -> None:
        """An acknowledgement, in one write."""
        with self.acks.open("ab", buffering=0) as file:
            file.write(json.dumps(words).encode() + b"\n")

    def told(self) -> Told:
        return [json.loads(line) for line in self.acks.read_bytes().splitlines()] if self.acks.exists() else []

    def acknowledged(self) -> int:
        data = self.acks.read_bytes() if self.acks.exists() else b""
        return data.count(b"\n") - data.count(b'["pid"')

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[Palimpsest]:
        settings = Settings.load(home=self.home, skills_roots=[self.folder / "skills"])
        store = DiskStore(self.home, disk=self.disk) if self.disk else None
        async with Palimpsest.open(settings=settings, store=store) as p:
            yield p
        if store is not None:
            await store.aclose()


Work = Callable[[Place], Awaitable[None]]
Check = Callable[[Place, Told], Awaitable[None]]


@dataclass(frozen=True)
class Kind:
    """One kind of victims.

    Attributes:
        check: raises AssertionError for what must not be; afterwards the store need not be as it was.
        victims: one for each process.
        prepare: makes what the victims need; run once, and copied for each store.
        rounds: on one store. 1: each round has a new one, and the only victim ends by itself unless it is killed.
        lasts_s: how long they are left alone before the kill.
    """

    check: Check
    victims: tuple[Work, ...]
    prepare: Work | None = None
    rounds: int = 6
    lasts_s: float = 0.0


def text_of(name: str, lines: int = 40) -> str:
    """What a tool said in a call, by the call's name."""
    return "\n".join(f"{name}-{line:03d} wrote /var/data/{name}/{line:04d}.bin in {line}.5 ms" for line in range(lines))


def session_of(results: int, seed: str = "a") -> Messages:
    """One call and one result a turn."""
    messages: Messages = [{"role": "user", "content": "Find out why the import fails."}]
    for n in range(results):
        call = f"toolu_{seed}_{n:03d}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"./check.sh {n}"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": text_of(call)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


async def is_whole(p: Palimpsest, *, but: str = "nothing") -> None:
    """No damage, and each batch of each session gives back what its calls said."""
    report = await p.verify()
    found = [f"{one.where}: {one.what}" for one in report.findings if one.severity == "damage" and but not in one.what]
    assert not found, found
    for info in await p.sessions():
        for batch in await p.list_offloaded(info.session_id):
            for one in await p.restore_batch(info.session_id, batch.batch_id, noted=False):
                name = one.item_id.rsplit("/", 1)[-1]
                assert not name.startswith("toolu_") or one.text in (text_of(name), text_of(name, 60)), one.item_id


async def fill(place: Place, processes: int = 3) -> None:
    """A session that several processes wrote to, one after the other, and another one."""
    for number in range(processes):
        async with place.open() as p:
            await p.compact_messages(session_of(8 + 2 * number), session_id="s", target=0.4, keep_last=3, force=True)
            await p.record_items("other", [{"id": f"r{number}", "role": "user", "content": f"{SECRET} {number}"}])
    async with place.open() as p:
        await p.update_summary("s", {"decisions": ["keep the retries"]})
        await p.write_handoff("s", "import job", fields=HANDOFF)


async def is_filled(p: Palimpsest, processes: int = 3, *, purged: bool = False) -> None:
    assert await p.restore_all("s") == session_of(6 + 2 * processes)
    assert "keep the retries" in await p.summary_markdown("s")
    items = {item.item_id for item in (await p.show_context("other")).items}
    assert items == {f"r{n}" for n in range(processes)} or purged, items

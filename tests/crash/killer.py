"""Kills processes of every kind that writes, for `test_killed_processes.py`.

    python killer.py FOLDER SEED      kinds as lines on stdin; for each a round, and a JSON line on stdout

It imports everything once, and forks for every process: those that are killed, and those that look at what is left.
A round: victims start on a store and work until some work was acknowledged, and get SIGKILL; those that do one thing
and end get it in one of the calls to the disk that an undisturbed run makes. Then a new process looks at the store, and
goes on in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

from day import forked, read_texts_once
from victim import Kind, Mortal, Place, Told, fill
from victims_once import ONCE
from victims_writing import WRITERS

from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.text.tokens.count import load_vocabulary

KINDS = WRITERS | ONCE


def child(work: Callable[[], Awaitable[None]], log: Path) -> int:
    """Start it in a process of its own. What it says goes to a file; it exits with 0 when it ended well."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
        asyncio.run(coroutine(work))
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(status)


async def coroutine(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def checked(kind: Kind, place: Place, told: Told) -> list[str]:
    """What is wrong with a store, as a new process finds it."""

    def look() -> dict[str, Any]:
        try:
            asyncio.run(coroutine(lambda: kind.check(place, told)))
        except (AssertionError, PalimpsestError) as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            return {"wrong": [f"{where.name}:{where.lineno}: {error!r}"[:1_500]]}
        return {"wrong": []}

    outcome = forked(look)
    return outcome.get("wrong") or [str(outcome[name]) for name in ("broken", "died") if name in outcome]


class Killer:
    """Starts victims of one kind, kills them, and looks."""

    def __init__(self, name: str, folder: Path, random: Random) -> None:
        self.kind = KINDS[name]
        self.folder = folder
        self.random = random
        self.template = folder / "template"
        self.template.mkdir(parents=True)
        self.place = Place(folder)
        self.calls = 0
        self.rounds = 0
        if self.kind.prepare is not None:
            prepare = self.kind.prepare
            self._wait_for(child(lambda: prepare(Place(self.template)), folder / "log"))
        if self.kind.rounds == 1:
            self.calls = self._undisturbed()

    def _wait_for(self, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        assert status == 0, (self.folder / "log").read_text()[-2_000:]

    def _new(self, number: int) -> Place:
        folder = self.folder / f"store{number}"
        shutil.copytree(self.template, folder, copy_function=shutil.copy2)
        return Place(folder, number)

    def _undisturbed(self) -> int:
        """How many calls to the disk the victim makes."""
        place = self._new(-1)
        (work,) = self.kind.victims
        place.disk = Mortal(place.home)

        async def count() -> None:
            await work(place)
            place.tell("calls", place.disk.number if place.disk else 0)

        self._wait_for(child(count, self.folder / "log"))
        *told, (_, calls) = place.told()
        assert not (wrong := checked(self.kind, place, told)), wrong
        shutil.rmtree(place.folder)
        return calls

    def _wait_until(self, place: Place, before: int, acks: int) -> None:
        """For so many more acknowledgements: a minute at the most, and five for the first."""
        since = time.monotonic()
        while (more := place.acknowledged() - before) < acks and time.monotonic() < since + (60 if more > 0 else 300):
            time.sleep(0.002)

    def round(self) -> dict[str, Any]:
        """Returns how many were killed, how many had ended before, what was acknowledged, and what was wrong."""
        kind, random, number = self.kind, self.random, self.rounds
        self.rounds += 1
        if number % kind.rounds == 0:
            self.place = self._new(number)
        before, acknowledged = len(self.place.told()), self.place.acknowledged()
        victims: list[int] = []
        for at, work in enumerate(kind.victims):
            place = Place(self.place.folder, at)
            place.disk = Mortal(place.home, random.randint(1, self.calls)) if kind.rounds == 1 else None
            victims.append(child(lambda work=work, place=place: work(place), self.folder / "log"))
        if kind.rounds > 1:
            self._wait_until(self.place, acknowledged, random.randint(1, 6))
            time.sleep(kind.lasts_s + random.choice((0.0, 0.01, 0.05)) * random.random())
        told = self.place.told()
        servers = [words[0] for kind, *words in told[before:] if kind == "pid"]
        for pid in (servers or victims) if kind.rounds > 1 else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended = [os.waitpid(pid, 0)[1] for pid in victims]
        killed = 1 if servers else sum(os.WIFSIGNALED(status) for status in ended)
        failed = sum(os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0 for status in ended)
        told = self.place.told()
        place = Place(self.place.folder, number)
        wrong = checked(kind, place, told)
        if failed:
            wrong.append((self.folder / "log").read_text()[-1_500:])
        if not wrong and number % kind.rounds == kind.rounds - 1:
            shutil.rmtree(self.place.folder)
        acks = sum(words[0] not in ("pid",) for words in told[before:])
        return {"kills": killed, "ended": len(victims) - killed, "acks": acks, "wrong": wrong}


async def _warm(folder: Path) -> None:
    place = Place(folder)
    await fill(place, 1)
    async with place.open() as p:
        await p.verify()
    shutil.rmtree(folder)


def main(folder: str, seed: str) -> None:
    load_vocabulary()
    read_texts_once()
    asyncio.run(_warm(Path(folder) / "warm"))
    killers: dict[str, Killer] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in killers:
            killers[name] = Killer(name, Path(folder) / name, Random(f"{name} {seed}"))
        sys.stdout.write(json.dumps(killers[name].round()) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

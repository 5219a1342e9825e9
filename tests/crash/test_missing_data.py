"""Any one file or line of a store deleted or changed: `verify` says so.

Each case takes one file of a store that holds some of everything, harms it, verifies, and puts it back.

Not among them: locks and spare files, which are empty; the search index, status lines and notes for a host's next
start, which are made again from the rest.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError

from ..conftest import PROFILE
from ..core.conftest import make_session
from .conftest import COUNT, SEED, Tell, bound

pytestmark = [pytest.mark.crash, pytest.mark.anyio]
MADE_AGAIN = re.compile(r".*\.(lock|tmp)|index\.sqlite3.*|statusline\.json|claude-code/.*|session/[^/]+/st\w+\.json")
HANDOFF = {"in_progress": ["the import"], "next_steps": ["run it again"], "key_context": ["it fails at night"]}
EVENT = {"outcome": "success", "winning_pattern": "brand + pain", "user_feedback": "accepted"}
_SUM = re.compile(rb'(?s)(.*),"_c":"[0-9a-f]{8}"\}')

Harm = Callable[[bytes, bytes, Random], bytes | None]
"""Bytes of a file, those of another one of its kind -> what stands there afterwards; None: nothing does."""


async def fill(home: Path) -> None:
    """Some of everything, written by three processes one after the other."""
    for number in range(3):
        async with Palimpsest.open(home) as p:
            for seed, name in enumerate(("one", "two")):
                messages = make_session(8 + 6 * number, lines=12, seed=seed)
                await p.compact_messages(messages, session_id=name, target=0.4, keep_last=3, force=True)
            await p.record_experience("search-x", EVENT)
    async with Palimpsest.open(home) as p:
        await p.purge("two", matching="worker-001-001", dry_run=False)
        await p.write_handoff("one", "import job", fields=HANDOFF)
        await p.compact_experience("search-x")


def delete(data: bytes, other: bytes, random: Random) -> bytes | None:
    return None


def empty(data: bytes, other: bytes, random: Random) -> bytes:
    return b""


def cut(data: bytes, other: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))]


def cut_whole_lines(data: bytes, other: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: random.randrange(len(lines))])


def delete_a_line(data: bytes, other: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[random.randrange(len(lines))]
    return b"".join(lines)


def change_a_byte(data: bytes, other: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def change_a_line(data: bytes, other: bytes, random: Random) -> bytes:
    """One digit or letter of it, and its checksum so that it fits."""
    lines = data.splitlines(keepends=True)
    at = random.randrange(len(lines))
    places = [place.start() for place in re.finditer(rb"[b-e1-7]", lines[at][: -len(b'"_c":"00000000"}')])]
    if places:
        place = random.choice(places)
        line = lines[at][:place] + bytes([lines[at][place] + 1]) + lines[at][place + 1 :]
        if fits := _SUM.match(line):
            line = b'%s,"_c":"%08x"}\n' % (fits[1], zlib.crc32(fits[1]))
        lines[at] = line
    return b"".join(lines)


def swap_lines(data: bytes, other: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def put_another_there(data: bytes, other: bytes, random: Random) -> bytes:
    return other


HARMS: tuple[Harm, ...] = (
    delete,
    empty,
    cut,
    cut_whole_lines,
    delete_a_line,
    change_a_byte,
    change_a_line,
    swap_lines,
    put_another_there,
)


def files_of(home: Path) -> dict[str, bytes]:
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def cases(files: Mapping[str, bytes], random: Random) -> Iterator[tuple[str, Harm, bytes | None]]:
    """Files with what is done to them; only what changes something."""
    names = [name for name in files if not MADE_AGAIN.fullmatch(name) and files[name]]
    while True:
        name, harm = random.choice(names), random.choice(HARMS)
        alike = [one for one in names if one != name and Path(one).suffix == Path(name).suffix]
        new = harm(files[name], files[random.choice(alike)] if alike else b"", random)
        if new != files[name]:
            yield name, harm, new


async def found(home: Path) -> set[tuple[str, str, str]]:
    """What `verify` says; an error says it too."""
    try:
        async with Palimpsest.open(home, make=False) as p:
            report = await p.verify()
    except PalimpsestError as error:
        return {("damage", error.code, error.message)}
    return {(one.severity, one.where, one.what) for one in report.findings}


def kind_of(name: str) -> str:
    folders = name.split("/")
    return folders[0] if folders[0] != "session" else folders[2]


async def test_whatever_is_deleted_or_changed_is_noticed(tmp_path: Path, tell: Tell) -> None:
    home = tmp_path / "home"
    await fill(home)
    whole = await found(home)
    assert not [one for one in whole if one[0] == "damage"]
    files = files_of(home)
    seen, noticed, damage = Counter[str](), Counter[str](), Counter[str]()
    missed: list[str] = []
    done, more = 0, bound(20 if PROFILE == "ci" else 60)
    for name, harm, new in cases(files, Random(SEED)):
        path = home / name
        if new is None:
            path.unlink()
        else:
            path.write_bytes(new)
        said = await found(home) - whole
        path.write_bytes(files[name])
        for added in files_of(home).keys() - files.keys():
            (home / added).unlink()
        for row in (kind_of(name), harm.__name__):
            seen[row] += 1
            noticed[row] += bool(said)
            damage[row] += any(one[0] == "damage" for one in said)
        if not said:
            missed.append(f"{harm.__name__} {name}")
        done += 1
        if not more(done):
            break
    rows = [f"{row:20} {noticed[row]:5} of {seen[row]:5} noticed, {damage[row]:5} as damage" for row in sorted(seen)]
    tell("harms", noticed=f"{done - len(missed)} of {done}", as_damage=sum(damage.values()) // 2)
    if COUNT:
        sys.stdout.write("\n".join((*rows, *sorted(missed)[:40])) + "\n")
    assert len(missed) <= done // 1_000, missed

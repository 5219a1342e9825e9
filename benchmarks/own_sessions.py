"""Sessions of our own making, for machines without the peers' scripts: the same three sizes, kinds and form.

Everything comes from what any Python has (its library's sources, its installed projects, its own failures) and from one
seed, so the same machine gives the same bytes. Strings are planted by `quality.plants`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import random
import re
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from measuring import BUILD
from quality.own_files import descriptions, resolver_log, source_file, tracebacks
from quality.plants import planted_again
from quality.replay import replaced, results_of

SEED = 20261121
SIZES = {"100k": 100_000, "100k23": 100_000, "1000k": 1_000_000}
CHARACTERS_A_TOKEN = 3.3
_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
_PATTERNS = ("raise ValueError", "import ", "https?://", "DEFAULT_", "TODO|FIXME", "except Exception", "version")
_STEPS = ("Let me look at that output.", "I will check the next source.", "That narrows it down; reading further.")
_ASKED = "The nightly build is red. Find out why, fix it, and keep exact error codes, versions and addresses."

Made = tuple[str, dict[str, Any], str]
"""(tool, its arguments, what it gave)."""


def make_own_sessions() -> Path:
    """The folder that holds them; made once."""
    folder = BUILD / "own"
    folder.mkdir(parents=True, exist_ok=True)
    for name, tokens in SIZES.items():
        if not (folder / f"session_{name}.json").exists():
            _write(folder, name, _mixed(name, int(tokens * CHARACTERS_A_TOKEN)))
    if not (folder / "session_rows.json").exists():
        _write(folder, "rows", [_rows(random.Random(f"{SEED}:rows:{n}"), n) for n in range(14)])
    return folder


def _write(folder: Path, name: str, made: list[Made]) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": _ASKED}]
    for number, (tool, given, text) in enumerate(made):
        call = f"toolu_{number:05d}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": given}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": _STEPS[number % len(_STEPS)]}, use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": text}
        messages.append({"role": "user", "content": [result]})
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "I have what I need for now."}]})
    messages.append({"role": "user", "content": "Summarise what is still broken and give the exact references."})
    results = results_of(messages)
    views, truth = planted_again(messages, results, list(results))
    file = folder / f"session_{name}.json"
    file.with_suffix(".truth.json").write_text(json.dumps({"needles": truth}), encoding="utf-8")
    file.write_text(json.dumps({"messages": replaced(messages, views)}), encoding="utf-8")


def _mixed(name: str, characters: int) -> list[Made]:
    rng = random.Random(f"{SEED}:{name}")
    kinds: list[tuple[Callable[[random.Random], Made], int]] = [
        (_read, 26), (_metadata, 20), (_log, 14), (_grep, 12), (_listing, 8), (_docs, 6),
        (_whole(tracebacks, "python -m job"), 4), (_whole(resolver_log, "pip install --dry-run"), 6),
        (_whole(source_file, "cat kernels.h"), 4),
    ]  # fmt: skip
    made: list[Made] = []
    size = 0
    while size < characters:
        if made and rng.random() < 0.06:
            one = rng.choice(made)
        else:
            one = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0](rng)
        made.append(one)
        size += len(one[2]) + 120
    return made


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


@cache
def _sources() -> list[Path]:
    return sorted(_LIBRARY.glob("*.py")) + sorted(_LIBRARY.glob("*/*.py"))


def _cut(text: str, rng: random.Random) -> str:
    """A stretch of whole lines."""
    size = rng.choice((4_000, 9_000, 14_000, 24_000))
    lines = text.split("\n")
    start = rng.randrange(len(lines)) if len(text) > size else 0
    kept: list[str] = []
    for line in lines[start:]:
        if sum(map(len, kept)) + len(line) > size:
            break
        kept.append(line)
    return "\n".join(kept) or text[:size]


def _read(rng: random.Random) -> Made:
    path = rng.choice(_sources())
    numbered = "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(_text(path).split("\n"), 1))
    return "Read", {"file_path": f"lib/{path.relative_to(_LIBRARY)}"}, _cut(numbered, rng)


def _grep(rng: random.Random) -> Made:
    pattern = rng.choice(_PATTERNS)
    found: list[str] = []
    for path in rng.sample(_sources(), 80):
        for number, line in enumerate(_text(path).split("\n"), 1):
            if re.search(pattern, line):
                found.append(f"./{path.relative_to(_LIBRARY)}:{number}:{line}")
    return "Grep", {"pattern": pattern, "path": "lib"}, _cut("\n".join(found) or "no matches", rng)


def _listing(rng: random.Random) -> Made:
    folder = rng.choice(sorted(path for path in _LIBRARY.iterdir() if path.is_dir()))
    lines = [f"{folder.name}:"]
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        size = entry.stat().st_size
        day, time = (
            rng.randint(10, 28),
            f"{rng.randint(10, 23)}:{rng.randint(10, 59)}:07.{rng.randint(10**8, 10**9 - 1)}",
        )
        lines.append(f"-rw-r--r-- 1 root root {size:>8} 2026-0{rng.randint(1, 9)}-{day} {time} +0000 {entry.name}")
    return "Bash", {"command": f"ls -la --time-style=full-iso {folder.name}"}, _cut("\n".join(lines), rng)


@cache
def _projects() -> list[dict[str, Any]]:
    """What is installed, by name; read once, since every look at a project parses its metadata anew."""
    found: list[dict[str, Any]] = []
    for dist in importlib.metadata.distributions():
        told = dist.metadata
        named = {name: (told.get_all(name) or [""])[0] for name in ("Name", "Version", "Summary", "Requires-Python")}
        known = {name.lower().replace("-", "_"): value for name, value in named.items()}
        found.append({**known, "project_url": told.get_all("Project-URL"), "requires_dist": dist.requires})
    return sorted(found, key=lambda one: one["name"].lower())


def _metadata(rng: random.Random) -> Made:
    found = _projects()
    start = rng.randrange(max(1, len(found) - 12))
    rows = [{"metadata": one, "installer": "pip"} for one in found[start : start + 12]]
    return "Bash", {"command": f"pip inspect | jq '.installed[{start}:{start + 12}]'"}, json.dumps(rows, indent=2)


def _log(rng: random.Random) -> Made:
    names = [one["name"] for one in _projects()]
    lines: list[str] = []
    minute = rng.randint(0, 600)
    for _ in range(rng.randint(60, 200)):
        minute += rng.randint(0, 3)
        stamp = f"2026-11-{rng.randint(10, 19)} {minute // 60 % 24:02d}:{minute % 60:02d}:{rng.randint(0, 59):02d}"
        name, version = rng.choice(names), f"{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 20)}"
        lines.append(f"{stamp} {rng.choice(('status installed', 'upgrade', 'configure'))} {name}:amd64 {version}")
    return "Bash", {"command": "sed -n '1,200p' /var/log/dpkg.log"}, "\n".join(lines)


def _docs(rng: random.Random) -> Made:
    found = descriptions(4_000, 60_000)
    name = rng.choice(list(found))
    return "WebFetch", {"url": f"https://docs.example/{name}"}, _cut(found[name], rng)


def _whole(text: Callable[[], str], command: str) -> Callable[[random.Random], Made]:
    made = cache(text)
    return lambda rng: ("Bash", {"command": command}, _cut(made(), rng))


def _rows(rng: random.Random, number: int) -> Made:
    lines = [line.strip() for path in rng.sample(_sources(), 6) for line in _text(path).split("\n")]
    hits = [
        {
            "id": number * 1_000 + n,
            "path": f"lib/mod_{rng.randint(10, 99)}.py",
            "line": rng.randint(1, 999),
            "text": rng.choice(lines)[:140],
            "score": round(rng.random(), 4),
            "level": "info",
            "ref": f"{rng.getrandbits(40):010x}",
            "updated": f"2026-{rng.randint(1, 11):02d}-{rng.randint(1, 28):02d}",
        }
        for n in range(120)
    ]
    return "search_index", {"q": "x"}, json.dumps(hits, indent=1 if number % 2 else None)

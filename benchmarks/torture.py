"""Runs the crash harness to its numbers, and writes what it counted into benchmarks/torture.md.

    python benchmarks/torture.py [--only PART …] [--count N] [--minutes M] [--seed N] [--add] [--list]

A part may be run alone: its row is written when it has ended, the others stay as they were last run. `--minutes` ends a
part early, and the row says how far it came; `--add` with another seed counts a further piece of it to the row. Exit
status 1 where a part found something wrong.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
RESULTS = CHECKOUT / "benchmarks" / "torture.md"
HEAD = ("part", "goal", "run", "outcome", "when, commit", "minutes")


@dataclass(frozen=True)
class Part:
    """Some tests of the harness.

    Attributes:
        goal: in words.
        count: what each of the tests runs to; 0 where there is nothing to count.
        tests: as pytest takes them, below `tests/crash`.
        minutes: what bounds it, where time is the goal.
    """

    name: str
    goal: str
    count: int
    tests: tuple[str, ...]
    minutes: float = 0.0


_KILL = "test_kill.py::test_nothing_acknowledged_is_lost_when"
_CUTS = "test_simulated_disk.py::test_nothing_acknowledged_is_lost"
_KILLS = {
    "passes": 400,
    "eight writers, one list": 1_200,
    "eight writers, own lists": 600,
    "server": 600,
    "summary": 600,
    "handoffs": 900,
    "experience": 600,
    "two versions": 900,
    "rewrite": 300,
    "migrate": 300,
    "repair": 300,
    "purge": 300,
    "pack": 300,
    "backup": 300,
    "import": 300,
}
"""With the 4,000 of writers, 11,900."""


def _kills(kind: str, count: int, goal: str = "") -> Part:
    test = f"test_killed_processes.py::test_a_killed_process_loses_nothing_that_was_acknowledged[{kind}]"
    return Part(f"kills: {kind}", goal or f"{count:,} kills", count, (test,))


_PARSERS = (
    *("anthropic messages", "openai messages", "session file", "transcript", "other hosts' sessions", "segment"),
    *("witness", "export", "experience", "experience digest", "hook", "status line", "requests", "summary", "handoff"),
    *("query", "redaction rules", "specifics", "digest readers"),
)


def _fuzz(name: str) -> Part:
    test = f"test_parsers.py::test_a_damaged_text_gives_a_value_or_the_parsers_own_error[{name}]"
    return Part(f"fuzz: {name}", "1,000,000 texts", 1_000_000, (test,))


PARTS = (
    Part("harms", "≥ 99.9 % of 2,000 noticed", 2_000, ("test_missing_data.py",)),
    Part("power cuts", "100,000 disks", 50_000, (f"{_CUTS}_at_any_crash_point", f"{_CUTS}_when_any_single_call_fails")),
    Part("kills: writers", "4,000 kills", 4_000, (f"{_KILL}_writers_are_killed",)),
    *(_kills(kind, count) for kind, count in _KILLS.items()),
    _kills("eight writers for a minute, one list", 80, "ten minutes"),
    _kills("eight writers for a minute, own lists", 80, "ten minutes"),
    Part("faults by site", "every site × 6 faults", 9_999, ("test_fault_sites.py",)),
    Part("poor disks", "11 sizes of a full disk; slow, read-only, few handles", 1, ("test_poor_disks.py",)),
    *(_fuzz(name) for name in _PARSERS),
    Part("power cuts of ext4, xfs", "200 cuts each", 200, (f"{_KILL}_the_power_is_cut",)),
    Part("bombs", "memory within twice the cap", 1, ("test_bombs.py",)),
    Part("swapped links", "every call × 10 places", 1, ("test_swapped_links.py",)),
    Part("system calls", "every call × its faults", 9_999, ("test_strace.py",)),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", metavar="PART", help="a part's name, or how it begins")
    parser.add_argument("--count", type=int, help="instead of the part's own number")
    parser.add_argument("--minutes", type=float, help="at most so long for each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--add", action="store_true", help="count what is run to what the row has")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the page; benchmarks/torture.md")
    parser.add_argument("--list", action="store_true", help="name the parts, and run none")
    given = parser.parse_args()
    parts = [one for one in PARTS if one.name in (given.only or ())]
    parts = parts or [one for one in PARTS if not given.only or one.name.startswith(tuple(given.only))]
    if not parts:
        parser.error(f"no part is called so; there are: {', '.join(one.name for one in PARTS)}")
    if given.list:
        sys.stdout.write("".join(f"{one.name:24} {one.goal}\n" for one in parts))
        return 0
    failed = [one.name for one in parts if not run(one, given)]
    sys.stdout.write(f"wrong in: {', '.join(failed)}\n" if failed else "nothing wrong was found\n")
    return 1 if failed else 0


def run(part: Part, given: argparse.Namespace) -> bool:
    """Run one part and write its row. Returns whether its tests passed."""
    started = datetime.now(UTC)
    count = given.count or part.count
    minutes = given.minutes or part.minutes
    with tempfile.TemporaryDirectory(prefix="palimpsest-torture-") as folder:
        told = Path(folder) / "told"
        environment = {**os.environ, "TEST_CRASH_TELL": str(told), "TEST_CRASH_SEED": str(given.seed)}
        environment |= {"TEST_CRASH_COUNT": str(count)} if count else {}
        environment |= {"TEST_CRASH_SECONDS": f"{60 * minutes:g}"} if minutes else {}
        tests = [f"tests/crash/{test}" for test in part.tests]
        command = [sys.executable, "-m", "pytest", "--tb=short", f"--basetemp={folder}/tests", *tests]
        ran = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
        counted = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
    sys.stdout.write(ran.stdout[-4_000:] + ran.stderr[-2_000:])
    passed = ran.returncode == 0
    ended = datetime.now(UTC)
    row = (
        part.name,
        part.goal,
        "; ".join(map(said, counted)) or "nothing was counted",
        outcome(ran.stdout) if passed else f"**{outcome(ran.stdout)}**",
        f"{started:%Y-%m-%d %H:%M}, {commit()}, seed {given.seed}",
        f"{(ended - started).total_seconds() / 60:.1f}",
    )
    write(given.out, row, add=given.add)
    return passed


def said(told: dict[str, Any]) -> str:
    """What one test counted, as words."""
    counts = (
        f"{name.replace('_', ' ')} {count:,}" if isinstance(count, int) else f"{name.replace('_', ' ')} {count}"
        for name, count in told["counts"].items()
    )
    return f"{told['part']}: {', '.join(counts)}"


def outcome(output: str) -> str:
    """Pytest's last line without its time, and the first error where there is one."""
    lines = output.strip().splitlines() or ["no output"]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    total = re.sub(r" in [\d.]+s.*|=", "", lines[-1]).strip()
    return " · ".join([total, *errors[:1]]).replace("|", "\\|")[:300]


def commit() -> str:
    """Of the checkout, with `+` where something is not committed."""
    git = ["git", "-C", str(CHECKOUT)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "src", "tests"], capture_output=True, text=True).stdout
    return (name or "no commit") + ("+" if changed.strip() else "")


_FASTEST = ("a second", "slowest ms")
"""What is not a sum over pieces: the newest and the largest."""


def together(before: tuple[str, ...], piece: tuple[str, ...]) -> tuple[str, ...]:
    """A row and a further piece of the same part as one row: numbers are added up."""

    def number(cell: str) -> re.Match[str] | None:
        return re.fullmatch(r"(.*: )?(.*?) ([\d,]+)( of .*)?", cell)

    counts: list[str] = []
    for old, new in zip(before[2].split(", "), piece[2].split(", "), strict=True):
        was, now = number(old), number(new)
        if was is None or now is None:
            counts.append(new)
            continue
        one, other = (int(found[3].replace(",", "")) for found in (was, now))
        total = other if now[2] == _FASTEST[0] else max(one, other) if now[2] == _FASTEST[1] else one + other
        counts.append(f"{now[1] or ''}{now[2]} {total:,}{now[4] or ''}")
    outcome = before[3] if "**" in before[3] else piece[3]
    since = before[4].split(" … ")[0]
    minutes = f"{float(before[5]) + float(piece[5]):.1f}"
    return (*piece[:2], ", ".join(counts), outcome, f"{since} … {piece[4]}", minutes)


def write(page: Path, row: tuple[str, ...], *, add: bool = False) -> None:
    """Put one row into the page's table; other rows and the words above the table stay.

    Args:
        add: to the row that is there.
    """
    with page.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # several parts may run beside one another
        text = page.read_text("utf-8")
        above, _, table = text.partition(f"| {' | '.join(HEAD)} |\n")
        lines = [line for line in table.splitlines()[1:] if line.startswith("| ")]
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines}
        if add and (before := rows.get(row[0])):
            row = together(tuple(before.removeprefix("| ").removesuffix(" |").split(" | ")), row)
        rows[row[0]] = f"| {' | '.join(row)} |"
        order = [one.name for one in PARTS]
        lines = [rows[name] for name in sorted(rows, key=lambda name: order.index(name) if name in order else -1)]
        kills = sum(int(number.replace(",", "")) for line in lines for number in re.findall(r"\bkills ([\d,]+)", line))
        head = f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}\n"
        page.write_text(above + head + "\n".join(lines) + f"\n\nKills in all: {kills:,}.\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""Breaks each promise in a scratch copy and looks whether the tests turn red.

    python tests/mutants/run.py [--promise TEXT] [--only NAME] [--jobs 2] [--check]

Every `*.toml` beside this file holds mutants:

    [[mutant]]
    name = "no-folder-flush"                       # unique; what --only takes
    promise = "L: flushed before acknowledged"     # what the user was promised, in words
    file = "src/palimpsest_mcp/store/disk.py"      # from the top of the checkout
    find = "flush_folder(path)"                    # occurs exactly once in the file
    replace = "pass"
    tests = ["tests/store/test_disk.py::test_x"]   # the named tests, or files, that must fail

A mutant is killed when its tests fail as tests (pytest's exit status 1). A test that cannot be collected, that does
not exist or that hangs proves nothing, and counts as an error. The same tests must pass on the unbroken copy first.
The copy's own `src` is what is imported (PYTHONPATH goes before the editable install); each run prints its proof.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COPIED = ("src", "tests", "docs", "benchmarks", "plugin", "pyproject.toml", "README.md", "server.json")
KILLED, PASSED = 1, 0
"""Pytest's exit status for "some test failed" and "all passed"."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to break one promise."""

    name: str
    promise: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant: `killed`, `SURVIVED`, or an error in words."""

    mutant: Mutant
    verdict: str
    seconds: float
    output: str = ""

    @property
    def killed(self) -> bool:
        return self.verdict == "killed"


def load(folder: Path) -> list[Mutant]:
    """All mutants, by file name and place in the file; a wrong field or a double name ends the program."""
    mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        for number, table in enumerate(tomllib.loads(path.read_text("utf-8")).get("mutant", []), start=1):
            try:
                mutants.append(msgspec.convert({"name": f"{path.stem}-{number}", **table}, Mutant))
            except msgspec.ValidationError as error:
                sys.exit(f"{path.name}, mutant {number}: {error}")
    names = [mutant.name for mutant in mutants]
    if doubles := {name for name in names if names.count(name) > 1}:
        sys.exit(f"two mutants have one name: {', '.join(sorted(doubles))}")
    return mutants


def unfit(mutant: Mutant, root: Path) -> str:
    """Why the mutant cannot be applied or proves nothing; empty when it is fine."""
    path = root / mutant.file
    if not path.is_file():
        return f"no file {mutant.file}"
    if (times := path.read_text("utf-8").count(mutant.find)) != 1:
        return f"`find` occurs {times} times in {mutant.file}"
    if mutant.find == mutant.replace or not mutant.tests:
        return "it changes nothing, or names no test"
    missing = [test for test in mutant.tests if not (root / test.split("::")[0]).exists()]
    return f"no such test: {', '.join(missing)}" if missing else ""


def scratch_copy(parent: str) -> Path:
    """A copy of what the tests need, in a new folder."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        elif source.exists():
            shutil.copy2(source, folder / name)
    return folder


def run_tests(folder: Path, tests: Iterable[str], timeout_s: float, crash_seconds: float) -> tuple[int, str]:
    """Pytest's exit status and output in the copy; status -1 when it did not end in time."""
    shared = os.environ.get("TEST_SHARED", str(ROOT.parent / "shared"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TEST_CRASH_SECONDS": f"{crash_seconds:g}",
        "TEST_SHARED": shared,
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", *tests]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def assert_copy_is_imported(folder: Path) -> None:
    """Without this an editable install could be tested in the copy's place, and every mutant would survive."""
    code = "import palimpsest_mcp.errors as m; print(m.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    found = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    if not Path(found.stdout.strip()).is_relative_to(folder):
        sys.exit(f"the copy is not what is imported, but {found.stdout.strip() or found.stderr}")


def try_mutant(mutant: Mutant, parent: str, options: argparse.Namespace) -> Outcome:
    """Apply one mutant in a copy of its own and run its tests."""
    started = time.monotonic()
    if reason := unfit(mutant, ROOT):
        return Outcome(mutant, reason, 0.0)
    folder = scratch_copy(parent)
    try:
        path = folder / mutant.file
        path.write_text(path.read_text("utf-8").replace(mutant.find, mutant.replace), "utf-8")
        status, output = run_tests(folder, mutant.tests, options.timeout, options.crash_seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    said = {KILLED: "killed", PASSED: "SURVIVED", -1: f"hung for {options.timeout:g} s"}
    verdict = said.get(status, f"pytest's exit status {status}: not a red test")
    return Outcome(mutant, verdict, time.monotonic() - started, output)


def unbroken_tests_pass(mutants: Sequence[Mutant], parent: str, options: argparse.Namespace) -> bool:
    """A test that is red anyway kills every mutant and proves nothing."""
    folder = scratch_copy(parent)
    assert_copy_is_imported(folder)
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    status, output = run_tests(folder, tests, options.timeout * 2, options.crash_seconds)
    shutil.rmtree(folder, ignore_errors=True)
    if status != PASSED:
        say(output[-6000:])
        say(f"without any mutant the named tests already fail (pytest's exit status {status})")
    return status == PASSED


def table(outcomes: Sequence[Outcome]) -> str:
    """One row a mutant, aligned."""
    rows = [("promise", "mutant", "s", "verdict")]
    rows += [(o.mutant.promise, o.mutant.name, f"{o.seconds:.1f}", o.verdict) for o in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows
    )


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Break each promise in a copy; the tests must turn red.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this mutant (repeatable)")
    parser.add_argument("--promise", default="", help="only mutants whose promise contains this text")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for the tests of one mutant")
    parser.add_argument("--crash-seconds", type=float, default=10.0, help="length of the crash harness's loops")
    parser.add_argument("--check", action="store_true", help="only see that every mutant can be applied")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    mutants = [
        mutant
        for mutant in load(HERE)
        if options.promise.lower() in mutant.promise.lower() and (not options.only or mutant.name in options.only)
    ]
    problems = [f"{mutant.name}: {reason}" for mutant in mutants if (reason := unfit(mutant, ROOT))]
    if problems:
        say("\n".join(problems))
        return 1
    if (options.only or options.promise) and not mutants:
        say("no mutant has that name or promise")
        return 1
    if options.check:
        say(f"{len(mutants)} mutants can be applied")
        return 0
    with tempfile.TemporaryDirectory(prefix="palimpsest-mutants-") as parent:
        if not unbroken_tests_pass(mutants, parent, options):
            return 1
        with ThreadPoolExecutor(options.jobs) as pool:
            runs = [pool.submit(try_mutant, mutant, parent, options) for mutant in mutants]
            outcomes = [run.result() for run in runs]
    say(table(outcomes))
    for outcome in outcomes:
        if not outcome.killed and outcome.output:
            say(f"\n--- {outcome.mutant.name}\n{outcome.output[-2000:]}")
    killed = sum(outcome.killed for outcome in outcomes)
    say(f"\n{killed} of {len(outcomes)} mutants killed")
    return 0 if killed == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

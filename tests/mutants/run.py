"""Breaks each promise in a scratch copy and looks whether the tests turn red.

    python tests/mutants/run.py [--rule L9] [--only NAME] [--jobs 2] [--check] [--show]

Every `*.toml` beside this file holds mutants. Each names what it breaks by its qualified name, wherever in `src` that
stands; lines, text and files may move:

    [[mutant]]
    name = "two-passes-at-once"                    # unique; what --only takes
    rule = "L9"                                    # L1–L17, D1–D20, I1–I12, P1–P7 or a word such as "redaction"
    promise = "one pass a session at a time"       # what the user was promised, in words
    function = "LedgerFiles.lock_pass"             # or "shared_name(first, second)"; or constant = "Policy.floor"
    replace = "self._lock(path, 0.0)"              # how it is broken, see below
    by = "lambda: None"
    tests = ["test_a_second_pass_is_refused"]      # must fail; "TestDiskStore::test_x" where a class inherits the test

A function is broken in one of four ways, a constant in one:

    returns = "True"                  its whole body gives this
    skip_body = true                  its whole body does nothing
    delete_call = "flush"             statements that only call `flush(…)`, `x.flush(…)` or `await x.flush(…)` are gone
    replace = "a < b", by = "True"    one expression, found by what it means and not by how it is laid out
    value = "10"                      the constant's new value

A name that is missing or that two places have is an error, and so is an expression that is not there exactly once: then
the mutant is mended. A mutant is killed when its tests fail as tests (pytest's exit status 1). A test that cannot be
collected, that does not exist or that hangs proves nothing, and counts as an error. The same tests must pass on the
unbroken copy first. The copy's own `src` is what is imported (PYTHONPATH goes before the editable install).
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COPIED = ("src", "tests", "docs", "benchmarks", "plugin", "pyproject.toml", "README.md", "server.json")
KILLED, PASSED = 1, 0
"""Pytest's exit status for "some test failed" and "all passed"."""
WAYS = ("returns", "skip_body", "delete_call", "replace")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Constant = ast.Assign | ast.AnnAssign
_TEST = re.compile(r"^(?:async def |def |class )?(test_\w+|Test\w+)(?=\(|:| =)", re.MULTILINE)


class Unfit(Exception):
    """The mutant cannot be applied, or proves nothing."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to break one promise."""

    name: str
    rule: str
    promise: str
    tests: tuple[str, ...]
    function: str = ""
    constant: str = ""
    returns: str = ""
    skip_body: bool = False
    delete_call: str = ""
    replace: str = ""
    by: str = ""
    value: str = ""


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


class Checkout:
    """Where functions, constants and tests of a checkout stand, by name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def places(self) -> dict[tuple[str, str], list[tuple[Path, Function | Constant]]]:
        """("function" or "constant", qualified name) -> its definitions, each with its file."""
        places: dict[tuple[str, str], list[tuple[Path, Function | Constant]]] = defaultdict(list)
        for path in sorted((self.root / "src").rglob("*.py")):
            for name, node in definitions(ast.parse(path.read_text("utf-8"))):
                for spelled in _spellings(name, node):
                    places[_kind(node), spelled].append((path, node))
        return places

    @cached_property
    def tests(self) -> dict[str, list[str]]:
        """Name of a test or of a class of tests -> pytest's name for it."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted((self.root / "tests").rglob("test_*.py")):
            for name in _TEST.findall(path.read_text("utf-8")):
                found[name].append(f"{path.relative_to(self.root).as_posix()}::{name}")
        return found

    @cached_property
    def methods(self) -> set[str]:
        """Every test that a class can have, those of the contracts in `src` included."""
        texts = (path.read_text("utf-8") for top in ("src", "tests") for path in (self.root / top).rglob("*.py"))
        return {name for text in texts for name in re.findall(r"^ +(?:async )?def (test_\w+)", text, re.MULTILINE)}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Pytest's names of the tests that must fail.

        Raises:
            Unfit: there is none, or one is not there exactly once.
        """
        if not mutant.tests:
            raise Unfit("it names no test")
        found: list[str] = []
        for test in mutant.tests:
            name, _, method = test.partition("::")
            places = self.tests[name]
            if len(places) != 1 or (method and method not in self.methods):
                raise Unfit(f"no such test: {test}" if len(places) < 2 else f"{len(places)} tests are named {test}")
            found.append(places[0] + (f"::{method}" if method else ""))
        return found

    def broken(self, mutant: Mutant) -> str:
        """The definition as the mutant leaves it.

        Raises:
            Unfit: what it names is not there exactly once, or it changes nothing.
        """
        given = [way for way in (*WAYS, "value") if getattr(mutant, way)]
        wanted = {"value"} if mutant.constant else set(WAYS)
        if bool(mutant.function) == bool(mutant.constant) or len(given) != 1 or given[0] not in wanted:
            raise Unfit(f"a function is broken by one of {', '.join(WAYS)}, a constant by value")
        kind, name = ("function", mutant.function) if mutant.function else ("constant", mutant.constant)
        places = self.places[kind, name]
        if len(places) != 1:
            raise Unfit(f"no {kind} {name}" if not places else f"{len(places)} places define the {kind} {name}")
        ((_, node),) = places
        changed = copy.deepcopy(node)
        _break(changed, mutant)
        after = ast.unparse(ast.fix_missing_locations(changed))
        if ast.unparse(node) == after:
            raise Unfit("it changes nothing")
        try:
            compile(after, mutant.name, "exec")
        except SyntaxError:  # by itself; inside of its file it may be none
            compile(self.broken_file(mutant)[1], mutant.name, "exec")
        return after

    def broken_file(self, mutant: Mutant) -> tuple[Path, str]:
        """The file, by its path from the top, as the mutant leaves it; of one that `broken` takes."""
        kind, name = ("function", mutant.function) if mutant.function else ("constant", mutant.constant)
        ((path, _),) = self.places[kind, name]
        tree = ast.parse(path.read_text("utf-8"))
        node = next(one for known, one in definitions(tree) if _kind(one) == kind and name in _spellings(known, one))
        _break(node, mutant)
        return path.relative_to(self.root), ast.unparse(ast.fix_missing_locations(tree))


def _kind(node: Function | Constant) -> str:
    return "function" if isinstance(node, Function) else "constant"


def _spellings(name: str, node: Function | Constant) -> tuple[str, ...]:
    """Names under which a mutant finds it: where two functions share one, `name(first, second)` tells them apart."""
    if isinstance(node, Constant):
        return (name,)
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return name, f"{name}({', '.join(one.arg for one in arguments)})"


def definitions(scope: ast.AST, prefix: str = "", *, local: bool = False) -> Iterator[tuple[str, Function | Constant]]:
    """Functions, and constants of modules and classes, with their qualified names; no local variables."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.ClassDef):
            yield from definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, Function):
            yield prefix + node.name, node
            yield from definitions(node, f"{prefix}{node.name}.", local=True)
        elif isinstance(node, Constant) and not local:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and node.value is not None:
                yield prefix + targets[0].id, node
        elif isinstance(node, ast.stmt):
            yield from definitions(node, prefix, local=local)


def _break(node: Function | Constant, mutant: Mutant) -> None:
    if isinstance(node, Constant):
        node.value = _expression(mutant.value)
    elif mutant.returns:
        node.body = [ast.Return(_expression(mutant.returns))]
    elif mutant.skip_body:
        node.body = [ast.Pass()]
    elif mutant.delete_call:
        _Deleting(mutant.delete_call).visit(node)
    else:
        replacing = _Replacing(_expression(mutant.replace), _expression(mutant.by))
        replacing.visit(node)
        if replacing.times != 1:
            raise Unfit(f"`{mutant.replace}` stands {replacing.times} times in {mutant.function}")


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Unfit(f"`{text}` is no expression: {error.msg}") from None


class _Deleting(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(call, ast.Call):
            return node
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        return ast.Pass() if name == self._name else node


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old = ast.unparse(old)
        self._kind = type(old)
        self._new = new
        self.times = 0

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, self._kind) and ast.unparse(node) == self._old:
            self.times += 1
            return self._new
        return self.generic_visit(node)


def load(folder: Path) -> list[Mutant]:
    """All mutants, by file name and place in the file; a wrong field or a double name ends the program."""
    mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        for number, table in enumerate(tomllib.loads(path.read_text("utf-8")).get("mutant", []), start=1):
            try:
                mutants.append(msgspec.convert(table, Mutant))
            except msgspec.ValidationError as error:
                sys.exit(f"{path.name}, mutant {number}: {error}")
    names = [mutant.name for mutant in mutants]
    if doubles := {name for name in names if names.count(name) > 1}:
        sys.exit(f"two mutants have one name: {', '.join(sorted(doubles))}")
    return mutants


def problem(mutant: Mutant, checkout: Checkout) -> str:
    """Why the mutant cannot be applied or proves nothing; empty when it is fine."""
    try:
        checkout.broken(mutant)
        checkout.tests_of(mutant)
    except Unfit as reason:
        return str(reason)
    return ""


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
    code = "import palimpsest_mcp as m; print(m.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    found = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    if not Path(found.stdout.strip()).is_relative_to(folder):
        sys.exit(f"the copy is not what is imported, but {found.stdout.strip() or found.stderr}")


def try_mutant(mutant: Mutant, checkout: Checkout, parent: str, options: argparse.Namespace) -> Outcome:
    """Apply one mutant in a copy of its own and run its tests."""
    started = time.monotonic()
    path, text = checkout.broken_file(mutant)
    folder = scratch_copy(parent)
    try:
        (folder / path).write_text(text, "utf-8")
        status, output = run_tests(folder, checkout.tests_of(mutant), options.timeout, options.crash_seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    said = {KILLED: "killed", PASSED: "SURVIVED", -1: f"hung for {options.timeout:g} s"}
    verdict = said.get(status, f"pytest's exit status {status}: not a red test")
    return Outcome(mutant, verdict, time.monotonic() - started, output)


def unbroken_tests_pass(
    mutants: Sequence[Mutant], checkout: Checkout, parent: str, options: argparse.Namespace
) -> bool:
    """A test that is red anyway kills every mutant and proves nothing."""
    folder = scratch_copy(parent)
    assert_copy_is_imported(folder)
    tests = sorted({test for mutant in mutants for test in checkout.tests_of(mutant)})
    status, output = run_tests(folder, tests, options.timeout * 2, options.crash_seconds)
    shutil.rmtree(folder, ignore_errors=True)
    if status != PASSED:
        say(output[-6000:])
        say(f"without any mutant the named tests already fail (pytest's exit status {status})")
    return status == PASSED


def table(outcomes: Sequence[Outcome]) -> str:
    """One row a mutant, aligned."""
    rows = [("rule", "promise", "mutant", "s", "verdict")]
    rows += [(o.mutant.rule, o.mutant.promise, o.mutant.name, f"{o.seconds:.1f}", o.verdict) for o in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows
    )


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Break each promise in a copy; the tests must turn red.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this mutant (repeatable)")
    parser.add_argument("--rule", default="", help="only mutants of this rule")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for the tests of one mutant")
    parser.add_argument("--crash-seconds", type=float, default=10.0, help="length of the crash harness's loops")
    parser.add_argument("--check", action="store_true", help="only see that every mutant can be applied")
    parser.add_argument("--show", action="store_true", help="only print what each mutant makes of its code")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    gc.disable()  # of all that is parsed nothing becomes garbage, and looking for it takes half of the time
    checkout = Checkout(ROOT)
    mutants = [
        mutant
        for mutant in load(HERE)
        if options.rule in ("", mutant.rule) and (not options.only or mutant.name in options.only)
    ]
    if problems := [f"{mutant.name}: {reason}" for mutant in mutants if (reason := problem(mutant, checkout))]:
        say("\n".join(problems))
        return 1
    if not mutants:
        say("no mutant has that name or rule")
        return 1
    if options.show:
        for mutant in mutants:
            say(f"# {mutant.name}\n{checkout.broken(mutant)}\n")
    if options.check or options.show:
        say(f"{len(mutants)} mutants can be applied")
        return 0
    with tempfile.TemporaryDirectory(prefix="palimpsest-mutants-") as parent:
        if not unbroken_tests_pass(mutants, checkout, parent, options):
            return 1
        with ThreadPoolExecutor(options.jobs) as pool:
            runs = [pool.submit(try_mutant, mutant, checkout, parent, options) for mutant in mutants]
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

"""The harness itself, on a project of a few lines: it must not call a mutant killed that nothing has killed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import first_of

HERE = Path(__file__).resolve().parent
ADD = 'function = "add"\nreplace = "(left) + right"\nby = "left - right"'
CODE = """
import os

LIMIT = 10


def add(left: int, right: int) -> int:
    return left + right


class Store:
    size: int = 3

    async def write(self) -> None:
        os.sync()
        await self.flush()

    async def flush(self) -> None:
        def inner() -> int:
            return 1

        inner()


def twice(left: int) -> int:
    return left + left
"""
OTHER = """
def twice(text: str) -> str:
    return text + text
"""
GUARD = """
from palimpsest_mcp.sums import add


def test_add():
    assert add(2, 2) == 4


class TestAdding:
    def test_zero(self):
        assert add(2, 0) == 2
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with some functions, tests that guard one of them and one test that guards none."""
    package = tmp_path / "src" / "palimpsest_mcp"
    tests = tmp_path / "tests"
    package.mkdir(parents=True)
    (tests / "mutants").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sums.py").write_text(CODE)
    (package / "texts.py").write_text(OTHER)
    (tests / "test_guard.py").write_text(GUARD)
    (tests / "test_blind.py").write_text("def test_nothing():\n    assert True\n")
    (tests / "test_broken.py").write_text("import no_such_module\n\ndef test_broken():\n    assert True\n")
    shutil.copy(HERE / "run.py", tests / "mutants" / "run.py")
    return tmp_path


def run(project: Path, *options: str, how: str = ADD, tests: str = "test_add") -> tuple[int, str]:
    text = f'[[mutant]]\nname = "one"\nrule = "P1"\npromise = "sums"\n{how}\ntests = ["{tests}"]\n'
    (project / "tests" / "mutants" / "some.toml").write_text(text)
    command = [sys.executable, str(project / "tests" / "mutants" / "run.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("tests", first_of(["test_add", "TestAdding::test_zero"]))
def test_a_mutant_that_a_test_notices_is_killed(project: Path, tests: str) -> None:
    status, output = run(project, tests=tests, how=ADD.replace("left - right", "left - right - 1"))
    assert status == 0 and "1 of 1 mutants killed" in output, output


@pytest.mark.slow
def test_a_mutant_that_no_test_notices_survives_and_turns_the_run_red(project: Path) -> None:
    status, output = run(project, tests="test_nothing")
    assert status == 1 and "SURVIVED" in output, output


@pytest.mark.slow
def test_tests_that_are_red_without_any_mutant_prove_nothing(project: Path) -> None:
    status, output = run(project, tests="test_broken")
    assert status == 1 and "already fail" in output, output


@pytest.mark.parametrize(
    ("how", "broken"),
    first_of(
        [
            (ADD, "return left - right"),
            ('function = "add"\nreturns = "7"', "    return 7\n"),
            ('function = "Store.write"\ndelete_call = "sync"', "    pass\n    await self.flush()"),
            ('function = "Store.write"\ndelete_call = "flush"', "    os.sync()\n    pass"),
            ('function = "Store.flush"\nskip_body = true', "async def flush(self) -> None:\n    pass"),
            ('function = "Store.flush.inner"\nreturns = "2"', "def inner() -> int:\n    return 2"),
            ('function = "twice(text)"\nreturns = "text"', "def twice(text: str) -> str:\n    return text"),
            ('constant = "LIMIT"\nvalue = "99"', "LIMIT = 99"),
            ('constant = "Store.size"\nvalue = "0"', "size: int = 0"),
        ],
        kept=3,
    ),
)
def test_it_is_broken_as_the_mutant_says_wherever_it_stands(project: Path, how: str, broken: str) -> None:
    status, output = run(project, "--show", how=how)
    assert status == 0 and broken in output, output
    (project / "src" / "palimpsest_mcp" / "sums.py").rename(project / "src" / "palimpsest_mcp" / "moved.py")
    status, output = run(project, "--show", how=how)
    assert status == 0 and broken in output, output


@pytest.mark.parametrize(
    ("how", "problem"),
    first_of(
        [
            ('function = "gone"\nreturns = "1"', "no function gone"),
            ('function = "twice"\nreturns = "1"', "2 places define the function twice"),
            ('constant = "SIZE"\nvalue = "1"', "no constant SIZE"),
            ('function = "add"\nreplace = "left * right"\nby = "0"', "stands 0 times"),
            ('function = "twice(left)"\nreplace = "left"\nby = "0"', "stands 2 times"),
            ('function = "add"\nreplace = "left +"\nby = "0"', "no expression"),
            ('function = "add"\nreplace = "left"\nby = "left"', "it changes nothing"),
            ('function = "add"\ndelete_call = "sync"', "it changes nothing"),
            ('function = "add"\nreturns = "1"\nskip_body = true', "a function is broken by one of"),
            ('function = "add"\nvalue = "1"', "a function is broken by one of"),
            ('constant = "LIMIT"\nreturns = "1"', "a constant by value"),
            ('file = "src/palimpsest_mcp/sums.py"', "unknown field"),
        ],
        kept=3,
    ),
)
def test_a_mutant_that_cannot_be_applied_turns_the_run_red(project: Path, how: str, problem: str) -> None:
    status, output = run(project, "--check", how=how)
    assert status == 1 and problem in output, output


def test_a_mutant_whose_test_does_not_exist_turns_the_run_red(project: Path) -> None:
    status, output = run(project, "--check", tests="test_gone")
    assert status == 1 and "no such test" in output, output

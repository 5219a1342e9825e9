"""The harness itself, on a project of three lines: it must not call a mutant killed that nothing has killed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
MUTANT = """
[[mutant]]
name = "one"
promise = "two and two are four"
file = "src/palimpsest_mcp/errors.py"
find = "{find}"
replace = "left - right"
tests = ["{tests}"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with one function, one test that guards it and one that does not."""
    package = tmp_path / "src" / "palimpsest_mcp"
    tests = tmp_path / "tests"
    package.mkdir(parents=True)
    (tests / "mutants").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "errors.py").write_text("def add(left: int, right: int) -> int:\n    return left + right\n")
    (tests / "test_guard.py").write_text(
        "from palimpsest_mcp.errors import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"
    )
    (tests / "test_blind.py").write_text("def test_nothing():\n    assert True\n")
    (tests / "test_broken.py").write_text("import no_such_module\n")
    shutil.copy(HERE / "run.py", tests / "mutants" / "run.py")
    return tmp_path


def run(project: Path, *, find: str = "left + right", tests: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    (project / "tests" / "mutants" / "some.toml").write_text(MUTANT.format(find=find, tests=tests))
    command = [sys.executable, str(project / "tests" / "mutants" / "run.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_mutant_that_a_test_notices_is_killed(project: Path) -> None:
    status, output = run(project, tests="tests/test_guard.py")
    assert status == 0 and "1 of 1 mutants killed" in output, output


@pytest.mark.slow
def test_a_mutant_that_no_test_notices_survives_and_turns_the_run_red(project: Path) -> None:
    status, output = run(project, tests="tests/test_blind.py")
    assert status == 1 and "SURVIVED" in output, output


def test_a_mutant_whose_line_is_gone_turns_the_run_red(project: Path) -> None:
    status, output = run(project, find="left * right", tests="tests/test_guard.py", options=("--check",))
    assert status == 1 and "occurs 0 times" in output, output


def test_a_mutant_whose_test_does_not_exist_turns_the_run_red(project: Path) -> None:
    status, output = run(project, tests="tests/test_gone.py", options=("--check",))
    assert status == 1 and "no such test" in output, output


@pytest.mark.slow
def test_tests_that_are_red_without_any_mutant_prove_nothing(project: Path) -> None:
    status, output = run(project, tests="tests/test_broken.py")
    assert status == 1 and "already fail" in output, output

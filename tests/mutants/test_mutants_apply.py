"""Every rule has a mutant, and every mutant can still be applied; `make mutants` then runs them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_every_mutant_finds_what_it_breaks_exactly_once_and_names_tests_that_exist() -> None:
    done = subprocess.run([sys.executable, HERE / "run.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_promise_and_every_rule_has_a_mutant() -> None:
    found = {one["rule"] for path in HERE.glob("*.toml") for one in tomllib.loads(path.read_text("utf-8"))["mutant"]}
    counts = {"P": 7, "L": 17, "D": 20, "I": 12}
    wanted = {f"{letter}{number}" for letter, count in counts.items() for number in range(1, count + 1)}
    assert found == wanted | {"redaction", "purge", "experience", "recall", "fleet", "terminal", "server"}

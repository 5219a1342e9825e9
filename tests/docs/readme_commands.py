"""Types the README's own commands, one by one, and compares what they print.

    python tests/docs/readme_commands.py [--fresh-clone] [--update] [PAGE ...]

A fenced block `console` is run: a line that starts with `$ ` is a command (with its `\\` continuations), what follows
is what it prints. `…` in an expected line stands for any text, `…` alone for any lines. A command without expected
lines must only succeed. A block `python` is run as a file. Words after `console` or `python`: `no-run` (needs a host
or a network) is never run; `clone` (installs something) only with --fresh-clone, in a clone of the checkout, with
nothing of ours on the PATH. All commands share one new folder and store. --update writes what was really printed into
the page, in the place of what no longer fits, and keeps each `…` that still fits.

Without --fresh-clone, a command that is nothing but `palimpsest-mcp WORDS`, or begins a pipe so, runs in a fork of this
process, which has imported the program once; starting it anew costs a second each.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = "palimpsest-mcp"
SHELL = frozenset("|&;<>()$`*?[]{}~#!\\\n")
"""What only a shell understands."""
FENCE = re.compile(r"^```(console|python)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY = "…"


@dataclass(frozen=True)
class Step:
    """One command and what it prints."""

    command: str
    expected: tuple[str, ...]
    needs_clone: bool


def steps_of(page: str) -> list[Step]:
    """The steps of a page in order, without those marked `no-run`."""
    steps: list[Step] = []
    for language, info, body in FENCE.findall(page):
        if "no-run" in info.split():
            continue
        if language == "python":
            steps.append(Step(f"python - <<'PALIMPSEST_EXAMPLE'\n{body}PALIMPSEST_EXAMPLE", (), False))
        else:
            steps += _console_steps(body, needs_clone="clone" in info.split())
    return steps


def _console_steps(body: str, *, needs_clone: bool) -> list[Step]:
    steps: list[Step] = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        lines = part.rstrip("\n").split("\n")
        length = next(number for number, line in enumerate(lines, start=1) if not line.endswith("\\"))
        steps.append(Step("\n".join(lines[:length]), tuple(lines[length:]), needs_clone))
    return steps


def matches(expected: tuple[str, ...], printed: str) -> bool:
    """Whether the output is what the page says, `…` standing for whatever differs between machines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == ANY else re.escape(line.rstrip()).replace(re.escape(ANY), ".*?") + r"[ ]*\n"
        for line in expected
    )
    text = "".join(line.rstrip() + "\n" for line in printed.rstrip("\n").split("\n"))
    return re.fullmatch(pattern, text) is not None


@dataclass(frozen=True)
class Outcome:
    """What a step printed, and why that is wrong; no problem when it is right."""

    printed: str
    problem: str = ""


def run(step: Step, folder: Path, environment: dict[str, str], *, forked: bool) -> Outcome:
    head, pipe, rest = step.command.partition(" | ")
    if forked and (words := plain_words(head)):
        status, out, err = in_fork(words, folder, environment)
        if pipe and status == 0:
            status, out, err = in_shell(rest, folder, environment, out)
    else:
        status, out, err = in_shell(step.command, folder, environment)
    if status != 0:
        return Outcome(out, f"ended with {status}\n{out[-3000:]}{err[-3000:]}")
    if step.expected and not matches(step.expected, out):
        return Outcome(out, "printed something else:\n" + out)
    return Outcome(out)


def in_shell(command: str, folder: Path, environment: dict[str, str], given: str = "") -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        timeout=900,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout, done.stderr


def plain_words(command: str) -> list[str]:
    """The words of a command that is the program and nothing else; empty for any other."""
    command = command.replace("\\\n", " ")
    if SHELL & set(re.sub(r"""'[^']*'|"[^"$`\\!]*\"""", "", command)):
        return []
    words = shlex.split(command)
    return words if words[0] == PROGRAM else []


def in_fork(words: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str, str]:
    """What the program does with these words in a process that has only to be copied."""
    main = main_of_the_program()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            status = 70
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(environment)
                sys.stdin, sys.argv = os.fdopen(0, encoding="utf-8"), words
                sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
                status = main(words[1:])
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return status, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")


@cache
def main_of_the_program() -> Callable[[list[str]], int]:
    """The program with all that its commands import, but no thread and no file of its own yet."""
    from palimpsest_mcp.__main__ import main
    from palimpsest_mcp.cli import main as entry
    from palimpsest_mcp.text.tokens.count import load_vocabulary

    load_vocabulary()
    importlib.import_module("palimpsest_mcp.core.palimpsest")
    for module, _, _ in entry.COMMANDS.values():
        importlib.import_module(f".{module}", entry.__package__)
    return main


def updated(page: str, step: Step, printed: str) -> str:
    """The page with what the step really printed; what is open there stays open as far as it still can."""
    lines = kept_open(step.expected, [line.rstrip() for line in printed.rstrip("\n").split("\n")])
    old = "\n".join([f"$ {step.command}", *step.expected, ""])
    return page.replace(old, "\n".join([f"$ {step.command}", *lines, ""]), 1)


def kept_open(expected: tuple[str, ...], printed: list[str]) -> list[str]:
    """The lines that are expected, those that fit no printed line replaced by the one most like them."""
    if ANY not in "".join(expected):
        return printed
    lines: list[str] = []
    at = 0
    for line in expected:
        fits = [n for n in range(at, len(printed)) if matches((line,), printed[n])] if line != ANY else []
        if line != ANY and not fits:
            near = [(SequenceMatcher(None, line, one).ratio(), -n) for n, one in enumerate(printed[at:], at)]
            if not near or max(near)[0] < 0.5:
                continue
            fits = [-max(near)[1]]
            line = reopened(line, printed[fits[0]])
        lines.append(line)
        at = fits[0] + 1 if fits else at
    return lines


def reopened(line: str, printed: str) -> str:
    """A printed line, open where the line that was expected is: `2,01…` for `2,034`."""
    old, new = re.split(r"(\s+)", line), re.split(r"(\s+)", printed)
    if len(old) != len(new):
        return printed
    pairs = zip(old, new, strict=True)
    return "".join(a if ANY in a and matches((a,), b) else b[:-1] + ANY if a[-1:] == ANY else b for a, b in pairs)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def prepared(folder: Path, *, fresh_clone: bool) -> tuple[Path, dict[str, str]]:
    """The folder to work in, and an environment without anything of ours in it."""
    # Only settings: how the machine reaches its package registries (pip, npm) stays as it is.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PALIMPSEST_")}
    environment |= {"PALIMPSEST_HOME": str(folder / "store"), "LC_ALL": "C.UTF-8", "COLUMNS": "120", "NO_COLOR": "1"}
    work = folder / "palimpsest-mcp"
    if fresh_clone:
        subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(work)], check=True)
        environment.pop("VIRTUAL_ENV", None)
        environment["PATH"] = f"{work / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    else:
        work.mkdir()
        (work / "src").symlink_to(CHECKOUT / "src")
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return work, environment


def main() -> int:
    parser = argparse.ArgumentParser(description="Type the README's own commands and compare what they print.")
    parser.add_argument("--fresh-clone", action="store_true", help="in a clone, with its own installation")
    parser.add_argument("--update", action="store_true", help="write what was really printed into the page")
    parser.add_argument("pages", nargs="*", type=Path, default=[CHECKOUT / "README.md"])
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="palimpsest-readme-") as name:
        work, environment = prepared(Path(name), fresh_clone=options.fresh_clone)
        for path in options.pages:
            page = path.read_text("utf-8")
            for step in steps_of(page):
                if step.needs_clone and not options.fresh_clone:
                    continue
                outcome = run(step, work, environment, forked=not options.fresh_clone)
                say(f"{'WRONG' if outcome.problem else 'ok   '} $ {step.command.splitlines()[0]}")
                if outcome.problem:
                    wrong += 1
                    say(outcome.problem)
                    page = updated(page, step, outcome.printed)
            if options.update:
                path.write_text(page, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the adapters' tests against the real frameworks, each version in an environment of its own.

    python tests/integrations/run.py [--only NAME] [--which lowest|newest] [-- arguments for pytest]

Each environment gets `palimpsest-core` of this tree, built as a release builds it, by an ordinary resolution: what
cannot be installed beside a framework fails here. Environments stay in `.build/frameworks` for the next run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / ".build" / "frameworks"
TABLE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("environments.toml").read_text("utf-8"))
UV = "uv==0.13.9"
TESTS = ("pytest>=9.2", "anyio>=4", "hypothesis>=6.170", "certifi")


def tool() -> str:
    """`uv`, of this run's own."""
    folder = BUILD / "uv"
    if not (folder / "bin" / "uv").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", UV], check=True)
    return str(folder / "bin" / "uv")


def core() -> Path:
    """The wheel of palimpsest-core."""
    out = BUILD / "dist"
    shutil.rmtree(out, ignore_errors=True)
    build = [sys.executable, str(CHECKOUT / "release" / "build.py"), "--only", "core", "--out", str(out)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    return next(out.glob("*.whl"))


def python_for(wanted: str) -> str:
    """An interpreter of at least this version; empty where there is none."""
    if not wanted or sys.version_info >= tuple(map(int, wanted.split("."))):
        return sys.executable
    minor = int(wanted.split(".")[1])
    return next((found for n in range(minor, minor + 4) if (found := _works(f"python3.{n}"))), "")


def _works(name: str) -> str:
    """Where this interpreter is: named by a variable such as `PYTHON3_12`, on the path, or kept by pyenv, whose own
    program on the path runs only the versions that are switched on."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [os.environ.get(name.upper().replace(".", "_")), shutil.which(name)]
    for found in filter(None, [*named, *map(str, kept.glob(f"{name.removeprefix('python')}.*/bin/{name}"))]):
        if subprocess.run([found, "-c", "import venv"], capture_output=True).returncode == 0:
            return found
    return ""


def environment(uv: str, wheel: Path, name: str, requirements: list[str], python: str) -> Path:
    """Its interpreter. The library is installed anew each time, the rest where the requirements changed."""
    folder = BUILD / name
    told = "\n".join([*requirements, *TESTS, python])
    marker = folder / ".installed"
    quiet = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    if not marker.exists() or marker.read_text("utf-8") != told:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            [uv, "venv", "--quiet", "--python", python, str(folder)],
            check=True,
            env=quiet,
            capture_output=True,
            text=True,
        )
    install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    what = ["--reinstall-package", "palimpsest-core", str(wheel), *requirements, *TESTS]
    subprocess.run([*install, *what], check=True, env=quiet, capture_output=True, text=True)
    marker.write_text(told, "utf-8")
    return folder / "bin" / "python"


def ran(uv: str, wheel: Path, name: str, which: str, arguments: list[str]) -> tuple[bool, str]:
    """Whether the tests of one environment were green, and what is said of it."""
    row = TABLE[name]
    said = f"{name} {' '.join(row[which])}"
    python = python_for(row.get("python", ""))
    if not python:
        return True, f"-- {said}: skipped, it needs Python {row['python']} and there is none here"
    started = time.monotonic()
    try:
        there = environment(uv, wheel, f"{name}-{which}", row[which], python)
    except subprocess.CalledProcessError as error:
        return False, f"{error.stderr}\n-- {said}: CANNOT BE INSTALLED"
    installed = time.monotonic()
    # Deprecations of a framework among its own files are not ours to turn red.
    command = [str(there), "-m", "pytest", "-o", "filterwarnings=default", "-rs", "--color=no"]
    command += [f"tests/integrations/{row['file']}", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    took = f"installed in {installed - started:.0f} s, tests {time.monotonic() - installed:.0f} s"
    shown = done.stdout if done.returncode else (done.stdout.strip().splitlines() or [""])[-1]
    return not done.returncode, f"{shown}\n-- {said}: {'FAILED, ' if done.returncode else ''}{took}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TABLE, action="append")
    parser.add_argument("--which", choices=("lowest", "newest"))
    parser.add_argument("arguments", nargs="*", help="for pytest")
    given = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    uv, wheel = tool(), core()
    wanted = [
        (name, which)
        for name in given.only or TABLE
        for which in ("lowest", "newest")
        if which in TABLE[name] and given.which in (None, which)
    ]
    failed = 0

    def done(one: tuple[str, str]) -> tuple[bool, str]:
        return ran(uv, wheel, *one, given.arguments)

    with ThreadPoolExecutor(os.cpu_count()) as several:
        for green, said in several.map(done, wanted):
            print(said, flush=True)
            failed += not green
    print(f"{wheel.name}: {'all green' if not failed else f'{failed} FAILED'} of {len(wanted)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

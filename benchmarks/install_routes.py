"""Installs what a release publishes by every route that the README names, each in an empty home, and runs the main job.

    python benchmarks/install_routes.py [--only ROUTE …] [--python EXE] [--dist FOLDER] [--write]

Wheels and bundle are built from this checkout, unless `--dist` has them; everything else comes from the package index.
The main job: `demo` (compact, search, restore in a new process), and over MCP's stdio a result that is recorded,
compacted and given back byte for byte. `--write` puts the table into docs/reliability.md. Ends with 1 where one fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stdio_client import StdioServer

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "reliability.md"
BEGIN, END = "<!-- Installs: written by benchmarks/install_routes.py -->", "<!-- end of installs -->"
TOOLS = ("uv==0.13.9", "pipx==1.18.4")
INDEX = ("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX", "SSL_CERT", "REQUESTS_CA", "HTTP", "http", "NO_PROXY", "no_proxy")
"""Beginnings of the variables that say where packages come from: the machine's business, and the only ones kept."""
LIMIT_S = 1_800
RESULT = "".join(f"2026-11-24T10:{n % 60:02d}:00Z worker-{n % 7} job {n * 997} done\n" for n in range(1, 100))
LIBRARY = """\
import asyncio, sys
from palimpsest_mcp import Palimpsest
messages = [{"role": "user", "content": "Check."}]
for n in range(12):
    call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    text = "".join(f"row {k} worker-{k % 7} job {k * n} done\\n" for k in range(400))
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": text})
async def main():
    async with Palimpsest.open(sys.argv[1]) as p:
        options = {"session_id": "s", "window_tokens": 100_000, "force": True, "target": 0.1}
        result = await p.compact_messages(messages, **options)
        assert len(str(result.messages)) < len(str(messages)) / 2, result.report
        given_back = await p.restore("s", "offload_0001", "c0")
        assert given_back.text == messages[2]["content"]
asyncio.run(main())
"""


class Failed(Exception):
    """A route did not come to its end; the message holds the last words of what failed."""


class Impossible(Exception):
    """This machine lacks what the route needs; the message says what."""


@dataclass(frozen=True)
class Machine:
    """Where one route is tried: nothing of the user's own is in it.

    Attributes:
        home: an empty home; caches, tools and stores are below it.
        dist: the files of the release.
        tools: a folder of programs, with uv and pipx.
    """

    home: Path
    dist: Path
    tools: Path
    python: str

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(INDEX) or name == "LANG"}
        path = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin"))
        own = {"HOME": str(self.home), "PATH": path, "PALIMPSEST_HOME": str(self.home / "store")}
        own |= {"UV_CACHE_DIR": str(self.home / "uv-cache"), "UV_PYTHON": self.python, "UV_PYTHON_DOWNLOADS": "never"}
        own |= {"PIP_CACHE_DIR": str(self.home / "pip-cache"), "PIPX_DEFAULT_PYTHON": self.python}
        return {**kept, **own, **more}

    def run(self, *command: str | Path, cwd: Path | None = None, **more: str) -> str:
        """Run a command to its end.

        Raises:
            Failed: it ended with another status than 0.
        """
        words = [str(one) for one in command]
        environment = self.environment(**more)
        done = subprocess.run(
            words, env=environment, cwd=cwd or self.home, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_S,
        )  # fmt: skip
        if done.returncode:
            raise Failed(f"{' '.join(words)[:200]}: {done.stdout[-800:]}{done.stderr[-800:]}")
        return done.stdout

    def file(self, pattern: str) -> Path:
        """The release's one file of that pattern."""
        [found] = self.dist.glob(pattern)
        return found


@dataclass(frozen=True)
class Installed:
    """What a route made.

    Attributes:
        command: how the program starts; empty for the library.
        folder: of the environment, whose size counts.
        python: of that environment.
    """

    command: tuple[str, ...]
    folder: Path
    python: Path
    cwd: Path | None = None


def whole_by_pip(machine: Machine) -> Installed:
    """`pip install palimpsest-mcp` in an environment of its own."""
    return _by_pip(machine, machine.file("palimpsest_mcp-*.whl"), "palimpsest-mcp")


def core_by_pip(machine: Machine) -> Installed:
    """`pip install palimpsest-core`, the library."""
    return _by_pip(machine, machine.file("palimpsest_core-*.whl"))


def _by_pip(machine: Machine, wheel: Path, *script: str) -> Installed:
    folder = machine.home / "environment"
    machine.run(machine.python, "-m", "venv", folder)
    machine.run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    machine.run(folder / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    return Installed(tuple(str(folder / "bin" / one) for one in script), folder, folder / "bin" / "python")


def whole_by_pipx(machine: Machine) -> Installed:
    """`pipx install palimpsest-mcp`."""
    machine.run(machine.tools / "pipx", "install", machine.file("palimpsest_mcp-*.whl"))
    [python] = machine.home.glob(".local/**/venvs/palimpsest-mcp/bin/python")
    return Installed((str(machine.home / ".local" / "bin" / "palimpsest-mcp"),), python.parents[1], python)


def whole_by_uv_tool(machine: Machine) -> Installed:
    """`uv tool install palimpsest-mcp`."""
    machine.run(machine.tools / "uv", "tool", "install", machine.file("palimpsest_mcp-*.whl"))
    folder = machine.home / ".local" / "share" / "uv" / "tools" / "palimpsest-mcp"
    return Installed((str(machine.home / ".local" / "bin" / "palimpsest-mcp"),), folder, folder / "bin" / "python")


def whole_by_uvx(machine: Machine) -> Installed:
    """`uvx palimpsest-mcp`, which keeps its environment in uv's cache."""
    wheel = machine.file("palimpsest_mcp-*.whl")
    command = (str(machine.tools / "uvx"), "--from", str(wheel), "palimpsest-mcp")
    machine.run(*command, "--version")
    return _in_the_cache(machine, command)


def whole_by_bundle(machine: Machine) -> Installed:
    """The Claude Desktop bundle, unpacked and started by the command of its manifest."""
    folder = machine.home / "bundle"
    with zipfile.ZipFile(machine.file("*.mcpb")) as archive:
        archive.extractall(folder)
    uv = str(machine.tools / "uv")  # the manifest's own command, with the folder and the program that the host fills in
    command = (uv, "run", "--directory", str(folder), "--find-links", str(machine.dist))
    machine.run(*command, "python", "-c", "import palimpsest_mcp")
    return Installed((*command, "src/server.py"), folder / ".venv", folder / ".venv" / "bin" / "python")


def _in_the_cache(machine: Machine, command: tuple[str, ...]) -> Installed:
    pythons = [one for one in machine.home.glob("uv-cache/archive-v0/*/bin/python") if one.exists()]
    [python] = [one for one in pythons if list(one.parents[1].glob("lib/*/site-packages/palimpsest_mcp"))]
    return Installed(command, python.parents[1], python)


def whole_by_container_steps(machine: Machine) -> Installed:
    """The container file's steps without an engine: its folders below the home, its user and volume left out."""
    text = re.sub(r"\\\n\s*", "", (CHECKOUT / "Dockerfile").read_text("utf-8"))
    build = text.split("\nFROM ")[1]
    root = machine.home / "image"
    places = {name: str(root / name) for name in ("app", "tools", "wheels", "src")}
    (root / "src").mkdir(parents=True)
    (machine.home / "bin").mkdir()
    (machine.home / "bin" / "python").symlink_to(machine.python)

    def placed(words: str) -> str:
        return re.sub(r"(?<![\w./])/(app|tools|wheels|src)\b", lambda found: places[found[1]], words)

    for line in build.splitlines():
        step, _, rest = line.partition(" ")
        if step == "COPY":
            *sources, to = rest.split()
            for source in (found for one in sources for found in CHECKOUT.glob(one)):
                target = root / "src" / to / ("" if source.is_dir() else source.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__")) if source.is_dir() else (
                    shutil.copy(source, target)
                )
        elif step == "RUN":
            path = f"{machine.home / 'bin'}:/usr/bin:/bin"
            more = {"PATH": path, "REQUIREMENTS": "runtime", "PIP_NO_CACHE_DIR": "1"}
            machine.run("/bin/sh", "-c", placed(rest), cwd=root / "src", **more)
    python = root / "app" / "bin" / "python"
    machine.run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    return Installed((str(python.with_name("palimpsest-mcp")),), root / "app", python)


ROUTES: dict[str, tuple[str, Callable[[Machine], Installed]]] = {
    "uvx": ("`uvx palimpsest-mcp`", whole_by_uvx),
    "uv-tool": ("`uv tool install palimpsest-mcp`", whole_by_uv_tool),
    "pipx": ("`pipx install palimpsest-mcp`", whole_by_pipx),
    "pip": ("`pip install palimpsest-mcp`", whole_by_pip),
    "mcpb": ("Claude Desktop bundle (`.mcpb`)", whole_by_bundle),
    "container": ("the container file's steps, without an engine", whole_by_container_steps),
    "core": ("`pip install palimpsest-core`, the library", core_by_pip),
}
HEAD = (
    "route",
    "Python",
    "packages",
    "MB of bytes",
    "MB on disk",
    "of it `.pyc`",
    "install, s (of CPU)",
    "first `demo`, s (of CPU)",
)


class Watch:
    """Seconds since it was made, by the clock and of CPU of the programs that ended since."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), self._used()

    def _used(self) -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def __str__(self) -> str:
        return f"{time.perf_counter() - self._clock:.0f} ({self._used() - self._cpu:.1f})"


def main_job(machine: Machine, made: Installed, key: str) -> str:
    """Do it. Returns what the first `demo` took, or the library's pass; of the bundle, the server's whole life.

    Raises:
        Failed: something was not given back as it was.
    """
    watch = Watch()
    if not made.command:
        machine.run(made.python, "-c", LIBRARY, machine.home / "store")
        return str(watch)
    bundle = key == "mcpb"  # a server, and no command
    if not bundle:
        said = machine.run(*made.command, "demo")
        if "equal to the original" not in said or "all exact" not in said:
            raise Failed(said)
    took = str(watch)
    serve = made.command if bundle else (*made.command, "serve")
    with StdioServer(machine.home / "store", server=serve, environment=machine.environment()) as server:
        items = [{"role": "tool", "tool_use_id": f"c{n}", "content": f"{n}\n{RESULT}"} for n in range(4)]
        session = server.tool("record_items", session_id="new", items=items)["session"]
        told = {"session_id": session, "window_tokens": 60_000}
        server.tool("compact_session", **told, force=True, target=0.01, keep_last=0)
        answer = server.tool("restore_batch", session_id=session, batch_id="offload_0001")
        if RESULT not in "".join(block["text"] for block in answer["content"]):
            raise Failed(f"restored otherwise: {answer}")
    return str(watch) if bundle else took


def size(folder: Path) -> tuple[float, float, float]:
    """Megabytes (of a million) of files as bytes, in blocks, and of compiled modules in bytes."""
    every = [(one, one.stat()) for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
    compiled = sum(found.st_size for one, found in every if one.suffix == ".pyc")
    blocks = sum(getattr(found, "st_blocks", 0) * 512 for _, found in every)
    return sum(found.st_size for _, found in every) / 1e6, blocks / 1e6, compiled / 1e6


def try_route(key: str, given: argparse.Namespace, dist: Path, tools: Path) -> tuple[str, ...]:
    """One row of the table."""
    title, install = ROUTES[key]
    with tempfile.TemporaryDirectory(prefix="palimpsest-install-", ignore_cleanup_errors=True) as folder:
        machine = Machine(Path(folder), dist, tools, given.python)
        watch = Watch()
        made = install(machine)
        installed = str(watch)
        total, blocks, compiled = size(made.folder)
        packages = sum(1 for _ in made.folder.glob("lib/*/site-packages/*.dist-info"))
        job = main_job(machine, made, key)
        version = machine.run(made.python, "-c", "import platform; print(platform.python_version())").strip()
    numbers = (f"{total:.0f}", f"{blocks:.0f}", f"{compiled:.0f}", installed, job)
    return (title, version, str(packages), *numbers)


def get_tools(folder: Path) -> Path:
    """uv and pipx, in an environment of this run's own."""
    if not (folder / "bin" / "uvx").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *TOOLS], check=True)
    return folder / "bin"


def write(rows: Mapping[str, Sequence[str]], said: str) -> None:
    """Put rows into the page's table; those of routes and Pythons that were not tried stay."""
    text = PAGE.read_text("utf-8")
    above, rest = text.split(BEGIN)
    old, below = rest.split(END)
    lines = {_key(line): line for line in old.splitlines() if line.startswith("| ") and not line.startswith("| route")}
    lines |= {_key(line): line for line in ("| " + " | ".join(row) + " |" for row in rows.values())}
    titles = [title for title, _ in ROUTES.values()]
    ordered = sorted(lines, key=lambda key: (titles.index(key[0]), key[1]))
    table = "\n".join(["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *(lines[key] for key in ordered)])
    PAGE.write_text(f"{above}{BEGIN}\n\n{said}\n\n{table}\n\n{END}{below}", "utf-8")


def _key(line: str) -> tuple[str, str]:
    """A row is told by its route and the minor version of its Python."""
    cells = line.removeprefix("| ").split(" | ")
    return cells[0], ".".join(cells[1].split(".")[:2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=ROUTES)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to install into")
    parser.add_argument("--dist", type=Path, help="files of a release that are built already")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    given = parser.parse_args()
    rows: dict[str, tuple[str, ...]] = {}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="palimpsest-release-") as folder:
        dist = given.dist or Path(folder) / "dist"
        if given.dist is None:
            command = [sys.executable, str(CHECKOUT / "release" / "build.py"), "--out", str(dist)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        tools = get_tools(Path(folder) / "tools")
        print(" | ".join(HEAD), flush=True)
        for key in given.only or ROUTES:
            try:
                rows[key] = try_route(key, given, dist.resolve(), tools)
            except (Failed, RuntimeError, ValueError, OSError) as error:
                failed += 1
                print(f"{key}: failed: {type(error).__name__}: {error}", flush=True)
            else:
                print(" | ".join(rows[key]), flush=True)
    if given.write and rows:
        system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}"
        write(rows, f"Last written on {time.strftime('%Y-%m-%d')}: {system}, with empty caches.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

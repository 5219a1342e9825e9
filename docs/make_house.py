"""Writes the picture of the house in CONTRIBUTING.md: python docs/make_house.py

With `entered` it prints how many files a pass of the demo, a restore and a hook enter: what somebody reads who follows
one of them through the house; `entered pass` prints their names.

Floors come from the contract that `lint-imports` checks (pyproject.toml), sentences from the rooms' own docstrings,
arrows from the imports of their files, so that picture, contract and code cannot disagree.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import sys
import tempfile
import threading
import tomllib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "palimpsest_mcp"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- The house: written by docs/make_house.py -->\n", "<!-- end of the house -->\n"


def floors() -> list[list[str]]:
    """The rooms of each floor, the highest floor first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = next(one for one in project["tool"]["importlinter"]["contracts"] if one["name"] == "floors")
    return [[room.strip() for room in floor.split("|")] for floor in contract["layers"]]


def files_of(room: str) -> list[Path]:
    """A room is a folder of files, or one file."""
    return sorted((SOURCE / room).rglob("*.py")) or [SOURCE / f"{room}.py"]


def sentence(room: str) -> str:
    """The first line of the room's docstring."""
    first = SOURCE / room / "__init__.py"
    text = (first if first.exists() else SOURCE / f"{room}.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]


def used_by(room: str, rooms: list[str]) -> list[str]:
    """The other rooms that a room's files import from."""
    found: set[str] = set()
    for path in files_of(room):
        deep = len(path.relative_to(SOURCE).parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == deep and node.module:
                found.add(node.module.split(".")[0])
    return [one for one in rooms if one in found and one != room]


def picture() -> str:
    """A row a room; a line between the floors."""
    all_floors = floors()
    rooms = [room for floor in all_floors for room in floor]
    lines: list[str] = []
    for floor in all_floors:
        lines += ["| | | |" if lines else "| room | what it is | what it imports from |"]
        lines += ["|---|---|---|"] if len(lines) == 1 else []
        lines += [f"| `{room}` | {sentence(room)} | {', '.join(used_by(room, rooms))} |" for room in floor]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """CONTRIBUTING.md with the picture as of now."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{picture()}\n{END}{after}"


def entered(work: Callable[[], object]) -> list[str]:
    """The files whose functions work calls, in all its threads; the body of a module or class is no function."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    paths = {Path(code.co_filename) for code in codes}
    return sorted(str(one.relative_to(SOURCE)) for one in paths if one.is_relative_to(SOURCE))


def ways() -> dict[str, list[str]]:
    """What three calls of an open store enter: a pass of the demo's first session, a restore from it, and the hook
    that tells of a tool's result. All modules are imported before, so that no import is taken for a step of the way."""
    for room in (one for floor in floors() for one in floor if one != "integrations"):
        for path in files_of(room):
            if "alembic" not in path.parts:
                importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    from palimpsest_mcp import Palimpsest

    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="palimpsest-house-") as folder:
        home, transcript = Path(folder) / "store", Path(folder) / "transcript.jsonl"
        transcript.touch()
        asked = {"session_id": "0f3c5a9e-0000-4000-8000-00000000be7c", "transcript_path": str(transcript), "cwd": "/p"}
        result = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}, "tool_response": "a b c"}
        messages = json.loads((SOURCE / "demo" / "coding_session.json").read_bytes())

        def follow(name: str, call: Callable[[Palimpsest], Awaitable[Any]]) -> Any:
            with asyncio.Runner() as runner:
                opened = Palimpsest.open(home)
                facade = runner.run(opened.__aenter__())
                runner.get_loop().set_default_executor(ThreadPoolExecutor())  # whose threads begin while it looks
                answers: list[Any] = []

                async def answer() -> None:
                    answers.append(await call(facade))

                found[name] = entered(lambda: runner.run(answer()))
                runner.run(opened.__aexit__(None, None, None))
            return answers[0]

        report = follow("pass", lambda one: one.compact_messages(messages, session_id="demo", force=True)).report
        follow("restore", lambda one: one.restore(report.handle, report.batches[0].batch_id))
        follow("hook", lambda one: one.host_event("PostToolUse", asked | result))
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["entered"]:
        for name, files in ways().items():
            named = files if name in sys.argv[2:] else []
            sys.stdout.write("\n  ".join((f"{name}: {len(files)} files", *named)) + "\n")
    else:
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")

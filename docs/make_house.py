"""Writes the picture of the house in CONTRIBUTING.md: python docs/make_house.py

Floors come from the contract that `lint-imports` checks (pyproject.toml), sentences from the rooms' own docstrings,
arrows from the imports of their files, so that picture, contract and code cannot disagree.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

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


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")

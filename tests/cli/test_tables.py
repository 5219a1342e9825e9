"""Tables at every width: ids and codes whole, what yields in the written order, nothing over the edge."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palimpsest_mcp.cli.main
from palimpsest_mcp.cli import screen
from palimpsest_mcp.cli.main import run
from palimpsest_mcp.cli.screen import Column, cell_count, laid_out

Program = Callable[..., Any]
WIDTHS = (60, 80, 100, 120, 160, 200)
COMMANDS = Path(palimpsest_mcp.cli.main.__file__).parent
CODE = re.compile(r"\boffload_\d{4}\b|\btoolu_\d+\b")


def no_server(*_: object) -> int:
    raise AssertionError("nothing here may serve")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(home: Path, width: int, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """What one command shows on a terminal so wide."""
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setenv("COLUMNS", str(width))
        patched.setenv("PAGER", "cat")
        patched.setattr(sys, "stdout", terminal)
        assert run(["--home", str(home), *arguments], serve=no_server) == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue()).splitlines()


def table(lines: list[str]) -> list[str]:
    """Head, rule, and the rows below it up to the first line that is none."""
    at = next(number for number, line in enumerate(lines) if set(line) == {"─"})
    return lines[at - 1 :]


def test_no_id_is_wrapped_or_cut_in_any_table_of_any_width(
    compacted: str, program: Program, home: Path, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run_of in range(3):
        event = {"outcome": "success", "winning_pattern": "brand + pain", "session_id": f"run-{run_of}"}
        program("experience", "record", "search-x", json.dumps(event))
    program("handoff", "write", "--session", compacted, "--task", "Find out why the nightly job fails in part seven")
    session = program("show", compacted, "--json").json
    batches = [one["batch_id"] for one in program("list", compacted, "--json").json["batches"]]
    handoff = program("handoff", "list", "--json").json["handoffs"][0]["name"]
    program("experience", "compact", "search-x")
    rule = program("experience", "show", "search-x", "--json").json["rules"][0]["id"]
    plan = ("compact", str(session_file), "--force", "--target", "0.2", "--dry-run", "--session", "planned")
    wanted: dict[tuple[str, ...], list[str]] = {
        ("show", compacted, "--all"): [item["item_id"] for item in session["items"]],
        ("list", compacted): batches,
        ("sessions",): [compacted, session["session_id"]],
        ("status",): [compacted, session["session_id"]],
        ("handoff", "list"): [handoff],
        ("experience", "status"): ["search-x"],
        ("experience", "explain", rule, "search-x"): [],
        ("probe", compacted): [],
        ("config", "show"): ["redact_archive"],
        ("specifics", str(session_file)): [],
        plan: [],
        (*plan, "--verbose"): [],
    }
    # A pass is made anew each time: at the narrowest and the widest.
    passes: dict[tuple[int, tuple[str, ...]], list[str]] = {
        (width, ("compact", str(session_file), "--force", "--target", "0.2", "--session", f"{kind}{width}", *more)): []
        for width in (WIDTHS[0], WIDTHS[-1])
        for kind, more in (("w", ()), ("v", ("--verbose",)))
    }
    wide = {(width, command): ids for width in WIDTHS for command, ids in wanted.items()} | passes
    printers: set[str] = set()

    def noted(*given: Any) -> list[str]:
        printers.update(frame.f_code.co_name for frame, _ in traceback.walk_stack(None))
        return laid_out(*given)

    monkeypatch.setattr(screen, "laid_out", noted)
    for (width, command), ids in wide.items():
        lines = table(seen(home, width, monkeypatch, *command))
        words = {word.rstrip(",") for line in lines for word in line.split()}
        assert set(ids) <= words, (command, width, set(ids) - words)
        if command[0] != "config" and command[0] != "specifics":
            rows = lines[: next((n for n, line in enumerate(lines) if not line.strip()), len(lines))]
            assert max(map(cell_count, rows[:2])) <= max(width, len(max(ids, key=len, default=""))), (command, rows[:2])
        whole = {*batches, *(item["item_id"] for item in session["items"])}
        for line in lines:
            assert all(code in whole for code in CODE.findall(line)), (command, line)
    assert printers >= with_tables()


def with_tables() -> set[str]:
    """The functions of the command line that print a table."""
    return {
        function.name
        for file in COMMANDS.glob("*.py")
        for function in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "say_table"
    }


def test_prose_yields_before_a_column_leaves_and_codes_never_do() -> None:
    columns = (Column("item"), Column("kind"), Column("tokens", "number"), Column("begins with", "prose"))
    rows = [("call_1234567890", "tool_result", "12,345", "the first words of a long result that says much")]
    assert laid_out(columns, rows, 60)[-1] == "call_1234567890  tool_result  12,345  the first words of a…"
    assert laid_out(columns, rows, 40)[-2:] == [
        "call_1234567890  tool_result  12,345",
        "no room for begins with: a wider terminal or --json has all",
    ]
    assert laid_out(columns, rows, 25)[-2:] == [
        "call_1234567890  12,345",
        "no room for begins with, kind: a wider terminal or --json has all",
    ]
    assert laid_out(columns, rows, 5)[2] == "call_1234567890"


def test_a_list_of_ids_loses_whole_ids_and_says_how_many() -> None:
    columns = (Column("batch", "number"), Column("would leave", "list"))
    lines = laid_out(columns, [("1", "toolu_c_001, toolu_c_002, toolu_c_003")], 32)
    assert lines[-1] == "    1  toolu_c_001 +2"


@given(
    rows=st.lists(st.tuples(st.from_regex(r"[a-z]{1,8}_[0-9]{1,20}", fullmatch=True), st.text("ab ü漢", max_size=90))),
    width=st.integers(20, 120),
)
def test_every_code_stands_whole_and_no_line_is_too_wide(rows: list[tuple[str, str]], width: int) -> None:
    columns = (Column("item"), Column("begins with", "prose"))
    cells = [(code, " ".join(text.split())) for code, text in rows]
    lines = laid_out(columns, cells, width)
    if cells:
        longest = max(len(code) for code, _ in cells)
        assert all(cell_count(line) <= max(width, longest) for line in lines if not line.startswith("no room"))
        assert [line.split()[0] for line in lines[2 : 2 + len(cells)]] == [code for code, _ in cells]

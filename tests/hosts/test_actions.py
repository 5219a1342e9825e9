"""Tool names of all hosts, in one vocabulary."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.hosts.actions import action_of


@pytest.mark.parametrize(
    ("name", "args", "verb", "target"),
    [
        # Claude Code
        ("Read", {"file_path": "/a.py", "offset": 5}, "read", "/a.py"),
        ("Write", {"file_path": "/a.py", "content": "x"}, "write", "/a.py"),
        ("Edit", {"file_path": "/a.py", "old_string": "a"}, "edit", "/a.py"),
        ("MultiEdit", {"file_path": "/a.py"}, "edit", "/a.py"),
        ("NotebookEdit", {"notebook_path": "/n.ipynb"}, "edit", "/n.ipynb"),
        ("Bash", {"command": "ls -la"}, "run", "ls -la"),
        ("BashOutput", {"bash_id": "b1"}, "read", "b1"),
        ("TaskOutput", {"task_id": "t1"}, "read", "t1"),
        ("Grep", {"pattern": "def f", "path": "src"}, "search", "def f"),
        ("Glob", {"pattern": "**/*.py"}, "search", "**/*.py"),
        ("LS", {"path": "/src"}, "search", "/src"),
        ("WebFetch", {"url": "https://e.org", "prompt": "p"}, "read", "https://e.org"),
        ("WebSearch", {"query": "q"}, "search", "q"),
        ("Task", {"prompt": "p"}, "other", ""),
        # Codex
        ("shell", {"command": ["bash", "-lc", "pytest -q"]}, "run", "pytest -q"),
        ("shell", {"command": ["git", "status"]}, "run", "git status"),
        ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Update File: a/b.py\n@@"]}, "edit", "a/b.py"),
        ("exec_command", {"cmd": "ls"}, "run", "ls"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: new.py\n+x"}, "edit", "new.py"),
        ("apply_patch", {"patch": "--- a/x.c\n+++ b/x.c\n@@"}, "edit", "x.c"),
        ("local_shell_call", {"command": ["ls"]}, "run", "ls"),
        # pi, deepagents, deer-flow, Gemini CLI, OpenCode
        ("read", {"path": "a.ts"}, "read", "a.ts"),
        ("bash", {"command": "make"}, "run", "make"),
        ("read_file", {"file_path": "a.ts"}, "read", "a.ts"),
        ("write_file", {"file_path": "a.ts"}, "write", "a.ts"),
        ("edit_file", {"file_path": "a.ts"}, "edit", "a.ts"),
        ("execute", {"command": "make"}, "run", "make"),
        ("str_replace", {"path": "a.ts"}, "edit", "a.ts"),
        ("web_fetch", {"url": "u"}, "read", "u"),
        ("replace", {"file_path": "a"}, "edit", "a"),
        ("replace_string_in_file", {"filePath": "a"}, "edit", "a"),
        ("ApplyPatch", {"patch": "--- a/x.c\n+++ b/x.c\n@@"}, "edit", "x.c"),
        ("apply", {"path": "a", "diff": "@@"}, "edit", "a"),
        ("mcp__cluster__apply", {"manifest": "kind: Pod"}, "other", ""),
        ("run_shell_command", {"command": "ls"}, "run", "ls"),
        ("search_file_content", {"pattern": "x"}, "search", "x"),
        ("google_web_search", {"query": "q"}, "search", "q"),
        # OpenHands, SWE-agent, Anthropic's own editor
        ("str_replace_editor", {"command": "view", "path": "/a"}, "read", "/a"),
        ("str_replace_editor", {"command": "create", "path": "/a"}, "write", "/a"),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "/a"}, "edit", "/a"),
        ("str_replace_editor", {"command": 5, "path": "/a"}, "other", ""),
        ("execute_bash", {"command": "ls"}, "run", "ls"),
        ("terminal", {"command": "ls"}, "run", "ls"),
        ("find_file", {"file_name": "a", "query": "a.py"}, "search", "a.py"),
        # MCP servers, prefixes, versions, spellings
        ("mcp__filesystem__read_text_file", {"path": "/a"}, "read", "/a"),
        ("mcp__plugin_x_y__search_files", {"pattern": "p"}, "search", "p"),
        ("functions.readFile", {"path": "/a"}, "read", "/a"),
        ("read-file", {"path": "/a"}, "read", "/a"),
        ("bash_20250124", {"command": "ls"}, "run", "ls"),
        ("text_editor_20250728", {"command": "view", "path": "/a"}, "read", "/a"),
        ("read_many_files", {"paths": ["a", "b"]}, "read", "a b"),
        ("sql", {"query": "select 1"}, "run", "select 1"),
        ("get_reservation_details", {"id": "X"}, "other", ""),
    ],
)
def test_a_call_has_its_verb_and_target(name: str, args: dict[str, Any], verb: str, target: str) -> None:
    action = action_of(name, args)
    assert (action.verb, action.target) == (verb, target)


@pytest.mark.parametrize(
    "args", [None, {}, {"file_path": None}, {"file_path": 5}, {"file_path": {"a": 1}}, {"path": [1]}]
)
def test_missing_or_odd_arguments_leave_the_target_empty(args: dict[str, Any] | None) -> None:
    assert action_of("Read", args).target == ""


@pytest.mark.parametrize("name", ["", "mcp__", "mcp__a", "x" * 100_000, "\ud800", "mcp__a__" + "b" * 300])
def test_a_hostile_name_is_another_tool(name: str) -> None:
    assert action_of(name, {"path": "a"}).verb == "other"

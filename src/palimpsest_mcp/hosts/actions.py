"""Tool names and arguments of the hosts we know, in one vocabulary of verbs and targets. A table, no guessing by text.

Sources: tool lists of Claude Code 2.1, Codex CLI, pi, OpenHands, SWE-agent, deepagents, deer-flow, Gemini CLI,
OpenCode, Cline and the MCP reference servers (filesystem, fetch), as their sessions and documents show them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from ..models.items import Action, Verb

_READ = (
    "read read_file readfile read_text_file read_many_files read_multiple_files view view_file view_image open "
    "open_file cat get_file get_file_contents file_read notebookread web_fetch webfetch fetch fetch_url read_url "
    "read_webpage web_browser_go browser_navigate goto navigate_page taskoutput bashoutput read_resource scroll_up "
    "scroll_down"
)
_WRITE = (
    "write write_file writefile create create_file write_to_file save_file file_write add_file new_file "
    "fs_write create_text_file write_text_file"
)
_EDIT = (
    "edit edit_file editfile multiedit multi_edit notebookedit str_replace str_replace_in_file replace replace_in_file "
    "apply_patch apply_diff patch insert insert_edit_into_file update_file edit_notebook_file search_replace "
    "apply apply_edit apply_edits apply_change apply_changes applypatch edit_block edit_lines replace_lines "
    "replace_string_in_file multi_replace_string_in_file str_replace_edit strreplace replace_text replace_text_in_file "
    "insert_lines replace_regex replace_content replace_symbol_body patch_file"
)
_RUN = (
    "bash shell sh execute execute_command executecommand exec exec_command run run_command run_shell_command "
    "run_terminal_cmd run_in_terminal terminal local_shell local_shell_call container_exec python run_python "
    "execute_python execute_bash execute_ipython_cell ipython code_execution code_interpreter powershell "
    "bash_code_execution sql write_stdin"
)
_SEARCH = (
    "grep glob search search_files search_file search_dir find find_file find_files ls list list_dir list_directory "
    "list_files directory_tree tree ripgrep rg web_search websearch google_web_search search_web tavily_search "
    "file_search grep_search codebase_search semantic_search toolsearch tool_search query_docs file_glob_search "
    "search_file_content run_channel"
)
_PLAN = (
    "todowrite todo_write write_todos update_todos update_plan write_plan set_plan set_tasks task_list todo_list "
    "update_todo_list manage_todo_list task_tracker"
)
_LISTS = ("todos", "plan", "tasks", "items", "todo_list", "todoList", "task_list")
"""Arguments that hold a whole list of what is to be done."""
_VERBS: dict[str, Verb] = {
    name: verb
    for verb, names in cast(
        "dict[Verb, str]",
        {"read": _READ, "write": _WRITE, "edit": _EDIT, "run": _RUN, "search": _SEARCH, "plan": _PLAN},
    ).items()
    for name in names.split()
}
_EDITORS = (
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "text_editor",
    "file_editor",
    "edit_anthropic",
    "text_editor_code_execution",
)
"""Tools with a `command` argument that says what they do."""
_EDITOR_COMMANDS: dict[str, Verb] = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
    "delete": "edit",
    "rename": "edit",
}
_PATHS = (
    *("file_path", "path", "filepath", "filename", "file", "target_file", "notebook_path", "absolute_path", "uri"),
    *("filePath", "targetFile", "notebookPath", "absolutePath", "relative_path"),
)
_TARGETS: dict[Verb, tuple[str, ...]] = {
    "read": (*_PATHS, "url", "paths", "files", "task_id", "bash_id", "prompt"),
    "write": _PATHS,
    "edit": _PATHS,
    "run": ("command", "cmd", "commands", "code", "script", "sql", "query", "argv", "input", "chars"),
    "search": ("pattern", "query", "queries", "regex", "q", "search_term", "search_query", "keyword", "glob", "path"),
    "plan": (),
    "other": (),
}
_PATCH_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_MCP = re.compile(r"mcp__(?:.+?)__(.+)", re.DOTALL)
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VERSION = re.compile(r"_(?:\d{6,8}|v\d+)$")
_MAX_NAME = 256


def action_of(tool_name: str, args: Mapping[str, Any] | None) -> Action:
    """What a call did. An unknown tool is `other`, without a target."""
    fields = args or {}
    verb = _verb(_plain(tool_name), fields)
    if verb == "other":
        return Action(verb="other")
    return Action(verb=verb, target=_target(verb, fields))


def _verb(name: str, args: Mapping[str, Any]) -> Verb:
    if name in _EDITORS:
        command = args.get("command")
        return _EDITOR_COMMANDS.get(command, "other") if isinstance(command, str) else "other"
    if name in ("shell", "bash", "exec_command", "container_exec") and _patch_of(args):
        return "edit"
    if name == "apply" and not _target("edit", args):
        return "other"  # of infrastructure, not of a change to a file
    verb = _VERBS.get(name, "other")
    if verb == "plan" and not any(isinstance(args.get(key), list) for key in _LISTS):
        return "other"  # it is only read, or one entry is changed
    return verb


def _plain(tool_name: str) -> str:
    """`mcp__files__readFile`, `functions.read-file`, `Read_File_v2` -> `read_file`, `multiedit` stays `multiedit`."""
    if len(tool_name) > _MAX_NAME:
        return ""
    found = _MCP.fullmatch(tool_name)
    name = (found[1] if found else tool_name).rsplit(".", 1)[-1].rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    name = _VERSION.sub("", name.replace("-", "_"))
    lowered = name.lower()
    return lowered if lowered in _VERBS or lowered in _EDITORS else _HUMPS.sub("_", name).lower()


def _target(verb: Verb, args: Mapping[str, Any]) -> str:
    if verb == "edit" and (patched := _patch_of(args)):
        return patched
    for key in _TARGETS[verb]:
        if text := _words(args.get(key)):
            return text
    return ""


def _words(value: object) -> str:
    """A string, or a list of strings as one line (`["bash", "-lc", "ls"]` is the command `ls`)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        words = [word for word in cast("list[object]", value) if isinstance(word, str)]
        if len(words) == 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
            return words[2]
        return " ".join(words)
    if isinstance(value, dict):
        return _words(cast("dict[str, object]", value).get("command"))
    return ""


def _patch_of(args: Mapping[str, Any]) -> str:
    """The first file that a patch in the arguments names; empty without a patch."""
    for key in ("patch", "input", "diff", "patch_text", "command", "cmd"):
        text = _words(args.get(key))
        if text and ("*** Begin Patch" in text or key in ("patch", "diff", "patch_text")):
            found = _PATCH_FILE.search(text)
            if found:
                return (found[1] or found[2]).strip()
    return ""

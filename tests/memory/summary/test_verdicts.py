"""What editing tools answer, as their sessions show it: done, or refused."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from pathlib import Path

import pytest

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.summary.calls import calls_of, edit_failed
from palimpsest_mcp.memory.summary.harvest import harvest

REFUSED = [
    # Claude Code
    "String to replace not found in file.\nString: def load():\n    return 1",
    "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
    "<tool_use_error>String to replace not found in file.</tool_use_error>",
    "File has been modified since read, either by the user or by a linter. Read it again before writing it.",
    "Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, set it to true.",
    "No changes to make: old_string and new_string are exactly the same.",
    "File does not exist.",
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to say how to proceed.",
    "Claude requested permissions to write to /a.py, but you haven't granted it yet.",
    "InputValidationError: Edit failed due to the following issue:\nThe required parameter `old_string` is missing",
    # Anthropic's text editor, OpenHands, SWE-agent
    "No replacement was performed, old_str `a\nb` did not appear verbatim in /a.py.",
    "No replacement was performed. Multiple occurrences of old_str `a` in lines [1, 2]. Please ensure it is unique",
    "ERROR:\nNo replacement was performed, old_str `x` did not appear verbatim in /a.py.",
    "File already exists at: /a.py. Cannot overwrite files using command `create`.",
    "Ran into [Errno 2] No such file or directory: '/x/y.py' while trying to write to /x/y.py",
    "Invalid `insert_line` parameter: 99. It should be within the range of lines of the file: [0, 12]",
    # Codex and patches
    "apply_patch verification failed: Failed to find expected lines in src/a.py:\n    x = 1",
    "Invalid Context 3:\n  x = 1",
    "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nFailed to find expected lines",
    '{"output": "Failed to find context", "metadata": {"exit_code": 1, "duration_seconds": 0.0}}',
    '{"success": false, "message": "no match"}',
    '{"error": "path is outside of the workspace"}',
    "error: patch failed: a.py:3\nerror: a.py: patch does not apply",
    "invalid patch: the first line must be '*** Begin Patch'",
    # pi, Gemini CLI, Cline, others
    "Could not find the exact text in a.ts. The old text must match exactly including all whitespace and newlines.",
    "No changes made to a.ts. The replacement produced identical content.",
    "Failed to edit, could not find the string to replace.",
    "Failed to edit, 0 occurrences found for old_string in /a.py. Original old_string was (x).",
    "Error: EACCES: permission denied, open '/etc/a'",
    "[ERROR] a.py: the file is read-only",
    "The user denied this operation.",
    "Cannot edit a.py: it is a directory",
    "Edit was not applied: the search block is not unique",
    "The edit was not successful. No match for the search block.",
    "Traceback (most recent call last):\n  File 'tool.py'\nKeyError: 'x'",
]
DONE = [
    "",
    "OK",
    "ok",
    "Done!",
    "The file /a.py has been updated successfully.",
    "The file /a.py has been updated. All occurrences of 'not found' were successfully replaced with 'missing'.",
    "The file /a.py has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n"
    "     1\traise Error: String to replace not found",
    "The file /errors/failed.py has been edited. Here's the result of running `cat -n` on a snippet:\n 1\terror: x",
    "File created successfully at: /a.py",
    "Successfully replaced text in a.ts. Changed 12 characters to 14 characters.",
    "Successfully wrote 120 bytes to a.ts",
    "Success. Updated the following files:\nM src/a.py",
    "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py",
    '{"output": "Success. Updated the following files:\\nM a.py\\n", "metadata": {"exit_code": 0}}',
    '{"success": true, "message": "0 errors; permission denied is handled now"}',
    "Edited error_handling.py: replaced 1 occurrence of 'file does not exist'",
    "Updated 3 lines in no_such_file.py",
    "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-raise KeyError('not found')\n+raise Missing",
    "Applied 2 edits to a.py",
    "Wrote contents to /a.py",
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_is_told_from_its_words(text: str) -> None:
    assert edit_failed(text)


@pytest.mark.parametrize("text", DONE)
def test_what_was_done_is_no_refusal_whatever_the_file_says(text: str) -> None:
    assert not edit_failed(text)


TOOLS = [
    ("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}),
    ("Write", {"file_path": "a.py", "content": "b"}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}]}),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a.py", "old_str": "a", "new_str": "b"}),
    ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"}),
    ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"]}),
    ("mcp__filesystem__edit_file", {"path": "a.py", "edits": [{"oldText": "a", "newText": "b"}]}),
    ("replace_string_in_file", {"filePath": "a.py", "oldString": "a", "newString": "b"}),
    ("apply_edits", {"path": "a.py"}),
    ("apply", {"path": "a.py", "diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"}),
]


@pytest.mark.parametrize(("tool", "args"), TOOLS, ids=[tool for tool, _ in TOOLS])
@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_edit_is_an_error_and_no_change_and_the_fix_after_it_is_one(
    tool: str, args: dict[str, object], text: str
) -> None:
    """Without any mark of the host's, as OpenAI-style lists have none."""

    def messages(*results: str) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = [{"role": "user", "content": "Fix it."}]
        for n, result in enumerate(results):
            use = {"type": "tool_use", "id": f"c{n}", "name": tool, "input": args}
            rows.append({"role": "assistant", "content": [use]})
            rows.append(
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": result}]}
            )
        return rows

    refused = harvest(parse_value(messages(text)).items, str)
    assert refused.files_modified == () and len(refused.errors_encountered) == 1
    assert refused.errors_encountered[0].where.endswith("refused: a.py")
    fixed = harvest(parse_value(messages(text, "Success. Updated the following files:\nM a.py")).items, str)
    assert [one.path for one in fixed.files_modified] == ["a.py"]
    assert fixed.errors_encountered[0].resolution == "a later edit of it worked" or tool == "Write"


@pytest.mark.parametrize(
    "piece", ["user ", "could not ", "edit ", "found 1", "{", " the file ", "\\w", "permission to "]
)
def test_hostile_results_take_no_time(piece: str) -> None:
    started = time.perf_counter()
    edit_failed(piece * 200_000)
    assert time.perf_counter() - started < 2


@pytest.mark.shared
def test_the_verdict_of_every_edit_in_real_sessions_is_read(shared: Path) -> None:
    """The refusals were picked by hand, from the results as they stand."""
    refusals = ("Could not find the exact text", "No changes made to ", "Ran into [Errno ")
    refused: Counter[str] = Counter()
    for file in sorted((shared / "data" / "converted").glob("*.jsonl.gz")):
        for line in gzip.decompress(file.read_bytes()).split(b"\n"):
            for call in calls_of(parse_value(json.loads(line)["messages"]).items) if line else ():
                if call.action.verb in ("edit", "write") and call.answered:
                    assert call.failed == call.text.startswith(refusals), call.text[:200]
                    refused[file.name.split(".")[0]] += call.failed
    assert +refused == Counter({"openhands-sdk": 5, "pi-mono": 4})

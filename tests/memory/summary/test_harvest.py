"""What a session's items say of it, without a model: an exact trail, verbatim quotes, nothing invented."""

from __future__ import annotations

import time
from typing import Any

import pytest

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.summary.harvest import UNNAMED, harvest
from palimpsest_mcp.models.summaries import AnchoredSummary, ChangedFile, ErrorMet, Step, Todo, Verb

from ...conftest import LONG, first_of


class Talk:
    """A message list, put together call by call."""

    def __init__(self, query: str = "Move the importer to Postgres") -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": query}]

    def call(self, tool: str, result: str | None = "ok", *, error: bool = False, **args: Any) -> Talk:
        name = f"toolu_{len(self.messages)}"
        use = {"type": "tool_use", "id": name, "name": tool, "input": args}
        self.messages.append({"role": "assistant", "content": [use]})
        if result is not None:
            block = {"type": "tool_result", "tool_use_id": name, "content": result, "is_error": error}
            self.messages.append({"role": "user", "content": [block]})
        return self

    def run(self, command: str, result: str = "", *, error: bool = False) -> Talk:
        return self.call("Bash", result, error=error, command=command)

    def says(self, text: str, role: str = "assistant") -> Talk:
        self.messages.append({"role": role, "content": text})
        return self

    def harvest(self) -> AnchoredSummary:
        return harvest(parse_value(self.messages).items, lambda text: text.replace("hunter2", "[redacted]"))


def steps(summary: AnchoredSummary, path: str) -> list[tuple[Verb, int]]:
    found = summary.file(path)
    assert found is not None
    return [(step.verb, step.times) for step in found.steps]


def test_changes_of_a_file_come_in_order_and_runs_of_one_kind_are_counted() -> None:
    talk = Talk().call("Write", file_path="/a.py", content="x")
    for n in range(3):
        talk.call("Edit", file_path="/a.py", old_string=f"{n}", new_string=f"{n + 1}")
    talk.run("rm /a.py").call("Write", "File created successfully", file_path="/a.py", content="y")
    assert steps(talk.harvest(), "/a.py") == [("written", 1), ("edited", 3), ("deleted", 1), ("created", 1)]


def test_an_edit_says_what_it_defines_anew() -> None:
    talk = Talk().call(
        "edit", path="a.ts", oldText="class A {}\n", newText="class A {}\nexport async function load() {}\n"
    )
    talk.call("edit", path="a.ts", oldText="x", newText="  async setModel(m: Model): Promise<void> {\n")
    assert talk.harvest().files_modified == (
        ChangedFile(path="a.ts", steps=(Step(verb="edited", times=2, names=("load", "setModel")),)),
    )


def test_a_failed_edit_changes_nothing_and_is_an_error() -> None:
    summary = Talk().call("Edit", "String to replace not found", error=True, file_path="/a.py").harvest()
    assert summary.files_modified == ()
    assert summary.errors_encountered == (ErrorMet(error="String to replace not found", where="edit refused: /a.py"),)


def test_a_refused_edit_that_nobody_marked_is_named_and_the_one_that_worked_later_is_the_change() -> None:
    """OpenAI-style lists have no mark for errors."""
    talk = Talk().call(
        "Edit", "String to replace not found in file.", file_path="/a.py", old_string="a", new_string="b"
    )
    talk.call("apply_patch", "Invalid Context 3:\n  x", input="*** Begin Patch\n*** Update File: b.py\n@@\n-a\n+b")
    summary = talk.harvest()
    assert summary.files_modified == ()
    assert [(one.error, one.where, one.resolution) for one in summary.errors_encountered] == [
        ("String to replace not found in file.", "edit refused: /a.py", ""),
        ("Invalid Context 3:", "edit refused: b.py", ""),
    ]
    talk.call("Edit", "The file /a.py has been updated.", file_path="/a.py", old_string="x", new_string="y")
    summary = talk.harvest()
    assert steps(summary, "/a.py") == [("edited", 1)] and summary.file("b.py") is None
    assert summary.errors_encountered[0].resolution == "a later edit of it worked"


def test_an_edit_that_a_person_rejected_is_named_and_changes_nothing() -> None:
    said = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    summary = Talk().call("Write", said, error=True, file_path="/a.py", content="x").harvest()
    assert summary.files_modified == ()
    assert [(one.error, one.where) for one in summary.errors_encountered] == [(said, "write refused: /a.py")]


def test_a_patch_that_a_shell_applies_names_its_files() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    talk = Talk().run(f"git apply <<'EOF'\n{diff}EOF").call("shell_command", "", command=f"patch -p1 <<'E'\n{diff}E")
    assert steps(talk.harvest(), "x.py")[0] == ("edited", 1)


def test_a_call_without_a_result_is_unconfirmed() -> None:
    talk = Talk().call("Edit", None, file_path="/a.py", old_string="a", new_string="b").says("Stop.", "user")
    assert steps(talk.harvest(), "/a.py") == [("unconfirmed", 1)]


def test_a_patch_names_every_file_it_touches() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: old.py\n*** Move to: moved.py\n@@\n-a\n+b\n"
        "*** Delete File: gone.py\n*** End Patch"
    )
    summary = Talk().call("apply_patch", input=patch).harvest()
    assert [(one.path, [step.verb for step in one.steps]) for one in summary.files_modified] == [
        ("new.py", ["created"]),
        ("old.py", ["edited", "moved"]),
        ("gone.py", ["deleted"]),
    ]
    unified = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/y.py\n@@ -0,0 +1 @@\n+a\n"
    paths = [one.path for one in Talk().call("apply_diff", diff=unified).harvest().files_modified]
    assert paths == ["x.py", "y.py"]


def test_a_shell_names_the_same_file_as_an_editor() -> None:
    talk = Talk().call("Edit", file_path="/srv/app/a.py", old_string="a", new_string="b")
    talk.run("cd /srv/app && sed -i 's/a/b/' a.py b.py")
    files = {(one.path, one.folder) for one in talk.harvest().files_modified}
    assert files == {("/srv/app/a.py", ""), ("b.py", "/srv/app")}


def test_files_that_only_a_variable_names_are_said_to_be_missing() -> None:
    assert UNNAMED in Talk().run('rm "$TMP"').harvest().technical_context


def test_an_error_is_resolved_by_a_later_run_of_the_same_command_that_shows_none() -> None:
    talk = Talk().run("pytest -q", "FAILED test_a.py::test_x - KeyError: 'id'\n1 failed\nexit code 1")
    assert talk.harvest().errors_encountered[0].resolution == ""
    talk.run("pytest -q tests/other", "3 passed")
    assert talk.harvest().errors_encountered[0].resolution == ""
    talk.run("pytest -n 4 2>&1 | tail -3", "FAILED test_a.py::test_x - KeyError: 'id'")
    assert talk.harvest().errors_encountered[0].resolution == ""
    talk.run("pytest -n 4", "12 passed")
    (error,) = talk.harvest().errors_encountered
    assert error == ErrorMet(
        error="FAILED test_a.py::test_x - KeyError: 'id'",
        where="pytest -n 4",
        resolution="a later run of the same command shows no error",
        times=2,
    )


def test_a_traceback_is_told_by_its_last_line() -> None:
    text = "Traceback (most recent call last):\n  File 'a.py', line 3\nValueError: bad port 70000\n"
    assert Talk().run("python a.py", text).harvest().errors_encountered[0].error == "ValueError: bad port 70000"


def test_looking_at_a_log_or_finding_nothing_is_no_error() -> None:
    talk = Talk().run("tail -n 30 app.log", "Traceback (most recent call last):\n  x\nValueError: y\n")
    talk.run("grep -n foo a.py", "(no output)\n\nCommand exited with code 1", error=True)
    talk.run("sleep 9", "Command aborted", error=True)
    assert talk.harvest().errors_encountered == ()


def test_the_intent_is_the_users_own_words_and_the_newest_request_is_beside_it() -> None:
    talk = Talk("/mode").says("Fix ticket HL-1204:\n- keep schema 3.2\n- note the commits", "user")
    talk.says("Done.").says("<system-reminder>x</system-reminder>", "user").says("Now the docs", "user").says("Yes.")
    summary = talk.harvest()
    assert summary.session_intent == "Fix ticket HL-1204:\n- keep schema 3.2\n- note the commits"
    assert summary.checkpoint[0].text.startswith("message 5: Now the docs; before it, message 2: Fix")
    assert summary.last_said == "Yes."


def test_a_long_query_is_cut_between_words_and_marked() -> None:
    query = "Compare the berths " + " ".join(f"B{n}" for n in range(900))
    intent = Talk(query).harvest().session_intent
    assert intent.endswith(" […]") and len(intent) < 910
    assert query.startswith(intent.removesuffix(" […]")) and query[len(intent) - 4] == " "


def test_a_secret_is_masked_before_anything_is_cut() -> None:
    talk = Talk("Use the password hunter2").run(
        "curl -u a:hunter2 https://x.example", "error: hunter2 refused", error=True
    )
    talk.says("We decided to use hunter2.")
    assert "hunter2" not in repr(talk.harvest()) and "[redacted]" in talk.harvest().session_intent


def test_decisions_are_whole_sentences_of_the_agent_that_state_one() -> None:
    talk = Talk().says(
        "I looked at it. I decided to keep Postgres because transactions are needed. Should we use Redis?\n"
        "- Decision: no new table\nIf it fails, I will use a file. I'll go with option B."
    )
    talk.says("We decided to ask you.", "user")
    found = [(one.decision, one.rationale) for one in talk.harvest().decisions_made]
    assert found == [
        ("I decided to keep Postgres", "transactions are needed."),
        ("Decision: no new table", ""),
        ("I'll go with option B.", ""),
    ]


def test_todos_are_those_of_the_newest_list_and_of_plan_files_that_stand() -> None:
    talk = Talk().call("TodoWrite", todos=[{"content": "Old", "status": "pending"}])
    talk.call(
        "TodoWrite",
        todos=[
            {"content": "Read", "status": "completed"},
            {"content": "Fix", "status": "in_progress"},
            {"content": "Test", "status": "pending"},
        ],
    )
    talk.call("Write", file_path="/plan.md", content="# Plan\n- [x] one\n- [ ] two\n1. [ ] three\n")
    talk.call("Edit", file_path="/plan.md", old_string="- [ ] two", new_string="- [x] two")
    summary = talk.harvest()
    assert summary.todos == (Todo(text="Fix", in_progress=True), Todo(text="Test"), Todo(text="three"))
    assert (summary.todos_done, summary.todos_total) == (3, 6)
    assert talk.run("rm /plan.md").harvest().todos_total == 3


def test_tasks_made_one_by_one_are_followed() -> None:
    talk = Talk().call("TaskCreate", "Task #1 created successfully: Read", subject="Read")
    talk.call("TaskCreate", "Task #2 created successfully: Fix", subject="Fix")
    talk.call("TaskUpdate", "Updated task #1 status", taskId="1", status="completed")
    assert talk.harvest().todos == (Todo(text="Fix"),)


def test_commits_stand_as_git_printed_them() -> None:
    talk = Talk().run("git commit -m x", "[main 1a2b3c4] Use UTC (HL-1204)\n 1 file changed")
    talk.run("gh pr create", "https://github.com/o/r/pull/12\n")
    assert talk.harvest().key_artifacts == ("[main 1a2b3c4] Use UTC (HL-1204)", "https://github.com/o/r/pull/12")


def test_reads_runs_and_searches_are_counted() -> None:
    talk = Talk().call("Read", file_path="/a").call("Read", file_path="/a").call("Read", file_path="/b")
    talk.run("ls").call("Grep", pattern="x").call("Read", "File does not exist", error=True, file_path="/c")
    summary = talk.harvest()
    assert (summary.files_read, summary.commands_run, summary.searches) == (2, 1, 1)


def test_no_items_give_an_empty_summary() -> None:
    assert harvest([], str) == AnchoredSummary()


@pytest.mark.parametrize(
    "piece",
    first_of(["export\n", "a.", "--- a", "*** Add File:  ", "https://x/pull", "git -a b ", "  | ", "(("], kept=3),
)
def test_hostile_texts_take_no_time(piece: str) -> None:
    size, most = (
        (200_000, 20.0) if LONG else (50_000, 5.0)
    )  # a busy machine takes a fifth of that; what is quadratic, more
    text = piece * (size // len(piece))
    talk = Talk(text).run(f"gh pr create {text[: size // 4]}", text, error=True).says(text)
    talk.call("Edit", file_path="/a", old_string="", new_string=text).call("apply_patch", patch=text, file_path="/b")
    talk.run(f"git commit {text[: size // 4]}", text).call("Write", file_path="/c", content=text)
    started = time.process_time()
    talk.harvest()
    assert time.process_time() - started < most

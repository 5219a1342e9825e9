"""Where the task stands, by what calls did and what came of them."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.absent import NOTHING_OPEN
from palimpsest_mcp.memory.summary.fit import fit
from palimpsest_mcp.memory.summary.harvest import harvest
from palimpsest_mcp.memory.summary.sections import from_markdown, to_markdown
from palimpsest_mcp.models.summaries import AnchoredSummary, PointKind


class Talk:
    """A message list, put together call by call."""

    def __init__(self, query: str = "Move the importer to Postgres") -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": query}]

    def call(self, tool: str, result: str = "ok", *, error: bool = False, **args: Any) -> Talk:
        name = f"toolu_{len(self.messages)}"
        use = {"type": "tool_use", "id": name, "name": tool, "input": args}
        block = {"type": "tool_result", "tool_use_id": name, "content": result, "is_error": error}
        self.messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [block]}]
        return self

    def run(self, command: str, result: str = "") -> Talk:
        return self.call("Bash", result, command=command)

    def edit(self, path: str, result: str = "ok", *, error: bool = False, new: str = "b") -> Talk:
        return self.call("Edit", result, error=error, file_path=path, old_string="a", new_string=new)

    def says(self, text: str, role: str = "assistant") -> Talk:
        self.messages.append({"role": role, "content": text})
        return self

    def harvest(self) -> AnchoredSummary:
        return harvest(parse_value(self.messages).items, lambda text: text.replace("hunter2", "[redacted]"))

    def told(self, kind: PointKind) -> list[str]:
        return [one.text for one in self.harvest().checkpoint if one.kind == kind]


UNANSWERED = "the request in message 1: the agent has not ended its turn yet"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def test_it_says_what_was_asked_what_was_done_and_how_that_came_out() -> None:
    talk = Talk().edit("/a.py").edit("/b.py").run("pytest -q", "12 passed in 1s").says("Both are moved.")
    assert talk.told("asked") == ["message 1: Move the importer to Postgres"]
    assert talk.told("done") == [
        "Bash 1 time",
        "changed 2 files: a.py, b.py",
        "edit of a.py (message 2): - a / + b",
        "edit of b.py (message 4): - a / + b",
        "`pytest -q` went well (message 6): 12 passed in 1s",
    ]
    assert talk.told("open") == [NOTHING_OPEN]
    assert talk.told("next") == ["nothing seen open; wait for the user: the agent had the last word, in message 8"]


def test_only_the_newest_request_counts_and_what_was_committed_before_it_is_finished() -> None:
    talk = Talk().edit("/a.py").run("git commit -m x", "[main 1a2b3c4] Move the importer").says("Done.")
    talk.says("Now move the exporter as well", "user").edit("/b.py")
    assert talk.told("asked") == ["message 7: Now move the exporter as well"]
    assert talk.told("finished") == ["[main 1a2b3c4] Move the importer"]
    assert talk.told("done") == ["last, Edit `/b.py` (message 8): - a / + b", "changed 1 file: b.py"]
    assert (
        "- Committed, or ticked off by the agent itself, not to be done again: [main 1a2b3c4] Move the importer"
        in to_markdown(talk.harvest())
    )


def test_finished_todos_are_named_and_the_one_in_progress_is_next() -> None:
    todos = [
        {"content": "Write the table", "status": "completed"},
        {"content": "Move the rows", "status": "in_progress"},
        {"content": "Drop the old file", "status": "pending"},
    ]
    talk = Talk().call("TodoWrite", todos=todos)
    assert talk.told("finished") == ["Write the table"]
    assert talk.told("open") == ["2 of 3 todos (list changed last in message 2)", UNANSWERED]
    assert talk.told("next") == ["go on with: Move the rows"]


def test_a_plan_that_nobody_touched_for_the_newest_request_is_not_its_next_step() -> None:
    talk = Talk().call("Write", file_path="/plan.md", content="- [x] Write the table\n- [ ] Move the rows\n")
    assert talk.told("next") == ["begin: Move the rows"]
    talk.says("Shall I go on?").says("First make the selectors shorter, please", "user").call(
        "Read", "text", file_path="/s.py"
    )
    assert talk.told("open") == ["the request in message 5: the agent has not ended its turn yet"]
    assert talk.told("next") == [
        "go on with what is asked in message 5; the newest call: Read `/s.py` (message 6): text"
    ]


def test_a_call_without_its_result_is_what_comes_next() -> None:
    talk = Talk().run("npm run build", "error: no member EditorTheme\nexit code 2")
    use = {
        "type": "tool_use",
        "id": "toolu_x",
        "name": "Bash",
        "input": {"command": "bd update b.3 --status in_progress"},
    }
    talk.messages.append({"role": "assistant", "content": [use]})
    assert talk.told("next") == ["see what came of Bash `bd update b.3 --status in_progress` (message 4)"]
    assert talk.told("open") == ["error: no member EditorTheme (in: npm run build, message 2)", UNANSWERED]
    assert "last, Bash `bd update b.3 --status in_progress` (message 4): no result yet" in talk.told("done")


def test_the_newest_calls_are_told_with_what_came_of_them_and_other_tools_are_counted() -> None:
    talk = Talk().call("get_reservation", '{"id": "JG7FMM", "cabin": "business"}', reservation_id="JG7FMM")
    talk.call("web_fetch", "# Untitled\n\nNo content could be extracted from this page", url="https://a.example/x")
    talk.call("Read", "\n".join(f"row {n}" for n in range(80)), file_path="/a.py").edit("/a.py")
    talk.call(
        "AskUserQuestion",
        'User has answered your questions: "How should we go on?"="fix the issues".',
        questions=["How?"],
    )
    assert talk.told("done") == [
        "get_reservation 1 time, web_fetch 1 time, Read 1 time, AskUserQuestion 1 time",
        'earlier, get_reservation `JG7FMM` (message 2): {"id": "JG7FMM", "cabin": "business"}',
        "earlier, web_fetch `https://a.example/x` (message 4): # Untitled / No content could be extracted from this "
        "page",
        "last, AskUserQuestion `How?` (message 10): the user answered: fix the issues",
        "changed 1 file: a.py",
        "edit of a.py (message 8): - a / + b",
    ]


def test_what_a_runtime_prints_beside_the_output_is_not_what_came_of_a_call() -> None:
    noise = "Debugger attached.\nWaiting for the debugger to disconnect...\n"
    assert "last, Bash `node a.js` (message 2): 3 rows" in Talk().run("node a.js", f"{noise}3 rows").told("done")
    assert "last, Bash `node a.js` (message 2): no output of its own" in Talk().run("node a.js", noise).told("done")


def test_of_the_newest_call_more_is_quoted_than_a_line() -> None:
    found = "Survivors: 342 (38.38%)\n1. Women: 74.20%\n2. Men: 18.89%\n3. Class 1: 62.96%"
    talk = Talk("What can be found?").call("Read", found, file_path="/out/summary.txt")
    quoted = "Survivors: 342 (38.38%) / 1. Women: 74.20% / 2. Men: 18.89% / 3. Class 1: 62.96% (of 4 lines)"
    assert f"last, Read `/out/summary.txt` (message 2): {quoted}" in talk.told("done")
    assert "earlier, Read `/out/summary.txt` (message 2): 4 lines" in talk.run("ls", "a").told("done")


def test_a_folder_that_files_were_put_into_is_no_changed_file() -> None:
    talk = Talk().edit("/a.py").run("cp /a.py /b.py /out/")
    assert "changed 1 file: a.py" in talk.told("done") and "put files into /out/" in talk.told("done")


def test_a_look_that_failed_is_no_open_error_once_the_work_went_on() -> None:
    talk = Talk().call("Read", "<error>File does not exist.</error>", file_path="/gone.py")
    assert talk.told("open") == ["<error>File does not exist.</error> (in: /gone.py, message 2)", UNANSWERED]
    for row in range(6):
        talk.call("Read", "text", file_path=f"/{row}.ts")
    assert talk.told("open") == [UNANSWERED] and talk.told("failed") == []
    assert [one.resolution for one in talk.harvest().errors_encountered] == [
        "it only looked; the work went on without it"
    ]


def test_a_folder_that_could_not_be_read_is_settled_by_what_was_read_in_it() -> None:
    talk = Talk().call("Read", "Error: EISDIR: illegal operation on a directory", file_path="/skills/design")
    talk.call("Read", "text", file_path="/skills/design/SKILL.md")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [
        "a later call that names it, or what is in it, worked"
    ]


def test_a_call_that_the_host_did_not_make_is_counted_as_such_and_is_no_error() -> None:
    talk = Talk().call(
        "Read", "<tool_use_error>Sibling tool call errored</tool_use_error>", error=True, file_path="/a.py"
    )
    assert talk.harvest().errors_encountered == ()
    talk.call("Read", "<error>File does not exist.</error>", error=True, file_path="/b.py").call("Read", file_path="/c")
    assert talk.told("done")[:2] == ["Read 1 time", "1 call failed; 1 more was not made by the host"]


def test_a_check_that_fails_with_another_error_now_shows_that_the_first_one_is_past() -> None:
    talk = Talk().run("npx tsc", "src/a.ts(212,28): error TS2304: Cannot find name 'x'.")
    talk.run("npx tsc", "src/a.ts(220,28): error TS2663: Cannot find name 'y'.")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [
        "a later run of the same command fails with another error",
        "",
    ]


def test_a_check_that_failed_and_passed_otherwise_is_not_told_as_failed() -> None:
    talk = (
        Talk()
        .run("pytest", "E TypeError: bad\nFAILED t.py::x - TypeError: bad\n1 failed")
        .run("pytest -n 4", "9 passed")
    )
    assert [one for one in talk.told("done") if "pytest" in one] == ["`pytest -n 4` went well (message 4): 9 passed"]
    talk.run("pytest -n 4 tests/a", "FAILED t.py::y - TypeError: bad\n1 failed")
    assert any("`pytest -n 4 tests/a` failed" in one for one in talk.told("done"))


def test_an_error_is_gone_where_another_command_that_met_it_passes_later() -> None:
    line = "src/a.ts(28,2): error TS2739: Type is missing"
    talk = Talk().run("npm run check", line).run("npx tsc --noEmit", line).run("npm run check", "All good\n0 errors")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [
        "a later run of the same command shows no error",
        "another command that met it shows no error in a later run",
    ]
    once = Talk().run("npm run check", line).run("npm run check", "0 errors").run("npx tsc --noEmit", line)
    assert once.harvest().errors_encountered[-1].resolution == ""


def test_of_a_long_path_the_end_is_told_and_of_an_object_its_message() -> None:
    path = "/home/somebody/projects/worktrees/spotter-dov/lib/spotter_web/live/sessions/session_live.html.heex"
    wrapped = "Error: headers: {" + "'a': 'b', " * 30 + "}, body: {'message': \"Failed to read: Is a directory\"}"
    met = Talk().call("Read", wrapped, file_path=path).harvest().errors_encountered[0]
    assert met.error == "Failed to read: Is a directory"
    assert met.where.startswith("…/") and met.where.endswith("/sessions/session_live.html.heex")


def test_a_query_that_failed_is_an_error() -> None:
    found = Talk().call(
        "sql", "Error executing query: Table 's.singers' doesn't exist", command="SELECT 1 FROM singers"
    )
    assert [one.error for one in found.harvest().errors_encountered] == [
        "Error executing query: Table 's.singers' doesn't exist"
    ]


def test_what_the_agent_said_last_stands_with_a_short_answer_to_it() -> None:
    asked = Talk().says("Which timeframe do you mean?").says("last 6 months", "user").run("ls", "a")
    said = "before 1 call (it only looked): Which timeframe do you mean? The user then said: last 6 months"
    assert asked.harvest().last_said == said
    assert asked.says("Looking.").harvest().last_said == "Looking."
    asked.says("Now look at something else entirely", "user")
    assert asked.harvest().last_said == "Looking. (before the user's newest message)"


def test_an_answer_to_a_question_is_what_comes_next() -> None:
    talk = Talk().says("Shall I push it to the server?").says("yes, do it", "user")
    assert talk.told("next") == ["act on the user's answer in message 3: yes, do it"]


def test_points_of_earlier_versions_are_read() -> None:
    text = to_markdown(Talk().harvest()).replace(
        "- Open:", "- Finished before, not to be done again: A\n- Failed, not tried again since: B\n- Open:"
    )
    assert [(one.kind, one.text) for one in from_markdown(text).checkpoint][2:4] == [("finished", "A"), ("failed", "B")]
    newer = text.replace("Finished before, not", "Done before, ticked off or committed, not")
    assert from_markdown(newer).checkpoint == from_markdown(text).checkpoint


def test_an_edit_that_the_user_rejected_is_an_open_error() -> None:
    talk = Talk().edit("/a.py", REJECTED, error=True)
    assert talk.told("open")[0].startswith("rejected by the user: The user doesn't want to proceed")
    assert talk.told("next") == [f"settle what failed last, in message 2: edit refused: /a.py: {REJECTED}"]


def test_another_edit_of_the_file_does_not_make_a_rejected_one_good() -> None:
    talk = Talk().edit("/a.py", REJECTED, error=True, new="b").edit("/a.py", new="c")
    assert talk.harvest().errors_encountered[0].resolution == ""
    assert Talk().edit("/a.py", REJECTED, error=True).edit("/a.py").harvest().errors_encountered[0].resolution


def test_a_check_that_failed_is_an_error_until_the_same_check_passes() -> None:
    talk = Talk().run("pytest -q", "FAILED test_a.py::test_x\n1 failed, 3 passed in 1s")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [""]
    talk.run("pytest -q tests/other", "3 passed")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [""]
    talk.run("pytest -q", "2 failed, 2 passed in 1s")
    assert all(not one.resolution for one in talk.harvest().errors_encountered)
    talk.run("pytest -q", "4 passed in 1s")
    assert all(one.resolution for one in talk.harvest().errors_encountered)


def test_what_failed_and_was_left_is_told_with_its_reason() -> None:
    talk = Talk().run("npm run build", "error: no member EditorTheme\nexit code 2")
    for row in range(6):
        talk.call("Read", "text", file_path=f"/{row}.ts")
    assert talk.told("failed") == ["error: no member EditorTheme (in: npm run build, message 2)"]
    assert talk.told("open") == [UNANSWERED]


def test_a_request_that_nobody_answered_is_what_comes_next() -> None:
    talk = Talk().says("It is moved.").says("Please write the docs for the exporter", "user")
    assert talk.told("done") == ["no call was made yet"]
    assert talk.told("next") == ["do what is asked in message 3; nothing was answered yet"]


def test_a_short_answer_stands_beside_the_request() -> None:
    talk = Talk().says("Shall I push it to the server?").says("yes, do it", "user")
    assert talk.told("asked") == [
        "message 3: yes, do it (said to: Shall I push it to the server?); before it, message 1: Move the importer to "
        "Postgres"
    ]
    assert talk.run("git push", "ok").told("open") == [
        "the go-ahead in message 3: the agent has not ended its turn yet"
    ]


def test_it_is_written_anew_and_never_kept_from_an_earlier_pass() -> None:
    kept = fit(AnchoredSummary(), Talk().edit("/a.py", REJECTED, error=True).harvest(), len, 10_000)
    now = Talk().edit("/a.py", REJECTED, error=True).edit("/a.py").harvest()
    assert fit(from_markdown(to_markdown(kept)), now, len, 10_000).checkpoint == now.checkpoint


def test_secrets_in_it_are_masked() -> None:
    talk = Talk("Use hunter2 for the staging login, please").run("pytest --key hunter2", "1 failed: hunter2")
    assert "hunter2" not in to_markdown(talk.harvest())


def test_the_first_open_box_of_a_plan_that_no_later_call_did_is_what_comes_next() -> None:
    talk = Talk().call("Write", file_path="/plan.md", content="- [x] Write the table\n- [ ] Move the rows\n")
    talk.call("Read", "rows", file_path="/table.py")
    assert talk.told("next") == ["begin: Move the rows"]


@pytest.mark.parametrize(
    "text",
    [
        "###STOP###",
        "Thank you for your help. That's all I needed! ###STOP###",
        "Thanks!",
        "ok, thank you so much. Bye!",
        "Danke!",
        "谢谢",
    ],
)
def test_a_message_that_ends_the_conversation_is_no_request(text: str) -> None:
    talk = Talk().edit("/a.py").says("The importer is moved.").says(text, "user")
    assert talk.told("next") == ["nothing: the user ended the conversation in message 5"]


@pytest.mark.parametrize("text", ["Thanks, now the exporter", "stop", "Thank you for moving it, but the tests fail"])
def test_a_message_that_also_asks_ends_nothing(text: str) -> None:
    talk = Talk().edit("/a.py").says("The importer is moved.").says(text, "user")
    assert not talk.told("next")[0].startswith("nothing")


def test_an_error_of_a_compiler_is_gone_when_its_file_was_changed_and_another_check_does_not_show_it() -> None:
    error = "src/theme.ts(443,3): error TS2353: 'linkUrl' does not exist in type 'Theme'."
    talk = Talk().run("npx tsgo -p tsconfig.json", f"{error}\nexit code 2")
    assert talk.told("open") == [f"{error} (in: npx tsgo -p tsconfig.json, message 2)", UNANSWERED]
    talk.run("npm run build", "done")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [""]
    talk.edit("/repo/src/theme.ts").run("npm run build 2>&1 | tail -3", "npm error command failed")
    assert [one.resolution for one in talk.harvest().errors_encountered] == ["", ""]
    talk.run("npm run build 2>&1 | tail -3", "done in 2 s")
    assert [one.resolution for one in talk.harvest().errors_encountered] == [
        "its file was changed since, and a later check does not show it",
        "a later run of the same command shows no error",
    ]
    assert talk.told("open") == [UNANSWERED]


def test_a_check_that_is_older_than_the_newest_edits_says_so() -> None:
    talk = Talk().edit("/a.py").run("pytest -q", "12 passed in 1s").edit("/a.py").edit("/b.py").edit("/b.py")
    assert "`pytest -q` went well (message 4, before later edits of 2 files): 12 passed in 1s" in talk.told("done")
    talk.run("pytest -q", "12 passed in 1s")
    assert "`pytest -q` went well (message 12): 12 passed in 1s" in talk.told("done")

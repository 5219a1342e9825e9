"""What a handoff takes from a conversation and its calls."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.summary.facts import facts_of
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.summaries import SessionFacts

from .test_checkpoint import Talk

Message = dict[str, Any]


def facts(*messages: Message, secret: str = "") -> SessionFacts:
    items: list[Item] = list(parse_value(list(messages)).items)
    return facts_of(items, lambda text: text.replace(secret, "[masked]") if secret else text)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(number: int, name: str, result: str, **args: Any) -> tuple[Message, Message]:
    use = {"type": "tool_use", "id": f"c{number}", "name": name, "input": args}
    back = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
    return {"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}


BODY = "\n".join(f"row {n}" for n in range(1, 101))
NUMBERED = "\n".join(f"{n:6}→row {n}" for n in range(1, 101))


def test_changed_files_are_those_of_edits_that_worked_and_every_file_of_a_patch() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** Update File: b.py\n@@\n-a\n+b\n*** End Patch"
    found = facts(
        user("Fix it."),
        *call(1, "Edit", "String to replace not found in file.", file_path="c.py", old_string="a", new_string="b"),
        *call(2, "Edit", "The file d.py has been updated.", file_path="d.py", old_string="a", new_string="b"),
        *call(3, "apply_patch", "Success. Updated the following files:\nM a.py\nM b.py", input=patch),
    )
    assert found.changed == ("d.py", "a.py", "b.py")


def test_short_answers_are_no_requests_and_stand_by_themselves() -> None:
    found = facts(
        user("Please move the importer to Postgres. It must not touch the log table."),
        agent("Shall I keep the old one?"),
        user("ok"),
        agent("Done. " * 40),
        user("why is it slow now? we want it to stay below two seconds. ```\nnever: {x}\n```"),
        agent("Looking."),
    )
    assert [one.message for one in found.requests] == [1, 5] and found.first == found.requests[0]
    assert [(one.message, one.text) for one in found.replies] == [(3, "ok")]
    assert [one.message for one in found.reports] == [4] and not found.unanswered and found.questions == ()


def test_a_message_that_announces_a_call_is_no_report_where_there_are_others() -> None:
    working = agent("Now I will look at the loader, since it is where the rows come in. " * 4)
    found = facts(user("Fix the importer, please, will you?"), working, *call(1, "Bash", "ok", command="ls"))
    assert [one.message for one in found.reports] == [2]
    done = facts(
        user("Fix the importer, please, will you?"),
        working,
        *call(1, "Bash", "ok", command="ls"),
        agent("The rows came twice, since the source restarts and sends the last ten again. " * 4),
    )
    assert [one.message for one in done.reports] == [5]


def test_a_question_after_which_the_agent_went_on_is_no_longer_open() -> None:
    asked = (user("Please move the importer to Postgres."), agent("May the old rows be deleted as well?"))
    assert facts(*asked, *call(1, "Bash", "ok", command="ls")).questions == ()


def test_a_question_stays_open_until_the_user_really_answers() -> None:
    asked = (user("Please move the importer to Postgres."), agent("May the old rows be deleted as well?"), user("hm"))
    assert facts(*asked).questions == ("May the old rows be deleted as well?",)
    answered = facts(*asked, user("yes, delete the old rows please"))
    assert answered.questions == () and answered.unanswered


@pytest.mark.parametrize("body", [BODY, NUMBERED], ids=["plain", "numbered"])
def test_an_edit_is_located_in_what_was_read(body: str) -> None:
    found = facts(
        user("Edit a.py for me, please."),
        *call(1, "Read", body, file_path="/a.py"),
        *call(2, "Edit", "ok", file_path="/a.py", old_string="row 10\nrow 11", new_string="x\ny\nz"),
        *call(3, "Edit", "ok", file_path="/a.py", old_string="row 50", new_string="new 50"),
    )
    assert found.lines == {"/a.py": "10-12, 51"}, "the second edit stands one line lower by then"
    assert found.changed == ("/a.py",) and found.read == ()


def test_reads_of_parts_give_ranges_and_failed_edits_give_none() -> None:
    found = facts(
        user("Look at b.py for me, please."),
        *call(1, "Read", "\n".join(BODY.split("\n")[:20]), file_path="/b.py", offset=200, limit=20),
        *call(2, "Bash", "x\ny", command="sed -n '5,9p' /c.py"),
        *call(3, "Edit", "Error: old_string was not found", file_path="/b.py", old_string="nowhere", new_string="x"),
    )
    assert found.lines == {"/b.py": "200-219", "/c.py": "5-9"} and found.read == ("/b.py",)


def test_a_written_file_is_known_whole() -> None:
    found = facts(
        user("Write d.py for me, please."),
        *call(1, "Write", "File created", file_path="/d.py", content="one\ntwo\nthree"),
        *call(2, "Edit", "ok", file_path="/d.py", old_string="two", new_string="2"),
    )
    assert found.lines == {"/d.py": "2"}


def test_the_newest_run_of_each_check_counts_with_the_line_that_says_so() -> None:
    found = facts(
        user("Make the tests pass, please."),
        *call(1, "Bash", "1 failed, 2 passed in 1s", command="cd /srv && pytest -q 2>&1 | tail -3"),
        *call(2, "Bash", "All checks passed!", command="ruff check ."),
        *call(3, "Bash", "========= 3 passed in 1s =========", command="cd /srv && pytest -q | tail -1"),
        *call(4, "Bash", "a.txt", command="ls"),
        *call(5, "Bash", "ok", command="git commit -m 'pytest passes'"),
    )
    assert [(one.command, one.failed, one.line) for one in found.runs] == [
        ("ruff check .", False, "All checks passed!"),
        ("pytest -q", False, "3 passed in 1s"),
    ]


def test_what_is_masked_is_masked_before_it_is_cut() -> None:
    secret = "s3cret" * 60
    found = facts(
        user(f"Use {secret} for the login of the importer, and never write it down."),
        *call(1, "Bash", f"1 failed: {secret}", command=f"pytest --token {secret}"),
        secret=secret,
    )
    assert "s3cret" not in repr(found) and "[masked]" in found.requests[0].text


def test_agents_skills_and_finished_todos_are_named() -> None:
    todos = [{"content": "read it", "status": "completed"}, {"content": "fix it", "status": "in_progress"}]
    found = facts(
        user("Fix the importer with help, please."),
        *call(1, "Task", "done", subagent_type="explorer", description="find the loader", prompt="…"),
        *call(2, "Skill", "loaded", skill="postgres"),
        *call(3, "TodoWrite", "ok", todos=todos),
    )
    assert found.agents == ("explorer: find the loader",) and found.skills == ("postgres",)
    assert found.finished == ("read it",)


@pytest.mark.parametrize("result", ["[]", "{}", "[ ]\n"])
def test_an_empty_list_as_a_result_is_told_as_it_came(result: str) -> None:
    found = facts(user("Find a direct flight."), *call(1, "search_direct_flight", result, origin="SFO"))
    assert found.activity == (f"Newest call: search_direct_flight `SFO` (message 2): {result.strip()}",)
    nothing = facts(user("Find a direct flight."), *call(1, "search_direct_flight", " ", origin="SFO"))
    assert nothing.activity[0].endswith(": no output")


def test_only_the_newest_call_of_all_is_called_so_an_edit_too() -> None:
    asked = user("Fix the importer, please, will you?")
    look = call(1, "Read", "a\nb", file_path="/b.py")
    edit = call(2, "Edit", "The file has been updated.", file_path="/a.py", old_string="a", new_string="b")
    check = call(3, "Bash", "3 passed in 1s", command="pytest -q")
    assert facts(asked, *look, *edit).activity == (
        "Earlier call: Read `/b.py` (message 2): a / b",
        "Newest call: Edit `/a.py` (message 4): - a / + b",
    )
    assert [row.partition(":")[0] for row in facts(asked, *look, *edit, *check).activity] == ["Earlier call"]


def test_a_wish_of_which_a_later_message_gives_another_value_is_no_fact() -> None:
    colours = [
        user("The markdown link text should be #b5bd68 in the theme."),
        agent("Done."),
        user("The theme needs a footer that is dimmer than now."),
        agent("Done."),
        user("mdLink text in markdown was 81a2be in the old theme."),
        agent("Done."),
        user("Now run the build of the whole package."),
    ]
    told = [one.text for one in facts(*colours).requests]
    assert told == [colours[n]["content"] for n in (2, 4, 6)]


def test_a_report_whose_sum_a_later_one_states_anew_is_no_fact() -> None:
    old = "The total cost for booking the flights for Ivan Smith, insurance included, is $329. " + "Shall I? " * 20
    new = "Without insurance the total cost for booking the flights for Ivan Smith is $299. " + "Shall I? " * 20
    made = facts(user("Book it for Ivan"), agent(old), user("I need no insurance for it, please"), agent(new))
    assert [one.message for one in made.reports] == [4]
    other = "The hotel by the lake would be $80 a night, breakfast and parking are not in it. " + "Shall I? " * 20
    made = facts(user("Book it for Ivan"), agent(old), user("And a hotel by the lake, please"), agent(other))
    assert [one.message for one in made.reports] == [2, 4]


def test_what_was_said_of_a_booking_stands_with_what_was_done_to_it_since() -> None:
    talk = Talk("Cancel XEHM4B, and tell me what it costs").says("XEHM4B cannot be cancelled; it costs $299. " * 8)
    talk.says("Then upgrade it and cancel it", "user").call("get_order", "{}", id="XEHM4B")
    talk.call("pay_order", "Error: the total is 375, but paid 299", error=True, sum=299)
    talk.call("cancel_order", "{}", id="XEHM4B")
    made = facts_of(parse_value(talk.messages).items, str)
    since = "pay_order (message 6) was refused; cancel_order (message 8) went through for XEHM4B"
    assert [one.acts_since for one in made.reports] == [since]
    assert [one.acts_since for one in made.requests] == ["cancel_order (message 8) went through for XEHM4B", ""]

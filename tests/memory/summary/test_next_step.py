"""The next step is an act; what is settled is not kept open, and what the user decided stands with its question."""

from __future__ import annotations

import json

import pytest

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.absent import NOTHING_OPEN
from palimpsest_mcp.memory.summary.facts import facts_of
from palimpsest_mcp.memory.summary.fit import fit
from palimpsest_mcp.memory.summary.quotes import one_line
from palimpsest_mcp.models.summaries import SessionFacts

from .test_checkpoint import Talk

CHECKED = "Found 0 errors"
ERROR = "src/a.ts(1,2): error TS1: bad"


def facts(talk: Talk) -> SessionFacts:
    return facts_of(parse_value(talk.messages).items, str)


def decisions(talk: Talk) -> list[tuple[str, str]]:
    return [(one.decision, one.rationale) for one in talk.harvest().decisions_made]


def resolutions(talk: Talk) -> list[str]:
    return [one.resolution for one in talk.harvest().errors_encountered]


# What the user decided.


def test_an_answer_to_a_question_tool_is_a_decision_with_its_question() -> None:
    answer = 'User has answered your questions: "Skip the hook, or fix?"="main was clean; fix the issues".'
    talk = Talk().call("AskUserQuestion", answer, questions=[{"question": "Skip the hook, or fix?"}])
    assert decisions(talk) == [
        ("User, answering in message 3: main was clean; fix the issues", "said to: Skip the hook, or fix?")
    ]
    assert talk.told("asked")[0].endswith("; then message 3: main was clean; fix the issues")
    talk.run("mix credo", "all good")
    assert "as message 3 says (main was clean; fix the issues)" in talk.told("next")[0]


def test_an_answer_that_comes_as_a_message_after_a_question_tool_is_a_decision() -> None:
    talk = Talk().call("ask_clarification", "Which format?", question="Which format shall the report have?")
    assert decisions(talk.says("PDF", "user")) == [
        ("User, message 4: PDF", "said to: Which format shall the report have?")
    ]


@pytest.mark.parametrize(
    "text",
    ["yes", "That sounds good.", "option 2", "can leave it", "Yes, let's take the economy class", "ja, mach das"],
)
def test_a_go_ahead_is_a_decision_with_what_it_answers(text: str) -> None:
    talk = Talk().says("tui-renderer.ts stays where it is. Should I proceed?").says(text, "user")
    assert decisions(talk) == [
        (f"User, message 3: {text}", "said to: tui-renderer.ts stays where it is. Should I proceed?")
    ]


ALL_THREE = (
    "one of the questions of message 2: “Which months do you mean?” “How many episodes do you want?” "
    "“Shall it be all of them or the notable ones?”"
)


@pytest.mark.parametrize(
    ("answer", "about"),
    [
        ("last 6 months", "Which months do you mean?"),
        ("the notable ones", "Shall it be all of them or the notable ones?"),
        ("can leave it", ALL_THREE),
        ("yes, the months and the notable ones", ALL_THREE),
        ("1. the last six 2. ten 3. no", ALL_THREE.removeprefix("one of ")),
    ],
)
def test_an_answer_to_several_questions_stands_beside_all_where_it_shares_no_word_with_one(
    answer: str, about: str
) -> None:
    asked = "Which months do you mean? How many episodes do you want? Shall it be all of them or the notable ones?"
    talk = Talk().says(asked).says(answer, "user")
    assert decisions(talk) == [(f"User, message 3: {answer}", f"said to: {about}")]


def test_a_go_ahead_to_one_of_several_questions_is_told_beside_all_of_them() -> None:
    talk = Talk().says("Should tui.ts move too? Should I proceed with these moves?").says("can leave it", "user")
    told = "message 3: can leave it (said to: one of the questions of message 2: “Should tui.ts move too?” “Should I "
    assert talk.run("ls", "a").told("asked")[0].startswith(told)


def test_a_consent_to_a_price_stands_with_all_that_it_is_to() -> None:
    terms = "The total is $299, without bags.\n\nPay by: certificate.\nShall I book it?"
    assert decisions(Talk().says(terms).says("Yes, go ahead", "user")) == [
        (
            "User, message 3: Yes, go ahead",
            "said to: The total is $299, without bags. Pay by: certificate. Shall I book it?",
        )
    ]


def test_of_a_long_proposal_a_consent_stands_with_its_sentences_with_amounts_or_is_none() -> None:
    long = "It flies over the lake.\n" * 40
    said = decisions(Talk().says(f"The total is $299.\n{long}Shall I book it?").says("Yes", "user"))
    assert said == [("User, message 3: Yes", "said to: The total is $299. […] Shall I book it?")]
    assert decisions(Talk().says("It costs $5 by day and night.\n" * 40 + "Shall I?").says("Yes", "user")) == []


def test_a_question_that_was_answered_by_a_proposal_gives_way_to_the_go_ahead_to_it() -> None:
    talk = Talk().says("or do you have other suggestions?", "user").says("I move tui.ts. Should I proceed?")
    talk.says("yes, do it", "user").run("ls", "a")
    assert talk.told("next")[0].startswith("go on with what message 3 proposes, as message 4 says (yes, do it); ")


def test_a_go_ahead_that_also_asks_something_is_a_decision_where_the_agent_asked_for_it() -> None:
    talk = Talk().says("1. Upgrade it\n2. Cancel it\nPlease confirm these steps.")
    talk.says("Yes, proceed with those steps. What does the rest cost?", "user").run("ls", "a")
    assert [one for one, _ in decisions(talk)] == [
        "User, message 3: Yes, proceed with those steps. What does the rest cost?"
    ]
    assert talk.told("next") == [
        "go on with what is asked in message 3; the newest call: Bash `ls` (message 4): a; its plan in "
        "message 2, of which some may be done: Upgrade it; Cancel it"
    ]


def test_a_refusal_of_a_plan_is_a_decision_also_where_nothing_was_asked() -> None:
    talk = Talk().says("The components move to the chat at the end.").says("no, move them on the next submit", "user")
    assert [one for one, _ in decisions(talk)] == ["User, message 3: no, move them on the next submit"]


@pytest.mark.parametrize(
    "text", ["hm", "ok, what happens if the theme is deleted?", "Thanks!", "wait", "why is it slow?"]
)
def test_what_settles_nothing_is_no_decision(text: str) -> None:
    assert decisions(Talk().says("Shall I delete the theme?").says(text, "user")) == []


def test_a_new_request_after_a_report_is_no_decision() -> None:
    talk = Talk().says("The importer is moved.").says("ok, now move the exporter to Postgres as well", "user")
    assert decisions(talk) == []


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Could you please provide your user ID so I can look it up?", "Sure, my user ID is ivan_muller_7015."),
        (
            "I need your ID and the booking's. Could you please provide those details?",
            "Sure! It is YAX4DR, of lee_6825.",
        ),
        (
            "Could you please provide the reason for cancellation? The options are:\n1. Change of plan",
            "Change of plan.",
        ),
        ("Could you please provide the origin and destination, so I can find it?", "It goes from Miami to LAX."),
        ("Wie lautet Ihre Kundennummer?", "Ja, 4711 ist es."),
        ("Is there anything else? Let me know!", "Alright, thank you. Can you now find a flight? I leave on May 20."),
    ],
)
def test_an_answer_that_only_gives_data_or_thanks_is_no_decision(asked: str, answer: str) -> None:
    assert decisions(Talk().says(asked).says(answer, "user")) == []


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("I bet it is detected as light.", "no, that's not it, both use the dark theme. write a simple test, please"),
        ("It is `#6c6c6c` now. If you want it brighter, let me know!", "ok, make muted a little brighter"),
    ],
)
def test_a_verdict_on_a_guess_or_an_ok_before_a_new_request_is_no_decision(said: str, answer: str) -> None:
    assert decisions(Talk().says(said).says(answer, "user")) == []
    asked = Talk().says(f"{said} Shall I make it brighter?").says("ok, make it brighter but only in dark", "user")
    assert len(decisions(asked)) == 1


def test_a_message_that_gives_data_stands_before_the_request_that_it_is_for() -> None:
    talk = Talk("Can you look for duplicate bookings?").says("Could you provide me with your user ID?")
    talk.says("Sure, my user ID is sophia_4574.", "user").call("get_user", "{}", id="sophia_4574")
    assert decisions(talk) == []
    assert talk.told("asked")[0].endswith("; before it, message 1: Can you look for duplicate bookings?")
    assert talk.told("next")[0].startswith("go on with what is asked in message 1; the newest call: get_user `sophia_")
    assert talk.told("open") == ["the request in message 1: the agent has not ended its turn yet"]


@pytest.mark.parametrize(
    "asked",
    [
        "What is your preference: PDF or HTML?",
        "Shall I send your report to the team?",
        "Could you confirm your booking?",
    ],
)
def test_an_answer_to_a_choice_stays_a_decision(asked: str) -> None:
    assert len(decisions(Talk().says(asked).says("yes, PDF", "user"))) == 1


def test_an_answer_whose_edits_were_all_written_anew_for_a_later_message_is_left_out() -> None:
    def edit(talk: Talk, old: str, new: str) -> Talk:
        return talk.call("Edit", file_path="/dark.json", old_string=old, new_string=new)

    talk = Talk().says("Code and blocks are blue now.").says("no, the block should stay as is", "user")
    edit(talk, 'code: "blue",\nblock: "blue"', 'code: "blue",\nblock: ""')
    first = talk.says("Reverted!").says("#b5bd68 was the color of the block", "user").harvest()
    assert decisions(talk) == [
        ("User, message 3: no, the block should stay as is", "said to: Code and blocks are blue now.")
    ]
    edit(talk, 'code: "blue",', 'code: "red",')
    assert len(decisions(talk)) == 1
    edit(talk, 'block: ""', 'block: "green"')
    assert decisions(talk) == []
    assert fit(first, talk.harvest(), len, 100_000).decisions_made == ()


def test_secrets_in_decisions_are_masked() -> None:
    talk = Talk().says("Shall I use the key hunter2?").says("yes, take hunter2", "user")
    assert "hunter2" not in str(decisions(talk)) and "[redacted]" in str(decisions(talk))


# The next step.


def test_the_newest_question_of_the_user_stays_open_until_the_agent_answers() -> None:
    talk = Talk("Are there any other such paths?").call("Grep", "a.ts", pattern="__dirname")
    open_one = "request in message 1: the agent has not ended its turn yet"
    assert facts(talk).questions == (f"The user's {open_one}.",)
    assert talk.told("open") == [f"the {open_one}"]
    talk.says("No, only config.ts uses it.")
    assert facts(talk).questions == () and talk.told("open") == [NOTHING_OPEN]


def test_a_failed_try_is_not_to_be_settled_but_gone_round() -> None:
    talk = Talk("Are there any other such paths?").run(
        "npx tsx -e 'import(1)'", "Error: Cannot find module 'a'\nexit code 1"
    )
    assert talk.told("next") == [
        "go on with what is asked in message 1 another way: Bash `npx tsx -e 'import(1)'` (message 2) failed"
    ]
    assert resolutions(talk) == ["it only tried something out"]


def test_a_search_that_found_nothing_is_no_failed_try() -> None:
    talk = Talk("Is there an end of the turn?").says("Let me see where the turn ends:")
    talk.run("grep -n agent_end src/session.ts", "(no output)\n\nCommand exited with code 1")
    assert "another way" not in talk.told("next")[0] and "before 1 call (it found nothing)" in talk.told("next")[0]
    assert "last, Bash `grep -n agent_end src/session.ts` (message 3): nothing was found" in talk.told("done")


def test_what_a_tool_of_a_service_refused_is_told_to_the_user() -> None:
    talk = Talk("Upgrade me to business, please").call(
        "update_booking", "Error: balance is not enough", id="OB", card="g1"
    )
    talk.call("think", "", thought="Another card may do.")
    came = "tell the user what came of update_booking `OB, g1` (message 2) and ask before it is tried otherwise"
    assert talk.told("next") == [f"{came}: Error: balance is not enough"]


def test_a_todo_that_a_later_call_did_gives_way_to_the_next_one() -> None:
    todos = [
        {"content": "Generate the reference image", "status": "in_progress"},
        {"content": "Render the video", "status": "pending"},
    ]
    talk = Talk().call("TodoWrite", todos=todos)
    assert talk.told("next") == ["go on with: Generate the reference image"]
    talk.run("python image/generate.py --out reference.jpg", "Generated image in /out/reference.jpg")
    assert talk.told("next") == ["begin: Render the video (message 4 did: Generate the reference image)"]
    assert talk.harvest().key_artifacts == ("made /out/reference.jpg",)


def test_a_file_that_was_written_does_a_todo_by_what_it_is_called_not_by_what_stands_in_it() -> None:
    todos = [{"content": "Write the article with the photos", "status": "in_progress"}]
    talk = Talk().call("TodoWrite", todos=todos)
    talk.call("Write", file_path="/notes.md", content="write the article with the photos " * 5)
    since = "(changed since the list, of message 2: notes.md)"
    assert talk.told("next") == [f"go on with: Write the article with the photos {since}"]
    talk.call("Write", file_path="/article.md", content="# Light", description="Write the article with photos")
    assert talk.told("next")[0].startswith("report to the user: the last open todo is done (message 6 did: Write the")


def test_a_plan_that_the_agent_works_by_is_the_next_step() -> None:
    talk = Talk().says("Changes needed:\n1. Remove the flush\n2. Move the components on submit").edit("/a.ts")
    assert talk.told("next") == [
        "go on with what is asked in message 1; the agent said last, in message 2, before 1 call (it went "
        "well): Changes needed: 1. Remove the flush 2. Move the components on submit; the newest call: Edit `/a.ts` "
        "(message 3): - a / + b"
    ]
    talk.says("This one is simple.").edit("/b.ts")
    assert talk.told("next")[0].endswith(
        "; its plan in message 2, of which some may be done: Remove the flush; Move the components on submit"
    )


def test_steps_that_the_user_was_shown_are_no_plan_once_the_user_asks_something_else() -> None:
    talk = Talk().says("Done! You can:\n1. Run it and choose the theme\n2. Edit the file in your editor")
    talk.says("ok, what happens if you delete the theme?", "user").edit("/theme.ts")
    assert talk.told("next")[0].startswith("go on with what is asked in message 3")


def test_steps_of_a_plan_that_were_made_are_not_named_again() -> None:
    talk = (
        Talk()
        .says("I'll do:\n1. flush on prompt\n2. merge TranscriptSelection into app.js")
        .edit("/flush-on-prompt.ts")
    )
    left = (
        "; then steps of its plan in message 2 that name files not changed since: merge TranscriptSelection into app.js"
    )
    assert talk.told("next")[0].endswith(left)
    talk.run("npm run check", CHECKED)
    assert "its plan" not in talk.told("next")[0]


def test_an_act_that_went_through_is_told_with_what_became_of_it() -> None:
    talk = Talk().says("upgrade XEHM4B and cancel it afterward", "user")
    talk.call("update_flights", '{"id": "XEHM4B"}', id="XEHM4B", why="upgrade")
    rest = '"flights": [' + '{"from": "LAS", "to": "ATL"}, ' * 20 + "]"
    talk.call("cancel_reservation", f'{{"id": "XEHM4B", {rest}, "amount": -288, "status": "cancelled"}}', id="XEHM4B")
    acts = facts(talk).acts
    assert [act.partition(" `")[0] for act in acts] == ["update_flights", "cancel_reservation"]
    assert acts[-1].endswith('[…] "amount": -288 […] "status": "cancelled"')


def test_looks_and_what_was_refused_did_not_change_anything() -> None:
    talk = Talk().call("get_order_details", '{"status": "open"}', id="7").call("cancel_order", "Error: no", id="7")
    assert facts(talk).acts == ()


def test_a_turn_that_was_broken_off_and_continued_is_still_open() -> None:
    talk = Talk().says("I look at the importer now.").says("continue", "user").run("ls", "a")
    assert talk.told("open") == ["the request in message 1: the agent has not ended its turn yet"]
    assert talk.told("asked") == ["message 1: Move the importer to Postgres"], "it went on since"
    assert talk.told("next")[0].startswith("go on with what is asked in message 1")


def test_what_hosts_show_of_a_users_own_shell_takes_nobodys_turn() -> None:
    talk = Talk("What did I just run?").run("ls", "a").says("You ran ls.").says("$ ls\na", "user")
    assert talk.told("open") == [NOTHING_OPEN]
    assert talk.told("next") == ["nothing seen open; wait for the user: the agent had the last word, in message 4"]


def test_what_was_changed_since_the_last_check_is_to_be_checked_and_a_refused_commit_made_again() -> None:
    talk = Talk().run("npm run check", CHECKED).edit("/a.ts").run("git commit -m x", "hook failed\nexit code 1")
    for row in range(5):
        talk.edit(f"/{row}.ts")
    assert talk.told("next")[0].endswith(
        "; then run `npm run check` again, which ran last in message 2: files were changed since; then commit, which "
        "failed in message 6"
    )


def test_an_edit_that_came_last_leaves_room_for_the_check_that_is_due() -> None:
    talk = Talk().run("npm run check", CHECKED).says("Let me fix this:")
    talk.edit("/src/theme.ts", "Successfully replaced text in /src/theme.ts. Changed 464 characters to 365. " * 3)
    assert talk.told("next") == [
        "go on with what is asked in message 1; the agent said last, in message 4, before 1 call (it went "
        "well): Let me fix this; the newest call: Edit `/src/theme.ts` (message 5): - a / + b; then run `npm run "
        "check` again, which ran last in message 2: files were changed since"
    ]


def test_a_plan_all_of_whose_files_were_changed_is_not_what_comes_next() -> None:
    talk = Talk("Please make it flush").says("I'll do:\n1. flush-on-prompt.ts\n2. flush-on-submit.ts")
    talk.edit("/flush-on-prompt.ts").edit("/flush-on-submit.ts").says("Now the close protocol:")
    talk.run("git status", "Changes not staged for commit:\n  modified: flush-on-prompt.ts")
    assert talk.told("next") == [
        "go on with what is asked in message 1; the agent said last, in message 7, before 1 call (it went "
        "well): Now the close protocol; "
        "the newest call: Bash `git status` (message 8): Changes not staged for commit: / modified: "
        "flush-on-prompt.ts; then commit the changed files"
    ]
    assert talk.told("open")[0].startswith("2 files edited and no commit went through: flush-on-prompt.ts")


def test_of_a_message_the_sentences_that_announce_something_are_quoted_with_their_place() -> None:
    talk = Talk().says(
        "The rows come twice. That is since the source restarts. Now let me skip the known ids in load.py:"
    )
    said = (
        "; the agent said last, in message 2, before 1 call (it went well): Now let me skip the known ids in load.py; "
    )
    assert said in talk.edit("/load.py").told("next")[0]
    talk.says("It is there. Now I need to write the styles. Let me make them plain. I'll take one font for all of it.")
    said = "(it went well): Now I need to write the styles. Let me make them plain. I'll take one font for all of it.; "
    assert said in talk.edit("/style.css").told("next")[0]
    talk.says("I think the second way makes more sense. Let me do that:").edit("/b.py")
    assert "(it went well): I think the second way makes more sense. Let me do that; " in talk.told("next")[0]


def test_what_the_agent_announced_after_its_list_comes_before_the_lists_next_todo() -> None:
    talk = Talk().call("TodoWrite", todos=[{"content": "Write the setup of the server", "status": "pending"}])
    assert talk.run("ls", "a").told("next") == ["begin: Write the setup of the server"]
    talk.says("The table is done. Now the modes: let me read how they are run").run("cat main.ts", "rows")
    first, todo = talk.told("next")[0].split("; then ")
    assert "let me read how they are run" in first
    assert todo == "as the list says, changed last in message 2: begin: Write the setup of the server"


def test_a_list_of_which_all_is_ticked_off_leaves_the_report() -> None:
    talk = Talk("Make a site").says("I'll make a fine site.").run("cp a b")
    talk.call("TodoWrite", todos=[{"content": "Copy it and present", "status": "completed"}])
    assert talk.told("next") == ["report to the user on what is asked in message 1: of 1 todo none is open (message 5)"]


def test_what_failed_before_the_agent_announced_its_next_act_comes_after_it() -> None:
    talk = Talk().run("npm run build", "error: no member EditorTheme\nexit code 2")
    assert talk.told("next")[0].startswith("settle what failed last, in message 2")
    talk.says("The types are stale. Let me build the other package first:").call("Read", "text", file_path="/p.json")
    first, then = talk.told("next")[0].split("; then ")
    assert "Let me build the other package first" in first and then.startswith("settle what failed last, in message 2")


def test_a_plan_of_which_words_show_little_is_quoted_whole() -> None:
    plan = (
        "We just want to:\n1. show the output\n2. save it to the pending list\n3. flush at the end\n4. prompt no more"
    )
    talk = Talk().says(plan).edit("/show-the-output.ts").says("The flush is right.").run("grep flush a.ts", "flush()")
    assert "; its plan in message 2, of which some may be done: show the output; save it" in talk.told("next")[0]


def test_a_go_ahead_stands_in_the_next_step_and_is_told_with_what_it_answers() -> None:
    talk = (
        Talk().says("Ready. Should I proceed with the commit and the tag?").says("yeah, do it", "user").run("git add .")
    )
    assert talk.told("next")[0].startswith("go on with what is asked in message 1, as message 3 says (yeah, do it); ")
    assert "(said to: Should I proceed with the commit and the tag?)" in talk.told("asked")[0]


def test_a_step_of_a_plan_that_names_a_file_is_done_where_that_file_was_changed() -> None:
    talk = Talk().says("I'll do:\n1. live.ex - add the grid styles\n2. app.css - add the grid styles")
    talk.call("Edit", file_path="/live.ex", old_string="a", new_string="add the grid styles").says("So far so good.")
    talk.run("ls", "a")
    assert talk.told("next")[0].endswith("name files not changed since: app.css - add the grid styles")


def test_a_task_of_a_tracker_that_was_started_is_open_until_it_is_closed() -> None:
    talk = Talk().run("bd update spotter-dov.3 --status in_progress", "updated")
    assert "started and not closed: spotter-dov.3 (message 2)" in talk.told("open")
    assert not any("started" in one for one in talk.run("bd close spotter-dov.3", "closed").told("open"))


def test_boxes_that_an_edit_puts_into_a_plan_stand_in_their_place() -> None:
    plan = "- [ ] Write the table\n- [ ] Use the table\n- [ ] Clean up the files"
    talk = Talk().call("Write", file_path="/plan.md", content=plan)
    talk.call("Edit", file_path="/plan.md", old_string="- [ ] Use the table", new_string="- [ ] Read it\n- [ ] Show it")
    assert [one.text for one in talk.harvest().todos] == [
        "Write the table",
        "Read it",
        "Show it",
        "Clean up the files",
    ]
    talk.says("The plan stands. Now let me look how rows are read:").run("cat a.py", "rows")
    assert "begin:" not in talk.told("next")[0]


def test_the_lines_of_a_result_are_counted_in_all_of_it() -> None:
    talk = Talk().call(
        "Read", "\n".join(f"{n},a row of a table with some text in it,{n}" for n in range(2_000)), file_path="/a.csv"
    )
    assert "last, Read `/a.csv` (message 2): 2,000 lines" in talk.told("done")


def test_a_list_of_options_is_no_plan() -> None:
    talk = Talk().says("We have two options:\n1. Remove the color\n2. Use it\n\nThe second is better. Let me do it:")
    talk.edit("/a.ts").says("Now the next place.").edit("/b.ts")
    assert "its plan" not in talk.told("next")[0]


def test_what_was_checked_and_is_not_committed_is_told_where_the_session_committed_before() -> None:
    talk = Talk().edit("/a.ts").run("git commit -m x", "[main 1a2b3c4] Move it").edit("/b.ts")
    talk.run("npm run check", CHECKED)
    assert talk.told("next")[0].endswith(
        "; then commit, if that is wished: 1 file edited since the last commit (message 4): b.ts"
    )


def test_an_order_that_is_put_as_a_question_is_no_question_that_is_open() -> None:
    talk = Talk("are we all committed? if yes, do it").run("git status", "clean").says("All clean. Let me start:")
    assert talk.edit("/a.ts").told("open") == ["the request in message 1: the agent has not ended its turn yet"]


def test_what_an_agent_announced_and_did_not_do_is_the_next_step() -> None:
    talk = Talk().edit("/a.ts").says("The importer is moved. Now let me run the tests.")
    assert talk.told("next") == ["do what the agent announced last, in message 4: Now let me run the tests."]


def test_boxes_of_a_plan_that_is_older_than_the_newest_request_are_no_todos() -> None:
    talk = Talk().call("Write", file_path="/plan.md", content="- [x] Write the table\n- [ ] Move the rows\n")
    assert [one.text for one in talk.harvest().todos] == ["Move the rows"]
    summary = talk.says("Move the files to core first, please", "user").says("Done.").harvest()
    assert summary.todos == () and (summary.todos_done, summary.todos_total) == (0, 0)
    assert talk.told("open") == [NOTHING_OPEN] and talk.told("finished") == ["Write the table"]
    todos = [{"content": "Move the rows", "status": "pending"}]
    talk = Talk().call("TodoWrite", todos=todos).says("Move the files to core first, please", "user").says("Done.")
    assert talk.told("open") == ["1 of 1 todo (list changed last in message 2: before the newest request)"]


def test_files_that_are_not_committed_are_named() -> None:
    talk = Talk().edit("/a.ts").run("git add . && git commit -m x", "[main 1a2b3c4] Move it")
    assert not any("edited" in one for one in talk.told("open"))
    talk.edit("/a.ts", new="c").run("git commit -q -am y")
    assert not any("edited" in one for one in talk.told("open"))
    talk.edit("/src/b.ts").edit("/src/c.ts").run("git commit -m z", "nothing to commit")
    assert "2 files edited since the last commit (message 8): b.ts, c.ts" in talk.told("open")


# What is settled.


def test_a_commit_that_went_through_settles_the_refused_one() -> None:
    talk = Talk().run("git commit -m x", "Pre-commit failed: not formatted\nexit code 1")
    talk.run("git add -A && git commit -m 'x, formatted'", "[main 1a2b3c4] x")
    assert resolutions(talk) == ["a later run of the same program on it went well"]


def test_a_run_of_all_tests_settles_those_of_one_file_but_another_file_does_not() -> None:
    talk = Talk().run("mix test test/a_test.exs", "1 failed\nexit code 1").run("mix test test/b_test.exs", "3 passed")
    assert resolutions(talk) == [""]
    assert resolutions(talk.run("mix test", "9 passed")) == ["a later run of the same program on it went well"]


def test_a_copy_to_the_same_place_settles_one_that_failed() -> None:
    talk = Talk().run("cp /opt/dark.json ~/.pi/custom.json", "cp: /opt/dark.json: No such file\nexit code 1")
    assert resolutions(talk.run("cp ./theme/dark.json ~/.pi/custom.json")) == [
        "a later run of the same program on it went well"
    ]


def test_an_error_of_one_check_is_past_when_two_whole_checks_went_well() -> None:
    talk = Talk().run("npx tsc --noEmit src/a.ts", f"{ERROR}\nexit code 2").run("npm run build", "done")
    assert resolutions(talk) == [""]
    assert resolutions(talk.run("npm run check", CHECKED)) == ["later checks of the whole went well"]


def test_another_error_of_the_same_tool_takes_the_first_ones_place() -> None:
    talk = Talk().call("update_booking", "Error: not enough seats", id="OB", cabin="economy")
    talk.call("update_booking", "Error: balance is not enough", id="OB", cabin="business")
    assert resolutions(talk) == ["a later call of the same kind fails with another error", ""]


def test_a_command_to_which_nothing_came_back_is_left_behind_by_the_next_request_but_a_check_is_not() -> None:
    talk = Talk().run("rm /nothing", "rm: /nothing: No such file\nexit code 1").run("pytest -q", "1 failed")
    for row in range(5):
        talk.call("Read", "text", file_path=f"/{row}")
    assert resolutions(talk) == ["", ""]
    talk.says("Done.").says("Now look at the exporter, please", "user")
    assert resolutions(talk) == ["the user asked for something else since, and nothing came back to it", ""]


def test_a_run_in_the_background_has_the_outcome_that_was_fetched_later() -> None:
    started = "Command running in background with ID: b7636e2. Output is being written to: /tmp/x"
    talk = (
        Talk()
        .run("mix test test/live_test.exs", started)
        .call("TaskOutput", "<status>running</status>", task_id="b7636e2")
    )
    assert facts(talk).runs[0].failed is None
    talk.call("TaskOutput", "<status>completed</status>\n15 tests, 0 failures", task_id="b7636e2")
    assert (facts(talk).runs[0].failed, facts(talk).runs[0].line) == (False, "15 tests, 0 failures")


def test_a_check_without_a_verdict_says_whether_it_shows_an_error() -> None:
    talk = Talk().run("npm run check", "> tsc --noEmit")
    assert talk.told("done")[-1] == "`npm run check` ran and shows no error (message 2): > tsc --noEmit"


def test_a_check_that_names_places_in_files_is_not_told_as_clean() -> None:
    found = "lib/live.ex:25:guard_fail The guard clause can never succeed."
    talk = Talk().edit("/lib/live.ex").run("mix dialyzer --format short 2>&1 | grep lib", found)
    assert talk.told("done")[-1].startswith(
        "`mix dialyzer --format short` ran, and what `grep lib` showed of it names places in files (message 4)"
    )
    assert talk.told("next")[0].startswith("mend what the last check shows")


def test_a_check_run_again_after_edits_stands_only_once_also_beside_another_command() -> None:
    talk = Talk().run("mix dialyzer", "lib/live.ex:25:guard_fail").edit("/lib/live.ex")
    talk.run("mix compile && mix dialyzer", "done")
    assert [one.command for one in facts(talk).runs] == ["mix compile && mix dialyzer"]


def test_a_check_in_another_folder_is_another_check_and_settles_nothing() -> None:
    talk = Talk().run("cd packages/agent && npm run build", "npm error command failed\nexit code 1")
    talk.run("cd packages/tui && npm run build", "done")
    assert [(one.command, one.failed) for one in facts(talk).runs] == [
        ("cd packages/agent && npm run build", True),
        ("cd packages/tui && npm run build", None),
    ]
    assert resolutions(talk) == [""]
    talk.run("cd /repo/packages/agent && npm run build", "done")
    assert resolutions(talk) == ["a later run of the same program on it went well"]


def test_words_in_quotes_make_no_check_of_a_command() -> None:
    assert facts(Talk().run('bd close x.1 --reason="make the build check pass"', "closed")).runs == ()
    assert len(facts(Talk().run('bash -lc "npm run check"', "ok")).runs) == 1


def test_what_a_command_closed_is_an_artifact() -> None:
    talk = Talk().run('bd close spotter.3 --reason="done" 2>&1', "closed")
    assert talk.harvest().key_artifacts == ("ran `bd close spotter.3`",)


def test_a_folder_that_was_deleted_and_filled_again_is_not_told_as_deleted() -> None:
    talk = Talk().run("rm -rf /src/components").run("mv /src/tui/a.ts /src/components/a.ts")
    assert "/src/components" not in {one.path for one in talk.harvest().files_modified}
    talk = Talk().run("cd /repo && rm -rf src/components").run("cd /repo/src/tui && mv *.ts ../components/")
    assert "deleted" not in {step.verb for one in talk.harvest().files_modified for step in one.steps}
    talk = Talk().run("rm -rf src/components").run("cd /repo/src/tui && mv *.ts ../components/")
    assert "deleted" not in {step.verb for one in talk.harvest().files_modified for step in one.steps}
    assert [one.path for one in Talk().run("rm -rf /src/components").harvest().files_modified] == ["/src/components"]


# What was said and overturned.


def test_a_report_stands_with_what_the_user_said_to_it_and_is_marked_where_it_was_overturned() -> None:
    report = "Both callbacks use setImmediate now. " * 8
    talk = Talk().edit("/a.ts").says(report).says("yeah you can undo that", "user")
    (one,) = facts(talk).reports
    assert one.overturned and one.then == "message 5: yeah you can undo that" and len(one.text) < 130
    (kept,) = facts(Talk().edit("/a.ts").says(report).says("Now the exporter, please, as well", "user")).reports
    assert not kept.overturned and kept.then.startswith("message 5: Now the exporter")


def test_a_report_that_answers_a_later_message_names_what_was_edited_after_it_too() -> None:
    talk = Talk().edit("/src/dark.json").says("Reverted.").says("write some code in markdown here, please", "user")
    talk.says("Blocks of code have the color of the text, inline code has the accent. " * 4)
    talk.says("#b5bd68 was the color of the block", "user").edit("/src/dark.json", new="c")
    assert facts(talk).reports[-1].changed_since == "dark.json"


def test_a_report_names_the_files_that_were_changed_again_since() -> None:
    talk = Talk().edit("/src/a.ts").says("Done: it is flushed at the end. " * 8)
    assert facts(talk).reports[0].changed_since == ""
    talk.says("no, flush it on the next submit", "user").edit("/src/a.ts", new="c")
    assert facts(talk).reports[0].changed_since == "a.ts"


def test_an_announcement_names_what_was_edited_after_it_and_the_newest_commit() -> None:
    plan = "Now I read how the hooks work together, and then I merge the selection into the other hook. " * 3
    talk = Talk().says(plan).run("grep -n Selection app.js", "1: Selection").edit("/js/app.js")
    assert facts(talk).reports[0].changed_since == "app.js"
    talk.run("git commit -m x", "[main 1a2b3c4] x")
    assert facts(talk).reports[0].changed_since == "app.js; committed in message 7"


def test_a_request_that_the_user_took_back_is_marked() -> None:
    talk = Talk().says("Moved.").says("Copy the components to the new folder, please", "user").says("Copied.")
    talk.says("actually, can you revert that? move them instead", "user")
    assert [one.overturned for one in facts(talk).requests] == [False, True, False]


def test_an_announcement_that_calls_followed_says_so() -> None:
    talk = Talk().says("Now fix the components:").edit("/a.ts").edit("/b.ts")
    assert facts(talk).since_said == "before 2 calls (the newest went well)"
    assert talk.harvest().last_said == "before 2 calls (the newest went well): Now fix the components:"


def test_where_an_agent_only_thinks_its_newest_thought_is_what_it_said_last() -> None:
    talk = Talk()
    thought = {"type": "thinking", "thinking": "Now I generate the image.", "signature": ""}
    talk.messages.append({"role": "assistant", "content": [thought]})
    talk.run("ls", "a")
    assert talk.harvest().last_said == "before 1 call (it only looked), a thought: Now I generate the image."
    assert "; the agent thought last, in message 2, before 1 call (it only looked): Now I" in talk.told("next")[0]


def test_a_thought_after_the_users_newest_message_is_newer_than_what_was_said_before_it() -> None:
    talk = Talk().says("All is moved.").says("Move config.ts to src as well, please", "user")
    thought = {"type": "thinking", "thinking": "I need to:\n1. Move it\n2. Mend the imports", "signature": ""}
    talk.messages.append({"role": "assistant", "content": [thought]})
    newest = facts(talk.run("mv a b")).last_said
    assert newest is not None and (newest.message, newest.is_thought) == (4, True)
    assert (
        talk.harvest().last_said == "before 1 call (it went well), a thought: I need to: 1. Move it 2. Mend the imports"
    )


def test_a_short_answer_stands_with_its_question() -> None:
    talk = Talk().says(f"{'The getters are cheap, and ' * 4}the setters save.\nReady to start?").says("ok", "user")
    assert facts(talk).replies[0].about == "Ready to start?"
    talk = Talk().says("`getCwd` is gone.\nBetter?").says("ok", "user")
    assert facts(talk).replies[0].about == "`getCwd` is gone. Better?"
    talk = Talk().says("It stays for reference. Should I proceed?").says("can leave it", "user")
    assert facts(talk).replies[0].about == "It stays for reference. Should I proceed?"


def test_skills_whose_instructions_were_read_are_named() -> None:
    talk = Talk().call("read_file", "# Skill", path="/mnt/skills/video-generation/SKILL.md")
    assert facts(talk).skills == ("video-generation (its instructions were read)",)


@pytest.mark.parametrize(
    "command",
    [
        "git mv src/a.ts src/core/a.ts",
        "cp a.ts b.ts",
        "cd src && for f in *.ts; do sed -i 's/a/b/' $f; done",
        "git checkout -- .",
        "git restore src/a.ts",
    ],
)
def test_a_shell_that_changed_files_stands_behind_the_check_before_it(command: str) -> None:
    talk = Talk().edit("/src/a.ts").run("npm run check", CHECKED)
    assert "again" not in talk.told("next")[0]
    talk.run("ls src", "a.ts").run(command, "")
    assert "then run `npm run check` again, which ran last in message 4" in talk.told("next")[0]
    assert any("before later 1 command that changed files" in text for text in talk.told("done"))
    talk.run("npm run check", CHECKED)
    assert not any("before later" in text for text in talk.told("done"))


def test_a_check_that_a_person_stopped_is_no_check() -> None:
    talk = Talk().run("npm run check", CHECKED).edit("/src/a.ts").call("Bash", "Command aborted", command="npm test")
    assert "run `npm run check` again, which ran last in message 2" in talk.told("next")[0]


HOOKED = "> biome check --write .\nChecked 3 files. No fixes applied.\n[main 1a2b3c4] Move the tools\n 3 files changed"


def test_a_commit_whose_hook_checked_is_a_later_check() -> None:
    talk = Talk().run("npm run check", CHECKED).edit("/src/a.ts").run("git commit -am x", HOOKED)
    assert "run `npm run check` again" not in talk.told("next")[0]
    told = "`npm run check` went well (message 2, a hook checked again in message 6): Found 0 errors"
    assert told in talk.told("done")
    talk.edit("/src/b.ts")
    assert "run `npm run check` again, which ran last in message 2" in talk.told("next")[0]
    assert any("a hook checked again in message 6, before later edits of 1 file" in row for row in talk.told("done"))
    plain = Talk().run("npm run check", CHECKED).edit("/src/a.ts").run("git commit -am x", "[main 1a2b3c4] x")
    assert any("(message 2, before later edits of 1 file)" in row for row in plain.told("done"))


def test_a_longer_message_that_begins_by_taking_back_takes_the_request_before_it_back() -> None:
    more = "I actually want to move those files to where they stay in the end, and both read them from there. " * 3
    talk = Talk().says("Copy the components to the new folder, please", "user").says("Copied.")
    talk.says(f"actually, can you revert that? {more}", "user")
    assert [one.overturned for one in facts(talk).requests] == [False, True, False]
    talk = Talk().says("Copy the components to the new folder, please", "user").says("Copied.")
    assert not any(one.overturned for one in facts(talk.says(f"{more} Or revert that", "user")).requests)


def test_a_file_that_another_was_moved_onto_is_there_again() -> None:
    talk = Talk().edit("/w/main.ts").edit("/w/main-new.ts").run("cd /w && rm main.ts && mv main-new.ts main.ts", "")
    found = {one.path: [step.verb for step in one.steps] for one in talk.harvest().files_modified}
    assert found["/w/main.ts"][-1] == "written" and found["/w/main-new.ts"] == ["edited", "moved"]


def test_a_bracket_in_which_a_text_is_cut_off_stays_whole() -> None:
    said = "move all of src/tui (except tui-renderer.ts) and then the rest of it " + "as it stands there " * 4
    assert one_line(said, 34) == "move all of src/tui (except tui-renderer.ts) […]"
    assert one_line("word " * 20 + "(" + "word " * 40 + ")", 120).endswith("word […]")
    assert one_line("src\n├── core/   # MOVE\n│   └── a.ts\n", 60) == "src core/ # MOVE a.ts"


def test_pages_are_no_files_that_were_read() -> None:
    talk = Talk().call("Read", "a", file_path="/a.py").call("web_fetch", "b", url="https://a.example/x")
    assert talk.harvest().files_read == 1


def test_an_answer_that_only_agrees_is_no_decision_once_something_else_was_asked() -> None:
    asked = "tui-renderer.ts stays where it is. Should I proceed?"
    for answer, stays in (("can leave it", False), ("yes, do it", False), ("PDF", True), ("option 2", True)):
        talk = Talk().says(asked).says(answer, "user").run("mv a b").says("Moved.")
        assert len(decisions(talk)) == 1
        talk.says("Now remove the old renderer as well, please", "user")
        assert len(decisions(talk)) == stays, answer


def test_a_short_yes_is_no_decision_once_what_was_done_for_it_is_committed() -> None:
    talk = (
        Talk().says("The old files are left. Want me to clean that up too?").says("yes need to be fully clean", "user")
    )
    talk.run("git commit -am x", "[main 1a2b3c4] Clean up").says("Done.")
    assert len(decisions(talk)) == 1
    talk.says("Now look at the editor component, please", "user")
    assert decisions(talk) == []


def test_code_asks_no_question() -> None:
    asked = "Like this:\n```ts\nconst level = result.level !== 'off' ?\n```\nShould I start with it?"
    talk = Talk().says(asked).says("ok, create a branch", "user")
    assert decisions(talk) == [("User, message 3: ok, create a branch", "said to: Like this: Should I start with it?")]


def test_what_stands_behind_something_pasted_is_quoted() -> None:
    pasted = "+ 8 - **User Message Text Color**: User messages now respect the token.\n" * 12
    talk = Talk().says(f"{pasted}\nremove that, we only want to say that themes are there", "user").says("Done.")
    talk.says("Now read README.md, please, all of it", "user")
    assert facts(talk).requests[1].text.endswith("[…] remove that, we only want to say that themes are there")


def test_boxes_that_were_skipped_are_no_todos_and_those_of_a_long_plan_are_counted() -> None:
    boxes = "- [x] Write it\n- [ ] SKIPPED (optional cleanup)\n- [ ] Move it\n"
    talk = Talk().call("Write", file_path="/plan.md", content=boxes)
    assert [one.text for one in talk.harvest().todos] == ["Move it"]
    many = "".join(f"- [ ] Move table {n}\n" for n in range(40))
    talk.call("Write", file_path="/plan.md", content=many).run("ls", "a")
    assert talk.harvest().todos == () and "40 of 40 todos (list changed last in message 4)" in talk.told("open")
    assert "table" not in talk.told("next")[0]


def test_a_longer_message_that_gives_data_is_not_the_request_either() -> None:
    talk = Talk("I would like to cancel all of my flights").says("Could you provide your user ID, and the reason?")
    data = (
        "My user ID is amelia_8890. I don't remember the reservation. As for the reason, I want to release my seat for "
    )
    talk.says(data + "someone else who might need it more urgently.", "user").call("get_user", "{}", id="amelia_8890")
    assert talk.told("next")[0].startswith("go on with what is asked in message 1; ")
    assert talk.told("asked")[0].endswith("; before it, message 1: I would like to cancel all of my flights")


def test_of_what_a_hook_found_the_place_is_the_error_and_not_the_heading_above_it() -> None:
    found = "lib/summary.ex:120:18:pattern_match\nThe pattern can never match."
    talk = Talk().run("git commit -m x", f"Failed:\\n\\n[DIALYZER]\nFinding PLTs\n{found}\nexit code 1")
    assert talk.harvest().errors_encountered[0].error == "lib/summary.ex:120:18:pattern_match"


def test_a_look_whose_output_names_an_error_is_not_said_to_have_gone_well() -> None:
    talk = Talk().says("Now let me look at the styles:").run("find css -name a", "find: css: No such file or directory")
    assert "before 1 call (it names an error)" in talk.told("next")[0]
    talk.says("Now let me read the code:").call("Read", "raise an error", file_path="/a.py")
    assert "before 1 call (it only looked)" in talk.told("next")[0]


def test_steps_that_the_agent_thought_of_are_its_plan() -> None:
    thought = "The user wants:\n1. Remove the old main.ts\n2. Add a map to AGENTS.md\n3. Refer to it in README.md"
    talk = Talk("Please tidy up the entry points of this package, and write down what goes where")
    talk.messages.append(
        {"role": "assistant", "content": [{"type": "thinking", "thinking": thought, "signature": "x"}]}
    )
    talk.run("rm /w/main.ts # remove the old one", "").edit("/w/AGENTS.md", new="add a map")
    talk.says("Now the rest of it.").edit("/w/a.txt")
    assert talk.told("next")[0].endswith(
        "; then steps of its plan in message 2 that name files not changed since: Refer to it in README.md"
    )


def test_calls_that_failed_are_said_to_leave_nothing_open_where_that_is_so() -> None:
    talk = Talk().run("npm run check", f"{ERROR}\nexit code 2")
    assert "1 call failed" in talk.told("done")
    assert "1 call failed; nothing of it is open" in talk.run("npm run check", CHECKED).told("done")


def test_a_check_that_another_command_runs_is_settled_by_that_one() -> None:
    runs = f"> pkg@1 build\n> tsgo -p tsconfig.build.json\n\n{ERROR}\nexit code 2"
    talk = Talk().run("npm run build | tail -3", runs).run("npx tsgo -p tsconfig.build.json", f"{ERROR}\nexit code 2")
    assert resolutions(talk)[-1] == ""
    assert resolutions(talk.run("npm run build | tail -3", "done"))[-1] == "a later command that runs it went well"


def test_names_that_a_later_edit_took_out_are_not_told() -> None:
    talk = Talk().call("Edit", file_path="/a.py", old_string="x", new_string="def first(): 1\ndef second(): 2")
    talk.call("Edit", file_path="/a.py", old_string="def second(): 2", new_string="")
    assert talk.harvest().files_modified[0].steps[0].names == ("first",)


def test_a_text_that_was_edited_asks_for_no_check() -> None:
    talk = Talk().run("npm run check", CHECKED).edit("/AGENTS.md").edit("/docs/setup.rst")
    assert "again" not in talk.told("next")[0]


def test_what_failed_before_files_were_changed_is_to_be_run_again() -> None:
    talk = Talk().run("npm run check", f"{ERROR}\nexit code 2")
    assert talk.told("next")[0].startswith("settle what failed last, in message 2: npm run check: ")
    talk.run("sed -i 's/a/b/' src/a.ts", "")
    assert talk.told("next")[0].startswith("run again what failed in message 2: npm run check: ")
    assert talk.told("next")[0].endswith("; files were changed since")


def test_edits_that_were_reverted_or_deleted_with_their_folder_are_told_as_such_or_not_at_all() -> None:
    talk = Talk().edit("/w/kept.ts").run("cd /w && git commit -am x", "[main 1234567] x").edit("/w/src/a.ts")
    talk.call("Write", "ok", file_path="/w/src/new.ts", content="a").run("cp /w/old/* /w/copy/").edit("/w/copy/b.ts")
    talk.run("cd /w && git checkout -- . && rm -rf /w/copy")
    found = {one.path: [step.verb for step in one.steps] for one in talk.harvest().files_modified}
    assert found == {
        "/w/kept.ts": ["edited"],
        "/w/src/a.ts": ["edited", "reverted"],
        "/w/src/new.ts": ["written"],
        "/w/copy": ["deleted"],
    }


def test_an_error_that_the_user_pasted_is_open_while_its_request_is_the_newest() -> None:
    crash = (
        "this exploded at the start\n\n> npx tsx cli.ts -r\nError: Invalid hex color: #000cc\n    at hex (theme.ts:1)"
    )
    talk = Talk().says(crash, "user").edit("/theme.ts")
    found = talk.harvest().errors_encountered
    assert [(one.error, one.where, one.resolution) for one in found] == [
        ("Error: Invalid hex color: #000cc", "pasted by the user in message 2", "")
    ]
    talk.says("It is caught now.").says("Now update the docs of the themes, please", "user")
    assert talk.harvest().errors_encountered == ()
    assert Talk("Why is it an Error: no one knows").harvest().errors_encountered == ()


def test_the_short_end_of_a_short_text_is_not_cut_off() -> None:
    words = "Yes, " + "please book the flight that leaves at noon, " * 3 + "but not the one to Denver"
    assert 140 < len(words) < 180
    assert [one for one, _ in decisions(Talk().says("Shall I book it?").says(words, "user"))] == [
        f"User, message 3: {words}"
    ]


def test_a_correction_of_one_of_several_values_does_not_take_the_others_out() -> None:
    talk = Talk().says("81a2be is what link text was in old pi. 8abeb7 is what bullet was", "user").says("Done.")
    talk.says("yes, in old pi the link url was 666666", "user").says("Done.")
    talk.says("Now write some markdown for me, please", "user")
    assert [one.message for one in facts(talk).requests] == [1, 2, 4, 6]


def test_of_several_texts_in_one_message_the_first_is_what_the_user_said_then() -> None:
    talk = Talk().says("These are all the colors of the theme as they are at this time. " * 4)
    texts = [{"type": "text", "text": "the link is #b5bd68, please"}, {"type": "text", "text": "f0c674"}]
    talk.messages.append({"role": "user", "content": texts})
    assert facts(talk).reports[0].then == "message 3: the link is #b5bd68, please"


def test_data_that_was_asked_for_without_a_question_is_not_the_request() -> None:
    talk = Talk("I want to upgrade one of my reservations. Could you assist me with that?")
    talk.says("I can help you. Please provide me with your user ID and the reservation ID for the reservation.")
    talk.says("My user ID is aarav_6699. The reservation ID I'd like to upgrade is M20IZO.", "user")
    talk.call("get_reservation", "{}", id="M20IZO")
    assert talk.told("next")[0].startswith("go on with what is asked in message 1; ")


def test_an_answer_that_takes_one_of_the_examples_stands_beside_their_question() -> None:
    asked = "What timeframe is recent? (e.g., last 6 months, last year) Also, how many episodes would you like?"
    talk = Talk().says(f"{asked} Shall I take all?").says("last 6 months", "user")
    assert decisions(talk)[0][1] == "said to: What timeframe is recent? (e.g., last 6 months, last year)"


def test_a_plan_that_was_thought_before_words_of_the_same_message_is_told() -> None:
    thought = {"type": "thinking", "thinking": "I plan:\n1. Move the core\n2. Update all imports", "signature": "x"}
    talk = Talk()
    talk.messages.append({"role": "assistant", "content": [thought, {"type": "text", "text": "Let me do this:"}]})
    left = "; its plan in message 2, of which some may be done: Move the core; Update all imports"
    assert left in talk.run("mv a core/", "").told("next")[0]


def test_what_a_search_shows_of_files_is_no_error_that_it_met() -> None:
    code = "export class ThemeError extends Error {\n  onCancel: () => void; // missing, invalid"
    talk = Talk().says("Now let me look at the errors:").run('grep -A 20 "class Theme" src/theme.ts', code)
    assert "before 1 call (it only looked)" in talk.told("next")[0]
    talk.says("And at the others:").run("cat a.ts && grep x b.ts", "cat: a.ts: No such file or directory")
    assert "before 1 call (it names an error)" in talk.told("next")[0]
    talk.says("Now let me build it:").run("cat a.ts && ./go.sh", "error: cannot find x")
    assert "before 1 call (it names an error)" in talk.told("next")[0]


def test_a_commit_that_fails_alike_is_not_said_to_fail_with_another_error() -> None:
    found = "Finding:\n  ┃      lib/summary.ex:{}:10 #(call_llm) error\nexit code 1"
    talk = Talk().edit("/lib/a.ex")
    talk.run("git add a && git commit -m x", found.format(110)).run("git commit -m x", found.format(112))
    first, second = talk.harvest().errors_encountered
    assert first.resolution == "a later run fails alike, and is told by itself" and second.resolution == ""
    talk.run("git commit -m x", "fatal: another git process runs\nexit code 128")
    assert "fails with another error" in resolutions(talk)[1]


def test_what_the_user_chose_of_a_tools_question_stands_in_what_was_asked_last_behind_a_bare_continue() -> None:
    answer = 'User has answered your questions: "Skip the hook, or fix?"="main was clean; fix the issues".'
    talk = Talk().edit("/a.ex").says("continue", "user")
    talk.call("AskUserQuestion", answer, questions=[]).edit("/b.ex")
    assert talk.told("asked") == [
        "message 1: Move the importer to Postgres; then message 6: main was clean; fix the issues"
    ]


def test_a_finding_of_a_file_edited_since_that_a_later_check_no_longer_names_is_not_told() -> None:
    talk = Talk().edit("/lib/live.ex").run("mix dialyzer", "lib/live.ex:25:guard_fail never succeeds\nexit: 0")
    talk.run("mix dialyzer --format short", "lib/live.ex:25:guard_fail The guard never succeeds.")
    told = [one for one in talk.told("done") if "dialyzer" in one]
    assert len(told) == 1 and "guard_fail" in told[0]
    talk.edit("/w/lib/live.ex").run("git commit -m x", "lib/other.ex:9:call_without_opaque\nexit code 1")
    assert not any("guard_fail" in one for one in talk.told("done"))


def test_a_search_is_told_with_the_place_that_it_looked_in() -> None:
    """ "No matches found" of one file read as if the name stood nowhere."""
    talk = Talk("Where is the event handled?")
    talk.call("Grep", "No matches found", pattern="toggle_group", path="/srv/app/lib/live/session_live.ex")
    assert "last, Grep `toggle_group` in `live/session_live.ex` (message 2): No matches found" in talk.told("done")
    talk.call("Grep", "No matches found", pattern="toggle_group")
    assert any("Grep `toggle_group` (message 4): No matches found" in one for one in talk.told("done"))


def test_what_the_last_edits_changed_is_told_by_their_lines() -> None:
    old, new = "setImmediate(() => {\n  apply(theme);\n});\nkeep();", "apply(theme);\nkeep();"
    talk = Talk("Undo the setImmediate, please: it was the console.log that did it")
    talk.call("Edit", "Replaced.", file_path="/src/tui.ts", old_string=old, new_string=new)
    words = "- setImmediate(() => { (of 2 changed lines)"  # and the one that closes it
    assert talk.told("done")[0] == f"last, Edit `/src/tui.ts` (message 2): {words}"
    single = Talk("Undo the log, please")
    single.call("Edit", "Replaced.", file_path="/src/tui.ts", old_string="log(it);\nkeep();", new_string="keep();")
    assert single.told("done")[0] == "last, Edit `/src/tui.ts` (message 2): - log(it);"
    twice = Talk("It is there twice")
    twice.call("Edit", "Replaced.", file_path="/a.ts", old_string="on(it);\nat(it);\non(it);", new_string="on(it);")
    assert "(of 2 changed lines)" in twice.told("done")[0], "one of two equal lines is gone"
    talk.call("Read", "a\nb", file_path="/src/theme.ts")
    assert f"edit of tui.ts (message 2): {words}" in talk.told("done")
    talk.call("Edit", "the edit failed", error=True, file_path="/src/b.ts", old_string="x", new_string="why")
    assert not any("+ why" in one for one in talk.told("done"))


def test_what_went_through_for_an_earlier_request_stands_in_the_summary() -> None:
    talk = Talk("Cancel my flight M20IZO, please")
    talk.call("cancel_reservation", '{"status": "cancelled"}', reservation_id="M20IZO").says("It is cancelled.")
    talk.says("Now find me a flight from JFK to SFO on May 24", "user").call("search_flights", "[]", origin="JFK")
    assert talk.told("finished") == ['went through: cancel_reservation `M20IZO` (message 2): {"status": "cancelled"}']


def test_a_todo_that_several_commands_did_together_is_not_next() -> None:
    todos = [
        {"content": "Generate hero image and product images", "status": "in_progress"},
        {"content": "Design and build the landing page", "status": "pending"},
    ]
    talk = Talk().call("TodoWrite", todos=todos)
    talk.run("python generate.py --prompt-file hero.json", "Successfully generated image to /out/hero.jpg")
    assert talk.told("next")[0].startswith("go on with: Generate hero image")
    talk.run("python generate.py --prompt-file products.json", "Successfully generated image to /out/products.jpg")
    did = "(message 6 did: Generate hero image and product images)"
    assert talk.told("next") == [f"begin: Design and build the landing page {did}"]


def test_a_list_whose_files_were_all_written_since_is_not_next() -> None:
    todos = [{"content": f"Write {name}.md", "status": "pending"} for name in ("guide", "faq")]
    talk = Talk().call("TodoWrite", todos=todos).call("Write", file_path="/d/guide.md", content="x")
    assert "not ticked" not in talk.told("next")[0]
    talk.call("Write", file_path="/d/faq.md", content="x")
    written = "check and report: boxes of message 2 not ticked since; files written since: faq.md, guide.md"
    assert talk.told("next")[0].startswith(written)


def test_the_newest_request_and_the_agents_newest_words_stand_whole_and_a_cut_keeps_the_last_sentence() -> None:
    rules = " ".join(f"Rule {n} says that rows of kind {n} go first." for n in range(20))
    talk = Talk(f"Write the guide. {rules} Give every file whole, please.").run("ls", "a")
    assert talk.told("asked")[0].endswith("Give every file whole, please.") and "[…]" not in talk.told("asked")[0]
    plan = " ".join(f"Part {n} of the guide tells of rows." for n in range(25))
    talk.says(f"{plan} Shall I begin with part 3?")
    assert facts(talk).reports[-1].text == f"{plan} Shall I begin with part 3?"
    talk.says("Yes, please do that, and keep it short", "user").says(f"{plan * 3} Part 3 is written.")
    assert (
        facts(talk).reports[0].text.endswith("[…] Shall I begin with part 3?")
        or "[…]" not in facts(talk).reports[0].text
    )
    assert facts(talk).reports[-1].text.endswith("[…] Part 3 is written.")


def test_of_the_lines_that_changed_a_remark_is_not_the_one_that_is_told() -> None:
    old, new = "// Hide it first\nsetImmediate(() => {\n  apply();", "// Hide it\napply();"
    talk = Talk().call("Edit", "Replaced.", file_path="/src/tui.ts", old_string=old, new_string=new)
    assert "(message 2): - setImmediate(() => { / + // Hide it (of 3 changed lines)" in talk.told("done")[0]


def test_what_the_agent_listed_as_remaining_is_quoted_with_its_message() -> None:
    listed = "WP16 is done.\n\n**Next steps (WP17-WP20):**\n- WP17: Move the components\n- WP20: Clean up\n\nShall I?"
    talk = Talk().edit("/a.ts").says(listed)
    words = "Next steps (WP17-WP20): - WP17: Move the components - WP20: Clean up"
    assert talk.harvest().next_steps == (f"Listed by the agent in message 4: {words}",)
    talk.says("Now copy the components into their final folder", "user").edit("/b.ts")
    assert talk.harvest().next_steps == (f"Listed by the agent in message 4, before the newest request: {words}",)
    old = talk.harvest()
    talk.says("Copied.\n\nRemaining:\n1. Update the imports")
    kept = fit(old, talk.harvest(), len, 100_000)
    assert kept.next_steps == ("Listed by the agent in message 8: Remaining: 1. Update the imports",)
    talk = Talk().says("Next steps are up to you: remaining work is none. Is that all right with you now?")
    assert talk.harvest().next_steps == ()


def test_what_commands_moved_and_deleted_is_told_by_name_also_beside_the_last_commit() -> None:
    talk = Talk("Remove main.ts and cli.ts").edit("/src/args.ts").run("git commit -am x", "[dev 1234567] x")
    talk.edit("/src/args.ts").run("cd /w/src && rm main.ts cli.ts 2>/dev/null; echo done", "done")
    talk.run("cd /w/src && mkdir -p lib && git mv main-new.ts main.ts").run("npm run check > /tmp/out", "fine")
    gone = "deleted main.ts, cli.ts (errors of it were not shown)"
    moved = "made folder lib; moved main-new.ts to main.ts"
    assert f"by a command (message 8): {gone}" in talk.told("done")
    assert f"by a command (message 10): {moved}" in talk.told("done")
    since = f"1 file edited since the last commit (message 4): args.ts; by commands: {gone}; {moved}"
    assert since in talk.told("open")


def test_a_tree_that_was_seen_clean_is_told_and_what_was_changed_counts_from_there() -> None:
    talk = Talk().edit("/a.ts").run("git commit -am x", "[dev 1234567] x").run("cp b.ts a.ts")
    talk.run("git status", "On branch dev\nnothing to commit, working tree clean").edit("/b.ts")
    seen = "1 file edited since the last commit (message 4; `git status` showed a clean tree in message 8): b.ts"
    assert seen in talk.told("open")


def test_what_was_edited_again_after_the_commit_of_a_plan_is_not_told_as_committed() -> None:
    plan = "1. Move the parser of arguments into a file of its own\n2. Mend the imports of everything that calls it"
    talk = Talk().says(f"Here is what I do:\n{plan}").edit("/args.ts").edit("/main.ts")
    talk.run("git commit -am x", "[dev 1234567] x")
    assert facts(talk).reports[-1].changed_since == "args.ts, main.ts; committed in message 7"
    since = "args.ts, main.ts; committed in message 7, and after that edited again: args.ts"
    assert facts(talk.edit("/args.ts")).reports[-1].changed_since == since.replace("args.ts, main", "main.ts, args", 1)


def test_a_check_that_was_started_again_and_stopped_is_told_as_such() -> None:
    talk = Talk().edit("/a.ts").run("npm run check", "fine").run("npm run check | tail -10", "Command aborted")
    talk.messages[-1]["content"][0]["is_error"] = True
    told = (
        "`npm run check` ran and shows no error (message 4, started again in message 6 and stopped by a person): fine"
    )
    assert told in talk.told("done")
    again = "run `npm run check` again, which ran last in message 4, was started again in message 6 and stopped by a"
    assert again in talk.edit("/a.ts").told("next")[0]


def test_what_a_filter_showed_of_a_check_is_not_taken_as_all_of_it() -> None:
    wide = "lib/summary.ex:112:pattern_match\nlib/slice.ex:40:call\nlib/live.ex:25:guard_fail"
    talk = Talk().edit("/lib/live.ex").run("mix dialyzer | grep -E '^(lib|test)/'", wide)
    talk.run("mix dialyzer --format short | grep live", "lib/live.ex:25:guard_fail never succeeds").edit("/lib/live.ex")
    told = [one for one in talk.told("done") if "dialyzer" in one]
    assert told[0].endswith("before later edits of 1 file): 3 places in summary.ex, slice.ex, live.ex")
    assert "what `grep live` showed of it names places in files" in told[1]


@pytest.mark.parametrize(
    ("seen", "gone"), [("grep other", False), ("grep a.ts", True), ("grep -E 'error|warning'", True)]
)
def test_a_run_of_which_a_filter_hid_the_error_does_not_settle_it(seen: str, gone: bool) -> None:
    talk = Talk().run("npm run check", f"{ERROR}\nexit code 2").run(f"npm run check | {seen}", "(no output)")
    assert (resolutions(talk) != [""]) is gone


def test_another_check_that_ran_after_every_round_of_edits_is_run_again_too() -> None:
    talk = Talk()
    for _ in range(3):
        talk.edit("/a.ts").run("npm run build", "built")
    talk.edit("/a.ts").run("npm run check", CHECKED)
    assert (
        "run `npm run build`, as before, which ran last in message 12: files were changed since" in talk.told("next")[0]
    )
    assert "as before" not in talk.run("npm run build", "built").told("next")[0]


def test_a_short_request_that_points_at_a_list_of_the_agent_stands_with_the_list() -> None:
    found = (
        "I see these:\n1. **`renderAll` and `rebuild` are alike** (60 lines)\n2. **Slash commands** repeat a pattern"
    )
    talk = Talk().says(f"{found}\n\nThe biggest win is the first. Want me to tackle these?")
    talk.says("are we all commited? if yes, do it, if not commit first", "user").run("git status", "clean")
    about = "(said to: 1. `renderAll` and `rebuild` are alike (60 lines) 2. Slash commands repeat a pattern "
    assert about in talk.told("asked")[0] and "Want me to tackle these?)" in talk.told("asked")[0]
    talk = Talk().says("The tests pass. Want me to tackle these?").says("why are there two handlers in there?", "user")
    assert "said to" not in talk.run("ls", "a").told("asked")[0]


def test_a_cut_report_that_asks_for_an_option_names_what_the_options_are() -> None:
    long = "The bash message comes between the call of a tool and its result. " * 20
    options = "**Option A (Simple):** Block it\n- Pros: safe\n\n**Option B (Better):** Queue it\n- Cons: more"
    talk = Talk().says(f"{long}\n\n{options}\n\n**Recommendation:** Option A\n\nWant me to implement Option A?")
    talk.says("sooo, why are we using appendMessage for this?", "user").says(f"{long}\nBecause it is older.")
    text = facts(talk).reports[0].text
    assert text.endswith("[…] Option A (Simple): Block it Option B (Better): Queue it Want me to implement Option A?")


def test_the_request_before_the_newest_stands_beside_it() -> None:
    talk = Talk("Find me a flight").says("Here are some.").says("No later than May 27, the same day, please", "user")
    talk.says("Here are others.").says("Which of them is the fastest one? Add a bag, too", "user").run("ls", "a")
    told = "; the request before it, message 3: No later than May 27, the same day, please"
    assert talk.told("asked")[0].endswith(told)


def test_values_that_the_user_gave_anew_later_do_not_stand_beside_a_report() -> None:
    report = "All colors are in now. This tests every part of the markdown that the theme has a color for. " * 3
    talk = Talk().says(report).says("markdown link text #b5bd68, list bullet #b5bd68", "user").edit("/dark.json")
    assert "#b5bd68" in facts(talk.says(report)).reports[0].then
    talk.says("81a2be is what link text is in the old markdown", "user").edit("/dark.json").says(report)
    assert facts(talk).reports[0].then == ""


def test_after_a_failed_check_the_steps_of_the_plan_that_name_files_not_changed_yet_come_next() -> None:
    steps = ("Finish it and commit", "Remove main.ts and cli.ts", "Add a map to AGENTS.md", "Write GUIDE.md")
    talk = Talk().says("\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)))
    talk.edit("/src/args.ts").run("git commit -am x", "[dev 1234567] x")
    talk.run("cd /src && rm main.ts cli.ts").run("npm run check", f"{ERROR}\nexit code 2")
    left = "steps of its plan in message 2 that name files not changed since: "
    assert talk.told("next")[0].startswith("settle what failed last")
    assert talk.told("next")[0].endswith(f"; then {left}Add a map to AGENTS.md; Write GUIDE.md")
    assert f"{left}Write GUIDE.md" in talk.edit("/AGENTS.md").run("npm run check", CHECKED).told("next")[0]


def test_a_plan_says_which_steps_an_edit_brought_in_and_is_over_with_a_commit_that_was_tried() -> None:
    steps = ("Add `getText()` helper", "Merge `one` and `other` into one method of its own", "Create a map of commands")
    plan = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    talk = Talk().says(f"Now I understand the full picture of what is alike. Let me do the refactoring:\n{plan}")
    talk.edit("/a.ts", new="\tprivate getText(): string {\n\t\treturn a;\n\t}")
    step = "its plan in message 2, of which some may be done: Add `getText()` helper (an edit since brought it in)"
    assert f"{step}; Merge" in talk.told("next")[0] and "Create a map" in talk.told("next")[0]
    talk.run("git commit -am x", "lib/a.ex:9:call\nexit code 1").edit("/b.ts")
    assert "of which some may be done" not in talk.told("next")[0]


def test_an_offer_that_the_user_did_not_take_up_is_no_next_step() -> None:
    offer = "Done.\n\nNext steps when you're ready:\n1. Delete old code\n2. Rename main-new.ts\n\nShall I do that now?"
    assert Talk().edit("/a.ts").says(offer).harvest().next_steps != ()
    assert Talk().says(offer).says("alright, now look at interactive-mode.ts", "user").harvest().next_steps != ()
    assert Talk().says(offer).says("what about the selectors, are they alike?", "user").harvest().next_steps == ()


def test_of_a_list_ticked_before_the_newest_request_only_the_number_is_told() -> None:
    todos = [{"content": f"Add method {n}", "status": "completed"} for n in range(5)]
    talk = Talk().call("TodoWrite", todos=todos)
    assert len(talk.told("finished")) == 5
    talk.says("All is done.").says("Now remove the old files, please", "user").run("ls", "a")
    assert talk.told("finished") == ["5 todos of lists, changed last in message 2"]
    assert facts(talk).finished == ("5 todos of lists, changed last in message 2",)


def test_of_a_record_that_was_looked_up_its_own_fields_are_told_before_what_is_in_it() -> None:
    flights = [{"origin": "DFW", "flight_number": f"HAT{n}", "date": "2024-05-22", "price": 100 + n} for n in range(9)]
    record = {"reservation_id": "MSJ4OA", "user_id": "amelia_1", "cabin": "economy", "flights": flights}
    record |= {"created_at": "2024-05-05T14:36:15", "total_baggages": 3, "insurance": "yes"}
    talk = Talk("Cancel all of them").call("get_reservation_details", json.dumps(record), reservation_id="MSJ4OA")
    talk.run("ls", "a")
    own = '"cabin": "economy" […] "date": "2024-05-22", "price": 100 […]'
    end = '"created_at": "2024-05-05T14:36:15", "total_baggages": 3, "insurance": "yes"'
    assert f"get_reservation_details `MSJ4OA` (message 2): {own}" in talk.told("done")[1]
    assert talk.told("done")[1].endswith(end)


def test_for_which_of_the_listed_things_something_was_done_is_told() -> None:
    talk = Talk().says("I found these: 1. 8C8K4E 2. UDMOP1 3. XAZ3C0. Which shall I cancel?")
    talk.says("I would like to cancel all of these reservations", "user")
    talk.call("get_reservation", "{}", reservation_id="8C8K4E")
    none = "no call that changes something was seen since for any of the codes in message 2: 8C8K4E, UDMOP1, XAZ3C0"
    assert talk.told("next")[0].endswith(none)
    talk.call("cancel_reservation", '{"status": "cancelled"}', reservation_id="8C8K4E")
    done = "of the codes in message 2 cancel_reservation went through for 8C8K4E"
    assert talk.told("next")[0].endswith(f"{done}, was not called for UDMOP1, XAZ3C0")
    talk.call("cancel_reservation", "Error: basic economy", error=True, reservation_id="UDMOP1").run("ls", "a")
    talk.call("cancel_reservation", '{"status": "cancelled"}', reservation_id="XAZ3C0")
    assert "was not called" not in talk.told("next")[0]


def test_of_a_hook_of_several_parts_the_first_that_failed_is_the_error() -> None:
    said = (
        "Pre-commit validation failed:\\n\\n[FORMAT] Code is not formatted.\\nRun 'mix format' to fix.\\n\\n[CREDO]\n"
    )
    talk = Talk().edit("/a.ex").run("git commit -m x", f"{said}lib/b.ex:9:3 #(B.call)\nexit code 1")
    assert [one.error for one in talk.harvest().errors_encountered] == ["[FORMAT] Code is not formatted."]


def test_of_a_request_that_only_looks_the_files_read_and_not_found_are_told() -> None:
    talk = Talk("Explore it. Key files:\n- lib/live.ex\n- lib/live.html.heex\n- test/live_test.exs")
    talk.call("Glob", "No files found", pattern="**/*live.html.heex").call(
        "Read", "defmodule", file_path="/w/lib/live.ex"
    )
    missed = "<tool_use_error>File does not exist.</tool_use_error>"
    talk.call("Read", missed, error=True, file_path="/w/lib/live.html.heex")
    assert "report, or look further" not in talk.told("next")[0]
    talk.call("Read", "test", file_path="/w/test/live_test.exs")
    assert "files read: live.ex, live_test.exs" in talk.told("done")
    assert "looked for and not found: live.html.heex" in talk.told("done")
    read = "of the files that message 1 names 2 were read, 1 file not found: report, or look further"
    assert talk.told("next")[0].endswith(read)
    assert not any(one.startswith("files read: ") for one in talk.edit("/w/lib/live.ex").told("done"))


def test_where_the_agent_ended_its_turn_an_error_that_is_still_open_is_told() -> None:
    talk = Talk().run("npm run check", f"{ERROR}\nexit code 2").says("The check fails, which was so before.")
    waits = "wait for the user: the agent had the last word, in message 4"
    assert talk.told("next") == [f"not seen resolved: {ERROR}; {waits}"]


def test_questions_that_are_numbered_are_no_plan() -> None:
    asked = "1. What age shall she have? (e.g., 20s)\n2. What time of day? (e.g., evening)\nPlease answer these two."
    talk = Talk().says(asked).says("1. 20s 2. sunny", "user").call("Write", file_path="/w/prompt.json", content="x")
    assert "its plan" not in talk.told("next")[0]

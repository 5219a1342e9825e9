"""What the user laid down is found word for word, in many languages, and goes when the user takes it back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from palimpsest_mcp.memory.summary.fit import fit
from palimpsest_mcp.memory.summary.harvest import harvest
from palimpsest_mcp.memory.summary.merge import merge
from palimpsest_mcp.memory.summary.orders import orders_of
from palimpsest_mcp.memory.summary.sections import from_markdown, to_markdown
from palimpsest_mcp.models.items import Item, content_sha256
from palimpsest_mcp.models.summaries import AnchoredSummary, StandingOrder


def said(*texts: str, role: Any = "user", first: int = 0) -> list[Item]:
    return [
        Item(id=f"m{row}", kind="message", role=role, position=(row, 0), content=text, sha256=content_sha256(text))
        for row, text in enumerate(texts, first)
    ]


def standing(items: Sequence[Item]) -> list[str]:
    return [one.text for one in orders_of(items, str).standing]


@pytest.mark.parametrize(
    "text",
    [
        "Never push to main without my review.",
        "Don't deploy until QA has signed off.",
        "from now on run the linter before every commit",
        "All public functions must have type hints.",
        "The cloud bill may be at most $40 a day.",
        "The deadline is 2027-03-04.",
        "Call me Ms. Okafor in commit trailers.",
        "I prefer short functions with early returns.",
        "The cap is $500. Never exceed it.",
        "Fact: production runs in eu-west-3, not in eu-west-1.",
        "invalid themes must NEVER explode",
        "omg use rgb values in the themes, no rgb indices!",
        "If more than $100 of it will be wasted, please use my gift card and credit card instead.",
        "If it takes longer than 20 minutes, stop and tell me.",
        "Ab jetzt keine neuen Abhängigkeiten ohne Rückfrage.",
        "Bitte die Datei config/prod.yaml nicht anfassen!",
        "Ne touche jamais au dossier legacy/.",
        "No toques la tabla de usuarios hasta que yo lo diga.",
        "Rispondi sempre in italiano.",
        "Não use bibliotecas externas.",
        "Gebruik nooit sudo in scripts.",
        "Nie używaj globalnych zmiennych.",
        "Никогда не удаляй миграции.",
        "今後はコミットメッセージを必ず英語で書いて。",
        "不要直接提交到 main 分支。",
        "앞으로 테스트 없이 커밋하지 마세요.",
    ],
)
def test_an_order_stands_word_for_word_with_its_message(text: str) -> None:
    found = orders_of([*said("Fix the parser."), *said(f"Looks good. \n{text}", first=7)], str)
    assert found.standing == (StandingOrder(text=text, message=8),)


@pytest.mark.parametrize(
    "text",
    [
        "Can you never see it?",
        "I never saw this error.",
        "It always fails on CI.",
        "I don't know.",
        "Don't worry about it.",
        "no problem, thanks",
        "The tests must be broken.",
        "I have always liked it.",
        "There is no file here.",
        "i don't tink it works correctly",
        "I'll make sure to find my id.",
        "Actually, never mind.",
        "Please add a test for the parser.",
        "what must I do?",
        "The build never finishes.",
        "Das geht nie.",
        "Je ne sais pas.",
        "我不知道。",
        "Я не знаю.",
        '{"rule": "never push"}',
        "> never push",
        "```\nnever push to main\n```",
        "<system-reminder>You must never push.</system-reminder>",
    ],
)
def test_ordinary_talk_and_what_was_pasted_lay_nothing_down(text: str) -> None:
    assert standing(said("Fix the parser.", text)) == []


def test_only_the_user_lays_something_down() -> None:
    result = Item(
        id="t", kind="tool_result", role="tool", position=(2, 0), content="Never push to main.", sha256="0" * 64
    )
    assert standing([*said("Go on."), *said("Never push to main.", role="assistant", first=1), result]) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use tabs for indentation everywhere, always.", "Actually, use spaces instead of tabs."),
        ("Never push to main.", "You may push to main now."),
        ("Budget is $400.", "Budget is $650."),
        ("The deadline is 2027-03-04.", "The deadline has moved to 2027-05-06."),
        ("Rule: use yarn for everything.", "no, use pnpm instead of yarn"),
        ("Always use the staging API.", "Never use the staging API."),
        ("Immer Tabs verwenden.", "Doch lieber Leerzeichen statt Tabs."),
        ("Rule: all times in UTC.", "From now on, report all times in Pacific time."),
    ],
)
def test_a_later_order_of_the_same_subject_takes_the_old_ones_place(old: str, new: str) -> None:
    found = orders_of(said(old, "Thanks, that looks fine.", new), str)
    assert [one.text for one in found.standing] == [new]
    assert [one.text for one in found.withdrawn] == [old]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Travel budget is $300.", "Project budget is $900."),
        ("Never touch the users table.", "Never touch the orders table."),
        ("Never push secrets.", "Never push to main."),
        ("Always answer in German.", "Always keep answers short."),
        ("All timestamps must be in UTC.", "Never book the flight that departs at 03:00 EST for Atlanta."),
        ("Always run the tests before a commit.", "Put helpers in utils, not in tests, always."),
    ],
)
def test_orders_of_different_subjects_stand_side_by_side(one: str, other: str) -> None:
    assert standing(said(one, other)) == [one, other]


def test_what_only_touches_a_subject_takes_nothing_back() -> None:
    order = "All timestamps must be in UTC."
    assert standing(said(order, "Actually, I wanted the one at 03:00 EST to Las Vegas.")) == [order]


def test_an_order_that_the_user_broke_over_two_lines_keeps_its_exception() -> None:
    text = "Never push anything to the main branch of this repository\nwithout asking me first."
    assert standing(said("Hi there.", text)) == [" ".join(text.split())]


def test_a_secret_in_an_order_is_masked() -> None:
    found = orders_of(said("Always use the key hunter2hunter2 for staging."), lambda text: text.replace("hunter2", "*"))
    assert [one.text for one in found.standing] == ["Always use the key ** for staging."]


def test_a_decision_that_the_user_rejects_is_struck_with_the_users_words() -> None:
    items = said("Store the events.") + said("I'll go with sqlite because it is small.", role="assistant", first=1)
    items += said("No, use postgres instead of sqlite.", first=2)
    (decision,) = harvest(items, str).decisions_made
    assert decision.superseded and decision.superseded_by == "No, use postgres instead of sqlite."
    assert "~~**I'll go with sqlite**~~ (superseded by **No, use postgres" in to_markdown(harvest(items, str))


def test_a_decision_that_was_kept_before_its_rejection_is_struck_by_the_next_pass() -> None:
    items = said("Store the events.") + said("I'll go with sqlite because it is small.", role="assistant", first=1)
    kept = fit(AnchoredSummary(), harvest(items, str), len, 10_000)
    items += said("No, use postgres instead of sqlite.", first=2)
    (decision,) = fit(from_markdown(to_markdown(kept)), harvest(items, str), len, 10_000).decisions_made
    assert decision.superseded


def test_what_the_user_takes_back_leaves_a_summary_that_held_it() -> None:
    items = said("Never push to main.", "Thanks for that.")
    kept = fit(AnchoredSummary(), harvest(items, str), len, 10_000)
    assert [one.text for one in kept.standing_orders] == ["Never push to main."]
    items += said("You may push to main now.", first=2)
    again = fit(from_markdown(to_markdown(kept)), harvest(items, str), len, 10_000)
    assert [one.text for one in again.standing_orders] == ["You may push to main now."]
    assert "Never push" not in to_markdown(again).split("## Session Intent")[0]


def test_orders_of_the_session_before_stay_until_this_one_takes_them_back() -> None:
    before = AnchoredSummary(
        standing_orders=(
            StandingOrder(text="Never push to main.", message=3),
            StandingOrder(text="Budget is $400.", message=9),
        )
    )
    found = fit(before, harvest(said("Budget is $650."), str), len, 10_000)
    assert [one.text for one in found.standing_orders] == ["Never push to main.", "Budget is $650."]


def test_what_somebody_states_stays_until_somebody_supersedes_it() -> None:
    stated = AnchoredSummary(standing_orders=(StandingOrder(text="Never push to main."),))
    kept = fit(stated, harvest(said("Fix the parser."), str), len, 10_000)
    assert [one.text for one in kept.standing_orders] == ["Never push to main."]
    assert merge(kept, AnchoredSummary(), supersede=["never push to main"]).standing_orders == ()


def test_orders_are_the_first_section_and_the_last_to_be_cut_and_what_is_cut_is_counted() -> None:
    items = said(*(f"Never touch the table number{row} of customer{row}, whatever happens there." for row in range(99)))
    summary = fit(AnchoredSummary(), harvest(items, str), lambda text: len(text) // 4, 1_500)
    kept, left_out = len(summary.standing_orders), summary.left_out["standing_orders"]
    assert kept + left_out == 99 and kept >= 20
    text = to_markdown(summary)
    assert text.index("## Standing Orders") < text.index("## Session Intent")
    assert f"- … and {left_out} more: `" in text


def test_a_summary_of_an_earlier_version_still_opens() -> None:
    text = "# Anchored Summary\n\n- Session: s1\n\n## Session Intent\nFix it\n\n## Blockers / Open Questions\n"
    summary = from_markdown(text + "No blockers and no open questions.\n")
    assert (summary.session_intent, summary.standing_orders, summary.blockers) == ("Fix it", (), ())


@pytest.mark.parametrize(
    "piece", ["never ", "don't ", "not ", "instead of a", "```\n", "<command-x>", "の代わりに", "x must "]
)
def test_hostile_talk_takes_no_time(piece: str) -> None:
    started = time.perf_counter()
    orders_of(said(piece * (200_000 // len(piece))), str)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "text",
    [
        "It crashed while you were working, that should never happen.",
        "The queue component doesn't adhere to the invariant that every line must not be wider than the width.",
        "It's just me, so no additional passengers.",
        "Your task is to create a detailed summary of the conversation so far.\nDo not start on tangential requests.",
    ],
)
def test_reports_and_the_hosts_own_request_for_a_summary_lay_nothing_down(text: str) -> None:
    """Each stood among the orders of a real session."""
    assert standing(said(text)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACT: The database runs in region eu-south-4.", "FACT: The database runs in region ap-south-6."),
        (
            "FACT: Use https://moiks.internal/v2 as the staging API base URL.",
            "FACT: Staging API lives at https://pnw.internal/v2.",
        ),
        (
            "RULE: Only Ada Moor may approve deploys to production.",
            "RULE: Only Lin Tau may approve deploys to production.",
        ),
        ("Never deploy without Ada Moor approving it.", "Never deploy without Lin Tau approving it."),
        ("Always write code examples in Python.", "From now on write code examples in Swift."),
        ("FACT: Our database of record is hosted in eu/south.", "FACT: The database of record runs in ap/south."),
        (
            "HARD CONSTRAINT: Production deploys need approval from Ada Moor and nobody else.",
            "HARD CONSTRAINT: No production deploy without Lin Tau approving it first.",
        ),
        ("PREFERENCE: Send the weekly report on Monday.", "PREFERENCE: Weekly report day: Friday."),
        ("GOAL: The next step is the rollback plan.", "GOAL: Next up: load tests."),
    ],
)
def test_the_same_order_with_other_values_takes_the_old_ones_place(old: str, new: str) -> None:
    assert standing(said(old, new)) == [new]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("FACT: The staging database runs in region eu-1.", "FACT: The production database runs in region eu-2."),
        ("Never edit table t1 of the archive.", "Never edit table t2 of the archive."),
        ("Never mail Ada Moor about the release.", "Never mail Lin Tau about the release."),
        ("RULE: Never send payroll data to anybody outside.", "RULE: Never send health data to anybody outside."),
        ("GOAL: The working branch is spike/a-1.", "GOAL: The branch is based on commit 72bab05."),
        ("GOAL: We migrate the login to OAuth. Next step is the token.", "GOAL: The next step is the audit log."),
        (
            "RULE: Backups of the invoice database go to s3://eu/invoices.",
            "RULE: Backups of the users database go to s3://eu/users.",
        ),
        ("RULE: Reviews of the billing service go to Ada Moor.", "RULE: Reviews of the search service go to Lin Tau."),
        ("RULE: At most 3 retries for uploads to storage.", "RULE: At most 5 retries for downloads from storage."),
        (
            "RULE: Mail of customers in Spain is sent from es.x.org.",
            "RULE: Mail of customers in France is sent from fr.x.org.",
        ),
        ("RULE: The invoice total must be 100 EUR.", "RULE: The invoice shipping must be 20 EUR."),
        ("RULE: Keep backups of the database for 30 days in region eu-1.", "RULE: Run the database in region eu-2."),
    ],
)
def test_other_values_of_other_things_and_bans_stand_side_by_side(one: str, other: str) -> None:
    assert standing(said(one, other)) == [one, other]


@pytest.mark.parametrize(
    "text",
    [
        "this plan must be written in such a way that a new session can start from it",
        "in the system prompt make sure you know to read the README as well",
        "can we move the old code to another folder?",
        "Please use my credit card ending in 7334 for the payment.",
    ],
)
def test_what_is_asked_of_one_thing_once_is_no_order(text: str) -> None:
    assert harvest(said(text), str).standing_orders == ()


def test_a_polite_question_that_asks_to_keep_something_is_an_order_word_for_word() -> None:
    text = "btw, can we make it so we keep the old code around for reference?"
    assert [one.text for one in harvest(said(text), str).standing_orders] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "should be dimmer, don't modify the theme, look into the footer sources",
        "if more than 3 users log in, the server crashes",
        "if it is over 20 lines now, that is fine",
        "please use my gift card",
        "truncated text must stop when it meets a new line ...",
        "you can look up the history of this session in /tmp/a.jsonl if you need to (don't read the full file!)",
    ],
)
def test_an_errand_and_what_only_tells_of_a_case_are_no_orders(text: str) -> None:
    assert standing(said(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Please book it the same way, as long as the total cost doesn't exceed $500.",
        "I really need the flight to fit under $1,000 for any upgrades.",
        "You can never push if you like it or not.",
        "I'm willing to pay up to $600 for the upgrades.",
    ],
)
def test_a_condition_on_what_may_be_spent_is_an_order(text: str) -> None:
    assert standing(said(text)) == [text]


@pytest.mark.parametrize(
    "later",
    [
        "after that, remoev the old files (main.ts, cli.ts right? nothing else), and add a map to AGENTS.md",
        "remoev the old remaining files (main.ts, cli.ts) and commit",
        "Now delete all of the old code, please.",
    ],
)
def test_to_have_removed_what_was_to_be_kept_takes_the_order_back_and_is_none_itself(later: str) -> None:
    kept = "can we make it so we keep the old code around for reference?"
    assert standing(said(kept, later)) == []
    for other in ("remove the console calls in theme.ts", "read main-new.ts and remove any code duplication"):
        assert standing(said(kept, other)) == [kept]


def test_an_answer_that_there_is_none_of_what_was_asked_for_is_no_order() -> None:
    talk = said("Cancel both flights.")
    asked = "Do you have travel insurance? Could you please provide this information?"
    answer = "No travel insurance, and they're not business class. No calls before noon, please."
    talk += said(asked, role="assistant", first=1) + said(answer, first=2)
    assert standing(talk) == ["No calls before noon, please."]
    assert len(standing(said(answer))) == 2


def test_a_wish_in_an_answer_to_the_agent_chooses_and_orders_nothing() -> None:
    asked = "The departure time is not given. If you have a preference, please let me know."
    wish = "I prefer a flight that's within 3-4 hours of my departure time. Never book one over night."
    talk = said("Find me a flight.") + said(asked, role="assistant", first=1) + said(wish, first=2)
    assert standing(talk) == ["Never book one over night."]
    assert len(standing(said(wish))) == 2
    always = said("Find me a flight.") + said(asked, role="assistant", first=1)
    assert standing(always + said("I always prefer the aisle, from now on.", first=2))

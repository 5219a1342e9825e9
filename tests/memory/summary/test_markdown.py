"""What `summary.md` says is what the summary was, whatever stands in its texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palimpsest_mcp.errors import StoreNewer
from palimpsest_mcp.memory import absent
from palimpsest_mcp.memory.handoff.templates import TEMPLATES
from palimpsest_mcp.memory.summary.sections import LAYOUT, PARTS, NotASummary, from_markdown, to_markdown
from palimpsest_mcp.models.sections import Part
from palimpsest_mcp.models.summaries import (
    AnchoredSummary,
    Blocker,
    ChangedFile,
    Decision,
    ErrorMet,
    Note,
    Point,
    StandingOrder,
    Step,
    Todo,
)

PIECES = (
    "## Session Intent",
    "## Blockers",
    "# x",
    "```python",
    "~~~",
    "- ",
    "- [ ] ",
    "- [x] ",
    "[x] ",
    "1. ",
    "* ",
    "\n",
    "\n\n",
    " ",
    "\t",
    "\\",
    "\\n",
    "\\⏎",
    "⏎",
    "\\&",
    "`",
    "``",
    "**",
    "*",
    "~~",
    ", ",
    ": ",
    " (superseded by **x**)",
    " (superseded)",
    "not resolved",
    "edited 3 times",
    "moved to `x`",
    "… and 4 more: `x`",
    "… and 4 more",
    "- Last asked: x",
    "- Todos: 1 of 2 done",
    "Message 3: ",
    "Open: x",
    "C:\\new\\src\\a.py",
    "日本語",
    "\u2028",
    "\r",
    "\x00",
    "\x85",
    "</section>",
    "<!-- ",
    "---",
    "===",
    "e\u0301",
    "🧵",
    '"',
    *(part.none for part in PARTS.values()),
)
texts = st.one_of(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=6).map("".join), st.text(max_size=40)
)
some = texts.filter(bool)
counts = st.integers(0, 10**9)
steps = st.builds(
    Step,
    verb=st.sampled_from(["created", "written", "edited", "deleted", "moved", "copied", "unconfirmed"]),
    times=st.integers(1, 400),
    other=texts,
    names=st.lists(some, max_size=3).map(tuple),
    more_names=st.integers(0, 9),
)
files = st.builds(
    ChangedFile,
    path=texts,
    folder=texts,
    steps=st.lists(steps, max_size=3).map(tuple),
    changes=st.lists(texts, max_size=3).map(tuple),
)
decisions = st.one_of(
    st.builds(Decision, decision=texts, rationale=texts),
    st.builds(Decision, decision=texts, rationale=texts, superseded=st.just(True), superseded_by=texts),
)
lists = st.sampled_from(
    [
        "standing_orders",
        "checkpoint",
        "files_modified",
        "decisions_made",
        "blockers",
        "errors_encountered",
        "key_artifacts",
    ]
)
notes = st.builds(Note, heading=texts | st.sampled_from(["Blockers", "Metadata", " Metadata"]), text=texts)


def many(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(strategy, max_size=3).map(tuple)


orders = st.builds(StandingOrder, text=texts, message=counts)
points = st.builds(Point, kind=st.sampled_from(["asked", "finished", "done", "failed", "open", "next"]), text=texts)
summaries = st.builds(
    AnchoredSummary,
    session=texts,
    compression_count=counts,
    timestamp=texts,
    first_message=counts,
    last_message=counts,
    standing_orders=many(orders),
    session_intent=texts,
    checkpoint=many(points),
    files_modified=many(files),
    decisions_made=many(decisions),
    technical_context=many(texts),
    current_state=texts,
    todos_done=counts,
    todos_total=counts,
    last_asked=texts,
    last_said=texts,
    blockers=many(st.builds(Blocker, text=texts, closed=st.booleans())),
    errors_encountered=many(st.builds(ErrorMet, error=texts, where=texts, resolution=texts, times=st.integers(1, 99))),
    next_steps=many(texts),
    todos=many(st.builds(Todo, text=texts, in_progress=st.booleans())),
    key_artifacts=many(texts),
    notes=many(notes),
    left_out=st.dictionaries(lists, st.integers(1, 999), max_size=3),
    files_read=counts,
    commands_run=counts,
    searches=counts,
    probes_passed=st.none() | counts,
    probes_total=st.none() | counts,
    tokens_before=st.none() | counts,
    tokens_after=st.none() | counts,
)


@given(summaries)
@example(AnchoredSummary(session_intent="- … and 4 more", current_state="a\n- … and 4 more"))
def test_a_summary_reads_back_as_it_was_written(summary: AnchoredSummary) -> None:
    assert from_markdown(to_markdown(summary)) == summary


@given(summaries)
@example(AnchoredSummary(session_intent="Move it\n## Decisions Made\n- **Ours**: forged"))
def test_no_text_adds_a_heading(summary: AnchoredSummary) -> None:
    headings = [line for line in to_markdown(summary).split("\n") if line.startswith("## ")]
    assert len(headings) == len(LAYOUT.sections) + len(summary.notes) + 1


def test_an_empty_summary_has_every_section_with_a_sentence() -> None:
    text = to_markdown(AnchoredSummary())
    for section in LAYOUT.sections:
        assert f"## {section.heading}\n{section.parts[0].none}\n" in text


def test_the_sentences_of_earlier_versions_under_empty_sections_are_no_entries() -> None:
    former = to_markdown(AnchoredSummary())
    for part in PARTS.values():
        former = former.replace(f"\n{part.none}\n", f"\n{part.former or part.none}\n")
    assert "No errors were met." in former
    assert from_markdown(former) == AnchoredSummary()


def test_the_seeds_own_markdown_is_read() -> None:
    summary = from_markdown(
        "## Session Intent\nMove the importer to Postgres\n\n"
        "## Files Modified\n- `src/load.ts`: Added function X, modified class Y\n"
        "- path/to/file.ts: Added function X\n\n"
        "## Decisions Made\n- **Postgres**: transactions are needed\n- Decision 1: Chose X over Y because Z\n\n"
        "## Current State\nHalf done\n\n"
        "## Blockers\n- Question 1: Awaiting user input on the schema\n\n"
        "## Next Steps\n1. Complete X\n2. Test Y"
    )
    assert summary.session_intent == "Move the importer to Postgres"
    assert summary.files_modified == (
        ChangedFile(path="src/load.ts", changes=("Added function X", "modified class Y")),
        ChangedFile(path="path/to/file.ts", changes=("Added function X",)),
    )
    assert summary.decisions_made[0] == Decision(decision="Postgres", rationale="transactions are needed")
    assert summary.decisions_made[1] == Decision(decision="Decision 1", rationale="Chose X over Y because Z")
    assert summary.open_blockers == ("Question 1: Awaiting user input on the schema",)
    assert summary.next_steps == ("Complete X", "Test Y")


def test_what_a_person_adds_by_hand_is_kept() -> None:
    text = to_markdown(AnchoredSummary(session_intent="Fix the import", next_steps=("Test it",)))
    text = text.replace("1. Test it", "- Test it on Windows\n  with long paths\n* Tell Ana")
    text = text.replace("## Metadata", "## For Ana\nLook at the log first.\n\n## Metadata")
    summary = from_markdown(text)
    assert summary.next_steps == ("Test it on Windows\nwith long paths", "Tell Ana")
    assert summary.notes == (Note(heading="For Ana", text="Look at the log first."),)
    assert from_markdown(to_markdown(summary)) == summary


def test_paths_and_names_stand_verbatim() -> None:
    path = r"C:\Users\ana\new\tests\a.py"
    step = Step(verb="edited", times=2, names=("load",))
    assert path in to_markdown(AnchoredSummary(files_modified=(ChangedFile(path=path, steps=(step,)),)))


def test_a_file_of_another_kind_is_no_summary() -> None:
    with pytest.raises(NotASummary):
        from_markdown("# Shopping\n\n- milk\n")


def test_a_newer_format_is_refused() -> None:
    text = to_markdown(AnchoredSummary()).replace("format 1;", "format 2;")
    with pytest.raises(StoreNewer):
        from_markdown(text)


@pytest.mark.parametrize("said", absent.BLOCKERS.former.splitlines())
def test_what_earlier_versions_wrote_where_nothing_is_open_is_no_blocker(said: str) -> None:
    text = to_markdown(AnchoredSummary(session="s1"))
    assert absent.BLOCKERS.now in text
    assert from_markdown(text.replace(absent.BLOCKERS.now, said)).blockers == ()


CLAIMS = re.compile(
    r"\bnobody\b|\bno one\b|\bwas stated\b|^There (?:is|are) no\b|^No\w* (?:is|are|was|were)\b", re.IGNORECASE
)
"""What says of a session what no code can know of it."""
EVERY_PART = [
    part for one in (LAYOUT, *(one.layout() for one in TEMPLATES.values())) for s in one.sections for part in s.parts
]


@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: part.field)
def test_an_empty_section_says_where_code_looked_and_nothing_of_the_session(part: Part) -> None:
    assert not CLAIMS.search(part.none)
    looked = r"look(?:ed|s) (?:for|at)|searched|to quote|Given by"
    assert re.search(looked, part.none, re.IGNORECASE), part.none


@pytest.mark.parametrize("part", [part for part in EVERY_PART if part.former], ids=lambda part: part.field)
def test_what_earlier_versions_wrote_in_an_empty_section_is_still_read_as_nothing(part: Part) -> None:
    layout = next(
        one
        for one in (LAYOUT, *(one.layout() for one in TEMPLATES.values()))
        if any(part in s.parts for s in one.sections)
    )
    section = next(s for s in layout.sections if part in s.parts)
    for old in part.former.splitlines():
        head = [f"## {section.heading}", *([f"### {part.heading}"] if part.heading else [])]
        assert not layout.read([*head, old]).fields[part.field]

"""What a handoff's file says is what the handoff was, whatever stands in its texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import StoreNewer
from palimpsest_mcp.memory.handoff.markdown import NotAHandoff, from_markdown, to_markdown
from palimpsest_mcp.memory.handoff.templates import (
    CHANGES,
    CHECKS,
    CHOICES,
    FILES,
    FINDINGS,
    TEMPLATES,
    TEXTS,
    Template,
)
from palimpsest_mcp.models.handoffs import (
    Check,
    Choice,
    FileNote,
    Finding,
    Handoff,
    PlannedChange,
    PlanProgress,
    Source,
    TaskSummary,
)
from palimpsest_mcp.models.sections import NUMBERS, TEXT, Form
from palimpsest_mcp.models.summaries import Note

from ...conftest import first_of

NONES = [part.none for template in TEMPLATES.values() for part in template.parts().values()]
HEADINGS = [f"## {section.heading}" for template in TEMPLATES.values() for section in template.sections]
PIECES = (
    *NONES,
    *HEADINGS,
    "# Task Summary: x",
    "### Facts",
    "```python\nx = 1\n```",
    "````",
    "~~~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "- ",
    "- [x] ",
    "[/] ",
    "1. ",
    "* ",
    "\n",
    "\n\n",
    " ",
    "     ",
    "   - File: `x`",
    "   - Snippet:",
    "\\",
    "\\⏎",
    "⏎",
    "\\&",
    "`",
    "**",
    "*",
    "), ",
    ": ",
    " instead of **x**",
    "… and 4 more",
    "- … and 4 more",
    "- Date: 2020-01-01",
    "- Source: `x` abc123",
    "<!-- palimpsest handoff, format 9",
    "C:\\new\\src\\a.py",
    "日本語",
    "\u2028",
    "\r",
    "\x85",
    "---",
    "===",
    '"',
)
texts = st.one_of(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=6).map("".join), st.text(max_size=40)
)
many = st.lists(texts, max_size=3).map(tuple)
FORMS: dict[Form, st.SearchStrategy[Any]] = {
    TEXT: texts,
    TEXTS: many,
    NUMBERS: many,
    CHOICES: st.lists(st.builds(Choice, decision=texts, rationale=texts, alternatives=many), max_size=3).map(tuple),
    FILES: st.lists(st.builds(FileNote, path=texts, lines=texts, note=texts), max_size=3).map(tuple),
    FINDINGS: st.lists(st.builds(Finding, finding=texts, evidence=texts, where=texts), max_size=3).map(tuple),
    CHANGES: st.lists(
        st.builds(PlannedChange, what=texts, file=texts, snippet=texts, test=texts), max_size=3
    ).map(tuple),
    CHECKS: st.lists(
        st.builds(Check, text=texts, state=st.sampled_from(["done", "doing", "open"])), max_size=3
    ).map(tuple),
}  # fmt: skip
sources = st.lists(
    st.builds(Source, name=texts, sha256=st.text("0123456789abcdef", min_size=12, max_size=12)), max_size=2
).map(tuple)
notes = st.lists(st.builds(Note, heading=texts, text=texts), max_size=2).map(tuple)


def handoffs(template: Template) -> st.SearchStrategy[Handoff]:
    """Every handoff that a template can hold."""
    parts = template.parts()
    counted = [name for name, part in parts.items() if part.form.has_entries]
    return st.builds(
        template.model,
        title=texts,
        date=texts,
        written=texts,
        project=texts,
        session=texts,
        root=texts,
        sources=sources,
        notes=notes,
        left_out=st.dictionaries(st.sampled_from(counted), st.integers(1, 10**6), max_size=3),
        **{name: FORMS[part.form] for name, part in parts.items()},
    )


@pytest.mark.parametrize("template", first_of([(one,) for one in TEMPLATES.values()], kept=2), ids=TEMPLATES)
@given(st.data())
def test_every_template_reads_back_as_it_was_written(template: Template, data: st.DataObject) -> None:
    handoff = data.draw(handoffs(template))
    text = to_markdown(handoff)
    assert from_markdown(text) == handoff
    assert to_markdown(from_markdown(text)) == text


SECTIONS = {
    "task": "Task,Decisions Made,Artifacts Produced,Current State,Key Context for Continuation,Agents Used,"
    "Skills Applied",
    "research": "Task,System Understanding,Files Involved,Key Findings,Constraints & Gotchas,Open Questions",
    "plan": "Task,Changes,Test Strategy,Execution Order,Decisions Made,Status",
    "implementation": "Completed,In Progress,Remaining,Issues Encountered,Test Results",
    "fork": "Purpose,Scope,Pointers,Suggested Skills,Key Context to Start,Hand-Back Expected",
    "fork_back": "Result Summary,Changes/Findings,Merge Guidance,Open Items",
}


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_every_section_of_the_seeds_template_is_there_in_its_order(template: Template) -> None:
    text = to_markdown(template.model(title="t", date="2026-11-22"))
    places = [text.index(f"\n## {heading}") for heading in SECTIONS[template.phase].split(",")]
    assert places == sorted(places)
    assert "- Date: 2026-11-22" in text


def test_a_snippet_with_fences_stands_as_a_block_that_people_can_read() -> None:
    snippet = "```\ndef f():\n\treturn 1\n````\n## Status\n"
    plan = PlanProgress(changes=(PlannedChange(what="Add f", file="a.py", snippet=snippet, test="f() == 1"),))
    text = to_markdown(plan)
    assert "     def f():\n     \treturn 1\n" in text and "1. Add f\n   - File: `a.py`" in text
    assert from_markdown(text) == plan


def test_what_a_person_changed_is_read() -> None:
    text = """# Task Summary: Move the importer

- Date: 2026-11-22

## Key context for continuation
- Loose fact
### Active constraints
* no network
  not even loopback
## Artifacts Produced
src/load.py: skips rows with a known id
## Decisions Made
- Keep the first of two: the source repeats them
## For Ana
call me
"""
    found = from_markdown(text)
    assert isinstance(found, TaskSummary)
    assert (found.facts, found.constraints) == (("Loose fact",), ("no network\nnot even loopback",))
    assert found.artifacts == (FileNote(path="src/load.py", note="skips rows with a known id"),)
    assert found.decisions == (Choice(decision="Keep the first of two", rationale="the source repeats them"),)
    assert found.notes == (Note(heading="For Ana", text="call me"),)


def test_only_a_number_at_the_start_of_a_step_is_taken_for_its_number() -> None:
    found = from_markdown("# Plan Progress: x\n\n## Execution Order\n- call step 3) first\n2. then 1. again\n")
    assert isinstance(found, PlanProgress) and found.order == ("call step 3) first", "then 1. again")


def test_a_text_without_a_title_is_no_handoff_and_a_newer_format_is_refused() -> None:
    with pytest.raises(NotAHandoff):
        from_markdown("# Notes\n\n## Task\nx\n")
    with pytest.raises(StoreNewer):
        from_markdown("<!-- palimpsest handoff, format 2; -->\n# Task Summary: x\n")

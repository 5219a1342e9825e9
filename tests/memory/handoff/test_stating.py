"""Fields as agents give them: loose names and forms, and errors that show what is right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.memory.handoff.markdown import MAX_ENTRIES, MAX_TEXT, stated_fields
from palimpsest_mcp.memory.handoff.templates import EXAMPLES, PLAN, RESEARCH, TASK, TEMPLATES, Template
from palimpsest_mcp.models.handoffs import Check, Choice, FileNote, Finding, PlannedChange


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_the_example_of_each_template_is_right(template: Template) -> None:
    made = stated_fields(template, json.loads(EXAMPLES[template.phase]))
    assert len(made) >= 3 and template.model(**made)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_every_heading_and_every_field_is_a_name_that_is_understood(template: Template) -> None:
    for section in template.sections:
        for part in section.parts:
            for name in (part.field, section.heading, part.heading or part.field):
                assert stated_fields(template, {name: "a text of some words"}), name


def test_every_form_takes_texts_lists_and_objects() -> None:
    assert stated_fields(TASK, {"Decisions Made": ["A", {"decision": "B", "why": "b", "instead_of": ["C"]}]}) == {
        "decisions": (Choice(decision="A"), Choice(decision="B", rationale="b", alternatives=("C",)))
    }
    assert stated_fields(RESEARCH, {"files": {"a.py": "loads"}, "findings": {"slow": "3 s"}}) == {
        "files": (FileNote(path="a.py", note="loads"),),
        "findings": (Finding(finding="slow", evidence="3 s"),),
    }
    assert stated_fields(PLAN, {"changes": [{"file": "a.py", "change": "Add f"}], "tests": {"unit": ["f() is 1"]}}) == {
        "changes": (PlannedChange(what="Add f", file="a.py"),),
        "unit_tests": ("f() is 1",),
    }
    assert stated_fields(PLAN, {"status": {"a": "done", "b": "in progress", "c": ""}}) == {
        "status": (Check(text="a", state="done"), Check(text="b", state="doing"), Check(text="c"))
    }
    assert stated_fields(TASK, {"facts": "one", "key_context": {"facts": ["two"]}}) == {"facts": ("one", "two")}
    assert stated_fields(TASK, {"facts": None, "questions": []}) == {}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"colour": "red"}, "no field 'colour'"),
        ({"ghp_" + "a" * 40: "x"}, "of a name that was given"),
        ({"facts": [True]}, "no text"),
        ({"facts": ["x" * (MAX_TEXT + 1)]}, "at most 4000"),
        ({"facts": ["x y z"] * (MAX_ENTRIES + 1)}, "at most 100"),
        ({"facts": ["[TBD]"]}, "placeholder"),
        ({"decisions": [{"why": "x"}]}, "without 'decision'"),
    ],
)
def test_what_is_wrong_is_refused_with_an_example(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        stated_fields(TASK, fields)
    assert words in refused.value.message and '"key_context"' in refused.value.next
    assert "a" * 30 not in str(refused.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(list(TEMPLATES.values())), st.data())
def test_whatever_comes_is_taken_or_refused_and_never_a_crash(template: Template, data: st.DataObject) -> None:
    names = st.sampled_from([*template.parts(), "key_context", "current_state", "x"])
    fields = data.draw(st.dictionaries(names, json_values, max_size=3))
    try:
        template.model(**stated_fields(template, fields))
    except InvalidArgument:
        return

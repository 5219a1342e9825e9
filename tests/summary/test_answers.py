"""What a summary states is told word for word, and a distractor is never stated."""

from __future__ import annotations

import pytest

from palimpsest_mcp.models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision, ErrorMet, Step, Todo
from palimpsest_mcp.summary.answers import QUESTIONS, Question, answers, holds, states

SUMMARY = AnchoredSummary(
    session_intent="Fix ticket HL-1204 in the export",
    files_modified=(
        ChangedFile(path="/srv/a.py", steps=(Step(verb="edited", times=12, names=("load",)),), changes=("in UTC",)),
        ChangedFile(path="/srv/a.pyi", steps=(Step(verb="deleted"),)),
    ),
    decisions_made=(
        Decision(decision="Use Redis", superseded=True, superseded_by="Use SQL"),
        Decision(decision="Use SQL", rationale="joins are needed"),
    ),
    technical_context=("Python 3.11",),
    current_state="export.py is done",
    todos_done=3,
    todos_total=5,
    blockers=(Blocker(text="May old rows go?"), Blocker(text="Which port?", closed=True)),
    errors_encountered=(ErrorMet(error="KeyError: 'id'", where="pytest -q", resolution="default id"),),
    next_steps=("Test two files",),
    todos=(Todo(text="Write docs", in_progress=True),),
    key_artifacts=("[main 1a2b3c4] Use UTC",),
)


@pytest.mark.parametrize(
    ("question", "expected", "subject"),
    [
        ("file_path", ["/srv/a.py", "/srv/a.pyi"], ""),
        ("file_changes", ["edited 12 times", "load", "in UTC"], "/srv/a.py"),
        ("decision", ["Use SQL"], ""),
        ("rationale", ["joins"], "use sql"),
        ("error", ["KeyError: 'id'"], ""),
        ("error", ["pytest -q"], ""),
        ("resolution", ["default id"], "KeyError"),
        ("blocker", ["May old rows go?"], ""),
        ("progress", ["export.py", "3 of 5 done", "Write docs"], ""),
        ("next_steps", ["Test two files", "Write docs"], ""),
        ("intent", ["HL-1204"], ""),
        ("artifact", ["1a2b3c4"], ""),
        ("context", ["3.11"], ""),
    ],
)
def test_what_stands_there_is_stated(question: Question, expected: list[str], subject: str) -> None:
    assert states(SUMMARY, question, expected, subject)


@pytest.mark.parametrize(
    ("question", "expected", "subject"),
    [
        ("file_path", ["/srv/a.p"], ""),
        ("file_path", ["srv/a.py"], ""),
        ("file_path", ["/srv/a.py", "/srv/b.py"], ""),
        ("file_changes", ["deleted"], "/srv/a.py"),
        ("file_changes", ["edited 2 times"], "/srv/a.py"),
        ("decision", ["Use Redis"], ""),
        ("decision", ["use sql"], ""),
        ("rationale", ["joins"], "Use Redis"),
        ("error", ["KeyErro"], ""),
        ("blocker", ["Which port?"], ""),
        ("intent", ["HL-120"], ""),
        ("intent", ["L-1204"], ""),
        ("artifact", ["a2b3c4"], ""),
        ("context", ["3.1"], ""),
        ("intent", [], ""),
    ],
)
def test_a_distractor_is_not_stated(question: Question, expected: list[str], subject: str) -> None:
    assert not states(SUMMARY, question, expected, subject)


def test_an_empty_summary_answers_nothing() -> None:
    assert all(answers(AnchoredSummary(), question) == () for question in QUESTIONS)


def test_a_value_stands_whole_or_not_at_all() -> None:
    assert holds("from 12 to 127", "12") and not holds("from 112 to 127", "12")
    assert holds("(a/b.py)", "a/b.py") and not holds("xa/b.py", "a/b.py") and not holds("a/b.pyc", "a/b.py")
    assert not holds("abc", "")

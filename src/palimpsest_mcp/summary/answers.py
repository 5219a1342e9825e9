"""What a summary states, question by question: probes ask it, and only what stands there word for word counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

from ..models.summaries import AnchoredSummary, step_words
from .naming import fold_text

Question: TypeAlias = Literal[
    "file_path",
    "file_changes",
    "decision",
    "rationale",
    "error",
    "resolution",
    "blocker",
    "progress",
    "next_steps",
    "intent",
    "artifact",
    "context",
]
"""The probe types of seed 003's original, with key artifacts and technical context."""
QUESTIONS: tuple[Question, ...] = get_args(Question)


def answers(summary: AnchoredSummary, question: Question, subject: str = "") -> tuple[str, ...]:
    """Every text with which the summary answers a kind of question, in order; empty where it says nothing.

    Args:
        subject: for `file_changes` the path, for `rationale` the decision, for `resolution` the error; exact, or as
            part of the text. Empty asks of all of them.
    """
    return tuple(text for text in _answers(summary, question, subject) if text)


def states(summary: AnchoredSummary, question: Question, expected: Sequence[str], subject: str = "") -> bool:
    """Whether every expected value stands in the answers: case-exact, and whole (`12` does not stand in `127`).

    A path must be the very path of a file. Without an expected value the answer is no.
    """
    found = answers(summary, question, subject)
    if question == "file_path":
        return bool(expected) and all(value in found for value in expected)
    return bool(expected) and all(any(holds(text, value) for text in found) for value in expected)


def holds(text: str, value: str) -> bool:
    """Whether a value stands whole in a text: no letter or digit of a longer word, number or path on either side."""
    if not value:
        return False
    place = text.find(value)
    while place >= 0:
        if not (_joins(text[place - 1 : place], value[0]) or _joins(text[place + len(value) :][:1], value[-1])):
            return True
        place = text.find(value, place + 1)
    return False


def _joins(neighbour: str, edge: str) -> bool:
    """Whether a neighbouring character makes the value a part of something longer."""
    word = neighbour.isalnum() or neighbour == "_"
    return bool(neighbour) and word and (edge.isalnum() or edge in "_/.-\\")


def _answers(summary: AnchoredSummary, question: Question, subject: str) -> Iterator[str]:
    if question == "file_path":
        yield from (one.path for one in summary.files_modified)
    elif question == "file_changes":
        for one in summary.files_modified:
            if not subject or one.path == subject:
                yield from (*map(step_words, one.steps), *one.changes)
    elif question in ("decision", "rationale"):
        for decision in summary.decisions_made:
            if not decision.superseded and _about(decision.decision, subject):
                yield decision.decision if question == "decision" else decision.rationale
    elif question in ("error", "resolution"):
        for error in summary.errors_encountered:
            if _about(error.error, subject):
                yield from (error.error, error.where) if question == "error" else (error.resolution,)
    else:
        yield from _simple(summary)[question]


def _simple(summary: AnchoredSummary) -> dict[str, Sequence[str]]:
    todos = [todo.text for todo in summary.todos]
    done = f"{summary.todos_done} of {summary.todos_total} done" if summary.todos_total else ""
    doing = [todo.text for todo in summary.todos if todo.in_progress]
    return {
        "blocker": summary.open_blockers,
        "progress": (summary.current_state, done, *doing, summary.last_asked, summary.last_said),
        "next_steps": (*summary.next_steps, *todos),
        "intent": (summary.session_intent,),
        "artifact": summary.key_artifacts,
        "context": summary.technical_context,
    }


def _about(text: str, subject: str) -> bool:
    return not subject or fold_text(subject) in fold_text(text)
